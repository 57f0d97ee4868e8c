"""Point estimates of counts from the cells of an item.

==================  =========================================================================
``minimum``         the paper's for Count-Min: the minimum of the item's cells; d look-ups
``median``          the paper's for Count Sketch: the median of its signed cells
``bias-corrected``  the minimum, less the mean of the minimum of d noises
``corrected``       the minimum, less the median of its error (collisions and noise)
``joint``           the mean of the joint likelihood of all rows, each weighted by the density of
                    its error (noise and collisions). For a single row of a Count-Min, where that
                    is no better than the mean, it equals ``corrected``
==================  =========================================================================

``corrected`` and ``joint`` estimate the errors from the whole table (:mod:`.error_distribution`).
``joint`` is E. Pitman's (1939) estimator: no other translation-equivariant estimator has a smaller
mean squared error if the distribution is known. docs/estimators.md compares their measured errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.error_distribution import ErrorDistribution, Strata
from lazysketch.estimation.order_statistics import (
    error_above,
    error_below,
    mean_least_noise,
    ranks,
)

__all__ = ["BEST_ESTIMATOR", "PAPER", "Estimator", "Readings", "checked_estimator", "estimates"]

Array = npt.NDArray[np.float64]
Estimator: TypeAlias = Literal["minimum", "median", "bias-corrected", "corrected", "joint"]

PAPER: Final = ("minimum", "median")  # computed by the core
BEST_ESTIMATOR: Final[Estimator] = "joint"  # by measured error: docs/estimators.md
_OF_KIND: Final[dict[str, Estimator]] = {
    "count-min": "minimum",
    "count-sketch": "median",
    "counters": "minimum",
}
_GRID: Final = 129  # counts at which a likelihood is computed
_BEYOND: Final = 5e-4  # probability of the row statistic's error beyond each end of the grid
_ITEMS_AT_ONCE: Final = 1 << 13


@dataclass(frozen=True, eq=False)
class Readings:
    """The released cells of some items.

    Attributes:
        values: times the item's sign, float64 of shape (items, depth).
        strata: stratum of every cell, int64 of shape (items, depth); -1 where unpublished.
        distributions: of the strata.
        signed: True for Count Sketch.
    """

    values: Array
    strata: npt.NDArray[np.int64]
    distributions: tuple[ErrorDistribution, ...]
    signed: bool

    @classmethod
    def of(
        cls,
        table: npt.NDArray[np.int64],
        columns: npt.NDArray[np.uint32],
        flipped: npt.NDArray[np.bool_],
        strata: Strata,
        *,
        signed: bool,
    ) -> Readings:
        """Return the readings of items whose cells are known.

        Args:
            table: released values, shape (depth, width).
            columns: of the items' cells, shape (items, depth).
            flipped: where the value counts with the opposite sign, same shape.
            strata: of the table.
            signed: True for Count Sketch.

        Returns:
            The readings.
        """
        found = table[np.arange(len(table)), columns.astype(np.int64)].astype(np.float64)
        values = np.where(flipped, -found, found)
        return cls(values, strata.of_column[columns.astype(np.int64)], strata.distributions, signed)

    def by_pattern(
        self, answer: Callable[[Array, list[ErrorDistribution]], tuple[Array, ...]], outputs: int
    ) -> tuple[Array, ...]:
        """Apply a function once per group of items whose cells lie in the same strata.

        Args:
            answer: takes values of shape (items, rows) and the distributions of these rows, and
                returns arrays of shape (items,); never called without rows.
            outputs: number of these arrays.

        Returns:
            One array per output; 0 for items without a published cell.
        """
        results = tuple(np.zeros(len(self.values)) for _ in range(outputs))
        # Rows are exchangeable, so sorting them by stratum leaves fewer patterns.
        order = np.argsort(self.strata, axis=1, kind="stable")
        strata = np.take_along_axis(self.strata, order, axis=1)
        values = np.take_along_axis(self.values, order, axis=1)
        patterns, labels = np.unique(strata, axis=0, return_inverse=True)
        labels = labels.ravel()
        for number, pattern in enumerate(patterns):
            published = pattern >= 0
            if not published.any():
                continue
            members = np.flatnonzero(labels == number)
            distributions = [self.distributions[stratum] for stratum in pattern[published]]
            answers = answer(values[np.ix_(members, published)], distributions)
            for result, part in zip(results, answers, strict=True):
                result[members] = part
        return results


def checked_estimator(estimator: object, kind: str) -> Estimator:
    """Return the name of an estimator that the kind of table supports.

    Args:
        estimator: its name, or None for the paper's.
        kind: kind of the table.

    Returns:
        The name.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: an unknown name, or an estimator of the other kind of sketch.

    Example:
        >>> checked_estimator(None, "count-sketch")
        'median'
    """
    paper = _OF_KIND[kind]
    known: dict[str, Estimator] = {
        name: name
        for name in (paper, *get_args(Estimator))
        if name == paper or name not in _OF_KIND.values()
    }
    if estimator is None:
        return paper
    wanted = "one of " + ", ".join(repr(name) for name in known)
    if not isinstance(estimator, str):
        raise ArgumentTypeError(f"estimator: expected {wanted}, got {type(estimator).__name__}")
    if estimator not in known:
        raise ArgumentValueError(f"estimator: expected {wanted} for {kind}, got {estimator[:40]!r}")
    return known[estimator]


def estimates(readings: Readings, estimator: Estimator) -> Array:
    """Return point estimates of the counts of items.

    Args:
        readings: released cells of the items.
        estimator: name of the estimator.

    Returns:
        float64 array, neither clipped nor rounded.

    Source: "CO Sketch Query" of arXiv 2507.03361 (minimum, median); Pitman 1939 (joint).
    """
    if estimator == "minimum":
        return _minimum(readings.values)
    if estimator == "median" or (readings.signed and estimator != "joint"):
        return np.median(readings.values, axis=1)  # symmetric errors need no correction
    if estimator == "bias-corrected":
        answer = _bias_corrected
    elif estimator == "corrected":
        answer = _corrected
    else:
        answer = partial(_joint, signed=readings.signed)
    (result,) = readings.by_pattern(
        lambda values, distributions: (answer(values, distributions),), outputs=1
    )
    return result


def _minimum(values: Array) -> Array:
    minimum: Array = values.min(axis=1)
    return minimum


def _bias_corrected(values: Array, distributions: list[ErrorDistribution]) -> Array:
    return _minimum(values) - mean_least_noise(
        [distribution.noise_deviation for distribution in distributions]
    )


def _corrected(values: Array, distributions: list[ErrorDistribution]) -> Array:
    return _minimum(values) - error_above(distributions, 0, 0.5)


def _joint(values: Array, distributions: list[ErrorDistribution], *, signed: bool) -> Array:
    if values.shape[1] == 1 and not signed:
        # A single row cannot distinguish a collision with a heavy item from a count: the mean
        # collision would be subtracted from every count.
        return _corrected(values, distributions)
    low, high = ranks(values.shape[1], signed=signed)
    ordered = np.sort(values, axis=1)
    least = ordered[:, low] - _finite(error_above(distributions, low, _BEYOND), distributions)
    most = ordered[:, high] - _finite(error_below(distributions, high, _BEYOND), distributions)
    parts = [slice(at, at + _ITEMS_AT_ONCE) for at in range(0, len(values), _ITEMS_AT_ONCE)]
    means = [_likelihood_mean(values[p], distributions, least[p], most[p]) for p in parts]
    return np.concatenate(means)


def _likelihood_mean(
    values: Array, distributions: Sequence[ErrorDistribution], least: Array, most: Array
) -> Array:
    """Return the mean count under the product of the rows' likelihoods."""
    counts = np.linspace(least, most, _GRID, axis=1)
    likelihood = np.zeros(counts.shape)
    for row, distribution in enumerate(distributions):
        likelihood += distribution.log_density(values[:, row, None] - counts)
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    mean: Array = (likelihood * counts).sum(axis=1) / likelihood.sum(axis=1)
    return mean


def _finite(threshold: float, distributions: Sequence[ErrorDistribution]) -> float:
    """Return a threshold, or the largest error in the samples if the threshold is infinite."""
    if np.isfinite(threshold):
        return threshold
    ends = [
        distribution.sample[-1 if threshold > 0 else 0]
        for distribution in distributions
        if len(distribution.sample)
    ]
    return float(max(ends) if threshold > 0 else min(ends))
