"""Second moments and inner products of Count Sketch tables, with intervals.

The sum of squares of a row minus the variance of the noise is an unbiased estimate of F2, the sum
of squared counts of all items. The sum of products of two rows with the same hash seed estimates
the inner product of the two count vectors. The mean over rows has 1 / depth of the variance of a
row, which is known up to F2 itself. Costs one pass over the table.

Source: N. Alon, Y. Matias, M. Szegedy 1999; M. Charikar, K. Chen, M. Farach-Colton 2002; variance
with noise in docs/intervals.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Moment", "inner_product", "second_moment"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moment:
    """An estimated second moment or inner product, in squared counts, with an interval.

    Guarantee: the interval covers the value at the last pushes of the columns with approximately
    the confidence, over hash seeds and noise; it is wider than needed if few items dominate.

    Attributes:
        estimate: unbiased; an inner product or a small second moment may be negative.
        low: lower end; at least 0 for a second moment.
        high: upper end; infinite for tables with few columns.
        confidence: probability with which the interval covers.
    """

    estimate: float
    low: float
    high: float
    confidence: float


def second_moment(table: npt.NDArray[np.int64], noise: Array, *, confidence: float) -> Moment:
    """Return F2 of a Count Sketch table.

    Args:
        table: released values, shape (depth, width).
        noise: variance of every column, shape (width,).
        confidence: above 0 and below 1.

    Returns:
        Estimate and interval.
    """
    depth, width = table.shape
    values = table.astype(np.float64)
    estimate = float((values**2).sum(axis=1).mean() - noise.sum())
    from statistics import NormalDist  # late: it loads random and hashlib

    deviations2 = NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2 / depth
    # Variance of a row if F2 = F: 2 F^2 / w (collisions) + 4 F s^2 (count times noise) + 2 w s^4.
    quadratic = 1.0 - deviations2 * 2.0 / width
    linear = 2.0 * estimate + deviations2 * 4.0 * float(noise.mean())
    constant = estimate**2 - deviations2 * 2.0 * float((noise**2).sum())
    if quadratic <= 0.0:
        return Moment(estimate, 0.0, math.inf, confidence)
    root = math.sqrt(max(linear**2 - 4.0 * quadratic * constant, 0.0))
    low, high = (linear - root) / (2.0 * quadratic), (linear + root) / (2.0 * quadratic)
    return Moment(estimate, max(low, 0.0), max(high, 0.0), confidence)


def inner_product(
    tables: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    noises: tuple[Array, Array],
    *,
    confidence: float,
) -> Moment:
    """Return the inner product of two Count Sketch tables with one hash seed and separate noise.

    Args:
        tables: released values, each of shape (depth, width).
        noises: variances of their columns, each of shape (width,).
        confidence: above 0 and below 1.

    Returns:
        Estimate and interval.
    """
    depth, width = tables[0].shape
    first, second = (table.astype(np.float64) for table in tables)
    estimate = float((first * second).sum(axis=1).mean())
    # Half of the failure probability for the product, a quarter for each second moment.
    failure = (1.0 - confidence) / 2.0
    most = [
        second_moment(table, noise, confidence=1.0 - failure).high
        for table, noise in zip(tables, noises, strict=True)
    ]
    variance = (most[0] * most[1] + min(most[0] * most[1], estimate**2)) / width
    variance += most[0] * float(noises[1].mean()) + most[1] * float(noises[0].mean())
    variance += float((noises[0] * noises[1]).sum())
    from statistics import NormalDist  # late: it loads random and hashlib

    reach = NormalDist().inv_cdf(1.0 - failure / 2.0) * math.sqrt(variance / depth)
    return Moment(estimate, estimate - reach, estimate + reach, confidence)
