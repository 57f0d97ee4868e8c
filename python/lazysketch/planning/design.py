"""One sketch that could be made: its size, its schedule, and the noise that it would have.

The noise is calibrated by the code that calibrates the sketch itself; no table is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.planning.request import Request
from lazysketch.privacy.relations import table_sensitivity2
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Geometric, RoundRobin
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import TableSpec

__all__ = ["Design", "Noise", "cell_bytes", "round_length", "sigma_of"]

Array = npt.NDArray[np.float64]

_PUSHES: Final = 33  # at which the variance is averaged
_NARROW: Final = 2**31  # counters are 32 bits while twice their largest value is below


@dataclass(frozen=True)
class Design:
    """A sketch that could be made.

    Attributes:
        kind: Count-Min or Count Sketch.
        depth: rows.
        width: columns.
        schedule: when they are pushed.
    """

    kind: SketchKind
    depth: int
    width: int
    schedule: RoundRobin | Geometric

    @property
    def cells(self) -> int:
        """Counters."""
        return self.depth * self.width


def cell_bytes(request: Request) -> int:
    """Return the bytes of a cell at the end of the stream: two counters.

    Args:
        request: the stream.

    Returns:
        8, or 16 where 32 bits could overflow.
    """
    return 16 if 2 * request.steps * request.max_weight >= _NARROW else 8


def round_length(schedule: RoundRobin | Geometric, width: int, steps: int) -> int:
    """Return the steps that a column waits at most, from one push to the next.

    Args:
        schedule: when columns are pushed.
        width: columns of the table.
        steps: of the stream so far.

    Returns:
        The length of a round.

    Example:
        >>> round_length(RoundRobin(horizon=1000, period=2), 64, 1000)
        128
    """
    if isinstance(schedule, RoundRobin):
        return schedule.period * width
    numerator, denominator = schedule.growth
    return max(width, -(-steps * numerator // denominator))


@dataclass(frozen=True)
class Noise:
    """The noise of designs that differ in kind and depth only.

    Attributes:
        mechanism: how cells are counted.
        sigma: standard deviation of a draw for a Count-Min sketch of depth 1.
        variance: of a release in units of sigma^2, mean over the second half of the stream.
    """

    mechanism: Mechanism
    sigma: float
    variance: float

    @classmethod
    def of(cls, request: Request, width: int, schedule: RoundRobin | Geometric) -> Noise:
        """Return the noise of a width and a schedule.

        Args:
            request: the stream and the promise.
            width: columns.
            schedule: when they are pushed.

        Returns:
            The noise.

        Raises:
            ArgumentValueError: a promise that no mechanism serves.
        """
        mechanism, sigma = sigma_of(request, Design("count-min", 1, width, schedule))
        half = request.steps - request.steps // 2
        least, most = (
            int(pushes)
            for pushes in (
                schedule.pushes(width, half).min(),
                schedule.pushes(width, request.steps).max(),
            )
        )
        pushes = np.unique(np.linspace(max(least, 1), most, _PUSHES).astype(np.int64))
        return cls(mechanism, sigma, float(mechanism.variances(pushes).mean()))

    def deviation(self, request: Request, kind: SketchKind, depth: int) -> float:
        """Return the standard deviation of a cell's noise, in counts.

        Args:
            request: the promise.
            kind: of sketch.
            depth: rows.

        Returns:
            Root mean square over the second half of the stream.
        """
        whole = table_sensitivity2(kind, depth=depth, relation=request.relation)
        part = table_sensitivity2("count-min", depth=1, relation=request.relation)
        return self.sigma * math.sqrt(self.variance * whole / part)


def sigma_of(request: Request, design: Design) -> tuple[Mechanism, float]:
    """Return the mechanism that a design gets, and the standard deviation of its draws.

    Args:
        request: the promise.
        design: the sketch.

    Returns:
        Mechanism and sigma, as the sketch itself would have them.

    Raises:
        ArgumentValueError: a promise that no mechanism serves.
    """
    spec = TableSpec(
        kind=design.kind,
        depth=design.depth,
        width=design.width,
        schedule=design.schedule,
        epsilon=request.epsilon,
        delta=request.delta,
        relation=request.relation,
        max_weight=request.max_weight,
        max_events_per_user=request.max_events_per_user,
    )
    return spec.chosen_mechanism, spec.sigma
