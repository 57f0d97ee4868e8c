"""Power of the statistical tests: the smallest deviation that they find with probability 0.999.

Each function takes the number of values and the false-alarm rate of one check and returns a
:class:`Found`: the nearest values below and above the claim at which the check fails with a
probability of at least :data:`FOUND`. Results are exact or bounds, so a test may find more than is
stated, never less.

====================  ================================================  ======================
function              deviation                                         distribution
====================  ================================================  ======================
``of_variance``       factor of the standard deviation                  chi-square, exact
``of_weighted``       factor of the standard deviation                  Laurent and Massart
``of_mean``           shift, in deviations                              normal, exact
``of_covariance``     correlation                                       Laurent and Massart
``of_shape``          factor of the standard deviation                  binomial at one point
``of_counts``         factor of the scale of a histogram                binomial, best cell
``of_pearson``        factor of the scale of a histogram                Cauchy; Bernstein
``of_share``          probability of one of two outcomes                binomial, exact
``of_misses``         rate of misses, too many and too few              binomial, exact
``of_tolerance``      factor of the deviation at a tolerance            chi-square, exact
``of_distinguisher``  distance mu of two neighbours                     binomial, exact
====================  ================================================  ======================

``test_power`` plants every stated deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lazysketch.audit.confidence import upper_rate

Probabilities = Callable[[float], NDArray[np.float64]]

FOUND = 0.999
_MISSED = 1 - FOUND
_RANGE = 30.0  # no test here misses a factor of 30


@dataclass(frozen=True)
class Found:
    """The values next to the claim that a check finds with probability :data:`FOUND`."""

    below: float
    above: float


def crossing(increasing: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest value in [low, high] with a property that all larger values share."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(middle) else (middle, high)
    return high


def chi_square_quantile(probability: float, n: float) -> float:
    """The quantile of a chi-square with n degrees of freedom."""
    return 2 * float(special.gammaincinv(n / 2, probability))


def variance_limits(n: int, alpha: float) -> tuple[float, float]:
    """The critical ratios of `p_values.variance`."""
    bound = 2 / n * math.log(2 / alpha)
    high = crossing(lambda r: r - 1 - math.log(r) >= bound, 1.0, 2 + 2 * bound)
    low = crossing(lambda r: r - 1 - math.log(r) < bound, math.exp(-1 - bound), 1.0)
    return low, high


def of_variance(n: int, alpha: float) -> Found:
    """Factors of the deviation that `p_values.variance` finds."""
    low, high = variance_limits(n, alpha)
    return Found(
        math.sqrt(low * n / chi_square_quantile(FOUND, n)),
        math.sqrt(high * n / chi_square_quantile(_MISSED, n)),
    )


def _limit(euclidean: float, largest: float, rate: float) -> float:
    """The deviation of a weighted sum of squares at Laurent and Massart's bound `rate`."""
    x = -math.log(rate)
    return 2 * euclidean * math.sqrt(x) + 2 * largest * x


def of_weighted(weights: NDArray[np.float64], copies: int, alpha: float) -> Found:
    """Factors of the deviation that `p_values.weighted` finds; both tails use the larger bound."""
    total, euclidean = copies * weights.sum(), math.sqrt(copies) * float(np.linalg.norm(weights))
    largest = float(weights.max())
    critical, reach = _limit(euclidean, largest, alpha / 2), _limit(euclidean, largest, _MISSED)
    below = max(0.0, total - critical) / (total + reach)
    above = (total + critical) / (total - 2 * euclidean * math.sqrt(-math.log(_MISSED)))
    return Found(math.sqrt(below), math.sqrt(above))


def of_mean(n: int, alpha: float) -> Found:
    """Shifts of the mean, in deviations, that `p_values.mean` finds."""
    shift = float(special.ndtri(1 - alpha / 2) + special.ndtri(FOUND)) / math.sqrt(n)
    return Found(-shift, shift)


