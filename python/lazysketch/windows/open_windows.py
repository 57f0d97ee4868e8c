"""The open windows: three ways to cut a stream, each with live tables that end in public windows.

A live table is a :class:`~lazysketch.HeavyHitters`. When its window ends its release and names are
kept, both public, and the table is closed: key and exact counts are destroyed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.windows.batches import as_sequence, check_batch, taken
from lazysketch.windows.boundaries import (
    ClockBoundaries,
    TimeRange,
    checked_clock,
    checked_times,
)
from lazysketch.windows.window import Window, instant

__all__ = ["ByClock", "BySteps", "ByTime", "Keep", "LiveWindows", "Make"]

Make: TypeAlias = Callable[[], HeavyHitters]
Keep: TypeAlias = Callable[[Window], None]


class LiveWindows(ABC):
    """The windows that are not over. Not safe for threads by itself."""

    def __init__(self, make: Make, *, keep: Keep) -> None:
        """Take what makes the table of a window, and what is given each one that ends."""
        self._make, self._keep = make, keep

    @abstractmethod
    def add(self, items: object, weights: object, times: object) -> None:
        """Count events.

        Args:
            items: of the events.
            weights: as many integers, or None.
            times: as many instants, or None where the cut needs none.
        """

    @abstractmethod
    def advance(self) -> None:
        """End the windows that are over by themselves."""

    @abstractmethod
    def open_window(self) -> Window | None:
        """Return what is published of the open window, None if nothing can be."""

    @abstractmethod
    def finish(self) -> None:
        """Publish what is open and close it."""

    @abstractmethod
    def close(self) -> None:
        """Destroy what is open."""

    def tick(self, steps: int) -> None:  # noqa: ARG002 -- what steps are is the cut's
        """Take steps without an event; in windows of time there are none to take.

        Args:
            steps: how many.
        """
        self.advance()


def opened(table: HeavyHitters, **facts: Any) -> Window:
    """Return what a window has published so far.

    Args:
        table: of the window.
        facts: number, begin, end and whole.

    Returns:
        The window.
    """
    return Window(ended=False, release=table.release(), names=published_names(table), **facts)


def ended(table: HeavyHitters, **facts: Any) -> Window:
    """Return what a window has published in the end, and close its table.

    Args:
        table: all of whose steps are taken.
        facts: number, begin, end and whole.

    Returns:
        The window.
    """
    window = Window(ended=True, release=table.release(), names=published_names(table), **facts)
    table.close()
    return window


def published_names(table: HeavyHitters) -> tuple[str | bytes | int, ...]:
    """Return the names that can be asked for: all but those that were cut.

    Args:
        table: of a window.

    Returns:
        Names in order, or the public domain.
    """
    return tuple(item for item, complete, _ in table._candidates() if complete)


class ByClock(LiveWindows):
    """One open window, by a public clock; a step is a slice of it."""

    def __init__(
        self,
        make: Make,
        *,
        keep: Keep,
        boundaries: ClockBoundaries,
        clock: Callable[[], float],
        most: int,
    ) -> None:
        """Open the window of this moment; ``most`` windows are kept."""
        super().__init__(make, keep=keep)
        self._boundaries, self._clock, self._most = boundaries, clock, most
        self._number, passed = boundaries.place(self._now())
        self._whole = passed == 0
        self._table = self._make()
        self._table.tick(passed)

    def add(self, items: object, weights: object, times: object) -> None:
        """Count events of this moment's slice, whatever time they claim."""
        if times is not None:
            raise ArgumentTypeError(
                "times: expected none for windows by the clock, which begin and end give, got some"
            )
        self.advance()
        self._table._table._add_to_batch(items, weights)

    def advance(self) -> None:
        """End what the clock says is over; a clock that goes back moves nothing."""
        number, passed = self._boundaries.place(self._now())
        while self._number < number:
            self._end(whole=self._whole)
            # Windows without an event are windows like others, but those that nobody could ask
            # for any more need not be made.
            self._number = max(self._number + 1, number - self._most)
            self._table, self._whole = self._make(), True
        if self._number == number and passed > self._table.step:
            self._table.tick(passed - self._table.step)

    def open_window(self) -> Window | None:
        """Return the slices of the open window that are over."""
        return opened(self._table, **self._facts(whole=False))

    def finish(self) -> None:
        """End the open window now."""
        self.advance()
        self._end(whole=False)

    def close(self) -> None:
        """Destroy the open window."""
        self._table.close()

    def _end(self, *, whole: bool) -> None:
        self._table.tick(self._boundaries.slices - self._table.step)
        self._keep(ended(self._table, **self._facts(whole=whole)))

    def _facts(self, *, whole: bool) -> dict[str, Any]:
        number = self._number
        begin, after = self._boundaries.begin(number), self._boundaries.begin(number + 1)
        return {"number": number, "begin": instant(begin), "end": instant(after), "whole": whole}

    def _now(self) -> int:
        return checked_clock(self._clock())


