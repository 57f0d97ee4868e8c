"""The claimed noise of a sketch, computed without the library's own calibration.

sigma = multiplier(epsilon, delta, depth) x sqrt(squared sensitivity of the table x that of the
mechanism) x max_weight x max_events_per_user, each factor from its definition. A draw is a
normal rounded to an integer; its variance is sigma^2 + 1/12 (Sheppard; the error is below
exp(-2 pi^2 sigma^2) / 2).

Source: docs/guarantees.md; docs/theory.md, Theorem 15; Balle and Wang 2018, Theorem 8; Dong, Roth
and Su 2022 (mu).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.p_values import normal_distribution_function
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.privacy.person_bound import PersonBound

__all__ = [
    "ClaimedNoise",
    "adaptive_bounds",
    "adaptive_delta",
    "epsilon_of",
    "gaussian_delta",
    "multiplier",
    "table_sensitivity2",
]

# rho^2 of Theorem 15: every value proves a bound.
_SMOOTHING = tuple(step / 80 for step in range(4, 81))
_RATES = np.logspace(-3.5, 2, 111)
_MOST_MU = 1e3  # more proves nothing


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the delta of a mu-GDP mechanism at an epsilon.

    Args:
        epsilon: privacy parameter.
        mu: distance of the two normals, in deviations.

    Returns:
        Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    """
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return (
        math.erfc(-near / math.sqrt(2)) / 2 - math.exp(epsilon) * math.erfc(-far / math.sqrt(2)) / 2
    )


