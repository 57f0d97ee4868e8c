"""Schedules: the steps at which columns are pushed.

A schedule gives the number of pushes (leaves) that a mechanism must serve, and the pushes of every
column after a number of steps. It depends on the step number alone, never on data.

==============  ==========================================  =====================  ===============
schedule        pushes                                      leaves                 lag of a column
==============  ==========================================  =====================  ===============
round robin     column (t - 1) mod width at step t          ceil(horizon / width)  width steps
geometric       rounds of max(width, 1 % of the stream)     4096                   one round
punctual        every column at every step                  horizon, or any        none
batch           the same; a step holds many events          the same, of batches   one batch
single          every column once, at the end               1                      everything
==============  ==========================================  =====================  ===============

Source: round robin is the Lazy sketch of R. Holland, arXiv 2507.03361; punctual is Epasto et al.
2023; geometric is ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import plain_tuple
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
# Steps of the schedules that push everything, if they have no horizon: 136 and 8 years of seconds.
# All draws that there could be count for the block cipher, and all events for the counters.
_WITHOUT_HORIZON: Final = {"punctual": 2**32, "batch": 2**28}


class _Base(ABC):
    """Base of all schedules, with or without a horizon."""

    horizon: int | None

    def _store(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def specification(self) -> _native._Specification:
        """Name and parameters, in the form that the core and releases use."""

    @property
    def name(self) -> str:
        """Name of the schedule, as stored in releases."""
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

    @property
    def last_step(self) -> int:
        """The horizon, or the most steps without one."""
        return LARGEST_STEP if self.horizon is None else self.horizon

    def _checked(self, width: int, step: int) -> tuple[int, int]:
        columns = checked_integer("width", width, most=LARGEST_WIDTH)
        last = self.last_step
        return columns, checked_integer("step", step, least=0, most=last)


@dataclass(frozen=True)
class _OptionalHorizon(_Base):
    horizon: int | None = None

    def __post_init__(self) -> None:
        """Check the horizon, if there is one."""
        if self.horizon is not None:
            self._store("horizon", checked_integer("horizon", self.horizon, most=LARGEST_HORIZON))


class _OfEveryStep(_OptionalHorizon):
    _name: ClassVar[ScheduleName]

    @property
    def specification(self) -> tuple[str, int]:
        """Name and horizon, or the number of steps that stands for none."""
        return (self._name, self.last_step)

    @property
    def last_step(self) -> int:
        """The horizon, or the most steps without one."""
        return _WITHOUT_HORIZON[self._name] if self.horizon is None else self.horizon


@dataclass(frozen=True)
class RoundRobin(_Base):
    """Pushes one column every ``period`` steps, in turn, up to a horizon.

    Guarantee: a column is pushed at most ceil(horizon / (period * width)) times.

    Args:
        horizon: number of steps, 1 to 2^48.
        period: steps from one push to the next, 1 to 2^48. Longer means less noise, more lag.

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
        return ("round robin", self.horizon, self.period)

    def __post_init__(self) -> None:
        """Check horizon and period."""
        self._store("horizon", checked_integer("horizon", self.horizon, most=LARGEST_HORIZON))
        self._store("period", checked_integer("period", self.period, most=LARGEST_HORIZON))


