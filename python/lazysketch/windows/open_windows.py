"""Open windows, and how one ends and the next begins.

An interrupt may come between any two bytecodes, and memory may run out at any allocation. So the
end of a window is a chain of changes, and each of them is one call of the core or one assignment.
The next call, whichever it is, completes the chain (:meth:`OpenWindows.settle`): the state shows
how far it went, and a change that is repeated changes nothing. A window that has its last step
takes no more events, so a release that is made twice is twice the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic

from lazysketch import _native
from lazysketch.releases.items import Item
from lazysketch.windows.window import AnyWindow
from lazysketch.windows.window_tables import Table, WindowMaker

__all__ = ["OneOpenWindow", "OpenWindows", "Progress", "State"]


@dataclass(frozen=True)
class Progress:
    """How far windows have come; with the tables of the open ones, what a store keeps of them.

    Attributes:
        ended: the ended windows that are kept, oldest first.
        number: number of the open window, where one is open at a time.
        whole: False if the open window was opened late.
        last: steps of the last window, after ``finish``.
        finished: True after ``finish``.
        taken: steps of the open slice, where slices have a number of steps.
    """

    ended: tuple[AnyWindow, ...] = ()
    number: int = 0
    whole: bool = True
    last: int | None = None
    finished: bool = False
    taken: int = 0


class OpenWindows(ABC, Generic[Table]):
    """The windows of a stream. Not thread-safe: callers hold a lock."""

    @property
    @abstractmethod
    def ended(self) -> tuple[AnyWindow, ...]:
        """The ended windows that are kept, oldest first."""

    @property
    @abstractmethod
    def over(self) -> bool:
        """True after ``finish`` or ``close``: no more events are accepted."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True after ``finish``: all windows are published."""

    @property
    def step(self) -> int | None:
        """Steps taken; None for windows of time."""
        return None

    @property
    @abstractmethod
    def progress(self) -> Progress:
        """How far the windows have come; after :meth:`settle`."""

    @property
    @abstractmethod
    def tables(self) -> dict[int, Table]:
        """The tables of the open windows, by number; after :meth:`settle`."""

    @property
    @abstractmethod
    def refused(self) -> int:
        """Events beyond the bounds of people, in all windows: data, for the operator only.

        Of more windows in one batch than are kept, the others are never made, and add nothing.
        """

    def is_due(self, now: int) -> bool:  # noqa: ARG002 -- only a clock makes it so
        """Return whether :meth:`advance` would end a window or a slice.

        Args:
            now: what the clock says, in nanoseconds since 1970 UTC.
        """
        return False

    @abstractmethod
    def settle(self) -> None:
        """Complete what an interrupted call began; every other call begins with this."""

    @abstractmethod
    def add(self, items: object, weights: object, times: object, user: object = None) -> None:
        """Count events: all of them, or none if the call raises before they are counted.

        Args:
            items: items of the events.
            weights: one integer per item, or None.
            times: one instant per item, or None if the cut needs no times.
            user: the person of each event, or None if people are not bounded.
        """

    def add_one(self, item: Item, weight: int, user: Item | None) -> bool:  # noqa: ARG002
        """Count one event without the detours of a batch, if no window ends before or with it.

        Args:
            item: item of the event.
            weight: its weight.
            user: its person, or None if people are not bounded.

        Returns:
            Whether it was counted; otherwise :meth:`add` has to count it.
        """
        return False

    @property
    def open_for_single_events(self) -> tuple[_native.HeavySketch, int] | None:
        """Where single events of weights up to the largest are counted; after :meth:`add_one`.

        Returns:
            The table of the core that counts all of an event, and the number of steps with which
            its window ends; None if there is no such table.
        """
        return None

    @abstractmethod
    def advance(self) -> None:
        """End the windows that are over."""

    @abstractmethod
    def open_window(self) -> AnyWindow | None:
        """Return the published part of the open window, or None."""

    @abstractmethod
    def finish(self) -> None:
        """Publish the open windows and close them; if interrupted, the next call goes on."""

    @abstractmethod
    def close(self) -> None:
        """Destroy the open windows, after the publication of those that have their last step."""

    def tick(self, steps: int) -> None:  # noqa: ARG002 -- windows of time have no steps
        """Take steps without an event; windows of time only advance.

        Args:
            steps: number of steps.
        """
        self.advance()


