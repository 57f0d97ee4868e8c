"""Calibration: the Gaussian noise that (epsilon, delta)-DP requires.

This module computes the exact delta of a Gaussian mechanism, its inverse, and the sigma of a
sketch, including an account of every difference between ideal noise and the noise that a computer
draws. It costs about 10 microseconds per delta and 1 ms per calibration, once per sketch. Prefer
``"analytic"``; the classical formula serves to reproduce published experiments.

Every result errs towards privacy: deltas are rounded up, multipliers solved from above.
``noise_multiplier`` = sigma / l2_sensitivity is 1 / mu in the papers.

Sources: B. Balle and Y.-X. Wang, ICML 2018, Theorem 8 (analytic); C. Dwork and
A. Roth, 2014, Theorem A.1 (classical); J. Dong, A. Roth and W. Su, 2022 (mu);
M. J. Wichura, AS241, 1988 (the quantile whose error eta bounds).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import (
    SMALLEST_DELTA,
    Calibration,
    checked_calibration,
    checked_delta,
    checked_epsilon,
    square_root_up,
)

__all__ = [
    "NoiseCalibration",
    "calibrate",
    "classical_noise_multiplier",
    "gaussian_delta",
    "noise_multiplier",
]

# Bound of the relative error of computed deltas; measured below 1e-13 against 60 digits (tests).
_MARGIN: Final = 1e-11
_LARGEST_A: Final = 36.0  # Q(36) < 1e-283 < SMALLEST_DELTA
_PANELS: Final = 16
_NODES_PER_PANEL: Final = 20
_TAIL_EXPONENT: Final = 45.0  # the integral ends where its integrand has fallen by e^-45

# Accuracy of the draws: docs/guarantees.md, "From real numbers to a computer".
_PMF_ERROR: Final = 2.0**-47  # relative error of a probability, per unit of sigma
_PMF_ERROR_LEAST_SIGMA: Final = 8.0  # below this sigma the error stays constant: see _Account
_DRAW_TAIL: Final = 2.1e-21  # P(|x| > 9.5), where the relative error is not bounded
_NUMERIC_SHARE: Final = 0.01


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
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
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
    return _smallest_sufficient(too_small, enough, sufficient)


def _smallest_sufficient(
    too_small: float, enough: float, sufficient: Callable[[float], bool]
) -> float:
    """Return a multiplier found by bisection that itself passes the test."""
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


@dataclass(frozen=True)
class NoiseCalibration:
    """The noise of a sketch, and the numbers that justify it; made by :func:`calibrate`.

    Guarantee: ``sigma`` gives (epsilon, delta)-DP for the noise as it is drawn, not only
    for ideal Gaussian noise.

    Attributes:
        epsilon: as requested.
        delta: as requested.
        calibration: ``"analytic"`` or ``"classical"``.
        noise_multiplier: sigma / l2_sensitivity, rounded down.
        l2_sensitivity: L2 distance by which one person moves all noisy queries, rounded up.
        sigma: standard deviation of each noise draw, in counts.
        epsilon_numeric: part of epsilon spent on floating point.
        delta_numeric: part of delta spent on floating point and on the block cipher.
    """

    epsilon: float
    delta: float
    calibration: Calibration
    noise_multiplier: float
    l2_sensitivity: float
    sigma: float
    epsilon_numeric: float
    delta_numeric: float


def calibrate(
    *,
    epsilon: float,
    delta: float,
    calibration: Calibration,
    table_sensitivity2: int,
    mechanism_sensitivity2: int | Fraction,
    mechanism_nodes: int,
    changed_cells: int,
    draws: int,
    max_weight: int,
    max_events_per_user: int,
) -> NoiseCalibration:
    """Return the smallest sigma that keeps a sketch within (epsilon, delta).

    Guarantee: ``gaussian_delta(epsilon - epsilon_numeric, sigma / l2_sensitivity)
    <= delta - delta_numeric``, where the numeric parts are those of this sigma.

    Args:
        epsilon: 0 < epsilon <= 100, and below 1 for ``"classical"``.
        delta: 0 < delta < 1.
        calibration: ``"analytic"``, or ``"classical"`` to reproduce the paper.
        table_sensitivity2: from :func:`lazysketch.privacy.relations.table_sensitivity2`.
        mechanism_sensitivity2: squared column norm of the mechanism.
        mechanism_nodes: largest number of its nodes that one leaf changes.
        changed_cells: from :func:`lazysketch.privacy.relations.changed_cells`.
        draws: number of all noise draws of the sketch, depth * width * leaves.
        max_weight: largest weight of one event, in counts.
        max_events_per_user: events protected together.

    Returns:
        The calibration.

    Raises:
        ArgumentTypeError: an argument has the wrong type.
        ArgumentValueError: an argument is outside its range, or a numeric part exceeds 1 %.

    Source: docs/guarantees.md, "Calibration" and "From real numbers to a computer".

    Example:
        >>> noise = calibrate(
        ...     epsilon=1.0, delta=1e-6, calibration="analytic",
        ...     table_sensitivity2=6, mechanism_sensitivity2=49, mechanism_nodes=11,
        ...     changed_cells=6, draws=3 * 1024 * 1024, max_weight=1, max_events_per_user=1,
        ... )
        >>> round(noise.l2_sensitivity, 3), round(noise.sigma, 2)
        (17.146, 72.44)
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    if checked_calibration(calibration) == "classical" and epsilon >= 1.0:
        raise ArgumentValueError(
            f'epsilon: expected below 1 for calibration="classical", got {epsilon:g}'
        )
    table2 = checked_integer("table_sensitivity2", table_sensitivity2)
    mechanism2 = mechanism_sensitivity2
    if not isinstance(mechanism2, Fraction):
        mechanism2 = checked_integer("mechanism_sensitivity2", mechanism2)
    nodes = checked_integer("mechanism_nodes", mechanism_nodes)
    cells = checked_integer("changed_cells", changed_cells)
    all_draws = checked_integer("draws", draws, most=2**128)
    weight = checked_integer("max_weight", max_weight)
    events = checked_integer("max_events_per_user", max_events_per_user)
    l2_sensitivity = square_root_up(table2 * mechanism2 * (weight * events) ** 2)
    account = _Account(epsilon, delta, changed_draws=cells * nodes * events, draws=all_draws)
    sigma = _smallest_sigma(account, calibration, l2_sensitivity)
    return NoiseCalibration(
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        noise_multiplier=math.nextafter(sigma / l2_sensitivity, 0.0),
        l2_sensitivity=l2_sensitivity,
        sigma=sigma,
        epsilon_numeric=account.epsilon_numeric(sigma),
        delta_numeric=account.delta_numeric(sigma),
    )