def of_covariance(n: int, alpha: float, correlation: float = 0.0) -> Found:
    """Correlations that `p_values.covariance` finds: 2 if it cannot."""

    def spread(r: float, rate: float) -> float:
        return _limit(math.sqrt(n * (1 + r * r) / 2), (1 + abs(r)) / 2, rate)

    critical = spread(correlation, alpha / 2)

    def finds(r: float) -> bool:
        return n * abs(r - correlation) - critical >= spread(r, _MISSED)

    above = crossing(finds, correlation, 2.0)
    below = -crossing(lambda r: finds(-r), -correlation, 2.0)
    return Found(below, above)


def of_shape(n: int, alpha: float) -> Found:
    """Factors of the deviation that `p_values.shape` finds, from its distance at one point.

    Rounding, at most 1/(30 deviation) of the distance, is not counted: deviations of 10 and more.
    """
    critical = math.sqrt(math.log(2 / alpha) / (2 * n))
    x = np.linspace(0.2, 2.5, 47)
    claimed = special.ndtr(x)

    def finds(factor: float) -> bool:
        p = special.ndtr(x / factor)
        side = 1.0 if factor < 1 else -1.0
        needed = np.floor(n * (claimed + side * critical)) + (side > 0)
        tail = special.bdtrc(needed - 1, n, p) if side > 0 else special.bdtr(needed, n, p)
        return bool(np.nanmax(tail) >= FOUND)

    return Found(1 / crossing(lambda f: finds(1 / f), 1.0, _RANGE), crossing(finds, 1.0, _RANGE))


