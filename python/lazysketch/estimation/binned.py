"""Quantiles, shares and counts of ranges from noisy sums over bins of values.

Node sums of a tree over bins give prefixes with noise of known variances and covariances. Estimates
come from prefixes that rise (isotonic regression); intervals from the prefixes as they are, so that
their ends are those of normal variables. Between edges nothing is published: there an interval
covers every possibility, and an estimate interpolates.

Sources: docs/theory.md, "Values"; R. E. Barlow and others, "Statistical Inference under Order
Restrictions", 1972 (isotonic regression); E. C. Fieller 1954 (ratios).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.error_model import deviations_of
from lazysketch.specification.value_tree import ValueTree

__all__ = ["BinnedCounts", "rising"]

Array = npt.NDArray[np.float64]
Ends = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class BinnedCounts:
    """Released node sums of a tree over bins, and what they say of the values in the bins.

    Every method returns an estimate and both ends of an interval; each end misses with a
    probability of at most ``level``, up to the normal approximation of sums of rounded noise.

    Args:
        edges: of the bins, rising.
        tree: over the bins, with room for one more than there are edges.
        sums: released node sums, int64 of shape (bins of the tree,).
        variance: of the noise of a node sum, in squared counts.
        most: no count is larger; infinite if unknown.
        pending: number of values that may not be in the sums yet, in any bins.
    """

    edges: tuple[float, ...]
    tree: ValueTree
    sums: npt.NDArray[np.int64]
    variance: float
    most: float = math.inf
    pending: float = 0.0

    def total(self, *, level: float) -> Ends:
        """Return the number of values."""
        return self._range(0, self.tree.bins, level)

    def between(self, low: float, high: float, *, level: float) -> Ends:
        """Return the number of values from ``low`` up to below ``high``."""
        inner = self._prefix_from(low), self._prefix_to(high)
        outer = self._prefix_to(low), self._prefix_from(high)
        least = self._range(*inner, level)[1] if inner[0] < inner[1] else 0.0
        most = self._range(*outer, level)[2]
        estimate = max(self._below(high) - self._below(low), 0.0)
        return min(max(estimate, least), most), least, most

    def share_below(self, value: float, *, level: float) -> Ends:
        """Return the share of values below a value."""
        total = float(self._rising[-1])
        estimate = min(self._below(value) / total, 1.0) if total > 0.0 else math.nan
        if self.pending:
            return estimate, 0.0, 1.0
        low = self._share(self._prefix_to(value), level)[0]
        high = self._share(self._prefix_from(value), level)[1]
        return _within(estimate, low, high), low, high

    def quantile(self, share: float, *, level: float) -> Ends:
        """Return the smallest value that at least a share of the values do not exceed."""
        at = self._bin_of(share)
        possible = np.flatnonzero(self._may_hold(share, deviations_of(level)))
        first, last = (possible[0], possible[-1]) if len(possible) else (at, at)
        if self.pending:
            first, last = 0, len(self.edges)
        low, high = self._edge(int(first) - 1), self._edge(int(last))
        if not self._rising[-1] > 0.0:
            return math.nan, low, high
        return _within(self._interpolated(share, at), low, high), low, high

    def bins(self, *, level: float) -> tuple[Array, Array, Array]:
        """Return the numbers of values in all bins, float64 of shape (bins,) each."""
        ends = np.arange(len(self.edges) + 2)
        found = np.diff(np.append(self._prefixes[:-1][: len(ends) - 1], self._prefixes[-1]))
        ends[-1] = self.tree.bins
        half = deviations_of(level) * self._deviations(ends[:-1], ends[1:])
        estimate = np.diff(self._rising)
        low = np.clip(np.minimum(found - half, estimate), 0.0, self.most)
        high = np.maximum(np.maximum(found + half, estimate), 0.0) + self.pending
        high = np.minimum(high, self.most)
        return estimate, low, high

    @cached_property
    def _prefixes(self) -> Array:
        """Counts of the first 0, 1, .. bins; the last one is of all of the tree."""
        return np.concatenate(([0.0], self.tree.prefixes(self.sums)))

    @cached_property
    def _rising(self) -> Array:
        """Counts below every edge, between 0 and the total, at both ends, shape (edges + 2,)."""
        ends = np.arange(1, len(self.edges) + 2)
        ends[-1] = self.tree.bins
        variances = self.tree.variances(np.zeros_like(ends), ends)
        fitted = rising(self._prefixes[ends], 1.0 / variances)
        return np.concatenate(([0.0], np.clip(fitted, 0.0, self.most)))

    @cached_property
    def _of_edges(self) -> tuple[Array, Array, Array]:
        """Counts below every edge, their variances, and their covariances with the total."""
        below = np.arange(1, len(self.edges) + 1)
        zero, all_bins = np.zeros_like(below), np.full_like(below, self.tree.bins)
        variances = self.variance * self.tree.variances(zero, below)
        rest = self.variance * self.tree.variances(below, all_bins)
        return self._prefixes[below], variances, (variances + self._variance_of_all - rest) / 2.0

    @cached_property
    def _variance_of_all(self) -> float:
        return float(self._deviations(np.array([0]), np.array([self.tree.bins]))[0]) ** 2

    def _deviations(
        self, lows: npt.NDArray[np.int64], highs: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        return np.sqrt(self.variance * self.tree.variances(lows, highs))

    def _range(self, first: int, end: int, level: float) -> Ends:
        """Return the count of the bins from one up to another, which is not included."""
        found = float(self._prefixes[end] - self._prefixes[first])
        half = deviations_of(level) * float(self._deviations(np.array([first]), np.array([end]))[0])
        low, high = (min(max(each, 0.0), self.most) for each in (found - half, found + half))
        if first < end:
            high = min(high + self.pending, self.most)
        return min(max(found, low), high), low, high

    def _prefix_from(self, value: float) -> int:
        """Return how many bins there are up to the first edge at or above a value; else all."""
        place = bisect_left(self.edges, value)
        return place + 1 if place < len(self.edges) else self.tree.bins

    def _prefix_to(self, value: float) -> int:
        """Return how many bins there are up to the last edge at or below a value; else none."""
        place = bisect_right(self.edges, value)
        return place if not math.isinf(value) or value < 0.0 else self.tree.bins

    def _below(self, value: float) -> float:
        """Return the estimated count below a value, by interpolation between edges."""
        if value == math.inf:
            return float(self._rising[-1])
        place = bisect_right(self.edges, value)
        if place == 0:
            return 0.0  # the first bin is open: nothing tells where its values lie
        if place == len(self.edges):
            return float(self._rising[place])
        low, high = self.edges[place - 1], self.edges[place]
        share = (value - low) / (high - low)
        below, above = self._rising[place], self._rising[place + 1]
        return float(below + share * (above - below))

    def _share(self, prefix: int, level: float) -> tuple[float, float]:
        """Return the shares c for which prefix - c total may be 0, by Fieller's theorem."""
        if prefix == 0:
            return 0.0, 0.0
        if prefix == self.tree.bins:
            return 1.0, 1.0
        counts, variances, covariances = self._of_edges
        count, variance, covariance = (
            float(each[prefix - 1]) for each in (counts, variances, covariances)
        )
        total, square = float(self._prefixes[-1]), deviations_of(level) ** 2
        # (count - c total)^2 <= square * variance of it, a quadratic inequality in c.
        leading = total * total - square * self._variance_of_all
        middle = count * total - square * covariance
        last = count * count - square * variance
        root = middle * middle - leading * last
        if total <= 0.0 or leading <= 0.0 or root < 0.0:
            return 0.0, 1.0
        ends = sorted((middle + sign * math.sqrt(root)) / leading for sign in (-1.0, 1.0))
        return min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0)

    def _may_hold(self, share: float, deviations: float) -> npt.NDArray[np.bool_]:
        """Return which bins may hold a quantile: no test at their edges rejects it, (bins,)."""
        counts, variances, covariances = self._of_edges
        excess = counts - share * float(self._prefixes[-1])
        variance = variances - 2.0 * share * covariances + share * share * self._variance_of_all
        bound = deviations * np.sqrt(np.maximum(variance, 0.0))
        kept = np.ones(len(self.edges) + 1, dtype=np.bool_)
        kept[1:] &= excess <= bound  # the count below the lower edge may be too small
        kept[:-1] &= excess >= -bound  # that below the upper edge may be large enough
        return kept

    def _bin_of(self, share: float) -> int:
        """Return the first bin with which the estimated counts reach a share."""
        wanted = share * float(self._rising[-1])
        reached = np.flatnonzero(self._rising[1:] >= wanted)
        return int(reached[0]) if len(reached) else len(self.edges)

    def _interpolated(self, share: float, at: int) -> float:
        if at == 0:
            return self.edges[0]
        if at == len(self.edges):
            return self.edges[-1]
        below, above = float(self._rising[at]), float(self._rising[at + 1])
        wanted = share * float(self._rising[-1])
        part = (wanted - below) / (above - below) if above > below else 0.0
        low, high = self.edges[at - 1], self.edges[at]
        return low + min(max(part, 0.0), 1.0) * (high - low)

    def _edge(self, place: int) -> float:
        if place < 0:
            return -math.inf
        return self.edges[place] if place < len(self.edges) else math.inf


def rising(values: Array, weights: Array) -> Array:
    """Return the numbers that do not fall and are nearest to some values (isotonic regression).

    Args:
        values: float64 of shape (n,).
        weights: of the squared distances, above 0, of the same shape.

    Returns:
        float64 of shape (n,).

    Source: Barlow and others 1972, by pooling adjacent violators.

    Example:
        >>> rising(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4))
        array([1. , 2.5, 2.5, 4. ])
    """
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, size = value, weight, 1
        while means and means[-1] >= mean:
            pooled = masses[-1] + mass
            mean = (means.pop() * masses.pop() + mean * mass) / pooled
            mass, size = pooled, size + sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    return np.repeat(np.array(means), sizes)


def _within(value: float, low: float, high: float) -> float:
    return value if math.isnan(value) else min(max(value, low), high)
