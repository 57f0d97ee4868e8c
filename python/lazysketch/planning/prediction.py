"""Predicted errors of a sketch: a fast score without a table, and a simulated release.

:class:`Scores` computes the half width of an interval from the error distribution of one cell
(collisions plus noise): ranks in it become ranks among the rows, as for the intervals of a release,
and the lag widens the result by the events of the item in a round. A score costs a tenth of a
millisecond once the collisions of its width are known, so that a search can afford thousands.

:func:`predict` simulates releases: some tables are filled with collisions of the workload and with
noise of the exact variance of each column at the last step, or after ``finish()`` if only the end
is read. Items of the requested share are put into random cells, and :mod:`lazysketch.estimation`
computes their estimates and intervals as for a real release. A table of batches does not know how
many events its open batch has, so the estimate is that of the last whole one. It costs some tens of
milliseconds. The parts of the error come from the scores; they do not add up, because errors of
both signs cancel.

Source: docs/planning.md; docs/intervals.md for the intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.error_model import BURSTINESS, deviations_of, level_of
from lazysketch.planning.design import Design, Noise, Planned, round_length
from lazysketch.planning.reads import waits
from lazysketch.planning.request import Request
from lazysketch.planning.simulation import SimulatedTable
from lazysketch.planning.workload import Workload
from lazysketch.specification.schedules import Batch
from lazysketch.specification.sizing import SketchKind

__all__ = [
    "CellErrors",
    "Prediction",
    "Scores",
    "half_width",
    "lag_width",
    "predict",
    "simulated",
    "tails",
]

Array = npt.NDArray[np.float64]

_SCORED_CELLS: Final = 4096  # cells simulated for the error distribution of a cell
_HALVINGS: Final = 60
_LEAST_RANK: Final = 2.0  # fewest cells beyond a bound for which the table determines it
_SIMULATED_CELLS: Final = 2**15  # cells of one simulated table
_TABLES: Final = 4
_ITEMS: Final = 1024  # items per table
_normal: Final = NormalDist()


@dataclass(frozen=True, eq=False)
class CellErrors:
    """Error distribution of one cell.

    Attributes:
        collisions: mass of other items in simulated cells, in counts; float64.
        deviation: standard deviation of the noise, in counts.
        cells: number of cells of the real table, in which ranks are taken.
    """

    collisions: Array
    deviation: float
    cells: int


@lru_cache(maxsize=256)
def tails(kind: SketchKind, depth: int, side: float) -> tuple[float, float]:
    """Return the tail probabilities of one row for a tail probability of the row statistic.

    Args:
        kind: Count-Min (minimum) or Count Sketch (middle rows).
        depth: number of rows.
        side: probability of one tail of the row statistic.

    Returns:
        (upper tail, lower tail) of the error of one row.

    Example:
        >>> [round(tail, 4) for tail in tails("count-min", 2, 0.01)]
        [0.1, 0.005]
    """
    if kind == "count-min":
        return side ** (1 / depth), -math.expm1(math.log1p(-side) / depth)
    needed = depth // 2 + 1
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        row = (low + high) / 2
        terms = [math.comb(depth, k) * row**k * (1 - row) ** (depth - k) for k in range(depth + 1)]
        low, high = (row, high) if sum(terms[needed:]) <= side else (low, row)
    return low, low


def half_width(errors: CellErrors, kind: SketchKind, depth: int, *, confidence: float) -> float:
    """Return half the width of the interval of a count at the last pushes.

    Args:
        errors: error distribution of one cell.
        kind: kind of sketch.
        depth: number of rows.
        confidence: confidence of the interval.

    Returns:
        In counts; infinite if the table has too few cells for the confidence.
    """
    above, below = tails(kind, depth, (1.0 - confidence) / 2.0)
    sample = errors.collisions + errors.deviation * _scattered(len(errors.collisions))
    size, step = len(sample), 1.0 / errors.cells
    most = math.ceil((1.0 - above + step) * size)
    least = math.floor((below - step) * size)
    if above < _LEAST_RANK * step:
        return math.inf
    if below < _LEAST_RANK * step or least < 0:
        if kind == "count-sketch":
            return math.inf
        # Collisions only increase a cell: the noise alone bounds errors downwards.
        least, bottom = 0, errors.deviation * _normal.inv_cdf(below)
    else:
        bottom = math.nan
    ordered = np.partition(sample, [least, min(most, size - 1)])
    low = ordered[least] if math.isnan(bottom) else bottom
    apart = _between_middle_rows(sample, depth) if kind == "count-sketch" else 0.0
    return float(ordered[min(most, size - 1)] - low + apart) / 2.0


def lag_width(half: float, design: Design) -> float:
    """Return half the width of the interval of the count at this step.

    Args:
        half: half the width of the interval at the last pushes, in counts.
        design: the sketch.

    Returns:
        In counts.
    """
    request = design.request
    if design.finished:
        return half
    if isinstance(design.schedule, Batch):  # what waits is not known, so it is an error as it is
        return half + request.count * design.wait / request.steps
    wait = round_length(design.schedule, design.width, request.steps) / request.steps
    deviations = _normal.inv_cdf((1.0 + request.confidence) / 2.0)

    def spread(expected: float) -> float:
        return deviations * math.sqrt(expected + (BURSTINESS * expected) ** 2)

    # Expected events at the oldest and the youngest of depth columns, with uniform ages.
    most = request.count * wait * design.depth / (design.depth + 1)
    least = request.count * wait / (design.depth + 1)
    return (most - least + math.hypot(half, spread(most)) + math.hypot(half, spread(least))) / 2.0


@dataclass(eq=False)
class Scores:
    """Half widths of many designs; caches the collisions of a width and the noise of a schedule.

    Attributes:
        request: the request of all designs.
    """

    request: Request
    _collisions: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    _noise: dict[tuple[int, Planned, int], Noise] = field(default_factory=dict)

    def of(self, design: Design) -> float:
        """Return half the width of the interval of the item's count at the last step.

        Args:
            design: the sketch.

        Returns:
            In counts.
        """
        errors = CellErrors(self.collisions(design), self.deviation(design), design.cells)
        half = half_width(errors, design.kind, design.depth, confidence=self.request.confidence)
        return lag_width(half, design)

    def alone(self, design: Design, *, part: Literal["collisions", "noise"]) -> float:
        """Return the half width that one part of the error alone would give, without lag.

        Args:
            design: the sketch.
            part: part of the error.

        Returns:
            In counts.
        """
        collisions, deviation = self.collisions(design), self.deviation(design)
        if part == "collisions":
            errors = CellErrors(collisions, 0.0, design.cells)
        else:
            errors = CellErrors(0.0 * collisions, deviation, design.cells)
        return half_width(errors, design.kind, design.depth, confidence=self.request.confidence)

    def collisions(self, design: Design) -> Array:
        """Return the mass of other items in simulated cells, in counts."""
        width = design.width
        if width not in self._collisions:
            self._collisions[width] = _colliding(self.request.workload, width)
        plain, signed = self._collisions[width]
        shares = plain if design.kind == "count-min" else signed
        return shares * self.request.total

    def deviation(self, design: Design) -> float:
        """Return the standard deviation of a cell's noise, in counts."""
        key = (design.width, design.schedule, design.batch)
        if key not in self._noise:
            self._noise[key] = Noise.of(design)
        return self._noise[key].deviation(design)

    def asked(self, request: Request) -> Scores:
        """Return the scores of another request for the same workload."""
        return Scores(request, self._collisions)


