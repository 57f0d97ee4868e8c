"""Quantiles of a sum of independent symmetric errors: noise, and what collides by chance.

The characteristic function of such a sum is real, a product of one factor per error. Its inverse,
by a midpoint rule, is exact up to the probability beyond the period of the rule.

Source: J. Gil-Pelaez, "Note on the inversion theorem", 1951; R. B. Davies 1973 (the midpoint rule).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["SampledErrors", "SymmetricError", "half_width_of_sum"]

Array = npt.NDArray[np.float64]

_LARGEST: Final = 24  # values kept one by one; the others in as many groups
_GROUPS: Final = 40
_DECAYED: Final = 7.5  # standard deviations at which a normal factor is below 1e-12
_BLUR: Final = 0.05  # of the deviation of the sum: a normal error that widens it by 0.13 %
_REACH: Final = 12.0  # deviations that a period holds at least
_MOST_POINTS: Final = 8_192
_HALVINGS: Final = 60


@dataclass(frozen=True, eq=False)
class SymmetricError:
    """An error that has one of some absolute values, each with its share, and a random sign.

    Args:
        values: absolute values.
        shares: their probabilities, adding up to 1.
    """

    values: Array
    shares: Array

    @property
    def variance(self) -> float:
        """The mean square."""
        return float(self.shares @ np.square(self.values))


@dataclass(frozen=True, eq=False)
class SampledErrors:
    """A row of cells, of which each in turn is left out, and the others are a sample of its error.

    The largest cells are kept as they are, the others in groups by their mean square.

    Args:
        ends: the largest square of each group, increasing.
        sums: the sum of its squares.
        sizes: how many cells it has.
    """

    ends: Array
    sums: Array
    sizes: Array

    @classmethod
    def of(cls, cells: Array) -> SampledErrors:
        """Return the summary of a row.

        Args:
            cells: their values, at least two.
        """
        squares = np.sort(np.square(cells.astype(np.float64)))
        alone = np.arange(max(len(squares) - _LARGEST, 0), len(squares))
        grouped = np.linspace(0, alone[0], min(_GROUPS, int(alone[0])) + 1).astype(np.int64)
        begins = np.concatenate([grouped[:-1], alone])
        sizes = np.diff(begins, append=len(squares))
        return cls(
            squares[begins + sizes - 1],
            np.add.reduceat(squares, begins),
            sizes.astype(np.float64),
        )

    def without(self, value: float) -> SymmetricError:
        """Return an error like any other cell than one.

        Args:
            value: that of the cell.
        """
        # As the squares of all cells: a power may be rounded to the next number.
        square = float(value) * float(value)
        group = int(np.searchsorted(self.ends, square))
        sums, sizes = self.sums.copy(), self.sizes.copy()
        sums[group] -= square
        sizes[group] -= 1.0
        kept = sizes > 0.0
        means = np.maximum(sums[kept], 0.0) / sizes[kept]
        return SymmetricError(np.sqrt(means), sizes[kept] / float(sizes.sum()))


def half_width_of_sum(
    errors: Sequence[tuple[float, SymmetricError]], *, normal_variance: float, miss: float
) -> float:
    """Return a bound on the absolute value of a sum that is exceeded with a given probability.

    Args:
        errors: independent errors, each with the factor that it has in the sum.
        normal_variance: of a normal error, independent of them.
        miss: the probability, above 0 and below 1.

    Returns:
        The bound, rounded up by at most a thousandth of the standard deviation.
    """
    parts = [(abs(factor), error) for factor, error in errors if factor and error.variance]
    deviation = math.sqrt(
        normal_variance + sum(factor**2 * error.variance for factor, error in parts)
    )
    hard = sum(factor * float(error.values.max()) for factor, error in parts)
    normal = max(math.sqrt(normal_variance), _BLUR * deviation)
    hard += 9.0 * normal
    most = min(hard, deviation / math.sqrt(miss))  # Chebyshev
    period = most + min(hard, max(most, _REACH * deviation))
    # A wider normal error needs fewer points, and only adds.
    blur = max(normal, _DECAYED * period / (2.0 * math.pi * _MOST_POINTS))
    step = 2.0 * math.pi / period
    points = step * (np.arange(math.ceil(_DECAYED / blur / step)) + 0.5)
    factors = np.exp(-0.5 * np.square(points * blur))
    for factor, error in parts:
        factors *= _mean_cosines(len(points), step * factor * error.values, error.shares)
    heights = 2.0 * factors / (math.pi * (np.arange(len(points)) + 0.5))

    low, high = 0.0, most
    for _ in range(_HALVINGS):
        if high - low <= 1e-3 * deviation:
            break
        middle = 0.5 * (low + high)
        within = float(heights @ np.sin(points * middle))
        low, high = (low, middle) if within >= 1.0 - miss else (middle, high)
    return high


def _mean_cosines(points: int, angles: Array, shares: Array) -> Array:
    """Return the mean of cos((k + 1/2) angle) over the angles, by their shares, for k = 0, 1, ...

    k is i m + j, and the cosine of a sum is a product of matrices: few cosines.
    """
    m = math.isqrt(points - 1) + 1
    coarse = np.outer(m * np.arange(math.ceil(points / m)), angles)
    fine = np.outer(angles, np.arange(m) + 0.5)
    grid = (np.cos(coarse) * shares) @ np.cos(fine) - (np.sin(coarse) * shares) @ np.sin(fine)
    found: Array = grid.ravel()[:points]
    return found
