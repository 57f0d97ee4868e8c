"""Schedules: at which step a column is pushed, and how often at most.

What it computes: the number of pushes (leaves) that a mechanism must serve, and the pushes of
every column after a number of steps. A schedule depends on the step number alone, never on data.

==============  ==========================================  =====================  ===============
schedule        pushes                                      leaves                 lag of a column
==============  ==========================================  =====================  ===============
round robin     column (t - 1) mod width at step t          ceil(horizon / width)  width steps
geometric       rounds of max(width, 1 % of the stream)     4096                   a round
punctual        every column at every step                  horizon                none
batch           the same; a step holds many events          horizon (batches)      a batch
single          every column once, at the horizon           1                      everything
==============  ==========================================  =====================  ===============

Source: round robin is the Lazy sketch of R. Holland, arXiv 2507.03361; punctual is Epasto et al.
2023; geometric is ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.specification.sizing import LARGEST_WIDTH

__all__ = [
    "LARGEST_HORIZON",
    "Batch",
    "Geometric",
    "Punctual",
    "RoundRobin",
    "Schedule",
    "ScheduleName",
    "Single",
    "checked_schedule",
    "schedule_for",
    "schedule_specified",
]

ScheduleName: TypeAlias = Literal["round robin", "geometric", "punctual", "batch", "single"]

LARGEST_HORIZON: Final = 2**48
LARGEST_STEP: Final = 2**62 - 1
ROUND_ROBIN: Final[ScheduleName] = "round robin"
GEOMETRIC: Final[ScheduleName] = "geometric"
PUNCTUAL: Final[ScheduleName] = "punctual"
BATCH: Final[ScheduleName] = "batch"
SINGLE: Final[ScheduleName] = "single"


def _store(schedule: object, name: str, value: object) -> None:
    """Put the checked, plain value in place of what the caller gave."""
    object.__setattr__(schedule, name, value)


class _Timed(ABC):
    """A schedule, with or without a horizon."""

    horizon: int | None

    @property
    @abstractmethod
    def specification(self) -> _native._Specification:
        """Name and parameters, as the core and releases have them."""

    @property
    def name(self) -> str:
        """The name that releases carry."""
        return self.specification[0]

    def leaves(self, width: int) -> int:
        """Return the largest number of pushes of one cell.

        Args:
            width: columns of the table.

        Returns:
            The leaves that the mechanism must serve.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range.

        Example:
            >>> RoundRobin(horizon=1000).leaves(64)
            16
        """
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        return _native.schedule_leaves(schedule=self.specification, width=columns)

    def pushes(self, width: int, step: int) -> npt.NDArray[np.int64]:
        """Return the number of pushes of every column after ``step`` steps.

        Args:
            width: columns of the table.
            step: steps taken.

        Returns:
            int64 array of shape (width,).

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range, or past the horizon.

        Example:
            >>> RoundRobin(horizon=1000).pushes(3, 4)
            array([2, 1, 1])
        """
        columns, steps = self._checked(width, step)
        return _native.schedule_pushes(schedule=self.specification, width=columns, step=steps)

    def published_steps(self, width: int, step: int) -> npt.NDArray[np.int64]:
        """Return the step of the last push of every column after ``step`` steps.

        Args:
            width: columns of the table.
            step: steps taken.

        Returns:
            int64 array of shape (width,); 0 where nothing has been pushed.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range, or past the horizon.

        Example:
            >>> RoundRobin(horizon=1000).published_steps(3, 5)
            array([4, 5, 3])
        """
        columns, steps = self._checked(width, step)
        return _native.schedule_published_steps(
            schedule=self.specification, width=columns, step=steps
        )

    def _checked(self, width: int, step: int) -> tuple[int, int]:
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        last = LARGEST_STEP if self.horizon is None else self.horizon
        return columns, checked_integer("step", step, least=0, most=last)


@dataclass(frozen=True)
class RoundRobin(_Timed):
    """One column every ``period`` steps, in turn, up to a horizon.

    Guarantee: a column is pushed at most ceil(horizon / (period * width)) times.

    Args:
        horizon: number of steps, 1 to 2^48.
        period: steps from one column to the next, 1 to 2^48. Longer: less noise, more lag.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: Lazy sketch, arXiv 2507.03361; column (t - 1) mod width at step t.

    Example:
        >>> RoundRobin(horizon=1_048_576).leaves(1024)
        1024
    """

    horizon: int
    period: int = 1

    @property
    def specification(self) -> tuple[str, int, int]:
        """Name, horizon and period."""
        return (ROUND_ROBIN, self.horizon, self.period)

    def __post_init__(self) -> None:
        """Check horizon and period."""
        _store(self, "horizon", checked_integer("horizon", self.horizon, most=LARGEST_HORIZON))
        _store(self, "period", checked_integer("period", self.period, most=LARGEST_HORIZON))


@dataclass(frozen=True)
class Geometric(_Timed):
    """Rounds that grow with the stream; needs no horizon.

    Guarantee: a column waits at most max(width, growth of the stream) steps; at 1 %, 4096 rounds
    outlast 2^62 steps. After the last round nothing is published any more.

    Args:
        growth: share of the stream that a round lasts, as (numerator, denominator), at most 1.
        rounds: number of rounds, 1 to 2^20.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Example:
        >>> Geometric().leaves(1024)
        4096
    """

    growth: tuple[int, int] = (1, 100)
    rounds: int = 4096

    def __post_init__(self) -> None:
        """Check every parameter."""
        if not isinstance(self.growth, tuple) or len(self.growth) != 2:
            raise ArgumentTypeError(
                f"growth: expected (numerator, denominator), got {type(self.growth).__name__}"
            )
        numerator = checked_integer("growth", self.growth[0], most=2**20)
        denominator = checked_integer("growth", self.growth[1], least=numerator, most=2**20)
        _store(self, "growth", (numerator, denominator))
        _store(self, "rounds", checked_integer("rounds", self.rounds, most=2**20))

    @property
    def specification(self) -> tuple[str, tuple[int, int], int]:
        """Name, growth and rounds."""
        return (GEOMETRIC, self.growth, self.rounds)

    @property
    def horizon(self) -> None:  # type: ignore[override]
        """None: there is no last step."""
        return None


@dataclass(frozen=True)
class Punctual(_Timed):
    """Every column at every step, up to a horizon.

    Guarantee: no lag; as many leaves as steps, hence more noise than the others.

    Args:
        horizon: number of steps, 1 to 2^48.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: Epasto et al. 2023; the Punctual sketch of arXiv 2507.03361.

    Example:
        >>> Punctual(horizon=1000).leaves(64)
        1000
    """

    horizon: int

    @property
    def specification(self) -> tuple[str, int]:
        """Name and horizon."""
        return (PUNCTUAL, self.horizon)

    def __post_init__(self) -> None:
        """Check the horizon."""
        _store(self, "horizon", checked_integer("horizon", self.horizon, most=LARGEST_HORIZON))


@dataclass(frozen=True)
class Batch(_Timed):
    """Every column at every step, where a step is a micro-batch of any number of events.

    Guarantee: as punctual with one leaf per batch; the number of events in a batch is not
    published. A batch may hold up to 2^32 events.

    Args:
        horizon: number of batches; horizon * max_weight stays below 2^30.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: docs/theory.md, schedules.

    Example:
        >>> Batch(horizon=24).leaves(64)
        24
    """

    horizon: int

    @property
    def specification(self) -> tuple[str, int]:
        """Name and horizon."""
        return (BATCH, self.horizon)

    def __post_init__(self) -> None:
        """Check the horizon."""
        _store(self, "horizon", checked_integer("horizon", self.horizon, most=LARGEST_HORIZON))


@dataclass(frozen=True)
class Single(_Timed):
    """Every column once, at the horizon: the single-release model.

    Guarantee: nothing is published before the horizon; the least noise there is.

    Args:
        horizon: the step of the release, 1 to 2^48.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: Pagh and Thorup 2022; Zhao et al. 2022.

    Example:
        >>> Single(horizon=1000).leaves(64)
        1
    """

    horizon: int

    @property
    def specification(self) -> tuple[str, int]:
        """Name and horizon."""
        return (SINGLE, self.horizon)

    def __post_init__(self) -> None:
        """Check the horizon."""
        _store(self, "horizon", checked_integer("horizon", self.horizon, most=LARGEST_HORIZON))


Schedule: TypeAlias = RoundRobin | Geometric | Punctual | Batch | Single


def schedule_specified(specification: _native._Specification) -> Schedule:
    """Return the schedule that a release carries.

    Args:
        specification: name and parameters.

    Returns:
        The schedule.

    Example:
        >>> schedule_specified(("round robin", 1000, 1))
        RoundRobin(horizon=1000, period=1)
    """
    known: dict[str, Callable[..., Schedule]] = {
        ROUND_ROBIN: RoundRobin,
        GEOMETRIC: lambda growth, rounds: Geometric(growth=growth, rounds=rounds),
        PUNCTUAL: Punctual,
        BATCH: Batch,
        SINGLE: Single,
    }
    name, *parameters = specification
    return known[name](*parameters)


def checked_schedule(schedule: object) -> Schedule:
    """Return the schedule, or raise.

    Args:
        schedule: what a caller gave as ``schedule``.

    Returns:
        The same object.

    Raises:
        ArgumentTypeError: not a schedule.
    """
    if not isinstance(schedule, RoundRobin | Geometric | Punctual | Batch | Single):
        raise ArgumentTypeError(
            f"schedule: expected a schedule such as RoundRobin(horizon=...), or its name, got "
            f"{type(schedule).__name__}"
        )
    return schedule


def schedule_for(schedule: Schedule | ScheduleName | None, horizon: int | None) -> Schedule:
    """Return the schedule that a constructor's arguments describe.

    Args:
        schedule: a schedule; or its name, with ``horizon`` unless it is ``"geometric"``; or None
            for round robin with a horizon and geometric without one.
        horizon: number of steps (batches for ``"batch"``), or None.

    Returns:
        The schedule.

    Raises:
        ArgumentTypeError: neither a schedule nor a name; or a schedule together with a horizon.
        ArgumentValueError: an unknown name, or a horizon that is missing, outside its range, or
            given for the geometric schedule.

    Example:
        >>> schedule_for("punctual", 10)
        Punctual(horizon=10)
        >>> schedule_for(None, None)
        Geometric(growth=(1, 100), rounds=4096)
    """
    if schedule is None:
        return Geometric() if horizon is None else RoundRobin(horizon=horizon)
    if isinstance(schedule, str):
        return _schedule_named(schedule, horizon)
    chosen = checked_schedule(schedule)
    if horizon is not None:
        raise ArgumentTypeError("horizon: expected None together with a schedule, got both")
    return chosen


def _schedule_named(name: str, horizon: int | None) -> Schedule:
    if name == GEOMETRIC:
        if horizon is not None:
            raise ArgumentValueError(
                f"horizon: expected None for the geometric schedule, got {horizon}"
            )
        return Geometric()
    timed: dict[str, Callable[..., Schedule]] = {
        ROUND_ROBIN: RoundRobin,
        PUNCTUAL: Punctual,
        BATCH: Batch,
        SINGLE: Single,
    }
    if name not in timed:
        known = ", ".join(repr(known) for known in (GEOMETRIC, *timed))
        raise ArgumentValueError(f"schedule: expected one of {known}, got {name[:40]!r}")
    if horizon is None:
        raise ArgumentValueError(
            f"horizon: expected a number of steps for the {name} schedule, got None"
        )
    return timed[name](horizon=horizon)
