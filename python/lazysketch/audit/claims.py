"""What is claimed of a sketch's noise, computed without the library's own calibration.

sigma = multiplier(epsilon, delta) x sqrt(squared sensitivity of the table x that of the
mechanism) x max_weight x max_events_per_user, each factor from its definition. A draw is a
normal rounded to an integer, of variance sigma^2 + 1/12 (Sheppard; the error is below
exp(-2 pi^2 sigma^2) / 2).

Source: docs/guarantees.md; Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022 (mu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.p_values import normal_distribution_function
from lazysketch.audit.strategy import Strategy, strategy

__all__ = ["Claim", "epsilon_of", "gaussian_delta", "multiplier", "table_sensitivity2"]


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


def multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest m at which a unit shift under noise m is (epsilon, delta)-private.

    Args:
        epsilon: privacy parameter.
        delta: privacy parameter; above 1e-12, where the difference of two terms still holds.

    Returns:
        By bisection, to the last digits.

    Example:
        >>> round(multiplier(1.0, 1e-6), 3)
        4.225
    """
    low, high = 1e-3, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        too_small = gaussian_delta(epsilon, 1 / middle) > delta
        low, high = (middle, high) if too_small else (low, middle)
    return high


def epsilon_of(mu: float, delta: float) -> float:
    """Return the epsilon of a mu-GDP mechanism at a delta, 0 where delta alone covers it.

    Args:
        mu: distance in deviations.
        delta: privacy parameter.

    Returns:
        By bisection.

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


def table_sensitivity2(kind: str, *, depth: int, relation: str) -> int:
    """Return the squared L2 change of the count table per unit weight.

    Args:
        kind: kind of the table.
        depth: its rows.
        relation: what neighbours are.

    Returns:
        docs/guarantees.md, the table under "Sensitivity".

    Example:
        >>> table_sensitivity2("count-sketch", depth=3, relation="substitution")
        12
    """
    substitution = relation == "substitution"
    if kind == "counters":
        return 2 if substitution else 1
    return depth * ({"count-min": 2, "count-sketch": 4}[kind] if substitution else 1)


@dataclass(frozen=True)
class Claim:
    """The law of the noise of every (cell, push), and the privacy that it is for.

    Args:
        sigma: standard deviation of a draw.
        strategy: how a cell counts.
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
    ) -> Claim:
        """Return the claim of a configuration.

        Args:
            kind: kind of the table.
            depth: its rows.
            relation: what neighbours are.
            epsilon: privacy parameter.
            delta: privacy parameter.
            mechanism: as a release states it.
            leaves: largest number of pushes of a cell.
            scale: largest weight times events of one person.

        Returns:
            Each factor from its definition.
        """
        of = strategy(mechanism, leaves)
        squared = table_sensitivity2(kind, depth=depth, relation=relation) * of.sensitivity2
        return cls(_multiplier(epsilon, delta) * math.sqrt(squared) * scale, of)

    @property
    def draw_variance(self) -> float:
        """Variance of one rounded draw."""
        return self.sigma**2 + 1 / 12

    def rounding(self, push: int) -> tuple[float, float]:
        """Return mean and variance of what the final floor(N + 1/2) adds.

        The lattice of N has some step 1 / den and sigma is many steps, so N is uniform modulo
        1 on it. With den even a tie goes up; with den 1 nothing is left.

        Args:
            push: a push number.

        Returns:
            Mean and variance.
        """
        den = self.strategy.denominator(push)
        return (0.5 / den if den % 2 == 0 else 0.0, (1 - 1 / den**2) / 12)

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
        added = [self.rounding(p)[1] for p in pushes]
        result: NDArray[np.float64] = matrix * self.draw_variance + np.diag(added)
        return result

    def standardised(self, residuals: NDArray[np.float64], push: int) -> NDArray[np.float64]:
        """Return residuals of one push in claimed deviations from their claimed mean.

        Args:
            residuals: in counts.
            push: the push number.

        Returns:
            Independent standard normals, if the claim holds.
        """
        result: NDArray[np.float64] = (residuals - self.rounding(push)[0]) / self.deviation(push)
        return result

    def probabilities(self, push: int) -> tuple[int, NDArray[np.float64]]:
        """Return the exact law of the released noise, where sigma is small.

        The convolution of the rounded normals on the lattice of N, then floor(N + 1/2); the
        lattice has about 20 sigma den points.

        Args:
            push: a push number.

        Returns:
            The smallest value and the probabilities from there on.
        """
        path, den = self.strategy.weights(push), self.strategy.denominator(push)
        bound = math.ceil(9 * self.sigma + 1)  # beyond: 2e-19
        edges = normal_distribution_function((np.arange(-bound, bound + 2) - 0.5) / self.sigma)
        law, start = np.ones(1), 0
        for weight in path.values():
            stride = int(abs(weight) * den)  # the law of a draw is symmetric
            spread = np.zeros(stride * 2 * bound + 1)
            spread[::stride] = np.diff(edges)
            law, start = np.convolve(law, spread), start - stride * bound
        released = (2 * (start + np.arange(law.size)) + den) // (2 * den)
        smallest = int(released[0])
        return smallest, np.bincount(released - smallest, weights=law).astype(np.float64)


@cache
def _multiplier(epsilon: float, delta: float) -> float:
    return multiplier(epsilon, delta)
