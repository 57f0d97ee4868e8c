"""The answers of one publication as bytes, each made once."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from lazysketch.service.reading.views import PublicationView

if TYPE_CHECKING:
    from lazysketch.service.publication import Publication, SignedPublication
    from lazysketch.service.reading.kinds_of_views import View

__all__ = ["Answer", "Answers"]

_MOST_KEPT: Final = 512
_MOST_BYTES: Final = 32 << 20  # of questions and answers, plain and compressed
_COMPRESSED_FROM: Final = 1024
JSON: Final = "application/json"
BINARY: Final = "application/octet-stream"


@dataclass(frozen=True)
class Answer:
    """One answer as bytes.

    Attributes:
        body: its content.
        media_type: its type.
        etag: changes whenever the content does.
    """

    body: bytes
    media_type: str
    etag: str

    @cached_property
    def compressed(self) -> bytes | None:
        """The content in gzip, the same bytes each time; None where it would not help."""
        if self.media_type != JSON or len(self.body) < _COMPRESSED_FROM:
            return None
        return gzip.compress(self.body, compresslevel=6, mtime=0)


class Answers:
    """The answers of one publication; each is computed by the first reader who asks.

    Guarantee: every reader gets the same bytes.

    Args:
        view: what the answers contain.
        signed: the manifest with its signature.
    """

    def __init__(self, view: View, signed: SignedPublication) -> None:
        self.view, self.signed = view, signed
        self._always: dict[tuple[object, ...], Answer] = {}
        self._made: OrderedDict[tuple[object, ...], Answer] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def publication(self) -> Publication:
        """The publication that is answered from."""
        return self.view.publication

    def prepare(self) -> None:
        """Make the answers that every page asks for, before the publication is shown."""
        self.facts()
        self.overview()
        self.manifest()

    def facts(self) -> Answer:
        """Return what is said of the stream."""
        return self.json(("facts",), self.view.facts)

    def overview(self) -> Answer:
        """Return what the page shows."""
        return self.json(("overview",), self.view.overview)

    def manifest(self) -> Answer:
        """Return the manifest and its signature, two lines."""
        return self._once(("publication",), lambda: (self.signed.to_bytes(), "text/plain"))

    def release(self, number: int, level: int) -> Answer | None:
        """Return the release of a window; None for a window that is not published.

        Args:
            number: number of the window.
            level: number of a level, -1 for the finest.
        """
        contents = {one.window.number: one.contents[level] for one in self.publication.windows}
        if number not in contents:
            return None
        return self._once(("release", number, level), lambda: (contents[number], BINARY))

    def merged_release(self, last: int | None, level: int) -> Answer | None:
        """Return one release of the last windows that ended; None while none has.

        Args:
            last: number of windows; None for all.
            level: number of a level, -1 for the finest.
        """
        view = self.view
        if not view.ended:
            return None
        if not isinstance(view, PublicationView):  # which does not add up: the state so far
            return self.release(view.ended[-1].number, level)
        key = ("merged", last, level)
        return self._once(key, lambda: (view.merged(last, level).to_bytes(), BINARY))

    def within(self, last: int | None) -> int | None:
        """Return a number of windows, None for all: also for more than have ended.

        Questions with the same answer are one question then.

        Args:
            last: number of windows; None for all.
        """
        ended = len(self.view.ended)
        return None if last is None or last >= ended else last

    def json(self, key: tuple[object, ...], content: Callable[[], object]) -> Answer:
        """Return an answer in JSON.

        Args:
            key: what is asked.
            content: computes it.
        """
        return self._once(key, lambda: (_encoded(content()), JSON))

    def kept(self, key: tuple[object, ...]) -> Answer | None:
        """Return an answer that was made before; None otherwise.

        Args:
            key: what is asked.
        """
        return self._always.get(key) or self._made.get(key)

    def _once(self, key: tuple[object, ...], make: Callable[[], tuple[bytes, str]]) -> Answer:
        found = self.kept(key)
        if found is not None:
            return found
        with self._lock:  # courses are kept between answers, and two computations would share them
            found = self.kept(key)
            if found is None:
                body, kind = make()
                digest = hashlib.sha256(body).hexdigest()[:16]
                found = Answer(body, kind, f'"{self.publication.number}-{digest}"')
                _ = found.compressed  # here, where it holds up one reader alone
                self._keep(key, found)
        return found

    def _keep(self, key: tuple[object, ...], answer: Answer) -> None:
        if len(key) == 1:  # what every reader asks for
            self._always[key] = answer
            return
        self._made[key] = answer
        self._bytes += _size_of(key, answer)
        while len(self._made) > _MOST_KEPT or self._bytes > _MOST_BYTES:
            self._bytes -= _size_of(*self._made.popitem(last=False))


def _size_of(key: tuple[object, ...], answer: Answer) -> int:
    """Return the bytes that an answer keeps: its question, which readers choose, and both forms."""
    return len(repr(key)) + len(answer.body) + len(answer.compressed or b"")


def _encoded(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "backslashreplace"
    )
