"""A cluster of Spark with executors in JVMs of their own, and a source whose tasks meet accidents.

Master and workers are in the JVM of the driver, as with ``local-cluster``. Here the two workers
have two host names: a copy of a slow task is started on another host only.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark import SparkConf, SparkContext, TaskContext
from pyspark.sql import SparkSession
from tests.engines.sessions import session_of
from tests.locations import ROOT
from typing_extensions import Self

from lazysketch.spark import FilesSource
from lazysketch.spark.files_source import SCHEMA

EXECUTOR = "CoarseGrainedExecutorBackend"
HOSTS = ("127.0.0.1", "127.0.0.2")

# A task that takes twice as long as the first one of its stage gets a copy.
SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "2",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "300ms",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    "spark.eventLog.enabled": "true",
    # What is written can be searched for items.
    "spark.eventLog.compress": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.shuffle.spill.numElementsForceSpillThreshold": "1",
}


def cluster_session(folder: Path) -> SparkSession:
    """Start a cluster of two workers of one core, and return a session of it."""
    for name in ("events", "work", "local"):
        (folder / name).mkdir()
    settings = {**SETTINGS, "spark.eventLog.dir": (folder / "events").as_uri()}
    settings |= {"spark.local.dir": str(folder / "local"), "spark.ui.enabled": "false"}
    conf = SparkConf().setAll([*settings.items(), ("spark.driver.memory", "1g")])
    SparkContext._ensure_initialized(conf=conf)
    gateway: Any = SparkContext._gateway
    deploy = gateway.jvm.org.apache.spark.deploy
    jvm_conf = gateway.jvm.org.apache.spark.SparkConf(False)
    for name, value in settings.items():
        jvm_conf.set(name, value)
    master = deploy.master.Master.startRpcEnvAndEndpoint(HOSTS[0], 0, 0, jvm_conf)._1()
    url = master.address().toSparkURL()
    urls = gateway.new_array(gateway.jvm.java.lang.String, 1)
    urls[0] = url
    nothing = gateway.jvm.scala.Option.empty()
    for number, host in enumerate(HOSTS):
        of_number = gateway.jvm.scala.Option.apply(number)
        work = str(folder / "work" / str(number))
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            host, 0, 0, 1, 1024, urls, work, of_number, jvm_conf, nothing
        )
    session = session_of(folder, master=url, **settings)
    wait_for(lambda: executors_of(session) == len(HOSTS))
    return session


def executors_of(session: SparkSession) -> int:
    """Return how many executors there are, without the driver."""
    context: Any = session.sparkContext
    return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1


def wait_for(is_so: Any, seconds: float = 180) -> None:
    """Wait until something is so, or fail."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "expected what was waited for, got none of it"
        time.sleep(0.02)


def meet_accident(kind: str, marks: Path, tick: int, number: int) -> None:
    """Kill the executor, or wait for the copy of this task; once in a tick, after it has counted.

    ``marks`` gets one file for each try of a task that has counted, and one for the accident.
    """
    context: Any = TaskContext.get()
    me = str(context.taskAttemptId())
    (marks / f"counted-{tick}-{number}-{me}").touch()
    if kind == "none" or (kind == "slow" and number != 0):
        return
    try:
        (marks / f"accident-{tick}").touch(exist_ok=False)
    except FileExistsError:
        return
    if kind == "slow":
        wait_for(lambda: len([*marks.glob(f"counted-{tick}-{number}-*")]) > 1)
        return
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
    assert EXECUTOR in Path(f"/proc/{executor}/cmdline").read_text(), "not an executor"
    os.kill(executor, signal.SIGKILL)
    time.sleep(60)


class AccidentSource(FilesSource):
    """The data source, with the options ``accident`` (none, kill or slow) and ``marks``."""

    def __init__(self, options: Any) -> None:
        given = dict(options)
        self._accident, self._marks = given.pop("accident"), Path(given.pop("marks"))
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        return "accidents"

    def reader(self, schema: Any) -> Any:
        return self._meeting(super().reader(schema))

    def streamReader(self, schema: Any) -> Any:
        return self._meeting(super().streamReader(schema))

    def _meeting(self, reader: Any) -> Any:
        kind: Any = type(reader)
        accident, marks = self._accident, self._marks

        class Meeting(kind):  # type: ignore[misc]
            def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
                rows = list(super().read(partition))
                task = partition.value
                meet_accident(accident, marks, task.tick, task.number)
                yield from rows

        reader.__class__ = Meeting
        return reader


def with_accident(counted: Any, accident: str, marks: Path) -> Any:
    """Return a frame of sealed counts each of whose tasks may meet an accident."""

    def meet(batches: Iterator[Any]) -> Iterator[Any]:
        rows = list(batches)
        context: Any = TaskContext.get()
        meet_accident(accident, marks, 0, context.partitionId())
        yield from rows

    return counted.mapInArrow(meet, SCHEMA)


class KeptFiles:
    """Keeps every file that appears in a folder, also one that is soon deleted, by a second name.

    Args:
        watched: Where files come and go.
        kept: Where they stay, on the same disk.
    """

    def __init__(self, watched: Path, kept: Path) -> None:
        self._watched, self._kept = watched, kept
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self.names: set[str] = set()

    def __enter__(self) -> Self:
        self._kept.mkdir()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _keep(self) -> None:
        seen: set[int] = set()
        while not self._is_over.wait(0.005):
            for folder, _, names in os.walk(self._watched):
                for name in names:
                    path = os.path.join(folder, name)  # noqa: PTH118 -- a tight loop
                    try:
                        number = os.stat(path).st_ino  # noqa: PTH116
                        if number not in seen:
                            os.link(path, self._kept / f"{len(seen)}-{name}")
                            seen.add(number)
                            self.names.add(name)
                    except OSError:
                        continue  # deleted in between
