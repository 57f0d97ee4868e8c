"""Tables wider than the caches: batches next to exact counting, releases next to the first one.

A batch as long as the table is wide also pushes every column. As many steps without events push
them too: what that costs alone is the least that a lazy batch adds to exact counting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import lazysketch as ls

from .measuring import Contender, Numbers, Results, Row, medians

DEPTH, CELLS = 4, 4 << 20
WIDTHS, BATCH = (1 << 16, 1 << 20, 1 << 22), 1 << 20
PUSHED = 1_000
EXACT, ROBIN, GEOMETRIC = "CountMin", "LazyCountMin, round robin", "LazyCountMin, geometric"
PUSHES = "LazyCountMin, steps without events"
FIRST, UNCHANGED, AGAIN = "first release", "release again", f"release {PUSHED:,} events later"

_Table = ls.CountMin | ls.LazyCountMin


def wide_tables(*, rounds: int) -> Results:
    """Measure batches of 2^20 distinct items at several widths, and releases of 4 x 2^20 cells."""
    rng = np.random.default_rng(7)
    batch = rng.integers(0, 1 << 60, BATCH)
    results: Results = []
    for width in WIDTHS:
        facts: Row = {"width": width, "batch": BATCH}
        tables: dict[str, _Table] = {
            EXACT: ls.CountMin(depth=3, width=width),
            ROBIN: private(3, width, horizon=1 << 40),
            GEOMETRIC: private(3, width),
        }
        contenders = [
            Contender(name=name, events=BATCH, run=partial(table.update_many, batch), facts=facts)
            for name, table in tables.items()
        ]
        idle = private(3, width, horizon=1 << 40)
        pushes = partial(idle.tick, BATCH)
        contenders.append(Contender(name=PUSHES, events=BATCH, run=pushes, facts=facts))
        results += medians("wide tables", contenders, rounds=rounds)
    return results + releases(batch, rng.integers(0, 1 << 60, PUSHED), rounds=rounds)


def releases(batch: Numbers, few: Numbers, *, rounds: int) -> Results:
    """Measure releases of a table; the first is that of a sketch that was not released before."""
    unreleased = [private(DEPTH, CELLS // DEPTH) for _ in range(rounds + 1)]
    for sketch in unreleased:
        sketch.tick(BATCH)
    live = private(DEPTH, CELLS // DEPTH)
    live.update_many(batch)
    live.release()

    def later() -> None:
        live.update_many(few)
        live.release()

    runs: dict[str, Callable[[], object]] = {
        FIRST: lambda: unreleased.pop().release(),
        AGAIN: later,
        UNCHANGED: live.release,
    }
    facts: Row = {"width": CELLS // DEPTH, "depth": DEPTH}
    contenders = [Contender(name=n, events=1, run=run, facts=facts) for n, run in runs.items()]
    return medians("wide tables", contenders, rounds=rounds)


def private(depth: int, width: int, *, horizon: int | None = None) -> ls.LazyCountMin:
    return ls.LazyCountMin(depth=depth, width=width, epsilon=1.0, delta=1e-8, horizon=horizon)
