"""Windows of sums: what they count, and what they promise (docs/theory.md, Theorem 12e).

Two runs under one seeded key have the same noise, so the difference of their tables is exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.windows import DAY, Clock, at

import lazysketch as ls
from lazysketch import CountSketch
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError
from lazysketch.testing import seeded_key
from lazysketch.windows import UNKNOWN_TIME

Integers = npt.NDArray[np.int64]
Event = tuple[str, int]
PROMISE: dict[str, Any] = {"low": -2, "high": 2, "step": 1, "epsilon": 1.0, "delta": 1e-6}
HALVES = 2  # values are counted in half steps from the middle
SMALL: dict[str, Any] = {"depth": 2, "width": 4, "hash_seed": 3}
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 10},
    "ends of steps": {"every": 10, "slices": 1},
    "clock": {"every": "20s", "slices": 4},
    "range": {"every": "6h", **DAY},
}
every_cut = pytest.mark.parametrize("cut", CUTS)
EVENT = st.tuples(st.sampled_from("abcd"), st.integers(-2, 2))
EVENTS = st.lists(EVENT, max_size=35)


def windows_of(cut: str, **changes: Any) -> ls.SumsWindows:
    asked = {**PROMISE, **SMALL, "keep": 100, **CUTS[cut], **changes}
    if cut == "clock":
        asked.setdefault("clock", Clock(1000.0))
    return ls.SumsWindows(**asked)


def seeded(cut: str, **changes: Any) -> tuple[ls.SumsWindows, ls.SumsWindows]:
    """Windows, and others with the same noise that count nothing."""
    first, second = (windows_of(cut, key=seeded_key(7), **changes) for _ in range(2))
    return first, second


def columns(events: Sequence[Event]) -> tuple[list[str], list[int]]:
    return [item for item, _ in events], [value for _, value in events]


def counted(windows: ls.SumsWindows, silent: ls.SumsWindows) -> Iterator[tuple[Integers, Integers]]:
    """Both tables of each window, without noise."""
    for one, other in zip(windows.windows, silent.windows, strict=True):
        assert (one.number, one.begin, one.end) == (other.number, other.begin, other.end)
        pairs = zip(one.release.tables, other.release.tables, strict=True)
        counts, values = (mine.table - none.table for mine, none in pairs)
        yield counts, values


def expected(events: Sequence[Event]) -> tuple[Integers, Integers]:
    """The same by definition."""
    found = []
    for weights in ([1] * len(events), [HALVES * value for _, value in events]):
        table = np.zeros((2, 4), dtype=np.int64)
        for (item, _), weight in zip(events, weights, strict=True):
            table += weight * cells_of(item)
        found.append(table)
    return found[0], found[1]


def cells_of(item: str) -> Integers:
    exact = CountSketch(depth=2, width=4, hash_seed=3)
    exact.update(item)
    return exact.release().table


def check(windows: ls.SumsWindows, silent: ls.SumsWindows, parts: list[list[Event]]) -> None:
    found = list(counted(windows, silent))
    assert len(found) == len(parts)
    for (counts, values), events in zip(found, parts, strict=True):
        assert [counts.tolist(), values.tolist()] == [one.tolist() for one in expected(events)]


@pytest.mark.parametrize("cut", ["steps", "ends of steps"])
@settings(max_examples=15, deadline=None)
@given(calls=st.lists(st.one_of(EVENTS, st.integers(0, 25)), max_size=6))
def test_windows_of_steps_count_their_events(cut: str, calls: list[list[Event] | int]) -> None:
    windows, silent = seeded(cut)
    steps: list[Event | None] = []
    for call in calls:
        if isinstance(call, int):
            windows.tick(call)
            steps += [None] * call
        elif len(call) == 1:
            windows.update(*call[0])
            steps += call
        else:
            windows.update_many(*columns(call))
            steps += call
    assert windows.step == len(steps)
    silent.tick(len(steps))
    for one in (windows, silent):
        one.finish()
    parts = [steps[start : start + 10] for start in range(0, len(steps), 10)]
    check(windows, silent, [[event for event in part if event is not None] for part in parts])


@settings(max_examples=15, deadline=None)
@given(calls=st.lists(st.tuples(st.floats(0, 30), EVENTS), max_size=6))
def test_windows_by_the_clock_count_their_events(calls: list[tuple[float, list[Event]]]) -> None:
    clock = Clock(1000.0)
    windows, silent = seeded("clock", clock=clock)
    own: dict[int, list[Event]] = {}
    for seconds, events in calls:
        clock.now += seconds
        windows.update_many(*columns(events))
        own.setdefault(int(clock.now // 20), []).extend(events)
    for one in (windows, silent):
        one.finish()
    check(windows, silent, [own.get(n, []) for n in range(50, int(clock.now // 20) + 1)])


@settings(max_examples=15, deadline=None)
@given(events=st.lists(st.tuples(st.floats(-1e5, 2e5).map(at), EVENT), max_size=40))
def test_windows_of_a_range_count_their_events(events: list[tuple[int, Event]]) -> None:
    windows, silent = seeded("range")
    times = np.array([time for time, _ in events], dtype=np.int64)
    windows.update_many(*columns([event for _, event in events]), times=times)
    windows.update("a", 1, time=datetime(2100, 1, 1, tzinfo=timezone.utc))
    windows.update_many(["a"], [1], times=[UNKNOWN_TIME])
    for one in (windows, silent):
        one.finish()
    bounds = [(at(number * 21_600), at((number + 1) * 21_600)) for number in range(4)]
    check(
        windows,
        silent,
        [[event for time, event in events if low <= time < high] for low, high in bounds],
    )


@every_cut
@pytest.mark.parametrize(
    ("items", "values"),
    [
        ([None], [1]),
        ([1.5], [1]),
        (["a"], [float("nan")]),
        (["a"], ["b"]),
        (["a", "b"], [1]),
        ([], [1]),
    ],
)
def test_a_batch_that_is_refused_changes_nothing(
    cut: str, items: list[Any], values: list[Any]
) -> None:
    windows, silent = seeded(cut)
    wrong = (["a"] * 11 + items, [1] * 11 + values)
    times = {"times": [at(0)] * len(wrong[0])} if cut == "range" else {}
    with pytest.raises(ls.LazySketchError):
        windows.update_many(*wrong, **times)
    with pytest.raises(ArgumentTypeError, match="^times: "):
        windows.update_many(["a"], [1], **({} if times else {"times": [at(0)]}))
    for one in (windows, silent):
        one.finish()
        with pytest.raises(ClosedError):
            one.update("a", 1)
    assert not any(counts.any() or values.any() for counts, values in counted(windows, silent))


@every_cut
def test_windows_have_ids_and_noise_of_their_own_and_one_hash_seed(cut: str) -> None:
    clock = Clock(1000.0)
    options: dict[str, Any] = {"clock": clock} if cut == "clock" else {}
    windows = windows_of(cut, hash_seed=None, **options)
    if "steps" in cut:
        windows.tick(30)
    clock.now = 1060.0
    if cut == "range":
        windows.finish()
    tables = [table for window in windows.windows for table in window.release.tables]
    assert len({table.sketch_id for table in tables}) == len(tables) == 2 * len(windows.windows)
    assert len({table.hash_seed for table in tables}) == 1
    for one, other in itertools.combinations(tables, 2):
        assert not np.array_equal(one.table, other.table)
    assert windows.private


def test_queries() -> None:
    sent = ls.SumsWindows(low=0, high=100, every=10_000, epsilon=1.0, delta=1e-6, slices=1)
    sent.update_many(["a", "b"] * 5_000, [90, 10] * 5_000)
    sent.update_many(["a", "b"] * 5_000, [10, 10] * 5_000)
    sure = {"confidence": 1 - 1e-6}
    for last, total, number, mean in ((1, 50_000, 5_000, 10), (2, 500_000, 10_000, 50)):
        for found, true in (
            (sent.sum("a", last, **sure), total),
            (sent.count("a", last, **sure), number),
            (sent.mean("a", last, **sure), mean),
        ):
            assert found.low <= true <= found.high
    assert [one.item for one in sent.top(1, last=2, among=["a", "b", "c"])] == ["a"]
    assert len(sent.release(2).parts) == 2
    assert (sent.grid.low, sent.grid.high) == (0, 100)
    assert "sums of values from 0 to 100, open, 2 ended" in repr(sent)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"every": None}, "every: expected a length, as in SumsWindows"),
        ({"schedule": ls.Single()}, "schedule: "),
        ({"horizon": 5}, "horizon: "),
        ({"high": -3}, "high: "),
        ({"every": "1min", **DAY, "width": 2**20}, "every: expected windows of at most"),
    ],
)
def test_bad_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ls.LazySketchError) as raised:
        windows_of("steps", **changes)
    assert str(raised.value).startswith(message)


def test_rows_that_do_not_serve_for_a_move_are_refused() -> None:
    with pytest.raises(ArgumentValueError, match="^mechanism: expected another one than 'tree-l"):
        windows_of("steps", every="1h", slices=900, mechanism="tree-log")


def moved(cut: str, relation: str, weights: Sequence[int], slices: int) -> int:
    """The largest squared move of one table by a pair of events, in any two windows of time."""
    shifts = [strategy("haar", slices).shift(leaf) for leaf in range(1, slices + 1)]
    cells = [weight * cells_of(f"item {n}").ravel() for n in range(24) for weight in weights]
    steps = list(itertools.product(range(2), range(slices)))
    places = [
        np.kron(np.eye(2, dtype=np.int64)[window], np.outer(one, shifts[leaf])).ravel()
        for window, leaf in steps
        for one in cells
    ]
    gram = np.array(places) @ np.array(places).T
    own = np.diag(gram)
    if relation == "zero-out":
        return int(own.max())
    pairs = own[:, None] + own[None, :] - 2 * gram
    if cut == "steps":  # an event keeps its step
        step = np.repeat(np.arange(len(steps)), len(cells))
        pairs[step[:, None] != step[None, :]] = 0
    return max(int(pairs.max()), int(own.max()))


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("cut", ["steps", "clock", "range"])
def test_no_event_moves_a_table_further_than_calibrated(cut: str, relation: str) -> None:
    """Of both tables; items that collide with opposite signs attain the bound."""
    slices = {"steps": 2, "clock": 2, "range": 1}[cut]
    changes = {"steps": {"every": 2}, "clock": {"slices": 2}, "range": {}}[cut]
    windows = windows_of(cut, relation=relation, mechanism="haar", **changes)
    most = HALVES * 2
    for stated, weights in (
        (windows.privacy.counts, [1]),
        (windows.privacy.values, [-most, most]),
    ):
        bound = stated.l2_sensitivity**2
        largest = moved(cut, relation, weights, slices)
        assert largest <= bound <= largest * (1 + 1e-12)


@every_cut
def test_releases_of_windows_state_what_the_windows_do(cut: str) -> None:
    windows = windows_of(cut)
    if "steps" in cut:
        windows.tick(20)
    windows.finish()
    stated = windows.privacy
    for window in windows.windows:
        assert window.release.privacy == stated
        assert ls.SumsRelease.from_bytes(window.release.to_bytes()).privacy == stated
    assert ls.compose(windows).epsilon <= 1.0
    together = ls.compose(*(window.release for window in windows.windows))
    mu = math.hypot(stated.counts.mu, stated.values.mu)
    assert together.mu == pytest.approx(mu * math.sqrt(len(windows.windows)), rel=1e-9)


def test_before_the_first_end_there_is_nothing() -> None:
    windows = windows_of("steps")
    with pytest.raises(ArgumentValueError, match="expected windows that have ended"):
        windows.release()
