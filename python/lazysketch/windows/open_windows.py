"""Open windows, one class per way to cut a stream; each window has a live table.

A live table is a :class:`~lazysketch.HeavyHitters`. When its window ends, its release and names,
which are public, are kept, and the table is closed: its key and exact counts are destroyed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

import numpy as np

from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec, JointPrivacy
from lazysketch.sketches.keys import Key
from lazysketch.windows.batches import as_sequence, check_batch, taken
from lazysketch.windows.boundaries import (
    ClockBoundaries,
    TimeRange,
    checked_clock,
    checked_times,
)
from lazysketch.windows.window import Window, instant

__all__ = ["ByClock", "BySteps", "ByTime", "Keep", "OpenWindows", "WindowTables"]

Keep: TypeAlias = Callable[[Window], None]


class WindowTables:
    """Maker of the live tables; all have the same hash seed, so that releases can be merged."""

    def __init__(self, spec: HeavyHittersSpec, *, key: Key) -> None:
        """Take the description and the master key of all tables."""
        self._spec, self._key = spec, key
        self._reasons: tuple[str, ...] = ()

    def make(self) -> HeavyHitters:
        """Return the empty table of a new window."""
        table = HeavyHitters.from_spec(self._spec, key=self._key)
        if self._spec.table.hash_seed is None:
            self._spec = table.spec
        self._reasons = table.not_private_because
        return table

    @property
    def max_weight(self) -> int:
        """Largest weight of one event."""
        return self._spec.table.max_weight

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of one window, which is that of all windows together."""
        return self._spec.privacy_of(self._spec.table.privacy_unless(self._reasons))

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """Why the tables made so far are NOT PRIVATE; empty if they are private."""
        return self._reasons


class OpenWindows(ABC):
    """The windows that have not ended. Not thread-safe: callers hold a lock."""

    def __init__(self, tables: WindowTables, *, keep: Keep) -> None:
        """Take the maker of tables, and the function that receives each window that ends."""
        self._tables, self._keep = tables, keep

    @abstractmethod
    def add(self, items: object, weights: object, times: object) -> None:
        """Count events.

        Args:
            items: items of the events.
            weights: one integer per item, or None.
            times: one instant per item, or None if the cut needs no times.
        """

    @abstractmethod
    def advance(self) -> None:
        """End the windows that are over."""

    @abstractmethod
    def open_window(self) -> Window | None:
        """Return the published part of the open window, or None."""

    @abstractmethod
    def finish(self) -> None:
        """Publish the open windows and close them; completes a call that was interrupted."""

    @abstractmethod
    def close(self) -> None:
        """Destroy the open windows."""

    def tick(self, steps: int) -> None:  # noqa: ARG002 -- windows of time have no steps
        """Take steps without an event; windows of time only advance.

        Args:
            steps: number of steps.
        """
        self.advance()


Moment: TypeAlias = datetime | int


def _window(
    table: HeavyHitters, *, ended: bool, number: int, begin: Moment, end: Moment, whole: bool
) -> Window:
    """Return the published part of a window, without truncated names, which cannot be queried."""
    names = tuple(item for item, complete, _ in table._candidates() if complete)
    return Window(
        number=number,
        begin=begin,
        end=end,
        ended=ended,
        whole=whole,
        release=table.release(),
        names=names,
    )


class ByClock(OpenWindows):
    """One open window, cut by a public clock; a step is a slice of the window."""

    def __init__(
        self,
        tables: WindowTables,
        *,
        keep: Keep,
        boundaries: ClockBoundaries,
        clock: Callable[[], float],
        most: int,
    ) -> None:
        """Open the current window; ``most`` windows are kept."""
        super().__init__(tables, keep=keep)
        self._boundaries, self._clock, self._most = boundaries, clock, most
        self._number, passed = boundaries.place(self._now())
        self._whole = passed == 0
        self._table = self._tables.make()
        self._table.tick(passed)

    def add(self, items: object, weights: object, times: object) -> None:
        """Count events in the current slice, regardless of their own times."""
        if times is not None:
            raise ArgumentTypeError(
                "times: expected none for windows by the clock (give begin and end), got some"
            )
        self.advance()
        self._table._table._add_to_batch(items, weights)

    def advance(self) -> None:
        """End the windows that are over; do nothing if the clock goes backwards."""
        number, passed = self._boundaries.place(self._now())
        while self._number < number:
            self._end(whole=self._whole)
            # Empty windows are published too; of a long run of them, make only those that are kept.
            self._number = max(self._number + 1, number - self._most)
            self._table, self._whole = self._tables.make(), True
        if self._number == number and passed > self._table.step:
            self._table.tick(passed - self._table.step)

    def open_window(self) -> Window | None:
        """Return the ended slices of the open window."""
        return self._published(ended=False, whole=False)

    def finish(self) -> None:
        """End the open window now."""
        if not self._table._table.closed:
            self.advance()
            self._end(whole=False)

    def close(self) -> None:
        """Destroy the open window."""
        self._table.close()

    def _end(self, *, whole: bool) -> None:
        # Take the slices that are left, so that the step does not show whether the open slice had
        # events.
        self._table.tick(self._boundaries.slices - self._table.step)
        self._table.finish()
        self._keep(self._published(ended=True, whole=whole))
        self._table.close()

    def _published(self, *, ended: bool, whole: bool) -> Window:
        return _window(
            self._table,
            ended=ended,
            number=self._number,
            begin=instant(self._boundaries.begin(self._number)),
            end=instant(self._boundaries.begin(self._number + 1)),
            whole=whole,
        )

    def _now(self) -> int:
        return checked_clock(self._clock())


