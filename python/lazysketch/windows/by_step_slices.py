"""Slices of a fixed number of steps, in blocks of one sketch each: every end of a slice is kept.

A slice is one step of its block, as one of a clock is: its events are counted in the open step, and
the call of the core that counts the last of them ends it. A batch that crosses ends of slices is
taken slice by slice. What is left of it when that is interrupted is taken by the next call, and
:attr:`ByStepSlices.step` has it from the begin.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, LazySketchError
from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.specification.schedules import Batch
from lazysketch.windows.batches import People, Weights, people_of
from lazysketch.windows.boundaries import ClockBoundaries
from lazysketch.windows.by_slices import BySlices
from lazysketch.windows.cuts import Cut, leaves_of
from lazysketch.windows.open_windows import OpenWindows, Progress, State
from lazysketch.windows.window import AnyWindow
from lazysketch.windows.window_tables import Moment, WindowMaker

__all__ = ["ByStepSlices", "StepSlidingCut"]


class StepSlidingCut(Cut):
    """Blocks of slices of a number of steps."""

    moves = False

    def __init__(self, every: int, *, span: int, block: int, discovery_epoch: int) -> None:
        """Cut slices of ``every`` steps into blocks; ``span`` slices are a window."""
        self._every, self.span, self._epoch = every, span, discovery_epoch
        self.steps, self.schedule = block, Batch(horizon=leaves_of(block))

    def opened(
        self, tables: WindowMaker[Any], *, most: int, since: Progress | None = None
    ) -> OpenWindows[Any]:
        """Open the first slice; ``most`` slices are kept."""
        return ByStepSlices(tables, every=self._every, block=self.steps, most=most, since=since)

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        blocks = f"{self._every} steps a slice, {self.steps} slices"
        return f"{blocks}, {self.span} in a window, names every {self._epoch}"

    @property
    def discovery_epoch(self) -> int:
        """Slices after which names are published."""
        return self._epoch


class _Rest(Protocol):
    """Steps of one call, the first of which is that after ``start`` steps."""

    @property
    def start(self) -> int: ...

    @property
    def number(self) -> int: ...

    @abstractmethod
    def end_slice(self, table: HeavyHitters, begin: int, end: int) -> None:
        """Take some of the steps, the last of which ends the slice: one call of the core."""

    @abstractmethod
    def take(self, tables: WindowMaker[HeavyHitters], table: HeavyHitters, begin: int) -> None:
        """Take the steps from ``begin`` on in a slice that goes on: one call of the core."""


@dataclass(frozen=True)
class _Events:
    start: int
    items: _native.LoggedEvents
    weights: Weights | None
    people: People | None

    @property
    def number(self) -> int:
        return len(self.items)

    def end_slice(self, table: HeavyHitters, begin: int, end: int) -> None:
        items, weights, people = self._part(begin, end)
        table.update_batch(items, weights, user=people)

    def take(self, tables: WindowMaker[HeavyHitters], table: HeavyHitters, begin: int) -> None:
        items, weights, people = self._part(begin, self.number)
        tables.add(table, items, weights, people)

    def _part(self, begin: int, end: int) -> tuple[object, Weights | None, People | None]:
        weights = None if self.weights is None else self.weights[begin:end]
        people = None if self.people is None else self.people[begin:end]
        return self.items[begin:end], weights, people


@dataclass(frozen=True)
class _EmptySteps:
    start: int
    number: int

    def end_slice(self, table: HeavyHitters, begin: int, end: int) -> None:  # noqa: ARG002
        table.tick(1)

    def take(self, tables: WindowMaker[HeavyHitters], table: HeavyHitters, begin: int) -> None:
        """Do nothing: steps without events leave the open step as it is."""


class ByStepSlices(BySlices):
    """The open block of slices of steps, and what blocks published at the ends of slices."""

    def __init__(
        self,
        tables: WindowMaker[HeavyHitters],
        *,
        every: int,
        block: int,
        most: int,
        since: Progress | None = None,
    ) -> None:
        """Open the first block; ``most`` slices are kept."""
        self._every = every
        # Steps of the open slice, of which block, and after how many of its slices.
        self._open_slice = (0, 0, 0)
        self._rest: _Rest | None = None
        boundaries = ClockBoundaries(every=every * block, slices=block)
        super().__init__(tables, boundaries=boundaries, clock=lambda: 0.0, most=most, since=since)
        if since is not None:
            self._open_slice = (since.taken, since.number, self._ended_slices)

    @property
    def progress(self) -> Progress:
        """How far the blocks have come, with the steps of the open slice."""
        taken = self._steps_of(self._state.number, self._ended_slices)
        return replace(super().progress, taken=taken)

    @property
    def step(self) -> int:
        """Steps taken, events and ticks, with those of a batch that is not complete."""
        rest = self._rest
        return self._counted if rest is None else rest.start + rest.number

    def add(self, items: object, weights: object, times: object, user: object = None) -> None:
        """Count events, one step each."""
        if times is not None:
            raise ArgumentTypeError("times: expected none for windows of steps, got some")
        # Read once: objects whose methods run while they are read may answer differently later.
        events = _native.logged_events(items)
        given = None if weights is None else _native.plain_weights(weights)
        self._tables.check(events, given)
        people = people_of(user, events=len(events), bounded=self._tables.bounds_people)
        self._rest = _Events(self._counted, events, given, people)
        self._take_rest()

    def tick(self, steps: int) -> None:
        """Take steps without an event."""
        self._rest = _EmptySteps(self._counted, steps)
        self._take_rest()

    def settle(self) -> None:
        """Complete the slice or block that ended, and the batch that was interrupted."""
        super().settle()
        self._take_rest()

    def advance(self) -> None:
        """End the slice after its last step."""
        self.settle()

    def is_due(self, now: int) -> bool:  # noqa: ARG002 -- there is no clock
        """Return False: slices end with their last step."""
        return False

    def finish(self) -> None:
        """End the open block; a slice without steps is none."""
        self.settle()
        if self.over:
            return
        state, table = self._state, self._opened
        # The end of the last slice is published anew, with all names and the final push.
        again = table.step and not self._steps_of(state.number, table.step)
        ended = state.ended[:-1] if again else state.ended
        self._state = replace(state, last=table.step, ended=ended)
        super().settle()

    def close(self) -> None:
        """Destroy the open block, and what is left of a batch."""
        self._rest = None
        super().close()

    def _take_rest(self) -> None:
        while (rest := self._rest) is not None:
            self._skip_blocks(rest)
            table = self._opened
            begin = self._counted - rest.start
            open_slice = self._open_slice
            taken = self._steps_of(self._state.number, table.step)
            if rest.number - begin >= self._every - taken:
                before = table.step
                try:
                    rest.end_slice(table, begin, begin + self._every - taken)
                except Exception:
                    if not begin and table.step == before:
                        self._rest = None  # all of a batch, or none of it
                    raise
                super().settle()
                continue
            # First the steps: interrupted in between, events are lost, and none counts twice.
            self._open_slice = (taken + rest.number - begin, self._state.number, table.step)
            self._rest = None
            if begin == rest.number:
                return
            try:
                rest.take(self._tables, table, begin)
            except (LazySketchError, MemoryError):
                # The core refused. What else is raised may come after it has counted.
                self._open_slice, self._rest = open_slice, rest if begin else None
                raise

    def _skip_blocks(self, rest: _Rest) -> None:
        """Leave out blocks without an event of which no slice is kept."""
        state, slices = self._state, self._boundaries.slices
        if isinstance(rest, _Events) or self._opened.step or self._counted % self._every:
            return
        left = rest.start + rest.number - self._counted
        skipped = left // self._boundaries.every - (-(-self._most // slices) + 1)
        if skipped > 0:
            self._state = replace(state, number=state.number + skipped)

    @property
    def _counted(self) -> int:
        """Steps that the blocks have."""
        state, slices = self._state, self._ended_slices
        return self._end_of(state, slices) + self._steps_of(state.number, slices)

    @property
    def _ended_slices(self) -> int:
        """Slices of the open block, or of the last one, that have ended."""
        state = self._state
        if state.last is not None:
            return state.last
        return 0 if state.table is None else state.table.step

    def _steps_of(self, number: int, slices: int) -> int:
        """Return the steps of the open slice, which is that after some slices of a block."""
        steps, *place = self._open_slice
        return steps if place == [number, slices] else 0

    def _ended_window(self, state: State[HeavyHitters], table: HeavyHitters) -> AnyWindow | None:
        if state.last is None:
            return super()._ended_window(state, table)
        taken = self._steps_of(state.number, state.last)
        if not state.last and not taken and len(state.ended) > 1:
            return None  # nothing of this block: what is published ends with the one before
        table.tick(self._boundaries.slices - table.step)
        table.finish()
        slices = state.last + (taken > 0)
        return self._prefix(state, table, slices=slices, whole=not taken and slices > 0, ended=True)

    def _is_whole(self, state: State[HeavyHitters]) -> bool:  # noqa: ARG002 -- none is opened late
        return True

    def _end_of(self, state: State[HeavyHitters], slices: int) -> int:
        if state.last is not None and slices > state.last:
            return super()._end_of(state, state.last) + self._steps_of(state.number, state.last)
        return super()._end_of(state, slices)

    def _moment(self, boundary: int) -> Moment:
        return boundary
