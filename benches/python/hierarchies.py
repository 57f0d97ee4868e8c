"""A hierarchy of IPv4 addresses in four levels, next to heavy hitters of each level alone.

The heavy hitters get the names of their level as a ready column, so what a hierarchy adds is
the splitting of items.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import lazysketch as ls

from .measuring import Contender, Results, medians

EVENTS, FEW, CALLS = 300_000, 1_000, 20_000
WINDOWS, ONE, SKETCH = "Windows", "HeavyHitters", "LazyCountMin"
HIERARCHY, ALONE = "hierarchy of IPv4, 4 levels", "HeavyHitters of 4 ready columns"
DISTINCT, REPEATED = "distinct addresses", f"{FEW:,} addresses"


def hierarchies(*, rounds: int) -> Results:
    """Measure batches of Arrow text, of distinct and of few addresses, and single calls."""
    import pyarrow as pa

    levels = ls.ipv4_prefixes()
    results: Results = []
    for kind, items in streams().items():
        together, alone = of_levels(levels), [of_one() for _ in levels.names]
        columns = [pa.array(column) for column in levels.columns(items)]
        batch = pa.array(items)
        contenders = [
            contender(HIERARCHY, kind, partial(together.update_many, batch)),
            contender(ALONE, kind, partial(each, alone, columns)),
        ]
        results += medians("hierarchies", contenders, rounds=rounds)
    items = streams()[DISTINCT][:CALLS]
    calls = [
        contender(f"update, {name}", DISTINCT, partial(one_by_one, live.update, items), CALLS)
        for name, live in (
            (HIERARCHY, of_levels(levels)),
            (WINDOWS, of_windows()),
            (ONE, of_one()),
            (SKETCH, ls.LazyCountMin(depth=3, width=1 << 12, epsilon=1.0, delta=1e-8)),
        )
    ]
    return results + medians("hierarchies", calls, rounds=rounds)


def of_levels(levels: ls.Levels) -> ls.HierarchicalHeavyHitters:
    """Return the hierarchy that is measured."""
    return ls.HierarchicalHeavyHitters(levels, share=0.01, epsilon=1.0, delta=1e-8)


def of_windows() -> ls.Windows:
    """Return windows of steps, of which one stays open."""
    return ls.Windows(every=10**9, share=0.01, epsilon=1.0, delta=1e-8)


def of_one() -> ls.HeavyHitters:
    """Return the heavy hitters of one level."""
    return ls.HeavyHitters(share=0.01, epsilon=1.0, delta=1e-8)


def streams() -> dict[str, list[str]]:
    """Return distinct addresses, and few in random order."""
    generator = np.random.default_rng(1)
    distinct = [".".join(map(str, parts)) for parts in generator.integers(0, 256, (EVENTS, 4))]
    chosen = generator.integers(0, FEW, EVENTS).tolist()
    return {DISTINCT: distinct, REPEATED: [distinct[number] for number in chosen]}


def contender(name: str, items: str, run: Callable[[], object], events: int = EVENTS) -> Contender:
    """Return a run over all events of a stream."""
    return Contender(name=name, events=events, run=run, facts={"items": items})


def each(tables: list[ls.HeavyHitters], columns: list[Any]) -> None:
    """Count a column at each table."""
    for table, column in zip(tables, columns, strict=True):
        table.update_many(column)


def one_by_one(update: Callable[[str], object], items: list[str]) -> None:
    """Count each item by a call."""
    for item in items:
        update(item)
