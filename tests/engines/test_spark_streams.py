"""Ticks of a stream: each is one step, with its own files, whatever is killed and tried again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.locations import ROOT
from tests.unit.store.lives import CANARY, KEY, Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame
from tests.engines.sessions import run_ticks

import lazysketch as ls
from lazysketch.errors import ArgumentValueError
from lazysketch.spark import StoreSink
from lazysketch.spark.modes import check_query


def options_of(folder: Path) -> dict[str, str]:
    return {
        "path": str(folder / "rows"),
        "format": "lines",
        "state": str(folder / "state"),
        "settled": "0",
    }


def rows_of_tick(tick: int) -> list[str]:
    """The rows that arrive before a tick; none before the second."""
    return [] if tick == 2 else [f"item {row % 11}" for row in range(100 * tick)]


def put_files(folder: Path, tick: int) -> None:
    (folder / "rows").mkdir(exist_ok=True)
    rows = rows_of_tick(tick)
    for number in range(2 if rows else 0):
        (folder / "rows" / f"{tick}-{number}.txt").write_text("\n".join(rows[number::2]))


def local_releases(lives: Lives, ticks: int) -> list[bytes]:
    """What one machine publishes that counts the rows of each tick."""
    found = []
    with lives.open() as store:
        live = OPENED["count-min"](store)
        for tick in range(1, ticks + 1):
            live.update_batch(rows_of_tick(tick))
            found.append(live.release().to_bytes())
    return found


def test_ticks_replays_and_rewritten_files(session: Any, lives: Lives, tmp_path: Path) -> None:
    with lives.open() as store:
        OPENED["count-min"](store)
    expected = local_releases(lives.copied_to(tmp_path / "copy"), 3)
    options, published = options_of(tmp_path), list[bytes]()
    with lives.open() as store:
        live = OPENED["count-min"](store)

        def publish(release: ls.Release) -> None:
            published.append(release.to_bytes())

        sink = StoreSink(session, store, "s", into=live, state=options["state"], publish=publish)
        for tick in (1, 2, 3):  # the second without data
            put_files(tmp_path, tick)
            run_ticks(session, sink, tmp_path, 1, **options)
        assert published == expected
        # As after a crash between the commit of the store and that of Spark: the tick is run again,
        # with its own files only, and published as it was.
        (tmp_path / "rows" / "late.txt").write_text("late\n")
        forget_last_commit(tmp_path)
        run_ticks(session, sink, tmp_path, 1, **options)
        assert published[3] == expected[2]
        assert len(published) == 5  # the late file is the next tick's
        assert live.step == 4
        # Other content of the same size and time: the store knows what it has counted. Two events
        # for one, as another item may have the same cells in tables as narrow as this.
        path = tmp_path / "rows" / "late.txt"
        status = path.stat()
        path.write_text("l\nte\n")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        forget_last_commit(tmp_path)
        with pytest.raises(Exception, match="sealed: expected those of batch 4"):
            run_ticks(session, sink, tmp_path, 1, **options)
        # Another size: the tick is refused before a task is planned.
        path.write_text("later\n")
        with pytest.raises(Exception, match="as it was listed"):
            run_ticks(session, sink, tmp_path, 1, **options)
        assert (live.step, len(published)) == (4, 5)


def forget_last_commit(folder: Path) -> None:
    commits = folder / "checkpoint" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for path in (commits / str(last), commits / f".{last}.crc"):
        path.unlink(missing_ok=True)


def test_a_query_with_asynchronous_progress_is_refused(
    session: Any, lives: Lives, tmp_path: Path
) -> None:
    """By us, where the check of Spark is switched off."""
    put_files(tmp_path, 1)
    options = options_of(tmp_path)
    with lives.open() as store:
        live = OPENED["count-min"](store)
        sink = StoreSink(session, store, "s", into=live, state=options["state"])
        writer = session.readStream.format("lazysketch").options(**options).load().writeStream
        writer = writer.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "c"))
        writer = writer.option("asyncProgressTrackingEnabled", "true")
        writer = writer.option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
        query = writer.trigger(processingTime="1 second").start()
        with pytest.raises(Exception, match="got asyncProgressTrackingEnabled"):
            query.awaitTermination(120)
        with pytest.raises(Exception, match="query: expected a batch of a streaming query"):
            sink(None, 0)
        assert live.step == 0


def test_a_query_in_real_time_mode_is_refused(session: Any, lives: Lives, tmp_path: Path) -> None:
    """By Spark today, which has no sink of functions in this mode, before our sink is called."""
    memory = session._jvm.org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
    text = session._jvm.org.apache.spark.sql.Encoders.STRING()
    rows = DataFrame(memory.singlePartition(session._jsparkSession, text).toDF(), session)
    wanted = {
        "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
    }
    with lives.open() as store:
        live = OPENED["count-min"](store)
        sink = StoreSink(session, store, "s", into=live, state=str(tmp_path / "state"))
        writer = rows.writeStream.foreachBatch(sink).outputMode("update")
        writer = writer.option("checkpointLocation", str(tmp_path / "c"))
        writer = writer.option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
        for name, value in wanted.items():
            session.conf.set(name, value)
        try:
            query = writer.trigger(realTime="1 seconds").start()
            with pytest.raises(Exception, match=r"REAL_TIME_MODE|got Real-Time Mode"):
                query.awaitTermination(120)
        finally:
            for name in wanted:
                session.conf.unset(name)
        assert live.step == 0


def test_our_check_knows_the_trigger_of_real_time_mode(session: Any) -> None:
    """With the objects that Spark makes for these modes; the query around them is made up."""
    triggers = session._jvm.org.apache.spark.sql.streaming.Trigger
    for trigger, refusal in (
        (triggers.RealTime("5 seconds"), "trigger: expected processingTime or availableNow"),
        (triggers.Continuous("5 seconds"), "query: expected one that keeps its offsets"),
    ):
        execution = SimpleNamespace(trigger=lambda of=trigger: of, getClass=trigger.getClass)
        streams = SimpleNamespace(get=lambda _, found=execution: found)
        context = SimpleNamespace(getLocalProperty=lambda _: "id")
        driver = SimpleNamespace(
            sparkContext=context, _jsparkSession=SimpleNamespace(streams=lambda of=streams: of)
        )
        with pytest.raises(ArgumentValueError, match=refusal):
            check_query(driver)  # type: ignore[arg-type]


def test_no_item_is_in_what_spark_writes(session: Any, lives: Lives, tmp_path: Path) -> None:
    """Checkpoint, log of inputs, shuffle files: files and sealed counts, never a row."""
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.txt").write_text(f"{CANARY}\n" * 54_321)
    options = options_of(tmp_path)
    local = Path(session.conf.get("spark.local.dir"))
    with lives.open() as store:
        live = OPENED["count-min"](store)

        def add_shuffled(frame: Any, batch_id: int) -> None:
            # A frame that is shuffled and kept on disk leaves sealed counts there.
            from pyspark import StorageLevel

            shuffled = frame.repartition(3).persist(StorageLevel.DISK_ONLY)
            sink(shuffled, batch_id)
            files.extend(path.read_bytes() for path in local.rglob("*") if path.is_file())

        files: list[bytes] = []
        sink = StoreSink(session, store, "s", into=live, state=options["state"])
        run_ticks(session, add_shuffled, tmp_path, 1, **options)
        assert live.release().estimate(CANARY) > 50_000
    assert files
    for folder in ("checkpoint", "state"):
        files += [path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert any(b"a.txt" in data for data in files)  # what is looked through is what was written
    for data in files:
        assert CANARY.encode() not in data
        # Not as a part of the time, a digest or an id.
        assert re.search(rb"(?<![0-9a-f])54321(?![0-9a-f])", data) is None


DRIVER = """
import os, signal, sys
from pathlib import Path
import lazysketch as ls
import lazysketch.spark
from lazysketch.releases.release import Release
from tests.engines.sessions import run_ticks, session_of
from tests.engines.test_spark_streams import options_of, put_files
from tests.unit.store.lives import Lives
from tests.unit.store import lives
from tests.unit.store.partials import OPENED, WatchedStore

