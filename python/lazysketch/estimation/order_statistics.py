"""Error of a row statistic (minimum or middle rows) from the error distributions of the rows.

The rows of a sketch have independent hash functions and independent noise, so the number of rows
whose error exceeds a threshold is a sum of independent events, which gives the error of any order
statistic. Costs one bisection per threshold: some milliseconds.

Count-Min uses the minimum. Count Sketch uses the middle row; at even depths the lower of the two
middle rows bounds the count from below and the upper one from above. That keeps both tails exact,
where the mean of the two rows has no closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.error_distribution import ErrorDistribution

__all__ = ["error_above", "error_below", "mean_least_noise", "ranks"]

Array = npt.NDArray[np.float64]
Tail = Callable[[float], float]

_HALVINGS: Final = 64
_NOISE_POINTS: Final = 801


def ranks(depth: int, *, signed: bool) -> tuple[int, int]:
    """Return the ranks of the rows that bound a count from below and from above.

    Args:
        depth: number of published rows.
        signed: True for Count Sketch.

    Returns:
        (rank for the lower end, rank for the upper end); 0 is the smallest row.

    Example:
        >>> ranks(4, signed=False), ranks(5, signed=True), ranks(4, signed=True)
        ((0, 0), (2, 2), (1, 2))
    """
    return ((depth - 1) // 2, depth // 2) if signed else (0, 0)


def error_above(distributions: Sequence[ErrorDistribution], rank: int, probability: float) -> float:
    """Return a threshold that the error of a row statistic reaches with at most a probability.

    Guarantee: P(error >= result) <= probability under the distributions.

    Args:
        distributions: of the rows.
        rank: of the statistic among the rows' values, 0 for the minimum.
        probability: above 0 and below 1.

    Returns:
        The smallest such threshold up to rounding; infinity if the samples are too small.
    """
    # The rank-th smallest is at least q iff at most `rank` rows are below q.
    needed = len(distributions) - rank
    return _threshold([each.at_least for each in distributions], distributions, needed, probability)


def error_below(distributions: Sequence[ErrorDistribution], rank: int, probability: float) -> float:
    """Return a threshold that the error of a row statistic falls to with at most a probability.

    Guarantee: P(error <= result) <= probability under the distributions.

    Args:
        distributions: of the rows.
        rank: of the statistic among the rows' values, 0 for the minimum.
        probability: above 0 and below 1.

    Returns:
        The largest such threshold up to rounding; minus infinity if the samples are too small.
    """
    tails: list[Tail] = [_mirrored(each) for each in distributions]
    return -_threshold(tails, distributions, rank + 1, probability)


def mean_least_noise(deviations: Sequence[float]) -> float:
    """Return the mean of the minimum of independent centred normal variables.

    It is about -0.85 sigma for three of them.

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
    # E X is the integral of P(X > x) over x > 0 minus that of P(X <= x) over x < 0.
    step = points[1] - points[0]
    return float((np.sum(survival) - 0.5) * step + points[0])


def _mirrored(distribution: ErrorDistribution) -> Tail:
    return lambda threshold: distribution.at_most(-threshold)


def _threshold(
    tails: Sequence[Tail],
    distributions: Sequence[ErrorDistribution],
    needed: int,
    probability: float,
) -> float:
    """Bisect for the smallest q that `needed` rows reach with at most the probability."""

    def passes(q: float) -> bool:
        return _at_least(needed, [tail(q) for tail in tails]) <= probability

    reach = sum(each.root_mean_square for each in distributions) / math.sqrt(probability) + 1.0
    samples = [each.sample for each in distributions if len(each.sample)]
    reach += max((float(np.abs(sample[[0, -1]]).max()) for sample in samples), default=0.0)
    low, high = -reach, reach
    if not passes(high):
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _at_least(needed: int, probabilities: Sequence[float]) -> float:
    """Return the probability that at least `needed` of independent events happen."""
    counts = [1.0] + [0.0] * len(probabilities)  # counts[k]: P(exactly k of the events so far)
    for seen, p in enumerate(probabilities, start=1):
        for happened in range(seen, 0, -1):
            counts[happened] = counts[happened] * (1.0 - p) + counts[happened - 1] * p
        counts[0] *= 1.0 - p
    return math.fsum(counts[needed:])
