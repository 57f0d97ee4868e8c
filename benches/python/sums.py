"""Sums of a value by item, next to exact grouping without privacy.

polars and duckdb group a column of items and add up a column of values in one query, NumPy adds
into a table of all items. A million events are counted in one call; processor time is that of all
threads. `error` is the mean relative error of the sums of the 15 items with the largest ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import lazysketch as ls

from .measuring import Contender, Numbers, Results, Row, integers, medians

Values = npt.NDArray[np.float64]

EVENTS = 1_000_000
HIGH = 1_500.0
TOP = 15
PRIVATE = "Sums"
POLARS, DUCKDB, TABLE = "polars group_by", "duckdb group by", "NumPy unique and bincount"
SKEWED, TEXT = "Zipf 1.3 integers", "Zipf 1.3 text"


def sums(*, rounds: int) -> Results:
    """Measure one column of items and one of values per call, and the error of the heaviest."""
    values = np.minimum(np.random.default_rng(2).lognormal(5.0, 1.0, EVENTS), HIGH)
    results: Results = []
    for kind, items in columns().items():
        live = ls.Sums(low=0, high=HIGH, epsilon=1.0, delta=1e-6, schedule=ls.Batch(horizon=512))
        runs: dict[str, Callable[[], object]] = {
            PRIVATE: partial(live.update_batch, items, values),
            **peers(items, values),
        }
        facts = {PRIVATE: Row(are=error(items, values))}
        contenders = [
            Contender(
                name=name, events=EVENTS, run=run, facts={"items": kind, **facts.get(name, Row())}
            )
            for name, run in runs.items()
        ]
        results += medians("sums", contenders, rounds=rounds)
    return results


def columns() -> dict[str, Any]:
    """Return the columns of items."""
    import pyarrow as pa

    numbers = integers(EVENTS, skew=1.3)
    return {SKEWED: numbers, TEXT: pa.array(numbers.astype(str).tolist())}


def error(items: Any, values: Values) -> float:
    """Return the mean relative error of the largest sums after one batch."""
    names, places = np.unique(np.asarray(items), return_inverse=True)
    true = np.bincount(places, weights=values)
    heaviest = np.argsort(true)[-TOP:]
    asked = ls.Sums(low=0, high=HIGH, epsilon=1.0, delta=1e-6, schedule=ls.Batch(horizon=512))
    asked.update_batch(items, values)
    release = asked.release()
    found = np.array([release.sum(names[place]).estimate for place in heaviest])
    return float(np.mean(np.abs(found - true[heaviest]) / true[heaviest]))


def peers(items: Any, values: Values) -> dict[str, Callable[[], object]]:
    """Return the runs of libraries that are installed, without their conversions."""
    found: dict[str, Callable[[], object]] = {}
    if isinstance(items, np.ndarray):
        found[TABLE] = partial(by_table, items, values)
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        frame = pl.DataFrame({"item": items, "value": values})
        grouped = frame.lazy().group_by("item").agg(pl.col("value").sum(), pl.len())
        found[POLARS] = grouped.collect
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        pass
    else:
        connection = duckdb.connect(config={"threads": 1})
        connection.register("events", pa.table({"item": items, "value": values}))
        connection.execute("create table held as select item, value from events")
        query = "select item, sum(value), count(*) from held group by item"
        found[DUCKDB] = lambda: connection.sql(query).to_arrow_table()
    return found


def by_table(items: Numbers, values: Values) -> Values:
    """Return the sums of all items, by sorting them."""
    _, places = np.unique(items, return_inverse=True)
    return np.bincount(places, weights=values).astype(np.float64, copy=False)
