"""Queries over several windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.oracle.windows import DAY, PROMISE, Clock, at, made, tables, wholes

import lazysketch as ls
from lazysketch.errors import ArgumentValueError
from lazysketch.testing import seeded_key
from lazysketch.windows.window_tables import WindowTables

SURE = 1 - 1e-7


@pytest.fixture(autouse=True)
def noise_of_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is the same in every run and differs between windows.

    Under one seeded key all windows would have the same noise, and differences none.
    """

    def table(self: WindowTables, number: int) -> ls.HeavyHitters:
        key = seeded_key(5, sketch_id=number.to_bytes(16, "big"))
        return ls.HeavyHitters.from_spec(self._spec, key=key)

    monkeypatch.setattr(WindowTables, "_table", table)


@pytest.fixture
def visits() -> ls.Windows:
    """Four windows of 20,000 steps; "b" appears in the last, "a" halves there."""
    windows = ls.Windows(every=20_000, share=0.1, epsilon=1.0, delta=1e-6, hash_seed=3)
    quiet = ["a"] * 10_000 + ["c"] * 5_000 + [str(n) for n in range(5_000)]
    rng = np.random.default_rng(1)
    for _ in range(3):
        windows.update_many(rng.permutation(quiet))
    loud = ["a"] * 5_000 + ["b"] * 5_000 + ["c"] * 5_000 + [str(n) for n in range(5_000)]
    windows.update_many(rng.permutation(loud))
    return windows


def test_tops_over_the_last_windows(visits: ls.Windows) -> None:
    assert visits.candidates == ["a", "c", "b"]
    last = visits.top(3, confidence=SURE)
    assert {hitter.item for hitter in last} == {"a", "b", "c"}
    for hitter in last:
        assert hitter.low <= 5_000 <= hitter.high
        assert hitter.share == pytest.approx(0.25, abs=0.02)
    together = visits.top(1, last=4, confidence=SURE)
    assert together[0].item == "a"
    assert together[0].low <= 35_000 <= together[0].high
    assert visits.top(3, last=1000) == visits.top(3, last=4)
    for item, count in (("a", 35_000), ("b", 5_000), ("c", 20_000)):
        found = visits.interval(item, last=4, confidence=SURE)
        assert found.low <= count <= found.high
        assert visits.estimate(item, last=4) == visits.interval(item, last=4).estimate


def test_intervals_of_the_top_cover_the_list_that_it_was_chosen_from() -> None:
    windows = made(every=1_000)
    windows.update_many(np.arange(3_000) % 50)
    for last in (1, 3):
        together = windows.release(last).interval_many(
            range(50), simultaneous=True, known=range(50)
        )
        top = windows.top(3, last=last)
        assert len(top) == 3
        for hitter in top:
            assert isinstance(hitter.item, int)
            joint = together[hitter.item]
            assert (hitter.low, hitter.high) == (joint.low, joint.high)


def test_only_changed_items_are_found(visits: ls.Windows) -> None:
    changes = visits.changes(confidence=SURE)
    assert {change.item for change in changes} == {"a", "b"}
    by_item = {change.item: change for change in changes}
    assert by_item["a"].low <= -0.25 <= by_item["a"].high < 0
    assert 0 < by_item["b"].low <= 0.25 <= by_item["b"].high
    assert by_item["b"].difference == by_item["b"].after - by_item["b"].before
    earlier = visits.changes(confidence=SURE, against="earlier")
    assert {change.item for change in earlier} == {"a", "b"}
    assert visits.changes_at(1) == visits.changes_at(0) == []
    assert visits.changes_at(-1, confidence=SURE) == changes


def test_changes_cover_the_list_that_they_were_chosen_from() -> None:
    """By hand: simultaneous for two counts of each of 50 items and for two totals."""
    windows = made(every=5_000)
    windows.update_many([7] * 3_500 + [8] * 1_500 + [7] * 1_500 + [8] * 3_500)
    before, after = (
        window.release.interval_many(range(50), among=2 * 50 + 2) for window in windows.windows
    )
    changes = windows.changes()
    assert {change.item for change in changes} == {7, 8}
    for change in changes:
        assert isinstance(change.item, int)
        past, now = before[change.item], after[change.item]
        assert change.low == pytest.approx((now.low - past.high) / 5_000)
        assert change.high == pytest.approx((now.high - past.low) / 5_000)


