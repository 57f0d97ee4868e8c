"""An item with the detection threshold of one epoch is discovered as often as claimed.

One item per run, with a fresh secret key, among others that never repeat; its events fall at
random, as a share means. The number of runs that miss it is at most binomial with 5 %, and
Chernoff's bound gives the p-value. Total false-alarm rate of this file: 1e-6. The claim is not
trivial: at 0.6 of the share most runs miss, which the same test has to detect.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.statistical.misses import too_many

import lazysketch as ls
from lazysketch.audit.p_values import Budget

RUNS, MISSED = 400, 0.05
BUDGET = Budget(total=1e-6, checks=6)
SETTINGS: dict[str, dict[str, object]] = {
    "dictionary": {"memory": 64 << 20},
    "Misra-Gries": {"memory": 1 << 17},
    "zero-out": {"relation": "zero-out"},
    "three events of a person": {"max_events_per_user": 3},
    "epsilon 0.5": {"epsilon": 0.5},
    "epoch given": {"discovery_epoch": 7_777},
}


def p_value(misses: int) -> float:
    return too_many(misses, of=RUNS, confidence=1 - MISSED)


def misses(setting: dict[str, object], *, part: float) -> int:
    asked: dict[str, object] = {
        "share": 0.04,
        "epsilon": 2.0,
        "delta": 1e-6,
        "width": 64,
        **setting,
    }
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
def test_the_detection_threshold_is_discovered(name: str) -> None:
    BUDGET.check(p_value(misses(SETTINGS[name], part=1.0)), name)


def test_both_algorithms_are_tested() -> None:
    for name, expected in (("dictionary", "dictionary"), ("Misra-Gries", "misra-gries")):
        heavy = ls.HeavyHitters(share=0.04, epsilon=2.0, delta=1e-6, width=64, **SETTINGS[name])
        assert heavy._table._discovery_facts["variant"] == expected  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["dictionary", "Misra-Gries"])
def test_a_smaller_share_is_missed_too_often(name: str) -> None:
    assert p_value(misses(SETTINGS[name], part=0.6)) < BUDGET.alpha
