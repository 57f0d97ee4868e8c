"""Intervals of a ranked list hold although the list was selected by its estimates.

Some of the heaviest items of many are there because of positive noise. Each list here comes from
its own sketch, so the number of lists with a miss is at most binomial, and Chernoff's bound gives
the p-value. Total false-alarm rate of this file: 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.statistical.misses import too_many

import lazysketch as ls
from lazysketch.audit.p_values import Budget

pytest.importorskip("click")

from lazysketch.cli.view.report import CONFIDENCE, counts, heaviest

LISTS = 120
STEPS = 20_000
EVENTS = np.minimum(np.random.default_rng(5).zipf(1.2, STEPS), 5_000)
COUNTS = np.bincount(EVENTS, minlength=10_000)
ABSENT = list(range(6_000, 8_000))
BUDGET = Budget(total=1e-6, checks=4)


def releases() -> list[ls.Release]:
    made = []
    for _ in range(LISTS):
        with ls.LazyCountMin(depth=3, width=256, epsilon=1.0, delta=1e-6, horizon=STEPS) as sketch:
            sketch.update_many(EVENTS)
            made.append(sketch.release())
    return made


def by_class(release: ls.Release, items: list[int]) -> list[tuple[int, float, float]]:
    found = release.interval_many(items, at="now", simultaneous=True)
    return list(zip(items, found.low, found.high, strict=True))


def by_command(release: ls.Release, items: list[int]) -> list[tuple[int, float, float]]:
    rows = heaviest(release, items, most=20)
    return [(int(row["item"]), row["low"], row["high"]) for row in rows]


def one_by_one(release: ls.Release, items: list[int]) -> list[tuple[int, float, float]]:
    """Planted: the intervals that top() once showed, valid one by one only."""
    rows = sorted(counts(release, items), key=lambda row: -row["estimate"])[:20]
    return [(int(row["item"]), row["low"], row["high"]) for row in rows]


@pytest.mark.parametrize("items", [ABSENT, [*range(1, 400), *ABSENT]], ids=["absent", "mixed"])
def test_intervals_of_lists_hold_and_wrong_ones_are_rejected(items: list[int]) -> None:
    made = releases()

    def misses(rows_of: Callable[[ls.Release, list[int]], list[tuple[int, float, float]]]) -> int:
        return sum(
            any(not low <= COUNTS[item] <= high for item, low, high in rows_of(release, items))
            for release in made
        )

    BUDGET.check(too_many(misses(by_class), of=LISTS, confidence=CONFIDENCE), "all items")
    BUDGET.check(too_many(misses(by_command), of=LISTS, confidence=CONFIDENCE), "the heaviest")
    assert too_many(misses(one_by_one), of=LISTS, confidence=CONFIDENCE) < BUDGET.total
