"""The (epsilon, delta) curve of Gaussian noise as a computer draws it.

It gives a delta for every epsilon and an epsilon for every delta, from the one pair that was
calibrated for. It costs about 10 microseconds per delta and 1 ms per epsilon. A noise multiplier
gives the curve of ideal draws, for an event that is chosen from releases; the cost of floating
point and of the block cipher is known only through the calibrated pair, so it is bounded from that
pair and added everywhere else.

The account of :mod:`lazysketch.privacy.calibration` holds at every e, not only at the calibrated
epsilon:

    delta(e) <= x f G(e - n) + (1 + exp(e)) t,    x = exp(n / 2),

where f G bounds the delta of ideal draws (:class:`lazysketch.privacy.adaptive.Smoothed`), n =
``epsilon_numeric`` and t is the probability outside the reach of the draws.

Sources: B. Balle and Y.-X. Wang, ICML 2018, Theorem 8; docs/theory.md, "Composition" and
Theorem 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.adaptive import IntegerNoise, Smoothed, least_noise, smoothed
from lazysketch.privacy.relations import LARGEST_EPSILON, checked_delta, checked_epsilon

__all__ = ["GaussianCurve", "curve_of", "ideal_bound"]

# calibrate() refuses to spend more than this share of epsilon or of delta on numerics.
_NUMERIC_SHARE: Final = 0.01
# gaussian_delta may exceed the exact value by this relative amount.
_DELTA_EXCESS: Final = 2e-11
_STEPS: Final = 100


@dataclass(frozen=True, kw_only=True)
class GaussianCurve:
    """All (epsilon, delta) that a Gaussian mechanism satisfies, numerics included.

    Guarantee: every pair that :meth:`delta_at` or :meth:`epsilon_at` returns holds, if the pair
    (``epsilon``, ``delta``) holds and the numeric parts are bounded as stated.

    Args:
        ideal: the bound of ideal draws, of all parts together.
        epsilon_numeric: n of the module's docstring, at least 0.
        tail: t of the module's docstring, at least 0.
        epsilon: with ``delta``, a pair known to hold.
        delta: see ``epsilon``.

    Source: docs/theory.md, "Composition".

    Example:
        >>> curve = GaussianCurve(
        ...     ideal=Smoothed(4.225, 1.0), epsilon_numeric=0.0, tail=0.0, epsilon=1.0, delta=1e-6
        ... )
        >>> round(curve.epsilon_at(1e-9), 3)
        1.318
    """

    ideal: Smoothed
    epsilon_numeric: float
    tail: float
    epsilon: float
    delta: float

    def delta_at(self, epsilon: float) -> float:
        """Return a delta that holds at this epsilon, rounded up.

        Args:
            epsilon: 0 < epsilon <= 100.

        Returns:
            delta, in [1e-280, 1], non-increasing in epsilon.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.
        """
        asked = checked_epsilon(epsilon)
        bound = self._bound(min(asked, self._largest_useful()))
        return min(bound, self.delta) if asked >= self.epsilon else bound

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon that holds at this delta, rounded up.

        Args:
            delta: 1e-280 <= delta < 1.

        Returns:
            epsilon, above 0; infinite if no epsilon up to 100 holds at this delta.

        Raises:
            ArgumentTypeError: not a real number.
            ArgumentValueError: outside its range.
        """
        asked = checked_delta(delta)
        known = self.epsilon if asked >= self.delta else math.inf
        enough, too_small = self._largest_useful(), self.epsilon_numeric
        if self._bound(enough) > asked:
            return known
        for _ in range(_STEPS):
            middle = 0.5 * (too_small + enough)
            if not too_small < middle < enough:
                break
            if self._bound(middle) <= asked:  # the returned epsilon itself has passed this test
                enough = middle
            else:
                too_small = middle
        return min(enough, known)

    def _bound(self, epsilon: float) -> float:
        left = epsilon - self.epsilon_numeric
        if left <= 0.0:
            return 1.0
        below = self.ideal.delta(math.nextafter(left, 0.0))
        spent = (1.0 + math.exp(epsilon)) * self.tail
        return min(1.0, (math.exp(0.5 * self.epsilon_numeric) * below + spent) * (1.0 + 1e-14))

    def _largest_useful(self) -> float:
        """Return the epsilon at which the bound is smallest, at most 100.

        Beyond it the part of the tail grows. As a function of exp(e) the bound is convex with
        slope t - x f exp(-n) Q(b), where b = (e - n) / mu + mu / 2. The result may be inexact: the
        bound at a smaller epsilon is valid at a larger one too.
        """
        if self.tail == 0.0:
            return LARGEST_EPSILON
        mu = 1.0 / self.ideal.noise_multiplier
        level = min(0.5, self.tail * math.exp(0.5 * self.epsilon_numeric) / self.ideal.factor)
        from statistics import NormalDist  # late: it loads random and hashlib

        b = -NormalDist().inv_cdf(level)
        return min(LARGEST_EPSILON, max(0.0, self.epsilon_numeric + mu * (b - 0.5 * mu)))