class BySteps(LiveWindows):
    """One open window of a number of steps; an event is a step.

    When the steps are over as many empty ones follow as there are columns, so that every column
    is pushed behind the last event and nothing of an ended window waits.
    """

    def __init__(
        self, make: Make, *, keep: Keep, every: int, width: int, max_weight: int, most: int
    ) -> None:
        """Open the first window; ``most`` windows are kept."""
        super().__init__(make, keep=keep)
        self._every, self._width = every, width
        self._max_weight, self._most = max_weight, most
        self._number = 0
        self._table = make()

    def add(self, items: object, weights: object, times: object) -> None:
        """Count events, one step each."""
        if times is not None:
            raise ArgumentTypeError("times: expected none for windows of steps, got some")
        whole = as_sequence("items", items)
        if len(whole) < self._room:
            self._table.update_many(whole, weights)
            return
        given = None if weights is None else as_sequence("weights", weights)
        # Several windows: each would refuse for itself, when others had counted already.
        check_batch(whole, given, max_weight=self._max_weight)
        start = 0
        while start < len(whole):
            stop = min(start + self._room, len(whole))
            part = None if given is None else given[start:stop]
            self._table.update_many(whole[start:stop], part)
            self.advance()
            start = stop

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        while steps > 0:
            taken = min(steps, self._room)
            self._table.tick(taken)
            steps -= taken
            self.advance()
            # Of many empty windows only those are made that are kept.
            skipped = max(steps // self._every - self._most, 0)
            self._number += skipped
            steps -= skipped * self._every

    def advance(self) -> None:
        """End the window once its steps are taken."""
        if not self._room:
            self._end(whole=True)
            self._number += 1
            self._table = self._make()

    def open_window(self) -> Window | None:
        """Return what is published of the open window."""
        return opened(self._table, **self._facts(whole=False))

    def finish(self) -> None:
        """End the open window now, unless it has no step."""
        if not self._table.step:
            self._table.close()
            return
        self._table.end_window()
        self._end(whole=False)

    def close(self) -> None:
        """Destroy the open window."""
        self._table.close()

    @property
    def _room(self) -> int:
        return self._every - self._table.step

    def _end(self, *, whole: bool) -> None:
        facts = self._facts(whole=whole)
        self._table.tick(self._width)
        self._keep(ended(self._table, **facts))

    def _facts(self, *, whole: bool) -> dict[str, Any]:
        begin = self._number * self._every
        after = begin + self._table.step
        return {"number": self._number, "begin": begin, "end": after, "whole": whole}


class ByTime(LiveWindows):
    """All windows of a public range, open until the end of the input; each is one step."""

    def __init__(self, make: Make, *, keep: Keep, time_range: TimeRange, max_weight: int) -> None:
        """Open all windows."""
        super().__init__(make, keep=keep)
        self._range, self._max_weight = time_range, max_weight
        self._tables = [make() for _ in range(time_range.windows)]

    def add(self, items: object, weights: object, times: object) -> None:
        """Count events in the windows of their times; outside of the range nowhere."""
        if times is None:
            raise ArgumentTypeError("times: expected the time of each item, got none")
        whole = as_sequence("items", items)
        given = None if weights is None else as_sequence("weights", weights)
        places = self._range.places(checked_times(times, events=len(whole)))
        check_batch(whole, given, max_weight=self._max_weight)
        order = np.argsort(places, kind="stable")
        numbers, starts = np.unique(places[order], return_index=True)
        for number, positions in zip(numbers, np.split(order, starts[1:]), strict=False):
            if number >= 0:
                part = None if given is None else taken(given, positions)
                self._tables[number]._table._add_to_batch(taken(whole, positions), part)

    def advance(self) -> None:
        """End nothing: no event can tell that no earlier one will follow."""

    def open_window(self) -> Window | None:
        """Return nothing: all is published together."""
        return None

    def finish(self) -> None:
        """Publish all windows."""
        for number, table in enumerate(self._tables):
            table.tick(1)
            begin, after = self._range.begin(number), self._range.begin(number + 1)
            facts = {"begin": instant(begin), "end": instant(after), "whole": True}
            self._keep(ended(table, number=number, **facts))

    def close(self) -> None:
        """Destroy all windows."""
        for table in self._tables:
            table.close()
