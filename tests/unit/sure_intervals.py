"""Whether intervals of 95 % cover, in tests that draw fresh noise in every run."""

from __future__ import annotations

import math


def nearly_covers(low: float, true: float, high: float) -> bool:
    """Whether an interval of 95 % covers a number, or misses it by at most its own length.

    An interval of three times the length misses once in 10^8 runs.
    """
    length = high - low
    return math.isfinite(length) and low - length <= true <= high + length
