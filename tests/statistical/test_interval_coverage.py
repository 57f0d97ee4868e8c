"""Intervals cover the true count, over hash seeds and noise; nearby wrong ones do not.

One item per sketch, so that the results are independent. Each of n sketches, with a fresh key and
hash seed, covers with at least the confidence, so the number of misses is at most binomial and
Chernoff's bound gives the p-value. Total false-alarm rate of this file: 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.statistical.misses import too_many

import lazysketch as ls
from lazysketch.audit.p_values import Budget
from lazysketch.estimation.error_distribution import Strata

SKETCHES, CONFIDENCE = 500, 0.9
KINDS = (ls.LazyCountMin, ls.LazyCountSketch)
EVENTS = np.minimum(np.random.default_rng(11).zipf(1.2, 20_000), 5_000)
COUNTS = np.bincount(EVENTS, minlength=6_000)
BUDGET = Budget(total=1e-6, checks=12)


def misses(make: type, *, depth: int, item: int, confidence: float, plant: str = "") -> int:
    missed = 0
    for _ in range(SKETCHES):
        with make(depth=depth, width=128, epsilon=1.0, delta=1e-6, horizon=20_000) as sketch:
            sketch.update_many(EVENTS)
            release = sketch.release()
        if plant == "no collisions":
            release.__dict__["_strata"] = Strata.of(
                release.table,
                published_steps=release._published_steps,
                noise_variance=release._noise_variance,
                signed=release.kind == "count-sketch",
                collisions=False,
            )
        found = release.interval(item, confidence=confidence, at="now")
        missed += not found.low <= COUNTS[item] <= found.high
    return missed


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(("depth", "item"), [(3, 1), (4, 40), (3, 5_500)])
def test_intervals_cover(make: type, depth: int, item: int) -> None:
    missed = misses(make, depth=depth, item=item, confidence=CONFIDENCE)
    BUDGET.check(
        too_many(missed, of=SKETCHES, confidence=CONFIDENCE),
        f"{make.__name__} {depth} of item {item}",
    )


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(("confidence", "plant"), [(0.65, ""), (CONFIDENCE, "no collisions")])
def test_nearby_wrong_intervals_are_rejected(make: type, confidence: float, plant: str) -> None:
    missed = misses(make, depth=3, item=40, confidence=confidence, plant=plant)
    assert too_many(missed, of=SKETCHES, confidence=CONFIDENCE) < BUDGET.alpha
