"""Windows of a fixed number of steps."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.releases.items import Item
from lazysketch.windows.batches import (
    People,
    Weights,
    as_sequence,
    people_of,
    unchanging,
)
from lazysketch.windows.open_windows import OneOpenWindow, Progress, State
from lazysketch.windows.window import AnyWindow
from lazysketch.windows.window_tables import One, OneTable, WindowMaker

__all__ = ["BySteps"]


class _Steps(Protocol):
    """Steps, with an event each or without any."""

    @property
    @abstractmethod
    def number(self) -> int: ...

    @abstractmethod
    def take(self, table: OneTable, start: int, stop: int) -> None:
        """Take some of the steps at a table: one call of the core."""


@dataclass(frozen=True)
class _Events:
    items: Sequence[object]
    weights: Weights | None
    people: People | None

    @property
    def number(self) -> int:
        return len(self.items)

    def take(self, table: OneTable, start: int, stop: int) -> None:
        weights = None if self.weights is None else self.weights[start:stop]
        people = None if self.people is None else self.people[start:stop]
        table.update_many(self.items[start:stop], weights, user=people)


@dataclass(frozen=True)
class _EmptySteps:
    number: int

    def take(self, table: OneTable, start: int, stop: int) -> None:
        table.tick(stop - start)


@dataclass(frozen=True)
class _Ahead(Generic[One]):
    """Windows after the open one, of steps that the open one does not yet have."""

    ended: tuple[AnyWindow, ...]
    table: One | None
    number: int
    refused: int


class BySteps(OneOpenWindow[One]):
    """One open window of a fixed number of steps; an event is a step.

    A window is finished after its last step, so that an ended window has no pending counts.

    A batch that crosses windows is first counted in those after the open one, which nothing refers
    to. Then the open window takes its part, in one call of the core: with it the batch is counted.
    """

    def __init__(
        self, tables: WindowMaker[One], *, every: int, most: int, since: Progress | None
    ) -> None:
        """Open the first window, or the one that was open; ``most`` windows are kept."""
        super().__init__(tables, State.after(since or Progress(), tables), most=most)
        self._every = every
        self._ahead: _Ahead[One] | None = None

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        state, ahead = self._state, self._ahead
        if self._is_full and ahead is not None:
            state = replace(state, number=ahead.number, table=ahead.table)
        last = 0 if state.last is None else state.last
        taken = last if state.table is None else state.table.step
        return state.number * self._every + taken

    def add(self, items: object, weights: object, times: object, user: object = None) -> None:
        """Count events, one step each."""
        if times is not None:
            raise ArgumentTypeError("times: expected none for windows of steps, got some")
        self.settle()
        events = as_sequence("items", items)
        if len(events) < self._room:
            self._opened.update_many(events, weights, user=user)
            return
        # Several windows: fix and check everything before the first of them counts.
        events = unchanging("items", events)
        given = None if weights is None else _native.plain_weights(weights)
        self._tables.check(events, given)
        people = people_of(user, events=len(events), bounded=self._tables.bounds_people)
        self._take(_Events(events, given, people))

    def add_one(self, item: Item, weight: int, user: Item | None) -> bool:
        """Count one event, if the open window has more steps after it and nothing to complete."""
        state = self._state
        table = state.table
        complete = state.last is None and state.leaving is None and self._ahead is None
        if table is None or not complete or table.step + 1 >= self._every:
            return False
        table.update(item, weight, user=user)
        return True

    @property
    def open_for_single_events(self) -> tuple[_native.HeavySketch, int] | None:
        """The table of the core that counts all of an event, and the length of a window."""
        table = self._state.table
        if type(table) is not HeavyHitters or not isinstance(table._table, _native.HeavySketch):
            return None
        return table._table, self._every

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        self.settle()
        self._take(_EmptySteps(steps))

    def advance(self) -> None:
        """End the window after its last step."""
        self.settle()

    def settle(self) -> None:
        """As for all windows; forget the windows ahead if the open one did not take its part."""
        if not self._is_full:
            self._forget_ahead()
        super().settle()

    def close(self) -> None:
        """As for all windows; the windows ahead are destroyed too."""
        super().close()
        self._forget_ahead()

    def open_window(self) -> AnyWindow | None:
        """Return the published part of the open window."""
        state = self._state
        if state.table is None:
            return None
        return self._published(state, state.table, ended=False)

    def _take(self, steps: _Steps) -> None:
        room = self._room
        if steps.number < room:
            steps.take(self._opened, 0, steps.number)
            return
        self._ahead = self._counted_ahead(steps, room)
        steps.take(self._opened, 0, room)
        self.settle()

    def _counted_ahead(self, steps: _Steps, start: int) -> _Ahead[One] | None:
        """Count the steps from ``start`` on in windows of their own."""
        if start == steps.number:
            return None
        # Of many windows, make only those that are kept.
        skipped = max((steps.number - start) // self._every - self._most, 0)
        number, start = self._state.number + 1 + skipped, start + skipped * self._every
        ended: deque[AnyWindow] = deque(maxlen=self._most)
        table: One | None = None
        refused = 0
        while start < steps.number:
            stop = min(start + self._every, steps.number)
            table = self._tables.make(number)
            steps.take(table, start, stop)
            if stop - start == self._every:
                table.finish()
                ended.append(self._published(State(number=number), table, ended=True))
                refused += self._tables.refused(table)
                table.close()
                table, number = None, number + 1
            start = stop
        return _Ahead(tuple(ended), table, number, refused)

    def _forget_ahead(self) -> None:
        if self._ahead is not None:
            table = self._ahead.table
            if table is not None and table is not self._state.table:
                table.close()
            self._ahead = None

    def _following(self, state: State[One]) -> State[One]:
        ahead = self._ahead
        if ahead is None:
            return super()._following(state)
        ended, refused = (*state.ended, *ahead.ended), state.refused + ahead.refused
        return replace(state, ended=ended, table=ahead.table, number=ahead.number, refused=refused)

    @property
    def _room(self) -> int:
        return self._every - self._opened.step

    @property
    def _is_full(self) -> bool:
        table = self._state.table
        return table is not None and self._has_last_step(table)

    def _has_last_step(self, table: One) -> bool:
        return table.step >= self._every

    def _ended_window(self, state: State[One], table: One) -> AnyWindow | None:
        if not table.step:
            return None
        table.finish()
        return self._published(state, table, ended=True)

    def _published(self, state: State[One], table: One, *, ended: bool) -> AnyWindow:
        begin = state.number * self._every
        return self._tables.published(
            table,
            ended=ended,
            number=state.number,
            begin=begin,
            end=begin + table.step,
            whole=ended and state.last is None,
        )
