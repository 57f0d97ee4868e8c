"""Events that a schedule has not published yet are within every interval."""

from __future__ import annotations

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.testing import seeded_key

NOISE = {"epsilon": 1.0, "delta": 1e-6, "schedule": ls.Single(horizon=1_000)}
EVENTS = 500


def holds(found: ls.Interval, truth: float) -> bool:
    return found.low <= truth <= found.high


def test_a_distribution_says_nothing_of_values_before_its_end() -> None:
    live = ls.Distribution(bins=ls.Bins.linear(0, 100), key=seeded_key(1), **NOISE)
    live.update_many([5.5] * EVENTS)
    assert holds(live.total(), EVENTS)
    assert holds(live.count_between(5, 6), EVENTS)
    assert holds(live.cdf(6), 1.0)
    assert holds(live.quantile(0.5), 5.5)
    found = live.histogram()
    assert np.all(found.high >= EVENTS)
    live.finish()
    assert live.total().high < EVENTS + 200
    assert 5.0 <= live.quantile(0.5).low <= live.quantile(0.5).high <= 6.0


def test_ranges_say_nothing_of_keys_before_their_end() -> None:
    live = ls.Ranges(bits=8, key=seeded_key(1), **NOISE)
    live.update_many([5] * EVENTS)
    assert holds(live.total(), EVENTS)
    assert holds(live.count_between(0, 10), EVENTS)
    assert live.count_between(5, 5).high == 0.0
    live.finish()
    assert live.count_between(100, 110).high < EVENTS


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-10, 10), (-20, -10)])
def test_sums_say_nothing_of_values_before_their_end(low: float, high: float) -> None:
    live = ls.Sums(low=low, high=high, key=seeded_key(1), **NOISE)
    for value in (low, high):
        live.update_many(["a"] * (EVENTS // 2), [value] * (EVENTS // 2))
    assert holds(live.count("a"), EVENTS)
    assert holds(live.sum("a"), (low + high) * EVENTS / 2)
    assert holds(live.mean("a"), (low + high) / 2)
    assert live.sum("a").low <= min(low, 0) * EVENTS
    assert live.sum("a").high >= max(high, 0) * EVENTS


def test_parts_that_are_pending_widen_what_is_merged() -> None:
    parts = [ls.Distribution(bins=ls.Bins.linear(0, 100), **NOISE) for _ in range(2)]
    for part in parts:
        part.update_many([5.5] * EVENTS)
    parts[0].finish()
    merged = parts[0].release().merge(parts[1].release())
    sure = merged.total(confidence=1 - 1e-9)
    assert holds(sure, 2 * EVENTS)
    assert sure.high < 2 * EVENTS + 200
    assert holds(merged.quantile(0.1), 5.5)
