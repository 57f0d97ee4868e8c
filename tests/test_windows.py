"""Windows: where they are cut, what lies in each, what is asked of several, and what is refused.

Noise is a function of key, id and push. Two runs under one seeded key and one fixed id have the
same noise, so the difference of their tables is exact, and can be compared with an exact sketch.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    ItemError,
    LiveStateError,
)
from lazysketch.testing import seeded_key
from lazysketch.windows import UNKNOWN_TIME
from lazysketch.windows.boundaries import ClockBoundaries, TimeRange
from lazysketch.windows.durations import duration_of, instant_of

SECOND = 10**9
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "depth": 3, "width": 64}
DAY = {"begin": "2026-01-01", "end": "2026-01-02"}


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def made(**changes: Any) -> ls.Windows:
    asked = {**PROMISE, "domain": range(50), "hash_seed": 3, "key": seeded_key(7), **changes}
    return ls.Windows(**{name: value for name, value in asked.items() if value is not ...})


def tables(windows: ls.Windows) -> list[np.ndarray[Any, Any]]:
    return [window.release.table for window in windows.windows]


def exact(items: Sequence[int], weights: Sequence[int] | None = None) -> np.ndarray[Any, Any]:
    sketch = ls.CountMin(depth=PROMISE["depth"], width=PROMISE["width"], hash_seed=3)
    sketch.update_many(np.array(items, dtype=np.int64), weights)
    return sketch.table


def at(seconds: float) -> int:
    """Nanoseconds of an instant of the range DAY."""
    return instant_of("begin", DAY["begin"]) + int(seconds * SECOND)


# Boundaries.


@given(st.integers(1, 10**6), st.integers(1, 960), st.integers(-(10**12), 10**12))
def test_an_instant_lies_in_one_slice_of_one_window(every: int, slices: int, now: int) -> None:
    number, passed = ClockBoundaries(every=every, slices=slices).place(now)
    assert number * every <= now < (number + 1) * every
    part = Fraction(now - number * every, every)
    assert Fraction(passed, slices) <= part < Fraction(passed + 1, slices)


@given(
    st.integers(-1000, 1000),
    st.integers(1, 500),
    st.integers(1, 100),
    st.lists(st.one_of(st.integers(-2000, 2000), st.sampled_from([UNKNOWN_TIME, 2**63 - 1]))),
)
def test_a_range_is_cut_like_a_ruler(first: int, length: int, every: int, times: list[int]) -> None:
    whole = TimeRange(first=first, end=first + length, every=every)
    starts = list(range(first, first + length, every))
    assert whole.windows == len(starts)
    assert [whole.begin(number) for number in range(len(starts))] == starts
    assert whole.begin(len(starts)) == first + length
    for time, place in zip(times, whole.places(np.array(times, dtype=np.int64)), strict=True):
        inside = first <= time < first + length
        assert place == (max(n for n, s in enumerate(starts) if s <= time) if inside else -1)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("250ms", 0.25), ("30s", 30), ("15min", 900), ("1h", 3600), ("1 d", 86400)],
)
def test_durations(written: str, seconds: float) -> None:
    assert duration_of("every", written) == int(seconds * SECOND)
    assert duration_of("every", timedelta(seconds=seconds)) == int(seconds * SECOND)


def test_instants() -> None:
    assert instant_of("begin", "1970-01-01T00:00:01Z") == SECOND
    assert instant_of("begin", "1970-01-01T02:00:01.5+02:00") == int(1.5 * SECOND)
    eastern = datetime(1970, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    assert instant_of("begin", eastern) == 0
    assert instant_of("begin", datetime(1970, 1, 2)) == 86400 * SECOND


# Each event in exactly one window.


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-30, 90), st.lists(st.integers(0, 49), max_size=6)), max_size=12),
    st.integers(1, 70),
)
def test_by_the_clock(calls: list[tuple[float, list[int]]], slices: int) -> None:
    """Jumps over many windows, and backwards; an oracle that looks at each event alone."""
    clocks = Clock(1000.0), Clock(1000.0)
    windows, silent = (made(every="20s", slices=slices, clock=clock, keep=1000) for clock in clocks)
    expected: dict[int, list[int]] = defaultdict(list)
    latest = 1000.0
    for jump, items in calls:
        now = clocks[0].now + jump
        clocks[0].now = clocks[1].now = now
        latest = max(latest, now)  # the clock's, not an event's
        windows.update_many(items)
        silent.advance()
        expected[int(latest // 20)] += items
    for one in (windows, silent):
        one.finish()
    kept = windows.windows
    assert [window.number for window in kept] == list(range(50, int(latest // 20) + 1))
    for window, table, noise in zip(kept, tables(windows), tables(silent), strict=True):
        assert np.array_equal(table - noise, exact(expected[window.number]))
        begin, end = window.begin, window.end
        assert isinstance(begin, datetime)
        assert isinstance(end, datetime)
        assert (end - begin).total_seconds() == 20
    assert [window.whole for window in kept] == [*[n < len(kept) - 1 for n in range(len(kept))]]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 5), st.lists(st.integers(0, 49), max_size=40)), max_size=10),
    st.integers(1, 25),
)
def test_by_steps(calls: list[int | list[int]], every: int) -> None:
    windows, silent = made(every=every, keep=1000), made(every=every, keep=1000)
    steps: list[int | None] = []
    for call in calls:
        if isinstance(call, int):
            windows.tick(call)
            steps += [None] * call
        else:
            windows.update_many(call)
            steps += call
    silent.tick(len(steps))
    for one in (windows, silent):
        one.finish()
    parts = [steps[start : start + every] for start in range(0, len(steps), every)]
    assert len(windows.windows) == len(parts)
    first = 0
    for window, table, noise, part in zip(
        windows.windows, tables(windows), tables(silent), parts, strict=True
    ):
        assert (window.begin, window.end) == (first, first + len(part))
        first += len(part)
        assert window.whole is (len(part) == every)
        # Nothing waits for a push, not even in a window that ended early.
        assert np.array_equal(table - noise, exact([item for item in part if item is not None]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.floats(-1e5, 2e5).map(at),
                st.sampled_from([UNKNOWN_TIME, 2**63 - 1, at(0), at(86400), at(86399.999)]),
            ),
            st.integers(0, 49),
            st.integers(0, 5),
        ),
        max_size=40,
    ),
    st.integers(0, 40),
)
def test_by_the_time_of_events(events: list[tuple[int, int, int]], split: int) -> None:
    windows, silent = (made(every="5h", max_weight=5, **DAY) for _ in range(2))
    for part in (events[:split], events[split:]):
        times, items, weights = (np.array([event[n] for event in part]) for n in range(3))
        if len(part):
            windows.update_many(items, weights, times=times)
    for one in (windows, silent):
        one.finish()
    assert [window.number for window in windows.windows] == [0, 1, 2, 3, 4]
    for number, (table, noise) in enumerate(zip(tables(windows), tables(silent), strict=True)):
        begin, end = at(number * 18_000), min(at((number + 1) * 18_000), at(86400))
        own = [event for event in events if begin <= event[0] < end]
        assert np.array_equal(
            table - noise, exact([event[1] for event in own], [event[2] for event in own])
        )


def test_an_event_from_the_far_future_moves_nothing() -> None:
    """Bit by bit: the same public tables, boundaries and names as without it."""
    plain, disturbed = (made(every="6h", domain=..., k=5, **DAY) for _ in range(2))
    times = np.array([at(3600 * n % 86400) for n in range(4000)])
    for windows in (plain, disturbed):
        windows.update_many(["a", "b"] * 2000, times=times)
    disturbed.update("a", time=datetime(2100, 1, 1, tzinfo=timezone.utc))
    disturbed.update_many(["a"] * 3, times=[at(86400), at(-1), UNKNOWN_TIME])
    for windows in (plain, disturbed):
        windows.finish()
    for one, other in zip(plain.windows, disturbed.windows, strict=True):
        assert (one.begin, one.end, one.names) == (other.begin, other.end, other.names)
        assert np.array_equal(one.release.table, other.release.table)
        assert set(one.names) == {"a", "b"}


def test_a_slice_is_public_when_it_is_over_and_not_before() -> None:
    clock, still = Clock(), Clock()
    windows: ls.Windows = made(every="60s", slices=6, clock=clock)
    silent = made(every="60s", slices=6, clock=still)

    def counted() -> int:
        still.now = clock.now
        shown = []
        for one in (windows, silent):
            window = one.open
            assert window is not None
            assert not window.ended
            shown.append(window.release.table)
        return int((shown[0] - shown[1])[0].sum())

    windows.update_many([1, 2, 3])
    assert counted() == 0
    clock.now = 9.9
    windows.update_many([4])
    assert counted() == 0
    clock.now = 10.0
    assert counted() == 4
    windows.update(5)
    assert counted() == 4
    clock.now = 59.9
    assert counted() == 5
    assert len(windows.windows) == 0
    clock.now = 60.0
    assert [window.whole for window in windows.windows] == [True]


def test_windows_without_an_event_are_windows_and_old_ones_are_forgotten() -> None:
    clock = Clock()
    windows = made(every="1s", slices=1, clock=clock, keep=5)
    windows.update(1)
    clock.now = 1e6
    assert [window.number for window in windows.windows] == list(range(999_995, 1_000_000))
    assert np.any(windows.windows[0].release.table)  # noise, like everywhere
    clock.now = 3.0
    windows.update(1)
    assert len(windows.windows) == 5
    assert windows.windows[-1].number == 999_999


def test_windows_have_ids_and_noise_of_their_own_and_one_hash_seed() -> None:
    windows = made(every=100, key=..., hash_seed=...)
    windows.tick(300)
    parts = [window.release.parts[0] for window in windows.windows]
    assert len({part.sketch_id for part in parts}) == 3
    assert len({window.release.hash_seed for window in windows.windows}) == 1
    first, second, _ = tables(windows)
    assert not np.array_equal(first, second)
    assert windows.private
    assert len(windows.release(3).parts) == 3


# Questions.


@pytest.fixture
def visits() -> ls.Windows:
    """Four windows of 20,000 steps; "b" appears in the last, "a" halves there."""
    windows = ls.Windows(every=20_000, k=10, epsilon=1.0, delta=1e-6)
    quiet = ["a"] * 10_000 + ["c"] * 5_000 + [str(n) for n in range(5_000)]
    rng = np.random.default_rng(1)
    for _ in range(3):
        windows.update_many(rng.permutation(quiet))
    loud = ["a"] * 5_000 + ["b"] * 5_000 + ["c"] * 5_000 + [str(n) for n in range(5_000)]
    windows.update_many(rng.permutation(loud))
    return windows


def test_tops_over_the_last_windows(visits: ls.Windows) -> None:
    assert visits.candidates == ["a", "c", "b"]
    last = visits.top(3)
    assert {hitter.item for hitter in last} == {"a", "b", "c"}
    for hitter in last:
        assert hitter.low <= 5_000 <= hitter.high
        assert hitter.share == pytest.approx(0.25, abs=0.02)
    whole = visits.top(1, last=4)
    assert whole[0].item == "a"
    assert whole[0].low <= 35_000 <= whole[0].high
    assert visits.top(3, last=1000) == visits.top(3, last=4)
    for item, count in (("a", 35_000), ("b", 5_000), ("c", 20_000)):
        found = visits.interval(item, last=4, confidence=0.999)
        assert found.low <= count <= found.high
        assert visits.estimate(item, last=4) == visits.interval(item, last=4).estimate


def test_changes_are_found_and_what_did_not_change_is_not(visits: ls.Windows) -> None:
    changes = visits.changes()
    assert {change.item for change in changes} == {"a", "b"}
    by_item = {change.item: change for change in changes}
    assert by_item["a"].low <= -0.25 <= by_item["a"].high < 0
    assert 0 < by_item["b"].low <= 0.25 <= by_item["b"].high
    assert by_item["b"].difference == by_item["b"].after - by_item["b"].before
    assert {change.item for change in visits.changes(against="earlier")} == {"a", "b"}
    assert visits.changes_at(1) == visits.changes_at(0) == []
    assert visits.changes_at(-1) == changes


def test_nothing_ended_says_so() -> None:
    windows = ls.Windows(every=100, **PROMISE, domain=["a"])
    assert windows.top(3) == []
    assert windows.changes() == []
    assert len(windows.windows) == 0
    with pytest.raises(ArgumentValueError, match="^last: expected windows that have ended"):
        windows.estimate("a")
    windows.tick(99)
    windows.finish()
    assert [window.whole for window in windows.windows] == [False]


def test_shares_of_batches_are_of_a_noisy_total() -> None:
    windows = made(every="12h", key=..., width=256, max_weight=3, relation="zero-out", **DAY)
    items = np.arange(30_000) % 10
    weights = np.full(len(items), 3)
    windows.update_many(items, weights, times=np.full(len(items), at(5)))
    windows.update_many(items + 10, weights, times=np.full(len(items), at(50_000)))
    windows.finish()
    for position, share in ((0, 0.1), (1, 0.0)):
        release = windows.windows[position].release
        assert release.step == 1
        assert release.estimate(3) / 90_000 == pytest.approx(share, abs=0.01)
    changes = {change.item: change for change in windows.changes()}
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


# What is refused.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"every": 0}, "every: expected an integer from 1 to 1099511627776, got 0"),
        ({"every": 1.5}, "every: expected an integer"),
        ({"every": "soon"}, "every: expected a number and one of ms, s, min, h, d"),
        ({"every": "0s"}, "every: expected 1 ms to 366 d"),
        ({"every": "400d"}, "every: expected 1 ms to 366 d"),
        ({"every": 10, "begin": "2026-01-01"}, "begin, end, slices, clock: expected none"),
        ({"every": 10, "slices": 3}, "begin, end, slices, clock: expected none for windows of st"),
        ({"every": "1h", "begin": "2026-01-01"}, "begin, end: expected both"),
        ({"every": "1h", "begin": "now", "end": "2026"}, "begin: expected an instant such as"),
        ({"every": "1h", "begin": 5, "end": 6}, "begin: expected a datetime or its ISO text"),
        ({"every": "1h", "begin": "2026-01-02", "end": "2026-01-01"}, "end: expected an instant a"),
        ({"every": "1s", "begin": "2026-01-01", "end": "2026-02-01"}, "every: expected at most 65"),
        ({"every": "1min", **DAY, "memory": 1 << 20}, "memory: expected at least "),
        ({"every": "1h", **DAY, "slices": 3}, "slices, clock: expected none for a range of time"),
        ({"every": "1h", "slices": 961}, "slices: expected an integer from 1 to 960"),
        ({"every": "1h", "clock": lambda: "now"}, "clock: expected seconds since 1970, got str"),
        ({"every": "1h", "clock": lambda: float("nan")}, "clock: expected seconds since 1970"),
        ({"every": 10, "keep": 0}, "keep: expected an integer"),
        ({"every": 10, "domain": ...}, "k, share: expected one of these"),
        ({"every": 10, "epsilon": -1.0}, "epsilon: expected"),
        ({"every": 10, "domain": [1.5]}, "domain: expected str, bytes or int"),
        ({"every": 10, "key": b"secret"}, "key: expected a Key, got bytes"),
    ],
)
def test_bad_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ls.LazySketchError) as raised:
        made(**changes)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("items", "options", "error", "message"),
    [
        ([1, None, 3], {}, ItemError, "position 1"),
        ([1, 2], {}, ArgumentTypeError, "times: expected the time of each item, got none"),
        ([1, 2], {"times": [at(1)]}, ArgumentValueError, "times: expected one per item, 2"),
        (["a", 2], {"times": [datetime(2026, 1, 1), 5]}, ArgumentTypeError, "times: expected"),
        ([1, 2], {"times": ["a", "b"]}, ArgumentTypeError, "times: expected timestamps or int64"),
        ([1, 2], {"times": [0.5, 1.5]}, ArgumentTypeError, "times: expected timestamps or int64"),
        ([1, 2], {"weights": [1, 6], "times": "ok"}, ArgumentValueError, "weights: expected"),
        ([1, 2], {"weights": [1], "times": "ok"}, ArgumentValueError, "weights: expected"),
        ("ab", {"times": "ok"}, ArgumentTypeError, "items: expected many, got one str"),
        ({"a": 1}, {"times": "ok"}, ArgumentTypeError, "items: expected many, got one dict"),
        (5, {"times": "ok"}, ArgumentTypeError, "items: expected an array or an iterable, got in"),
    ],
)
def test_a_bad_batch_counts_nowhere(
    items: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Not even in the windows before the bad value."""
    windows, silent = (made(every="6h", max_weight=5, **DAY) for _ in range(2))
    spread = [at(40_000), at(3), at(4)]
    if isinstance(items, list) and (None in items or options.get("times") == "ok"):
        options = {**options, "times": spread[: len(items)]}
    with pytest.raises(error) as raised:
        windows.update_many(items, **options)
    assert message in str(raised.value)
    for one in (windows, silent):
        one.finish()
    assert all(np.array_equal(*pair) for pair in zip(tables(windows), tables(silent), strict=True))


