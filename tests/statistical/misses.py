"""How unlikely a number of misses is, where each is allowed with a small probability."""

from __future__ import annotations

import math


def too_many(misses: int, *, of: int, confidence: float) -> float:
    """P-value of a binomial number of misses at 1 - confidence each or less (Chernoff)."""
    rate, allowed = misses / of, 1 - confidence
    if rate <= allowed:
        return 1.0
    divergence = rate * math.log(rate / allowed)
    if rate < 1:
        divergence += (1 - rate) * math.log((1 - rate) / confidence)
    return math.exp(-of * divergence)
