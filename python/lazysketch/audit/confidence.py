"""Lower bounds on privacy loss from counted mistakes, valid at any sample size.

An attacker decides between two streams and is wrong in some of the trials. Clopper and Pearson's
bounds on the two error rates, exact for binomials, give a lower bound on mu (Gaussian privacy) and
on epsilon at a delta. The decision rule must be fixed before the trials: training and test use
different samples.

Source: Clopper and Pearson 1934; Dong, Roth and Su 2022, equation (6); Kairouz, Oh and Viswanath
2015, Theorem 2.1; Nasr et al. 2023 (auditing by mu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

__all__ = ["Mistakes", "upper_rate"]

_NORMAL = NormalDist()


@lru_cache(maxsize=4096)
def upper_rate(wrong: int, trials: int, risk: float) -> float:
    """Return an upper confidence bound on an error rate.

    Args:
        wrong: number of mistakes.
        trials: number of independent trials.
        risk: probability that the bound fails.

    Returns:
        The largest rate p with P(at most ``wrong`` mistakes) >= risk.

    Example:
        >>> round(upper_rate(0, 100, 0.05), 5)
        0.02951
    """
    if wrong >= trials:
        return 1.0
    k = np.arange(wrong + 1)
    steps = np.log(np.arange(1, trials + 1))
    factorials = np.concatenate([[0.0], np.cumsum(steps)])
    chosen = factorials[trials] - factorials[k] - factorials[trials - k]
    low, high = wrong / trials, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        terms = chosen + k * math.log(rate) + (trials - k) * math.log1p(-rate)
        largest = float(terms.max())
        tail = largest + math.log(float(np.exp(terms - largest).sum()))
        low, high = (rate, high) if tail > math.log(risk) else (low, rate)
    return high


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of an attacker.

    Args:
        false_positives: trials of the first stream decided as the second.
        positives: trials of the first stream.
        false_negatives: trials of the second stream decided as the first.
        negatives: trials of the second stream.
    """

    false_positives: int
    positives: int
    false_negatives: int
    negatives: int

    def __add__(self, other: Mistakes) -> Mistakes:
        return Mistakes(
            self.false_positives + other.false_positives,
            self.positives + other.positives,
            self.false_negatives + other.false_negatives,
            self.negatives + other.negatives,
        )

    def rates(self, risk: float) -> tuple[float, float]:
        """Return simultaneous upper confidence bounds on both error rates.

        Args:
            risk: total probability that a bound fails.

        Returns:
            The bounds for false positives and false negatives.
        """
        return (
            upper_rate(self.false_positives, self.positives, risk / 2),
            upper_rate(self.false_negatives, self.negatives, risk / 2),
        )

    def mu(self, risk: float) -> float:
        """Return a lower bound on mu: no mechanism with a smaller mu makes so few mistakes.

        Args:
            risk: probability that the bound fails.

        Returns:
            Phi^-1(1 - FPR) - Phi^-1(FNR), at least 0.
        """
        false_positive, false_negative = self.rates(risk)
        if false_positive >= 1 or false_negative >= 1:
            return 0.0
        bound = _NORMAL.inv_cdf(1 - false_positive) - _NORMAL.inv_cdf(false_negative)
        return max(0.0, bound)

    def epsilon(self, delta: float, risk: float) -> float:
        """Return a lower bound on epsilon, without assuming a Gaussian mechanism.

        Args:
            delta: privacy parameter.
            risk: probability that the bound fails.

        Returns:
            ln max((1 - delta - FNR) / FPR, (1 - delta - FPR) / FNR), at least 0.
        """
        one, two = self.rates(risk)
        best = max((1 - delta - two) / one, (1 - delta - one) / two)
        return math.log(best) if best > 1 else 0.0
