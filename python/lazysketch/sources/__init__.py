"""Inputs as streams of items: files, pipes, logs.

:func:`open_source` gives batches of rows; a sketch takes them with one step per row::

    for batch in open_source("access.log", format="combined", field="host"):
        for items, empty_steps in batch.segments():
            sketch.update_many(items)
            sketch.tick(empty_steps)

Floors, downward: source -> formats -> lines, access_log -> reader, text -> batch, opening.
"""

from __future__ import annotations

from lazysketch.sources.batch import Batch
from lazysketch.sources.formats import FORMATS
from lazysketch.sources.source import Position, Source, Tally, open_source

__all__ = ["FORMATS", "Batch", "Position", "Source", "Tally", "open_source"]