def test_a_bad_batch_over_several_windows_of_steps_counts_nowhere() -> None:
    windows = made(every=10, max_weight=2)
    for items, weights in (([1] * 25 + [None], None), ([1] * 25, [1] * 24 + [3])):
        with pytest.raises(ls.LazySketchError):
            windows.update_many(items, weights)
        assert windows.windows == ()
    windows.update_many([1] * 25, [1] * 25)
    assert len(windows.windows) == 2


def test_a_bad_batch_loses_no_window_that_ended_before_it() -> None:
    clock = Clock()
    windows, silent = (made(every="60s", clock=clock) for _ in range(2))
    windows.update_many([1] * 500)
    clock.now = 61.0
    with pytest.raises(ItemError):
        windows.update_many([None])
    kept = [tables(one)[0] for one in (windows, silent)]
    assert np.array_equal(kept[0] - kept[1], exact([1] * 500))


def test_a_clock_that_fails_later_loses_nothing() -> None:
    clock = Clock()
    windows = made(every="60s", clock=clock)
    windows.update(1)
    for wrong in (float("nan"), float("inf"), None, "noon", 1e30):
        clock.now = wrong  # type: ignore[assignment]
        with pytest.raises(ls.LazySketchError, match="^clock: expected seconds since 1970"):
            windows.update(2)
    clock.now = np.float32(60.0)  # type: ignore[assignment]
    assert len(windows.windows) == 1


