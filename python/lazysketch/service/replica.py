"""A replica: the read face of a service elsewhere, with the same bytes.

It takes publications from the read address of a service, or from a copy of its directory
``public``, and keeps those that the key of the service has signed. So the place that they come from
need not be trusted: it can withhold a publication, and do nothing else.
"""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LazySketchError, ReleaseFormatError, SourceError
from lazysketch.service.background import Background
from lazysketch.service.publication import Publication, SignedPublication
from lazysketch.service.publication_files import PublicationFiles, ServiceFacts
from lazysketch.service.stream_settings import STREAM_NAME

if TYPE_CHECKING:
    from lazysketch.service.origins import Origin

__all__ = ["Replica"]

_LOG: Final = logging.getLogger("lazysketch.service")
_MOST_STREAMS: Final = 1_000
_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 60.0
_PATIENCE: Final = 10.0
_ATTEMPTS: Final = 3


class Replica(Background):
    """Keeps the publications of a service elsewhere in a directory, in a thread.

    Guarantee: what is kept was signed by the key, is complete, and is later than what was kept
    before, in this life and in earlier ones.

    Args:
        origin: where they come from.
        public_key: Ed25519 key of the service, 32 bytes.
        files: where they are kept.
        pause: seconds between two looks.
    """

    def __init__(
        self, origin: Origin, public_key: bytes, files: PublicationFiles, *, pause: float = _PAUSE
    ) -> None:
        self._origin, self._key, self._files, self._pause = origin, public_key, files, pause
        # An origin that sends a byte at a time holds up no end.
        super().__init__("replica", longest_end=_PATIENCE)

    def look(self) -> int:
        """Take all publications that are later than those that are kept.

        A stream that cannot be taken holds up no other; it is taken at a later look.

        Returns:
            Their number.

        Raises:
            SourceError: the origin cannot be read.
            ReleaseFormatError: data of another key, damaged data, or those of another stream.
            OSError: a file cannot be read or written.
        """
        known = self._files.facts()
        kept = list(known.streams) if known is not None and known.public_key == self._key else []
        names = list(self._origin.streams())
        if len(names) > _MOST_STREAMS or not all(map(STREAM_NAME.fullmatch, names)):
            raise ReleaseFormatError(
                f"streams: expected the names of at most {_MOST_STREAMS:,} streams, got others"
            )
        taken, failure = 0, None
        for name in names:
            try:
                if not self._take(name):
                    continue
            except (LazySketchError, OSError) as error:
                failure = failure or error
                continue
            taken += 1
            if name not in kept:
                kept.append(name)
        self._files.write_facts(ServiceFacts(tuple(kept), self._key))
        if failure is not None:
            raise failure
        return taken

    def _take(self, name: str, *, attempts: int = _ATTEMPTS) -> bool:
        """Keep the publication of a stream if it is a later one.

        One that is replaced while its releases are read is no failure: the one after it is read.
        """
        signed = self._origin.signed(name)
        if signed is None:
            return False
        signed.check(self._key)
        before = self._files.read_signed(name)
        if before is not None and signed.number <= before.number:
            return False
        try:
            publication = self._publication(name, signed)
        except (ReleaseFormatError, SourceError):
            if attempts == 1 or self._origin.signed(name) in (None, signed):
                raise
            return self._take(name, attempts=attempts - 1)
        self._files.write_signed(publication, signed)
        return True

    def _publication(self, name: str, signed: SignedPublication) -> Publication:
        """Return what the manifest names; its releases have the digests that it names."""
        contents: dict[str, bytes] = {}
        for window, digests in signed.windows():
            for level, digest in enumerate(digests):
                try:
                    contents[digest] = self._files.release(name, digest)
                except FileNotFoundError:
                    place = None if len(digests) == 1 else level
                    content = self._origin.release(name, window, place, digest)
                    # Checked here, so that other bytes are held for one release at a time only.
                    if hashlib.sha256(content).hexdigest() != digest:
                        raise ReleaseFormatError(
                            "publication: expected the releases that its manifest names, got others"
                        ) from None
                    contents[digest] = content
        return Publication.of_stream(name, signed.manifest, contents)

    def _run(self) -> None:
        pause, said = self._pause, ""
        while not self._ended.is_set():
            try:
                self.look()
            except (LazySketchError, OSError) as error:
                pause = min(2.0 * pause, _LONGEST_PAUSE)
                if str(error) != said:
                    said = str(error)
                    _LOG.error("replica: %s", said)
            else:
                pause, said = self._pause, ""
            self._ended.wait(pause)
