"""Single events, which the core counts without a method in Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    ItemError,
    LiveStateError,
)
from lazysketch.testing import seeded_key

ADDRESSES = [f"10.{i % 7}.{i % 150}.{i}" for i in range(200)] * 5
PATHS = ["/" + "/".join(f"part-{i % (at + 2)}" for at in range(12)) for i in range(200)] * 5


def hierarchy(levels: ls.Levels, **changes: Any) -> ls.HierarchicalHeavyHitters:
    asked: dict[str, Any] = {"share": 0.1, "epsilon": 4.0, "delta": 1e-6, "discovery_epoch": 300}
    key = seeded_key(5, sketch_id=b"levels of a test")
    return ls.HierarchicalHeavyHitters(levels, key=key, hash_seed=3, **{**asked, **changes})


def tables(live: ls.HierarchicalHeavyHitters) -> list[list[list[int]]]:
    return [table._release().table.tolist() for table in live._tables]


@pytest.mark.parametrize(
    ("levels", "items"),
    [
        (ls.ipv4_prefixes(), ADDRESSES),
        (ls.ipv4_prefixes(range(1, 33)), ADDRESSES),
        (ls.url_paths(14), PATHS),
    ],
    ids=["four", "thirty-two", "long names"],
)
def test_single_events_of_levels_are_those_of_batches(levels: ls.Levels, items: list[str]) -> None:
    """Also with more levels than are counted together, and with names that are hashed."""
    one_by_one, batches = (hierarchy(levels, max_weight=3) for _ in range(2))
    weights = [at % 4 for at in range(len(items))]
    for item, weight in zip(items, weights, strict=True):
        one_by_one.update(item, weight)
    batches.update_many(items, weights)
    for live in (one_by_one, batches):
        live.finish()
    assert tables(one_by_one) == tables(batches)
    for one, other in zip(one_by_one._tables, batches._tables, strict=True):
        assert one._candidates() == other._candidates()
    assert one_by_one.hierarchy() == batches.hierarchy()


def test_heavy_hitters_with_and_without_a_list_count_single_events() -> None:
    for how in ({"share": 0.1}, {"domain": ["a", "b", "c"]}):
        one_by_one, batches = (
            ls.HeavyHitters(
                epsilon=4.0,
                delta=1e-6,
                hash_seed=1,
                max_weight=2,
                key=seeded_key(1, sketch_id=b"one by one, many"),
                **how,
            )
            for _ in range(2)
        )
        for item in "abcab" * 50:
            one_by_one.update(item, weight=2)
        batches.update_many(list("abcab" * 50), np.full(250, 2))
        found = [live.release().table.tolist() for live in (one_by_one, batches)]
        assert found[0] == found[1]
        assert one_by_one.step == 250


@pytest.mark.parametrize(
    ("item", "weight", "error"),
    [
        ("10.0.0.256", 1, ItemError),
        ("a", 1, ItemError),
        (None, 1, ItemError),
        (b"10.0.0.1", 1, ItemError),
        ("\ud800", 1, ItemError),
        ("10.0.0.1", 2, ArgumentValueError),
        ("10.0.0.1", -1, ArgumentValueError),
        ("10.0.0.1", 2**64, ArgumentValueError),
        ("10.0.0.1", None, ArgumentTypeError),
        ("10.0.0.1", True, ArgumentTypeError),
        ("10.0.0.1", 1.0, ArgumentTypeError),
    ],
)
def test_refused_events_take_no_step_at_any_level(
    item: object, weight: object, error: type[Exception]
) -> None:
    live = hierarchy(ls.ipv4_prefixes(), horizon=10, discovery_epoch=5)
    live.update("10.0.0.1")
    with pytest.raises(error):
        live.update(item, weight)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^user: expected none"):
        live.update("10.0.0.1", user="ann")
    assert [table.step for table in live._tables] == [1] * 4
    live.tick(9)
    with pytest.raises(HorizonError):
        live.update("10.0.0.1")
    live.close()
    with pytest.raises(ClosedError):
        live.update("10.0.0.1")


def test_one_level_that_takes_no_event_stops_the_others() -> None:
    live = hierarchy(ls.ipv4_prefixes())
    live.update("10.0.0.1")
    live._tables[3].close()
    with pytest.raises(ClosedError):
        live.update("10.0.0.1")
    assert [table.step for table in live._tables[:3]] == [1] * 3


def test_an_event_waits_for_the_thread_that_holds_the_levels() -> None:
    live = hierarchy(ls.ipv4_prefixes())
    with ThreadPoolExecutor(1) as pool:
        live._lock.acquire()
        counted = pool.submit(live.update, "10.0.0.1")
        assert not wait([counted], timeout=0.2).done
        steps = [table.step for table in live._tables]
        live.update("10.0.0.2")  # the holder itself does not wait
        live._lock.release()
        counted.result()
    assert steps == [0] * 4
    assert live.step == 2


def test_many_threads_lose_no_single_event() -> None:
    live = hierarchy(ls.ipv4_prefixes())

    def count(thread: int) -> None:
        for event in range(500):
            live.update(ADDRESSES[event])
            if event % 100 == thread:
                live.top(2)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    assert [table.step for table in live._tables] == [2_000] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "make",
    [
        lambda: ls.HeavyHitters(share=0.1, epsilon=1.0, delta=1e-6),
        lambda: hierarchy(ls.ipv4_prefixes()),
    ],
)
def test_a_child_process_counts_nothing(make: Callable[[], Any]) -> None:
    live = make()
    live.update("10.0.0.1")
    child = os.fork()
    if not child:
        try:
            live.update("10.0.0.1")
        except LiveStateError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert live.step == 1


def test_objects_count_in_the_tables_that_they_were_made_with() -> None:
    """Otherwise reads would be of other tables than events."""
    options: dict[str, Any] = {"share": 0.1, "epsilon": 1.0, "delta": 1e-6}
    levels = {"levels": ls.ipv4_prefixes()}
    for make, more in (
        (ls.HeavyHitters, {}),
        (ls.HierarchicalHeavyHitters, levels),
        (ls.Windows, {"every": 1_000}),
    ):
        live = make(**more, **options)
        live.update("10.0.0.1")
        with pytest.raises(LiveStateError, match="^table: expected an object without one"):
            type(live).__init__(live, **more, **options)
        live.update("10.0.0.1")
        assert live.step == 2
    for name in (_native.EventsOfTable, _native.EventsOfLevels):
        with pytest.raises(AttributeError, match="^table: expected an object with one"):
            name().update("a")