folder, point, at = Path(sys.argv[1]), sys.argv[3], int(sys.argv[4])
lives.KEY = ls.Key.from_bytes(bytes.fromhex(sys.argv[2]))
session = session_of(folder)
lazysketch.spark.register(session)
store = Lives(folder).open()
live = OPENED["count-min"](store)
native, tick = store._native, 0

def die(where):
    if point == where and tick == at:
        os.kill(os.getpid(), signal.SIGKILL)

store._journal.native = WatchedStore(native, die)
def publish(release):
    print(release.step, release.to_bytes().hex(), flush=True)
    die("after release")

sink = lazysketch.spark.StoreSink(
    session, store, "s", into=live, state=folder / "state", publish=publish
)
def counted(frame, batch_id):
    global tick
    tick = batch_id + 1
    store._journal.native.appended = False
    die("before tasks")
    sink(frame, batch_id)

for _ in range(int(sys.argv[5])):
    for number in range(1, store.last_sequence("s") + 2):
        if not (folder / "rows" / f"{number}-0.txt").exists():
            put_files(folder, number)
    run_ticks(session, counted, folder, 1, **options_of(folder))
"""


def drive(folder: Path, point: str, at: int, ticks: int) -> tuple[int, list[str]]:
    """Run a driver; return its exit status and the lines of the ticks that were published."""
    arguments = [str(folder), KEY.to_bytes().hex(), point, str(at), str(ticks)]
    run = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    assert run.returncode in (0, -signal.SIGKILL), run.stderr[-3000:]
    return run.returncode, run.stdout.splitlines()


def test_a_driver_that_is_killed_counts_each_tick_once(lives: Lives, tmp_path: Path) -> None:
    """Before its tasks, before and after the commit, and after the release, at one tick each."""
    with lives.open() as store:
        OPENED["count-min"](store)
    expected = local_releases(lives.copied_to(tmp_path / "copy"), 4)
    shutil.rmtree(tmp_path / "copy")
    found: dict[int, str] = {}
    for point, at in [
        ("before tasks", 1),
        ("before commit", 1),
        ("after commit", 2),
        ("after release", 3),
        ("never", 0),
    ]:
        status, lines = drive(tmp_path, point, at, ticks=2)
        assert status == (0 if point == "never" else -signal.SIGKILL)
        for line in lines:
            step, release = line.split()
            assert found.setdefault(int(step), release) == release
    assert [bytes.fromhex(found[step]) for step in sorted(found)][:4] == expected[: len(found)]
    assert sorted(found)[:3] == [1, 2, 3]