def test_what_came_late_in_one_window_and_early_in_the_next_did_not_change() -> None:
    """Shares are of whole windows: nothing is extrapolated from rates within them."""
    windows = ls.Windows(every=20_000, domain=["late", "rest"], epsilon=1.0, delta=1e-6)
    windows.update_many(["rest"] * 19_400 + ["late"] * 600)
    windows.update_many(["late"] * 600 + ["rest"] * 19_400)
    assert windows.changes(confidence=0.9999) == []
    found = windows.interval("late", confidence=0.9999)
    assert found.low <= 600 <= found.high < 900


def test_many_empty_steps_are_quick_and_keep_the_numbers() -> None:
    windows, slow = made(every=10, keep=3), made(every=10, keep=3)
    windows.update_many([1] * 5)
    slow.update_many([1] * 5)
    windows.tick(10**12)
    for _ in range(12):
        slow.tick(7)
    assert [window.number for window in windows.windows] == [10**11 - 3, 10**11 - 2, 10**11 - 1]
    assert windows.open is not None
    assert windows.open.begin == 10**12
    assert windows.open.end == 10**12 + 5
    assert [window.number for window in slow.windows] == [5, 6, 7]


def test_names_are_not_published_out_of_an_open_slice() -> None:
    heavy = ls.HeavyHitters(k=2, epsilon=8.0, delta=1e-3, schedule=ls.Batch(horizon=3), window=3)
    heavy._table._add_to_batch(["a"] * 1_000)
    with pytest.raises(ArgumentValueError, match="^window: expected no open step, got one"):
        heavy.end_window()
    assert heavy.candidates == []
    heavy.tick()
    heavy.end_window()
    assert heavy.candidates == ["a"]


