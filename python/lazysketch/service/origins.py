"""Where a replica takes publications from: an address of readers, a directory, or an archive.

Nothing that they say is believed without a signature. All reads have limits of time and size.
"""

from __future__ import annotations

import json
import tarfile
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lazysketch.errors import ReleaseFormatError, SourceError
from lazysketch.service.publication import SignedPublication
from lazysketch.service.publication_files import PublicationFiles, ServiceFacts

__all__ = ["Archive", "Directory", "Origin", "ServiceAddress", "origin_of"]

_MOST_FACTS: Final = 1 << 20
_MOST_MANIFEST: Final = 1 << 24
_MOST_RELEASE: Final = 1 << 28
_MOST_ARCHIVE: Final = 1 << 32
_TIMEOUT: Final = 20.0


class Origin(ABC):
    """Where publications come from."""

    @abstractmethod
    def streams(self) -> Iterable[str]:
        """Return the names of the streams.

        Raises:
            SourceError: it cannot be read.
            ReleaseFormatError: other data.
        """

    @abstractmethod
    def signed(self, name: str) -> SignedPublication | None:
        """Return the last publication of a stream; None without one.

        Args:
            name: the stream.

        Raises:
            SourceError: it cannot be read.
            ReleaseFormatError: other data.
        """

    @abstractmethod
    def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:
        """Return the bytes of a release, whatever they are.

        Args:
            name: the stream.
            window: number of the window.
            level: number of the level; None without levels.
            digest: its SHA-256, as the manifest names it.

        Raises:
            SourceError: it cannot be read.
        """


class Directory(Origin):
    """A copy of the directory ``public`` of a service.

    Args:
        folder: the directory.
    """

    def __init__(self, folder: Path) -> None:
        self._files = PublicationFiles(folder)

    def streams(self) -> Iterable[str]:
        """Return the names of the streams."""
        facts = self._files.facts()
        if facts is None:
            raise SourceError(f"{self._files.folder}: expected publications, got no service.json")
        return facts.streams

    def signed(self, name: str) -> SignedPublication | None:
        """Return the last publication of a stream."""
        return self._files.read_signed(name)

    def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:  # noqa: ARG002 -- found by its digest
        """Return the bytes of a release."""
        try:
            return self._files.release(name, digest)
        except OSError as error:
            raise SourceError(
                f"{self._files.folder}: expected a release, got {error.strerror}"
            ) from None


class Archive(Origin):
    """An archive that a service exported.

    Args:
        path: the tar file.

    Raises:
        SourceError: it cannot be read, or is larger than 4 GiB.
    """

    def __init__(self, path: Path) -> None:
        self._contents: dict[str, bytes] = {}
        try:
            if path.stat().st_size > _MOST_ARCHIVE:
                raise SourceError(f"{path}: expected at most {_MOST_ARCHIVE:,} bytes, got more")
            with tarfile.open(path, "r:") as archive:  # plain, so no member unpacks to more
                for member in archive:
                    is_plain = member.isreg() and not member.issparse()  # holes unpack to zeros
                    opened = archive.extractfile(member) if is_plain else None
                    if opened is not None:
                        self._contents[member.name] = opened.read()
        except (OSError, tarfile.TarError):
            raise SourceError(f"{path}: expected an archive of a service, got none") from None

    def streams(self) -> Iterable[str]:
        """Return the names of the streams."""
        return ServiceFacts.from_bytes(self._contents.get("service.json", b"")).streams

    def signed(self, name: str) -> SignedPublication | None:
        """Return the last publication of a stream."""
        content = self._contents.get(f"streams/{name}/publication")
        return None if content is None else SignedPublication.from_bytes(content)

    def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:  # noqa: ARG002 -- found by its digest
        """Return the bytes of a release."""
        return self._contents.get(f"streams/{name}/releases/{digest}", b"")


class ServiceAddress(Origin):
    """The read address of a service.

    Args:
        address: such as ``https://statistics.example.org``.
        timeout: seconds that a connection may be silent.
    """

    def __init__(self, address: str, *, timeout: float = _TIMEOUT) -> None:
        self._address, self._timeout = address.rstrip("/"), timeout

    def streams(self) -> Iterable[str]:
        """Return the names of the streams."""
        try:
            content = json.loads(self._read("", most=_MOST_FACTS))
            return [str(one["name"]) for one in content["streams"] if one["published"]]
        except (KeyError, TypeError, ValueError):
            raise ReleaseFormatError(
                "streams: expected the streams of a service, got other data"
            ) from None

    def signed(self, name: str) -> SignedPublication | None:
        """Return the last publication of a stream."""
        return SignedPublication.from_bytes(self._read(f"/{name}/publication", most=_MOST_MANIFEST))

    def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:  # noqa: ARG002 -- found by its window
        """Return the bytes of a release."""
        query = "" if level is None else f"?level={level}"
        return self._read(f"/{name}/windows/{window}{query}", most=_MOST_RELEASE)

    def _read(self, path: str, *, most: int) -> bytes:
        url = f"{self._address}/v1/streams{path}"
        try:
            with urllib.request.urlopen(url, timeout=self._timeout) as answer:  # noqa: S310 -- origin_of checks the scheme
                content: bytes = answer.read(most + 1)
        except urllib.error.HTTPError as error:
            raise SourceError(f"{url}: expected an answer, got status {error.code}") from None
        except (OSError, ValueError):
            raise SourceError(f"{url}: expected an answer, got none") from None
        if len(content) > most:
            raise SourceError(f"{url}: expected at most {most:,} bytes, got more")
        return content


def origin_of(place: str) -> Origin:
    """Return where publications come from.

    Args:
        place: an address that begins with ``http://`` or ``https://``, a directory, or an archive.

    Raises:
        SourceError: an archive that cannot be read.
    """
    if place.startswith(("http://", "https://")):
        return ServiceAddress(place)
    path = Path(place)
    return Archive(path) if path.is_file() else Directory(path)
