"""Differences of shares lie in their intervals, all together, and what did not change is silent.

Every trial has windows of its own, so the trials that fail are at most binomial, and Chernoff's
bound gives the p-value. Total false-alarm rate of this file: 1e-6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.statistical.misses import too_many

import lazysketch as ls
from lazysketch.audit.p_values import Budget

TRIALS, CONFIDENCE, ITEMS, EVENTS = 150, 0.8, 300, 20_000
BUDGET = Budget(total=1e-6, checks=4)
SAME = np.arange(1, ITEMS + 1) ** -1.1
OTHER = SAME * np.where(np.arange(ITEMS) % 7 == 3, 2.0, 1.0)


def two_windows(rng: np.random.Generator, after: Any, *, batches: bool) -> tuple[ls.Windows, Any]:
    """Windows of two laws, and the true difference of the shares of every item."""
    laws = [weights / weights.sum() for weights in (SAME, after)]
    items = [rng.choice(ITEMS, EVENTS, p=law) for law in laws]
    shares = [np.bincount(part, minlength=ITEMS) / EVENTS for part in items]
    common: dict[str, Any] = {"domain": range(ITEMS), "epsilon": 1.0, "delta": 1e-6, "depth": 3}
    if batches:
        days = np.array(["2026-01-01T01", "2026-01-02T01"], dtype="datetime64[ns]")
        ends = {"begin": "2026-01-01", "end": "2026-01-03"}
        windows = ls.Windows(every="1d", width=512, **ends, **common)
        windows.update_many(np.concatenate(items), times=np.repeat(days, EVENTS))
    else:
        windows = ls.Windows(every=EVENTS, width=256, **common)
        windows.update_many(np.concatenate(items))
    windows.finish()
    return windows, shares[1] - shares[0]


def failures(after: Any, *, batches: bool, seed: int) -> tuple[int, float]:
    """Trials with a difference outside of its interval, and the part that finds the rise."""
    rng, missed, found = np.random.default_rng(seed), 0, 0
    for _ in range(TRIALS):
        windows, true = two_windows(rng, after, batches=batches)
        changes = windows.changes(confidence=CONFIDENCE)
        missed += any(not change.low <= true[change.item] <= change.high for change in changes)
        found += any(change.item == 3 and change.low > 0 for change in changes)
    return missed, found / TRIALS


@pytest.mark.parametrize("batches", [False, True], ids=["steps", "times"])
def test_they_hold_and_a_change_is_found(batches: bool) -> None:
    missed, power = failures(OTHER, batches=batches, seed=1)
    BUDGET.check(too_many(missed, of=TRIALS, confidence=CONFIDENCE), f"coverage, batches {batches}")
    assert power > 0.5  # an item of 6 % that doubles


def test_no_change_is_silent_and_a_nearby_wrong_interval_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shares of two samples of one law differ by chance, but not beyond the true difference."""
    missed, _ = failures(SAME, batches=False, seed=2)
    BUDGET.check(too_many(missed, of=TRIALS, confidence=CONFIDENCE), "no change")

    plain = ls.Release.interval_many

    def each_by_itself(release: ls.Release, items: Any, **options: Any) -> Any:
        return plain(release, items, **{**options, "among": None})

    monkeypatch.setattr(ls.Release, "interval_many", each_by_itself)
    missed, _ = failures(SAME, batches=False, seed=3)
    assert too_many(missed, of=TRIALS, confidence=CONFIDENCE) < BUDGET.total
