"""Windows of distinct items and of distributions: what they count, and what they promise.

Two runs under one seeded key have the same noise, so the difference of their tables is exact.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.windows import DAY, Clock, at
from tests.value_matrix import matrix

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError, LiveStateError
from lazysketch.specification.distinct import BIT_WEIGHT
from lazysketch.specification.value_tree import ValueTree
from lazysketch.testing import seeded_key
from lazysketch.windows import UNKNOWN_TIME

Integers = npt.NDArray[np.int64]
Windows = ls.DistinctWindows | ls.DistributionWindows | ls.RangesWindows
BINS = ls.Bins.linear(0, 2, number=2)  # four bins with the two that are open
VALUES = [-1.0, 0.5, 1.5, 9.0]
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 10},
    "ends of steps": {"every": 10, "slices": 1},
    "clock": {"every": "20s", "slices": 4},
    "range": {"every": "6h", **DAY},
}
every_cut = pytest.mark.parametrize("cut", CUTS)
both = pytest.mark.parametrize("kind", ["distinct", "distribution", "ranges"])


def windows_of(kind: str, cut: str, **changes: Any) -> Any:
    asked = {**PROMISE, "keep": 100, **CUTS[cut], **changes}
    if cut == "clock":
        asked.setdefault("clock", Clock(1000.0))
    if kind == "distinct":
        return ls.DistinctWindows(**{"hash_seed": 3, **asked})
    if kind == "ranges":
        return ls.RangesWindows(**{"bits": 2, "width": 8, "hash_seed": 3, **asked})
    return ls.DistributionWindows(**{"bins": BINS, **asked})


def seeded(kind: str, cut: str, **changes: Any) -> tuple[Any, Any]:
    """Windows, and others with the same noise that count nothing."""
    first, second = (windows_of(kind, cut, key=seeded_key(7), **changes) for _ in range(2))
    return first, second


def counted(kind: str, windows: Any, silent: Any) -> list[list[int]]:
    """What each window counted: the number of distinct items, or the values in every bin."""
    found = []
    for one, other in zip(windows.windows, silent.windows, strict=True):
        assert (one.number, one.begin, one.end) == (other.number, other.begin, other.end)
        exact = (one.release.table - other.release.table).ravel()
        if kind == "distinct":
            assert exact.sum() % BIT_WEIGHT == 0
            found.append([int(exact.sum()) // BIT_WEIGHT])
            continue
        if kind == "ranges":  # both halves, and what is left less what is right in each
            left, right, first, second = exact[:4].tolist()
            assert not exact[4:].any()
            pairs = ((left, first), (right, second))
            found.append([(n + sign * c) // 2 for n, c in pairs for sign in (1, -1)])
            continue
        rows = matrix(ValueTree(one.release._native.value_rows, 4))
        below = np.rint(np.linalg.solve(rows.astype(float), exact.astype(float))).astype(int)
        assert np.array_equal(rows @ below, exact)
        found.append(np.diff(below, prepend=0).tolist())
    return found


def expected(kind: str, events: Sequence[int]) -> list[int]:
    """The same by definition; an event is a number from 0 to 3."""
    if kind == "distinct":
        return [len(set(events))]
    return [list(events).count(number) for number in range(4)]


def shown(kind: str, events: Sequence[int]) -> list[Any]:
    """The events as they are given to windows."""
    return [VALUES[event] for event in events] if kind == "distribution" else list(events)


EVENTS = st.lists(st.integers(0, 3), max_size=35)


@both
@pytest.mark.parametrize("cut", ["steps", "ends of steps"])
@settings(max_examples=15, deadline=None)
@given(calls=st.lists(st.one_of(EVENTS, st.integers(0, 25)), max_size=6))
def test_windows_of_steps_count_their_events(
    kind: str, cut: str, calls: list[list[int] | int]
) -> None:
    windows, silent = seeded(kind, cut)
    steps: list[int | None] = []
    for call in calls:
        if isinstance(call, int):
            windows.tick(call)
            steps += [None] * call
        elif len(call) == 1:
            windows.update(shown(kind, call)[0])
            steps += call
        else:
            windows.update_many(shown(kind, call))
            steps += call
    assert windows.step == len(steps)
    silent.tick(len(steps))
    for one in (windows, silent):
        one.finish()
    parts = [steps[start : start + 10] for start in range(0, len(steps), 10)]
    events = [[event for event in part if event is not None] for part in parts]
    assert counted(kind, windows, silent) == [expected(kind, part) for part in events]


@both
@settings(max_examples=15, deadline=None)
@given(calls=st.lists(st.tuples(st.floats(0, 30), EVENTS), max_size=6))
def test_windows_by_the_clock_count_their_events(
    kind: str, calls: list[tuple[float, list[int]]]
) -> None:
    clock = Clock(1000.0)
    windows, silent = seeded(kind, "clock", clock=clock)
    own: dict[int, list[int]] = {}
    for seconds, events in calls:
        clock.now += seconds
        windows.update_many(shown(kind, events))
        own.setdefault(int(clock.now // 20), []).extend(events)
    last = int(clock.now // 20)
    for one in (windows, silent):
        one.finish()
    assert [window.number for window in windows.windows] == list(range(50, last + 1))
    assert counted(kind, windows, silent) == [
        expected(kind, own.get(number, [])) for number in range(50, last + 1)
    ]


@both
@settings(max_examples=15, deadline=None)
@given(events=st.lists(st.tuples(st.floats(-1e5, 2e5).map(at), st.integers(0, 3)), max_size=40))
def test_windows_of_a_range_count_their_events(kind: str, events: list[tuple[int, int]]) -> None:
    windows, silent = seeded(kind, "range")
    times, values = [time for time, _ in events], [value for _, value in events]
    windows.update_many(shown(kind, values), times=np.array(times, dtype=np.int64))
    windows.update(shown(kind, [0])[0], time=datetime(2100, 1, 1, tzinfo=timezone.utc))
    windows.update_many(shown(kind, [0]), times=[UNKNOWN_TIME])
    for one in (windows, silent):
        one.finish()
    bounds = [(at(number * 21_600), at((number + 1) * 21_600)) for number in range(4)]
    assert counted(kind, windows, silent) == [
        expected(kind, [value for time, value in events if low <= time < high])
        for low, high in bounds
    ]


@both
def test_a_slice_is_public_when_it_is_over_and_not_before(kind: str) -> None:
    clock = Clock(1000.0)
    windows, silent = seeded(kind, "clock", clock=clock)
    windows.update_many(shown(kind, [1, 2]))
    for seconds, same in [(1004.9, True), (1005.0, False)]:
        clock.now = seconds
        tables = [one.open.release.table for one in (windows, silent)]
        assert np.array_equal(*tables) is same
        assert not windows.open.ended


@every_cut
@both
def test_windows_have_ids_and_noise_of_their_own_and_one_hash_seed(kind: str, cut: str) -> None:
    clock = Clock(1000.0)
    options: dict[str, Any] = {"clock": clock} if cut == "clock" else {}
    if kind != "distribution":
        options["hash_seed"] = None
    windows = windows_of(kind, cut, **options)
    if "steps" in cut:
        windows.tick(30)
    clock.now = 1060.0
    if cut == "range":
        windows.finish()
    first, second, *_ = windows.windows
    assert len({window.release.sketch_id for window in windows.windows}) == len(windows.windows)
    assert first.release.hash_seed == second.release.hash_seed
    assert not np.array_equal(first.release.table, second.release.table)
    assert windows.private
    assert windows.not_private_because == ()


def test_queries() -> None:
    visitors = ls.DistinctWindows(every=20_000, **PROMISE)
    visitors.update_many(np.arange(20_000) % 3_000)
    visitors.update_many(np.arange(20_000) % 12_000)
    for position, number in [(0, 3_000), (1, 12_000), (-1, 12_000)]:
        found = visitors.interval(position, confidence=1 - 1e-9)
        assert found.low <= number <= found.high
        assert visitors.estimate(position) == visitors.release(position).estimate()
    values = ls.DistributionWindows(bins=ls.Bins.linear(0, 100), every=10_000, **PROMISE)
    values.update_many(np.arange(20_000) % 10_000 / 200 + np.repeat([0.0, 50.0], 10_000))
    sure = {"confidence": 1 - 1e-9}
    assert values.quantile(0.5, **sure).low <= 75 <= values.quantile(0.5, **sure).high
    lower, upper = values.quantiles([0.25, 0.75], last=2, **sure)
    assert lower.low <= 25 <= lower.high < upper.low <= 75 <= upper.high
    assert values.cdf(50, last=2, **sure).low <= 0.5 <= values.cdf(50, last=2, **sure).high
    assert values.total(last=2, **sure).low <= 20_000
    assert len(values.histogram()) == values.bins.number
    assert "2 ended" in repr(values)
    assert "2 ended" in repr(visitors)


def test_queries_of_ranges() -> None:
    keys = ls.RangesWindows(bits=32, width=1024, every=10_000, slices=1, **PROMISE)
    keys.update_many(np.repeat([0x0A000001, 0xC0A80101], 5_000))
    keys.update_many(np.full(10_000, 0x0A000002))
    sure = {"confidence": 1 - 1e-9}
    for last, number in ((1, 10_000), (2, 15_000)):
        for found in (
            keys.prefix("10.0.0.0/8", last, **sure),
            keys.count_between(0x0A000000, 0x0B000000, last, **sure),
        ):
            assert found.low <= number <= found.high
    assert keys.total(last=2, **sure).low <= 20_000 <= keys.total(last=2, **sure).high
    assert len(keys.release(2).parts) == 2
    assert keys.bits == 32
    assert "ranges of keys of 32 bits, open, 2 ended" in repr(keys)


def test_ranges_with_a_mechanism_count_across_the_end_of_a_window() -> None:
    haar = ls.Mechanism("haar", leaves=10)
    keys = ls.RangesWindows(bits=6, width=4, every=10, mechanism=haar, **PROMISE)
    keys.update_many([1] * 25)
    assert keys.release(2).step == 20


@both
def test_before_the_first_end_there_is_nothing(kind: str) -> None:
    windows = windows_of(kind, "steps")
    with pytest.raises(ArgumentValueError, match="expected windows that have ended"):
        windows.release()
    windows.tick(10)
    with pytest.raises(ArgumentTypeError):
        windows.release("last")
    if kind == "distinct":
        with pytest.raises(ArgumentValueError, match="^position: expected an integer from -1 to 0"):
            windows.release(1)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("distinct", {"every": None}, "every: expected a length, as in DistinctWindows"),
        ("distribution", {"every": None}, "every: expected a length, as in DistributionWindows"),
        ("distinct", {"keep": 0}, "keep: expected an integer"),
        ("distinct", {"horizon": 5}, "horizon: "),
        ("distribution", {"schedule": ls.Single()}, "schedule: "),
        ("distribution", {"moves": False}, "moves: "),
        ("distribution", {"bins": 5}, "bins: expected Bins"),
        ("distinct", {"bits": 5}, "bits: expected"),
        ("distinct", {"mechanism": "binary"}, "mechanism: expected one of"),
        ("distinct", {"every": "1min", **DAY, "bits": 2**22}, "every: expected windows of at most"),
        ("ranges", {"every": None}, "every: expected a length, as in RangesWindows"),
        ("ranges", {"schedule": ls.Single()}, "schedule: "),
        ("ranges", {"bits": 65}, "bits: expected an integer from 1 to 64"),
        ("ranges", {"every": "1min", **DAY, "bits": 64, "width": 4096}, "every: expected windows"),
    ],
)
def test_bad_arguments_are_named(kind: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ls.LazySketchError) as raised:
        windows_of(kind, "steps", **changes)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("kind", ["distribution", "ranges"])
def test_rows_that_do_not_serve_for_a_move_are_refused(kind: str) -> None:
    rows = {"every": "1h", "slices": 900, "mechanism": "tree-log"}
    expected = "mechanism: expected another one than 'tree-log' for more than 874 slices"
    with pytest.raises(ArgumentValueError, match=f"^{expected}"):
        windows_of(kind, "steps", **rows)


@both
@every_cut
def test_a_batch_that_is_refused_changes_nothing(kind: str, cut: str) -> None:
    windows, silent = seeded(kind, cut)
    times = {"times": [at(0)] * 12} if cut == "range" else {}
    bad: dict[str, Any] = {"distinct": None, "ranges": 4, "distribution": float("nan")}
    wrong = [1] * 11 + [bad[kind]]
    with pytest.raises(ls.LazySketchError):
        windows.update_many(wrong, **times)
    with pytest.raises(ArgumentTypeError, match="^times: "):
        windows.update_many([1] * 12, **({} if times else {"times": [at(0)] * 12}))
    for one in (windows, silent):
        one.finish()
        with pytest.raises(ClosedError):
            one.update_many([1])
    assert all(not any(part) for part in counted(kind, windows, silent))


@both
def test_windows_have_one_life(kind: str) -> None:
    windows = windows_of(kind, "steps")
    with pytest.raises(LiveStateError):
        copy.copy(windows)
    with windows:
        windows.tick(15)
    assert len(windows.windows) == 1
    with pytest.raises(ClosedError):
        windows.tick()
