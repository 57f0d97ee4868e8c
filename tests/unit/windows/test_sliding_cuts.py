"""Sliding windows of steps: what they count, and after failures."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.windows import DAY, PROMISE, Clock, exact
from tests.unit.windows.test_sliding import an_id_per_block  # noqa: F401 -- a fixture

import lazysketch as ls
from lazysketch import HeavyHitters
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    ItemError,
    LazySketchError,
)
from lazysketch.windows.window_tables import WindowTables

EVERY = 3
ITEMS = st.lists(st.integers(0, 49), max_size=12)


def by_steps(**changes: Any) -> ls.Sliding:
    asked = {**PROMISE, "domain": range(50), "hash_seed": 3, "every": EVERY, "span": 2 * EVERY}
    return ls.Sliding(**{**asked, **changes})


def check_steps(slides: ls.Sliding, silent: ls.Sliding, steps: list[int | None]) -> None:
    """Every window of every length that can be asked for, against its steps."""
    known = slides.slices
    assert slides.step == silent.step == len(steps)
    # After `finish` the last slice may be shorter.
    ends = [*range(0, len(steps), EVERY), len(steps)] if slides.finished else None
    ends = ends or list(range(0, len(steps) + 1, EVERY))
    ends = list(dict.fromkeys(ends))
    assert known == min(len(ends) - 1, 4) or (slides.finished and not steps)
    for ago, last in itertools.product(range(known), range(1, known + 2)):
        window, noise = slides.window(ago, last=last), silent.window(ago, last=last)
        assert window is not None
        assert noise is not None
        stop = len(ends) - 1 - ago
        start = max(stop - last, len(ends) - 1 - known)
        begin, end = ends[start], ends[stop] if steps else 0
        assert (window.begin, window.end) == (begin, end)
        items = [item for item in steps[begin:end] if item is not None]
        assert np.array_equal(window.release.table - noise.release.table, exact(items))
        assert window.whole == (stop - start == last and (end - begin) == last * EVERY)


def run(slides: ls.Sliding, calls: list[list[int] | int]) -> list[int | None]:
    """The steps of some calls: items, or a number of empty steps."""
    steps: list[int | None] = []
    for call in calls:
        if isinstance(call, int):
            slides.tick(call)
            steps += [None] * call
        elif len(call) == 1:
            slides.update(call[0])
            steps += call
        else:
            slides.update_many(call)
            steps += call
    return steps


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(ITEMS, st.integers(0, 40)), max_size=8),
    st.integers(1, 5),
    st.booleans(),
)
def test_windows_count_their_steps(
    calls: list[list[int] | int], block: int, finishes: bool
) -> None:
    slides, silent = by_steps(block=block), by_steps(block=block)
    steps = run(slides, calls)
    silent.tick(len(steps))
    if finishes:
        for one in (slides, silent):
            one.finish()
            one.finish()
        with pytest.raises(ClosedError):
            slides.update(1)
    check_steps(slides, silent, steps)


def test_empty_blocks_of_which_nothing_is_kept_are_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slides = by_steps(block=2)
    made: list[int] = []
    original = WindowTables.make

    def make(self: WindowTables, number: int) -> HeavyHitters:
        made.append(number)
        return original(self, number)

    monkeypatch.setattr(WindowTables, "make", make)
    slides.update_many([1, 2])
    slides.tick(10**12)
    assert len(made) < 10
    window = slides.window()
    assert window is not None
    assert (slides.step, slides.slices) == (10**12 + 2, 4)
    assert window.end == (10**12 + 2) // EVERY * EVERY


@pytest.mark.parametrize(
    "options",
    [
        {"domain": None, "share": 0.2, "epsilon": 8.0},
        {"person_bound": ls.PersonBound(cells=1)},
    ],
)
def test_slices_of_steps_are_those_of_a_clock(options: dict[str, Any]) -> None:
    """The same blocks, names and people as if a clock struck after the last step of a slice."""
    clock = Clock(0.0)
    asked = {"block": 4, "delta": 1e-4, "discovery_epoch": None, **options}
    slides = by_steps(every=100, span=200, **asked)
    ticking = by_steps(every="1s", span="2s", clock=clock, **asked)
    chance = np.random.default_rng(3)
    items = chance.integers(0, 4, 950)
    people = [f"person {number}" for number in chance.integers(0, 300, 950)]
    bounded = "person_bound" in options
    for start, stop in itertools.pairwise((0, 40, 260, 261, 300, 777, 950)):
        user = {"user": people[start:stop]} if bounded else {}
        slides.update_many(items[start:stop], **user)
    for number in range(10):
        part = slice(100 * number, 100 * number + 100)
        user = {"user": people[part]} if bounded else {}
        ticking.update_many(items[part], **user)
        clock.now = number + 1.0 if number < 9 else clock.now
        ticking.advance()
    for ago, last in itertools.product(range(4), (1, 2, 3)):
        one, other = slides.window(ago, last=last), ticking.window(ago, last=last)
        assert one is not None
        assert other is not None
        assert one.names == other.names
        assert np.array_equal(one.release.table, other.release.table)
    assert slides.candidates == ticking.candidates
    assert slides.privacy == ticking.privacy
    assert slides.privacy.within == ("one block of slices" if bounded else None)


@pytest.mark.parametrize("wrong", [[1, None], [1.5], "ab", [1, 2, 3, 4, None]])
def test_a_batch_that_is_refused_changes_nothing(wrong: Any) -> None:
    slides, silent = by_steps(), by_steps()
    slides.update(1)
    for one in ({}, {"weights": [1]}, {"times": [1] * len(wrong)}):
        with pytest.raises(LazySketchError):
            slides.update_many(wrong, **one)
    with pytest.raises((ItemError, ArgumentTypeError)):
        slides.update_many([1] * 50 + [None])
    slides.tick(11)
    silent.tick(12)
    check_steps(slides, silent, [1] + [None] * 11)


def failing_at(call: int, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    """The core fails once, at one of the calls that end a slice."""
    calls = iter(range(1, 1_000))
    original: Callable[..., None] = HeavyHitters.update_batch

    def update_batch(self: HeavyHitters, *given: Any, **more: Any) -> None:
        if next(calls) == call:
            raise error
        original(self, *given, **more)

    monkeypatch.setattr(HeavyHitters, "update_batch", update_batch)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("call", range(1, 5))
def test_a_batch_that_fails_is_counted_whole_or_not_at_all(
    call: int, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`step` tells which, and the next call completes a batch that has begun."""
    slides, silent = by_steps(block=2), by_steps(block=2)
    items = [number % 50 for number in range(11)]
    slides.update(7)
    failing_at(call, monkeypatch, error)
    if call < 5:
        with pytest.raises(error):
            slides.update_many(items)
    counted = slides.step != 1
    assert counted == (call > 1 or error is KeyboardInterrupt)
    if not counted:
        slides.update_many(items)
    silent.tick(12)
    check_steps(slides, silent, [7, *items])


