"""Zeek logs: their headers apply, also in concatenated logs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.sources import open_source
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.formats.zeek import read_zeek
from lazysketch.sources.io.byte_stream import ByteStream

HEADER = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"
    "#path\tdns\n#open\t2018-03-24\n#fields\tts\tquery\tn\n#types\ttime\tstring\tcount\n"
)


def rows_of(text: str, *, cuts: tuple[int, ...] = (), **settings: object) -> list[object]:
    data = text.encode()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    stream = ByteStream("log", path=None, blocks=[data[a:b] for a, b in pairwise(edges) if a < b])
    selection = Selection(**{"field": "query", "encoding": "utf-8", **settings})
    rows: list[object] = []
    for batch in read_zeek(stream, selection):
        items = iter(batch.item_list)
        weights = iter(batch.weights if batch.weights is not None else [None] * batch.rows)  # type: ignore[var-annotated]
        missing = set(batch.malformed)
        for place in range(batch.rows):
            row = None if place in missing else (next(items), next(weights))
            rows.append(row[0] if row and row[1] is None else row and (row[0], int(row[1])))
    return rows


@pytest.mark.parametrize(
    ("row", "item"),
    [
        ("1\ta\t2", "a"),
        ('1\t"a\t2', '"a'),
        ("1\ta b\t2", "a b"),
        ("1\t\\x09\t2", "\\x09"),
        ("1\ta,b\t2", "a,b"),
        ("1\t-\t2", None),
        ("1\t(empty)\t2", None),
        ("1\t\t2", None),
        ("1\ta", None),
        ("1\ta\t2\t3", None),
        ("", None),
    ],
)
def test_each_row_is_judged_independently(row: str, item: str | None) -> None:
    text = HEADER + "1\tfirst\t2\n" + row + "\n1\tlast\t2\n#close\t2018-03-25\n"
    assert rows_of(text) == ["first", item, "last"]


@given(st.lists(st.integers(0, 300), max_size=8).map(tuple))
def test_concatenated_logs_with_other_columns_at_any_chunk_boundaries(
    cuts: tuple[int, ...],
) -> None:
    other = HEADER.replace("ts\tquery\tn", "query\tn").replace("field\t-", "field\tnil")
    text = HEADER + "1\ta\t2\n1\t-\t2\n#close\n" + other + "b\t3\nnil\t1\n-\t1\n"
    assert rows_of(text, cuts=cuts) == ["a", None, "b", None, "-"]


def test_weights() -> None:
    text = HEADER + "1\ta\t3\n1\tb\t-\n1\tc\t99\n1\td\t0.5\n"
    assert rows_of(text, weight="n", max_weight=9) == [("a", 3), None, ("c", 9), None]


def test_another_separator() -> None:
    text = "#separator |\n#fields|ts|query\n1|a\n"
    assert rows_of(text) == ["a"]
    with pytest.raises(SourceError, match="expected a separator of one ASCII character"):
        rows_of("#separator \\x09\\x09\n")
    with pytest.raises(SourceError, match="expected a separator of one ASCII character"):
        rows_of("#separator \\x0d\n")


def test_the_format_is_detected_and_its_fields_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "dns.log"
    path.write_text(HEADER + "1\ta\t2\n")
    source = open_source(path, field="query")
    assert [batch.rows for batch in source] == [1]
    assert source.tally.formats == ["zeek, field query"]
    with pytest.raises(
        SourceError, match="for field, got 'q', which is none of its 3 columns: 'ts'"
    ):
        list(open_source(path, field="q"))
    with pytest.raises(ArgumentTypeError, match="expected the name of a column for format 'zeek"):
        list(open_source(path))


def test_rows_without_a_header_are_an_error() -> None:
    with pytest.raises(SourceError, match="log: expected a line #fields before the first row"):
        rows_of("1\ta\t2\n")
