"""Ideal Gaussian noise of real numbers: the exact delta, and the noise multiplier it requires.

It costs about 10 microseconds per delta and 0.5 ms per multiplier. Every result errs towards
privacy: deltas are rounded up, multipliers solved from above. ``noise_multiplier`` = sigma /
l2_sensitivity is 1 / mu in the papers. The noise of sketches consists of integers, which cost a
little more: :mod:`lazysketch.privacy.adaptive`.

Sources: B. Balle and Y.-X. Wang, ICML 2018, Theorem 8 (analytic); C. Dwork and
A. Roth, 2014, Theorem A.1 (classical); J. Dong, A. Roth and W. Su, 2022 (mu).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import SMALLEST_DELTA, checked_delta, checked_epsilon

__all__ = [
    "classical_noise_multiplier",
    "gaussian_delta",
    "noise_multiplier",
    "smallest_sufficient",
]

# Bound of the relative error of computed deltas; measured below 1e-13 against 60 digits (tests).
_MARGIN: Final = 1e-11
_LARGEST_A: Final = 36.0  # Q(36) < 1e-283 < SMALLEST_DELTA
_PANELS: Final = 16
# The nodes above 0 of the Gauss-Legendre rule of 20 nodes on [-1, 1], and their weights. As numbers
# they are the same on every machine, and numpy.polynomial need not be loaded to calibrate.
_LEGENDRE: Final = (
    (0.07652652113349734, 0.15275338713072628),
    (0.22778585114164507, 0.14917298647260424),
    (0.37370608871541955, 0.1420961093183824),
    (0.5108670019508271, 0.1316886384491769),
    (0.636053680726515, 0.1181945319615186),
    (0.7463319064601508, 0.1019301198172407),
    (0.8391169718222188, 0.08327674157670471),
    (0.912234428251326, 0.06267204833410879),
    (0.9639719272779138, 0.040601429800386446),
    (0.993128599185095, 0.017614007139150893),
)
_TAIL_EXPONENT: Final = 45.0  # the integral ends where its integrand has fallen by e^-45


def gaussian_delta(epsilon: float, noise_multiplier: float) -> float:
    """Return the smallest delta for which a Gaussian mechanism is (epsilon, delta)-DP.

    Guarantee: an upper bound, at most 2e-11 (relative) above the exact value if that is 1e-280 or
    more; smaller values are returned as 1e-280.

    Args:
        epsilon: privacy parameter, 0 < epsilon <= 100.
        noise_multiplier: sigma / l2_sensitivity, above 0.

    Returns:
        delta, in [1e-280, 1].

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range.

    Source: Balle and Wang 2018, Theorem 8. With mu = 1 / noise_multiplier, a = epsilon/mu - mu/2
    and b = epsilon/mu + mu/2, delta = Q(a) - e^epsilon Q(b) = phi(a) (R(a) - R(b)) with the Mills
    ratio R = Q / phi. R(a) - R(b) is the integral over t > 0 of exp(-a t - t^2/2)
    (1 - exp(-mu t)): nothing positive is ever subtracted.

    Example:
        >>> round(gaussian_delta(1.0, 4.225), 9)
        9.98e-07
    """
    epsilon = checked_epsilon(epsilon)
    multiplier = checked_real("noise_multiplier", noise_multiplier)
    return _gaussian_delta(epsilon, multiplier)


def _gaussian_delta(epsilon: float, multiplier: float) -> float:
    if multiplier < 1e-3:
        return 1.0  # exact to the last bit: mu / 2 - epsilon / mu is beyond 400
    mu = 1.0 / multiplier
    centre = epsilon * multiplier
    a = centre - 0.5 * mu
    if a > _LARGEST_A:
        return SMALLEST_DELTA
    # 1 - delta is a sum of positive terms, which is more accurate when delta is large.
    rest = 0.5 * math.erfc(-a / math.sqrt(2.0))
    rest += 0.5 * math.exp(epsilon) * math.erfc((centre + 0.5 * mu) / math.sqrt(2.0))
    if rest <= 0.5:
        return min(1.0, math.nextafter(1.0 - rest * (1.0 - _MARGIN), 2.0))
    density = math.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)
    delta = density * _mills_difference(a, mu) * (1.0 + _MARGIN)
    return max(SMALLEST_DELTA, delta)


def _mills_difference(a: float, mu: float) -> float:
    """Return R(a) - R(a + mu) for the Mills ratio R, where a > -1 and mu < 16."""
    # cut solves a t + t^2/2 = 45, in the form without cancellation.
    cut = 2.0 * _TAIL_EXPONENT / (a + math.sqrt(a * a + 2.0 * _TAIL_EXPONENT))
    points, weights = _unit_quadrature()
    t = points * cut
    values = np.exp(-t * (a + 0.5 * t)) * -np.expm1(-mu * t)
    return cut * float(np.dot(weights, values))


@lru_cache(maxsize=1)
def _unit_quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the nodes and weights of composite Gauss-Legendre quadrature on [0, 1]."""
    above = np.array(_LEGENDRE)
    nodes, weights = np.concatenate([above[::-1] * (-1.0, 1.0), above]).T
    starts = np.arange(_PANELS, dtype=np.float64)[:, np.newaxis]
    points = (starts + 0.5 * (nodes + 1.0)) / _PANELS
    return points.ravel(), np.tile(weights / (2.0 * _PANELS), _PANELS)


