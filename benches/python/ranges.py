"""Counts of ranges of keys, next to exact counting and to a hierarchy of sketches.

polars sorts the keys, or counts a range by looking at all of them; the hierarchy has a private
sketch for each fourth level, as networks of addresses are usually counted. A million keys are
counted in one call; processor time is that of all threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import lazysketch as ls

from .measuring import Contender, Numbers, Results, Row, integers, medians

EVENTS = 1_000_000
BITS = 32
QUESTIONS = 100
PRIVATE, SORTED = "Ranges", "polars sort"
LEVELS = "sketches of 8 levels"
READ, SCANNED = "100 ranges, Ranges", "100 ranges, polars filter"
EVEN, SKEWED = "even keys", "Zipf 1.1 keys"


def ranges(*, rounds: int) -> Results:
    """Measure one column of keys per call, and a hundred ranges of a release."""
    results: Results = []
    for kind, keys in columns().items():
        facts = Row(items=kind)
        counting: dict[str, Callable[[], object]] = {
            PRIVATE: partial(live().update_batch, keys),
            LEVELS: by_levels(keys),
            **exact(keys),
        }
        results += medians(
            "ranges",
            [
                Contender(name=name, events=EVENTS, run=run, facts=facts)
                for name, run in counting.items()
            ],
            rounds=rounds,
        )
        results += medians(
            "ranges",
            [
                Contender(name=name, events=QUESTIONS, run=run, facts=facts)
                for name, run in answers(keys).items()
            ],
            rounds=rounds,
        )
    return results


def columns() -> dict[str, Numbers]:
    """Return the columns of keys."""
    generator = np.random.default_rng(1)
    spread = integers(EVENTS, skew=1.1).view(np.uint64) >> np.uint64(64 - BITS)
    return {EVEN: generator.integers(0, 1 << BITS, EVENTS), SKEWED: spread.astype(np.int64)}


def live() -> ls.Ranges:
    """Return an empty count of 32 x 4,096 cells."""
    return ls.Ranges(bits=BITS, epsilon=1.0, delta=1e-6, schedule=ls.Batch(horizon=512))


def by_levels(keys: Numbers) -> Callable[[], object]:
    """Return a run that counts the keys of every fourth level in a sketch of its own."""
    levels = [keys >> shift for shift in range(0, BITS, 4)]
    sketches = [
        ls.LazyCountSketch(
            depth=1, width=1 << 14, epsilon=1.0, delta=1e-6, schedule=ls.Batch(horizon=512)
        )
        for _ in levels
    ]

    def run() -> None:
        for sketch, level in zip(sketches, levels, strict=True):
            sketch.update_batch(level)

    return run


def exact(keys: Numbers) -> dict[str, Callable[[], object]]:
    """Return the runs of libraries that are installed."""
    try:
        import polars as pl
    except ImportError:
        return {}
    return {SORTED: pl.Series("key", keys).sort}


def answers(keys: Numbers) -> dict[str, Callable[[], object]]:
    """Return runs that count the keys of a hundred ranges."""
    counted = live()
    counted.update_batch(keys)
    release = counted.release()
    ends = np.sort(np.random.default_rng(3).integers(0, 1 << BITS, (QUESTIONS, 2)), axis=1)

    def private() -> None:
        for low, high in ends.tolist():
            release.count_between(low, high)

    found: dict[str, Callable[[], object]] = {READ: private}
    try:
        import polars as pl
    except ImportError:
        return found
    series = pl.Series("key", keys)

    def scanned() -> None:
        for low, high in ends.tolist():
            series.is_between(low, high, closed="left").sum()

    return found | {SCANNED: scanned}
