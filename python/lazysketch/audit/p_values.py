"""Statistical tests of distributions with a declared false-alarm rate.

Each function returns a p-value: under the tested distribution, P(p <= alpha) <= alpha for every
alpha. A test at false-alarm rate alpha fails when p <= alpha; the critical value of the statistic
is the one at which its bound reaches alpha. The bounds are closed forms, not tables, and hold at
1e-9 as well as at 0.05; asymptotic bounds are least accurate that far out.

==============  ====================================  ========================================
test            statistic                             bound of its tail
==============  ====================================  ========================================
``mean``        sum of standardised values            exact normal tail, both sides
``variance``    sum of their squares                  Chernoff, chi-square
``weighted``    weighted sum of squares               Laurent and Massart 2000, Lemma 1
``covariance``  sum of products of two columns        the same (``products`` takes the sum)
``shape``       Kolmogorov's distance to the normal   Dvoretzky, Kiefer, Wolfowitz; Massart 1990
``counts``      worst cell of a histogram             Chernoff, binomial; union over the cells
==============  ====================================  ========================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Sample = NDArray[np.float64]


@dataclass
class Budget:
    """A total false-alarm rate, shared equally by a fixed number of checks.

    Guarantee: if all claimed distributions hold, the probability that any of the checks fails
    is at most `total` (union bound; independence is not assumed). A check beyond the declared
    number raises, so that the number is enforced and not counted by hand.
    """

    total: float
    checks: int
    spent: list[str] = field(default_factory=list)

    @property
    def alpha(self) -> float:
        """The false-alarm rate of one check."""
        return self.total / self.checks

    def check(self, p_value: float, claim: str) -> None:
        """Fail if the p-value is at or below the rate of one check."""
        self.spent.append(claim)
        if len(self.spent) > self.checks:
            raise AssertionError(f"more than {self.checks} checks: raise the number")
        if not p_value > self.alpha:
            raise AssertionError(f"{claim}: p = {p_value:.3g}, alarm at {self.alpha:.3g}")


def mean(standardised: ArrayLike, direction: ArrayLike | None = None) -> float:
    """P-value of independent standard normal values, by their sum; two-sided.

    With a direction, by their inner product with it: a test of correlation with known values.

    False-alarm rate at p <= alpha: exactly alpha for normal values. For rounded values it is off
    by the relative error of the normal tail for a sum of many bounded errors, which is negligible
    for hundreds of values with a deviation above one.

    Power: a shift of s deviations is detected if s sqrt(n) is well above 6 (alpha = 1e-9).
    """
    x = np.asarray(standardised, dtype=np.float64)
    a = np.ones(x.size) if direction is None else np.asarray(direction, dtype=np.float64)
    return math.erfc(abs(float(a @ x)) / (math.sqrt(2) * float(np.linalg.norm(a))))


def variance(standardised: ArrayLike) -> float:
    """P-value of independent standard normal values, by their squares; two-sided.

    False-alarm rate at p <= alpha: at most alpha. With r = S / n for a chi-square S of n
    degrees of freedom, both P(S >= r n) for r > 1 and P(S <= r n) for r < 1 are at most
    exp(-(n/2) (r - 1 - ln r)), the infimum of E exp(t S) / exp(t r n) (Chernoff). Critical
    ratios at n = 8192, alpha = 1e-9: about 0.901 and 1.106.

    This holds for normal values. A single rounded value is exactly 0 with probability
    0.4 / deviation, where the bound is 0. For 64 or more values with a deviation above one,
    rounding changes the tails by less than the slack of the bound.

    Power: a deviation 10 % too large (r = 1.21) or too small (0.81) gives p below 1e-30 at
    n = 8192.
    """
    x = np.asarray(standardised, dtype=np.float64)
    ratio = float(np.mean(x * x))
    if ratio <= 0.0:
        return 0.0
    return min(1.0, 2 * math.exp(-x.size / 2 * (ratio - 1 - math.log(ratio))))


def _laurent_massart(deviation: float, *, euclidean: float, largest: float) -> float:
    """The smallest exp(-x) with 2 euclidean sqrt(x) + 2 largest x <= |deviation|."""
    d = abs(deviation)
    root = (-euclidean + math.sqrt(euclidean * euclidean + 2 * largest * d)) / (2 * largest)
    return math.exp(-root * root)


def weighted(square_sum: float, weights: ArrayLike, *, copies: int) -> float:
    """P-value of S = sum over i, j of weight_i X_ij^2, j = 1..copies, X standard normal.

    False-alarm rate at p <= alpha: at most alpha, two-sided. Laurent and Massart (2000,
    Annals of Statistics 28, Lemma 1): for weights a >= 0 and x > 0, each of
    S - |a|_1 >= 2 |a|_2 sqrt(x) + 2 |a|_inf x and S - |a|_1 <= -2 |a|_2 sqrt(x) has a
    probability of at most exp(-x).
    """
    a = np.asarray(weights, dtype=np.float64)
    return min(
        1.0,
        2
        * _laurent_massart(
            square_sum - copies * float(a.sum()),
            euclidean=math.sqrt(copies) * float(np.linalg.norm(a)),
            largest=float(a.max()),
        ),
    )


def products(total: float, *, pairs: int, correlation: float) -> float:
    """P-value of the sum of x y over independent standard normal pairs; two-sided.

    False-alarm rate at p <= alpha: at most alpha. x y = (1 + r)/2 U^2 - (1 - r)/2 V^2 with
    independent standard normal U and V, so that Laurent and Massart's lemma bounds each side
    with the norms |a|_2^2 = n (1 + r^2) / 2 and |a|_inf <= (1 + |r|) / 2. Critical difference
    of the sample covariance at r = 0, n = 8192, alpha = 1e-9: about 0.075.
    """
    return min(
        1.0,
        2
        * _laurent_massart(
            total - pairs * correlation,
            euclidean=math.sqrt(pairs * (1 + correlation**2) / 2),
            largest=(1 + abs(correlation)) / 2,
        ),
    )


def covariance(x: ArrayLike, y: ArrayLike, correlation: float) -> float:
    """P-value of two columns of standard normal values with a known correlation; see `products`.

    False-alarm rate at p <= alpha: at most alpha.
    """
    one, two = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return products(float(one @ two), pairs=one.size, correlation=correlation)


_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_distribution_function(x: ArrayLike) -> Sample:
    """Phi; accurate in the far left tail too."""
    scaled = np.asarray(x, dtype=np.float64) / -math.sqrt(2)
    result: Sample = np.asarray(_erfc(scaled), dtype=np.float64) / 2
    return result


def shape(integers: ArrayLike, deviation: float) -> float:
    """P-value of independent rounded normal values, by Kolmogorov's distance.

    False-alarm rate at p <= alpha: at most alpha for P(z <= j) = Phi((j + 1/2) / s).
    P(sup |F_n - F| > d) <= 2 exp(-2 n d^2) for every n and every F, continuous or not
    (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990). A haar release
    rounds a sum on a lattice; where ties occur, the step of the lattice is at most 1/12, which
    moves F by at most 1/(60 s). Twice that is subtracted from the distance. Critical distance at
    n = 8192, alpha = 1e-9: 0.036.
    """
    values, occurrences = np.unique(np.asarray(integers), return_counts=True)
    empirical = np.cumsum(occurrences) / occurrences.sum()
    # Between two observed values F_n is constant and F grows: compare at both ends of each gap.
    at = normal_distribution_function((values + 0.5) / deviation)
    before = normal_distribution_function((values - 0.5) / deviation)
    below = np.concatenate([[0.0], empirical[:-1]])
    distance = max(np.abs(empirical - at).max(), np.abs(below - before).max())
    distance = max(0.0, float(distance) - 1 / (30 * deviation))
    return min(1.0, 2 * math.exp(-2 * int(occurrences.sum()) * distance**2))


def counts(observed: ArrayLike, probabilities: ArrayLike) -> float:
    """P-value of a histogram of independent values with known cell probabilities.

    False-alarm rate at p <= alpha: at most alpha. The count of a cell is binomial; by Chernoff
    P(its share is at least as far from p as f, on the same side) <= exp(-n KL(f || p)), where KL
    is the relative entropy of two coins; times 2 sides and the number of cells (union bound).
    """
    seen = np.asarray(observed, dtype=np.float64)
    p = np.asarray(probabilities, dtype=np.float64)
    if seen.shape != p.shape or abs(p.sum() - 1) >= 1e-9:
        raise AssertionError("probabilities: expected one per cell and a total of 1")
    n = seen.sum()
    f = seen / n
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(f > 0, f * np.log(f / p), 0.0)
        miss = np.where(f < 1, (1 - f) * np.log((1 - f) / (1 - p)), 0.0)
    return min(1.0, 2 * p.size * math.exp(-n * float((hit + miss).max())))
