"""The error of a row statistic (minimum, or the rows around the median) from the laws of its rows.

The rows of a sketch have independent hash functions and independent noise, so the number of rows
whose error passes a threshold is a sum of independent events, and the error of any order
statistic follows exactly. Costs one bisection per question: some milliseconds.

Count-Min uses the minimum. Count Sketch uses the middle row; at even depths the lower of the two
middle rows bounds the count from below and the upper one from above, which keeps both tails exact
where the mean of the two has no closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.error_distribution import ErrorLaw

__all__ = ["error_above", "error_below", "mean_least_noise", "ranks"]

Array = npt.NDArray[np.float64]
Tail = Callable[[float], float]

_HALVINGS: Final = 64
_NOISE_POINTS: Final = 801


def ranks(depth: int, *, signed: bool) -> tuple[int, int]:
    """Return which rows, counted from the smallest at 0, bound a count from below and above.

    Args:
        depth: rows that have been published.
        signed: True for Count Sketch.

    Returns:
        (rank for the lower end, rank for the upper end).

    Example:
        >>> ranks(4, signed=False), ranks(5, signed=True), ranks(4, signed=True)
        ((0, 0), (2, 2), (1, 2))
    """
    return ((depth - 1) // 2, depth // 2) if signed else (0, 0)


def error_above(laws: Sequence[ErrorLaw], rank: int, probability: float) -> float:
    """Return a threshold that the error of a row statistic reaches with at most a probability.

    Guarantee: P(error >= result) <= probability under the laws.

    Args:
        laws: of the rows.
        rank: of the statistic among the rows' values, 0 for the minimum.
        probability: above 0 and below 1.

    Returns:
        The smallest such threshold up to a rounding, or infinity if the laws cannot tell.
    """
    # The rank-th smallest is at least q iff at most `rank` rows are below q.
    needed = len(laws) - rank
    return _threshold([law.at_least for law in laws], laws, needed, probability)


def error_below(laws: Sequence[ErrorLaw], rank: int, probability: float) -> float:
    """Return a threshold that the error of a row statistic falls to with at most a probability.

    Guarantee: P(error <= result) <= probability under the laws.

    Args:
        laws: of the rows.
        rank: of the statistic among the rows' values, 0 for the minimum.
        probability: above 0 and below 1.

    Returns:
        The largest such threshold up to a rounding, or minus infinity if the laws cannot tell.
    """
    tails: list[Tail] = [_mirrored(law) for law in laws]
    return -_threshold(tails, laws, rank + 1, probability)


def mean_least_noise(deviations: Sequence[float]) -> float:
    """Return the mean of the minimum of independent normal variables; about -0.85 sigma for three.

    Args:
        deviations: their standard deviations.

    Returns:
        The bias of the minimum of noisy rows, at most 0.

    Example:
        >>> round(mean_least_noise([1.0, 1.0, 1.0]), 3)
        -0.846
    """
    largest = max(deviations)
    if largest == 0.0:
        return 0.0
    points = np.linspace(-8 * largest, 8 * largest, _NOISE_POINTS)
    survival = np.ones(_NOISE_POINTS)
    for deviation in deviations:
        scale = max(deviation, 1e-12 * largest) * math.sqrt(2)
        survival *= [math.erfc(x / scale) / 2 for x in points]
    # E X = -infinity .. 0 of -P(X <= x), plus 0 .. infinity of P(X > x).
    step = points[1] - points[0]
    return float((np.sum(survival) - 0.5) * step + points[0])


def _mirrored(law: ErrorLaw) -> Tail:
    return lambda threshold: law.at_most(-threshold)


def _threshold(
    tails: Sequence[Tail], laws: Sequence[ErrorLaw], needed: int, probability: float
) -> float:
    """Bisect for the smallest q at which `needed` rows pass with at most the probability."""

    def passes(q: float) -> bool:
        return _at_least(needed, [tail(q) for tail in tails]) <= probability

    reach = sum(law.root_mean_square for law in laws) / math.sqrt(probability) + 1.0
    reach += max(
        (float(np.abs(law.sample[[0, -1]]).max()) for law in laws if len(law.sample)), default=0.0
    )
    low, high = -reach, reach
    if not passes(high):
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _at_least(needed: int, probabilities: Sequence[float]) -> float:
    """Return P(at least `needed` of independent events happen)."""
    counts = [1.0] + [0.0] * len(probabilities)  # P(exactly so many of those seen)
    for seen, p in enumerate(probabilities, start=1):
        for happened in range(seen, 0, -1):
            counts[happened] = counts[happened] * (1.0 - p) + counts[happened - 1] * p
        counts[0] *= 1.0 - p
    return math.fsum(counts[needed:])
