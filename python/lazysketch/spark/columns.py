"""A column of a DataFrame that exists already, counted where its partitions are.

Prefer the data source where the files can be read directly: here Spark decodes each row first and
hands it to Python as Arrow, which costs many times more than counting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lazysketch.arguments import check_texts
from lazysketch.sketches.partial_counts import PartialCounts
from lazysketch.sources import checked_request
from lazysketch.sources.formats.typed_items import typed_items
from lazysketch.spark.files_source import SCHEMA
from lazysketch.workers.item_types import fitting_request

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_column"]


def count_column(
    frame: DataFrame,
    column: str,
    *,
    spec: bytes,
    input: str,  # noqa: A002 -- as in the rows of the data source
    weight: str | None = None,
    max_weight: int | None = None,
    value: str | None = None,
) -> DataFrame:
    """Return sealed counts of a column, one row per partition, for ``add_frame``.

    Rows without an item, with a weight that is no integer of at least 0, or without a value where
    sums need one, are not counted.

    Guarantee: rows are counted within the task that reads them, so nothing is shuffled. A task
        that is tried again counts its partition again, and one row of it reaches the driver. What
        the rows are is up to the frame: a frame that gives other rows when it is run again is seen
        by the store only where the tick was committed.

    Args:
        frame: Any DataFrame; it is run when its counts are added.
        column: Text, binary or integers; numbers for an object that counts values; keys, also as
            text, or addresses for ranges.
        spec: ``partial_spec()`` of the object that counts.
        input: What stands for the input, such as the offsets or the versions that were read; a
            repetition with another one is refused.
        weight: A column of integers, or None for weight 1.
        max_weight: Larger weights are clipped to this; required with ``weight``.
        value: A column of numbers, for sums by item.

    Raises:
        ArgumentTypeError: A wrong type, only one of ``weight`` and ``max_weight``, or no value for
            sums.
        ArgumentValueError: A number outside its range.

    Example:
        >>> import pathlib, tempfile
        >>> from pyspark.sql import SparkSession
        >>> import lazysketch as ls
        >>> import lazysketch.spark as lazy
        >>> spark = SparkSession.builder.getOrCreate()
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> store = ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor")
        >>> visits = store.sketch("visits", ls.TableSpec(
        ...     kind="count-min", depth=4, width=256, schedule=ls.Batch(horizon=365),
        ...     epsilon=1.0, delta=1e-8,
        ... ))
        >>> frame = spark.range(900).selectExpr("concat('user ', id % 3) as user")
        >>> counted = lazy.count_column(
        ...     frame, "user", spec=visits.partial_spec(), input="table, version 1"
        ... )
        >>> lazy.add_frame(store, "days", 1, counted, into=visits).step
        1
        >>> store.close()
    """
    from pyspark.sql.functions import lit

    check_texts(column=column, input=input)
    request = checked_request(field=column, weight=weight, max_weight=max_weight, value=value)
    request = fitting_request(PartialCounts(spec), request)
    request, typed = typed_items(request)
    beside, role = (weight, "weight") if value is None else (value, "value")
    wanted = frame.select(column) if beside is None else frame.select(column, beside)
    # A frame without rows may have no task, and a step must not depend on that: a row of nulls,
    # which is not counted, has a task of its own.
    fields = [lit(None).cast(field.dataType).alias(field.name) for field in wanted.schema.fields]
    wanted = wanted.unionAll(frame.sparkSession.range(0, 1, 1, 1).select(*fields))

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        from lazysketch.sources.formats.arrow_columns import batch_of_columns, check_types
        from lazysketch.spark.imported_objects import keep_imported_objects

        worker = PartialCounts(spec)
        for batch in batches:
            types = {"field": batch.schema.field(0).type}
            numbers = {}
            if beside is not None:
                types[role] = batch.schema.field(1).type
                numbers[role] = batch.column(1)
            check_types(types, request, name="frame")
            rows = batch_of_columns(
                batch.column(0), numbers.get("weight"), request, values=numbers.get("value")
            )
            rows = typed(rows)
            worker._update_fitting(rows.items, rows.weights)
        keep_imported_objects()
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        columns = {
            "number": pa.array([number], pa.int32()),
            "tasks": pa.array([0], pa.int32()),
            "tick": pa.array([0], pa.int64()),
            "input": pa.array([input], pa.string()),
            "sealed": pa.array([worker.seal()], pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns)

    return wanted.mapInArrow(count, SCHEMA)
