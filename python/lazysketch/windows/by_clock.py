"""Windows of a public clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lazysketch.errors import ArgumentTypeError
from lazysketch.windows.boundaries import ClockBoundaries, checked_clock
from lazysketch.windows.open_windows import OneOpenWindow, Progress, State
from lazysketch.windows.window import AnyWindow, instant
from lazysketch.windows.window_tables import Table, WindowMaker

__all__ = ["ByClock"]


class ByClock(OneOpenWindow[Table]):
    """One open window, cut by a public clock; a step is a slice of the window."""

    def __init__(
        self,
        tables: WindowMaker[Table],
        *,
        boundaries: ClockBoundaries,
        clock: Callable[[], float],
        most: int,
        since: Progress | None,
    ) -> None:
        """Open the current window, or the one that was open; ``most`` windows are kept."""
        self._boundaries, self._clock = boundaries, clock
        if since is None:
            number, passed = boundaries.place(self._now())
            since = Progress(number=number, whole=passed == 0)
            state = State.after(since, tables)
            assert state.table is not None, "these windows are not over"  # noqa: S101
            state.table.tick(passed)
        else:
            state = State.after(since, tables)
        super().__init__(tables, state, most=most)

    def add(self, items: object, weights: object, times: object, user: object = None) -> None:
        """Count events in the current slice, regardless of their own times."""
        if times is not None:
            raise ArgumentTypeError(
                "times: expected none for windows by the clock (give begin and end), got some"
            )
        self.advance()
        self._tables.add(self._opened, items, weights, user)

    def advance(self) -> None:
        """End the windows that are over; do nothing more if the clock goes backwards."""
        self.settle()
        if self.over:
            return
        number, passed = self._boundaries.place(self._now())
        while self._state.number < number:
            # Empty windows are published too; of a long run of them, make only those that are kept.
            self._end_open(following=max(self._state.number + 1, number - self._most))
        table = self._opened
        if self._state.number == number and passed > table.step:
            table.tick(passed - table.step)

    def is_due(self, now: int) -> bool:
        """Return whether an instant is after the open slice."""
        if self.over:
            return False
        return self._boundaries.place(now) > (self._state.number, self._opened.step)

    def open_window(self) -> AnyWindow | None:
        """Return the ended slices of the open window."""
        state = self._state
        return None if state.table is None else self._published(state, state.table, ended=False)

    def _end_open(self, *, following: int) -> None:
        table = self._opened
        table.tick(self._boundaries.slices - table.step)
        self._end_if_due()
        # An interrupt here publishes some more empty windows, which are not among those kept.
        self._state = replace(self._state, number=following)
        self.settle()

    def _has_last_step(self, table: Table) -> bool:
        return table.step >= self._boundaries.slices

    def _ended_window(self, state: State[Table], table: Table) -> AnyWindow | None:
        # The slices that are left too: the step does not show whether the open slice had events.
        table.tick(self._boundaries.slices - table.step)
        table.finish()
        return self._published(state, table, ended=True)

    def _published(self, state: State[Table], table: Table, *, ended: bool) -> AnyWindow:
        return self._tables.published(
            table,
            ended=ended,
            number=state.number,
            begin=instant(self._boundaries.begin(state.number)),
            end=instant(self._boundaries.begin(state.number + 1)),
            whole=ended and state.whole and state.last is None,
        )

    def _now(self) -> int:
        return checked_clock(self._clock())
