"""Calibration: the noise that (epsilon, delta)-DP requires of a sketch.

The noise covers an event that is chosen by looking at everything published before it, and every
difference between ideal noise and the noise that a computer draws. A calibration costs about 3 ms,
less for a pair (epsilon, delta) that was used before, and 0.03 ms if the same one was made before:
the last 1,024 are kept. Prefer ``"analytic"``; the classical formula serves to reproduce published
experiments. Every result errs towards privacy.

Sources: docs/theory.md, Theorems 15 and 16; M. J. Wichura, AS241, 1988 (the quantile whose error
eta bounds); :mod:`lazysketch.privacy.gaussian`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.adaptive import IntegerNoise, least_noise, smoothed
from lazysketch.privacy.gaussian import classical_noise_multiplier, smallest_sufficient
from lazysketch.privacy.relations import (
    LARGEST_DEPTH,
    SMALLEST_DELTA,
    Calibration,
    checked_calibration,
    checked_delta,
    checked_epsilon,
    square_root_up,
)

__all__ = ["NoiseCalibration", "calibrate"]

# Accuracy of the draws: docs/guarantees.md, "From real numbers to a computer".
_PMF_ERROR: Final = 2.0**-47  # relative error of a probability, per unit of sigma
_PMF_ERROR_LEAST_SIGMA: Final = 8.0  # below this sigma the error stays constant: see _Account
_DRAW_TAIL: Final = 2.1e-21  # P(|x| > 9.5), where the relative error is not bounded
_FAR_TAIL: Final = 3.9e-28  # P(|x| > 11)
_FAR_ERROR: Final = 2.0**-37  # relative error of a probability up to 11 sigma, per unit of sigma
_NUMERIC_SHARE: Final = 0.01
_NUMERIC_GROWTH: Final = 1.02  # of sigma, where numerics take their share of epsilon and delta
_LARGEST_NAMED: Final = 0.99  # a delta that an error may name
_NAMED_WITHIN: Final = 1.1  # times the least delta that is accepted
_LARGEST_DEVIATION: Final = 13.2  # of a draw, in units of sigma, before it is rounded


@dataclass(frozen=True)
class NoiseCalibration:
    """The noise of a sketch, and the numbers that justify it; made by :func:`calibrate`.

    Guarantee: ``sigma`` gives (epsilon, delta)-DP for the noise as it is drawn, not only
    for ideal Gaussian noise, also if the event is chosen by what was published before it.

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
    table_sensitivity2: int | Fraction,
    mechanism_sensitivity2: int | Fraction,
    mechanism_nodes: int,
    changed_cells: int,
    draws: int,
    max_weight: int,
    max_events_per_user: int,
    depth: int = 1,
    people: int = 0,
) -> NoiseCalibration:
    """Return the smallest sigma that keeps a sketch within (epsilon, delta).

    Guarantee: ``adaptive_delta(epsilon - epsilon_numeric, sigma / l2_sensitivity, depth=depth)
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
        depth: rows of the table, which share its sensitivity equally; 1 covers every table.
        people: people whose contributions are bounded, 0 to 2^32; their identities may collide.

    Returns:
        The calibration.

    Raises:
        ArgumentTypeError: an argument has the wrong type.
        ArgumentValueError: an argument is outside its range, or a numeric part exceeds 1 %.

    Source: docs/guarantees.md, "Calibration" and "From real numbers to a computer"; docs/theory.md,
    Theorems 15 and 16.

    Example:
        >>> noise = calibrate(
        ...     epsilon=1.0, delta=1e-6, calibration="analytic",
        ...     table_sensitivity2=6, mechanism_sensitivity2=49, mechanism_nodes=11,
        ...     changed_cells=6, draws=3 * 1024 * 1024, max_weight=1, max_events_per_user=1,
        ...     depth=3,
        ... )
        >>> round(noise.l2_sensitivity, 3), round(noise.sigma, 2)
        (17.146, 72.69)
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    if checked_calibration(calibration) == "classical" and epsilon >= 1.0:
        raise ArgumentValueError(
            f'epsilon: expected below 1 for calibration="classical", got {epsilon:g}'
        )
    table2 = table_sensitivity2
    if not isinstance(table2, Fraction):
        table2 = checked_integer("table_sensitivity2", table2)
    mechanism2 = mechanism_sensitivity2
    if not isinstance(mechanism2, Fraction):
        mechanism2 = checked_integer("mechanism_sensitivity2", mechanism2)
    nodes = checked_integer("mechanism_nodes", mechanism_nodes)
    cells = checked_integer("changed_cells", changed_cells)
    all_draws = checked_integer("draws", draws, most=2**128)
    weight = checked_integer("max_weight", max_weight)
    events = checked_integer("max_events_per_user", max_events_per_user)
    rows = checked_integer("depth", depth, most=LARGEST_DEPTH)
    l2_sensitivity = square_root_up(table2 * mechanism2 * (weight * events) ** 2)
    account = _Account(
        epsilon,
        delta,
        changed_draws=cells * nodes * events,
        draws=all_draws,
        people=checked_integer("people", people, least=0, most=2**32),
    )

    def solved(account: _Account) -> float:
        return _smallest_sigma(account, calibration, l2_sensitivity, rows)

    try:
        sigma = solved(account)
    except _ExcessError as excess:
        raise _refusal(account, excess.sigma, solved) from None
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

    and likewise for the switch from a permutation to a function, for noise and for the identities
    of people, which differ for different people except with probability people^2 2^-129. The factor
    (1 + e^eps) is needed: at epsilon = 100 the tails of Q's noise lie in the middle of P's.

    An adversary can wait until any draw of the sketch is extreme, and then choose an event that
    changes it: so all draws count for the tails. Up to 11 sigma their error is bounded.

    eta is 2^-47 sigma for wide noise. Below sigma = 3 measured errors exceed that (2e-14 at
    sigma = 2), because a step of the integer noise spans much of the density and eta no longer
    shrinks. So eta is constant below sigma = 8.
    """

    epsilon: float
    delta: float
    changed_draws: int
    draws: int
    people: int = 0

    def epsilon_numeric(self, sigma: float) -> float:
        eta = _PMF_ERROR * max(sigma, _PMF_ERROR_LEAST_SIGMA)
        return math.nextafter(2.0 * self.changed_draws * eta, math.inf)

    def tails(self, sigma: float) -> float:
        """Return the part of delta_numeric that no factor of epsilon covers."""
        blocks = math.ldexp(float(self.draws) ** 2, -129)
        # So many draws that whole blocks could be told from independent ones. Fewer draws keep the
        # account, and with it the noise, that they have always had.
        if (1.0 + math.exp(self.epsilon)) * blocks > 0.5 * _NUMERIC_SHARE * self.delta:
            blocks = min(blocks, _switching_of_draws(self.draws, sigma))
        switching = blocks + math.ldexp(float(self.people) ** 2, -129)
        error = _FAR_ERROR * max(sigma, _PMF_ERROR_LEAST_SIGMA)
        aimed = self.draws * (_FAR_TAIL + _DRAW_TAIL * error)
        changed = self.changed_draws * _DRAW_TAIL
        return (1.0 + math.exp(self.epsilon)) * (changed + aimed + switching)

    def share_of_factor(self, sigma: float) -> float:
        """Return the share of delta that the factor e^(m eta) takes."""
        return math.expm1(min(1.0, 0.5 * self.epsilon_numeric(sigma)))

    def delta_numeric(self, sigma: float) -> float:
        # x = e^(m eta): x (delta - (x - 1) delta - tails) + tails <= delta.
        factor = self.share_of_factor(sigma)
        return (factor * self.delta + self.tails(sigma)) * (1.0 + 1e-14)

    def refuse_excess(self, sigma: float) -> None:
        """Raise if this sigma spends more than 1 % of epsilon or delta on numerics."""
        of_epsilon = self.epsilon_numeric(sigma) / self.epsilon
        of_delta = self.delta_numeric(sigma) / self.delta
        if max(of_epsilon, of_delta) > _NUMERIC_SHARE:
            raise _ExcessError(sigma)

    def sufficient_delta(self, sigma: float) -> float:
        """Return the least delta of which numerics of this sigma take no more than their share.

        None below delta counts. It has three digits, and is 1 or more if there is none.
        """
        left = _NUMERIC_SHARE - self.share_of_factor(sigma)
        delta = self.delta
        while left > 0.0 and delta < 1.0:
            # A larger delta may be one whose account of the draws is the one of few draws.
            sufficient = _rounded_up(replace(self, delta=delta).tails(sigma) / left)
            if sufficient <= delta:
                return delta
            delta = sufficient
        return 1.0

    def delta_of_few_draws(self) -> float:
        """Return the delta from which on the account of the draws is the one of few draws."""
        blocks = math.ldexp(float(self.draws) ** 2, -129)
        return (1.0 + math.exp(self.epsilon)) * blocks / (0.5 * _NUMERIC_SHARE)


