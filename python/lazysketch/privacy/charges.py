"""What a mechanism adds to a total: four numbers that add up, also over mechanisms chosen later.

A mechanism with the *charge* (mu^2, c, n, delta) satisfies, at every real e,

    delta(e) <= exp(c) G(e - n) + delta,

where G is the delta of a Gaussian mechanism with this mu. Mechanisms that share a person satisfy
exp(sum of c) (G(e - sum of n) + sum of delta) together, with the sum of mu^2. No term grows with
exp(e), so that a year of daily runs has a total.

Counts have a charge by their noise. Anything else has one by its pair (epsilon, delta): after
delta is removed, its trade-off function lies above that of the Gaussian mechanism with
mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), which touches it.

Sources: docs/theory.md, Theorems 18 to 20; J. Dong, A. Roth and W. Su, "Gaussian Differential
Privacy", 2022.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.adaptive import IntegerNoise, smoothed
from lazysketch.privacy.curve import curve_of
from lazysketch.privacy.gaussian import gaussian_delta, smallest_sufficient
from lazysketch.privacy.relations import LARGEST_EPSILON, checked_epsilon

__all__ = [
    "Charge",
    "PlainPart",
    "charge_of",
    "check_everywhere",
    "pure_mu",
    "sum_up",
    "total_of",
]

# A smoothing for which the factor of a table is 1 in effect: thousands of tables have a total.
_FACTOR: Final = 1e-6
_SMOOTHING: Final = tuple(step / 20 for step in range(1, 61))
_EPSILONS: Final = tuple(0.001 * 1.3**step for step in range(41))
_ROUNDING: Final = 1e-14
_STEPS: Final = 100
_NUMBERS: Final = ("mu_squared", "factor", "epsilon_numeric", "delta", "epsilon", "pair_delta")


def check_everywhere(within: str | None) -> None:
    """Raise unless a guarantee holds for all that a person does.

    Args:
        within: the part of the stream in which it holds, such as ``"one window"``; None for all.

    Raises:
        ArgumentValueError: a part, which says nothing about a person in several ones.
    """
    if within is not None:
        raise ArgumentValueError(
            f"parts: expected guarantees for all that a person does, got one within {within}; "
            "compose those of the releases that the person may be in"
        )


@dataclass(frozen=True)
class PlainPart:
    """A mechanism of which one pair (epsilon, delta) is known.

    Guarantee: none of its own; the pair is the caller's statement, for the neighbours of the
    total that it enters, and against an observer who sees everything and chooses by it.

    Args:
        epsilon: 0 < epsilon <= 100.
        delta: 0 <= delta < 1.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: outside its range.

    Example:
        >>> PlainPart(0.25, 5e-9).mu < 0.32
        True
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Check both numbers."""
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        delta = 0.0 if self.delta == 0 else checked_real("delta", self.delta)
        if delta >= 1.0:
            raise ArgumentValueError(f"delta: expected below 1, got {delta:g}")
        object.__setattr__(self, "delta", delta)

    @property
    def mu(self) -> float:
        """The mu of the Gaussian mechanism that dominates it without delta; :func:`pure_mu`."""
        return pure_mu(self.epsilon)


@dataclass(frozen=True)
class Charge:
    """What one mechanism, or several together, add to a total.

    Guarantee: the bound of the module's docstring at every real e, and (``epsilon``,
    ``pair_delta``).

    Args:
        mu_squared: mu^2, above 0.
        factor: c, the logarithm of the factor, at least 0.
        epsilon_numeric: n, at least 0.
        delta: at least 0.
        epsilon: of a pair that holds, by basic composition.
        pair_delta: of that pair.
    """

    mu_squared: float
    factor: float
    epsilon_numeric: float
    delta: float
    epsilon: float
    pair_delta: float

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds at an epsilon, rounded up.

        Args:
            epsilon: 0 < epsilon <= 100.

        Returns:
            delta, in [1e-280, 1], non-increasing in epsilon.
        """
        if epsilon >= self.epsilon:
            return min(self.pair_delta, self._bound(epsilon))
        return self._bound(epsilon)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon that holds at a delta, rounded up.

        Args:
            delta: 0 < delta < 1.

        Returns:
            epsilon; infinite if none up to 100 holds.
        """
        too_small, enough = 0.0, min(self.epsilon, LARGEST_EPSILON)
        if self.delta_at(enough) > delta:
            too_small, enough = enough, LARGEST_EPSILON
            if self.delta_at(enough) > delta:
                return math.inf
        for _ in range(_STEPS):
            middle = 0.5 * (too_small + enough)
            if not too_small < middle < enough:
                break
            if self.delta_at(middle) <= delta:  # the returned epsilon itself has passed this test
                enough = middle
            else:
                too_small = middle
        return enough

    def _bound(self, epsilon: float) -> float:
        left = math.nextafter(epsilon - self.epsilon_numeric, 0.0)
        if left <= 0.0 or self.factor > 1.0:
            return 1.0
        ideal = gaussian_delta(left, (1.0 - _ROUNDING) / math.sqrt(self.mu_squared))
        return min(1.0, math.exp(self.factor) * (ideal + self.delta) * (1.0 + _ROUNDING))


def pure_mu(epsilon: float) -> float:
    """Return the least mu whose Gaussian mechanism dominates every (epsilon, 0)-DP mechanism.

    Guarantee: rounded up, by less than 1e-14 of it.

    Args:
        epsilon: 0 < epsilon <= 100.

    Returns:
        2 Phi^-1(e^epsilon / (1 + e^epsilon)).

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: outside its range.

    Source: Dong, Roth and Su 2022; docs/theory.md, Theorem 18.

    Example:
        >>> round(pure_mu(0.25), 4)
        0.313
    """
    return _pure_mu(checked_epsilon(epsilon))


@lru_cache(maxsize=4096)
def _pure_mu(epsilon: float) -> float:
    # Phi(mu / 2) >= e^epsilon / (1 + e^epsilon), in a form without cancellation on either side.
    wanted = math.tanh(0.5 * epsilon) * (1.0 + 1e-15)
    most = 2.0 * (1.0 - 1e-15) / (1.0 + math.exp(epsilon))

    def sufficient(mu: float) -> bool:
        place = mu / math.sqrt(8.0) * (1.0 - 1e-15)
        return math.erf(place) >= wanted if epsilon <= 1.0 else math.erfc(place) <= most

    # Phi(mu / 2) - 1/2 lies between these multiples of mu there: epsilon <= 100 has mu < 28.
    return smallest_sufficient(0.0, 4.0 * min(epsilon, 7.0), sufficient)


def charge_of(part: Privacy | PlainPart) -> Charge:
    """Return the charge of a mechanism.

    Guarantee: rounded up. Of counts, the smaller of the charges by their noise and by their pair.

    Args:
        part: counts that are private, or a pair.

    Returns:
        The charge.

    Raises:
        ArgumentValueError: counts that are NOT PRIVATE.

    Source: docs/theory.md, Theorems 18 and 19.

    Example:
        >>> charge_of(PlainPart(1.0, 1e-9)).delta
        1e-09
    """
    if isinstance(part, PlainPart):
        return _of_pair(part.epsilon, part.delta)
    if not part.private:
        raise ArgumentValueError("part: expected a private one, got one that is NOT PRIVATE")
    return _of_counts(part.epsilon, part.delta, part.noise_multiplier, part.depth)


def _of_pair(epsilon: float, delta: float) -> Charge:
    squared = pure_mu(epsilon) ** 2 * (1.0 + _ROUNDING)
    return Charge(squared, 0.0, 0.0, delta, epsilon, delta)


@lru_cache(maxsize=1024)
def _of_counts(epsilon: float, delta: float, multiplier: float, depth: int) -> Charge:
    by_pair = _of_pair(epsilon, delta)
    noise = IntegerNoise(multiplier, depth)
    bounds = (smoothed({noise: 1}, smoothing) for smoothing in _SMOOTHING)
    ideal = next((it for it in bounds if it is not None and it.factor <= math.exp(_FACTOR)), None)
    if ideal is None:
        return by_pair
    curve = curve_of(epsilon, delta, multiplier, depth=depth)
    numeric = curve.epsilon_numeric
    half = math.exp(0.5 * numeric)
    # A profile does not grow with e: from the best e on, this is all that it exceeds the ideal by.
    beyond = ((1.0 + math.exp(numeric + e)) * curve.tail + half * ideal.delta(e) for e in _EPSILONS)
    charge = Charge(
        mu_squared=ideal.noise_multiplier**-2.0 * (1.0 + _ROUNDING),
        factor=(math.log(ideal.factor) + 0.5 * numeric) * (1.0 + _ROUNDING) + 1e-16,
        epsilon_numeric=numeric,
        delta=min(beyond) * (1.0 + _ROUNDING),
        epsilon=epsilon,
        pair_delta=delta,
    )
    is_less = charge.mu_squared < by_pair.mu_squared and charge.delta <= delta
    return charge if is_less else by_pair


def total_of(charges: Iterable[Charge]) -> Charge:
    """Return the charge of mechanisms that share a person, rounded up.

    Guarantee: holds for charges that were fixed in advance. For charges chosen by earlier results
    the bound holds to which each of the sums is kept (docs/theory.md, Theorem 20).

    Args:
        charges: at least one.

    Returns:
        Their sum.
    """
    each = list(charges)
    return Charge(**{name: sum_up(getattr(one, name) for one in each) for name in _NUMBERS})


def sum_up(numbers: Iterable[float]) -> float:
    """Return the sum of numbers: exact if a float is, otherwise the next float above.

    Args:
        numbers: finite ones.

    Example:
        >>> sum_up([0.25, 0.5]), sum_up([0.1] * 3)
        (0.75, 0.30000000000000004)
    """
    each = list(numbers)
    total = math.fsum(each)  # correctly rounded
    return math.nextafter(total, math.inf) if math.fsum([*each, -total]) > 0.0 else total
