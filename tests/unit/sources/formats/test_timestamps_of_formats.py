"""Times of rows in every format: each belongs to its row, for any neighbouring rows."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet
from tests.locations import DATA

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import UNKNOWN_TIME, RowBatch, open_source

SECOND = 10**9
LOG = '{} - - [{}] "GET / HTTP/1.1" 200 5'
COMBINED = LOG + ' "-" "curl"'
ZEEK = "#separator \\x09\n#unset_field\t-\n#fields\tts\tname\tn\n"


def write(path: Path, *rows: str) -> Path:
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def seconds(batches: Iterable[RowBatch]) -> list[int | None]:
    """Return the times of all rows in seconds, None if unknown."""
    times: list[int | None] = []
    for batch in batches:
        assert batch.times is not None
        assert batch.times.dtype == np.int64
        assert len(batch.times) == batch.rows
        times += [None if t == UNKNOWN_TIME else t / SECOND for t in batch.times.tolist()]
    return times


def events(batches: Iterable[RowBatch]) -> list[tuple[object, float | None]]:
    """Return the items with their times in seconds."""
    found: list[tuple[object, float | None]] = []
    for batch in batches:
        assert batch.item_times is not None
        times = [None if t == UNKNOWN_TIME else t / SECOND for t in batch.item_times.tolist()]
        found += list(zip(batch.item_list, times, strict=True))
    return found


def test_csv_times_belong_to_their_rows(tmp_path: Path) -> None:
    rows = ["when,name", "1,a", "2", "", '3,"b\nb"', "4,", "soon,c", ",d", "1,2,3", "8,e"]
    path = write(tmp_path / "in.csv", *rows)
    source = list(open_source(path, field="name", time="when"))
    assert seconds(source) == [1, None, None, 3, 4, None, None, None, 8]
    assert events(source) == [("a", 1), ("b\nb", 3), ("c", None), ("d", None), ("e", 8)]
    assert [list(batch.malformed) for batch in source] == [[1, 2, 4, 7]]


def test_the_line_of_an_unclosed_quote_has_no_time(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "when,name", "1,a", '2,"b', "3,c")
    assert events(open_source(path, field="name", time="when")) == [("a", 1), ("c", 3)]
    assert seconds(open_source(path, field="name", time="when")) == [1, None, 3]


def test_one_column_may_be_item_weight_and_time(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "x,n", "7,1", "9,2")
    (batch,) = open_source(path, field="n", weight="n", max_weight=5, time="n")
    assert batch.item_list == ["1", "2"]
    assert batch.weights.tolist() == [1, 2]  # type: ignore[union-attr]
    assert seconds([batch]) == [1, 2]
    (batch,) = open_source(path, field="n", weight="x", max_weight=8, time="x")
    assert batch.item_list == ["1", "2"]
    assert batch.weights.tolist() == [7, 8]  # type: ignore[union-attr]
    assert seconds([batch]) == [7, 9]


def test_json_times_are_taken_as_written(tmp_path: Path) -> None:
    times = ["1", '"2"', "1521911720.865716123", '"1970-01-01T00:00:05Z"', "1.5e9", "true", "null"]
    rows = [f'{{"a": {{"t": {time}}}, "name": "n{n}"}}' for n, time in enumerate(times)]
    others = ["", "[]", '{"name": "y"}', '{"a": 3, "name": "z"}', '{"a": {"t": 9}, "name": 1.5}']
    others += ['{"a": {"t": 1e400}, "name": "w"}', f'{{"a": {{"t": {"9" * 100}}}, "name": "v"}}']
    path = write(tmp_path / "in.jsonl", *rows, *others)
    batches = list(open_source(path, field="name", time="a.t"))
    nanoseconds = [time for batch in batches for time in batch.times.tolist()]  # type: ignore[union-attr]
    first = [SECOND, 2 * SECOND, 1_521_911_720_865_716_123, 5 * SECOND, 15 * 10**17]
    assert nanoseconds == first + [UNKNOWN_TIME] * 6 + [9 * SECOND] + [UNKNOWN_TIME] * 2
    assert [item for item, _ in events(batches)] == [f"n{n}" for n in range(7)] + list("yzwv")


def test_a_fraction_is_not_an_item_with_times_either(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", '{"t": 1.5, "n": 1.5}', '{"t": 2.5, "n": 2}')
    for more in ({}, {"weight": "n", "max_weight": 9}):
        batches = list(open_source(path, field="n", time="t", **more))  # type: ignore[arg-type]
        assert events(batches) == [(2, 2.5)]
        assert seconds(batches) == [1.5, 2.5]


@pytest.mark.parametrize("row", [LOG, COMBINED])
def test_access_logs_have_times(tmp_path: Path, row: str) -> None:
    stamps = ["01/Jan/1970:00:00:01 +0000", "01/Jan/1970:02:00:02 +0200", "yesterday", ""]
    rows = [row.format(f"h{n}", stamp) for n, stamp in enumerate(stamps)]
    cut_off = 'h - - [01/Jan/1970:00:00:09 +0000] "GET'
    path = write(tmp_path / "log", rows[0], "broken", "", cut_off, *rows[1:])
    batches = list(open_source(path, times=True))
    assert seconds(batches) == [1, None, None, 9, 2, None, None]
    assert events(batches) == [("h0", 1), ("h1", 2), ("h2", None), ("h3", None)]
    assert all(batch.times is None for batch in open_source(path))


def test_the_time_of_a_row_does_not_depend_on_its_field(tmp_path: Path) -> None:
    path = write(tmp_path / "log", *[COMBINED.format("h", "01/Jan/1970:00:00:07 +0000")] * 2)
    with path.open("a") as file:
        file.write(LOG.format("h", "01/Jan/1970:00:00:08 +0000") + "\n")
    source = open_source(path, field="agent", times=True)
    batches = list(source)
    assert source.tally.malformed == 1
    assert seconds(batches) == [7, 7, 8]


def test_zeek_logs_have_ts_unless_another_is_named(tmp_path: Path) -> None:
    rows = ["1.5\ta\t10", "-\tb\t20", "2\t-\t30", "3", "4\tc\t-", "", "5.25\td\t50"]
    path = tmp_path / "in.log"
    path.write_text(ZEEK + "\n".join(rows) + "\n")
    batches = list(open_source(path, field="name", times=True))
    assert seconds(batches) == [1.5, None, 2, None, 4, None, 5.25]
    assert events(batches) == [("a", 1.5), ("b", None), ("c", 4), ("d", 5.25)]
    assert seconds(open_source(path, field="name", time="n", time_unit="ms")) == [
        *(0.01, 0.02, 0.03, None, None, None, 0.05)
    ]


def test_a_zeek_header_may_move_the_time_column(tmp_path: Path) -> None:
    path = tmp_path / "in.log"
    again = "#fields\tn\tname\tts\n"
    path.write_text(f"{ZEEK}1\ta\t9\n{again}9\tb\t2\n")
    assert events(open_source(path, field="name", times=True)) == [("a", 1), ("b", 2)]
    path.write_text("#fields\tname\tn\na\t1\n")
    with pytest.raises(SourceError, match="for time, got 'ts', which is none of its 2"):
        list(open_source(path, field="name", times=True))


def _as_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


@pytest.mark.parametrize("write_table", [parquet.write_table, feather.write_feather, _as_stream])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([datetime(1970, 1, 1, 0, 0, n, tzinfo=timezone.utc) for n in range(5)]),
        pa.array([0, 1000, 2000, 3000, 4000], pa.timestamp("ms", "Asia/Tokyo")),
        pa.array(range(5)),
        pa.array([float(n) for n in range(5)]),
        pa.array([Decimal(n) for n in range(5)]),
        pa.array([f"1970-01-01 00:00:0{n}" for n in range(5)]),
        pa.array([f"1970-01-01 00:00:0{n}" for n in range(5)]).dictionary_encode(),
    ],
)
def test_columns_of_many_types(
    tmp_path: Path, column: pa.Array, write_table: Callable[..., object]
) -> None:
    values = column.to_pylist()
    values[3] = None
    column = pa.array(values, column.type)
    names = pa.array(["a", None, "c", "d", "e"])
    nested = pa.StructArray.from_arrays([column], ["at"])
    table = pa.table({"name": names, "when": nested, "n": [1, 2, 3, 4, -5]})
    write_table(table, tmp_path / "in")
    batches = list(open_source(tmp_path / "in", field="name", time="when.at"))
    assert seconds(batches) == [0, 1, 2, None, 4]
    assert events(batches) == [("a", 0), ("c", 2), ("d", None), ("e", 4)]
    weighted = open_source(
        tmp_path / "in", field="name", weight="n", max_weight=3, time="when.at", strict=True
    )
    with pytest.raises(SourceError, match="got one in row 2"):
        list(weighted)


def test_columns_that_cannot_be_times_are_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"name": ["a"], "x": [True]}), tmp_path / "in")
    with pytest.raises(SourceError, match="in: expected timestamps, .* 'x' for the time, got bool"):
        list(open_source(tmp_path / "in", field="name", time="x"))
    with pytest.raises(SourceError, match="in: expected one of 'name', 'x' for time, got 'y'"):
        list(open_source(tmp_path / "in", field="name", time="y"))
    path = write(tmp_path / "in.csv", "name,When", "a,1")
    with pytest.raises(SourceError, match=r"for time, got 'when'.*name of column \d is similar"):
        list(open_source(path, field="name", time="when"))


@pytest.mark.parametrize(
    ("form", "asked", "message"),
    [
        ("csv", {"times": True}, "time: expected the name of a field for format 'csv', got none"),
        ("lines", {"times": True}, "time: expected a format whose rows have times, got 'lines'"),
        ("lines", {"time": "x"}, "time: expected none, since a row .* 'lines' has no time, got"),
        ("pcap", {"time": "ts"}, "time: expected none, since a row .* 'pcap' has a fixed place"),
        ("common", {"time": "t"}, "time: expected none, since a row .* 'common' has a fixed place"),
    ],
)
def test_time_options_that_a_format_lacks_are_refused(
    form: str, asked: dict[str, object], message: str
) -> None:
    field = "a" if form == "csv" else None
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        open_source("-", format=form, field=field, **asked)


ROWS = st.lists(
    st.tuples(st.sampled_from(["whole", "no item", "no columns", "no time"]), st.integers(0, 99)),
    min_size=1,
    max_size=50,
)


@settings(deadline=None, max_examples=50)
@given(rows=ROWS)
@pytest.mark.parametrize("form", ["csv", "zeek", "jsonl", "common"])
def test_malformed_rows_do_not_move_times(
    tmp_path_factory: pytest.TempPathFactory, form: str, rows: list[tuple[str, int]]
) -> None:
    texts = [_row(form, kind, number) for kind, number in rows]
    header = {"csv": "ts,name,n\n", "zeek": ZEEK}.get(form, "")
    path = tmp_path_factory.mktemp("times") / "in"
    path.write_text(header + "".join(text + "\n" for text in texts))
    has_field = form not in ("common",)
    source = open_source(
        path,
        format=form,
        field="name" if has_field else None,
        time="ts" if has_field else None,
        times=True,
    )
    batches = list(source)
    lost = {"no columns", "no time"}
    assert seconds(batches) == [None if kind in lost else number for kind, number in rows]
    expected = [
        (f"i{number}", None if kind == "no time" else number)
        for kind, number in rows
        if kind in ("whole", "no time")
    ]
    assert events(batches) == expected


def _row(form: str, kind: str, number: int) -> str:
    if kind == "no columns":
        return "broken"
    time = "?" if kind == "no time" else str(number)
    item = "" if kind == "no item" else f"i{number}"
    if form == "csv":
        return f"{time},{item},5"
    if form == "zeek":
        return f"{time}\t{item}\t5"
    if form == "jsonl":
        return json.dumps({"ts": time, "name": item or None})
    row = LOG.format(item or "h", time)
    return row if item else row.replace('" 200 5', "")


def test_without_times_batches_have_none(tmp_path: Path) -> None:
    csv_file = write(tmp_path / "in.csv", "when,name", "1,a")
    assert [batch.times for batch in open_source(csv_file, field="name")] == [None]
    json_file = write(tmp_path / "in.jsonl", '{"when": 1, "name": "a"}')
    assert [batch.times for batch in open_source(json_file, field="name")] == [None]
    source = open_source(csv_file, field="name", time="when")
    list(source)
    assert source.tally.formats == ["csv, field name, time when"]


def _needs(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name}: the shared data are not here")
    return path


def test_netflow_times_equal_those_of_datetime() -> None:
    path = _needs(DATA / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz")
    with gzip.open(path, "rt") as file:
        plain = [
            datetime.strptime(row["StartTime"], "%Y/%m/%d %H:%M:%S.%f") - datetime(1970, 1, 1)
            for row in csv.DictReader(file)
        ]
    expected = [
        1000 * (t.days * 86_400 * 10**6 + t.seconds * 10**6 + t.microseconds) for t in plain
    ]
    batches = open_source(path, field="SrcAddr", time="StartTime")
    assert [t for batch in batches for t in batch.times.tolist()] == expected  # type: ignore[union-attr]
    assert expected != sorted(expected)


def test_access_log_times_equal_those_of_datetime() -> None:
    for name in ("apache_logs", "nasa_aug95_head"):
        path = _needs(DATA / "weblogs" / f"{name}.gz")
        with gzip.open(path, "rt", encoding="latin-1") as file:
            stamps = [row.partition("[")[2].partition("]")[0] for row in file]
        expected = [datetime.strptime(t, "%d/%b/%Y:%H:%M:%S %z").timestamp() for t in stamps]
        assert seconds(open_source(path, times=True, encoding="latin-1")) == expected


def test_zeek_times_equal_those_of_decimal() -> None:
    path = _needs(DATA / "zeek_wrccdc" / "dns.log.gz")
    with gzip.open(path, "rt") as file:
        rows = [row.split("\t") for row in io.StringIO(file.read()) if not row.startswith("#")]
    expected = [int(Decimal(row[0]) * SECOND) for row in rows]
    batches = open_source(path, field="query", times=True)
    assert [t for batch in batches for t in batch.times.tolist()] == expected  # type: ignore[union-attr]