def divergence(f: NDArray[np.float64], p: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Relative entropy of two coins."""
    return np.asarray(special.rel_entr(f, p) + special.rel_entr(1 - f, 1 - p))


def acceptance(n: int, p: NDArray[np.float64], log: float) -> tuple[NDArray, NDArray]:
    """The smallest and largest counts k with n KL(k / n || p) < log, per cell."""
    low = np.zeros(p.size)
    high = np.full(p.size, float(n))
    fewest, most = np.floor(n * p), np.ceil(n * p)
    for _ in range(n.bit_length() + 2):  # bisection over integers, all cells at once
        middle = np.floor((low + fewest) / 2)
        inside = n * divergence(middle / n, p) < log
        fewest, low = np.where(inside, middle, fewest), np.where(inside, low, middle + 1)
        low = np.minimum(low, fewest)
        middle = np.ceil((high + most) / 2)
        inside = n * divergence(middle / n, p) < log
        most, high = np.where(inside, middle, most), np.where(inside, high, middle - 1)
        high = np.maximum(high, most)
    return fewest, most


def of_counts(n: int, alpha: float, probabilities: Probabilities) -> Found:
    """Factors of the scale that `p_values.counts` finds, in the best cell.

    `probabilities` gives the cells at a factor of the scale; at 1 those of the claim.
    """
    claimed = probabilities(1.0)
    fewest, most = acceptance(n, claimed, math.log(2 * claimed.size / alpha))

    def finds(factor: float) -> bool:
        p = probabilities(factor)
        few = np.where(fewest > 0, special.bdtr(np.maximum(fewest - 1, 0), n, p), 0.0)
        many = np.where(most < n, special.bdtrc(most, n, p), 0.0)
        return bool(max(few.max(), many.max()) >= FOUND)

    return Found(1 / crossing(lambda f: finds(1 / f), 1.0, _RANGE), crossing(finds, 1.0, _RANGE))


def pearson_limits(cells: int, alpha: float) -> tuple[float, float]:
    """Critical values of Pearson's statistic, Wilson and Hilferty's, `alpha` for each side."""
    spread, z = 2 / (9 * (cells - 1)), float(special.ndtri(1 - alpha))
    low, high = (1 - spread + side * z * math.sqrt(spread) for side in (-1, 1))
    return (cells - 1) * max(0.0, low) ** 3, (cells - 1) * high**3


def of_pearson(n: int, alpha: float, probabilities: Probabilities) -> Found:
    """Factors of the scale that Pearson's statistic finds above its upper critical value.

    For any weights w, the statistic is at least L^2 / (n sum w^2 p) with L = sum w (N - n p), by
    Cauchy's inequality. L is a sum of n bounded terms, so Bernstein's inequality bounds its tail.
    """
    claimed = probabilities(1.0)
    _, critical = pearson_limits(claimed.size, alpha)

    def finds(factor: float) -> bool:
        p = probabilities(factor)
        w = p / claimed - 1
        norm, mean = float((w * w * claimed).sum()), float((w * p).sum())
        if norm == 0.0:
            return False
        variance, reach = float((w * w * p).sum()) - mean**2, float(np.ptp(w))
        x = -math.log(_MISSED)
        slack = math.sqrt(2 * n * variance * x) + 2 * reach * x / 3
        return n * mean - slack >= math.sqrt(critical * n * norm)

    return Found(1 / crossing(lambda f: finds(1 / f), 1.0, _RANGE), crossing(finds, 1.0, _RANGE))


def of_share(n: int, alpha: float, p: float) -> Found:
    """Probabilities of one of two outcomes that `p_values.counts` finds."""
    fewest, most = acceptance(n, np.array([p]), math.log(4 / alpha))
    return _rates(n, int(fewest[0]) - 1, int(most[0]) + 1)


def _rates(n: int, few: int, many: int) -> Found:
    """Rates at which at most `few`, and at least `many`, of n occur with probability FOUND.

    A side that no count can reach is -1 or 2.
    """
    below = float(special.bdtri(few, n, FOUND)) if few >= 0 else -1.0
    # P(X >= many) grows with the rate.
    above = 2.0
    if many <= n:
        above = crossing(lambda rate: special.bdtrc(many - 1, n, rate) >= FOUND, 0.0, 1.0)
    return Found(below, above)


def of_misses(n: int, alpha: float, *, most: float, least: float | None = None) -> Found:
    """Rates of misses that `misses.too_many` (claim: at most `most`) and `too_few` find."""
    counts = np.arange(n + 1)
    log = math.log(1 / alpha)
    too_many = (counts > n * most) & (n * divergence(counts / n, most) >= log)
    many = int(np.argmax(too_many)) if too_many.any() else n + 1
    few = -1
    if least is not None:
        too_few = (counts < n * least) & (n * divergence(counts / n, least) >= log)
        few = int(np.flatnonzero(too_few)[-1]) if too_few.any() else -1
    return _rates(n, few, many)


def of_tolerance(n: int, tolerance: float) -> Found:
    """Factors of the deviation at which the mean square of n normals leaves 1 +- tolerance."""
    return Found(
        math.sqrt((1 - tolerance) * n / chi_square_quantile(FOUND, n)),
        math.sqrt((1 + tolerance) * n / chi_square_quantile(_MISSED, n)),
    )


def detection_by_mistakes(trials: int, mu: float, *, claimed: float, risk: float) -> float:
    """The probability that the bound on mu from counted mistakes exceeds the claim.

    Of one decision at the middle between two normals at distance mu, as `Mistakes.mu` bounds it.
    """
    normal, rate = NormalDist(), float(special.ndtr(-mu / 2))
    most = int(trials * rate + 12 * math.sqrt(trials * rate) + 12)
    counts = np.arange(min(most, trials))
    bounds = np.array([-normal.inv_cdf(upper_rate(int(k), trials, risk / 2)) for k in counts])
    log = special.gammaln(trials + 1) - special.gammaln(counts + 1)
    log += -special.gammaln(trials - counts + 1)
    log += special.xlogy(counts, rate) + special.xlog1py(trials - counts, -rate)
    probabilities = np.exp(log)
    exceeds = bounds[:, None] + bounds > claimed
    return float(probabilities @ exceeds @ probabilities)


def of_distinguisher(trials: int, *, claimed: float, risk: float) -> Found:
    """The distance that an attack with this number of trials finds; none is too small for it."""

    def finds(mu: float) -> bool:
        return detection_by_mistakes(trials, mu, claimed=claimed, risk=risk) >= FOUND

    return Found(-1.0, crossing(finds, claimed, claimed + 3.0))
