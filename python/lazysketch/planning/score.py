"""The half width of an interval, from the law of one cell and without a table.

Ranks in the law of a cell (collisions plus noise) become ranks among the rows, as the intervals of
a release do it; the lag widens the result by what an item of the share gathers in a round. Costs a
tenth of a millisecond, once the collisions of the width are known: what a search can afford.

Source: docs/planning.md; docs/intervals.md for the intervals themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.lag import BURSTINESS
from lazysketch.planning.design import Design, Noise, round_length
from lazysketch.planning.request import Request
from lazysketch.planning.workload import Workload
from lazysketch.specification.schedules import Geometric, RoundRobin
from lazysketch.specification.sizing import SketchKind

__all__ = ["Law", "Scores", "half_width", "lag_width", "tails"]

Array = npt.NDArray[np.float64]

_CELLS: Final = 4096  # simulated for the law of a cell
_HALVINGS: Final = 60
_LEAST_RANK: Final = 2.0  # cells beyond a bound, below which the table cannot tell it
_normal: Final = NormalDist()


@dataclass(frozen=True, eq=False)
class Law:
    """The error of one cell.

    Attributes:
        collisions: of simulated cells, in counts; float64.
        deviation: standard deviation of the noise, in counts.
        cells: of the real table, in which the ranks are taken.
    """

    collisions: Array
    deviation: float
    cells: int


@lru_cache(maxsize=256)
def tails(kind: SketchKind, depth: int, side: float) -> tuple[float, float]:
    """Return the tails of one row that make a tail of the rows together.

    Args:
        kind: Count-Min (minimum) or Count Sketch (middle rows).
        depth: rows.
        side: probability of one tail of the rows together.

    Returns:
        (of errors upwards, of errors downwards) of one row.

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
        terms = (math.comb(depth, k) * row**k * (1 - row) ** (depth - k) for k in range(depth + 1))
        whole = sum(list(terms)[needed:])
        low, high = (row, high) if whole <= side else (low, row)
    return low, low


def half_width(law: Law, kind: SketchKind, depth: int, *, confidence: float) -> float:
    """Return half the width of the interval of a count at the last pushes.

    Args:
        law: of one cell.
        kind: of sketch.
        depth: rows.
        confidence: of the interval.

    Returns:
        In counts; infinite where the table has too few cells to tell.
    """
    above, below = tails(kind, depth, (1.0 - confidence) / 2.0)
    errors = law.collisions + law.deviation * _scattered(len(law.collisions))
    size, step = len(errors), 1.0 / law.cells
    most = math.ceil((1.0 - above + step) * size)
    least = math.floor((below - step) * size)
    if above < _LEAST_RANK * step:
        return math.inf
    if below < _LEAST_RANK * step or least < 0:
        if kind == "count-sketch":
            return math.inf
        # Collisions only add: downwards the noise alone tells.
        least, bottom = 0, law.deviation * _normal.inv_cdf(below)
    else:
        bottom = math.nan
    ordered = np.partition(errors, [least, min(most, size - 1)])
    low = ordered[least] if math.isnan(bottom) else bottom
    apart = _between_middle_rows(errors, depth) if kind == "count-sketch" else 0.0
    return float(ordered[min(most, size - 1)] - low + apart) / 2.0


def lag_width(half: float, request: Request, design: Design) -> float:
    """Return half the width of the interval of the count at this step.

    Args:
        half: half the width of that at the last pushes, in counts.
        request: the stream and the item.
        design: the sketch.

    Returns:
        In counts.
    """
    wait = round_length(design.schedule, design.width, request.steps) / request.steps
    deviations = _normal.inv_cdf((1.0 + request.confidence) / 2.0)

    def spread(expected: float) -> float:
        return deviations * math.sqrt(expected + (BURSTINESS * expected) ** 2)

    # Of depth columns whose ages are uniform over a round: the oldest, and the youngest.
    most = request.count * wait * design.depth / (design.depth + 1)
    least = request.count * wait / (design.depth + 1)
    return (most - least + math.hypot(half, spread(most)) + math.hypot(half, spread(least))) / 2.0


@dataclass(eq=False)
class Scores:
    """Half widths of many designs; remembers the collisions of a width and the noise of a schedule.

    Attributes:
        request: the stream, the promise and the item.
    """

    request: Request
    _collisions: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    _noise: dict[tuple[int, RoundRobin | Geometric], Noise] = field(default_factory=dict)

    def of(self, design: Design) -> float:
        """Return half the width of the interval of the item's count at the last step.

        Args:
            design: the sketch.

        Returns:
            In counts.
        """
        law = Law(self.collisions(design), self.deviation(design), design.cells)
        half = half_width(law, design.kind, design.depth, confidence=self.request.confidence)
        return lag_width(half, self.request, design)

    def alone(self, design: Design, *, part: Literal["collisions", "noise"]) -> float:
        """Return the half width that one part of the error alone would have, without lag.

        Args:
            design: the sketch.
            part: of its error.

        Returns:
            In counts.
        """
        collisions, deviation = self.collisions(design), self.deviation(design)
        if part == "collisions":
            law = Law(collisions, 0.0, design.cells)
        else:
            law = Law(0.0 * collisions, deviation, design.cells)
        return half_width(law, design.kind, design.depth, confidence=self.request.confidence)

    def collisions(self, design: Design) -> Array:
        """Return what lies in cells beside the item, in counts."""
        width = design.width
        if width not in self._collisions:
            self._collisions[width] = _simulated(self.request.workload, width)
        plain, signed = self._collisions[width]
        shares = plain if design.kind == "count-min" else signed
        return shares * self.request.total

    def deviation(self, design: Design) -> float:
        """Return the standard deviation of a cell's noise, in counts."""
        key = (design.width, design.schedule)
        if key not in self._noise:
            self._noise[key] = Noise.of(self.request, *key)
        return self._noise[key].deviation(self.request, design.kind, design.depth)

    def asked(self, request: Request) -> Scores:
        """Return the scores for another question about the same workload."""
        return Scores(request, self._collisions)


def _simulated(workload: Workload, width: int) -> tuple[Array, Array]:
    columns = min(width, _CELLS)
    plain, signed = workload.cells(width, rows=_CELLS // columns, columns=columns)
    return plain.ravel(), signed.ravel()


def _between_middle_rows(errors: Array, depth: int) -> float:
    """Return the mean distance of the two middle rows, which bound the count at even depths."""
    if depth % 2:
        return 0.0
    rows = np.sort(errors[: len(errors) // depth * depth].reshape(depth, -1), axis=0)
    return float(np.mean(rows[depth // 2] - rows[depth // 2 - 1]))


@lru_cache(maxsize=4)
def _scattered(size: int) -> Array:
    """Return the quantiles of the normal law in a fixed random order."""
    ranks = (np.arange(size) + 0.5) / size
    quantiles = np.array([_normal.inv_cdf(rank) for rank in ranks])
    return np.random.default_rng(1).permutation(quantiles)
