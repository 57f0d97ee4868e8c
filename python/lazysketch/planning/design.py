"""A candidate sketch: its size, schedule and privacy parameters, and the noise they require.

The noise is calibrated by the code that calibrates the sketch itself; no table is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.planning.request import Request
from lazysketch.privacy.relations import Relation, table_sensitivity2
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Geometric, RoundRobin
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import TableSpec

__all__ = ["Design", "Noise", "cell_bytes", "design_of", "round_length", "sigma_of"]

Array = npt.NDArray[np.float64]

_PUSHES: Final = 33  # number of pushes over which the variance is averaged
_NARROW: Final = 2**31  # counters have 32 bits while twice their largest value is below this


@dataclass(frozen=True)
class Design:
    """The parameters of a table that could be made.

    Attributes:
        kind: Count-Min or Count Sketch.
        depth: number of rows.
        width: number of columns.
        schedule: when columns are pushed.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: neighbouring streams.
        max_weight: largest weight of one event.
        max_events_per_user: events of one person that are protected together.
    """

    kind: SketchKind
    depth: int
    width: int
    schedule: RoundRobin | Geometric
    epsilon: float
    delta: float
    relation: Relation
    max_weight: int
    max_events_per_user: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.depth * self.width


def design_of(
    request: Request, kind: SketchKind, depth: int, width: int, schedule: RoundRobin | Geometric
) -> Design:
    """Return a table with the privacy parameters of a request.

    Args:
        request: stream and guarantee.
        kind: Count-Min or Count Sketch.
        depth: number of rows.
        width: number of columns.
        schedule: when columns are pushed.

    Returns:
        The design.
    """
    return Design(
        kind=kind,
        depth=depth,
        width=width,
        schedule=schedule,
        epsilon=request.epsilon,
        delta=request.delta,
        relation=request.relation,
        max_weight=request.max_weight,
        max_events_per_user=request.max_events_per_user,
    )


def cell_bytes(request: Request) -> int:
    """Return the bytes of a cell, which holds two counters, at the end of the stream.

    Args:
        request: length of the stream and weights.

    Returns:
        8, or 16 if 32 bits could overflow.
    """
    return 16 if 2 * request.steps * request.max_weight >= _NARROW else 8


def round_length(schedule: RoundRobin | Geometric, width: int, steps: int) -> int:
    """Return the largest number of steps from one push of a column to the next.

    Args:
        schedule: when columns are pushed.
        width: number of columns.
        steps: length of the stream so far.

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
    """The noise of all designs that differ in kind and depth only.

    Attributes:
        sigma: standard deviation of a draw for a Count-Min sketch of depth 1.
        variance: of a release in units of sigma^2, mean over the second half of the stream.
    """

    sigma: float
    variance: float

    @classmethod
    def of(cls, design: Design, steps: int) -> Noise:
        """Return the noise of a design.

        Args:
            design: the sketch; its kind and depth do not matter.
            steps: length of the stream.

        Returns:
            The noise.

        Raises:
            ArgumentValueError: no mechanism supports the privacy parameters.
        """
        mechanism, sigma = sigma_of(replace(design, kind="count-min", depth=1))
        first = design.schedule.pushes(design.width, steps - steps // 2)
        last = design.schedule.pushes(design.width, steps)
        pushes = np.linspace(max(int(first.min()), 1), int(last.max()), _PUSHES)
        variances = mechanism.variances(np.unique(pushes.astype(np.int64)))
        return cls(sigma, float(variances.mean()))

    def deviation(self, design: Design) -> float:
        """Return the standard deviation of a cell's noise, in counts.

        Args:
            design: one of the designs.

        Returns:
            Root mean square over the second half of the stream.
        """
        relation = design.relation
        own = table_sensitivity2(design.kind, depth=design.depth, relation=relation)
        single = table_sensitivity2("count-min", depth=1, relation=relation)
        return self.sigma * math.sqrt(self.variance * own / single)


def sigma_of(design: Design) -> tuple[Mechanism, float]:
    """Return the mechanism of a design and the standard deviation of its draws.

    Args:
        design: the sketch.

    Returns:
        Mechanism and sigma, as the sketch itself has them.

    Raises:
        ArgumentValueError: no mechanism supports the privacy parameters.
    """
    spec = TableSpec(
        kind=design.kind,
        depth=design.depth,
        width=design.width,
        schedule=design.schedule,
        epsilon=design.epsilon,
        delta=design.delta,
        relation=design.relation,
        max_weight=design.max_weight,
        max_events_per_user=design.max_events_per_user,
    )
    return spec.chosen_mechanism, spec.sigma
