"""Spark counts files and columns once, and the release is that of one machine, bit for bit."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import Lives
from tests.unit.store.partials import OPENED

pytest.importorskip("pyspark")

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, InputPartition

import lazysketch.spark as lazy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.spark.source_options import SourceOptions

ITEMS = [f"user {number % 37}" for number in range(3_000)]
WEIGHTS = [number % 7 for number in range(3_000)]


def write(folder: Path, form: str) -> dict[str, str]:
    """Write the items in a format; return the options of the source."""
    folder.mkdir()
    half = len(ITEMS) // 2
    for name, rows in (("a", range(half)), ("b", range(half, len(ITEMS)))):
        path = folder / f"{name}.{form}"
        columns = {"user": [ITEMS[row] for row in rows], "n": [WEIGHTS[row] for row in rows]}
        if form == "parquet":
            pq.write_table(pa.table(columns), path, row_group_size=300)
        elif form == "arrow":
            table = pa.table(columns)
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)
        elif form == "csv":
            path.write_text(
                "user,n\n" + "".join(f'"{ITEMS[row]}",{WEIGHTS[row]}\n' for row in rows)
            )
        elif form == "jsonl":
            lines = (json.dumps({"user": ITEMS[row], "n": WEIGHTS[row]}) for row in rows)
            path.write_text("".join(f"{line}\n" for line in lines))
        else:
            stamp = "[10/Oct/2000:13:55:36 -0700]"
            path.write_text(
                "".join(f'h - - {stamp} "GET /{ITEMS[row]} HTTP/1.0" 200 5\n' for row in rows)
            )
    field = "path" if form == "common" else "user"
    options = {"path": str(folder), "field": field, "settled": "0", "part_bytes": "5000"}
    return options | ({"format": form} if form == "common" else {})


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl", "common"])
def test_files_are_counted_as_by_one_machine(
    form: str, session: Any, lives: Lives, tmp_path: Path
) -> None:
    """Also when Spark runs the tasks again: the same release. And then not with other files."""
    options = write(tmp_path / "rows", form)
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        local.update_batch(
            [f"/{item}".split(" ")[0] for item in ITEMS] if form == "common" else ITEMS
        )
        spec = live.partial_spec().hex()
        frame = session.read.format("lazysketch").options(spec=spec, **options).load()
        assert frame.rdd.getNumPartitions() > 1
        for _ in range(2):
            release = lazy.add_frame(store, "days", 1, frame, into=live)
            assert release.to_bytes() == local.release().to_bytes()
        assert live.step == 1
        copy = tmp_path / "rows" / f"c.{form}"
        copy.write_bytes((tmp_path / "rows" / f"a.{form}").read_bytes())
        frame = session.read.format("lazysketch").options(spec=spec, **options).load()
        with pytest.raises(ArgumentValueError, match="positions: expected those of batch 1"):
            lazy.add_frame(store, "days", 1, frame, into=live)
        assert live.step == 1


def test_an_input_is_divided_for_the_cores(session: Any, lives: Lives, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("a\n")
    os.truncate(tmp_path / "rows.txt", 40 << 20)
    with lives.open() as store:
        spec = OPENED["count-min"](store).partial_spec().hex()
    frame = session.read.format("lazysketch").options(
        path=str(tmp_path / "rows.txt"), format="lines", settled="0", spec=spec
    )
    assert frame.load().rdd.getNumPartitions() == session.sparkContext.defaultParallelism == 2


def test_a_column_is_counted_as_by_one_machine(session: Any, lives: Lives, tmp_path: Path) -> None:
    """With weights, some of them too large, and rows without an item or a weight."""
    rows: list[tuple[Any, Any]] = [*zip(ITEMS, WEIGHTS, strict=True)]
    with lives.open() as store:
        OPENED["count-sketch"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-sketch"](local_store), OPENED["count-sketch"](store)
        local.update_batch(ITEMS, [min(weight, 5) for weight in WEIGHTS])
        rows += [(None, 1), ("user 1", None), ("user 1", -3)]
        frame = session.createDataFrame(rows, "user string, n int").repartition(3)
        counted = lazy.count_column(
            frame, "user", spec=live.partial_spec(), input="v1", weight="n", max_weight=5
        )
        release = lazy.add_frame(store, "table", 1, counted, into=live)
        assert release.to_bytes() == local.release().to_bytes()
        counted = lazy.count_column(frame, "user", spec=live.partial_spec(), input="v2")
        with pytest.raises(ArgumentValueError, match="positions: expected those of batch 1"):
            lazy.add_frame(store, "table", 1, counted, into=live)
        with pytest.raises(ArgumentTypeError, match="max_weight"):
            lazy.count_column(frame, "user", spec=live.partial_spec(), input="v", weight="n")


def test_a_task_that_dies_is_counted_once(session: Any, lives: Lives, tmp_path: Path) -> None:
    """Workers are killed after they have counted, and Spark tries their tasks again."""
    options = write(tmp_path / "rows", "parquet")
    marks = tmp_path / "marks"
    marks.mkdir()

    class DyingReader(DataSourceReader):  # type: ignore[misc]
        def __init__(self, reader: Any) -> None:
            self._reader = reader

        def partitions(self) -> list[InputPartition]:
            found: list[InputPartition] = self._reader.partitions()
            return found

        def read(self, partition: InputPartition) -> Iterator[Any]:
            rows = list(self._reader.read(partition))
            if TaskContext.get().attemptNumber() == 0:
                (marks / str(partition.value.number)).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield from rows

    class DyingSource(lazy.FilesSource):
        @classmethod
        def name(cls) -> str:
            return "dying"

        def reader(self, schema: Any) -> Any:
            return DyingReader(super().reader(schema))

    session.dataSource.register(DyingSource)
    with lives.open() as store:
        OPENED["count-min"](store)
    others = lives.copied_to(tmp_path / "copy")
    with lives.open() as local_store, others.open() as store:
        local, live = OPENED["count-min"](local_store), OPENED["count-min"](store)
        local.update_batch(ITEMS)
        options["most_tasks"] = "3"
        frame = session.read.format("dying").options(spec=live.partial_spec().hex(), **options)
        release = lazy.add_frame(store, "days", 1, frame.load(), into=live)
        assert {path.name for path in marks.iterdir()} & {"0", "1", "2"}
        assert release.to_bytes() == local.release().to_bytes()


def test_options_are_checked() -> None:
    """By name, before a task is planned."""
    given = {"path": "rows", "state": "state"}
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({"pth": "x"}, ArgumentValueError, "option: expected one of path"),
        ({"path": None}, ArgumentTypeError, "path: expected a folder"),
        ({"spec": "00"}, ArgumentTypeError, "spec: expected .* got both"),
        ({"state": None}, ArgumentTypeError, "spec: expected .* got neither"),
        ({"state": None, "spec": "x"}, ArgumentValueError, "spec: expected partial_spec"),
        ({"settled": "-1"}, ArgumentValueError, "settled: expected seconds"),
        ({"settled": "nan"}, ArgumentValueError, "settled: expected seconds"),
        ({"part_bytes": "0"}, ArgumentValueError, "part_bytes: expected an integer"),
        ({"most_tasks": "1.5"}, ArgumentValueError, "most_tasks: expected an integer"),
        ({"weight": "n"}, ArgumentTypeError, "max_weight: expected with weight"),
        ({"format": "xml"}, ArgumentValueError, "format: expected one of"),
        ({"item_type": "date"}, ArgumentValueError, "item_type: expected one of"),
    ]
    for wrong, error, message in cases:
        texts = {name: text for name, text in {**given, **wrong}.items() if text is not None}
        with pytest.raises(error, match=message):
            SourceOptions.of(texts)
    options = SourceOptions.of({**given, "WEIGHT": "n", "max_weight": "7", "field": "user"})
    assert (options.request.max_weight, options.settled, options.most_tasks) == (7, 60.0, None)
    for name in ("register", "StoreSink"):
        call: Any = getattr(lazy, name)
        arguments = (object(),) if name == "register" else (object(), None, "s")
        options_of_call = {} if name == "register" else {"into": None, "state": "state"}
        with pytest.raises(LazySketchError, match="session: expected a classic SparkSession"):
            call(*arguments, **options_of_call)
