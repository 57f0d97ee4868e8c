"""Heavy hitters of hierarchies: updates at all levels, and the tree of heavy names."""

from __future__ import annotations

import copy
import ipaddress
import itertools
import math
import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import polars
import pyarrow as pa
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

V4, V6, PATHS, NAMES = ls.ipv4_prefixes(), ls.ipv6_prefixes(), ls.url_paths(), ls.dns_names()


def made(levels: Any = V4, **changes: Any) -> ls.HierarchicalHeavyHitters:
    asked: dict[str, Any] = {"share": 0.1, "epsilon": 4.0, "delta": 1e-6, **changes}
    return ls.HierarchicalHeavyHitters(
        levels, **{name: value for name, value in asked.items() if value is not ...}
    )


def addresses(number: int = 20_000) -> list[str]:
    """30 % in 10.1.0.0/16 evenly, 20 % one address of 192.0.2.0/24, the rest all over."""
    chance = random.Random(3)
    kinds = chance.choices(["network", "address", "noise"], [0.3, 0.2, 0.5], k=number)
    made_of = {
        "network": lambda: f"10.1.{chance.randrange(256)}.{chance.randrange(256)}",
        "address": lambda: "192.0.2.7",
        "noise": lambda: str(ipaddress.IPv4Address(chance.getrandbits(32))),
    }
    return [made_of[kind]() for kind in kinds]


BAD = [
    (V4, ["10.0.0.1", "10.0.0.256"]),
    (V4, ["10.0.0.1", "::1"]),
    (V4, ["10.0.0.1", 2**32]),
    (V4, [1, -1]),
    (V4, [1, True]),
    (V4, [1, 1.0]),
    (V4, ["10.0.0.1", None]),
    (V4, ["10.0.0.1", b"\x0a\x00\x00\x01"]),
    (V6, ["::1", "10.0.0.1"]),
    (PATHS, ["/", "a"]),
    (PATHS, ["/", ""]),
    (PATHS, ["/", 7]),
    (PATHS, ["/", "/\ud800"]),
    (NAMES, ["a", ""]),
    (NAMES, ["a", "a..b"]),
    (NAMES, ["a", ".".join(["abc"] * 64)]),
    (NAMES, ["a", b"a"]),
]


@pytest.mark.parametrize(("levels", "items"), BAD)
def test_a_row_that_does_not_fit_is_named_by_position(levels: Any, items: list[Any]) -> None:
    heavy = made(levels)
    with pytest.raises(ItemError, match="at position 1; nothing was applied") as raised:
        heavy.update_many(items)
    text = str(items[1]).encode("utf-8", "replace").decode()
    assert text in ("", "a", "7", "1", "-1", "1.0", "None") or text not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    with pytest.raises(ItemError):
        heavy.update(items[1])
    assert [table.step for table in heavy._tables] == [0] * len(levels.names)


@pytest.mark.parametrize(
    "split",
    [
        lambda item: (item,),
        lambda item: (item, None),
        lambda item: (item, 1.5),
        lambda item: (item, "\ud800"),
        lambda item: None,
        lambda item: {}[item],
    ],
)
def test_functions_that_make_no_names(split: Any) -> None:
    heavy = made(ls.Levels(("one", "two"), split))
    with pytest.raises(ItemError, match="at position 0"):
        heavy.update_many(["secret"])
    assert heavy.step == 0


@pytest.mark.parametrize(
    "form",
    [
        list,
        np.array,
        pa.array,
        polars.Series,
        iter,
        lambda items: (item for item in items),
        lambda items: np.array([int(ipaddress.IPv4Address(item)) for item in items]),
    ],
)
def test_batches_of_all_forms_and_single_updates_are_one(form: Any) -> None:
    """The same tables at all levels, bit for bit, under one seeded key."""
    items = addresses(600)
    one, many = (made(key=seeded_key(3), hash_seed=5, discovery_epoch=500) for _ in range(2))
    for item in items:
        one.update(item)
    many.update_many(form(items))
    for level in range(4):
        assert np.array_equal(one.release(level).table, many.release(level).table)
        assert one.level(level).candidates == many.level(level).candidates
        assert many.release(level).hash_seed == 5 + level


@pytest.mark.parametrize("items", ["10.0.0.1", b"abc", {"a": 1}, 7])
def test_batches_that_are_none(items: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="^items: expected"):
        made().update_many(items)


def test_updates_are_all_or_nothing_at_all_levels() -> None:
    heavy = made(horizon=2_000, max_weight=3)
    good = ["10.0.0.1", "10.0.0.2"]
    for items, weights, error in [
        (good, [1], ArgumentValueError),
        (good, [1, 4], ArgumentValueError),
        (good, "12", ArgumentTypeError),
        (good * 1_001, None, HorizonError),
    ]:
        with pytest.raises(error):
            heavy.update_many(items, weights)
    assert {table.step for table in heavy._tables} == {0}
    heavy.update_many(good, iter([1, 2]))  # an iterator serves every level
    heavy.update_many(good, np.array([1, 2]))
    heavy.update_many(good, pa.array([1, 2]))
    heavy.update_many([])
    heavy.tick(3)
    assert {table.step for table in heavy._tables} == {9}


