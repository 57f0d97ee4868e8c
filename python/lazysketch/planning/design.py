"""A candidate sketch: its request, size and schedule, and the table that they describe.

:class:`TableSpec` calibrates the noise of a table, as for a live sketch; no table is made. That
costs some milliseconds, so it is done once per width and schedule and for simulated designs only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch.planning.reads import mean_wait
from lazysketch.planning.request import Request
from lazysketch.privacy.adaptive import adaptive_noise_multiplier
from lazysketch.privacy.relations import table_sensitivity2
from lazysketch.specification.mechanisms import Mechanism
from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single
from lazysketch.specification.sizing import SketchKind
from lazysketch.specification.table_spec import TableSpec

__all__ = ["Design", "Noise", "Planned", "Public", "noise_variances", "round_length"]

Array = npt.NDArray[np.float64]
Planned: TypeAlias = RoundRobin | Geometric | Batch | Single

_WIDE: Final = 16  # bytes of a cell with two 64-bit counters
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
        batch: steps of the stream in one step of the schedule, 1 unless that is batch.
    """

    request: Request
    kind: SketchKind
    depth: int
    width: int
    schedule: Planned
    batch: int = 1

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
            person_bound=self.request.person_bound,
        )

    @property
    def finished(self) -> bool:
        """True if the sketch is read after ``finish()``."""
        return self.request.reads == "end"

    @property
    def wait(self) -> float:
        """Mean number of steps for which a column has waited at a read."""
        if self.finished:
            return 0.0
        if isinstance(self.schedule, Batch):
            return mean_wait(self.request.reads, batch=self.batch)
        return round_length(self.schedule, self.width, self.request.steps) / 2.0

    def public(self, *, waited: int = 0) -> Public:
        """Return what is public of each column at a read near the last step.

        Args:
            waited: steps since the last batch; 0 for other schedules.

        Returns:
            Steps and pushes.
        """
        steps = self.request.steps
        if self.finished:
            final = _final_pushes(
                self.spec.chosen_mechanism, self.schedule, self.width, steps=steps, batch=self.batch
            )
            return Public(np.full(self.width, float(steps)), final)
        pushes = self.schedule.pushes(self.width, (steps - waited) // self.batch)
        if isinstance(self.schedule, Batch):
            return Public(np.full(self.width, float(steps - waited)), pushes)
        published = self.schedule.published_steps(self.width, steps)
        return Public(published.astype(np.float64), pushes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.depth * self.width

    @property
    def memory(self) -> int:
        """Bytes of all cells at the end of the stream.

        The open step of batches has cells of its own, and as any number of events may be in one,
        counters are wide from the start.
        """
        if isinstance(self.schedule, Batch):
            return 2 * self.cells * _WIDE
        return self.cells * self.request.cell_bytes


@dataclass(frozen=True, eq=False)
class Public:
    """What is public of the columns of a sketch.

    Attributes:
        steps: step of the stream up to which each column is published, float64 of shape (width,).
        pushes: number of its last push, int64 of shape (width,).
    """

    steps: Array
    pushes: npt.NDArray[np.int64]


def round_length(schedule: Planned, width: int, steps: int) -> int:
    """Return the largest number of steps from one push of a column to the next.

    Args:
        schedule: when columns are pushed.
        width: number of columns.
        steps: length of the stream so far.

    Returns:
        The length of a round; of batches and of a single publication, 0.

    Example:
        >>> round_length(RoundRobin(horizon=1000, period=2), 64, 1000)
        128
    """
    if isinstance(schedule, Batch | Single):
        return 0
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
        variance: of a release in units of sigma^2, at the end if only that is read, else the mean
            over the second half of the stream.
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
        design = replace(design, kind="count-min", depth=1)
        variance = _mean_variance(
            design.spec.chosen_mechanism,
            design.schedule,
            design.width,
            steps=design.request.steps,
            batch=design.batch,
            finished=design.finished,
        )
        return cls(design.spec.sigma, variance)

    def deviation(self, design: Design) -> float:
        """Return the standard deviation of a cell's noise, in counts.

        Args:
            design: one of the designs.

        Returns:
            Root mean square over the second half of the stream, or at its end.
        """
        request, relation = design.request, design.request.relation
        bound = request.person_bound  # whose cells are at most the width for both
        own = table_sensitivity2(
            design.kind, depth=design.depth, relation=relation, person_bound=bound
        )
        single = table_sensitivity2("count-min", depth=1, relation=relation, person_bound=bound)
        # More rows need a little less noise for the same sensitivity.
        rows, row = (
            adaptive_noise_multiplier(request.epsilon, request.delta, depth=depth)
            for depth in (design.depth, 1)
        )
        return self.sigma * rows / row * math.sqrt(self.variance * own / single)


# The search for a bound of people asks for the same tables with every bound: most of its time.
@lru_cache(maxsize=1 << 12)
def _mean_variance(
    mechanism: Mechanism, schedule: Planned, width: int, *, steps: int, batch: int, finished: bool
) -> float:
    """Return the variance of :class:`Noise`."""
    if finished:
        pushes = _final_pushes(mechanism, schedule, width, steps=steps, batch=batch)
    else:
        first = schedule.pushes(width, (steps - steps // 2) // batch)
        last = schedule.pushes(width, steps // batch)
        spread = np.linspace(max(int(first.min()), 1), int(last.max()), _PUSHES)
        pushes = np.unique(spread.astype(np.int64))
    return float(mechanism.variances(pushes).mean())


def _final_pushes(
    mechanism: Mechanism, schedule: Planned, width: int, *, steps: int, batch: int
) -> npt.NDArray[np.int64]:
    """Return the push of each column by ``finish()`` after all steps."""
    whole = isinstance(schedule, Batch) and steps % batch == 0
    pushes = schedule.pushes(width, steps // batch)
    return mechanism.final_pushes(pushes, nothing_pending=whole)
