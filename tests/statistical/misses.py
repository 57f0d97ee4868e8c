"""P-values of a number of misses, each of which occurs with a probability within two limits."""

from __future__ import annotations

import math


def _divergence(rate: float, limit: float) -> float:
    """Relative entropy of two coins."""
    found = rate * math.log(rate / limit) if rate > 0 else 0.0
    return found + ((1 - rate) * math.log((1 - rate) / (1 - limit)) if rate < 1 else 0.0)


def too_many(misses: int, *, of: int, confidence: float) -> float:
    """P-value of a number of misses, each of probability at most 1 - confidence (Chernoff)."""
    rate, allowed = misses / of, 1 - confidence
    return 1.0 if rate <= allowed else math.exp(-of * _divergence(rate, allowed))


def too_few(misses: int, *, of: int, least: float) -> float:
    """P-value of a number of misses, each of probability at least `least` (Chernoff).

    Intervals that are far too wide miss too rarely. No interval has to miss, so the claim is one of
    :func:`narrowed` intervals.
    """
    rate = misses / of
    return 1.0 if rate >= least else math.exp(-of * _divergence(rate, least))


def narrowed(estimate: float, low: float, high: float, *, by: float) -> tuple[float, float]:
    """Both ends moved towards the estimate, to `by` of their distance; a low end of 0 stays."""
    return (
        low if low <= 0 else estimate - by * (estimate - low),
        estimate + by * (high - estimate),
    )
