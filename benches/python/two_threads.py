"""Batches in two threads next to one, from narrow tables to wide ones.

Compared by elapsed time, so it takes a machine with two cores that do nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import lazysketch as ls

from .measuring import Contender, Results, Row, integers, medians

EVENTS = 1 << 22
WIDTHS = (1 << 10, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
NAME, HEAVY = "LazyCountMin", "HeavyHitters"
WIDTHS_OF = {NAME: WIDTHS, HEAVY: (1 << 10, 1 << 20)}

_Table: TypeAlias = ls.LazyCountMin | ls.HeavyHitters


def two_threads(*, rounds: int, events: int = EVENTS) -> Results:
    """Measure one batch with one thread and with two."""
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
            results += medians("two threads", contenders, rounds=rounds)
    return results


def of_width(name: str, width: int) -> _Table:
    if name == NAME:
        return ls.LazyCountMin(depth=3, width=width, epsilon=1.0, delta=1e-8)
    return ls.HeavyHitters(depth=3, width=width, share=0.01, epsilon=1.0, delta=1e-8)
