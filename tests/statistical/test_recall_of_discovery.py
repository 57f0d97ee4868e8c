"""An item of the share that one window promises is found as often as promised.

One item per run, with a fresh secret key, among others that never repeat; its events fall at
random, as a share means. The number of runs that miss it is at most binomial with 5 %, and
Chernoff's bound gives the p-value. Total false-alarm rate of this file: 1e-6. The promise is not
idle either: at 0.6 of the share most runs miss, which the same test has to notice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.audit.p_values import Budget

RUNS, MISSED = 400, 0.05
BUDGET = Budget(total=1e-6, checks=6)
SETTINGS: dict[str, dict[str, Any]] = {
    "dictionary": {"memory": 64 << 20},
    "Misra-Gries": {"memory": 1 << 17},
    "zero-out": {"relation": "zero-out"},
    "three events of a person": {"max_events_per_user": 3},
    "epsilon 0.5": {"epsilon": 0.5},
    "window given": {"discovery_epoch": 7_777},
}


def too_many_misses(misses: int) -> float:
    """P-value of a binomial number of misses at 5 % or less (Chernoff)."""
    rate = misses / RUNS
    if rate <= MISSED:
        return 1.0
    divergence = rate * math.log(rate / MISSED)
    if rate < 1.0:
        divergence += (1 - rate) * math.log((1 - rate) / (1 - MISSED))
    return math.exp(-RUNS * divergence)


def misses(setting: dict[str, Any], *, part: float) -> int:
    asked: dict[str, Any] = {"share": 0.04, "epsilon": 2.0, "delta": 1e-6, "width": 64, **setting}
    rng = np.random.default_rng(17)
    missed = 0
    for _ in range(RUNS):
        with ls.HeavyHitters(**asked) as heavy:
            events = np.arange(1, (heavy.discovery_epoch or 0) + 1)
            events[rng.random(len(events)) < part * heavy.smallest_share] = 0
            heavy.update_many(events)
            missed += 0 not in heavy.candidates
    return missed


@pytest.mark.parametrize("name", SETTINGS)
def test_the_promised_share_is_found(name: str) -> None:
    BUDGET.check(too_many_misses(misses(SETTINGS[name], part=1.0)), name)


def test_both_ways_of_counting_are_tested() -> None:
    for name, expected in (("dictionary", "dictionary"), ("Misra-Gries", "misra-gries")):
        heavy = ls.HeavyHitters(share=0.04, epsilon=2.0, delta=1e-6, width=64, **SETTINGS[name])
        assert heavy._table._discovery_facts["variant"] == expected  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["dictionary", "Misra-Gries"])
def test_a_share_that_is_too_small_is_noticed(name: str) -> None:
    assert too_many_misses(misses(SETTINGS[name], part=0.6)) < BUDGET.alpha
