"""A candidate sketch: its request, size and schedule, and the table that they describe.

:class:`TableSpec` calibrates the noise of a table, as for a live sketch; no table is made. That
costs some milliseconds, so it is done once per width and schedule and for simulated designs only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.planning.request import Request
from lazysketch.privacy.relations import table_sensitivity2
from lazysketch.specification.schedules import Geometric, RoundRobin
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import TableSpec

__all__ = ["Design", "Noise", "noise_variances", "round_length"]

Array = npt.NDArray[np.float64]

_PUSHES: Final = 33  # number of pushes over which the variance is averaged


@dataclass(frozen=True, eq=False)
class Design:
    """A sketch that could be made for a request.

    Attributes:
        request: the stream and the privacy parameters.
        kind: Count-Min or Count Sketch.
        depth: number of rows.
        width: number of columns.
        schedule: when columns are pushed.
    """

    request: Request
    kind: SketchKind
    depth: int
    width: int
    schedule: RoundRobin | Geometric

    @cached_property
    def spec(self) -> TableSpec:
        """Description of the table, with calibrated noise.

        Raises:
            ArgumentValueError: no mechanism supports the privacy parameters.
        """
        return TableSpec(
            kind=self.kind,
            depth=self.depth,
            width=self.width,
            schedule=self.schedule,
            epsilon=self.request.epsilon,
            delta=self.request.delta,
            relation=self.request.relation,
            max_weight=self.request.max_weight,
            max_events_per_user=self.request.max_events_per_user,
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.depth * self.width

    @property
    def memory(self) -> int:
        """Bytes of all cells at the end of the stream."""
        return self.cells * self.request.cell_bytes


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


def noise_variances(design: Design, pushes: npt.NDArray[np.int64]) -> Array:
    """Return the variance of the noise of a cell after some numbers of pushes.

    Args:
        design: the sketch.
        pushes: push numbers.

    Returns:
        float64 array, in squared counts.

    Raises:
        ArgumentValueError: no mechanism supports the privacy parameters.
    """
    return design.spec.sigma**2 * design.spec.chosen_mechanism.variances(pushes)


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
    def of(cls, design: Design) -> Noise:
        """Return the noise of a design.

        Args:
            design: the sketch; its kind and depth do not matter.

        Returns:
            The noise.

        Raises:
            ArgumentValueError: no mechanism supports the privacy parameters.
        """
        steps = design.request.steps
        first = design.schedule.pushes(design.width, steps - steps // 2)
        last = design.schedule.pushes(design.width, steps)
        pushes = np.linspace(max(int(first.min()), 1), int(last.max()), _PUSHES)
        spec = replace(design, kind="count-min", depth=1).spec
        variances = spec.chosen_mechanism.variances(np.unique(pushes.astype(np.int64)))
        return cls(spec.sigma, float(variances.mean()))

    def deviation(self, design: Design) -> float:
        """Return the standard deviation of a cell's noise, in counts.

        Args:
            design: one of the designs.

        Returns:
            Root mean square over the second half of the stream.
        """
        relation = design.request.relation
        own = table_sensitivity2(design.kind, depth=design.depth, relation=relation)
        single = table_sensitivity2("count-min", depth=1, relation=relation)
        return self.sigma * math.sqrt(self.variance * own / single)
