"""Rows of one column out of files, read by ``lazysketch.sources``, next to duckdb and polars.

The others count the distinct values of the column in one thread; a source hands each value on,
in batches, and has no sketch. A file is in the cache of the system. Figures are processor time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lazysketch.sources import open_source

from .measuring import Contender, Results, medians
from .sources import generate

ROWS = 300_000
SOURCE, DUCKDB, POLARS = "lazysketch.sources", "duckdb", "polars"
CSV, JSON, LOG, PARQUET = "rows.csv", "rows.jsonl", "rows.log", "rows.parquet"
READERS = {CSV: "read_csv", JSON: "read_json", PARQUET: "read_parquet"}


def file_formats(*, rounds: int) -> Results:
    """Measure each format; the access log has no reader in the other libraries."""
    results: Results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, ROWS)
        for file in (CSV, JSON, LOG, PARQUET):
            runs: dict[str, Callable[[], object]] = {
                SOURCE: partial(of_source, folder / file),
                **peers(folder / file),
            }
            contenders = [
                Contender(name=name, events=ROWS, run=run, facts={"items": file})
                for name, run in runs.items()
            ]
            results += medians("file formats", contenders, rounds=rounds)
    return results


def of_source(path: Path) -> int:
    return sum(batch.rows for batch in open_source(path, field="host"))


def peers(path: Path) -> dict[str, Callable[[], object]]:
    """Return the runs of libraries that are installed and read this format."""
    found: dict[str, Callable[[], object]] = {}
    if path.name not in READERS:
        return found
    try:
        import duckdb
    except ImportError:
        pass
    else:
        connection = duckdb.connect(config={"threads": 1})
        query = f"select count(distinct host) from {READERS[path.name]}('{path}')"
        found[DUCKDB] = lambda: connection.execute(query).fetchall()
    try:
        import polars as pl
    except ImportError:
        return found
    scan = {CSV: pl.scan_csv, JSON: pl.scan_ndjson, PARQUET: pl.scan_parquet}[path.name]
    found[POLARS] = lambda: scan(path).select(pl.col("host").n_unique()).collect()
    return found
