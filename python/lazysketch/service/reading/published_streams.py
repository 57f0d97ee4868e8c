"""Publications as they are shown: loaded before their instant, shown from it on."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lazysketch.errors import LazySketchError
from lazysketch.service.reading.answers import Answers
from lazysketch.service.reading.kinds_of_views import view_of
from lazysketch.service.tick import Tick
from lazysketch.windows.window import instant

if TYPE_CHECKING:
    from datetime import datetime

    from lazysketch.service.publication_files import PublicationFiles, ServiceFacts

__all__ = ["PublishedStream", "PublishedStreams"]

_LOG: Final = logging.getLogger("lazysketch.service")
_LOOK_EVERY: Final = 0.05  # seconds; it costs one look at a file per stream


class PublishedStream:
    """One stream as readers see it.

    Attributes:
        name: its name.
        answers: the answers of the publication that is shown; None before the first.
        changed: set when another publication is shown, and replaced by another event.
        ended: True when the process ends: its feeds end then too.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.answers: Answers | None = None
        self.changed = asyncio.Event()
        self.ended = False
        self.loaded: tuple[int, int] | None = None
        self.failed: tuple[int, int] | None = None
        self.logged: tuple[int, int] | None = None
        self.next: Answers | None = None
        self.next_at = 0

    def wait_for(self, answers: Answers, *, now: int) -> None:
        """Keep a publication until its instant.

        One that is loaded after its instant is shown at the next multiple of the delay, so that
        its instant does not say how long its files took. The first one of a process is shown now:
        when a process starts does not depend on events.

        Args:
            answers: its answers.
            now: nanoseconds since 1970.
        """
        one = answers.publication
        at = round(one.publish_at.timestamp() * 1e6) * 1000
        if at < now and self.answers is not None:
            tick = Tick.published(one.facts.every, one.facts.slices)
            at = tick.shown_at(one.number, ready=now)
        self.next, self.next_at = answers, at

    def show(self, answers: Answers) -> None:
        """Show a publication from now on.

        Args:
            answers: its answers.
        """
        self.answers, self.next = answers, None
        self._tell()

    def end(self) -> None:
        """End the feeds."""
        self.ended = True
        self._tell()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class PublishedStreams:
    """All streams of a service, kept up to date by :meth:`follow`.

    Guarantee: what is shown, and when, is a function of the files and of the clock. A publication
    whose signature is not that of the service's key is never shown, and none is shown after a later
    one.

    Args:
        files: the directory of publications.
        clock: returns seconds since 1970.
    """

    def __init__(self, files: PublicationFiles, *, clock: Callable[[], float] = time.time) -> None:
        self._files, self._clock = files, clock
        self._ending = threading.Event()
        self.facts: ServiceFacts | None = None
        self.streams: dict[str, PublishedStream] = {}

    async def follow(self) -> None:
        """Load and show publications until the task is cancelled; end feeds when that was asked."""
        while True:
            if self._ending.is_set():
                self.end()
            await self.look()
            await asyncio.sleep(_LOOK_EVERY)

    def end_soon(self) -> None:
        """End all feeds within the time of a look; any thread may call it."""
        self._ending.set()

    def next_shown(self, name: str) -> datetime | None:
        """Return the next instant at which a stream may be published, by the clock alone.

        Args:
            name: the stream.
        """
        found = None if self.facts is None else self.facts.next_shown(name, self._now())
        return None if found is None else instant(found)

    async def look(self) -> None:
        """Load what is new, and show what is due."""
        try:
            self._find_streams()
        except (OSError, LazySketchError) as error:
            _LOG.error("streams: %s", error)
        for stream in self.streams.values():
            try:
                await self._load(stream)
            except (OSError, LazySketchError) as error:
                self._not_loaded(stream, error)
            due = stream.next
            if due is not None and stream.next_at <= self._now():
                stream.show(due)

    def end(self) -> None:
        """End all feeds, so that a stop of the process waits for none."""
        for stream in self.streams.values():
            stream.end()

    def _now(self) -> int:
        return int(self._clock() * 1_000_000_000)

    def _not_loaded(self, stream: PublishedStream, error: Exception) -> None:
        """Log what cannot be read twice in a row, once: before, it may have been half replaced."""
        stamp = self._files.stamp(stream.name)
        if stamp == stream.failed and stamp != stream.logged:
            stream.logged = stamp
            _LOG.warning("%s: not loaded: %s", stream.name, error)
        stream.failed = stamp

    def _find_streams(self) -> None:
        found = self._files.facts()
        if found is not None and found != self.facts:
            self.facts = found
            self.streams = {
                name: self.streams.get(name) or PublishedStream(name) for name in found.streams
            }

    async def _load(self, stream: PublishedStream) -> None:
        stamp = self._files.stamp(stream.name)
        if stamp is None or stamp == stream.loaded or self.facts is None:
            return
        answers = await asyncio.to_thread(
            self._read, stream.name, self.facts.public_key, stream.next or stream.answers
        )
        stream.loaded = stamp
        if answers is not None:
            stream.wait_for(answers, now=self._now())

    def _read(self, name: str, public_key: bytes, before: Answers | None) -> Answers | None:
        """Return the answers of the publication on the disk; None if it is not a later one."""
        signed = self._files.read_signed(name)
        if signed is None:
            return None
        signed.check(public_key)
        publication = self._files.read(signed, name)
        if before is not None and publication.number <= before.publication.number:
            return None
        answers = Answers(view_of(publication, None if before is None else before.view), signed)
        answers.prepare()
        return answers
