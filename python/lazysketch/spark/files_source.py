"""The data source ``lazysketch``: tasks that count files, in batches and as a stream of ticks.

A row is what one task has counted: its number, how many tasks there are, the tick, the digest of
the whole input, and the sealed counts. Spark keeps of a tick its number and that digest; the files
of it are in the log of inputs (``state``). Every trigger is a tick, with or without new files, so
that the steps of the store do not depend on the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.spark.imported_objects import keep_imported_objects
from lazysketch.spark.modes import check_session
from lazysketch.spark.source_options import SourceOptions
from lazysketch.workers import (
    PARALLEL_TASKS,
    FileTask,
    InputLog,
    TaskResult,
    count_task,
    listed_files,
    plan_tasks,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

__all__ = ["SCHEMA", "FilesSource", "Ticks", "register"]

SCHEMA: Final = "number int, tasks int, tick bigint, input string, sealed binary"


class FilesSource(DataSource):
    """The data source ``lazysketch``, which :func:`register` makes known to a session.

    Guarantee: executors get files, fields and a public description, and return ciphertext. A task
        that is tried again counts the same rows; one row of each task reaches the driver. A file
        that is not as it was listed is refused by every try.

    Args:
        options: Texts: ``path`` (a folder, pattern or file), ``format``, ``field``, ``weight``,
            ``max_weight``, ``encoding``, ``delimiter``, ``item_type`` as for ``open_source``;
            ``spec`` (``partial_spec().hex()``, a batch) or ``state`` (a folder, a stream);
            ``settled`` (seconds since a file was modified, 60), ``part_bytes`` and
            ``most_tasks`` as for ``plan_tasks``. Instead of ``path`` topics of Kafka: ``kafka``
            (HOST:PORT, with commas between several), ``topics`` (with commas), ``kafka_settings``
            (a file with further settings of librdkafka, on every machine), and for a batch
            ``offsets`` (``{"TOPIC": {"PARTITION": [FIRST, END]}}``; all that there is).

    Raises:
        ArgumentTypeError: No path, or not one of ``spec`` and ``state``.
        ArgumentValueError: An unknown option, or a value outside its range.

    Example:
        >>> from lazysketch.spark import FilesSource
        >>> source = FilesSource({"path": "logs", "format": "lines", "spec": "00"})
        >>> source.name(), source.schema()
        ('lazysketch', 'number int, tasks int, tick bigint, input string, sealed binary')
    """

    _parallel_tasks = PARALLEL_TASKS

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._options = SourceOptions.of(dict(options))

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "lazysketch"

    def schema(self) -> str:
        """Return the columns of a row; asked by a process of Spark that is used again."""
        keep_imported_objects()
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 -- always the same
        """Return the reader of a batch; asked by another such process."""
        keep_imported_objects()
        if self._options.topics is None:
            return _Batch(self._options, parallel_tasks=self._parallel_tasks)
        from lazysketch.spark.topics_source import TopicBatch  # late: needs the extra kafka

        return TopicBatch(self._options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """Return the reader of a stream."""
        if self._options.state is None:
            raise ArgumentTypeError("state: expected a folder for a stream, got none")
        if self._options.topics is None:
            return Ticks(self._options, parallel_tasks=self._parallel_tasks)
        if self._options.topics.offsets:
            raise ArgumentTypeError("offsets: expected none for a stream, got some")
        from lazysketch.spark.topics_source import TopicTicks  # late: needs the extra kafka

        return TopicTicks(self._options)


def register(session: SparkSession) -> None:
    """Make the format ``lazysketch`` known to a session.

    An input is divided for the cores that the session has now; call it again after that changed.

    Args:
        session: A classic session, in the process that has the store.

    Raises:
        ArgumentTypeError: A session of Spark Connect.

    Example:
        >>> from pyspark.sql import SparkSession
        >>> import lazysketch.spark as lazy
        >>> spark = SparkSession.builder.getOrCreate()
        >>> lazy.register(spark)
        >>> source = spark.readStream.format("lazysketch").option("path", "logs")
    """
    check_session(session)
    cores = session.sparkContext.defaultParallelism

    class SourceOfCores(FilesSource):
        """The planner is another process; what the session knows comes to it with the class."""

        _parallel_tasks = cores

    session.dataSource.register(SourceOfCores)


class _Batch(DataSourceReader):
    """All files that are there now, as one input."""

    def __init__(self, options: SourceOptions, *, parallel_tasks: int = PARALLEL_TASKS) -> None:
        self._options = options
        self._parallel_tasks = parallel_tasks

    def partitions(self) -> list[InputPartition]:
        options = self._options
        tasks = plan_tasks(
            listed_files(options.path, settled=options.settled),
            options.request,
            options.current_spec,
            format=options.format,
            part_bytes=options.part_bytes,
            most_tasks=options.most_tasks,
            parallel_tasks=self._parallel_tasks,
        )
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return _counted(partition.value)


class Ticks(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One tick per trigger: the files that no tick had before."""

    def __init__(self, options: SourceOptions, *, parallel_tasks: int = PARALLEL_TASKS) -> None:
        self._options = options
        self._parallel_tasks = parallel_tasks
        self._ticks_left: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- the names are Spark's
        """Return what is before the first tick."""
        return {"tick": 0, "input": ""}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take one tick and end: what is available now is one tick, with or without files."""
        self._ticks_left = 1

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802
        """Begin the next tick."""
        if self._ticks_left is not None:
            if not self._ticks_left:
                return start
            self._ticks_left -= 1
        return self._begun(start, int(start["tick"]) + 1)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the tasks of a tick."""
        if start == end:
            return []
        tick = int(end["tick"])
        if tick != int(start["tick"]) + 1:
            raise SourceError(f"tick: expected the one after {start['tick']}, got {tick}")
        return self._tasks(start, end)

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the row of a task."""
        return _counted(partition.value)

    def _begun(self, start: dict[str, Any], tick: int) -> dict[str, Any]:  # noqa: ARG002
        """Begin a tick, and keep its files before Spark keeps its number."""
        found = listed_files(self._options.path, settled=self._options.settled)
        with self._log() as log:
            return {"tick": tick, "input": log.begin(tick, found)}

    def _tasks(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002
        options, tick = self._options, int(end["tick"])
        with self._log() as log:
            if log.digest(tick) != end["input"]:
                raise SourceError(
                    f"{options.state}: expected the files of tick {tick} that the checkpoint of "
                    "the query knows, got others"
                )
            files = log.files(tick)
        tasks = plan_tasks(
            files,
            options.request,
            options.current_spec,
            format=options.format,
            part_bytes=options.part_bytes,
            most_tasks=options.most_tasks,
            parallel_tasks=self._parallel_tasks,
            tick=tick,
        )
        return [InputPartition(task) for task in tasks]

    def _log(self) -> InputLog:
        options = self._options
        assert options.state is not None, "checked by streamReader"  # noqa: S101
        return InputLog(options.state, path=options.path, request=options.request)


def _counted(task: FileTask) -> Iterator[tuple[Any, ...]]:
    """Yield the one row of a task, after all of its files were read."""
    result: TaskResult = count_task(task)
    keep_imported_objects()
    yield tuple(result)
