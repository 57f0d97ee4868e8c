"""What a Python worker of Spark has imported: objects that no collection of garbage need visit."""

from __future__ import annotations

import gc
from functools import cache

__all__ = ["keep_imported_objects"]


@cache
def keep_imported_objects() -> None:
    """Leave all objects of this process out of its collections of garbage; once for a process.

    Spark collects after each task of a worker that it uses again. With pyspark, pandas and pyarrow
    imported that takes 45 ms, which is the time to count ten million integers. Call it after the
    first count, which imports the reader of its format: those objects alone take 7 ms.
    """
    gc.collect()
    gc.freeze()
