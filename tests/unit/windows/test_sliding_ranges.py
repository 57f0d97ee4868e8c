"""Sliding windows of a range of time: what they count, their noise, and after failures."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.oracle.windows import DAY, PROMISE, SECOND, Clock, at, exact
from tests.unit.windows.test_sliding import an_id_per_block  # noqa: F401 -- a fixture

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError, ItemError
from lazysketch.specification.mechanisms import mechanisms_for
from lazysketch.windows import UNKNOWN_TIME
from lazysketch.windows.cuts import leaves_of
from lazysketch.windows.sliding_noise import best_block, window_variances
from lazysketch.windows.window_tables import WindowTables

HOURS = 24
EVENTS = st.lists(st.tuples(st.floats(-1e5, 2e5).map(at), st.integers(0, 49)), max_size=40)


def by_time(**changes: Any) -> ls.Sliding:
    asked = {**PROMISE, "domain": range(50), "hash_seed": 3, "every": "1h", "span": "3h", **DAY}
    return ls.Sliding(**{**asked, **changes})


def counted(slides: ls.Sliding, events: list[tuple[int, int]], parts: int = 1) -> ls.Sliding:
    """Count events in the order that is given, in several calls."""
    for part in range(parts):
        chosen = events[part::parts]
        times = np.array([time for time, _ in chosen], dtype=np.int64)
        slides.update_many([item for _, item in chosen], times=times)
    return slides


@settings(max_examples=30, deadline=None)
@given(EVENTS, st.integers(1, 6), st.integers(1, 26), st.integers(1, 3))
def test_windows_of_a_range_count_the_events_of_their_times(
    events: list[tuple[int, int]], span: int, block: int, parts: int
) -> None:
    """In any order of their times; what is outside the range, or has no time, is in no window."""
    slides, silent = (by_time(span=f"{span}h", block=block) for _ in range(2))
    counted(slides, events, parts)
    slides.update_many([1, 2], times=[UNKNOWN_TIME, at(10 * 86_400)])
    assert (slides.slices, slides.window(), slides.candidates) == (0, None, list(range(50)))
    for one in (slides, silent):
        one.finish()
        one.finish()
    with pytest.raises(ClosedError):
        slides.update(1, time=datetime(2026, 1, 1, 5))
    assert (slides.slices, slides.block, slides.step) == (HOURS, block, None)
    midnight = slides.window(HOURS - 1, last=1)
    assert midnight is not None
    for ago in range(HOURS):
        window, noise = slides.window(ago), silent.window(ago)
        assert window is not None
        assert noise is not None
        stop = HOURS - ago
        start = max(stop - span, 0)
        assert window.begin == midnight.begin + timedelta(hours=start)  # type: ignore[operator]
        assert window.end == midnight.begin + timedelta(hours=stop)  # type: ignore[operator]
        items = [item for time, item in events if at(3600 * start) <= time < at(3600 * stop)]
        assert np.array_equal(window.release.table - noise.release.table, exact(items))
        assert window.whole == (stop - start == span)
        assert window.release.step == stop - start
        assert len(window.release.parts) == (stop - 1) // block - start // block + 1


@pytest.mark.parametrize("block", [1, 2, 3, 4])
def test_all_streams_of_four_slices_in_any_order(block: int) -> None:
    """Each slice has one of two items or none, and its events come first or last."""
    four = {"every": "6h", "span": "12h", "block": block}
    silent = by_time(**four)
    silent.finish()
    for number, items in enumerate(itertools.product((None, 0, 1), repeat=4)):
        slides = by_time(**four)
        events = [
            (at(3600 * 6 * slice_), item) for slice_, item in enumerate(items) if item is not None
        ]
        counted(slides, events[:: -1 if number % 2 else 1], 2)
        slides.finish()
        for ago, last in itertools.product(range(4), range(1, 5)):
            window, noise = slides.window(ago, last=last), silent.window(ago, last=last)
            assert window is not None
            assert noise is not None
            of_window = items[max(4 - ago - last, 0) : 4 - ago]
            expected = exact([item for item in of_window if item is not None])
            assert np.array_equal(window.release.table - noise.release.table, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"domain": None, "share": 0.2, "epsilon": 8.0},
        {"domain": None, "share": 0.2, "epsilon": 8.0, "discovery_epoch": 3},
        {"domain": None, "share": 0.2, "epsilon": 8.0, "max_weight": 4},
        {"person_bound": ls.PersonBound(cells=1)},
    ],
)
def test_slices_of_a_range_are_those_of_a_clock(options: dict[str, Any]) -> None:
    """The same tables, names and people as if a clock had cut the events in order of time."""
    clock = Clock(0.0)
    asked = {"block": 4, "delta": 1e-4, "span": "2s", "every": "1s", **options}
    slides = by_time(
        **asked, begin="1970-01-01T00:00:00", end="1970-01-01T00:00:12", memory=1 << 25
    )
    ticking = by_time(**asked, begin=None, end=None, clock=clock, keep=12, memory=1 << 25)
    chance = np.random.default_rng(3)
    times = np.sort(chance.integers(0, 12 * SECOND, 950))
    items = chance.integers(0, 4, 950)
    weights = chance.integers(0, 5, 950) if "max_weight" in options else None
    people = np.array([f"person {number}" for number in chance.integers(0, 300, 950)])

    def part(chosen: NDArray[Any]) -> dict[str, Any]:
        user = {"user": people[chosen]} if "person_bound" in options else {}
        return user if weights is None else {"weights": weights[chosen], **user}

    # Of one person and one slice the order counts.
    order = np.argsort(chance.permutation(12)[times // SECOND], kind="stable")
    slides.update_many(items[order], times=times[order], **part(order))
    for second in range(12):
        clock.now = float(second)
        chosen = np.flatnonzero(times // SECOND == second)
        ticking.update_many(items[chosen], **part(chosen))
    slides.finish()
    ticking.finish()
    for ago, last in itertools.product(range(12), (1, 2, 3, 12)):
        one, other = slides.window(ago, last=last), ticking.window(ago, last=last)
        assert one is not None
        assert other is not None
        assert (one.begin, one.end, one.number) == (other.begin, other.end, other.number)
        assert one.names == other.names
        assert np.array_equal(one.release.table, other.release.table)
        assert np.array_equal(one.release.noise_deviation, other.release.noise_deviation)
    assert slides.candidates == ticking.candidates
    assert slides.candidates
    assert slides.privacy == ticking.privacy
    bounded = "person_bound" in options
    assert slides.privacy.within == ("one block of slices" if bounded else None)


def squares_of_moves(slides: ls.Sliding, silent: ls.Sliding) -> float:
    """The squared distance of what the noise of all blocks is added to, in all cells.

    From what is published: the difference of the ends of slices, which has no noise, times U.
    """
    total = 0
    pairs = zip(slides._kept()[1:], silent._kept()[1:], strict=True)
    for _, ends in itertools.groupby(pairs, key=lambda pair: pair[0].number):
        moved = [(one.release.table - other.release.table).ravel() for one, other in ends]
        counts = np.diff(np.array(moved), axis=0, prepend=0)
        (part,) = slides._kept()[1].release.parts
        assert part.mechanism is not None
        rows = strategy(part.mechanism.name, part.mechanism.leaves)
        shifts = np.array([rows.shift(leaf) for leaf in range(1, len(counts) + 1)])
        total += int(((shifts.T @ counts) ** 2).sum())
    return total


@pytest.mark.parametrize("block", [1, 5, 24, 32])
def test_an_event_that_moves_costs_what_the_noise_covers(block: int) -> None:
    """From every slice to every other one, to the same and to another item: Theorem 12b."""
    end = "2026-01-02T08:00"
    options = {"every": "1h", "end": end, "block": block, "width": 2, "depth": 1}
    noise = by_time(**options).privacy.sketch
    largest = 0.0
    slices = [0, 1, 3, 4, 5, 15, 16, 22, 23, 24, 30, 31]
    published = {}
    for hour, item in itertools.product(slices, (5, 6, 7)):
        slides = counted(by_time(**options), [(at(3600 * hour), item)])
        slides.finish()
        published[hour, item] = slides
    for (_, one), (_, other) in itertools.combinations(published.items(), 2):
        largest = max(largest, squares_of_moves(one, other))
    assert largest <= noise.l2_sensitivity**2 * (1 + 1e-12)
    # That it is nearly attained shows that nothing was left out.
    assert largest >= 0.6 * noise.l2_sensitivity**2
    mechanism = mechanisms_for("tree", leaves=leaves_of(block), growing=False)[0]
    assert noise.l2_sensitivity**2 == pytest.approx(2 * mechanism.sensitivity2)


def test_an_event_that_moves_changes_two_slices() -> None:
    for block in (1, 8):
        tables = []
        for hour in (2, 20):
            slides = counted(by_time(block=block), [(at(3600 * hour), 5)])
            slides.finish()
            one = [slides.window(HOURS - 1 - slice_, last=1) for slice_ in range(HOURS)]
            tables.append([window.release.table for window in one if window is not None])
        moved = [int(((one - other) ** 2).sum()) for one, other in zip(*tables, strict=True)]
        assert [number for number, square in enumerate(moved) if square] == [2, 20]
    options = {**PROMISE, "domain": range(50), "every": "1h", **DAY}
    ranges = ls.Windows(**options)  # type: ignore[arg-type]
    assert by_time(block=1).privacy.sketch.sigma == ranges.privacy.sketch.sigma


@pytest.mark.parametrize(("span", "block"), [(60, None), (60, 60), (7, None), (7, 1)])
def test_sixty_slices_have_the_noise_of_blocks(span: int, block: int | None) -> None:
    """The variances of docs/windows.md, where 1 is that of a single release: 13.7 and not 60."""
    end = "2026-01-06"
    slides = by_time(span=f"{span}h", block=block, end=end, depth=1, width=4)
    assert slides.block == (block or best_block(span))
    slides.finish()
    formula = window_variances(slides.block, span)
    alone = by_time(block=1, depth=1, width=4)
    alone.finish()
    single = float(alone.release(1).noise_deviation[0])
    for ago in range(120 - span + 1):
        window = slides.window(ago)
        assert window is not None
        deviation = float(window.release.noise_deviation[0])
        stop = 120 - ago
        assert (deviation / single) ** 2 == pytest.approx(formula[(stop - 1) % slides.block])
    if span == 60:
        assert 10 < formula.max() < 13.8


def failing_at(
    call: int, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], *, late: bool
) -> None:
    """One of the calls that publish fails once: before it does its work, or after it."""
    calls = iter(range(1, 1_000))

    def failing(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(*given: Any, **more: Any) -> Any:
            fails = next(calls) == call
            if fails and not late:
                raise error
            result = original(*given, **more)
            if fails:
                raise error
            return result

        return method

    for owner, name in (
        (ls.HeavyHitters, "tick"),
        (ls.HeavyHitters, "finish"),
        (ls.HeavyHitters, "close"),
        (WindowTables, "published"),
    ):
        monkeypatch.setattr(owner, name, failing(getattr(owner, name)))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("call", range(1, 16))
def test_an_end_that_is_interrupted_publishes_each_slice_once(
    call: int, error: type[BaseException], late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next call goes on; all that is ever read is what one call without a failure publishes."""
    options = {"every": "4h", "span": "8h", "block": 4, "domain": None, "share": 0.5}
    events = [(at(3600 * hour), hour % 3) for hour in range(24)] * 20
    whole = counted(by_time(**options), events)
    whole.finish()
    slides = counted(by_time(**options), events)
    with monkeypatch.context() as patched:
        failing_at(call, patched, error, late=late)
        with pytest.raises(error):
            slides.finish()
        assert slides._kept() == ()
        slides.finish()
    assert slides.finished
    assert len(slides._kept()) == len(whole._kept()) == 7
    for one, other in zip(slides._kept(), whole._kept(), strict=True):
        assert one.release.to_bytes() == other.release.to_bytes()
        assert (one.begin, one.end, one.names) == (other.begin, other.end, other.names)


