"""Numbers beside items: the same from every format; rows without one are steps without an event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle.captures import ETHERNET, arp, framed, ip, pcap

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import RowBatch, feed, open_source

ITEMS = ["a", "b", "c", "", "d", "e", "f", "a"]
TEXTS = ["1.5", "-2e3", "n/a", "3", "", "nan", "-inf", "7"]
KEPT = [("a", 1.5), ("b", -2000.0), ("f", -np.inf), ("a", 7.0)]
MALFORMED = [2, 3, 4, 5]


def values_of(batch: RowBatch) -> list[float]:
    assert batch.weights is not None
    return [float(value) for value in batch.weights]


def written(folder: Path, form: str) -> tuple[Path, dict[str, Any]]:
    """Write the rows in a format; return the file, and how it is read."""
    path = folder / f"rows.{form}"
    rows = list(zip(ITEMS, TEXTS, strict=True))
    numbers = [1.5, -2e3, None, 3.0, None, np.nan, -np.inf, 7.0]
    options: dict[str, Any] = {"field": "item", "value": "number"}
    if form in ("csv", "tsv"):
        mark = "," if form == "csv" else "\t"
        path.write_text(f"item{mark}number\n" + "".join(f"{a}{mark}{b}\n" for a, b in rows))
    elif form == "jsonl":
        values = [1.5, "-2e3", "n/a", 3, None, True, "-inf", 7]
        objects = [
            {"item": item or None, "number": value}
            for item, value in zip(ITEMS, values, strict=True)
        ]
        path.write_text("".join(json.dumps(one) + "\n" for one in objects))
    elif form == "logfmt":
        path.write_text("".join(f"item={a} number={b}\n" for a, b in rows))
        options["format"] = "logfmt"
    elif form == "regex":
        path.write_text("".join(f"{a};{b}\n" for a, b in rows))
        options["regex"] = "^(?<item>[^;]*);(?<number>.*)$"
    elif form == "parquet":
        table = pa.table({"item": [item or None for item in ITEMS], "number": numbers})
        pq.write_table(table, path)
    else:
        table = pa.table({"item": [item or None for item in ITEMS], "number": numbers})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path, options


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "logfmt", "regex", "parquet", "arrow"])
def test_values_are_those_of_the_rows(form: str, tmp_path: Path) -> None:
    path, options = written(tmp_path, form)
    (batch,) = open_source(path, **options)
    assert isinstance(batch.weights, np.ndarray)
    assert batch.weights.dtype == np.float64
    assert [*zip(batch.item_list, batch.weights.tolist(), strict=True)] == KEPT
    assert (list(batch.malformed), batch.rows, batch.total_weight) == (MALFORMED, 8, 4)
    parts = [batch.first(3), batch.after(3)]
    assert [value for part in parts for value in values_of(part)] == [v for _, v in KEPT]


WHEN = ["2026-05-17T00:00:00Z", "", "1", "12.25", "?", "2026-05-17 12:00", "-1", "7"]


def timed(path: Path, form: str) -> dict[str, Any]:
    """Give each row of a file a time too; return how it is read."""
    if form in ("csv", "tsv", "logfmt", "regex", "jsonl"):
        names = {"csv": ",at", "tsv": "\tat"}
        marks = {"csv": ",{}", "tsv": "\t{}", "logfmt": ' at="{}"', "regex": ";{}"}
        first, *rest = path.read_text().splitlines()
        head, rows = ([first + names[form]], rest) if form in names else ([], [first, *rest])
        if form == "jsonl":
            ends = [
                row[:-1] + f', "at": {json.dumps(at)}}}' for row, at in zip(rows, WHEN, strict=True)
            ]
        else:
            ends = [row + marks[form].format(at) for row, at in zip(rows, WHEN, strict=True)]
        path.write_text("".join(line + "\n" for line in [*head, *ends]))
        more = {"time": "at"}
        if form == "regex":
            more["regex"] = "^(?<item>[^;]*);(?<number>[^;]*);(?<at>.*)$"
        return more
    table = pq.read_table(path) if form == "parquet" else pa.ipc.open_file(path).read_all()
    table = table.append_column("at", pa.array([0, None, 1, 12, 5, 8, -1, 7], pa.timestamp("s")))
    if form == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return {"time": "at"}


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "logfmt", "regex", "parquet", "arrow"])
def test_values_and_times_are_those_that_each_has_alone(form: str, tmp_path: Path) -> None:
    path, options = written(tmp_path, form)
    options |= timed(path, form)
    (both,) = open_source(path, **options)
    times = options.pop("time")
    (values,) = open_source(path, **options)
    del options["value"]
    (when,) = open_source(path, **options, time=times)
    assert [*zip(both.item_list, values_of(both), strict=True)] == KEPT
    assert (both.item_list, values_of(both)) == (values.item_list, values_of(values))
    assert list(both.malformed) == list(values.malformed) == MALFORMED
    assert both.times is not None
    assert when.times is not None
    assert both.times.tolist() == when.times.tolist()
    assert len(set(both.times.tolist())) > len(WHEN) - 3  # most of them are known


def test_sizes_and_times_of_a_log_are_those_that_each_has_alone(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    row = '192.0.2.{} - - [17/May/2015:10:05:0{} +0000] "GET / HTTP/1.1" 200 {} "-" "curl"\n'
    path.write_text("".join(row.format(*one) for one in [(1, 2, 512), (2, 1, "-"), (3, 9, 7)]))
    for form in ("common", "combined"):
        (both,) = open_source(path, format=form, value="size", times=True)
        (when,) = open_source(path, format=form, times=True)
        assert values_of(both) == [512.0, 0.0, 7.0]
        assert both.times is not None
        assert when.times is not None
        assert both.times.tolist() == when.times.tolist()


def test_lines_that_only_python_reads_have_values(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    large = "9" * 30
    path.write_text(
        f'{{"i": "a", "v": {large}}}\n{{"i": "b", "v": 2}}\n{{"i": "c", "v": NaN}}\n'
        f'{{"i": "d", "v": -Infinity}}\n{{"i": {large}, "v": 1}}\n'
    )
    (batch,) = open_source(path, field="i", value="v", time="i")
    assert batch.times is not None
    assert len(batch.times) == batch.rows == 5
    # Integers of more than 64 bits are items, and no values.
    assert batch.item_list == ["b", "d", int(large)]
    assert values_of(batch) == [2.0, -np.inf, 1.0]
    assert list(batch.malformed) == [0, 2]


def test_people_stay_with_their_events(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("i,v,u\na,1,x\nb,?,y\nc,3,\nd,4,z\n")
    (batch,) = open_source(path, field="i", value="v", user="u")
    assert (batch.item_list, batch.user_list) == (["a", "d"], ["x", "z"])
    assert values_of(batch) == [1.0, 4.0]
    assert list(batch.malformed) == [1, 2]


def test_sizes_of_packets_are_values(tmp_path: Path) -> None:
    path = tmp_path / "traffic.pcap"
    packets = [framed(ip("192.0.2.1", "192.0.2.2", ports=(40_000, 443)), ETHERNET), arp()]
    path.write_bytes(pcap(packets * 3))
    read = [
        [value for batch in open_source(path, field="dst", **size) for value in values_of(batch)]
        for size in ({"value": "size"}, {"weight": "size", "max_weight": 10_000})
    ]
    assert read[0] == read[1] != []
    with pytest.raises(ArgumentValueError, match="value: expected size for format 'pcap'"):
        list(open_source(path, value="sport"))


def test_sums_take_what_a_source_has(tmp_path: Path) -> None:
    path, options = written(tmp_path, "csv")
    with ls.Sums(low=-10, high=10, epsilon=1.0, delta=1e-6, horizon=9) as fed:
        feed(fed, open_source(path, **options))
        assert fed.steps == 8
    with (
        ls.Sums(low=-10, high=10, epsilon=1.0, delta=1e-6, horizon=9) as fed,
        pytest.raises(ArgumentTypeError, match="values: expected a sequence of numbers"),
    ):
        feed(fed, open_source(path, field="item"))


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    path, options = written(tmp_path, "csv")
    with pytest.raises(ArgumentTypeError, match="value: expected none with weight, got one"):
        open_source(path, **options, weight="number", max_weight=3)
    with pytest.raises(SourceError, match="expected a column of the header for value, got 'no'"):
        list(open_source(path, field="item", value="no"))
    with pytest.raises(ArgumentValueError, match="value: expected none for format 'lines'"):
        open_source(path, format="lines", value="number")
    column = tmp_path / "text.parquet"
    pq.write_table(pa.table({"item": ["a"], "number": ["1"]}), column)
    with pytest.raises(SourceError, match="expected numbers in field 'number' for the value"):
        list(open_source(column, **options))
    log = tmp_path / "w3c.log"
    log.write_text("#Fields: c-ip sc-bytes\n192.0.2.1 12\n192.0.2.1 -\n")
    with pytest.raises(SourceError, match="expected one column 'no' for value in #Fields:"):
        list(open_source(log, format="w3c", value="no"))
    (batch,) = open_source(log, format="w3c", value="sc-bytes")
    assert (values_of(batch), list(batch.malformed)) == ([12.0], [1])
