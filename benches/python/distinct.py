"""The number of distinct items, next to exact and approximate counting without privacy.

polars counts exactly with a hash table and approximately with HyperLogLog++; duckdb approximately
with HyperLogLog. All of them count one column in one call; processor time is that of all threads.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import lazysketch as ls

from .measuring import Contender, Results, medians

EVENTS = 1_000_000
PRIVATE = "DistinctCount"
EXACT, APPROXIMATE = "polars n_unique", "polars approx_n_unique"
DUCKDB = "duckdb approx_count_distinct"
NEW, REPEATED = "distinct integers", "10,000 integers"
TEXT = "distinct text"


def distinct(*, rounds: int) -> Results:
    """Measure one column of a million events per call: integers and Arrow text."""
    results: Results = []
    for kind, column in columns().items():
        live = ls.DistinctCount(epsilon=1.0, delta=1e-8)
        runs = {PRIVATE: partial(live.update_many, column), **peers(column)}
        contenders = [
            Contender(name=name, events=EVENTS, run=run, facts={"items": kind})
            for name, run in runs.items()
        ]
        results += medians("distinct", contenders, rounds=rounds)
    return results


def columns() -> dict[str, Any]:
    """Return the streams."""
    import pyarrow as pa

    generator = np.random.default_rng(1)
    names = pa.array([f"visitor {number:07d}" for number in range(EVENTS)])
    return {
        NEW: generator.permutation(EVENTS),
        REPEATED: generator.integers(0, 10_000, EVENTS),
        TEXT: names,
    }


def peers(column: Any) -> dict[str, Any]:
    """Return the runs of libraries that are installed, without their conversions."""
    found: dict[str, Any] = {}
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        series = pl.Series("item", column)
        found[EXACT] = series.n_unique
        frame = pl.DataFrame({"item": series})
        found[APPROXIMATE] = partial(frame.select, pl.col("item").approx_n_unique())
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        pass
    else:
        connection = duckdb.connect(config={"threads": 1})
        connection.register("events", pa.table({"item": column}))
        connection.execute("create table held as select item from events")
        query = "select approx_count_distinct(item) from held"
        found[DUCKDB] = lambda: connection.execute(query).fetchall()
    return found