@dataclass(frozen=True)
class State(Generic[Table]):
    """Everything that changes when a window ends. One assignment switches to another state.

    Attributes:
        ended: the ended windows that are kept, oldest first.
        table: table of the open window; None until it is made, and after the last window.
        number: number of the open window.
        whole: False if the open window was opened late.
        last: steps of the open window when ``finish`` was called, which makes it the last one.
        over: True if there is no open window any more.
        finished: True if the last window was published.
        leaving: table of the window that ended, until it is closed.
        refused: events beyond the bounds of people, of the windows that ended.
    """

    ended: tuple[AnyWindow, ...] = ()
    table: Table | None = None
    number: int = 0
    whole: bool = True
    last: int | None = None
    over: bool = False
    finished: bool = False
    leaving: Table | None = None
    refused: int = 0

    @classmethod
    def after(cls, progress: Progress, tables: WindowMaker[Table]) -> State[Table]:
        """Return the state of windows that have come so far, with a table from ``tables``."""
        table = None if progress.finished else tables.make(progress.number)
        return cls(
            ended=progress.ended,
            table=table,
            number=progress.number,
            whole=progress.whole,
            last=progress.last,
            over=progress.finished,
            finished=progress.finished,
        )


class OneOpenWindow(OpenWindows[Table]):
    """Windows of which one is open at a time."""

    def __init__(self, tables: WindowMaker[Table], state: State[Table], *, most: int) -> None:
        """Begin with an open window; ``most`` ended windows are kept."""
        self._tables, self._state, self._most = tables, state, most

    @property
    def ended(self) -> tuple[AnyWindow, ...]:
        """The ended windows that are kept, oldest first."""
        return self._state.ended

    @property
    def over(self) -> bool:
        """True after ``finish`` or ``close``."""
        return self._state.over

    @property
    def finished(self) -> bool:
        """True after ``finish``."""
        return self._state.finished

    @property
    def progress(self) -> Progress:
        """How far the windows have come."""
        state = self._state
        return Progress(state.ended, state.number, state.whole, state.last, state.finished)

    @property
    def tables(self) -> dict[int, Table]:
        """The table of the open window."""
        state = self._state
        return {} if state.table is None else {state.number: state.table}

    @property
    def refused(self) -> int:
        """Events beyond the bounds of people, in the open window and those before."""
        table = self._state.table
        return self._state.refused + (0 if table is None else self._tables.refused(table))

    def settle(self) -> None:
        """End the open window if it has its last step, and open the next."""
        self._end_if_due()
        self._close_leaving()
        if self._state.table is None and not self._state.over:
            self._state = replace(self._state, table=self._tables.make(self._state.number))

    def finish(self) -> None:
        """End the open window now."""
        self.advance()
        if not self.over:
            self._state = replace(self._state, last=self._opened.step)
            self.settle()

    def close(self) -> None:
        """Destroy the open window, unless it has its last step."""
        try:
            self._end_if_due()
        finally:
            state = self._state
            if state.table is not None:
                last = state.table.step if state.last is None else state.last
                refused = state.refused + self._tables.refused(state.table)
                self._state = replace(
                    state, table=None, last=last, over=True, leaving=state.table, refused=refused
                )
            for table in (state.leaving, state.table):
                if table is not None:
                    table.close()

    @abstractmethod
    def _has_last_step(self, table: Table) -> bool:
        """Return whether the window of a table takes no more events."""

    @abstractmethod
    def _ended_window(self, state: State[Table], table: Table) -> AnyWindow | None:
        """Take the steps that remain, and return the window; None if it is not published."""

    def _following(self, state: State[Table]) -> State[Table]:
        """Return the state after the end of a window that is not the last."""
        return replace(state, table=None, number=state.number + 1, whole=True)

    @property
    def _opened(self) -> Table:
        """The table of the open window."""
        table = self._state.table
        assert table is not None, "callers settle first, and none is open when all are over"  # noqa: S101
        return table

    def _end_if_due(self) -> None:
        state = self._state
        table = state.table
        if table is None or (state.last is None and not self._has_last_step(table)):
            return
        window = self._ended_window(state, table)
        ended = state.ended if window is None else (*state.ended, window)
        state = replace(state, refused=state.refused + self._tables.refused(table))
        if state.last is None:
            after = self._following(replace(state, ended=ended))
        else:
            after = replace(state, ended=ended, table=None, over=True, finished=True)
        self._state = replace(after, ended=after.ended[-self._most :], leaving=table)

    def _close_leaving(self) -> None:
        if self._state.leaving is not None:
            self._state.leaving.close()
            self._state = replace(self._state, leaving=None)