def noise_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier that gives (epsilon, delta)-DP.

    Guarantee: solved from above. The returned multiplier never gives a delta above the requested
    one; for delta <= 0.999 a multiplier that is 1e-9 smaller does.

    Args:
        epsilon: 0 < epsilon <= 100.
        delta: 1e-280 <= delta < 1.

    Returns:
        sigma / l2_sensitivity, above 0.

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range.

    Source: Balle and Wang 2018, Algorithm 1, with :func:`gaussian_delta`.

    Example:
        >>> round(noise_multiplier(1.0, 1e-6), 3)
        4.225
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)

    def sufficient(multiplier: float) -> bool:
        return _gaussian_delta(epsilon, multiplier) <= delta

    enough, too_small = 1.0, 1.0
    while not sufficient(enough):
        too_small, enough = enough, 2.0 * enough
    while sufficient(too_small):
        too_small, enough = 0.5 * too_small, too_small
    return smallest_sufficient(too_small, enough, sufficient)


def smallest_sufficient(
    too_small: float, enough: float, sufficient: Callable[[float], bool]
) -> float:
    """Return a number found by bisection that itself passes the test.

    Args:
        too_small: a number that does not pass.
        enough: a larger one that does.
        sufficient: the test.

    Returns:
        The smallest that was tried and passed, to 4e-15 of its size.
    """
    while enough - too_small > 4e-15 * enough:
        middle = 0.5 * (too_small + enough)
        if sufficient(middle):
            enough = middle
        else:
            too_small = middle
    return enough


def classical_noise_multiplier(epsilon: float, delta: float) -> float:
    """Return sqrt(2 ln(1.25 / delta)) / epsilon, the textbook noise multiplier.

    Guarantee: sufficient for epsilon < 1 only; for larger epsilon it serves for comparison.

    Args:
        epsilon: any finite number above 0.
        delta: 1e-280 <= delta < 1.

    Returns:
        sigma / l2_sensitivity, rounded up.

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range.

    Source: Dwork and Roth 2014, Theorem A.1; used by the paper.

    Example:
        >>> round(classical_noise_multiplier(0.3, 1e-3), 3)
        12.588
    """
    epsilon, delta = checked_real("epsilon", epsilon), checked_delta(delta)
    multiplier = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    if math.isinf(multiplier):
        raise ArgumentValueError(f"epsilon: expected at least 1e-300, got {epsilon:g}")
    return multiplier * (1.0 + 4e-15)
