"""CSV and TSV against the csv module, in any chunks; malformed rows keep their positions."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.delimited_rows import cut_rows

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import RowBatch, open_source
from lazysketch.sources.formats import delimited
from lazysketch.sources.formats.delimited import read_delimited
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.byte_stream import ByteStream

FIELDS = st.text(st.sampled_from('ab ",;\n\t#é\u2028'), max_size=6)
ROWS = st.lists(st.lists(FIELDS, min_size=1, max_size=4), max_size=12)


def rows_of(data: bytes, *, cuts: list[int], **settings: object) -> list[object]:
    """Return each row as counted: its item, (item, weight), or None if malformed."""
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    stream = ByteStream("test", path=None, blocks=[data[a:b] for a, b in pairwise(edges) if a < b])
    selection = Selection(**{"field": "b", "encoding": "utf-8", **settings})
    rows: list[object] = []
    for batch in read_delimited(stream, selection):
        rows += rows_of_batch(batch)
    return rows


def rows_of_batch(batch: RowBatch) -> list[object]:
    items = iter(list(map(str, batch.items)))
    weights = None if batch.weights is None else iter(list(map(int, batch.weights)))
    missing = set(batch.malformed)
    return [
        None
        if place in missing
        else next(items)
        if weights is None
        else (next(items), next(weights))
        for place in range(batch.rows)
    ]


def written(rows: list[list[str]], *, delimiter: str = ",", end: str = "\n") -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerows([["a", "b"], *rows])
    return text.getvalue().encode()


@given(
    rows=ROWS,
    cuts=st.lists(st.integers(0, 200), max_size=6),
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_rows_equal_those_of_the_csv_module_at_any_chunk_boundaries(
    rows: list[list[str]], cuts: list[int], delimiter: str, end: str
) -> None:
    data = written(rows, delimiter=delimiter, end=end)
    _, *parsed = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter)
    expected = [(row[1] or None) if len(row) == 2 else None for row in parsed]
    assert rows_of(data, cuts=cuts, delimiter=delimiter) == expected


TEXT = st.text(st.sampled_from('ab7 ",\n\r\té\ufdd0'), max_size=60)


@given(text=TEXT, cuts=st.lists(st.integers(0, 100), max_size=4), delimiter=st.sampled_from(",\t"))
def test_rows_of_any_text_equal_those_of_pyarrow(
    text: str, cuts: list[int], delimiter: str
) -> None:
    """Quotes anywhere, empty lines, carriage returns; open rows are left to tests/hostile."""
    block = f"{text}\n".encode()
    cut = cut_rows(block, columns=2, delimiter=delimiter)
    closed = block[: len(block) - cut.open_size]
    header = f"a{delimiter}b\n".encode()
    items = [None if row is None else row[1] for row in cut.rows]
    expected = [item if item and "\ufdd0" not in item else None for item in items]
    assert rows_of(header + closed, cuts=cuts, delimiter=delimiter) == expected
    weighed = [
        (item, min(9, int(row[0]))) if row and item and re.fullmatch("[0-9]+", row[0]) else None
        for row, item in zip(cut.rows, expected, strict=True)
    ]
    found = rows_of(header + closed, cuts=cuts, delimiter=delimiter, weight="a", max_weight=9)
    assert found == weighed


@pytest.mark.parametrize(
    ("row", "item"),
    [
        (b"x,y", "y"),
        (b"x,", None),
        (b'x,""', None),
        (b"", None),
        (b"x", None),
        (b"x,y,z", None),
        (b'x,"y,z"', "y,z"),
        (b'x,"y\nz"', "y\nz"),
        (b'x,"y""z"', 'y"z'),
        (b'x,y"z', 'y"z'),
        (b"x, y ", " y "),
        (b"x,#y", "#y"),
        (b"x,NULL", "NULL"),
        (b"x,007", "007"),
        (b"x,1.50", "1.50"),
        (b"x,caf\xc3\xa9", "café"),
        (b"x,caf\xe9", None),
        (b"caf\xe9,y", "y"),
        (b"caf\xe9", None),
        ("x,\ufdd0".encode(), None),
        (b"x,y\r", "y"),
        (b"x,a\0b", "a\0b"),
    ],
)
def test_each_row_is_judged_independently(row: bytes, item: str | None) -> None:
    data = b"a,b\n1,first\n" + row + b"\n2,last\n"
    assert rows_of(data, cuts=[]) == ["first", item, "last"]


@pytest.mark.parametrize("cuts", [[], [9], [13, 14, 15], list(range(40))])
def test_an_unclosed_quote_costs_its_line(cuts: list[int]) -> None:
    data = b'a,b\n1,first\n2,"open\n3,c\n4,last\n'
    assert rows_of(data, cuts=cuts) == ["first", None, "c", "last"]


def test_a_quote_open_for_too_long_costs_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "LONGEST_ROW", 1000)
    data = b'a,b\n1,"open\n' + b"2,x\n" * 10_000 + b'3,"y\nz"\n4,end\n'
    rows = rows_of(data, cuts=list(range(0, len(data), 500)))
    assert rows == [None, *["x"] * 10_000, "y\nz", "end"]


@pytest.mark.parametrize(
    ("weight", "counted"),
    [
        ("0", 0),
        ("5", 5),
        ("007", 7),
        ("9", 9),
        ("10", 9),
        ("999999999999999999", 9),
        ("1000000000000000000", 9),
        ("9223372036854775808", 9),
        ("9" * 5000, 9),
        ("0" * 30 + "8", 8),
        *((text, None) for text in ("", "-1", "+1", "1.0", "1e2", " 1", "0x1", "x", "٣", "1_0")),
    ],
)
def test_weights(weight: str, counted: int | None) -> None:
    data = f"a,b\n3,first\n{weight},y\n4,last\n".encode()
    found = rows_of(data, cuts=[], weight="a", max_weight=9)
    assert found == [("first", 3), None if counted is None else ("y", counted), ("last", 4)]


def test_the_weight_may_be_the_item_field() -> None:
    assert rows_of(b"a,b\n1,2\n1,x\n", cuts=[], weight="b", max_weight=9) == [("2", 2), None]


def test_columns_are_split_after_decoding() -> None:
    # In Shift JIS the second byte of this character equals that of a bar.
    data = "a|b\n表ポ|ポ\n".encode("shift_jis") + b"x|\x81\n" + "y|表\n".encode("shift_jis")
    assert rows_of(data, cuts=[], encoding="shift_jis") == ["ポ", None, "表"]
    assert rows_of("a,b\nx,é\n".encode("latin-1"), cuts=[], encoding="iso8859-1") == ["é"]


def test_a_byte_order_mark_is_not_part_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "export"
    path.write_bytes(b"\xef\xbb\xbfb,a\r\n1,2\r\n")
    (batch,) = open_source(path, field="b")
    assert rows_of_batch(batch) == ["1"]


def test_the_header_may_be_quoted_and_span_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"first, of\nall","b"\n1,2\n')
    assert [rows_of_batch(batch) for batch in open_source(path, field="b")] == [["2"]]
    assert [rows_of_batch(b) for b in open_source(path, field="first, of\nall")] == [["1"]]


@pytest.mark.parametrize(
    ("name", "text", "field", "form"),
    [
        ("a", "x,y\n1,2\n", "y", "csv"),
        ("a", "x;y\n1;2\n", "y", "csv"),
        ("a", "x|y\n1|2\n", "y", "csv"),
        ("a", "x\ty\n1\t2\n", "y", "tsv"),
        ("a.tsv", "x\ty\n1\t2\n", "y", "tsv"),
        ("a.csv", "y\n2\n", "y", "csv"),
        ("a.CSV", "x\ty\n1\t2\n", "y", "tsv"),
        ("a", "id,größe\n1,2\n", "größe", "csv"),
    ],
)
def test_the_format_is_detected_by_name_and_header(
    tmp_path: Path, name: str, text: str, field: str, form: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    source = open_source(path, field=field)
    assert [rows_of_batch(batch) for batch in source] == [["2"]]
    assert source.tally.formats == [f"{form}, field {field}"]


def test_the_error_for_a_wrong_field_does_not_show_the_first_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("SrcAddr,secret\n1,2\n")
    with pytest.raises(SourceError, match="got 'srcaddr'.*; the name of column 1 is similar"):
        list(open_source(path, field="srcaddr"))
    with pytest.raises(SourceError, match="got 'n', which is none of its 2 columns$") as caught:
        list(open_source(path, field="SrcAddr", weight="n", max_weight=2))
    assert "secret" not in str(caught.value)
    path.write_text("SrcAddr,secret\n1,2\n3,4\n")  # above numbers: certainly names
    with pytest.raises(SourceError, match="none of its 2 columns: 'SrcAddr', 'secret'$"):
        list(open_source(path, field="srcaddr"))
    path.write_text("b,b\n1,2\n")
    with pytest.raises(SourceError, match="expected one column 'b' for field, got 2"):
        list(open_source(path, field="b"))


def test_invalid_settings_raise_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,"b\n')
    with pytest.raises(ArgumentTypeError, match="field: expected the name of a column for format"):
        list(open_source(path))
    for wrong in ("", "ab", "é", '"', "x", "\n"):
        with pytest.raises(ArgumentValueError, match="delimiter: expected one ASCII character"):
            open_source(path, field="b", delimiter=wrong)
    with pytest.raises(ArgumentValueError, match="delimiter: expected none for format 'tsv'"):
        open_source(path, format="tsv", field="b", delimiter=",")
    with pytest.raises(ArgumentValueError, match="item_type: expected str for format 'csv'"):
        open_source(path, format="csv", field="b", item_type="int")
    with pytest.raises(
        ArgumentValueError, match="item_type: expected one of str, int, float, got 'x'"
    ):
        open_source(path, item_type="x")
    with pytest.raises(SourceError, match="a.csv: expected a header row, got an open quote"):
        list(open_source(path, field="b"))


def test_a_header_alone_has_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n")
    with pytest.raises(SourceError, match="expected at least one row"):
        list(open_source(path, field="b"))


def test_a_live_pipe_yields_what_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    outlet, inlet = os.pipe()
    with os.fdopen(outlet, "r") as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        batches = iter(open_source("-", format="csv", field="b"))
        # If a row is held back, closing the pipe makes the test fail instead of hang.
        guard = threading.Timer(20, os.close, [inlet])
        guard.start()
        os.write(inlet, b"a,b\n1,first\n")
        assert rows_of_batch(next(batches)) == ["first"]
        os.write(inlet, b'2,"sec\n')
        os.write(inlet, b'ond"\n3,')
        assert rows_of_batch(next(batches)) == ["sec\nond"]
        os.write(inlet, b"third\n")
        assert rows_of_batch(next(batches)) == ["third"]
        guard.cancel()
        os.close(inlet)
        assert list(batches) == []


def test_tables_of_text_are_read_without_pyarrow(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.tsv").write_text("a\tb\n1\t2\n")
    (tmp_path / "dns.log").write_text("#separator \\x09\n#fields\ta\tb\n1\t2\n")
    read = """
import sys
sys.modules["pyarrow"] = None
from lazysketch.sources import open_source
for name in ("a.csv", "a.tsv", "dns.log"):
    (batch,) = open_source(name, field="b", weight="a", max_weight=9, time="b", user="a")
    print(name, batch.item_list, batch.weights.tolist(), batch.times.tolist(), batch.user_list)
"""
    done = subprocess.run(
        [sys.executable, "-c", read], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        f"{name} ['2'] [1] [2000000000] ['1']" for name in ("a.csv", "a.tsv", "dns.log")
    ]


def test_without_pyarrow_the_error_names_the_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for module in ("parquet", "parquet_pages", "arrow_columns", "arrow_times"):
        monkeypatch.delitem(sys.modules, f"lazysketch.sources.formats.{module}", raising=False)
    with pytest.raises(SourceError, match=r"expected pyarrow for format 'parquet' \(pip install"):
        list(open_source(path, format="parquet", field="b"))