class _ExcessError(Exception):
    """Numerics take more than their share of epsilon or delta."""

    def __init__(self, sigma: float) -> None:
        super().__init__(sigma)
        self.sigma = sigma


def _refusal(
    account: _Account, sigma: float, solved: Callable[[_Account], float]
) -> ArgumentValueError:
    """Return the error of an account whose noise was found to be this large, or larger.

    ``solved`` returns sigma, or raises.
    """
    of_epsilon = account.epsilon_numeric(sigma) / account.epsilon
    of_delta = account.delta_numeric(sigma) / account.delta
    of_factor = account.share_of_factor(_NUMERIC_GROWTH * sigma)
    # No delta mends an epsilon, and where the factor of delta takes all, hardly one mends delta.
    if of_delta <= _NUMERIC_SHARE or max(of_epsilon, of_factor) > _NUMERIC_SHARE:
        return ArgumentValueError(
            "epsilon: expected a budget of which floating point takes at most 1 %, "
            f"got {account.epsilon:g}, of which it takes "
            f"{100 * max(of_epsilon, of_delta):.4g} % or more; raise epsilon, or lower "
            "max_weight, max_events_per_user or person_bound, of sums raise step, or give a "
            "horizon"
        )
    accepted = _least_accepted(account, sigma, solved)
    if accepted is None:
        return ArgumentValueError(
            "epsilon: expected one that 127-bit noise draws can serve (below about 20), "
            f"got {account.epsilon:g}; lower epsilon"
        )
    return ArgumentValueError(
        f"delta: expected at least {accepted:.3g}, the reach of "
        f"127-bit noise draws at epsilon = {account.epsilon:g}, got {account.delta:g}; "
        "raise delta or lower epsilon"
    )


