"""Invalid calls of Windows raise, and neither lose events nor count a part of them."""

from __future__ import annotations

import copy
import os
import pickle
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest
from tests.oracle.windows import DAY, Clock, at, exact, made, tables

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    ItemError,
    LiveStateError,
)


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
        ({"every": "1h", **DAY, "width": 2.5}, "width: expected an integer"),
        ({"every": "1h", **DAY, "slices": 3}, "slices, clock: expected none for a range of time"),
        ({"every": "1h", "slices": 961}, "slices: expected an integer from 1 to 960"),
        ({"every": "1h", "clock": lambda: "now"}, "clock: expected seconds since 1970, got str"),
        ({"every": "1h", "clock": lambda: float("nan")}, "clock: expected seconds since 1970"),
        ({"every": 10, "keep": 0}, "keep: expected an integer"),
        ({"every": 10, "domain": ...}, "share: expected a share"),
        ({"every": 10, "epsilon": -1.0}, "epsilon: expected"),
        ({"every": 10, "domain": [1.5]}, "domain: expected str, bytes, int, datetime"),
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


def test_times_belong_to_ranges_and_ticks_to_steps() -> None:
    by_clock = made(every="1h", clock=Clock())
    with pytest.raises(ArgumentTypeError, match="^times: expected none for windows by the clock"):
        by_clock.update_many([1], times=[0])
    by_clock.tick(3)  # rows without an item: no slice has a number of them
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
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(LiveStateError):
            attempt(windows)
    with made(every=5) as short:
        short.update_many([1] * 5)
    assert len(short.windows) == 1
    for call in (lambda: short.update(1), lambda: short.tick(), short.finish, short.advance):
        with pytest.raises(ClosedError, match="^windows: expected open windows"):
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
