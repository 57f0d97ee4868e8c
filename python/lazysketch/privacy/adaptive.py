"""Gaussian noise made of integers, for an event that is chosen by looking at releases.

An adversary who chooses the differing event from earlier releases knows more about the noise than
its distribution: noise is made of integers, so releases exclude some of the values that the rest
of it could have. Given everything that can be known before the event, the noise in the direction of
the change is a discrete Gaussian on a shifted lattice. Its delta is at most a factor times that of
Gaussian noise of real numbers with a slightly smaller multiplier. Every *smoothing*, a variance in
units of the lattice, proves such a bound; the best depends on epsilon and delta.

An event moves every row of a table, and their draws are disjoint: each row has a lattice of its
own, and the bound is better the more rows there are. All sketches are calibrated by it. It costs
about 0.3 ms per delta and 2 ms per multiplier.

Sources: docs/theory.md, "An event chosen from releases"; D. Micciancio and O. Regev, 2007
(theta sums of a lattice).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.gaussian import gaussian_delta, noise_multiplier, smallest_sufficient
from lazysketch.privacy.relations import LARGEST_DEPTH, checked_delta, checked_epsilon

__all__ = [
    "IntegerNoise",
    "Smoothed",
    "adaptive_delta",
    "adaptive_noise_multiplier",
    "best_smoothing",
    "least_multiplier",
    "least_noise",
    "smoothed",
    "smoothed_together",
]

# Every value proves a bound; the least is used. More of them gain less than 1 % of delta.
_SMOOTHING: Final = tuple(step / 40 for step in range(2, 41))
_MIDDLE: Final = 0.3  # a usual smoothing, from which the search for the best one starts
_ROUNDS: Final = 4
_ROUNDING_ERRORS: Final = 1e-12  # of a theta sum and of the few operations on it, relative
_LARGEST_LOGARITHM: Final = 700.0  # its exponential is a float
_ULPS: Final = 1e-15  # of the difference of two squares, relative to the larger one
_LEAST_DELTA: Final = 1e-270  # smaller ones are not solved for: deltas are computed down to 1e-280


class IntegerNoise(NamedTuple):
    """Noise of one table: sigma / l2_sensitivity, and the rows that share its sensitivity."""

    noise_multiplier: float
    depth: int = 1


class Smoothed(NamedTuple):
    """A bound: ``factor`` times the delta of Gaussian noise of real numbers."""

    noise_multiplier: float
    factor: float

    def delta(self, epsilon: float) -> float:
        """Return the bound at an epsilon; it may exceed 1.

        Args:
            epsilon: 0 < epsilon <= 100.

        Returns:
            delta, rounded up.
        """
        return self.factor * gaussian_delta(epsilon, self.noise_multiplier)


def smoothed(tables: Mapping[IntegerNoise, int], smoothing: float) -> Smoothed | None:
    """Return the bound of Theorem 15 for one smoothing, or None where it proves nothing.

    Args:
        tables: different kinds of noise, with the number of tables that have each.
        smoothing: rho^2 of the theorem, at least 0.05.

    Returns:
        A bound for all tables together.
    """
    return _joint({noise: (_cost(noise, smoothing), count) for noise, count in tables.items()})


def _cost(noise: IntegerNoise, smoothing: float) -> tuple[float, float]:
    """Return mu^2 of a table and the logarithm of its factor; infinite where nothing is proven."""
    square = noise.noise_multiplier * noise.noise_multiplier
    left = square - smoothing / noise.depth - _ULPS * square
    if left <= 0.0:
        return math.inf, math.inf
    ratio = math.log1p(_theta(smoothing)) - math.log1p(-_theta(noise.depth * square))
    return 1.0 / left, noise.depth * ratio


def _joint(costs: Mapping[IntegerNoise, tuple[tuple[float, float], int]]) -> Smoothed | None:
    squared = math.fsum(count * cost[0] for cost, count in costs.values())
    logarithm = math.fsum(count * cost[1] for cost, count in costs.values())
    if logarithm > _LARGEST_LOGARITHM:
        return None
    return Smoothed(
        noise_multiplier=(1.0 - 2.0 * _ULPS) / math.sqrt(squared),
        factor=math.exp(logarithm * (1.0 + _ROUNDING_ERRORS)) * (1.0 + _ROUNDING_ERRORS),
    )


def smoothed_together(tables: Mapping[IntegerNoise, int], epsilon: float) -> Smoothed | None:
    """Return the best bound at an epsilon, where every kind of noise has a smoothing of its own.

    Args:
        tables: different kinds of noise, with the number of tables that have each.
        epsilon: 0 < epsilon <= 100.

    Returns:
        A bound for all tables together, or None where nothing is proven.
    """
    same = smoothed(tables, best_smoothing(Counter(tables).elements(), epsilon))
    if same is None or len(tables) == 1:
        return same
    # The logarithm of delta grows with mu^2 at this rate; each table balances its factor with it.
    squared = same.noise_multiplier**-2.0
    low, high = (gaussian_delta(epsilon, (by * squared) ** -0.5) for by in (0.99, 1.01))
    rate = math.log(high / low) / (0.02 * squared)

    def cost(noise: IntegerNoise) -> tuple[float, float]:
        options = (_cost(noise, smoothing) for smoothing in _SMOOTHING)
        return min(options, key=lambda option: rate * option[0] + option[1])

    own = _joint({noise: (cost(noise), count) for noise, count in tables.items()})
    return same if own is None or same.delta(epsilon) <= own.delta(epsilon) else own


@lru_cache(maxsize=4096)
def _theta(variance: float) -> float:
    """Return 2 (sum over j >= 1 of e^(-2 pi^2 variance j^2)), rounded up; variance >= 0.05.

    The sum of e^(-(x + k)^2 / (2 variance)) over all integers k lies within this factor of
    sqrt(2 pi variance), for every x.
    """
    exponent = 2.0 * math.pi**2 * variance
    terms = math.fsum(math.exp(-exponent * j * j) for j in range(1, 7))
    return 2.0 * terms * (1.0 + _ROUNDING_ERRORS) + 1e-300


def best_smoothing(tables: Iterable[IntegerNoise], epsilon: float) -> float:
    """Return the smoothing with the least delta at an epsilon.

    Args:
        tables: the noise of each table.
        epsilon: 0 < epsilon <= 100.

    Returns:
        rho^2, one of a fixed list. As a function of it delta falls and then rises.
    """
    counted = Counter(tables)

    def delta(index: int) -> float:
        bound = smoothed(counted, _SMOOTHING[index])
        return math.inf if bound is None else bound.delta(epsilon)

    # The first that is no worse than the next one.
    first, last = 0, len(_SMOOTHING) - 1
    while first < last:
        middle = (first + last) // 2
        if delta(middle) <= delta(middle + 1):
            last = middle
        else:
            first = middle + 1
    return _SMOOTHING[first]


def adaptive_delta(epsilon: float, noise_multiplier: float, *, depth: int = 1) -> float:
    """Return a delta for an event that the adversary chooses from releases, for ideal draws.

    Guarantee: for every mechanism and schedule, an upper bound on the delta of the integer
    noise, against an adversary who knows everything published before the event, chooses the event
    and its alternative by it, and the later events too. Non-increasing in ``epsilon`` and
    ``noise_multiplier``. 1 where nothing better is proven, for one row and noise multipliers below
    about a quarter.

    Args:
        epsilon: privacy parameter, 0 < epsilon <= 100.
        noise_multiplier: sigma / l2_sensitivity, above 0.
        depth: rows of the table, each of which changes by at most l2_sensitivity / sqrt(depth).

    Returns:
        delta, in [1e-280, 1].

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range.

    Source: docs/theory.md, Theorem 15.

    Example:
        >>> from lazysketch.privacy import gaussian_delta
        >>> round(adaptive_delta(1.0, 4.225) / gaussian_delta(1.0, 4.225), 2)
        1.17
        >>> round(adaptive_delta(1.0, 4.225, depth=3) / gaussian_delta(1.0, 4.225), 2)
        1.07
    """
    epsilon = checked_epsilon(epsilon)
    multiplier = checked_real("noise_multiplier", noise_multiplier)
    rows = checked_integer("depth", depth, most=LARGEST_DEPTH)
    return _least_delta(epsilon, IntegerNoise(multiplier, rows))


def _least_delta(epsilon: float, noise: IntegerNoise) -> float:
    bounds = (smoothed({noise: 1}, smoothing) for smoothing in _SMOOTHING)
    return min([1.0, *(bound.delta(epsilon) for bound in bounds if bound is not None)])


def adaptive_noise_multiplier(epsilon: float, delta: float, *, depth: int = 1) -> float:
    """Return a noise multiplier for (epsilon, delta) where the event is chosen from releases.

    Guarantee: :func:`adaptive_delta` of it is at most ``delta``; of one that is 1e-6 smaller it
    is more, or ``delta`` is above 0.99.

    Args:
        epsilon: 0 < epsilon <= 100.
        delta: 1e-270 <= delta < 1.
        depth: rows of the table.

    Returns:
        sigma / l2_sensitivity, above 0.

    Raises:
        ArgumentTypeError: an argument is not a number.
        ArgumentValueError: an argument is outside its range.

    Source: docs/theory.md, Theorem 15.

    Example:
        >>> round(adaptive_noise_multiplier(1.0, 1e-6, depth=3), 3)
        4.239
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    if delta < _LEAST_DELTA:
        raise ArgumentValueError(f"delta: expected at least {_LEAST_DELTA:g}, got {delta:g}")
    return _solved(epsilon, delta, checked_integer("depth", depth, most=LARGEST_DEPTH))[0]