def _least_accepted(
    account: _Account, sigma: float, solved: Callable[[_Account], float]
) -> float | None:
    """Return a delta of three digits that is accepted, or None if none is found.

    It is at most a tenth more than the least one. A larger delta needs less noise, whose numerics
    take less. So what suffices for the noise of the refused delta is accepted, though it may be far
    too much. What suffices for the noise of an accepted delta is a bound from below.
    """

    def sigma_of(delta: float) -> float | None:
        try:
            return solved(replace(account, delta=delta))
        except _ExcessError:
            return None

    refused = account.delta
    # Where the account of few draws begins, a larger delta may be refused again.
    few = _rounded_up(0.99 * account.delta_of_few_draws())
    guesses = (account.sufficient_delta(_NUMERIC_GROWTH * sigma), few, _LARGEST_NAMED)
    for enough in sorted(guess for guess in guesses if refused < guess < 1.0):
        noise = sigma_of(enough)
        if noise is not None:
            return _least_between(replace(account, delta=refused), enough, noise, sigma_of)
        refused = enough
    return None


def _least_between(
    refused: _Account, enough: float, noise: float, sigma_of: Callable[[float], float | None]
) -> float:
    """Return nearly the least delta between a refused one and one that this noise serves."""
    bound = refused.sufficient_delta(noise)
    while enough > _NAMED_WITHIN * bound:
        halfway = _rounded_up(math.sqrt(refused.delta) * math.sqrt(enough))
        tried = bound if bound > refused.delta else halfway
        its_noise = sigma_of(tried)
        if its_noise is None:
            refused = replace(refused, delta=tried)
        else:
            enough, noise = tried, its_noise
        bound = refused.sufficient_delta(noise)
    return enough


def _rounded_up(number: float) -> float:
    """Return a positive number with three digits, none of them rounded down."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.ceil(number / unit) * unit:.3g}")


def _switching_of_draws(draws: int, sigma: float) -> float:
    """Return how well rounded draws of a permutation's blocks differ from independent ones.

    A draw has few values, each from very many blocks. So even half of all blocks that could be told
    from independent ones by a repetition say little once they are draws: docs/theory.md, Lemma 5a.
    """
    values = 2.0 * _LARGEST_DEVIATION * sigma + 3.0
    left = 2**128 - draws
    if left <= 0:
        return math.inf
    return 0.5 * math.sqrt(values) * (draws / left) * (1.0 + 1e-14)


# A function of the arguments alone. Windows, stores and plans ask for the same again and again.
@lru_cache(maxsize=1024)
def _smallest_sigma(
    account: _Account, calibration: Calibration, l2_sensitivity: float, depth: int
) -> float:
    """Return the fixed point of sigma = multiplier(budget less numerics) * l2, from above."""
    classical = calibration == "classical"
    multiplier, smoothing = least_noise(account.epsilon, account.delta, depth)
    if classical:
        multiplier = classical_noise_multiplier(account.epsilon, account.delta)
    # Numerics only reduce the budget, so sigma without them is a lower bound.
    lowest = multiplier * l2_sensitivity
    account.refuse_excess(lowest)

    def sufficient(sigma: float) -> bool:
        epsilon = account.epsilon - account.epsilon_numeric(sigma)
        delta = account.delta - account.delta_numeric(sigma)
        if epsilon <= 0.0 or delta < SMALLEST_DELTA:
            return False
        nearest = sigma / l2_sensitivity
        below = math.nextafter(nearest, 0.0)
        if classical and classical_noise_multiplier(epsilon, delta) > below:
            return False
        # A computed delta is monotone only up to rounding, so check both neighbours.
        bounds = [smoothed({IntegerNoise(m, depth): 1}, smoothing) for m in (below, nearest)]
        return all(bound is not None and bound.delta(epsilon) <= delta for bound in bounds)

    too_small, enough = lowest * (1.0 - 1e-9), lowest * (1.0 + 1e-9)
    while not sufficient(enough):
        account.refuse_excess(enough)
        too_small, enough = enough, lowest + 16.0 * (enough - lowest)
    sigma = smallest_sufficient(too_small, enough, sufficient)
    account.refuse_excess(sigma)
    return sigma