def test_queries_before_the_first_window_ends() -> None:
    windows = ls.Windows(every=100, **PROMISE, domain=["a"])
    assert windows.top(3) == []
    assert windows.changes() == []
    assert len(windows.windows) == 0
    with pytest.raises(ArgumentValueError, match="^last: expected windows that have ended"):
        windows.estimate("a")
    windows.tick(99)
    windows.finish()
    assert wholes(windows) == [False]


def test_shares_of_batches_are_of_a_noisy_total() -> None:
    windows = made(every="12h", width=2**13, max_weight=3, relation="zero-out", **DAY)
    items = np.arange(30_000) % 10
    weights = np.full(len(items), 3)
    windows.update_many(items, weights, times=np.full(len(items), at(5)))
    windows.update_many(items + 10, weights, times=np.full(len(items), at(50_000)))
    windows.finish()
    for position, share in ((0, 0.1), (1, 0.0)):
        release = windows.windows[position].release
        assert release.step == 1
        assert release.estimate(3) / 90_000 == pytest.approx(share, abs=0.01)
    changes = {change.item: change for change in windows.changes(confidence=1 - 1e-6)}
    assert sorted(changes) == list(range(20))
    for item, change in changes.items():
        assert isinstance(item, int)
        assert change.low <= (0.1 if item >= 10 else -0.1) <= change.high


@pytest.mark.parametrize(
    "column",
    [
        lambda items: items,
        lambda items: iter(items),
        lambda items: pa.array(items),
        lambda items: pa.chunked_array([items[:7], items[7:]]),
        lambda items: __import__("polars").Series(items),
        lambda items: __import__("pandas").Series(items),
        lambda items: np.array(items),
        lambda items: pa.array(items, type=pa.string_view()),
        lambda items: pa.array(items).dictionary_encode(),
    ],
)
def test_all_producers_are_counted_alike(column: Callable[[list[str]], Any]) -> None:
    items = ["a", "b", "c"] * 10
    times = pa.array([at(600 * n) for n in range(30)]).cast(pa.timestamp("ns"))
    found = []
    for values in (items, column(items)):
        by_time, by_steps = made(every="1h", **DAY), made(every=7)
        by_time.update_many(values, times=times)
        by_time.finish()
        by_steps.update_many(items if values is items else column(items))
        found.append([*tables(by_time), *tables(by_steps)])
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))


def test_times_within_a_window_do_not_matter() -> None:
    """Shares refer to complete windows: nothing is extrapolated from rates within them."""
    windows = ls.Windows(
        every=20_000, domain=["late", "rest"], epsilon=1.0, delta=1e-6, hash_seed=3
    )
    windows.update_many(["rest"] * 19_400 + ["late"] * 600)
    windows.update_many(["late"] * 600 + ["rest"] * 19_400)
    assert windows.changes(confidence=SURE) == []
    found = windows.interval("late", confidence=SURE)
    assert found.low <= 600 <= found.high < 900


def test_the_open_window_joins_when_asked() -> None:
    clock = Clock()
    windows = made(every="60s", slices=6, clock=clock)
    assert windows.top(1) == []
    windows.update_many([7] * 5_000)
    clock.now = 10.0
    assert windows.top(1) == []
    (hitter,) = windows.top(1, include_open=True, confidence=SURE)
    assert hitter.item == 7
    assert hitter.low <= 5_000 <= hitter.high
    clock.now = 60.0
    windows.update_many([7] * 1_000)
    clock.now = 70.0
    assert windows.top(1)[0].high < 5_800
    assert windows.top(1, include_open=True)[0].low > 5_200
    assert windows.open is not None
    windows.finish()
    assert windows.open is None
