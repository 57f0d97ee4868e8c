"""Intervals of the heavy names of a hierarchy hold together at each level.

Every trial has its own tables, so the number of trials with a miss is binomial, and Chernoff's
bound gives the p-values. Two-sided: a level has a miss with at most 20 %, and with at least 60 %
if its intervals are narrowed to 0.2 of their width. Fresh keys; false-alarm rates: `declared`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls

TRIALS, CONFIDENCE = 50, 0.8
NARROW, LEAST = 0.2, 0.6
STEPS = 20_480
LEVELS = ls.ipv4_prefixes((16, 32))
BUDGET = declared.budget("hierarchies")


def addresses() -> list[str]:
    hosts = np.minimum(np.random.default_rng(3).zipf(1.4, STEPS), 3_000)
    return [f"10.{host % 7}.{host % 50}.{host % 250}" for host in hosts.tolist()]


@cache
def misses() -> tuple[list[int], list[int]]:
    """Trials with a miss at each level, of the intervals and of the narrowed ones."""
    items = addresses()
    true = [Counter(column) for column in LEVELS.columns(items)]
    whole, narrow = [0, 0], [0, 0]
    for _ in range(TRIALS):
        with ls.HierarchicalHeavyHitters(
            LEVELS,
            share=0.05,
            epsilon=4.0,
            delta=1e-6,
            depth=3,
            width=256,
            discovery_epoch=5_120,
            horizon=STEPS,
        ) as heavy:
            heavy.update_many(items)
            for level in (0, 1):
                found = heavy.top(5, level=level, confidence=CONFIDENCE)
                assert len(found) == 5
                counts = [true[level][one.item] for one in found]
                ends = [(one.estimate, one.low, one.high) for one in found]
                near = [narrowed(*end, by=NARROW) for end in ends]
                whole[level] += not all(
                    low <= count <= high for count, (_, low, high) in zip(counts, ends, strict=True)
                )
                narrow[level] += not all(
                    low <= count <= high for count, (low, high) in zip(counts, near, strict=True)
                )
    return whole, narrow


@pytest.mark.parametrize("level", [0, 1])
def test_intervals_of_a_level_hold_and_are_not_far_too_wide(level: int) -> None:
    whole, narrow = (missed[level] for missed in misses())
    BUDGET.check(too_many(whole, of=TRIALS, confidence=CONFIDENCE), f"too narrow: level {level}")
    BUDGET.check(too_few(narrow, of=TRIALS, least=LEAST), f"too wide: level {level}")
    # Planted: intervals of 0.2 and of 5 times the width.
    assert too_many(narrow, of=TRIALS, confidence=CONFIDENCE) <= BUDGET.alpha
    assert too_few(whole, of=TRIALS, least=LEAST) <= BUDGET.alpha
