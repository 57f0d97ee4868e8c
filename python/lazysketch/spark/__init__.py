"""Apache Spark: executors count files natively and seal, the driver adds to one store.

    import lazysketch.spark as lazy

    lazy.register(spark)
    sink = lazy.StoreSink(spark, store, "visits", into=visits, state="state", publish=show)
    ticks = spark.readStream.format("lazysketch").options(path="logs", field="user", state="state")
    query = ticks.load().writeStream.foreachBatch(sink).option("checkpointLocation", "checkpoint")
    query.trigger(processingTime="1 hour").start().awaitTermination()

Each trigger is a tick: the files that are new since the last one, or none. Executors read them past
the rows of Spark, count them into tables, and return sealed counts, one row per task. No key, no
noise and no event is in a task, a shuffle file, a checkpoint or a log.

================= ==================================================================
files_source      the data source ``lazysketch``: tasks over files, in batches and as a stream
sink              the function of ``foreachBatch``; batches by hand
columns           a column of a DataFrame that exists already
one_release       its heaviest items, or a table, in one call
one_statistic     its distinct items, quantiles, ranges of keys, or sums by item, in one call
publication       the store of such a call, and its charge to a ledger
topics_source     ranges of offsets of Kafka as its input
topic_options     the options that name them
source_options    the options of the data source
modes             kinds of sessions and queries in which a step could be published too early
================= ==================================================================

Needs the extra ``spark`` and Java 17. docs/scale.md
"""

from __future__ import annotations

from lazysketch.spark.columns import count_column
from lazysketch.spark.files_source import FilesSource, register
from lazysketch.spark.one_release import release_column, top_items
from lazysketch.spark.one_statistic import (
    release_distinct,
    release_ranges,
    release_sums,
    release_values,
)
from lazysketch.spark.sink import StoreSink, add_frame

__all__ = [
    "FilesSource",
    "StoreSink",
    "add_frame",
    "count_column",
    "register",
    "release_column",
    "release_distinct",
    "release_ranges",
    "release_sums",
    "release_values",
    "top_items",
]
