"""The driver of a cluster whose executors are killed, or are slow, while they count for a store.

    python -m tests.engines.cluster_runs FOLDER KEY

One process, as a cluster takes long to start. Prints what was published, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark import StorageLevel
from tests.engines.clusters import (
    HOSTS,
    AccidentSource,
    KeptFiles,
    cluster_session,
    executors_of,
    wait_for,
    with_accident,
)
from tests.engines.sessions import run_ticks
from tests.unit.store import lives
from tests.unit.store.partials import OPENED

import lazysketch as ls
import lazysketch.spark as lazy
from lazysketch.errors import ArgumentValueError

ITEMS = [f"{lives.CANARY} {number % 37}" for number in range(4_000)]
TICKS = {"kill": ITEMS[:2_500], "slow": ITEMS[2_500:]}


def write_rows(folder: Path) -> None:
    """Write the items as lines and as Parquet, in four files each, and those of two ticks."""
    quarter = len(ITEMS) // 4
    for name in ("lines", "parquet", "ticks"):
        (folder / name).mkdir()
    for number in range(4):
        rows = ITEMS[number * quarter : (number + 1) * quarter]
        (folder / "lines" / f"{number}.txt").write_text("\n".join(rows))
        pq.write_table(pa.table({"user": rows}), folder / "parquet" / f"{number}.parquet")


class Runs:
    """Runs of one store, each of a copy of it as it was, in one session.

    Args:
        session: That of the cluster.
        folder: Where everything is.
    """

    def __init__(self, session: Any, folder: Path) -> None:
        self._session, self._folder = session, folder
        self._base = lives.Lives(folder / "base")
        with self._base.open() as store:
            OPENED["count-min"](store)
        self.published: dict[str, list[str]] = {}

    def run(self, name: str, steps: Callable[[Any, Any, Path], Any]) -> None:
        """Publish in a copy of the store, and keep what was published."""
        wait_for(lambda: executors_of(self._session) == len(HOSTS))
        own = self._folder / "runs" / name
        marks = own / "marks"
        marks.mkdir(parents=True)
        with self._base.copied_to(own / "copy").open() as store:
            live = OPENED["count-min"](store)
            found = steps(store, live, marks)
            self.published[name] = found if isinstance(found, list) else [found.to_bytes().hex()]

    def of_source(self, live: Any, marks: Path, accident: str) -> Any:
        """Return a frame of the data source over the lines."""
        return (
            self._session.read.format("accidents")
            .options(accident=accident, marks=str(marks), spec=live.partial_spec().hex())
            .options(path=str(self._folder / "lines"), format="lines", settled="0")
            .options(part_bytes="5000", most_tasks="4")
            .load()
        )

    def of_column(self, live: Any, marks: Path, accident: str) -> Any:
        """Return a frame of the counts of the column of the Parquet files."""
        rows = self._session.read.parquet(str(self._folder / "parquet"))
        counted = lazy.count_column(rows, "user", spec=live.partial_spec(), input="1")
        return with_accident(counted, accident, marks)


def local(store: Any, live: Any, marks: Path) -> Any:
    live.update_batch(ITEMS)
    return live.release()


def local_ticks(store: Any, live: Any, marks: Path) -> list[str]:
    found = []
    for rows in TICKS.values():
        live.update_batch(rows)
        found.append(live.release().to_bytes().hex())
    return found


def main(folder: Path) -> None:
    write_rows(folder)
    session = cluster_session(folder)
    session.dataSource.register(AccidentSource)
    runs = Runs(session, folder)
    runs.run("local", local)
    runs.run("local ticks", local_ticks)

    def added(frame_of: Callable[..., Any], accident: str) -> Callable[..., Any]:
        def steps(store: Any, live: Any, marks: Path) -> Any:
            return lazy.add_frame(store, "days", 1, frame_of(live, marks, accident), into=live)

        return steps

    def ticks(store: Any, live: Any, marks: Path) -> list[str]:
        found: list[str] = []
        own = marks.parent
        options = {"path": str(folder / "ticks"), "format": "lines", "settled": "0"}
        options |= {"state": str(own / "state"), "marks": str(marks), "part_bytes": "5000"}
        sink = lazy.StoreSink(
            session,
            store,
            "s",
            into=live,
            state=own / "state",
            publish=lambda release: found.append(release.to_bytes().hex()),
        )
        for accident, rows in TICKS.items():
            (folder / "ticks" / f"{accident}.txt").write_text("\n".join(rows))
            stream = {"accident": accident, "form": "accidents", **options}
            run_ticks(session, sink, own, 1, **stream)
        return found

    def shuffled(store: Any, live: Any, marks: Path) -> Any:
        """Counts that are shuffled, sorted on disk and kept there."""
        frame = runs.of_source(live, marks, "none").repartition(1).sortWithinPartitions("sealed")
        frame = frame.persist(StorageLevel.DISK_ONLY)
        return lazy.add_frame(store, "days", 1, frame, into=live)

    def lost_shuffle(store: Any, live: Any, marks: Path) -> Any:
        """The executor that dies takes with it what it had sealed and shuffled."""
        frame = runs.of_source(live, marks, "none").repartition(2)
        try:
            return lazy.add_frame(store, "days", 1, with_accident(frame, "kill", marks), into=live)
        except ArgumentValueError as refusal:
            assert live.step == 0
            return [str(refusal)]

    with KeptFiles(folder / "local", folder / "kept") as kept:
        for accident in ("kill", "slow"):
            runs.run(f"source, {accident}", added(runs.of_source, accident))
            runs.run(f"column, {accident}", added(runs.of_column, accident))
        runs.run("ticks", ticks)
        runs.run("shuffled", shuffled)
        runs.run("lost shuffle", lost_shuffle)
    # What the search of these files would find if rows were in them.
    with KeptFiles(folder / "local", folder / "kept-rows"):
        rows = session.read.text(str(folder / "lines")).limit(40).repartition(2)
        rows.sortWithinPartitions("value").persist(StorageLevel.DISK_ONLY).count()
    session.stop()
    said = {"published": runs.published, "files": sorted(kept.names)}
    sys.stdout.write(f"\n{json.dumps(said)}\n")


if __name__ == "__main__":
    lives.KEY = ls.Key.from_bytes(bytes.fromhex(sys.argv[2]))
    main(Path(sys.argv[1]))
