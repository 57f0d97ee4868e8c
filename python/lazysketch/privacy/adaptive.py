"""The guarantee for an event that is chosen by looking at releases.

The calibrated (epsilon, delta) hold for neighbouring streams that are fixed in advance. An
adversary who chooses the differing event from earlier releases knows more about the noise than
its distribution: noise is made of integers, so releases exclude some of the values that the rest
of it could have. Given everything that can be known before the event, the noise in the direction of
the change is a discrete Gaussian on a shifted lattice. This module bounds its delta; the bound is a
little larger than that of a continuous Gaussian. It costs about 200 microseconds.

Sources: docs/theory.md, "An event chosen from releases"; D. Micciancio and O. Regev, 2007
(theta sums of a lattice).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lazysketch.arguments import checked_real
from lazysketch.privacy.calibration import gaussian_delta
from lazysketch.privacy.relations import checked_epsilon

if TYPE_CHECKING:
    from lazysketch.privacy.curve import GaussianCurve

__all__ = ["adaptive_delta", "adaptive_delta_of"]

# Every value proves a bound; the least is returned. More of them gain less than 1 % of delta.
_SMOOTHING: Final = tuple(step / 40 for step in range(4, 33))
_ROUNDING_ERRORS: Final = 1e-12  # of a theta sum and of the few operations on it, relative

# Probabilities of draws beyond 9.5 sigma, where the usual account makes no claim about them.
_BEYOND_9_5: Final = 2.1e-21
_BEYOND_11: Final = 3.9e-28
_ERROR_UNTIL_11: Final = 2.0**-37  # relative error of a probability, per unit of sigma (at least 8)


def adaptive_delta(epsilon: float, noise_multiplier: float) -> float:
    """Return a delta for an event that the adversary chooses from releases, for ideal draws.

    Guarantee: for every mechanism and schedule, an upper bound on the delta of the integer
    noise, against an adversary who knows everything published before the event, chooses the event
    and its alternative by it, and the later events too. Non-increasing in both arguments. 1 where
    nothing better is proven, for noise multipliers below about a third.

    Args:
        epsilon: privacy parameter, 0 < epsilon <= 100.
        noise_multiplier: sigma / l2_sensitivity, above 0.

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
    """
    epsilon = checked_epsilon(epsilon)
    multiplier = checked_real("noise_multiplier", noise_multiplier)
    square = multiplier * multiplier
    bounds = (_bound(epsilon, square, smoothing) for smoothing in _SMOOTHING if smoothing < square)
    return min(1.0, *bounds, 1.0)


def _bound(epsilon: float, square: float, smoothing: float) -> float:
    """Return the bound of Theorem 15 for a square of the multiplier and one rho^2 below it."""
    left = (square - smoothing) * (1.0 - _ROUNDING_ERRORS)
    if left <= 0.0:
        return 1.0
    factor = (1.0 + _theta(smoothing)) / (1.0 - _theta(square)) * (1.0 + _ROUNDING_ERRORS)
    return factor * gaussian_delta(epsilon, math.sqrt(left))


def _theta(variance: float) -> float:
    """Return 2 (sum over j >= 1 of e^(-2 pi^2 variance j^2)), rounded up; variance >= 0.1.

    The sum of e^(-(x + k)^2 / (2 variance)) over all integers k lies within this factor of
    sqrt(2 pi variance), for every x.
    """
    exponent = 2.0 * math.pi**2 * variance
    terms = math.fsum(math.exp(-exponent * j * j) for j in range(1, 7))
    return 2.0 * terms * (1.0 + _ROUNDING_ERRORS) + 1e-300


def adaptive_delta_of(
    curve: GaussianCurve, epsilon: float, *, sigma: float, parts: int = 1
) -> float:
    """Return a delta for an event chosen from releases, for the noise as it is drawn.

    Guarantee: as :func:`adaptive_delta`, with the cost of floating point and of the block cipher.
    An adversary may aim at one of all draws that he has seen, not only at those of one event; so
    all draws of a sketch count for the tails.

    Args:
        curve: the curve of the fixed event, which bounds the numerics.
        epsilon: 0 < epsilon <= 100.
        sigma: largest standard deviation of a draw in any part.
        parts: number of sketches together.

    Returns:
        delta, in [1e-280, 1].

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range.

    Source: docs/theory.md, Theorem 16.
    """
    asked = checked_epsilon(epsilon)
    ideal = math.nextafter(asked - curve.epsilon_numeric, 0.0)
    if ideal <= 0.0:
        return 1.0
    # The tail of the curve contains q^2 2^-129 for the q draws of each part.
    draws = math.sqrt(math.ldexp(curve.tail * parts, 129))
    error = _ERROR_UNTIL_11 * max(sigma, 8.0)
    tail = curve.tail + draws * (_BEYOND_11 + _BEYOND_9_5 * error)
    bound = math.exp(0.5 * curve.epsilon_numeric) * adaptive_delta(ideal, curve.noise_multiplier)
    return min(1.0, (bound + (1.0 + math.exp(asked)) * tail) * (1.0 + 1e-14))
