"""Three ways to cut a stream into slices of sliding windows: a clock, steps, times of events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.windows.boundaries import TimeRange, checked_clock
from lazysketch.windows.by_slices import SlidingCut
from lazysketch.windows.by_step_slices import StepSlidingCut
from lazysketch.windows.by_time_slices import TimeSlidingCut
from lazysketch.windows.cuts import LARGEST_WINDOW, Cut
from lazysketch.windows.durations import duration_of, instant_of
from lazysketch.windows.running_windows import MOST_KEPT
from lazysketch.windows.sliding_noise import LARGEST_BLOCK, best_block

__all__ = ["SlicesCut", "slices_cut"]


@dataclass(frozen=True)
class SlicesCut:
    """How a stream is cut into slices, and how many of them are a window and a block.

    Attributes:
        cut: the cut into blocks.
        every: length of a slice, in nanoseconds or in steps.
        span: slices of a window.
        block: slices of a block.
    """

    cut: Cut
    every: int
    span: int
    block: int


def slices_cut(
    every: str | timedelta | int,
    span: str | timedelta | int,
    *,
    block: int | None,
    discovery_epoch: int | None,
    begin: str | datetime | None,
    end: str | datetime | None,
    clock: Callable[[], float] | None,
    listed: bool,
) -> SlicesCut:
    """Return the cut given by the arguments of :class:`Sliding`.

    Args:
        every: length of a slice: a duration, or a number of steps.
        span: length of a window, likewise.
        block: slices of a block, or None for the best number.
        discovery_epoch: slices after which names are published, or None for the default.
        begin: begin of a range, or None.
        end: end of a range, or None.
        clock: returns seconds since 1970, or None for the machine's clock.
        listed: True if the items are those of a public list, of which nothing is discovered.

    Raises:
        ArgumentTypeError: a wrong type, or arguments that exclude each other.
        ArgumentValueError: a value outside its range.
    """
    if discovery_epoch is not None and listed:
        raise ArgumentTypeError("discovery_epoch: expected none with a domain, got one")
    in_range = begin is not None or end is not None
    time_range: TimeRange | None = None
    by_steps = not isinstance(every, str | timedelta)
    if by_steps:
        _refuse("begin, end, clock", "slices of steps", begin, end, clock)
        length = checked_integer("every", every, most=LARGEST_WINDOW)
        slices = _slices_of(checked_integer("span", span, most=1 << 62), every=length)
    else:
        length = duration_of("every", every)
        slices = _slices_of(duration_of("span", span), every=length)
    if in_range:
        _refuse("clock", "a range of time", clock)
        if begin is None or end is None:
            raise ArgumentTypeError("begin, end: expected both ends of a range, got one")
        first, last = instant_of("begin", begin), instant_of("end", end)
        time_range = TimeRange(first=first, end=last, every=length)
    chosen = best_block(slices)
    if time_range is not None:
        chosen = min(chosen, time_range.windows)
    if block is not None:
        chosen = checked_integer("block", block, most=LARGEST_BLOCK)
    # Of a list of items nothing is discovered.
    epoch = min(chosen, max(slices // 6, 1))
    if discovery_epoch is not None:
        epoch = checked_integer("discovery_epoch", discovery_epoch, most=chosen)
    cut: Cut
    if time_range is not None:
        names = chosen if listed else epoch
        cut = TimeSlidingCut(time_range, span=slices, block=chosen, discovery_epoch=names)
    elif by_steps:
        cut = StepSlidingCut(length, span=slices, block=chosen, discovery_epoch=epoch)
    else:
        now = _checked(clock)
        cut = SlidingCut(length, span=slices, block=chosen, discovery_epoch=epoch, clock=now)
    return SlicesCut(cut, length, slices, chosen)


def _checked(clock: Callable[[], float] | None) -> Callable[[], float]:
    """Return the clock, that of the machine if there is none."""
    chosen = time.time if clock is None else clock
    if not callable(chosen):
        raise ArgumentTypeError(f"clock: expected a function, got {type(chosen).__name__}")
    checked_clock(chosen())
    return chosen


def _slices_of(span: int, *, every: int) -> int:
    """Return the slices of a window."""
    number, rest = divmod(span, every)
    if rest or not 1 <= number <= MOST_KEPT:
        raise ArgumentValueError(
            f"span: expected a whole number of times every, 1 to {MOST_KEPT:,}, "
            f"got {span / every:g} times"
        )
    return number


def _refuse(names: str, context: str, *values: object) -> None:
    if any(value is not None for value in values):
        raise ArgumentTypeError(f"{names}: expected none for {context}, got some")
