"""P-value of a number of misses, each of which may occur with a small probability."""

from __future__ import annotations

import math


def too_many(misses: int, *, of: int, confidence: float) -> float:
    """P-value of a number of misses, each of probability at most 1 - confidence (Chernoff)."""
    rate, allowed = misses / of, 1 - confidence
    if rate <= allowed:
        return 1.0
    divergence = rate * math.log(rate / allowed)
    if rate < 1:
        divergence += (1 - rate) * math.log((1 - rate) / confidence)
    return math.exp(-of * divergence)
