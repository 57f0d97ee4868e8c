"""The pushes of every column at every step, computed from the formulas of the schedules.

This module shares no code with the core, so that a push at the wrong step, or one push too many,
shows as a difference. Steps count from 1, columns from 0; everything is a function of the step
number alone. Cost: one operation per column, for the geometric schedule per column and round.

Source: docs/guarantees.md; lazysketch.specification.schedules for the guarantee of each schedule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Schedule

__all__ = ["Integers", "end_of_round", "leaves", "progress"]

Integers = NDArray[np.int64]


def leaves(schedule: Schedule, width: int) -> int:
    """Return the largest number of pushes that a column can have.

    Args:
        schedule: the schedule.
        width: columns.

    Returns:
        The number of leaves that the mechanism has to serve.

    Example:
        >>> leaves(RoundRobin(horizon=9), 4)
        3
    """
    if isinstance(schedule, RoundRobin):
        return -(-schedule.horizon // (schedule.period * width))
    if isinstance(schedule, Geometric):
        return schedule.rounds
    return schedule.last_step if isinstance(schedule, Punctual | Batch) else 1


def progress(schedule: Schedule, width: int, step: int) -> tuple[Integers, Integers]:
    """Return the number of pushes of every column after some steps, and the step of the last.

    Args:
        schedule: the schedule.
        width: columns.
        step: steps taken.

    Returns:
        Two int64 arrays of shape (width,); the step is 0 where there was no push.

    Example:
        >>> progress(RoundRobin(horizon=100), 3, 5)
        (array([2, 2, 1]), array([4, 5, 3]))
    """
    columns = np.arange(width, dtype=np.int64)
    if isinstance(schedule, RoundRobin):
        # Over all columns, push number m = 1, 2, ... is at step m period, of column (m - 1) mod w.
        pushes = (step // schedule.period + width - 1 - columns) // width
        return pushes, np.where(
            pushes > 0, ((pushes - 1) * width + columns + 1) * schedule.period, 0
        )
    if isinstance(schedule, Geometric):
        return _growing(schedule, width, step)
    if isinstance(schedule, Punctual | Batch):
        return np.full(width, step), np.full(width, step)
    horizon = schedule.horizon
    pushed_at = horizon if horizon is not None and step >= horizon else 0
    return np.full(width, int(pushed_at > 0)), np.full(width, pushed_at)


def _growing(schedule: Geometric, width: int, step: int) -> tuple[Integers, Integers]:
    """Rounds of max(w, ceil(alpha t)) steps; column j at t + ceil((j + 1) length / w)."""
    numerator, denominator = schedule.growth
    pushes = np.zeros(width, dtype=np.int64)
    last = np.zeros(width, dtype=np.int64)
    start = 0
    for _ in range(schedule.rounds):
        if start >= step:
            break
        length = max(width, -(-start * numerator // denominator))
        at = start + -(-np.arange(1, width + 1, dtype=np.int64) * length // width)
        pushes += at <= step
        last = np.where(at <= step, at, last)
        start += length
    return pushes, last


def end_of_round(schedule: Schedule, width: int, push: int) -> int:
    """Return the first step at which every column has been pushed ``push`` times.

    Args:
        schedule: the schedule.
        width: columns.
        push: number of pushes, from 1.

    Returns:
        The step.

    Example:
        >>> end_of_round(RoundRobin(horizon=100), 3, 2)
        6
    """
    if isinstance(schedule, RoundRobin):
        return push * width * schedule.period
    if isinstance(schedule, Punctual | Batch):
        return push
    if isinstance(schedule, Geometric):
        numerator, denominator = schedule.growth
        start = 0
        for _ in range(push):
            start += max(width, -(-start * numerator // denominator))
        return start
    if schedule.horizon is None:
        raise ValueError("schedule: expected one that pushes before the end, got Single()")
    return schedule.horizon