def test_the_open_window_joins_when_asked() -> None:
    clock = Clock()
    windows = made(every="60s", slices=6, clock=clock, key=...)
    assert windows.top(1) == []
    windows.update_many([7] * 5_000)
    clock.now = 10.0
    assert windows.top(1) == []
    (hitter,) = windows.top(1, include_open=True)
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


def test_times_belong_to_ranges_and_ticks_to_steps() -> None:
    by_clock = made(every="1h", clock=Clock())
    with pytest.raises(ArgumentTypeError, match="^times: expected none for windows by the clock"):
        by_clock.update_many([1], times=[0])
    with pytest.raises(ArgumentTypeError, match="^every: expected a number of steps"):
        by_clock.tick()
    with pytest.raises(ArgumentTypeError, match="^times: expected none for windows of steps"):
        made(every=5).update(1, time=datetime(2026, 1, 1, tzinfo=timezone.utc))
    for wrong in ({"n": 0}, {"n": 1, "last": 0}, {"n": 1, "confidence": 1.0}):
        with pytest.raises(ArgumentValueError):
            by_clock.top(**wrong)
    for against in ("yesterday", 3):
        with pytest.raises(ls.LazySketchError, match="^against: expected 'previous' or 'earlier'"):
            by_clock.changes(against=against)


def test_windows_have_one_life() -> None:
    windows = made(every=5)
    for deed in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LiveStateError):
            deed(windows)
    with made(every=5) as short:
        short.update_many([1] * 5)
    assert len(short.windows) == 1
    for call in (lambda: short.update(1), lambda: short.tick(), short.finish, short.advance):
        with pytest.raises(ClosedError, match="^windows: expected open ones"):
            call()
    short.close()
    assert "finished" in repr(short)
    assert "NOT PRIVATE" in repr(windows)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_refused() -> None:
    windows = made(every="1h", clock=Clock())
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            windows.update(1)
        except LiveStateError:
            os.write(writing, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        assert answer.read() == b"refused"


def test_many_threads_lose_nothing() -> None:
    windows, silent = made(every=1_000, keep=100), made(every=1_000, keep=100)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: windows.update_many([1] * 250), range(80)))
    silent.tick(20_000)
    assert len(windows.windows) == 20
    counted = {int(np.max(a - b)) for a, b in zip(tables(windows), tables(silent), strict=True)}
    assert counted == {1_000}
