"""Distributions of a value, next to quantile sketches without privacy.

datasketches has KLL, REQ and the t-digest; duckdb has a t-digest; polars sorts. Each counts a
column of a million floats in one call and is asked for three quantiles; processor time is that of
all threads. `rank_error` is the largest distance of their true shares from those that were asked
for: a private answer has noise and bins, a sketch has what it left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import lazysketch as ls

from .measuring import Contender, Results, Row, medians

Values = npt.NDArray[np.float64]
Run = Callable[[], object]
Quantiles = Callable[[], list[float]]

EVENTS = 1_000_000
ASKED = (0.5, 0.95, 0.99)
PRIVATE = "Distribution"
KLL, REQ, DIGEST = "datasketches KLL", "datasketches REQ", "datasketches t-digest"
POLARS, DUCKDB = "polars quantile", "duckdb approx_quantile"
LATENCIES, EVEN = "latencies", "even"


def distribution(*, rounds: int) -> Results:
    """Measure one column of a million floats per call, and how near three quantiles come."""
    results: Results = []
    for kind, values in columns().items():
        found = {PRIVATE: private(values), **peers(values)}
        ordered = np.sort(values)
        contenders = [
            Contender(
                name=name,
                events=EVENTS,
                run=run,
                facts=Row(items=kind, rank_error=rank_error(ordered, quantiles())),
            )
            for name, (run, quantiles) in found.items()
        ]
        results += medians("distribution", contenders, rounds=rounds)
    return results


def columns() -> dict[str, Values]:
    """Return the streams."""
    generator = np.random.default_rng(1)
    return {
        LATENCIES: generator.lognormal(-3.0, 1.0, EVENTS),
        EVEN: generator.uniform(0.001, 10.0, EVENTS),
    }


def private(values: Values) -> tuple[Run, Quantiles]:
    """Return a run that counts a batch, and the quantiles after one."""
    options: Any = {"bins": ls.Bins.logarithmic(0.001, 10), "epsilon": 1.0, "delta": 1e-6}
    schedule = ls.Batch(horizon=512)
    live, asked = (ls.Distribution(schedule=schedule, **options) for _ in range(2))

    def quantiles() -> list[float]:
        asked.update_batch(values)
        return [answer.estimate for answer in asked.release().quantiles(ASKED)]

    return partial(live.update_batch, values), quantiles


def peers(values: Values) -> dict[str, tuple[Run, Quantiles]]:
    """Return the runs of libraries that are installed, without their conversions."""
    found: dict[str, tuple[Run, Quantiles]] = {}
    try:
        import datasketches
    except ImportError:
        pass
    else:
        makers = {
            KLL: lambda: datasketches.kll_doubles_sketch(200),
            REQ: lambda: datasketches.req_floats_sketch(12),
            DIGEST: lambda: datasketches.tdigest_double(200),
        }
        found |= {name: _sketch(make, values) for name, make in makers.items()}
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        series = pl.Series("value", values)

        def by_sorting() -> list[float]:
            ordered = series.sort()
            return [float(ordered.quantile(share) or 0.0) for share in ASKED]

        found[POLARS] = by_sorting, by_sorting
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        pass
    else:
        connection = duckdb.connect(config={"threads": 1})
        connection.register("events", pa.table({"value": values}))
        connection.execute("create table held as select value from events")
        query = f"select approx_quantile(value, {list(ASKED)}) from held"

        def in_duckdb() -> list[float]:
            return list(connection.execute(query).fetchall()[0][0])

        found[DUCKDB] = in_duckdb, in_duckdb
    return found


def rank_error(ordered: Values, quantiles: list[float]) -> float:
    """Return the largest distance of the shares of answers from those that were asked for."""
    shares = np.searchsorted(ordered, quantiles, side="right") / len(ordered)
    return float(np.abs(shares - np.array(ASKED)).max())


def _sketch(make: Callable[[], Any], values: Values) -> tuple[Run, Quantiles]:
    def run() -> Any:
        sketch = make()
        sketch.update(values.astype(np.float32) if "req" in type(sketch).__name__ else values)
        return sketch

    def quantiles() -> list[float]:
        sketch = run()
        return [float(sketch.get_quantile(share)) for share in ASKED]

    return run, quantiles
