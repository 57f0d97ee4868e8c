"""Windows of a public range of time, by the times of the events."""

from __future__ import annotations

import numpy as np

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.windows.batches import people_of, taken, unchanging
from lazysketch.windows.boundaries import TimeRange, Times, checked_times
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.window import AnyWindow, instant
from lazysketch.windows.window_tables import One, WindowMaker, core_tables

__all__ = ["ByTime"]


class ByTime(OpenWindows[One]):
    """All windows of a public range, open until the end of the input.

    Each has one table, and is one step of it; of sliding windows, a table has a step for each of
    its ``slices``.
    """

    def __init__(
        self,
        tables: WindowMaker[One],
        *,
        time_range: TimeRange,
        since: Progress | None,
        slices: int = 1,
    ) -> None:
        """Open all windows, unless they are published."""
        self._tables, self._range, self._slices = tables, time_range, slices
        # Windows in order, as `finish` publishes them: the next is that of `_live[len(_done)]`.
        self._done: list[AnyWindow] = [] if since is None else list(since.ended)
        self._finishing = self._over = since is not None and since.finished
        windows = range(0 if self._over else -(-time_range.windows // slices))
        self._live = [tables.make(number) for number in windows]

    @property
    def ended(self) -> tuple[AnyWindow, ...]:
        """All windows, after ``finish``."""
        return tuple(self._done)

    @property
    def over(self) -> bool:
        """True after ``finish`` or ``close``."""
        return self._over

    @property
    def finished(self) -> bool:
        """True after ``finish``."""
        return self._over and len(self._done) == self._range.windows

    @property
    def progress(self) -> Progress:
        """The published windows."""
        return Progress(ended=self.ended, finished=self.finished)

    @property
    def tables(self) -> dict[int, One]:
        """The tables of all windows, until they are published."""
        return {} if self._over else dict(enumerate(self._live))

    @property
    def refused(self) -> int:
        """Events beyond the bounds of people, in all windows."""
        return sum(map(self._tables.refused, self._live))

    def add(self, items: object, weights: object, times: object, user: object = None) -> None:
        """Count events in the windows of their times; events outside the range are not counted."""
        if times is None:
            raise ArgumentTypeError("times: expected the time of each item, got none")
        events = unchanging("items", items)
        given = None if weights is None else _native.plain_weights(weights)
        places = self._range.places(checked_times(times, events=len(events)))
        self._tables.check(events, given)
        people = people_of(user, events=len(events), bounded=self._tables.bounds_people)
        order = np.argsort(places, kind="stable")
        placed = places[order]
        numbers, starts = np.unique(placed // self._slices, return_index=True)
        parts = [
            (self._live[number], positions)
            for number, positions in zip(numbers, np.split(order, starts[1:]), strict=False)
            if number >= 0
        ]
        batches = [
            self._tables.core_batches(
                table,
                taken(events, positions),
                None if given is None else given[positions],
            )
            for table, positions in parts
        ]
        steps = None
        if self._slices > 1:
            steps = [self._steps_of(places[positions]) for _, positions in parts]
        # One call of the core for all windows, which no interrupt divides.
        if people is None:
            whole = [batch for of_window in batches for batch in of_window]
            tables, split, weights_of = zip(*whole, strict=True) if whole else ((), (), ())
            _native.add_to_batch_of_all(tables, split, weights_of, steps=steps)
        else:
            of_windows = [people.take(positions) for _, positions in parts]
            _native.add_bounded_to_batch_of_all(batches, of_windows, steps=steps)

    def _steps_of(self, places: Times) -> list[tuple[int, int]]:
        """Return the steps of one table that have events, in order, and how many."""
        slices, events = np.unique(places % self._slices, return_counts=True)
        return [*zip(slices.tolist(), events.tolist(), strict=True)]

    def settle(self) -> None:
        """Publish all windows if ``finish`` was called."""
        if self._finishing and not self._over:
            self._publish()
            self._over = True

    def advance(self) -> None:
        """Do nothing: events may come in any order of their times."""
        self.settle()

    def open_window(self) -> AnyWindow | None:
        """Return None: all windows are published together."""
        return None

    def finish(self) -> None:
        """Publish all windows."""
        self._finishing = True
        self.settle()

    def close(self) -> None:
        """Destroy all windows."""
        try:
            self.settle()
        finally:
            self._over = True
            _native.close_all([one for table in self._live for one in core_tables(table)])

    def _publish(self) -> None:
        for number, table in enumerate(self._live[len(self._done) :], start=len(self._done)):
            # Not only where events opened it: the step must not show where.
            table.tick(1 - table.step)
            table.finish()
            window = self._tables.published(
                table,
                ended=True,
                number=number,
                begin=instant(self._range.begin(number)),
                end=instant(self._range.begin(number + 1)),
                whole=True,
            )
            self._done.append(window)
            table.close()
        _native.close_all([one for table in self._live for one in core_tables(table)])