class BySteps(OpenWindows):
    """One open window of a fixed number of steps; an event is a step.

    A window is finished after its last step, so that an ended window has no pending counts.
    """

    def __init__(self, tables: WindowTables, *, keep: Keep, every: int, most: int) -> None:
        """Open the first window; ``most`` windows are kept."""
        super().__init__(tables, keep=keep)
        self._every, self._most = every, most
        self._number = 0
        self._table = tables.make()

    def add(self, items: object, weights: object, times: object) -> None:
        """Count events, one step each."""
        if times is not None:
            raise ArgumentTypeError("times: expected none for windows of steps, got some")
        events = as_sequence("items", items)
        if len(events) < self._room:
            self._table.update_many(events, weights)
            return
        given = None if weights is None else as_sequence("weights", weights)
        # Several windows: check everything before the first of them counts.
        check_batch(events, given, max_weight=self._tables.max_weight)
        start = 0
        while start < len(events):
            stop = min(start + self._room, len(events))
            part = None if given is None else given[start:stop]
            self._table.update_many(events[start:stop], part)
            self.advance()
            start = stop

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        while steps > 0:
            part = min(steps, self._room)
            self._table.tick(part)
            steps -= part
            self.advance()
            # Of a long run of empty windows, make only those that are kept.
            skipped = max(steps // self._every - self._most, 0)
            self._number += skipped
            steps -= skipped * self._every

    def advance(self) -> None:
        """End the window after its last step."""
        if not self._room:
            self._end(whole=True)
            self._number += 1
            self._table = self._tables.make()

    def open_window(self) -> Window | None:
        """Return the published part of the open window."""
        return self._published(self._table.step, ended=False, whole=False)

    def finish(self) -> None:
        """End the open window now, unless it has no step."""
        if not self._table.step:
            self._table.close()
        elif not self._table._table.closed:
            self._end(whole=False)

    def close(self) -> None:
        """Destroy the open window."""
        self._table.close()

    @property
    def _room(self) -> int:
        return self._every - self._table.step

    def _end(self, *, whole: bool) -> None:
        self._table.finish()
        self._keep(self._published(self._table.step, ended=True, whole=whole))
        self._table.close()

    def _published(self, steps: int, *, ended: bool, whole: bool) -> Window:
        begin = self._number * self._every
        return _window(
            self._table,
            ended=ended,
            number=self._number,
            begin=begin,
            end=begin + steps,
            whole=whole,
        )


class ByTime(OpenWindows):
    """All windows of a public range, open until the end of the input; each is one step."""

    def __init__(self, tables: WindowTables, *, keep: Keep, time_range: TimeRange) -> None:
        """Open all windows."""
        super().__init__(tables, keep=keep)
        self._range = time_range
        self._live = [tables.make() for _ in range(time_range.windows)]

    def add(self, items: object, weights: object, times: object) -> None:
        """Count events in the windows of their times; events outside the range are not counted."""
        if times is None:
            raise ArgumentTypeError("times: expected the time of each item, got none")
        events = as_sequence("items", items)
        given = None if weights is None else as_sequence("weights", weights)
        places = self._range.places(checked_times(times, events=len(events)))
        check_batch(events, given, max_weight=self._tables.max_weight)
        order = np.argsort(places, kind="stable")
        numbers, starts = np.unique(places[order], return_index=True)
        for number, positions in zip(numbers, np.split(order, starts[1:]), strict=False):
            if number >= 0:
                part = None if given is None else taken(given, positions)
                self._live[number]._table._add_to_batch(taken(events, positions), part)

    def advance(self) -> None:
        """Do nothing: events may come in any order of their times."""

    def open_window(self) -> Window | None:
        """Return None: all windows are published together."""
        return None

    def finish(self) -> None:
        """Publish all windows."""
        for number, table in enumerate(self._live):
            if table._table.closed:
                continue
            # Not only where events opened the step: it must not show where.
            table.tick(1 - table.step)
            table.finish()
            window = _window(
                table,
                ended=True,
                number=number,
                begin=instant(self._range.begin(number)),
                end=instant(self._range.begin(number + 1)),
                whole=True,
            )
            self._keep(window)
            table.close()

    def close(self) -> None:
        """Destroy all windows."""
        for table in self._live:
            table.close()