@dataclass(frozen=True)
class _Account:
    """Privacy cost of the drawn noise beyond that of ideal noise, as a function of sigma.

    P, Q are the ideal outputs on the two streams, P~, Q~ those as drawn. Except in the tails of
    the m changed draws, where no bound holds (total mass m * 2.1e-21), the densities agree within
    a factor e^(m eta). Hence for every event S

        P~(S) <= e^(m eta) P(S) + tail <= e^(m eta) (e^eps' Q(S) + delta') + tail
              <= e^(2 m eta + eps') Q~(S) + e^(m eta) delta' + (1 + e^eps) tail,

    and likewise for the switch from a permutation to a function. The factor (1 + e^eps) is
    needed: at epsilon = 100 the tails of Q's noise lie in the middle of P's.

    eta is 2^-47 sigma for wide noise. Below sigma = 3 measured errors exceed that (2e-14 at
    sigma = 2), because a step of the integer noise spans much of the density and eta no longer
    shrinks. So eta is constant below sigma = 8.
    """

    epsilon: float
    delta: float
    changed_draws: int
    draws: int

    def epsilon_numeric(self, sigma: float) -> float:
        eta = _PMF_ERROR * max(sigma, _PMF_ERROR_LEAST_SIGMA)
        return math.nextafter(2.0 * self.changed_draws * eta, math.inf)

    def tails(self) -> float:
        """Return the part of delta_numeric that does not depend on sigma."""
        switching = math.ldexp(float(self.draws) ** 2, -129)
        return (1.0 + math.exp(self.epsilon)) * (self.changed_draws * _DRAW_TAIL + switching)

    def delta_numeric(self, sigma: float) -> float:
        # x = e^(m eta): x (delta - (x - 1) delta - tails) + tails <= delta.
        factor = math.expm1(min(1.0, 0.5 * self.epsilon_numeric(sigma)))
        return (factor * self.delta + self.tails()) * (1.0 + 1e-14)

    def refuse_excess(self, sigma: float) -> None:
        """Raise if this sigma spends more than 1 % of epsilon or delta on numerics."""
        of_epsilon = self.epsilon_numeric(sigma) / self.epsilon
        of_delta = self.delta_numeric(sigma) / self.delta
        if of_delta > _NUMERIC_SHARE and 2.0 * self.tails() > _NUMERIC_SHARE * self.delta:
            if self.tails() > _NUMERIC_SHARE:
                raise ArgumentValueError(
                    "epsilon: expected one that 127-bit noise draws can serve (below about 20), "
                    f"got {self.epsilon:g}; lower epsilon"
                )
            raise ArgumentValueError(
                f"delta: expected at least {self.tails() / _NUMERIC_SHARE:.3g}, the reach of "
                f"127-bit noise draws at epsilon = {self.epsilon:g}, got {self.delta:g}; "
                "raise delta or lower epsilon"
            )
        if max(of_epsilon, of_delta) > _NUMERIC_SHARE:
            raise ArgumentValueError(
                "epsilon: expected a budget of which floating point takes at most 1 %, "
                f"got {self.epsilon:g}, of which it takes "
                f"{100 * max(of_epsilon, of_delta):.4g} % or more; "
                "raise epsilon or lower max_weight or max_events_per_user"
            )


def _smallest_sigma(account: _Account, calibration: str, l2_sensitivity: float) -> float:
    """Return the fixed point of sigma = multiplier(budget less numerics) * l2, from above."""
    solve = classical_noise_multiplier if calibration == "classical" else noise_multiplier
    # Numerics only reduce the budget, so sigma without them is a lower bound.
    lowest = solve(account.epsilon, account.delta) * l2_sensitivity
    account.refuse_excess(lowest)

    def sufficient(sigma: float) -> bool:
        epsilon = account.epsilon - account.epsilon_numeric(sigma)
        delta = account.delta - account.delta_numeric(sigma)
        if epsilon <= 0.0 or delta < SMALLEST_DELTA:
            return False
        nearest = sigma / l2_sensitivity
        below = math.nextafter(nearest, 0.0)
        if calibration == "classical" and classical_noise_multiplier(epsilon, delta) > below:
            return False
        # A computed delta is monotone only up to rounding, so check both neighbours.
        return all(_gaussian_delta(epsilon, ratio) <= delta for ratio in (below, nearest))

    too_small, enough = lowest * (1.0 - 1e-9), lowest * (1.0 + 1e-9)
    while not sufficient(enough):
        account.refuse_excess(enough)
        too_small, enough = enough, lowest + 16.0 * (enough - lowest)
    sigma = _smallest_sufficient(too_small, enough, sufficient)
    account.refuse_excess(sigma)
    return sigma