def least_noise(epsilon: float, delta: float, depth: int) -> tuple[float, float]:
    """Return the least noise multiplier, and the smoothing that proves it.

    Args:
        epsilon: privacy parameter.
        delta: privacy parameter; below 1e-270 that of 1e-270 is returned.
        depth: rows of the table.

    Returns:
        sigma / l2_sensitivity and rho^2; functions of the arguments alone, so that every account
        of a pair uses the same smoothing.
    """
    return _solved(epsilon, max(delta, _LEAST_DELTA), depth)


@lru_cache(maxsize=1024)
def _solved(epsilon: float, delta: float, depth: int) -> tuple[float, float]:
    def tables(multiplier: float) -> dict[IntegerNoise, int]:
        return {IntegerNoise(multiplier, depth): 1}

    lowest = noise_multiplier(epsilon, delta)
    smoothing = best_smoothing(tables(math.sqrt(lowest * lowest + _MIDDLE / depth)), epsilon)
    found = least_multiplier(tables, smoothing, epsilon, delta, above=lowest)
    for _ in range(_ROUNDS):
        better = best_smoothing(tables(found), epsilon)
        if better == smoothing:
            break
        smoothing = better
        found = least_multiplier(tables, smoothing, epsilon, delta, above=lowest)
    return found, smoothing


def least_multiplier(
    tables: Callable[[float], Mapping[IntegerNoise, int]],
    smoothing: float,
    epsilon: float,
    delta: float,
    *,
    above: float,
) -> float:
    """Return the least noise multiplier that one smoothing proves to be private.

    Args:
        tables: takes a multiplier, and returns the noise of all tables as for :func:`smoothed`.
        smoothing: rho^2 of the theorem, at least 0.05.
        epsilon: 0 < epsilon <= 100.
        delta: 1e-270 <= delta < 1.
        above: a multiplier that is too small: that of Gaussian noise of real numbers.

    Returns:
        A multiplier that was tried and passed.
    """

    def sufficient(multiplier: float) -> bool:
        bound = smoothed(tables(multiplier), smoothing)
        return bound is not None and bound.delta(epsilon) <= delta

    too_small, enough = above, above * (1.0 + 1e-3)
    while not sufficient(enough):
        too_small, enough = enough, above + 4.0 * (enough - above)
    return smallest_sufficient(too_small, enough, sufficient)
