"""A stream of the service whose windows slide: what its blocks published at the ends of slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from lazysketch.service.publication import PublishedWindow
from lazysketch.service.stream import Stream
from lazysketch.windows.window import instant

if TYPE_CHECKING:
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.store import Store
    from lazysketch.store.stored_sliding import StoredSliding
    from lazysketch.windows.window import Window

__all__ = ["SlidingStream"]

_EPOCH: Final = instant(0)
_MICROSECOND: Final = timedelta(microseconds=1)


class SlidingStream(Stream):
    """A stream of the sliding windows of a clock.

    What is published is the counts of each block so far, at the end of every slice that is kept.
    Readers compute every window from them; each table is sent once.

    Args:
        settings: its description, of kind ``"items"`` with a span.
        store: the open store; the stream has sliding windows of its name there.
        clock: returns seconds since 1970.
    """

    def __init__(
        self, settings: StreamSettings, store: Store, *, clock: Callable[[], float]
    ) -> None:
        super().__init__(settings)
        self.windows = settings.sliding_of(store, clock=clock)
        self._contents: dict[int, PublishedWindow] = {}

    @property
    def counts(self) -> StoredSliding:
        """The sliding windows of the store."""
        return self.windows

    def _state(self) -> tuple[int, tuple[PublishedWindow, ...]]:
        ends = {self._tick_of(end): end for end in self.windows.ends}
        known = self._contents
        self._contents = {
            number: known.get(number) or PublishedWindow.of(replace(end, number=number))
            for number, end in ends.items()
        }
        return max(ends), tuple(self._contents.values())

    def _tick_of(self, end: Window) -> int:
        """Return the number of the tick at which a slice ended."""
        passed = cast("datetime", end.end) - _EPOCH
        return self.tick.of(passed // _MICROSECOND * 1000)