def test_all_levels_take_a_change_or_none_does() -> None:
    """The third level refuses; the two before it have counted nothing."""
    heavy = made()
    heavy.update("10.0.0.1")
    heavy._tables[2].close()
    for call in (
        lambda: heavy.update("10.0.0.1"),
        lambda: heavy.update_many(["10.0.0.1"] * 1_000),
        lambda: heavy.tick(3),
        heavy.end_discovery_epoch,
    ):
        with pytest.raises(ClosedError):
            call()
    open_ones = [heavy._tables[at] for at in (0, 1, 3)]
    assert [(table.step, table._epoch) for table in open_ones] == [(1, 0)] * 3


def test_changes_of_all_levels_check_their_arguments() -> None:
    one, other = (made()._tables[0] for _ in range(2))
    with pytest.raises(ArgumentValueError, match="^tables: expected distinct ones"):
        _native.tick_all([one, one], 1)
    with pytest.raises(ArgumentValueError, match="^items: expected one per table, 2, got 1"):
        _native.update_rows_of_all([one, other], [["10.0.0.1"]])
    with pytest.raises(ArgumentValueError, match="^weights: expected one per table, 2, got 1"):
        _native.add_to_batch_of_all([one, other], [[], []], [None])
    assert one.step == other.step == 0


def test_the_tree_of_what_is_heavy() -> None:
    """A network may be heavy without a heavy address; a heavy address is below its networks."""
    items = addresses()
    heavy = made(width=1024)
    heavy.update_many(items)
    heavy.end_discovery_epoch()
    first, second = heavy.hierarchy()
    counts = [Counter(column) for column in V4.columns(items)]
    assert [node.item for node in first.walk()] == ["10.0.0.0/8", "10.1.0.0/16"]
    assert [node.item for node in second.walk()] == [
        "192.0.0.0/8",
        "192.0.0.0/16",
        "192.0.2.0/24",
        "192.0.2.7",
    ]
    for node in itertools.chain(first.walk(), second.walk()):
        truth = counts[node.level][node.item]
        assert math.isclose(node.estimate, truth, rel_tol=0.1)
        assert node.low <= node.estimate <= node.high
        assert node.own == node.estimate - sum(child.estimate for child in node.children)
        assert math.isclose(node.own_share, node.own / 20_000, abs_tol=1e-12)
        assert node.label == V4.names[node.level]
        assert node.complete
    assert {node.item for node in heavy.above()} == {"10.1.0.0/16", "192.0.2.7"}
    assert heavy.above()[0].item == "10.1.0.0/16"
    assert [hitter.item for hitter in heavy.top(1)] == ["192.0.2.7"]
    assert heavy.top(1, level=1)[0].item == "10.1.0.0/16"
    assert heavy.hierarchy(0.9) == ()


def test_a_parent_that_was_not_published_is_implied_by_its_child() -> None:
    """Half a window of events, and nearly all privacy for the finest level."""
    levels = ls.dns_names(1)
    heavy = made(levels, epsilon=8.0, level_weights=(0.02, 1.0), discovery_epoch=2_000, share=0.2)
    coarse, fine = heavy.level(0), heavy.level(1)
    enough = ((coarse.threshold or 0) + (fine.threshold or 0)) // 2
    assert (coarse.threshold or 0) > 2 * (fine.threshold or 0)
    assert enough < 1_000
    heavy.update_many(["www.example.org"] * enough)
    heavy.end_discovery_epoch()
    heavy.tick(100 * enough)
    assert coarse.candidates == []
    (root,) = heavy.hierarchy(enough / 200 / enough)
    assert (root.item, root.published) == ("org", False)
    (child,) = root.children
    assert (child.item, child.published) == ("www.example.org", True)
    assert root.estimate == heavy.release(0).interval("org", at="now").estimate


def test_intervals_of_implied_parents_cover_the_published_names_too() -> None:
    """Which parents are implied depends on the names, so those are counted with them."""
    heavy = made(width=1024)
    heavy.update_many(addresses())
    heavy.end_discovery_epoch()
    level = heavy.level(0)
    published = level.candidates
    assert len(published) >= 2
    (implied,) = level._named(["11.0.0.0/8"], 0.95)
    release = level.release()
    among = 1 + len(published)
    wanted = release.interval_many(["11.0.0.0/8"], at="now", among=among)[0]
    assert (implied.low, implied.high) == (wanted.low, wanted.high)
    # Each level has its own test, so intervals of two levels need not be nested.
    alone = release.interval("11.0.0.0/8", at="now")
    assert (implied.low, implied.high) != (alone.low, alone.high)


