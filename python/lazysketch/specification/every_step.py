"""The schedule of what is published at every step unless its user says otherwise."""

from __future__ import annotations

from lazysketch.errors import ArgumentTypeError
from lazysketch.specification.schedules import Punctual, Schedule

__all__ = ["every_step_unless"]


def every_step_unless(schedule: Schedule | None, *, horizon: int | None) -> Schedule:
    """Return the schedule that was given, or one that publishes at every step.

    Args:
        schedule: of the user, or None.
        horizon: number of steps, or None for any number; None with a schedule.

    Raises:
        ArgumentTypeError: a horizon and a schedule.
        ArgumentValueError: a horizon outside its range.
    """
    if schedule is None:
        return Punctual(horizon=horizon)
    if horizon is not None:
        raise ArgumentTypeError("horizon: expected none with a schedule, which has its own")
    return schedule
