"""Topics as the input of the data source ``lazysketch``: tasks are ranges of offsets.

What Spark keeps of a tick has its ranges, first and last offset of each partition. A tick that is
run again has these and no others: it does not ask the brokers what there is now. Executors read
their ranges past the rows of Spark. No password is in a task; the file of settings is read where
the task runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from lazysketch.errors import SourceError
from lazysketch.kafka.range_tasks import RangeTask, count_ranges, plan_range_tasks, ranges_digest
from lazysketch.kafka.ranges import OffsetRange, listed_ranges, range_settings
from lazysketch.kafka.rows import row_format
from lazysketch.sources.io.properties import read_properties
from lazysketch.spark.files_source import Ticks
from lazysketch.spark.imported_objects import keep_imported_objects

if TYPE_CHECKING:
    from lazysketch.spark.source_options import SourceOptions

__all__ = ["TopicBatch", "TopicTicks"]


class TopicBatch(DataSourceReader):
    """What topics have now, or the ranges that are named, as one input."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Return the tasks."""
        given = self._options.topics
        assert given is not None, "checked by the source"  # noqa: S101
        ranges = [OffsetRange(*one) for one in given.offsets] or _listed(self._options, {})
        return _planned(self._options, ranges, tick=0)

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the row of a task."""
        return _counted(partition.value)


class TopicTicks(Ticks):
    """One tick per trigger: from where the last one ended to where the partitions end."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- the names are Spark's
        """Return what is before the first tick."""
        return {"tick": 0, "input": "", "ranges": []}

    def _begun(self, start: dict[str, Any], tick: int) -> dict[str, Any]:
        """Begin a tick; what it has is kept by Spark before it is run."""
        ends = _ends(start)
        ranges = _listed(self._options, ends)
        missing = ends.keys() - {one[:2] for one in ranges}
        if missing:
            topic, number = min(missing)
            raise SourceError(
                f"{topic}: expected the partition {number} of tick {tick - 1}, got none"
            )
        digest = _digest(self._options, ranges, tick=tick)
        return {"tick": tick, "input": digest, "ranges": [list(one) for one in ranges]}

    def _tasks(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        ranges = [OffsetRange(*one) for one in end["ranges"]]
        ends, tick = _ends(start), int(end["tick"])
        if any(ends.get(one[:2], one.begin) != one.begin for one in ranges) or end[
            "input"
        ] != _digest(self._options, ranges, tick=tick):
            raise SourceError(
                f"checkpoint: expected in tick {tick} the offsets after those of the tick before "
                "and the fields of the query, got others"
            )
        return _planned(self._options, ranges, tick=tick)

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the row of a task."""
        return _counted(partition.value)


def _ends(offset: dict[str, Any]) -> dict[tuple[str, int], int]:
    return {(topic, number): end for topic, number, _, end in offset["ranges"]}


def _listed(options: SourceOptions, ends: dict[tuple[str, int], int]) -> list[OffsetRange]:
    given = options.topics
    assert given is not None, "checked by the source"  # noqa: S101
    chosen = None if given.settings is None else read_properties(given.settings)
    return listed_ranges(
        given.topics,
        range_settings(given.brokers, chosen),
        begin=lambda topic, number: ends.get((topic, number)),
    )


def _digest(options: SourceOptions, ranges: list[OffsetRange], *, tick: int) -> str:
    form, _ = row_format(options.format, options.request)
    return ranges_digest(ranges, options.request, format=form.name, tick=tick)


def _planned(
    options: SourceOptions, ranges: list[OffsetRange], *, tick: int
) -> list[InputPartition]:
    given = options.topics
    assert given is not None, "checked by the source"  # noqa: S101
    limits = {} if options.most_tasks is None else {"most_tasks": options.most_tasks}
    tasks = plan_range_tasks(
        ranges,
        given.brokers,
        options.request,
        options.current_spec,
        format=options.format,
        settings=given.settings,
        tick=tick,
        **limits,
    )
    return [InputPartition(task) for task in tasks]


def _counted(task: RangeTask) -> Iterator[tuple[Any, ...]]:
    """Yield the one row of a task, after all of its ranges were read."""
    counted = tuple(count_ranges(task))
    # Afterwards: counting imports what formats and Kafka need.
    keep_imported_objects()
    yield counted
