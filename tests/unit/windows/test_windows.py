"""Boundaries of windows, and the events in each."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracle.windows import DAY, SECOND, Clock, at, exact, made, tables, wholes

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError
from lazysketch.testing import seeded_key
from lazysketch.windows import UNKNOWN_TIME
from lazysketch.windows.boundaries import ClockBoundaries, TimeRange
from lazysketch.windows.durations import duration_of, instant_of
from lazysketch.windows.window import total_of

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
@example(0, 10, 3, [-1, 0, 3, 9, 10])
def test_a_range_is_cut_like_a_ruler(first: int, length: int, every: int, times: list[int]) -> None:
    time_range = TimeRange(first=first, end=first + length, every=every)
    starts = list(range(first, first + length, every))
    assert time_range.windows == len(starts)
    assert [time_range.begin(number) for number in range(len(starts))] == starts
    assert time_range.begin(len(starts)) == first + length
    for time, place in zip(times, time_range.places(np.array(times, dtype=np.int64)), strict=True):
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
@example([], 0)
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
    plain, disturbed = (made(every="6h", domain=..., share=0.2, **DAY) for _ in range(2))
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
    assert wholes(windows) == [True]


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


@pytest.mark.parametrize("cut", ["clock", "range"])
def test_the_step_of_a_finished_window_does_not_show_its_events(cut: str) -> None:
    """A slice or window without events is over like one with events, by the clock or at the end."""
    clock = Clock(now=100.0)
    ways: dict[str, dict[str, object]] = {
        "clock": {"every": "1h", "slices": 4, "clock": clock},
        "range": {"every": "12h", **DAY},
    }
    seen, empty = made(**ways[cut]), made(**ways[cut])
    times = None if cut == "clock" else np.array([at(1)] * 3)
    seen.update_many([1, 2, 1], times=times)
    for windows in (seen, empty):
        windows.finish()
    for one, other in zip(seen.windows, empty.windows, strict=True):
        assert one.release.step == other.release.step
        assert one.release.pushes.tolist() == other.release.pushes.tolist()
        assert one.release.finished
    counted = seen.windows[0].release.table - empty.windows[0].release.table
    assert counted.tolist() == exact([1, 2, 1]).tolist()


def test_windows_of_which_only_the_ends_are_published_have_the_noise_of_one_push() -> None:
    by_steps = {"every": 2_000, "width": 64, "share": 0.1, "domain": None, "key": ...}
    once, often = made(slices=1, **by_steps), made(**by_steps)
    for windows in (once, often):
        windows.update_many([7] * 1_900)
    assert once.open is not None
    assert not once.open.release.table.any()
    for windows in (once, often):
        windows.update_many([7] * 2_200)
        assert [window.names for window in windows.windows] == [(7,), (7,)]
    deviations = [windows.release(2).noise_deviation.max() for windows in (once, often)]
    assert deviations[0] < 0.6 * deviations[1]
    assert abs(once.estimate(7, 2) - 4_000) < 6 * deviations[0]
    with pytest.raises(ArgumentTypeError, match=r"^begin, end, slices, clock: expected none"):
        made(every=100, slices=2)


@pytest.mark.parametrize("cut", ["clock", "range", "steps"])
def test_finishing_twice_publishes_once(cut: str) -> None:
    ways: dict[str, dict[str, object]] = {
        "clock": {"every": "1h", "clock": Clock(now=100.0)},
        "range": {"every": "12h", **DAY},
        "steps": {"every": 100},
    }
    windows = made(**ways[cut])
    windows.update_many([1, 2], times=np.array([at(1)] * 2) if cut == "range" else None)
    assert not windows.finished
    assert windows._live is not None
    windows._live.finish()  # what an interrupt leaves that comes just before the end of the call
    windows.finish()
    assert windows.finished
    before = [release.tolist() for release in tables(windows)]
    windows.finish()
    assert [release.tolist() for release in tables(windows)] == before
    assert len(before) == (2 if cut == "range" else 1)
    with pytest.raises(ClosedError, match="^windows: expected open windows"):
        windows.update(1)


def test_names_are_not_published_out_of_an_open_slice() -> None:
    heavy = ls.HeavyHitters(
        share=0.5, epsilon=8.0, delta=1e-3, schedule=ls.Batch(horizon=3), discovery_epoch=3
    )
    heavy._table._add_to_batch(["a"] * 1_000)
    with pytest.raises(ArgumentValueError, match="^discovery_epoch: expected no open step"):
        heavy.end_discovery_epoch()
    assert heavy.candidates == []
    heavy.tick()
    heavy.end_discovery_epoch()
    assert heavy.candidates == ["a"]


def test_many_threads_lose_nothing() -> None:
    windows, silent = made(every=1_000, keep=100), made(every=1_000, keep=100)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: windows.update_many([1] * 250), range(80)))
    silent.tick(20_000)
    assert len(windows.windows) == 20
    counted = {int(np.max(a - b)) for a, b in zip(tables(windows), tables(silent), strict=True)}
    assert counted == {1_000}


def test_a_clock_is_due_when_the_open_slice_is_over() -> None:
    """A store logs the clock then, and at no other time."""
    windows = made(every="10s", slices=5, clock=Clock(21.0), domain=None, share=0.1)
    open_windows = windows._live
    assert [second for second in range(18, 40) if open_windows.is_due(second * SECOND)] == list(
        range(22, 40)
    )
    windows.finish()
    assert not open_windows.is_due(50 * SECOND)


def test_a_total_that_is_all_noise_has_an_interval_with_its_estimate_inside() -> None:
    """Noise may leave the whole interval below 1, and yet it is no point: a point is exact."""
    below = 0
    for number in range(600):
        clock = Clock(1.0)
        windows = made(every="1s", slices=1, clock=clock, keep=5, key=seeded_key(number))
        windows.update(1)
        clock.now = 2.0
        (window,) = windows.windows
        total = total_of([window], window.release, failure=0.025)
        assert total.low < total.high
        assert total.low <= total.estimate <= total.high
        below += total.high == 1.0
    assert 1 <= below <= 60
