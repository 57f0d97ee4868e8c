"""A stream of the service that publishes one statistic of all its events: its state at every tick.

The statistic is an object of the store whose steps are the slices of the public clock. What is
shown of a window is the state when it ended, which nobody can compute again later: it is kept in
the publications, and a window whose end was not published, as while the service did not run, has
none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from lazysketch.errors import StoreError
from lazysketch.service.published_window import PublishedWindow, held
from lazysketch.service.statistics_of_streams import STATISTICS
from lazysketch.service.stream import Stream
from lazysketch.windows.boundaries import checked_clock
from lazysketch.windows.window import Window, instant

if TYPE_CHECKING:
    from lazysketch.service.published_window import StatisticRelease
    from lazysketch.service.statistics_of_streams import StoredStatistic
    from lazysketch.service.stream_settings import StreamSettings
    from lazysketch.store import Store

__all__ = ["StatisticStream"]

_BEGIN: Final = "service begin of "


class StatisticStream(Stream):
    """A stream of which one statistic is published, such as its number of distinct items.

    Guarantee: as of :class:`Stream`; readers see the number of slices since it began, and nothing
    of the number of events but what the statistic itself releases.

    Args:
        settings: its description, of one of the kinds of ``STATISTICS``.
        store: the open store; the stream has a statistic of its name there.
        clock: returns seconds since 1970.
        earlier: the windows of its last publication, oldest first.
    """

    def __init__(
        self,
        settings: StreamSettings,
        store: Store,
        *,
        clock: Callable[[], float],
        earlier: Iterable[PublishedWindow] = (),
    ) -> None:
        super().__init__(settings)
        self._clock = clock
        self._first = self._begun(store)
        kind = STATISTICS[settings.kind]
        self._count = kind.stored(store, settings.name, settings.statistic)
        self._count._follow_clock(self._ended_slices)
        self._ending = threading.Lock()
        self._ended = {one.window.number: one for one in earlier if one.window.ended}

    @property
    def counts(self) -> StoredStatistic:
        """The statistic of the store, which takes no more events after its last slice."""
        self._end_if_over()
        return self._count

    def _begun(self, store: Store) -> int:
        """Return the tick at which the stream began, which the store keeps from then on."""
        name, begun = self.settings.name, store.note(f"{_BEGIN}{self.settings.name}")
        if begun:
            return int(begun)
        if name in store.names:
            raise StoreError(f"state: expected the begin of {name}, got none")
        first = self._tick_now()
        store.keep_note(f"{_BEGIN}{name}", str(first))
        return first

    def _ended_slices(self) -> int:
        """Return how many slices have ended; the last of a stream with an end is ended by it."""
        passed, horizon = self._tick_now() - self._first, self._count.horizon
        return passed if horizon is None else min(passed, horizon - 1)

    def _end_if_over(self) -> None:
        """End a stream whose last slice has ended, at that tick in every life."""
        horizon = self._count.horizon
        if horizon is None or self._tick_now() - self._first < horizon:
            return
        with self._ending:
            if not self._count.finished:
                self._count.finish()

    def _tick_now(self) -> int:
        return self.tick.of(checked_clock(self._clock()))

    def _state(self) -> tuple[int, tuple[PublishedWindow, ...]]:
        self._end_if_over()
        release = self._count.release()
        number = self._first + release.step
        finished = self._count.finished
        kept = {**self._ended}
        if release.step:
            place, passed = divmod(number, self.tick.slices)
            if passed == 0 or finished:
                place -= passed == 0
                kept[place] = self._shown(place, release, ended=True, whole=passed == 0)
                self._ended = dict(sorted(kept.items())[-self.settings.keep :])
                kept = self._ended
            else:
                kept[place] = self._shown(place, release, ended=False, whole=False)
        return number, tuple(kept[one] for one in sorted(kept))

    def _shown(
        self, place: int, release: StatisticRelease, *, ended: bool, whole: bool
    ) -> PublishedWindow:
        """Return the state so far as that of the window in which it stands."""
        slices = self.tick.slices
        window = Window(
            number=place,
            begin=instant(self.tick.begin(place * slices)),
            end=instant(self.tick.begin((place + 1) * slices)),
            ended=ended,
            whole=whole,
            release=held(release),
            names=(),
        )
        return PublishedWindow(window, (release.to_bytes(),))