def _colliding(workload: Workload, width: int) -> tuple[Array, Array]:
    columns = min(width, _SCORED_CELLS)
    plain, signed = workload.cells(width, rows=_SCORED_CELLS // columns, columns=columns)
    return plain.ravel(), signed.ravel()


def _between_middle_rows(errors: Array, depth: int) -> float:
    """Return the mean distance of the two middle rows, which bound a count at even depths."""
    if depth % 2:
        return 0.0
    rows = np.sort(errors[: len(errors) // depth * depth].reshape(depth, -1), axis=0)
    return float(np.mean(rows[depth // 2] - rows[depth // 2 - 1]))


@lru_cache(maxsize=128)  # of the widths of a search, at 4,096 numbers
def _scattered(size: int) -> Array:
    """Return the quantiles of the normal distribution in a fixed random order."""
    ranks = (np.arange(size) + 0.5) / size
    quantiles = np.array([_normal.inv_cdf(rank) for rank in ranks])
    return np.random.default_rng(1).permutation(quantiles)


@dataclass(frozen=True)
class Prediction:
    """Predicted errors of an item's count, in counts unless they are relative.

    Guarantee: none; a prediction is as good as the description of the stream. docs/planning.md
    compares predictions with measurements.

    Attributes:
        count: count of the item at the last step.
        typical_error: mean absolute error of ``release.interval(item, at="now").estimate``.
        interval_half_width: mean half width of that interval.
        relative_error: half width and bias divided by the count.
        typical_relative_error: typical error divided by the count.
        collisions: half width from collisions alone.
        noise: half width from noise alone.
        lag: mean number of unpublished counts of the item.
        lag_steps: mean number of steps until they are published.
        noise_deviation: standard deviation of the noise of one cell.
        bias: what is not counted of the item, as its people have more events than their bound;
            the interval does not know of it.
    """

    count: float
    typical_error: float
    interval_half_width: float
    collisions: float
    noise: float
    lag: float
    lag_steps: float
    noise_deviation: float
    bias: float = 0.0

    @property
    def relative_error(self) -> float:
        """Half width of the interval and bias, divided by the count."""
        return (self.interval_half_width + self.bias) / self.count

    @property
    def typical_relative_error(self) -> float:
        """Typical error divided by the count."""
        return self.typical_error / self.count

    @property
    def dominant(self) -> str:
        """The largest part: ``"collisions"``, ``"noise"``, ``"lag"`` or ``"bias"``."""
        parts = {
            "collisions": self.collisions,
            "noise": self.noise,
            "lag": self.lag,
            "bias": self.bias,
        }
        return max(parts, key=lambda name: parts[name])


def predict(scores: Scores, design: Design) -> Prediction:
    """Return the predicted errors of a sketch.

    Args:
        scores: scores of the request.
        design: the sketch.

    Returns:
        The prediction; equal arguments give equal results.
    """
    request = scores.request
    typical, half = simulated(design, count=request.count, bias=request.bias)
    wait = design.wait
    return Prediction(
        count=request.count + request.bias,
        typical_error=typical,
        interval_half_width=half,
        collisions=scores.alone(design, part="collisions"),
        noise=scores.alone(design, part="noise"),
        lag=request.count * wait / request.steps,
        lag_steps=wait,
        noise_deviation=scores.deviation(design),
        bias=request.bias,
    )


def simulated(
    design: Design, *, count: float, among: int | None = None, bias: float = 0.0
) -> tuple[float, float]:
    """Return the mean absolute error and the mean half width of intervals in simulated releases.

    Args:
        design: the sketch.
        count: count of the queried items at the last step; 0 for absent ones.
        among: number of items whose intervals cover together; None for each alone.
        bias: counts that the items have in addition and that are not counted.

    Returns:
        (typical error, half width), both in counts. What waits in an open batch, which no interval
        knows, is part of both.
    """
    level = level_of(design.request.confidence, among=among)
    answers = [
        _queried(design, count, waited, level=level, seed=table)
        for table, waited in enumerate(
            waits(design.request.reads, batch=design.batch, number=_TABLES), start=1
        )
    ]
    errors = np.concatenate([np.abs(estimates - count - bias) for estimates, _ in answers])
    widths = np.concatenate([widths for _, widths in answers])
    unknown = count * design.wait / design.request.steps if design.batch > 1 else 0.0
    return float(errors.mean()), float(widths.mean()) / 2.0 + unknown


def _queried(
    design: Design, count: float, waited: int, *, level: float, seed: int
) -> tuple[Array, Array]:
    """Return estimates of items, and widths of their intervals, in one simulated release."""
    request = design.request
    generator = np.random.default_rng(seed)
    columns = min(design.width, max(_SIMULATED_CELLS // design.depth, 1))
    table = SimulatedTable.of(design, columns=columns, waited=waited, seed=seed)
    places = generator.integers(0, columns, (_ITEMS, design.depth))
    # Events of the item come at random, so the unpublished number is Poisson.
    ages = request.steps - table.published[places]
    if isinstance(design.schedule, Batch):  # the same events for all rows
        ages = ages[:, :1]
    waiting = request.mean_weight * generator.poisson(
        count / request.mean_weight * ages / request.steps
    )
    own = np.maximum(count - waiting, 0.0)
    errors = table.values[np.arange(design.depth), places]
    estimates, low, high = table.model.intervals(
        own + errors, places, level=level, deviations=deviations_of(level), now=True
    )
    return estimates, high - low