@dataclass(frozen=True)
class Geometric(_Base):
    """Pushes in rounds that grow with the stream; needs no horizon.

    Guarantee: the lag of a column is at most max(width, growth * stream) steps; with a growth of
    1 %, 4096 rounds last longer than 2^62 steps. Nothing is published after the last round.

    Args:
        growth: length of a round over that of the stream, (numerator, denominator), at most 1.
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
        pair = plain_tuple(self.growth)
        if pair is None or len(pair) != 2:
            raise ArgumentTypeError(
                f"growth: expected (numerator, denominator), got {type(self.growth).__name__}"
            )
        numerator = checked_integer("growth", pair[0], most=2**20)
        denominator = checked_integer("growth", pair[1], least=numerator, most=2**20)
        self._store("growth", (numerator, denominator))
        self._store("rounds", checked_integer("rounds", self.rounds, most=2**20))

    @property
    def specification(self) -> tuple[str, tuple[int, int], int]:
        """Name, growth and rounds."""
        return ("geometric", self.growth, self.rounds)

    @property
    def horizon(self) -> None:  # type: ignore[override]
        """Always None: streams may be endless."""
        return None


@dataclass(frozen=True)
class Punctual(_OfEveryStep):
    """Pushes every column at every step.

    Guarantee: no lag. There are as many leaves as steps, hence more noise than other schedules.

    Args:
        horizon: number of steps, 1 to 2^48; None for any number, up to 2^32. Without a horizon the
            noise grows with the steps taken; it is larger than with a horizon that is just met.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: Epasto et al. 2023; the Punctual sketch of arXiv 2507.03361.

    Example:
        >>> Punctual(horizon=1000).leaves(64)
        1000
    """

    _name = "punctual"


@dataclass(frozen=True)
class Batch(_OfEveryStep):
    """Pushes every column at every step; a step is a micro-batch of any number of events.

    Guarantee: as punctual, with one leaf per batch. The number of events in a batch (at most 2^32)
    is not published.

    Args:
        horizon: number of batches; horizon * max_weight stays below 2^30. None for any number,
            up to 2^28, with a largest weight of at most 3.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Example:
        >>> Batch(horizon=24).leaves(64)
        24
    """

    _name = "batch"


@dataclass(frozen=True)
class Single(_OptionalHorizon):
    """Pushes every column once, at the end: the single-release model.

    Guarantee: nothing is published before the horizon, or before ``finish()``. No schedule has less
    noise, and the noise does not depend on the length of the stream.

    Args:
        horizon: the step of the release, 1 to 2^48; None to publish at ``finish()`` only.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Source: Pagh and Thorup 2022; Zhao et al. 2022.

    Example:
        >>> Single().leaves(64), Single(horizon=1000).leaves(64)
        (1, 1)
    """

    @property
    def specification(self) -> tuple[str, int] | tuple[str]:
        """Name, and the horizon if there is one."""
        return ("single",) if self.horizon is None else ("single", self.horizon)


Schedule: TypeAlias = RoundRobin | Geometric | Punctual | Batch | Single
_TIMED: Final[dict[str, Callable[..., Schedule]]] = {
    "round robin": RoundRobin,
    "punctual": Punctual,
    "batch": Batch,
    "single": Single,
}


def schedule_specified(specification: _native._Specification) -> Schedule:
    """Return the schedule with a given name and parameters, as stored in a release.

    Args:
        specification: name and parameters.

    Returns:
        The schedule.

    Example:
        >>> schedule_specified(("round robin", 1000, 1))
        RoundRobin(horizon=1000, period=1)
    """
    name, *parameters = specification
    known = [] if parameters == [_WITHOUT_HORIZON.get(name)] else parameters
    return {**_TIMED, "geometric": Geometric}[name](*known)


def checked_schedule(schedule: object) -> Schedule:
    """Return the schedule, or raise.

    Args:
        schedule: value of the argument ``schedule``.

    Returns:
        The same object.

    Raises:
        ArgumentTypeError: not a schedule.
    """
    if not isinstance(schedule, RoundRobin | Geometric | Punctual | Batch | Single):
        raise ArgumentTypeError(
            f"schedule: expected one such as RoundRobin(horizon=...), got {type(schedule).__name__}"
        )
    return schedule


def schedule_for(schedule: Schedule | ScheduleName | None, horizon: int | None) -> Schedule:
    """Return the schedule that the arguments of a constructor describe.

    Args:
        schedule: a schedule; or its name, with ``horizon`` for ``"round robin"`` and without for
            ``"geometric"``; or None for round robin with a horizon and geometric without one.
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
    if name == "geometric":
        if horizon is not None:
            wanted = "None for the geometric schedule"
            raise ArgumentValueError(f"horizon: expected {wanted}, got {horizon}")
        return Geometric()
    if name not in _TIMED:
        known = ", ".join(repr(known) for known in ("geometric", *_TIMED))
        raise ArgumentValueError(f"schedule: expected one of {known}, got {shown(name)}")
    if horizon is None and name == "round robin":
        raise ArgumentValueError("horizon: expected a number of steps for round robin, got None")
    return _TIMED[name](horizon=horizon)
