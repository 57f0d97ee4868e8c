"""Number of distinct items, from how many bits of each sampling level are set.

An item sets one bit of one level. The number of set bits of a level is that of occupied boxes when
balls are thrown into them; the levels share the balls. The estimate is the root of the likelihood's
score in its normal approximation, and an interval holds the numbers that the score does not reject.

Sources: docs/theory.md, "Distinct items"; N. L. Johnson and S. Kotz, "Urn Models", 1977
(occupancy); K.-Y. Whang, B. Vander-Zanden and H. Taylor, 1990 (linear counting).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Occupancy", "sampling_shares"]

_BISECTIONS = 200


def sampling_shares(levels: int) -> tuple[float, ...]:
    """Return the share of all items that each level samples; they add up to 1.

    Args:
        levels: number of levels, 1 or more.

    Returns:
        3/4, 3/16, ... and what is left.

    Example:
        >>> sampling_shares(3)
        (0.75, 0.1875, 0.0625)
    """
    shares = [0.75 * 0.25**level for level in range(levels - 1)]
    return (*shares, 0.25 ** (levels - 1))


@dataclass(frozen=True)
class Occupancy:
    """Noisy numbers of set bits of all levels, and what is known of them.

    Args:
        counts: set bits of each level, with noise.
        variances: variance of the noise of each level, in squared bits, above 0.
        bits: bits of a level.
    """

    counts: Sequence[float]
    variances: Sequence[float]
    bits: int

    @property
    def largest(self) -> float:
        """The largest number of items that the last level can tell from more."""
        share = sampling_shares(len(self.counts))[-1]
        return self.bits / share * (math.log(self.bits) + 5.0)

    def estimate(self) -> float:
        """Return the number of distinct items, at least 0."""
        if self._score(0.0) <= 0.0:
            return 0.0
        return _root(self._score, 0.0, self.largest)

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Return the smallest and the largest number of items that the counts do not reject.

        Guarantee: for items that do not depend on the hash seed, the interval covers their number
        with about the given probability, in the normal approximation of noise and occupancy.

        Args:
            confidence: above 0 and below 1.

        Returns:
            The ends; the upper one is infinite if the last level is full.
        """
        deviations = NormalDist().inv_cdf(0.5 + confidence / 2.0)
        centre = self.estimate()
        low, high = 0.0, math.inf
        if self._score(0.0) > deviations:
            low = _root(lambda items: self._score(items) - deviations, 0.0, centre)
        if self._score(self.largest) < -deviations:
            high = _root(lambda items: self._score(items) + deviations, centre, self.largest)
        return low, high

    def standard_error(self, items: float) -> float:
        """Return the standard deviation of the estimate if there are this many items.

        Args:
            items: 0 or more.

        Returns:
            In items; infinite if all levels are full.
        """
        information, _ = self._sums(items)
        return math.sqrt((1.0 - items * information) / information) if information else math.inf

    def _score(self, items: float) -> float:
        """Return the score in its standard deviations: positive for too few items."""
        information, score = self._sums(items)
        if information <= 0.0:
            return -math.inf
        # The levels share the items: what one level has, the others have not.
        variance = information * max(1.0 - items * information, 1e-12)
        return score / math.sqrt(variance)

    def _sums(self, items: float) -> tuple[float, float]:
        """Return g' D^-1 g and g' D^-1 (counts - means), g the derivatives of the means.

        The covariance of the levels is D - items * g g', D diagonal: so its inverse times g is a
        multiple of D^-1 g.
        """
        information = score = 0.0
        shares = sampling_shares(len(self.counts))
        for share, count, noise in zip(shares, self.counts, self.variances, strict=True):
            rate = -math.log1p(-share / self.bits)
            free = math.exp(-items * rate)
            slope = self.bits * rate * free
            variance = self.bits * free * -math.expm1(-items * rate) + noise
            mean = self.bits * -math.expm1(-items * rate)
            information += slope * slope / variance
            score += slope * (count - mean) / variance
        return information, score


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls from positive to negative values crosses zero."""
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if function(middle) > 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
