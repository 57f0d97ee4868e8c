"""Slices of a public clock, in blocks of one sketch each: every end of a slice is kept.

A block is a window of the clock that publishes at the end of each slice. What it published there,
the counts since the begin of the block, is public and kept. The last slices are the difference of
two such prefixes, or the sum over blocks of differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lazysketch.heavy_hitters import HeavyHitters
from lazysketch.windows.boundaries import ClockBoundaries
from lazysketch.windows.by_clock import ByClock
from lazysketch.windows.cuts import ClockCut
from lazysketch.windows.open_windows import OpenWindows, Progress, State
from lazysketch.windows.window import AnyWindow, instant
from lazysketch.windows.window_tables import Moment, WindowMaker

__all__ = ["BySlices", "SlidingCut", "slices_of"]


class SlidingCut(ClockCut):
    """Blocks of slices of a public clock."""

    def __init__(
        self,
        every: int,
        *,
        span: int,
        block: int,
        discovery_epoch: int,
        clock: Callable[[], float],
    ) -> None:
        """Cut slices of ``every`` nanoseconds into blocks; ``span`` slices are a window."""
        super().__init__(every * block, slices=block, clock=clock)
        self.span, self._epoch = span, discovery_epoch

    def opened(
        self, tables: WindowMaker[Any], *, most: int, since: Progress | None = None
    ) -> OpenWindows[Any]:
        """Open the current slice; ``most`` slices are kept."""
        return BySlices(
            tables, boundaries=self._boundaries, clock=self.clock, most=most, since=since
        )

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        return f"{super().description}, {self.span} in a window, names every {self._epoch}"

    @property
    def discovery_epoch(self) -> int:
        """Slices after which names are published."""
        return self._epoch


class BySlices(ByClock[HeavyHitters]):
    """The open block, and what each block published at the ends of its slices.

    What is kept, oldest first, is a :class:`Window` per end of a slice: from the begin of its block
    to there. It is ``whole`` if its last slice is.
    """

    def __init__(
        self,
        tables: WindowMaker[HeavyHitters],
        *,
        boundaries: ClockBoundaries,
        clock: Callable[[], float],
        most: int,
        since: Progress | None,
    ) -> None:
        """Open the current block, or the one that was open; ``most`` slices are kept."""
        # The end of the slice before the first one that is kept is needed too.
        super().__init__(tables, boundaries=boundaries, clock=clock, most=most + 1, since=since)
        self._begin_of_all()

    def settle(self) -> None:
        """Keep the end of the last slice, and end the open block if it has its last one."""
        self._begin_of_all()
        self._keep_slice()
        super().settle()

    def advance(self) -> None:
        """End the slices and blocks that are over, one by one."""
        self.settle()
        if self.over:
            return
        boundaries = self._boundaries
        number, passed = boundaries.place(self._now())
        # Of a long run of empty blocks, make only those of which slices are kept.
        touched = -(-self._most // boundaries.slices) + 1
        while self._state.number < number:
            self._end_slices(boundaries.slices - 1)
            self._end_open(following=max(self._state.number + 1, number - touched))
        if self._state.number == number:
            self._end_slices(passed)

    def _end_slices(self, until: int) -> None:
        """End slices of the open block that are not its last one."""
        table = self._opened
        while table.step < until:
            table.tick(1)
            self._keep_slice()

    def _begin_of_all(self) -> None:
        """Keep the begin of the first slice, where windows can begin at the earliest."""
        state = self._state
        if not state.ended and state.table is not None:
            begin = self._prefix(state, state.table, slices=state.table.step, whole=False)
            self._state = replace(state, ended=(begin,))

    def _keep_slice(self) -> None:
        """Keep the end of the last slice, if it is not kept yet and does not end the block."""
        state, table = self._state, self._state.table
        if table is None or state.last is not None:
            return
        step, last = table.step, state.ended[-1]
        known = self._slices_of(last) if last.number == state.number else 0
        if not known < step < self._boundaries.slices:
            return
        prefix = self._prefix(state, table, slices=step, whole=self._is_whole(state))
        self._state = replace(state, ended=(*state.ended, prefix)[-self._most :])

    def _ended_window(self, state: State[HeavyHitters], table: HeavyHitters) -> AnyWindow | None:
        whole = self._is_whole(state) and state.last is None
        # The last slice of all ends with the slice that was open.
        slices = self._boundaries.slices if state.last is None else state.last + 1
        table.tick(self._boundaries.slices - table.step)
        table.finish()
        return self._prefix(state, table, slices=slices, whole=whole, ended=True)

    def _is_whole(self, state: State[HeavyHitters]) -> bool:
        """Return whether the slice that ends was open from its begin: all but the first."""
        return len(state.ended) > 1

    def _prefix(
        self,
        state: State[HeavyHitters],
        table: HeavyHitters,
        *,
        slices: int,
        whole: bool,
        ended: bool = False,
    ) -> AnyWindow:
        begin = self._boundaries.begin(state.number)
        return self._tables.published(
            table,
            ended=ended,
            number=state.number,
            begin=self._moment(begin),
            end=self._moment(self._end_of(state, slices)),
            whole=whole,
        )

    def _end_of(self, state: State[HeavyHitters], slices: int) -> int:
        """Return the end of a number of slices of a block."""
        every = self._boundaries.every // self._boundaries.slices
        return self._boundaries.begin(state.number) + slices * every

    def _moment(self, boundary: int) -> Moment:
        """Return a boundary as windows state it."""
        return instant(boundary)

    def _slices_of(self, window: AnyWindow) -> int:
        """Return how many slices of its block a prefix has."""
        return slices_of(window, self._boundaries.every // self._boundaries.slices)


def slices_of(window: AnyWindow, every: int) -> int:
    """Return how many slices of its block a prefix has.

    Args:
        window: from the begin of a block to the end of a slice.
        every: length of a slice, in nanoseconds or in steps.
    """
    length = window.end - window.begin  # type: ignore[operator]
    if isinstance(length, int):
        return length // every
    return int(length // timedelta(microseconds=1)) * 1000 // every
