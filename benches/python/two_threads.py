"""Batches in two threads next to one, at a narrow table and at a wide one.

Compared by elapsed time, so it takes a machine with two cores that do nothing else.
"""

from __future__ import annotations

from functools import partial

import lazysketch as ls

from .measuring import Contender, Results, Row, integers, medians

EVENTS = 1 << 22
WIDTHS = (1 << 10, 1 << 20)
NAME = "LazyCountMin"


def two_threads(*, rounds: int, events: int = EVENTS) -> Results:
    """Measure one batch with one thread and with two."""
    items = integers(events, skew=1.1)
    results: Results = []
    for width in WIDTHS:
        table = ls.LazyCountMin(depth=3, width=width, epsilon=1.0, delta=1e-8)
        contenders = []
        for threads in (1, 2):
            facts: Row = {"width": width, "threads": threads}
            run = partial(table.update_many, items, threads=threads)
            contenders.append(Contender(name=NAME, events=events, run=run, facts=facts))
        results += medians("two threads", contenders, rounds=rounds)
    return results