def curve_of(
    epsilon: float, delta: float, noise_multiplier: float, *, depth: int = 1
) -> GaussianCurve:
    """Return the curve through the pair that a noise multiplier was calibrated for.

    Guarantee: the numeric parts are at least those that the calibration counted. It required
    f G(epsilon - n) + (x - 1) delta + (1 + exp(epsilon)) t <= delta; the whole distance between
    f G and the pair is attributed to n, and again to t, but never more than 1 % of either.

    Args:
        epsilon: as calibrated for.
        delta: as calibrated for.
        noise_multiplier: result of the calibration.
        depth: rows of the table, as calibrated for.

    Returns:
        The curve.

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range, or so little noise proves nothing.

    Source: :func:`lazysketch.privacy.calibration.calibrate`.

    Example:
        >>> curve_of(1.0, 1e-6, 4.3).delta_at(1.0) <= 1e-6
        True
    """
    ideal = ideal_bound(epsilon, delta, noise_multiplier, depth=depth)
    unspent = delta - ideal.delta(epsilon) * (1.0 - _DELTA_EXCESS)
    spent = min(_NUMERIC_SHARE * delta, max(0.0, unspent) + 1e-15 * delta)
    too_small, enough = (1.0 - _NUMERIC_SHARE) * epsilon, epsilon
    # The largest n with f G(epsilon - n) <= delta, from above: too_small keeps f G > delta.
    for _ in range(_STEPS):
        middle = 0.5 * (too_small + enough)
        if not too_small < middle < enough:
            break
        if ideal.delta(middle) * (1.0 - _DELTA_EXCESS) <= delta:
            enough = middle
        else:
            too_small = middle
    return GaussianCurve(
        ideal=ideal,
        epsilon_numeric=math.nextafter(epsilon - too_small, math.inf),
        tail=spent / (1.0 + math.exp(epsilon)),
        epsilon=epsilon,
        delta=delta,
    )


def ideal_bound(epsilon: float, delta: float, noise_multiplier: float, *, depth: int) -> Smoothed:
    """Return the bound of ideal draws by which a pair was calibrated.

    Args:
        epsilon: as calibrated for.
        delta: as calibrated for.
        noise_multiplier: result of the calibration.
        depth: rows of the table.

    Returns:
        A bound that holds at every epsilon.

    Raises:
        ArgumentTypeError: an argument is not a real number.
        ArgumentValueError: an argument is outside its range, or so little noise proves nothing.
    """
    _, smoothing = least_noise(checked_epsilon(epsilon), checked_delta(delta), depth)
    bound = smoothed({IntegerNoise(noise_multiplier, depth): 1}, smoothing)
    if bound is None:
        raise ArgumentValueError(
            f"noise_multiplier: expected enough for delta = {delta:.6g} at epsilon = "
            f"{epsilon:.6g}, got {noise_multiplier:.6g}"
        )
    return bound
