"""Public operations of sketches, counters, heavy hitters and hierarchies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from tests.faults.callbacks import Clock, items_of
from tests.faults.campaign import Operation
from tests.faults.subjects import (
    ITEMS,
    KEY,
    SMALL,
    WEIGHTS,
    Family,
    Subject,
    seen,
    seen_hitters,
    seen_levels,
)

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ItemError

__all__ = ["bounded", "counters", "hitters", "levels", "sketch"]

MANY: Final = ITEMS * 8  # more than the core counts under the interpreter lock


def sketch(
    kind: Any, exact: bool = False, items: list[Any] = ITEMS, **options: Any
) -> list[Operation]:
    if exact:

        def made(_: Clock) -> Any:
            return kind(depth=2, width=16, hash_seed=3)
    else:
        spec = cache(lambda: kind(key=KEY, **{**SMALL, **options}).spec)

        def made(_: Clock) -> Any:
            return kind.from_spec(spec(), key=KEY)

    family = Family(
        name=kind.__name__,
        made=made,
        begin=lambda subject: subject.live.update_many(items),
        observe=seen,
        proceed=lambda subject: subject.live.update_many(items[::-1]),
    )
    several = family.operation
    operations = [
        several("update", lambda one: one.live.update(items[0], 1)),
        several("update_many", lambda one: one.live.update_many(items * 8)),
        several("update_many of an iterator", lambda one: one.live.update_many(items_of(items))),
        several("estimate", lambda one: one.live.estimate(items[0]), reads=True),
        several("estimate_many", lambda one: one.live.estimate_many(items), reads=True),
        several("interval", lambda one: one.live.interval(items[0]), reads=True),
        several(
            "interval_many", lambda one: one.live.interval_many(items, known=items), reads=True
        ),
        several("decode", lambda one: one.live.decode(items), reads=True),
        several("release", lambda one: one.live.release(), reads=True),
    ]
    if exact:
        other = made(Clock())
        return [
            *operations,
            family.construction(),
            several("merge", lambda one: one.live.merge(other), reads=True),
        ]
    return [
        *operations,
        several("tick", lambda one: one.live.tick(7)),
        several("finish", lambda one: one.live.finish()),
        several("close", lambda one: one.live.close()),
        several("repr", lambda one: repr(one.live), reads=True),
        family.block(),
        family.construction(),
    ]


def counters() -> list[Operation]:
    spec = cache(
        lambda: (
            ls.ContinualCounters(counters=5, epsilon=8.0, delta=1e-6, horizon=1000, key=KEY).spec
        )
    )
    family = Family(
        name="ContinualCounters",
        made=lambda _: ls.ContinualCounters.from_spec(spec(), key=KEY),
        begin=lambda one: one.live.update_many([0, 1, 4, 4]),
        observe=seen,
        proceed=lambda one: one.live.step([1, 0, 1, 0, 1]),
    )
    return [
        family.operation("step", lambda one: one.live.step([0, 1, 0, 1, 1])),
        family.operation("update", lambda one: one.live.update(3)),
        family.operation("update_many", lambda one: one.live.update_many([3, 2] * 200)),
        family.operation("tick", lambda one: one.live.tick(3)),
        family.operation("finish", lambda one: one.live.finish()),
        family.operation("close", lambda one: one.live.close()),
        family.operation("release", lambda one: one.live.release(), reads=True),
        family.operation("interval", lambda one: one.live.interval(3), reads=True),
        family.construction(),
    ]


def hitters(name: str, **options: Any) -> list[Operation]:
    asked = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3, **options}
    family = Family(
        name=name,
        made=lambda _: ls.HeavyHitters(**asked),
        begin=lambda one: one.live.update_many(ITEMS),
        observe=seen_hitters,
        proceed=lambda one: (one.live.update_many(ITEMS), one.live.top(2)),
    )
    of = family.operation
    return [
        of("update", lambda one: one.live.update("a", 2)),
        of("update_many", lambda one: one.live.update_many(ITEMS, WEIGHTS)),
        of("update_many of an iterator", lambda one: one.live.update_many(items_of(ITEMS))),
        of("update_rows", lambda one: one.live.update_rows(MANY, empty_rows=[3, 9])),
        of("tick", lambda one: one.live.tick(70)),
        of("end_discovery_epoch", lambda one: one.live.end_discovery_epoch()),
        of("top", lambda one: one.live.top(2)),
        of("above", lambda one: one.live.above(0.1)),
        of("release", lambda one: one.live.release(), reads=True),
        of("finish", lambda one: one.live.finish()),
        of("close", lambda one: one.live.close()),
        family.block(),
        family.construction(),
    ]


def bounded(kind: Any, **options: Any) -> list[Operation]:
    """A table that bounds people: an interrupted batch leaves neither events nor contributions."""
    asked = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3, **options}
    bound = ls.PersonBound(cells=2, events=2, most_people=6)
    people = [f"person {number % 9}" for number in range(len(ITEMS))]

    def known(live: Any) -> object:
        table = live if isinstance(live, _native.PrivateSketch) else live._table
        found = _native.People.of_table(table)
        assert found is not None
        return found.known, found.refused

    seen_table = seen_hitters if kind is ls.HeavyHitters else seen
    family = Family(
        name=f"{kind.__name__} (people)",
        made=lambda _: kind(**asked, person_bound=bound),
        begin=lambda one: one.live.update_many(ITEMS[:9], user=people[20:29]),
        observe=lambda live: (seen_table(live), known(live)),
        proceed=lambda one: one.live.update_many(ITEMS, user=people[::-1]),
    )
    of = family.operation
    many = people * 8
    return [
        of("update", lambda one: one.live.update("a", 2, user="person 7")),
        of("update_many", lambda one: one.live.update_many(MANY, user=many)),
        of(
            "update_many of iterators",
            lambda one: one.live.update_many(items_of(ITEMS), WEIGHTS, user=items_of(people)),
        ),
        of("update_rows", lambda one: one.live.update_rows(MANY, empty_rows=[3, 9], user=many)),
        of("tick", lambda one: one.live.tick(7)),
        of("close", lambda one: one.live.close()),
        family.construction(),
    ]


def levels() -> list[Operation]:
    items = [f"10.0.{number % 7}.{number % 5}" for number in range(60)]
    asked = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3, "share": 0.2}
    batches = ls.Batch(horizon=40)

    def family(name: str, begin: Callable[[Subject], object], **options: Any) -> Family:
        return Family(
            name=name,
            made=lambda _: ls.HierarchicalHeavyHitters(
                ls.ipv4_prefixes((8, 24, 32)), **{**asked, **options}
            ),
            begin=begin,
            observe=seen_levels,
            proceed=lambda one: (one.live.tick(3), one.live.top(2)),
            instead=ItemError,  # a function of the levels that raises refuses the item
        )

    steps = family(
        "HierarchicalHeavyHitters",
        lambda one: one.live.update_many(items),
        discovery_epoch=100,
    )
    slices = family(
        "HierarchicalHeavyHitters (batches)",
        lambda one: one.live.update_batch(items),
        discovery_epoch=4,
        schedule=batches,
    )

    def within(subject: Subject) -> None:
        with subject.live as live:
            live.update_many(items)

    of = steps.operation
    return [
        of("update", lambda one: one.live.update("10.0.0.1", 2)),
        of("update_many", lambda one: one.live.update_many(items * 5, WEIGHTS * 5)),
        of(
            "update_many of iterators",
            lambda one: one.live.update_many(items_of(items), items_of(WEIGHTS)),
        ),
        of("update_rows", lambda one: one.live.update_rows(items, empty_rows=[3, 9])),
        of("tick", lambda one: one.live.tick(70)),
        of("end_discovery_epoch", lambda one: one.live.end_discovery_epoch()),
        of("top", lambda one: one.live.top(2)),
        of("hierarchy", lambda one: one.live.hierarchy(0.2)),
        of("release", lambda one: one.live.release(1), reads=True),
        of("finish", lambda one: one.live.finish()),
        of("close", lambda one: one.live.close()),
        of(
            "with block",
            within,
            repeatable=False,
            partial=(lambda one: one.live.update_many(items), lambda one: one.live.close()),
        ),
        slices.operation("update_batch", lambda one: one.live.update_batch(items, WEIGHTS)),
        steps.construction(),
    ]
