"""The directory between the process that counts and the one that readers reach.

::

    service.json                  the streams and the public key
    streams/NAME/publication      the manifest and its signature, two lines
    streams/NAME/releases/SHA256  one release, under the SHA-256 of its bytes

Everything in it is public. A publication is complete on the disk before it replaces the one before,
and the releases of that one stay until the next: a reader that is in between finds all of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lazysketch.errors import ReleaseFormatError
from lazysketch.releases.files import write_whole
from lazysketch.service.publication import Publication, SignedPublication
from lazysketch.service.signing import SigningKey
from lazysketch.service.tick import Tick

__all__ = ["PublicationFiles", "ServiceFacts"]

_MODE: Final = 0o755  # what is in there is public


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What readers need before any publication.

    Attributes:
        streams: names of the streams, in their order.
        public_key: Ed25519 key that signs all publications, 32 bytes.
        clocks: length of a window in nanoseconds and its slices, of each stream, by its name.
    """

    streams: tuple[str, ...]
    public_key: bytes
    clocks: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def next_shown(self, name: str, now: int) -> int | None:
        """Return the next instant at which a stream may be published; None without a clock.

        Args:
            name: the stream.
            now: an instant, in nanoseconds since 1970.
        """
        clock = self.clocks.get(name)
        return None if clock is None else Tick(*clock).next_shown(now)

    def to_bytes(self) -> bytes:
        """Return the facts as JSON."""
        content = {
            "streams": list(self.streams),
            "public_key": self.public_key.hex(),
            "clocks": {name: list(clock) for name, clock in self.clocks.items()},
        }
        return json.dumps(content).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> ServiceFacts:
        """Return the facts that :meth:`to_bytes` wrote.

        Raises:
            ReleaseFormatError: damaged data.
        """
        try:
            content = json.loads(data)
            return cls(
                tuple(map(str, content["streams"])),
                bytes.fromhex(content["public_key"]),
                {
                    str(name): (max(int(every), 1), max(int(slices), 1))
                    for name, (every, slices) in content["clocks"].items()
                },
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ReleaseFormatError(
                "service.json: expected the streams and the key, got damaged data"
            ) from None


class PublicationFiles:
    """The publications of a service in a directory.

    Args:
        folder: the directory; made by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_facts(self, facts: ServiceFacts) -> None:
        """Write the streams and the public key; unchanged facts are not written again.

        Args:
            facts: what readers need.

        Raises:
            OSError: the file cannot be written.
        """
        path = self.folder / "service.json"
        content = facts.to_bytes()
        if not path.exists() or path.read_bytes() != content:
            self.folder.mkdir(mode=_MODE, parents=True, exist_ok=True)
            write_whole(path, content)

    def facts(self) -> ServiceFacts | None:
        """Return the streams and the public key; None before they are written.

        Raises:
            OSError: the file cannot be read.
            ReleaseFormatError: damaged data.
        """
        try:
            return ServiceFacts.from_bytes((self.folder / "service.json").read_bytes())
        except FileNotFoundError:
            return None

    def write(self, publication: Publication, key: SigningKey) -> None:
        """Write a publication in place of the one before.

        Args:
            publication: what is published.
            key: the key that signs it.

        Raises:
            OSError: a file cannot be written; the publication before stands.
        """
        self.write_signed(publication, SignedPublication.of(publication, key))

    def write_signed(self, publication: Publication, signed: SignedPublication) -> None:
        """Write a publication that is signed in place of the one before.

        Args:
            publication: what is published.
            signed: its manifest and signature, which were checked.

        Raises:
            OSError: a file cannot be written; the publication before stands.
        """
        name = publication.facts.stream
        releases = self._stream(name) / "releases"
        releases.mkdir(mode=_MODE, parents=True, exist_ok=True)
        for one in publication.windows:
            for digest, content in zip(one.digests, one.contents, strict=True):
                if not (releases / digest).exists():
                    write_whole(releases / digest, content)
        kept = {*signed.releases(), *self._releases_of(name)}
        write_whole(self._stream(name) / "publication", signed.to_bytes())
        for path in releases.iterdir():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _releases_of(self, name: str) -> tuple[str, ...]:
        """Return the SHA-256 of what readers of the last publication may still ask for."""
        try:
            before = self.read_signed(name)
            return () if before is None else before.releases()
        except ReleaseFormatError:  # nobody reads what is damaged
            return ()

    def read_signed(self, name: str) -> SignedPublication | None:
        """Return the manifest and the signature of the last publication; None without one.

        Args:
            name: the stream.

        Raises:
            OSError: the file cannot be read.
            ReleaseFormatError: damaged data.
        """
        try:
            return SignedPublication.from_bytes((self._stream(name) / "publication").read_bytes())
        except FileNotFoundError:
            return None

    def read(self, signed: SignedPublication, name: str) -> Publication:
        """Return the publication of a manifest, with its releases.

        Args:
            signed: what :meth:`read_signed` returned, whose signature was checked.
            name: the stream.

        Raises:
            OSError: a file cannot be read.
            ReleaseFormatError: a release that is missing or damaged.
        """
        folder = self._stream(name) / "releases"
        digests: Sequence[str] = signed.releases()
        found = {
            digest: (folder / digest).read_bytes()
            for digest in digests
            if (folder / digest).exists()
        }
        return Publication.of_stream(name, signed.manifest, found)

    def release(self, name: str, digest: str) -> bytes:
        """Return the bytes of a release.

        Args:
            name: the stream.
            digest: its SHA-256, as a manifest names it.

        Raises:
            OSError: it cannot be read.
        """
        return (self._stream(name) / "releases" / digest).read_bytes()

    def stamp(self, name: str) -> tuple[int, int] | None:
        """Return what changes whenever a publication is replaced; None without one.

        Args:
            name: the stream.
        """
        try:
            status = (self._stream(name) / "publication").stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _stream(self, name: str) -> Path:
        return self.folder / "streams" / name