def test_a_batch_that_is_refused_changes_nothing() -> None:
    slides, silent = by_time(block=5), by_time(block=5)
    hours = [at(3600 * hour) for hour in (3, 20, 4)]
    counted(slides, [(hours[0], 7)])
    for items, error, more in (
        ([1, None, 2], ItemError, {"times": hours}),
        ([1, 2, 3], ArgumentTypeError, {}),
        ([1, 2, 3], ArgumentValueError, {"times": hours, "weights": [1, 1, 2]}),
        ([1, 2, 3], ArgumentValueError, {"times": hours[:2]}),
    ):
        with pytest.raises(error):
            slides.update_many(items, **more)
    for one in (slides, silent):
        one.finish()
    window, noise = slides.window(last=HOURS), silent.window(last=HOURS)
    assert window is not None
    assert noise is not None
    assert np.array_equal(window.release.table - noise.release.table, exact([7]))


def test_memory_is_that_of_all_slices() -> None:
    """As docs/windows.md states it: 8 bytes per cell for each slice and each block, and names."""
    cells = 8 * 3 * 64
    for options, least in (
        ({"block": 8}, 3 * (8 * cells + (1 << 16))),
        ({"block": 1}, 24 * (cells + (1 << 16))),
        (
            {"block": 8, "domain": None, "share": 0.1, "discovery_epoch": 3},
            3 * (9 * cells + 3 * (1 << 16)),
        ),
    ):
        by_time(**options, memory=least)
        message = f"memory: expected at least {least:,} bytes for 24 open windows"
        with pytest.raises(ArgumentValueError, match=message):
            by_time(**options, memory=least - 1)
    with pytest.raises(ArgumentValueError, match="^memory: expected at least [0-9,]+ bytes"):
        by_time(every="2s", span="1min", width=1024)