def test_a_slice_that_goes_on_counts_a_batch_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slides, silent = by_steps(), by_steps()

    def add(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(WindowTables, "add", add)
        with pytest.raises(MemoryError):
            slides.update_many([1, 2])
    assert slides.step == 0
    slides.update_many([1, 2])
    slides.tick(1)
    silent.tick(3)
    check_steps(slides, silent, [1, 2, None])
    slides.close()
    assert (slides.slices, slides.step) == (1, 3)
    with pytest.raises(ClosedError):
        slides.update(1)


def test_windows_after_a_step() -> None:
    slides = by_steps()
    slides.tick(10)
    assert [window.end for window in slides.windows_after()] == [3, 6, 9]
    assert [window.end for window in slides.windows_after(6)] == [9]
    with pytest.raises(ArgumentTypeError, match="^end: expected"):
        slides.windows_after("2026-01-01")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"span": 7}, ArgumentValueError, "span: expected a whole number of times every"),
        ({"span": "6s"}, ArgumentTypeError, "span: expected an integer"),
        ({"every": "1s"}, ArgumentTypeError, "span: expected a duration"),
        ({"every": 0}, ArgumentValueError, "every: expected an integer from 1"),
        ({"clock": lambda: 0.0}, ArgumentTypeError, "begin, end, clock: expected none for slices"),
        (DAY, ArgumentTypeError, "begin, end, clock: expected none for slices"),
        ({"every": "1h", "span": "2h", "begin": "2026-01-01"}, ArgumentTypeError, "begin, end: "),
        (
            {"every": "1h", "span": "2h", "clock": lambda: 0.0, **DAY},
            ArgumentTypeError,
            "clock: expected none for a range of time",
        ),
        (
            {"every": "1h", "span": "2h", "block": 481, **DAY},
            ArgumentValueError,
            "block: expected an integer from 1 to 480",
        ),
        ({"discovery_epoch": 1}, ArgumentTypeError, "discovery_epoch: expected none"),
        ({"every": "1ms", "span": "1s", **DAY}, ArgumentValueError, "every: expected at most"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        by_steps(**options)


def test_a_slice_that_goes_on_knows_what_the_core_has_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A handler of a signal may raise any error, after the core has counted."""
    slides, silent = by_steps(), by_steps()
    original = WindowTables.add

    def add(*given: Any) -> None:
        original(*given)
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(WindowTables, "add", add)
        with pytest.raises(TimeoutError):
            slides.update_many([1, 2])
    assert slides.step == 2
    slides.tick(1)
    silent.tick(3)
    check_steps(slides, silent, [1, 2, None])


@pytest.mark.parametrize("call", range(1, 5))
def test_a_batch_whose_first_slice_is_counted_is_completed(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where an error comes after the core has ended the slice."""
    slides, silent = by_steps(block=2), by_steps(block=2)
    items = [number % 50 for number in range(11)]
    slides.update(7)
    calls = iter(range(1, 1_000))
    original: Callable[..., None] = HeavyHitters.update_batch

    def update_batch(self: HeavyHitters, *given: Any, **more: Any) -> None:
        original(self, *given, **more)
        if next(calls) == call:
            raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(HeavyHitters, "update_batch", update_batch)
        with pytest.raises(TimeoutError):
            slides.update_many(items)
    assert slides.step == 12
    silent.tick(12)
    check_steps(slides, silent, [7, *items])
