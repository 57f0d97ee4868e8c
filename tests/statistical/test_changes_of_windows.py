"""Intervals of changes between windows hold simultaneously, with and without a change.

Every trial has its own windows, so the number of trials that fail is binomial, and Chernoff's bound
gives the p-values. Two-sided: a trial has a false change with at most 20 %, and an item that rises
by about twice the half width of its interval is found with at least 70 %, which intervals that are
far too wide do not allow. Fresh keys; false-alarm rates: `declared`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical import declared
from tests.statistical.misses import too_few, too_many

import lazysketch as ls

Shares = NDArray[np.float64]
TRIALS, PLANTED, CONFIDENCE, ITEMS = 100, 25, 0.8, 300
EVENTS = 80 * 256  # whole rounds: one stratum of columns, which makes intervals cheap
FOUND = 0.7
RISING = {False: 3, True: 10}  # by steps, and by times, where intervals are narrower
BUDGET = declared.budget("changes")
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


def failures(after: Shares, *, batches: bool, seed: int, trials: int = TRIALS) -> tuple[int, int]:
    """Trials with a change outside of its interval, and those in which the rise is found."""
    rng, missed, found = np.random.default_rng(seed), 0, 0
    for _ in range(trials):
        windows, true = two_windows(rng, after, batches=batches)
        changes = windows.changes(confidence=CONFIDENCE)
        missed += any(not change.low <= true[int(change.item)] <= change.high for change in changes)
        found += any(change.item == RISING[batches] and change.low > 0 for change in changes)
    return missed, found


@pytest.mark.parametrize("batches", [False, True], ids=["steps", "times"])
def test_intervals_hold_and_a_change_is_detected(batches: bool) -> None:
    missed, found = failures(OTHER, batches=batches, seed=1)
    BUDGET.check(too_many(missed, of=TRIALS, confidence=CONFIDENCE), f"coverage, batches {batches}")
    BUDGET.check(too_few(found, of=TRIALS, least=FOUND), f"found changes, batches {batches}")


def test_no_change_is_reported() -> None:
    """Shares of two samples of one distribution differ; the intervals cover the difference."""
    missed, _ = failures(SAME, batches=False, seed=2)
    BUDGET.check(too_many(missed, of=TRIALS, confidence=CONFIDENCE), "no change")


def one_by_one(release: ls.Release, items: object, **options: object) -> ls.Intervals:
    """Planted: intervals that are valid one by one only."""
    return INTERVALS(release, items, **{**options, "among": None})


def far_too_wide(release: ls.Release, items: object, **options: object) -> ls.Intervals:
    """Planted: intervals of 2.5 times the width."""
    found = INTERVALS(release, items, **options)
    found.low[:] = found.estimate - 2.5 * (found.estimate - found.low)
    found.high[:] = found.estimate + 2.5 * (found.high - found.estimate)
    return found


INTERVALS = ls.Release.interval_many


def test_wrong_intervals_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ls.Release, "interval_many", one_by_one)
    missed, _ = failures(SAME, batches=False, seed=3, trials=PLANTED)
    assert too_many(missed, of=PLANTED, confidence=CONFIDENCE) <= BUDGET.alpha
    monkeypatch.setattr(ls.Release, "interval_many", far_too_wide)
    _, found = failures(OTHER, batches=False, seed=3, trials=PLANTED)
    assert too_few(found, of=PLANTED, least=FOUND) <= BUDGET.alpha
