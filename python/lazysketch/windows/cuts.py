"""Three ways to cut a stream into windows: by steps, by a clock, by the time of each event.

A cut gives the schedule and the size of the tables of its windows, and opens the windows. It
depends on public arguments only.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import numpy as np

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters.hitters_spec import CELL_BYTES, LEAST_MEMORY
from lazysketch.privacy.relations import LARGEST_DEPTH
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Batch, Punctual, RoundRobin, Schedule, Single
from lazysketch.windows.boundaries import ClockBoundaries, TimeRange, checked_clock
from lazysketch.windows.by_clock import ByClock
from lazysketch.windows.by_steps import BySteps
from lazysketch.windows.by_time import ByTime
from lazysketch.windows.durations import duration_of, instant_of
from lazysketch.windows.open_windows import OpenWindows, Progress
from lazysketch.windows.window_tables import WindowMaker

__all__ = [
    "LARGEST_WINDOW",
    "MOST_SLICES_OF_TREE_LOG",
    "ClockCut",
    "Cut",
    "cut_of",
    "leaves_of",
]

LARGEST_WINDOW: Final = 2**40
_SLICES: Final = 60
_MOST_SLICES: Final = 960
MOST_SLICES_OF_TREE_LOG: Final = 874
"""Beyond it an event that moves within a window costs more than two with these rows."""
# Of 1,024 leaves, tree-deep has rows for at most 768, whose end is too near for windows of so many.
_TOO_NEAR: Final = range(761, 769)
# Shares divide by the noisy total of a row, whose noise grows with the number of its cells.
_WIDTH: Final = 1024


class Cut(ABC):
    """A way to cut a stream into windows, and the settings of their tables.

    Attributes:
        schedule: schedule of the tables of each window.
        steps: number of steps of a window.
        width: default number of columns, None if it follows from the steps.
        open_windows: how many windows are open at the same time.
        open_steps: steps of a window whose events are kept apart, before they are published.
        open_epochs: epochs of a window whose names are counted at the same time.
        takes_times: True if events come with times.
        moves: True if the event that replaces another one may be in another window.
    """

    schedule: Schedule
    steps: int
    width: int | None = _WIDTH
    open_windows: int = 1
    open_steps: int = 1
    open_epochs: int = 1
    takes_times: bool = False
    moves: bool = True

    @abstractmethod
    def opened(self, tables: Any, *, most: int, since: Progress | None = None) -> OpenWindows[Any]:
        """Return the open windows.

        Args:
            tables: makes the table of each window; only a clock cuts windows of a hierarchy.
            most: number of windows that are kept.
            since: how far they had come, for a store; None at the beginning.
        """

    @property
    @abstractmethod
    def description(self) -> str:
        """The boundaries of the windows, as text."""

    @property
    def discovery_epoch(self) -> int:
        """Steps after which names are published: those of a window."""
        return self.steps

    @property
    def every_step(self) -> Schedule:
        """The schedule of statistics, for which it costs nothing to publish at every step."""
        return self.schedule

    def check_moves(self, mechanism: object) -> None:
        """Raise if an event that moves within a window costs more than two events.

        Args:
            mechanism: the mechanism that was asked for, or its name.

        Raises:
            ArgumentValueError: a mechanism that does not serve windows of so many slices.
        """
        name = mechanism.name if isinstance(mechanism, Mechanism) else mechanism
        if self.moves and name == "tree-log" and self.steps > MOST_SLICES_OF_TREE_LOG:
            raise ArgumentValueError(
                f"mechanism: expected another one than 'tree-log' for more than "
                f"{MOST_SLICES_OF_TREE_LOG} slices, got it for {self.steps}"
            )

    def memory_of_window(
        self, memory: int, *, depth: int, width: int | None, levels: int = 1
    ) -> int:
        """Return the bytes for the tables of one window, without its open steps.

        Names of several epochs at a time have a table each; then it is the bytes with one of them.

        Args:
            memory: bytes for all open windows.
            depth: rows.
            width: columns, or None for the default.
            levels: tables of a window.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a size outside its range, or too little memory.
        """
        tables = self.open_windows * levels
        cells = 0
        if isinstance(self.schedule, Batch):
            rows = checked_integer("depth", depth, most=LARGEST_DEPTH)
            columns = _WIDTH if width is None else checked_integer("width", width)
            cells = CELL_BYTES * rows * columns
        # With one epoch, its names and the published table share what they need.
        shared, epochs = (0, 1) if self.open_epochs == 1 else (cells, self.open_epochs)
        fixed = cells * self.open_steps + shared
        least = (fixed + LEAST_MEMORY * epochs) * tables
        if memory < least:
            slices = self.open_windows * self.open_steps
            raise ArgumentValueError(
                f"memory: expected at least {least:,} bytes for {slices:,} open "
                f"windows, got {memory:,}"
            )
        return ((memory // tables - fixed) // epochs + shared) * levels


class StepCut(Cut):
    """Windows of a number of steps."""

    width = None
    moves = False

    def __init__(self, steps: int, *, only_ends: bool = False) -> None:
        """Cut after every ``steps`` steps; with ``only_ends`` an open window publishes nothing."""
        self.steps = steps
        self.schedule = Single() if only_ends else RoundRobin(horizon=steps)

    def opened(
        self, tables: WindowMaker[Any], *, most: int, since: Progress | None = None
    ) -> OpenWindows[Any]:
        """Open the first window."""
        return BySteps(tables, every=self.steps, most=most, since=since)

    @property
    def every_step(self) -> Schedule:
        """As for all cuts; where only ends are wanted, one of them."""
        return self.schedule if isinstance(self.schedule, Single) else Punctual(horizon=self.steps)

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        return f"{self.steps} steps"


class ClockCut(Cut):
    """Windows of a public clock, in slices; a step is a slice.

    Attributes:
        clock: returns seconds since 1970.
    """

    def __init__(self, length: int, *, slices: int, clock: Callable[[], float]) -> None:
        """Cut every ``length`` nanoseconds."""
        self._boundaries = ClockBoundaries(every=length, slices=slices)
        self.clock = clock
        self.steps, self.schedule = slices, Batch(horizon=leaves_of(slices))

    def opened(
        self, tables: WindowMaker[Any], *, most: int, since: Progress | None = None
    ) -> OpenWindows[Any]:
        """Open the current window."""
        return ByClock(
            tables, boundaries=self._boundaries, clock=self.clock, most=most, since=since
        )

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        return f"{self._boundaries.every} ns by the clock, {self.steps} slices"


class TimeCut(Cut):
    """All windows of a public range of time; each window is one step."""

    takes_times = True

    def __init__(self, time_range: TimeRange) -> None:
        """Cut a range by the time of each event."""
        self._range = time_range
        self.steps, self.schedule = 1, Batch(horizon=1)
        self.open_windows = time_range.windows

    def opened(
        self,
        tables: WindowMaker[Any],
        *,
        most: int,  # noqa: ARG002
        since: Progress | None = None,
    ) -> OpenWindows[Any]:
        """Open all windows of the range; all are kept."""
        return ByTime(tables, time_range=self._range, since=since)

    @property
    def description(self) -> str:
        """The boundaries of the windows."""
        span = self._range
        return f"{span.every} ns from {span.first} to {span.end}"


def cut_of(
    every: str | timedelta | int,
    *,
    begin: object,
    end: object,
    slices: int | None,
    clock: Callable[[], float] | None,
) -> Cut:
    """Return the cut given by the arguments of :class:`Windows`.

    Args:
        every: a duration, or a number of steps.
        begin: begin of a range, or None.
        end: end of a range, or None.
        slices: parts of a window by the clock, or None; 1 for steps of which only ends are wanted.
        clock: returns seconds since 1970, or None for the machine's clock.

    Raises:
        ArgumentTypeError: a wrong type, or arguments that exclude each other.
        ArgumentValueError: a value outside its range.
    """
    if not isinstance(every, str | timedelta):
        # Comparing values of other types may raise an error of theirs.
        only_ends = isinstance(slices, int | np.integer) and slices == 1
        parts = None if only_ends else slices
        _refuse("begin, end, slices, clock", "windows of steps", begin, end, parts, clock)
        length_of_window = checked_integer("every", every, most=LARGEST_WINDOW)
        return StepCut(length_of_window, only_ends=slices is not None)
    length = duration_of("every", every)
    if begin is None and end is None:
        parts = _SLICES if slices is None else slices
        chosen = time.time if clock is None else clock
        if not callable(chosen):
            got = type(chosen).__name__
            raise ArgumentTypeError(f"clock: expected a function, got {got}")
        checked_clock(chosen())
        number = checked_integer("slices", parts, most=_MOST_SLICES)
        return ClockCut(length, slices=number, clock=chosen)
    _refuse("slices, clock", "a range of time", slices, clock)
    if begin is None or end is None:
        raise ArgumentTypeError("begin, end: expected both ends of a range, got one")
    first, last = instant_of("begin", begin), instant_of("end", end)
    return TimeCut(TimeRange(first=first, end=last, every=length))


def leaves_of(slices: int) -> int:
    """Return the leaves that also cover the move of an event from any slice to any other.

    Such a move changes a cell at two leaves, with opposite signs. Near the end of an optimised
    table of more than 16 leaves its squared sensitivity exceeds that of two changes of one sign by
    up to 6 %; in a table twice as long the same leaves are far from the end. Of 1,024 leaves
    ``tree-deep`` has other rows where at most 12/16 are used, near whose end it exceeds that by up
    to 0.4 %: with one leaf more it has the rows of the whole table.

    Args:
        slices: number of slices of a window.
    """
    if slices in _TOO_NEAR:
        return _TOO_NEAR.stop
    table = 1 << (slices - 1).bit_length()
    return table + 1 if table > 16 and 16 * slices > 15 * table else slices


def _refuse(names: str, context: str, *values: object) -> None:
    if any(value is not None for value in values):
        raise ArgumentTypeError(f"{names}: expected none for {context}, got some")