def adaptive_bounds(tables: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Return bounds for an event that is chosen from releases: Theorem 15, for many smoothings.

    Each table has a smoothing of its own, the one with the least factor where mu^2 has a price; one
    bound per price.

    Args:
        tables: mu and depth of each table.

    Returns:
        Pairs (mu, factor): delta is at most factor times that of a mu-GDP mechanism.
    """
    smoothing = np.array(_SMOOTHING)
    grown = np.array([_theta(value) for value in _SMOOTHING])
    rates = _RATES * math.fsum(mu * mu for mu, _ in tables)  # of mu^2 against the factor
    squared, logarithm = np.zeros(_RATES.size), np.zeros(_RATES.size)
    for (mu, depth), count in Counter(tables).items():
        left = np.maximum(1 / mu**2 - smoothing / depth, 1e-300)
        shrunk = max(1 - _theta(depth / mu**2), 1e-300)
        factor = depth * np.log((1 + grown) / shrunk)
        best = np.argmin(1 / (rates[:, None] * left) + factor, axis=1)
        squared += count / left[best]
        logarithm += count * factor[best]
    with np.errstate(over="ignore"):
        pairs = np.stack([np.sqrt(squared), np.exp(logarithm)], axis=1)
    return [(float(mu), float(factor)) for mu, factor in np.unique(pairs, axis=0) if mu < _MOST_MU]


def _theta(variance: float) -> float:
    """Return the sum of e^(-2 pi^2 variance j^2) over all integers j except 0."""
    return 2 * sum(math.exp(-2 * (math.pi * j) ** 2 * variance) for j in range(1, 8))


def adaptive_delta(epsilon: float, mu: float, depth: int) -> float:
    """Return the delta that Theorem 15 proves for a table.

    Args:
        epsilon: privacy parameter.
        mu: l2_sensitivity / sigma.
        depth: rows of the table.

    Returns:
        The least over many smoothings, at most 1.
    """
    bounds = adaptive_bounds([(mu, depth)])
    return min([1.0, *(factor * gaussian_delta(epsilon, of) for of, factor in bounds)])


@cache
def multiplier(epsilon: float, delta: float, depth: int) -> float:
    """Return the smallest noise multiplier at which a table is (epsilon, delta)-private.

    The event may be chosen from releases.

    Args:
        epsilon: privacy parameter.
        delta: privacy parameter; above 1e-12, where the difference of two terms is accurate.
        depth: rows of the table.

    Returns:
        Found by bisection.

    Example:
        >>> round(multiplier(1.0, 1e-6, 3), 3)
        4.239
    """
    low, high = 1e-3, 1e6
    while high > low * (1 + 1e-13):
        middle = math.sqrt(low * high)
        too_small = adaptive_delta(epsilon, 1 / middle, depth) > delta
        low, high = (middle, high) if too_small else (low, middle)
    return high


def epsilon_of(mu: float, delta: float) -> float:
    """Return the epsilon of a mu-GDP mechanism at a delta; 0 where delta alone covers the loss.

    Args:
        mu: distance in deviations.
        delta: privacy parameter.

    Returns:
        Found by bisection.

    Example:
        >>> round(epsilon_of(1 / 4.2253, 1e-6), 2)
        1.0
    """
    if mu <= 0 or gaussian_delta(0.0, mu) <= delta:
        return 0.0
    low, high = 0.0, 500.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, mu) > delta else (low, middle)
    return high


def table_sensitivity2(
    kind: str, *, depth: int, relation: str, bound: PersonBound | None = None
) -> int:
    """Return the squared L2 change of the count table per unit weight.

    Args:
        kind: kind of the table.
        depth: its rows.
        relation: the neighbouring relation.
        bound: what is counted of a person, with at most as many cells as a row has; None if events
            are protected.

    Returns:
        The value in docs/guarantees.md, the table under "Sensitivity", or under "People".

    Example:
        >>> table_sensitivity2("count-sketch", depth=3, relation="substitution")
        12
        >>> table_sensitivity2("count-min", depth=3, relation="zero-out", bound=PersonBound(5, 2))
        60
    """
    substitution = relation == "substitution"
    if bound is not None:
        people = (2 if substitution else 1) * (1 if bound.most_people is None else 2)
        return depth * bound.cells * (bound.events * people) ** 2
    if kind == "counters":
        return 2 if substitution else 1
    return depth * ({"count-min": 2, "count-sketch": 4}[kind] if substitution else 1)


@dataclass(frozen=True)
class ClaimedNoise:
    """The joint distribution of the noise of every (cell, push).

    Args:
        sigma: standard deviation of a draw.
        strategy: the matrices of the mechanism.
    """

    sigma: float
    strategy: Strategy

    @classmethod
    def of(
        cls,
        *,
        kind: str,
        depth: int,
        relation: str,
        epsilon: float,
        delta: float,
        mechanism: str,
        leaves: int,
        scale: int,
        bound: PersonBound | None = None,
    ) -> ClaimedNoise:
        """Return the claimed noise of a table.

        Args:
            kind: kind of the table.
            depth: its rows.
            relation: the neighbouring relation.
            epsilon: privacy parameter.
            delta: privacy parameter.
            mechanism: its name in a release.
            leaves: largest number of pushes of a cell.
            scale: largest weight times declared events of one person.
            bound: what is counted of a person, as in :func:`table_sensitivity2`.

        Returns:
            The claimed noise; each factor is computed from its definition.
        """
        matrices = strategy(mechanism, leaves)
        squared = table_sensitivity2(kind, depth=depth, relation=relation, bound=bound)
        squared *= matrices.sensitivity2
        return cls(multiplier(epsilon, delta, depth) * math.sqrt(squared) * scale, matrices)

    @property
    def draw_variance(self) -> float:
        """Variance of one rounded draw."""
        return self.sigma**2 + 1 / 12

    def rounding(self, push: int) -> tuple[float, float]:
        """Return the mean and variance that rounding adds: at the end, or at every node.

        N lies on a lattice of step 1 / den and sigma is many steps, so N is uniform on it
        modulo 1. If den is even, ties round up; if den is 1, rounding adds nothing. At a node,
        den is its own entry, and its error reaches the push with a weight.

        Args:
            push: a push number.

        Returns:
            Mean and variance.
        """
        if self.strategy.rounds_every_node:
            errors = self.strategy.roundings(push).values()
            mean = sum(weight * 0.5 / own for weight, own in errors if own % 2 == 0)
            return mean, self._rounding_covariance(push, push)
        den = self.strategy.denominator(push)
        return (0.5 / den if den % 2 == 0 else 0.0, (1 - 1 / den**2) / 12)

    def _rounding_covariance(self, push: int, other: int) -> float:
        """Return the covariance that rounding adds to two pushes."""
        if not self.strategy.rounds_every_node:
            return self.rounding(push)[1] if push == other else 0.0
        one, two = self.strategy.roundings(push), self.strategy.roundings(other)
        common = ((weight * two[v][0], own) for v, (weight, own) in one.items() if v in two)
        return sum(weight * (1 - 1 / own**2) / 12 for weight, own in common)

    def deviation(self, push: int) -> float:
        """Return the standard deviation of the released noise of one push.

        Args:
            push: a push number.

        Returns:
            In counts.
        """
        drawn = self.strategy.covariance(push, push) * self.draw_variance
        return math.sqrt(drawn + self.rounding(push)[1])

    def covariance(self, pushes: list[int]) -> NDArray[np.float64]:
        """Return the covariance matrix of the released noise of several pushes of one cell.

        Args:
            pushes: different push numbers.

        Returns:
            A square matrix.
        """
        matrix = np.array([[self.strategy.covariance(p, q) for q in pushes] for p in pushes])
        added = np.array([[self._rounding_covariance(p, q) for q in pushes] for p in pushes])
        result: NDArray[np.float64] = matrix * self.draw_variance + added
        return result

    def standardised(self, residuals: NDArray[np.float64], push: int) -> NDArray[np.float64]:
        """Return residuals of one push in claimed deviations from their claimed mean.

        Args:
            residuals: releases minus exact published counts.
            push: the push number.

        Returns:
            Independent standard normals, if the claim holds.
        """
        result: NDArray[np.float64] = (residuals - self.rounding(push)[0]) / self.deviation(push)
        return result

    def probabilities(self, push: int) -> tuple[int, NDArray[np.float64]]:
        """Return the exact distribution of the released noise; only for small sigma.

        The convolution of the rounded normals on the lattice of N, then floor(N + 1/2). The
        lattice has about 20 sigma den points.

        Args:
            push: a push number.

        Returns:
            The smallest value, and the probabilities of it and of the values above it.
        """
        path, den = self.strategy.weights(push), self.strategy.denominator(push)
        bound = math.ceil(9 * self.sigma + 1)  # a draw beyond it has probability 2e-19
        edges = normal_distribution_function((np.arange(-bound, bound + 2) - 0.5) / self.sigma)
        distribution, start = np.ones(1), 0
        for weight in path.values():
            stride = int(abs(weight) * den)  # the distribution of a draw is symmetric
            spread = np.zeros(stride * 2 * bound + 1)
            spread[::stride] = np.diff(edges)
            distribution, start = np.convolve(distribution, spread), start - stride * bound
        released = (2 * (start + np.arange(distribution.size)) + den) // (2 * den)
        smallest = int(released[0])
        summed = np.bincount(released - smallest, weights=distribution)
        return smallest, summed.astype(np.float64)
