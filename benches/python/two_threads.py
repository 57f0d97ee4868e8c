"""Batches in two threads next to one, from narrow tables to wide ones.

Compared by elapsed time, so it takes a machine with two cores that do nothing else. How much such a
machine can gain is measured beside it: two tables that share nothing are given half of the events
each, at the same time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import lazysketch as ls

from .measuring import Contender, Numbers, Results, Row, integers, medians

EVENTS = 1 << 22
WIDTHS = (1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
NAME, HEAVY = "LazyCountMin", "HeavyHitters"
APART = ", two tables"
WIDTHS_OF = {NAME: WIDTHS, HEAVY: (1 << 10, 1 << 20)}

_Table: TypeAlias = ls.LazyCountMin | ls.HeavyHitters


def two_threads(*, rounds: int, events: int = EVENTS) -> Results:
    """Measure one batch with one thread and with two, and the halves of it in two tables."""
    items = integers(events, skew=1.1)
    results: Results = []
    for name, widths in WIDTHS_OF.items():
        for width in widths:
            table = of_width(name, width)
            contenders = []
            for threads in (1, 2):
                facts: Row = {"width": width, "threads": threads}
                run = partial(table.update_many, items, threads=threads)
                contenders.append(Contender(name=name, events=events, run=run, facts=facts))
            tables = [of_width(name, width) for _ in range(2)]
            with ThreadPoolExecutor(2) as pool:
                apart = Contender(
                    name=name + APART,
                    events=events,
                    run=partial(count_apart, pool, tables, items),
                    facts={"width": width, "threads": 2},
                )
                results += medians("two threads", [*contenders, apart], rounds=rounds)
    return results


def count_apart(pool: ThreadPoolExecutor, tables: list[_Table], items: Numbers) -> None:
    """Give each table its part of the items, in a thread each."""
    half = len(items) // 2
    counted = [
        pool.submit(table.update_many, part)
        for table, part in zip(tables, (items[:half], items[half:]), strict=True)
    ]
    for each in counted:
        each.result()


def of_width(name: str, width: int) -> _Table:
    if name == NAME:
        return ls.LazyCountMin(depth=3, width=width, epsilon=1.0, delta=1e-8)
    return ls.HeavyHitters(depth=3, width=width, share=0.01, epsilon=1.0, delta=1e-8)
