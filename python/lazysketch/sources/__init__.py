"""Input streams: files, pipes and logs as batches of rows.

:func:`open_source` yields batches of rows; :func:`feed` feeds them to a sketch, one step
per row::

    feed(sketch, open_source("flows.csv.gz", field="src", weight="packets", max_weight=100))

This is short for::

    for batch in source:
        sketch.update_rows(batch.items, batch.weights, empty_rows=batch.empty_rows)

With ``ahead=True`` a background thread reads ahead while the sketch counts. :func:`parts_of` and
:func:`read_part` divide files among workers.

Lines, CSV, Zeek logs, JSON lines, logs and captures need NumPy only; Parquet, Arrow and
zstd need pyarrow, which the extra ``arrow`` installs.

Layers, enforced by import-linter: ``source`` over ``formats`` over ``io`` and ``batch``.
"""

from __future__ import annotations

from lazysketch.sources.batch import UNKNOWN_TIME, RowBatch, Segment
from lazysketch.sources.feed import feed
from lazysketch.sources.formats.format import ITEM_TYPES
from lazysketch.sources.formats.registry import FORMATS
from lazysketch.sources.formats.timestamps import TIME_UNITS
from lazysketch.sources.io.paths import expand_paths
from lazysketch.sources.opening import open_source
from lazysketch.sources.parts import FilePart, parts_of, read_part
from lazysketch.sources.request import checked_request
from lazysketch.sources.source import Source
from lazysketch.sources.tally import Position, Tally

__all__ = [
    "FORMATS",
    "ITEM_TYPES",
    "TIME_UNITS",
    "UNKNOWN_TIME",
    "FilePart",
    "Position",
    "RowBatch",
    "Segment",
    "Source",
    "Tally",
    "checked_request",
    "expand_paths",
    "feed",
    "open_source",
    "parts_of",
    "read_part",
]
