"""Intervals of changes between windows hold simultaneously, with and without a change.

Every trial has its own windows, so the number of trials that fail is at most binomial, and
Chernoff's bound gives the p-value. Total false-alarm rate of this file: 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical.misses import too_many

import lazysketch as ls
from lazysketch.audit.p_values import Budget

Shares = NDArray[np.float64]
TRIALS, CONFIDENCE, ITEMS, EVENTS = 150, 0.8, 300, 20_000
BUDGET = Budget(total=1e-6, checks=4)
SAME = np.arange(1, ITEMS + 1) ** -1.1
OTHER = SAME * np.where(np.arange(ITEMS) % 7 == 3, 2.0, 1.0)


def two_windows(
    rng: np.random.Generator, after: Shares, *, batches: bool
) -> tuple[ls.Windows, Shares]:
    """Two windows with their distributions of items, and the true change of every share."""
    distributions = [weights / weights.sum() for weights in (SAME, after)]
    items = [rng.choice(ITEMS, EVENTS, p=probabilities) for probabilities in distributions]
    shares = [np.bincount(part, minlength=ITEMS) / EVENTS for part in items]
    common: dict[str, object] = {"domain": range(ITEMS), "epsilon": 1.0, "delta": 1e-6, "depth": 3}
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


def failures(after: Shares, *, batches: bool, seed: int) -> tuple[int, float]:
    """Trials with a change outside of its interval, and the share that detects the rise."""
    rng, missed, found = np.random.default_rng(seed), 0, 0
    for _ in range(TRIALS):
        windows, true = two_windows(rng, after, batches=batches)
        changes = windows.changes(confidence=CONFIDENCE)
        missed += any(not change.low <= true[int(change.item)] <= change.high for change in changes)
        found += any(change.item == 3 and change.low > 0 for change in changes)
    return missed, found / TRIALS


@pytest.mark.parametrize("batches", [False, True], ids=["steps", "times"])
def test_intervals_hold_and_a_change_is_detected(batches: bool) -> None:
    missed, power = failures(OTHER, batches=batches, seed=1)
    BUDGET.check(too_many(missed, of=TRIALS, confidence=CONFIDENCE), f"coverage, batches {batches}")
    assert power > 0.5  # an item of 6 % that doubles


def test_no_change_is_reported_and_a_wrong_interval_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shares of two samples of one distribution differ; the intervals cover the difference."""
    missed, _ = failures(SAME, batches=False, seed=2)
    BUDGET.check(too_many(missed, of=TRIALS, confidence=CONFIDENCE), "no change")

    plain = ls.Release.interval_many

    def one_by_one(release: ls.Release, items: object, **options: object) -> ls.Intervals:
        return plain(release, items, **{**options, "among": None})

    monkeypatch.setattr(ls.Release, "interval_many", one_by_one)
    missed, _ = failures(SAME, batches=False, seed=3)
    assert too_many(missed, of=TRIALS, confidence=CONFIDENCE) < BUDGET.total
