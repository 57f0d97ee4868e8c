"""What the driver does with the sealed counts of a tick: one step of the store, then a release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lazysketch.errors import ArgumentValueError
from lazysketch.spark.modes import check_query, check_session
from lazysketch.workers import TaskResult, add_results, keep_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lazysketch.store.store import Store

__all__ = ["StoreSink", "add_frame"]


def add_frame(store: Store, source: str, sequence: int, frame: DataFrame, *, into: Any) -> Any:
    """Run the tasks of a DataFrame of sealed counts, and add them as one step.

    Guarantee: that of ``store.add_partials``: committed before anything is published, once for
        each sequence, and refused if a repetition has other input.

    Args:
        store: The store, open in this process.
        source: Name of the sender.
        sequence: 1, 2, ... within the source.
        frame: Of the format ``lazysketch``, or by :func:`~lazysketch.spark.count_column`.
        into: The object of the store that counts.

    Returns:
        The release after the step; of a hierarchy one release per level.

    Raises:
        ArgumentValueError: A task without a result or with two, or what the store refuses.
        StoreError: A store that cannot be written.

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
        >>> _ = (folder / "rows.txt").write_text("/\\n" * 900)
        >>> lazy.register(spark)
        >>> rows = spark.read.format("lazysketch").options(
        ...     path=str(folder / "rows.txt"), format="lines", settled="0",
        ...     spec=visits.partial_spec().hex(),
        ... ).load()
        >>> lazy.add_frame(store, "days", 1, rows, into=visits).step
        1
        >>> store.close()
    """
    results = [TaskResult(*row) for row in frame.collect()]
    return add_results(store, source, sequence, results, into=into)


class StoreSink:
    """The function of ``foreachBatch``: each tick of a query becomes one step of a store.

    Guarantee: the files of a tick, the step and its release are one commit of the store. Spark runs
        a tick again after a crash; then it is not counted again, and the same release is returned,
        byte for byte. A tick with other files than those that were committed is refused.

    Args:
        session: The classic session in which the query is started.
        store: The store, open in this process.
        source: Name of the query in the store, 1 to 200 characters. One query, one name.
        into: The object of the store that counts, with the batch schedule.
        state: The folder that the source has as its option ``state``, on this machine's disk.
        publish: Called with the release of each tick, of a hierarchy with one per level, after its
            commit; also for a tick that is run again.

    Raises:
        ArgumentTypeError: A session of Spark Connect.
        ArgumentValueError: An object that takes no partial counts.
        SourceError: A folder that cannot be written.

    Source: docs/scale.md, "Spark".

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
        >>> (folder / "logs").mkdir()
        >>> _ = (folder / "logs" / "1.txt").write_text("/\\n" * 900)
        >>> lazy.register(spark)
        >>> sink = lazy.StoreSink(
        ...     spark, store, "visits", into=visits, state=folder / "state",
        ...     publish=lambda release: print(f"tick {release.step}"),
        ... )
        >>> ticks = spark.readStream.format("lazysketch").options(
        ...     path=str(folder / "logs"), format="lines", state=str(folder / "state"), settled="0"
        ... )
        >>> query = ticks.load().writeStream.foreachBatch(sink)
        >>> query = query.option("checkpointLocation", str(folder / "checkpoint"))
        >>> query.trigger(availableNow=True).start().awaitTermination()  # one tick
        tick 1
        >>> store.close()
    """

    def __init__(
        self,
        session: SparkSession,
        store: Store,
        source: str,
        *,
        into: Any,
        state: str | Path,
        publish: Callable[[Any], None] | None = None,
    ) -> None:
        check_session(session)
        self._session = session
        self._store = store
        self._source = source
        self._into = into
        self._state = state
        self._publish = publish
        keep_spec(state, into.partial_spec())

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Count one tick.

        Args:
            frame: The sealed counts of its tasks.
            batch_id: The number that Spark gives the tick, from 0.

        Raises:
            ArgumentValueError: A mode of the query, or a tick, that is refused.
            StoreError: A store that cannot be written.
        """
        check_query(self._session)
        rows = [TaskResult(*row) for row in frame.collect()]
        if {row.tick for row in rows} != {batch_id + 1}:
            raise ArgumentValueError(
                f"tick: expected {batch_id + 1}, the number of the batch in its checkpoint, got "
                "another; is the state folder that of another query?"
            )
        release = add_results(self._store, self._source, batch_id + 1, rows, into=self._into)
        keep_spec(self._state, self._into.partial_spec())
        if self._publish is not None:
            self._publish(release)