def test_names_that_were_cut_have_no_parent() -> None:
    heavy = made(PATHS, discovery_epoch=2_000, max_item_bytes=16, epsilon=8.0)
    heavy.update_many(["/shop/" + "x" * 40] * 2_000)
    heavy.tick(20_000)
    roots = heavy.hierarchy(0.02)
    assert [(root.item, root.complete, root.children) for root in roots if not root.complete] == [
        ("/shop/" + "x" * 10, False, ())
    ] * 3
    assert [root.item for root in roots if root.complete] == ["/shop/"]


@pytest.mark.parametrize(
    ("changes", "error", "name"),
    [
        ({"levels": (8, 16)}, ArgumentTypeError, "levels"),
        ({"share": ...}, ArgumentTypeError, "share"),
        ({"k": 10}, ArgumentTypeError, "k"),
        ({"level_weights": (1, 1)}, ArgumentValueError, "level_weights"),
        ({"level_weights": (1, 1, 1, 0)}, ArgumentValueError, "level_weights"),
        ({"level_weights": 4}, ArgumentTypeError, "level_weights"),
        ({"level_weights": "1234"}, ArgumentTypeError, "level_weights"),
        ({"epsilon": 0}, ArgumentValueError, "epsilon"),
        ({"memory": 1 << 16}, ArgumentValueError, "memory"),
        ({"schedule": ls.Batch(horizon=5)}, ArgumentTypeError, "discovery_epoch"),
        ({"kind": "count-sketch", "max_weight": 2}, ArgumentValueError, "kind"),
        ({"max_weight": 0}, ArgumentValueError, "max_weight"),
        ({"key": 5}, ArgumentTypeError, "key"),
    ],
)
def test_arguments_that_are_refused(
    changes: dict[str, Any], error: type[Exception], name: str
) -> None:
    with pytest.raises(error, match=f"^{name}: expected"):
        made(**changes)


def test_positional_arguments_are_refused_with_an_example() -> None:
    with pytest.raises(ArgumentTypeError, match=r"HierarchicalHeavyHitters\(ipv4_prefixes\(\), "):
        ls.HierarchicalHeavyHitters(ls.ipv4_prefixes(), 0.01)


def test_no_such_level() -> None:
    heavy = made()
    assert heavy.level(-1) is heavy.level(3)
    for level in (-5, 4):
        with pytest.raises(ArgumentValueError, match="^level: expected"):
            heavy.release(level)
    with pytest.raises(ArgumentTypeError):
        heavy.top(1, level="/8")
    assert not hasattr(heavy.level(0), "update")


def test_memory_stays_below_its_limit_and_is_reported() -> None:
    heavy = made(memory=1 << 23, share=0.01)
    assert heavy.memory <= 1 << 23
    assert heavy.memory == sum(heavy.level(level).memory for level in range(4))
    assert heavy.smallest_share <= 0.01 * 1.0001


def test_life_and_marks() -> None:
    heavy = made(key=seeded_key(1))
    assert not heavy.private
    assert "NOT PRIVATE" in repr(heavy)
    assert "NOT PRIVATE" in str(heavy.privacy)
    assert "NOT PRIVATE" in heavy.privacy.sentence
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        for part in (heavy, heavy.level(0)):
            with pytest.raises(LiveStateError):
                attempt(part)
    with made() as heavy:
        heavy.update("10.0.0.1")
        assert "can hardly tell" in heavy.privacy.sentence
        assert "4 levels" in str(heavy.privacy)
    for use in (
        lambda: heavy.update("10.0.0.1"),
        lambda: heavy.update_many(["10.0.0.1"]),
        heavy.hierarchy,
        heavy.above,
        lambda: heavy.release(0),
        heavy.tick,
    ):
        with pytest.raises(ClosedError):
            use()


def test_batches_share_a_step() -> None:
    heavy = made(schedule=ls.Batch(horizon=40), discovery_epoch=10)
    items = addresses()
    for at in range(40):
        heavy.update_batch(items[at * 500 : (at + 1) * 500])
    assert heavy.step == 40
    assert math.isnan(heavy.smallest_share)
    assert {node.item for node in heavy.above()} == {"10.1.0.0/16", "192.0.2.7"}


def test_weights_of_a_batch_are_read_once_for_all_levels() -> None:
    """An iterator has nothing left for the second level."""
    found = []
    for weights in ([3, 1, 2], iter([3, 1, 2])):
        batches = {"schedule": ls.Batch(horizon=40), "discovery_epoch": 10, "max_weight": 3}
        heavy = made(key=seeded_key(1), **batches)
        heavy.update_batch(["10.0.0.1", "10.1.0.1", "192.0.2.7"], weights)
        found.append([heavy.release(level).to_bytes() for level in range(4)])
    assert found[0] == found[1]
