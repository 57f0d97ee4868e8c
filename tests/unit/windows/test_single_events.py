"""Single events of windows of steps, most of which are counted without the lock of the windows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta, tzinfo

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracle.windows import exact, made, tables

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    ItemError,
    LiveStateError,
)

_ITEMS = st.integers(0, 9)
_CALLS = st.one_of(
    _ITEMS.map(lambda item: ("one", item)),
    _ITEMS.map(lambda item: ("one", item)),
    st.tuples(st.just("one"), _ITEMS, st.integers(0, 3)),
    st.tuples(st.just("many"), st.lists(_ITEMS, max_size=12)),
    st.tuples(st.just("empty"), st.integers(0, 12)),
    st.just(("read",)),
)


def discovering(**changes: object) -> ls.Windows:
    """Return windows with discovery, whose single events take the short way."""
    return made(**{"domain": ..., "share": 0.2, "keep": 1_000, "max_weight": 3, **changes})


def is_open(windows: ls.Windows) -> bool:
    """Return whether a single event is counted without the lock: it takes a step if so."""
    long_way: list[tuple[object, ...]] = []
    vars(windows)["_update"] = lambda *event: long_way.append(event)
    windows.update(0)
    del vars(windows)["_update"]
    return not long_way


@settings(max_examples=60, deadline=None)
@given(st.lists(_CALLS, max_size=60), st.integers(1, 12))
@example([("one", 1)] * 5, 2)
@example([("one", 1)] * 2 + [("empty", 2), ("one", 2), ("one", 2)], 3)
@example([("one", 1)] * 3 + [("many", [1, 2, 3]), ("one", 5)], 5)
def test_single_events_are_those_of_batches(calls: list[tuple], every: int) -> None:
    one_by_one, batches, silent = (discovering(every=every) for _ in range(3))
    counted: list[tuple[int, int] | None] = []
    for call, *arguments in calls:
        if call == "one":
            item, weight = arguments[0], arguments[1] if len(arguments) > 1 else 1
            one_by_one.update(item, weight)
            batches.update_many([item], [weight])
            counted.append((item, weight))
        elif call == "many":
            one_by_one.update_many(arguments[0])
            batches.update_many(arguments[0])
            counted += [(item, 1) for item in arguments[0]]
        elif call == "empty":
            one_by_one.tick(arguments[0])
            batches.tick(arguments[0])
            counted += [None] * arguments[0]
        else:
            assert one_by_one.top(3) == batches.top(3)
            assert one_by_one.step == len(counted)
    silent.tick(len(counted))
    for windows in (one_by_one, batches, silent):
        windows.finish()
    assert one_by_one.step == batches.step
    assert len(one_by_one.windows) == -(-len(counted) // every)
    starts = range(0, len(counted), every)
    compared = zip(starts, *map(tables, (one_by_one, batches, silent)), strict=True)
    for start, table, same, noise in compared:
        events = [event for event in counted[start : start + every] if event is not None]
        items, weights = ([event[part] for event in events] for part in range(2))
        assert np.array_equal(table, same)
        assert np.array_equal(table - noise, exact(items, weights))
    assert one_by_one.top(5) == batches.top(5)


@pytest.mark.parametrize(
    "change",
    [
        lambda windows: windows.update_many([1]),
        lambda windows: windows.tick(1),
        lambda windows: windows.advance(),
        lambda windows: windows.top(1),
        lambda windows: windows.step,
    ],
    ids=["batch", "tick", "advance", "top", "step"],
)
def test_every_other_call_makes_a_single_event_take_the_lock(
    change: Callable[[ls.Windows], object],
) -> None:
    windows = discovering(every=1_000)
    assert not is_open(windows)
    windows.update(1)
    assert is_open(windows)
    change(windows)
    assert not is_open(windows)
    windows.update(1)
    assert is_open(windows)


def test_an_event_waits_for_the_thread_that_holds_the_windows() -> None:
    """Also between the count of the holder, which opens the table, and the release."""
    windows = discovering(every=1_000)
    windows.update(1)
    place = windows._live.open_for_single_events
    assert place is not None
    with ThreadPoolExecutor(1) as pool:
        windows._lock.acquire()
        windows._lock.open_for(*place)
        counted = pool.submit(windows.update, 1)
        assert not wait([counted], timeout=0.2).done
        steps = windows.step
        windows._lock.release()
        counted.result()
    assert steps == 1
    assert windows.step == 2


def test_single_events_wait_for_a_batch_of_the_table() -> None:
    """A batch is counted without the lock of the interpreter, and in steps of its own."""
    windows, silent = discovering(every=10**9), discovering(every=10**9)
    windows.update(1)
    place = windows._live.open_for_single_events
    assert place is not None
    batch = np.ones(200_000, dtype=np.int64)
    table, _ = place

    def count_batches() -> None:
        """Past the lock of the windows, so that only that of the table is left."""
        for _batch in range(5):
            table.update_many(batch)

    with ThreadPoolExecutor(1) as pool:
        batches = pool.submit(count_batches)
        singles = 0
        while not batches.done() or singles < 1_000:
            windows.update(1)
            singles += 1
        batches.result()
    total = 1 + singles + 5 * len(batch)
    assert windows.step == total
    silent.tick(total)
    for one in (windows, silent):
        one.finish()
    (counts,), (noise,) = tables(windows), tables(silent)
    assert int(np.max(counts - noise)) == total


def test_windows_that_end_take_no_single_event() -> None:
    for end in (ls.Windows.finish, ls.Windows.close):
        windows = discovering(every=1_000)
        windows.update(1)
        windows.update(1)
        end(windows)
        assert not is_open(windows)
        with pytest.raises(ClosedError, match="^windows: expected open windows"):
            windows.update(1)


def test_a_public_list_and_bounds_of_people_take_the_long_way() -> None:
    """A table with a list counts indices; a person is checked with the event."""
    bound = ls.PersonBound(events=2)
    for windows, people in (
        (made(every=100), None),
        (discovering(every=100, person_bound=bound, max_weight=1), "ann"),
    ):
        windows.update(1, user=people)
        assert windows.step == 1
        if people is not None:
            with pytest.raises(ArgumentValueError, match="^user: expected"):
                windows.update(1)
            assert windows.step == 1


def test_refused_events_take_no_step() -> None:
    windows = discovering(every=1_000)
    windows.update("a")
    for item, weight, error in (
        (1.5, 1, ItemError),
        (None, 1, ItemError),
        ("\ud800", 1, ItemError),
        ("a", 4, ArgumentValueError),
        ("a", -1, ArgumentValueError),
        ("a", 2**64, ArgumentValueError),
        ("a", 1.0, ArgumentTypeError),
        ("a", True, ArgumentTypeError),
    ):
        windows.update("a")
        with pytest.raises(error):
            windows.update(item, weight)
    assert windows.step == 9


def test_a_weight_that_calls_its_windows_is_refused() -> None:
    class Weight(int):
        def __index__(self) -> int:
            windows.update("b")
            return 1

    windows = discovering(every=1_000)
    windows.update("a")
    windows.update("a")
    with pytest.raises((LiveStateError, ArgumentTypeError)):
        windows.update("a", Weight(1))
    assert windows.step == 2
    windows.update("a")
    assert windows.step == 3


def test_an_item_that_calls_its_windows_is_refused() -> None:
    class Zone(tzinfo):
        def utcoffset(self, _: datetime | None) -> timedelta:
            windows.update("b")
            return timedelta(0)

        def dst(self, _: datetime | None) -> None:
            return None

        def tzname(self, _: datetime | None) -> None:
            return None

    windows = discovering(every=1_000)
    windows.update("a")
    windows.update("a")
    with pytest.raises(ItemError, match=r"^item: .* got datetime that raises LiveStateError$"):
        windows.update(datetime(2026, 1, 1, tzinfo=Zone()))
    assert windows.step == 2


def test_many_threads_lose_no_single_event() -> None:
    windows, silent = discovering(every=997), discovering(every=997)

    def count(_: int) -> None:
        for _event in range(1_000):
            windows.update(1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(8)))
        assert windows.step == 8_000
    silent.tick(8_000)
    for one in (windows, silent):
        one.finish()
    counted = [int(np.max(a - b)) for a, b in zip(tables(windows), tables(silent), strict=True)]
    assert counted == [997] * 8 + [8_000 - 8 * 997]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_counts_nothing() -> None:
    windows = discovering(every=1_000)
    windows.update(1)
    windows.update(1)
    child = os.fork()
    if not child:
        try:
            windows.update(1)
        except LiveStateError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert windows.step == 2
