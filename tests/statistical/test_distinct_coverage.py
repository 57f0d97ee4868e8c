"""Intervals of a count of distinct items cover the true number, and are not far too wide.

Each interval comes from a count of its own, with its own key and hash seed, so the number of misses
is binomial, and Chernoff's bound gives the p-values. Two-sided: an interval misses with at most
5 %, and with at least 30 % if it is narrowed to 0.3 of its width. Keys are seeded, so results are
reproducible; `declared` has the rate over seeds.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.testing import seeded_key

COUNTS = 200
CONFIDENCE, NARROW, LEAST = 0.95, 0.3, 0.3
BUDGET = declared.budget("distinct")


def intervals(items: int, *, epsilon: float = 1.0) -> list[ls.Interval]:
    """Every item at three steps, so that no interval ends at the number of steps."""
    events = np.repeat(np.arange(items), 3)
    found = []
    for number in range(COUNTS):
        key = seeded_key(11, sketch_id=number.to_bytes(16, "big"))
        with ls.DistinctCount(
            epsilon=epsilon, delta=1e-6, relation="zero-out", bits=512, levels=5, key=key
        ) as count:
            count.update_many(events)
            found.append(count.interval(confidence=CONFIDENCE))
    return found


@pytest.mark.parametrize(
    ("items", "epsilon"),
    [(400, 1.0), (3_000, 1.0), (40_000, 1.0), (3_000, 20.0)],
    ids=["noise", "both", "sampling", "little noise"],
)
def test_intervals_cover_and_are_not_far_too_wide(items: int, epsilon: float) -> None:
    found = intervals(items, epsilon=epsilon)
    missed = sum(items not in interval for interval in found)
    BUDGET.check(too_many(missed, of=COUNTS, confidence=CONFIDENCE), f"too narrow: {items}")
    narrow = 0
    for one in found:
        low, high = narrowed(one.estimate, one.low, one.high, by=NARROW)
        narrow += not low <= items <= high
    BUDGET.check(too_few(narrow, of=COUNTS, least=LEAST), f"too wide: {items}")
    # Planted: intervals of half the width are rejected.
    half = 0
    for one in found:
        low, high = narrowed(one.estimate, one.low, one.high, by=0.5)
        half += not low <= items <= high
    assert too_many(half, of=COUNTS, confidence=CONFIDENCE) <= BUDGET.alpha