def test_names_of_epochs_whose_events_come_late() -> None:
    """Each epoch is counted apart: an item that is heavy for two hours is found."""
    slides = by_time(span="12h", domain=None, share=0.3, epsilon=4.0, block=12, discovery_epoch=2)
    for hour in reversed(range(HOURS)):
        items = ["rare"] * 90 + ["usual"] * 210 if hour in (6, 7) else ["usual"] * 300
        slides.update_many(items, times=[at(3600 * hour)] * 300)
    slides.finish()
    assert set(slides.candidates) == {"rare", "usual"}
    known = {
        window.end.hour: set(window.names)  # type: ignore[union-attr]
        for window in slides.windows_after()[:11]
    }
    assert known[7] == {"usual"}
    assert known[8] == {"rare", "usual"}


def test_queries_of_a_range() -> None:
    slides = by_time(domain=["a", "b"], epsilon=8.0)
    for hour in range(HOURS):
        slides.update_many(
            ["a"] * 100 + ["b"] * (10 if hour < 21 else 200),
            times=[at(3600 * hour)] * (110 if hour < 21 else 300),
        )
    slides.finish()
    assert 600 in slides.interval("b", confidence=1 - 1e-9)
    assert [hitter.item for hitter in slides.top(2)] == ["b", "a"]
    assert {change.item: change.difference > 0 for change in slides.changes()} == {
        "a": False,
        "b": True,
    }
    later = slides.windows_after(datetime(2026, 1, 1, 22))
    assert later
    assert slides.windows_after(later[-1].end) == ()
