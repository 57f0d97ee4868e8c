"""An item with the detection threshold of one epoch is discovered as often as claimed.

One item per run, with a fresh secret key, among others that never repeat; its events fall at
random, as a share means. The number of runs that miss it is binomial, and Chernoff's bound gives
the p-values. Two-sided: at the threshold at most 5 % of the runs miss the item, and at 0.6 of its
share at least half of them do. False-alarm rates: `declared`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.statistical import declared
from tests.statistical.misses import too_few, too_many

import lazysketch as ls
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec

RUNS, MISSED = 400, 0.05
SMALLER, LEAST = 0.6, 0.5
BUDGET = declared.budget("recall")
SETTINGS: dict[str, dict[str, object]] = {
    "dictionary": {"memory": 64 << 20},
    "Misra-Gries": {"memory": 1 << 17},
    "zero-out": {"relation": "zero-out"},
    "three events of a person": {"max_events_per_user": 3},
    "epsilon 0.5": {"epsilon": 0.5},
    "epoch given": {"discovery_epoch": 7_777},
    "weights": {"max_weight": 30, "discovery_weight": 10},
    "weights, Misra-Gries": {"max_weight": 30, "discovery_weight": 10, "memory": 1 << 17},
}


@cache
def spec_of(name: str) -> HeavyHittersSpec:
    asked: dict[str, object] = {"share": 0.04, "epsilon": 2.0, "delta": 1e-6, "width": 64}
    return HeavyHittersSpec.of(schedule=ls.Geometric(), **{**asked, **SETTINGS[name]})


@cache
def misses(name: str, *, part: float) -> int:
    rng = np.random.default_rng(17)
    missed = 0
    for _ in range(RUNS):
        with ls.HeavyHitters.from_spec(spec_of(name)) as heavy:
            events = np.arange(1, (heavy.discovery_epoch or 0) + 1)
            events[rng.random(len(events)) < part * heavy.smallest_share] = 0
            weights = 10 + events % 21  # all of them count as 10, where weights count
            heavy.update_many(events, weights if heavy.privacy.max_weight > 1 else None)
            missed += 0 not in heavy.candidates
    return missed


@pytest.mark.parametrize("name", SETTINGS)
def test_the_detection_threshold_is_discovered(name: str) -> None:
    missed = misses(name, part=1.0)
    BUDGET.check(too_many(missed, of=RUNS, confidence=1 - MISSED), f"{name}: missed too often")


@pytest.mark.parametrize("name", SETTINGS)
def test_a_smaller_share_is_missed(name: str) -> None:
    """Also the planted mistakes: each share, claimed to be the other one."""
    missed = misses(name, part=SMALLER)
    BUDGET.check(too_few(missed, of=RUNS, least=LEAST), f"{name}: found too often")
    assert too_many(missed, of=RUNS, confidence=1 - MISSED) <= BUDGET.alpha
    assert too_few(misses(name, part=1.0), of=RUNS, least=LEAST) <= BUDGET.alpha


def test_both_algorithms_are_tested() -> None:
    for name, expected in (("dictionary", "dictionary"), ("Misra-Gries", "misra-gries")):
        heavy = ls.HeavyHitters.from_spec(spec_of(name))
        assert heavy._table._discovery_facts["variant"] == expected  # type: ignore[union-attr]
