"""Access logs: every field against regular expressions; hostile lines in linear time."""

from __future__ import annotations

import gzip
import re
import time
from collections import Counter
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.locations import DATA
from tests.oracle.access_log import decoded_rows, field_of_rows

from lazysketch._native import access_log_items, access_log_times
from lazysketch.errors import ArgumentValueError
from lazysketch.sources import RowBatch, open_source
from lazysketch.sources.formats.access_log import COMBINED_FIELDS, read_access_log
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.formats.timestamps import times_of_texts
from lazysketch.sources.io.byte_stream import ByteStream

WEBLOGS = DATA / "weblogs"
ROW = (
    r'203.0.113.9 - ann [17/May/2015:10:05:03 +0000] "GET /a?b=1 HTTP/1.1" 200 512 '
    r'"http://example.org/" "Mozilla/5.0 (X11)"'
)


def read(*rows: str, field: str) -> RowBatch:
    data = "".join(row + "\n" for row in rows).encode()
    stream = ByteStream("test", path=None, blocks=[data])
    (batch,) = read_access_log(stream, Selection(field=field, encoding="utf-8"))
    return batch


def value(row: str, field: str) -> object:
    batch = read(row, field=field)
    assert batch.rows == 1
    return next(iter(batch.item_list), None)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("host", "203.0.113.9"),
        ("path", "/a?b=1"),
        ("status", "200"),
        ("method", "GET"),
        ("referrer", "http://example.org/"),
        ("agent", "Mozilla/5.0 (X11)"),
        ("user", "ann"),
        ("size", "512"),
    ],
)
def test_each_field_of_a_combined_row(field: str, expected: str) -> None:
    assert value(ROW, field) == expected
    assert value(ROW + ' "198.51.100.7" 0.003', field) == expected


@pytest.mark.parametrize(
    ("row", "field", "expected"),
    [
        ('h - - [t] "GET /a" 200 5', "path", "/a"),  # HTTP/0.9
        ('h - - [t] "GET /a b HTTP/1.0" 200 5', "path", "/a"),
        ('h - - [t] "GET /a"b HTTP/1.0" 200 5', "path", '/a"b'),  # an unescaped quote
        (r'h - - [t] "GET /a\"b HTTP/1.0" 200 5', "path", r"/a\"b"),
        (r'h - - [t] "GET /\" 200 5 HTTP/1.0" 404 7', "status", "404"),
        ('h - - [t] "GET "/a" HTTP/1.0" 200 5', "path", '"/a"'),
        ('h - - [t] "M-SEARCH * HTTP/1.1" 200 -', "method", "M-SEARCH"),
        ('h - - [t] "-" 408 -', "status", "408"),
        ('h - - [t] "-" 408 -', "host", "h"),
        ('h - - [t] "-" 408 -', "size", "0"),
        ('h - - [t] "-" 408 -', "path", None),
        ('h - - [t] "-" 408 -', "method", None),
        ('h - - [t] "" 400 0', "path", None),
        (r'h - - [t] "\x16\x03\x01" 400 226', "method", None),
        (r'h - - [t] "\x16\x03\x01" 400 226', "host", "h"),
        ('h - John Smith [t] "GET / HTTP/1.0" 200 5', "host", "h"),
        ('2001:db8::1 - - [t] "GET / HTTP/1.0" 200 5', "host", "2001:db8::1"),
        ('h - - [t] "GET / HTTP/1.0" 200 5', "agent", None),
        ('h - - [t] "GET / HTTP/1.0" 200 5 "-" "-"', "agent", "-"),
        ('h - - [t] "GET / HTTP/1.0" 200 5 "-" "-"', "referrer", "-"),
        ('h - - [t] "GET / HTTP/1.0" 200 5 "-" ""', "agent", None),
        ('h - - [t] "GET / HTTP/1.0" 200 5 "-" "cut of', "agent", None),
        ('h - - [t] "GET / HTTP/1.0" 200 5 "-" "cut of', "referrer", "-"),
        ('h - - [t] "GET / HTTP/1.0" 200 5 "-" "cut of', "host", "h"),
        (r'h - - [t] "GET / HTTP/1.0" 200 5 "-" "a \"b\" c"', "agent", r"a \"b\" c"),
        ("", "host", None),
        ("not a log", "host", None),
        ('h - - [t] "GET / HTTP/1.0" 20 5', "host", None),
        ('h - - [t] "GET / HTTP/1.0" \u0662\u0660\u0660 5', "status", None),
        ('h - - "GET / HTTP/1.0" 200 5', "host", None),
    ],
)
def test_unusual_rows(row: str, field: str, expected: str | None) -> None:
    assert value(row, field) == expected


def test_a_malformed_row_between_others_keeps_its_place() -> None:
    batch = read(ROW, "rubbish", "", ROW.replace("203", "198"), "x", field="host")
    assert batch.item_list == ["203.0.113.9", "198.0.113.9"]
    assert batch.malformed == [1, 2, 4]


PARTS = st.sampled_from(
    [
        "h",
        " ",
        "- ",
        "[t] ",
        '"',
        '" 200 5',
        '"GET /a HTTP/1.0"',
        " 200",
        " 5",
        "\\",
        "GET ",
        "/",
        "é",
    ]
)


@given(rows=st.lists(st.lists(PARTS, max_size=12).map("".join), max_size=6))
def test_each_row_in_is_one_row_out_independent_of_the_others(rows: list[str]) -> None:
    for field in COMBINED_FIELDS:
        batch = read(*rows, "", field=field)
        assert batch.rows == len(rows) + 1
        assert batch.item_list == [item for row in rows if (item := value(row, field))]


# Rows in pieces, so that one or two edits make nearly well-formed rows.
PIECES = [
    *("203.0.113.9", " ", "-", " ", "ann lee", " ", "[", "17/May/2015:10:05:03 +0000", "]"),
    *(" ", '"', "GET", " ", "/a?b=1", " ", "HTTP/1.1", '"', " ", "200", " ", "512"),
    *(" ", '"', "http://example.org/", '"', " ", '"', "Mozilla/5.0", '"', ' "x" 0.003'),
]
EDITS = [
    *' "\\[]-_5éA',
    *("", "  ", "20A", "\u0662", "\r", "\\ ", '\\"', "\\\\", "\\é", '"" '),
    *('" 200 5', '" - -', '" 20 5', '" 20A 5', '" 200 A'),
]


def edited(pieces: list[str], place: int, edit: str) -> list[list[str]]:
    """Return the row with one piece replaced by the edit, followed by it, and preceded by it."""
    piece = pieces[place]
    forms = (edit, piece + edit, edit + piece)
    return [[*pieces[:place], form, *pieces[place + 1 :]] for form in forms]


@st.composite
def nearly_rows(draw: st.DrawFn) -> str:
    pieces = PIECES
    for place in draw(st.lists(st.integers(0, len(PIECES) - 1), min_size=1, max_size=4)):
        pieces = draw(st.sampled_from(edited(pieces, place, draw(st.sampled_from(EDITS)))))
    row = "".join(pieces)
    return row[: draw(st.one_of(st.none(), st.integers(0, len(row))))]


ROWS = st.lists(
    st.one_of(
        nearly_rows(),
        st.lists(PARTS, max_size=12).map("".join),
        st.text(' "\\[]-5aé', max_size=30),
        st.lists(PARTS, max_size=8).map(lambda parts: 'h - - [t] "' + "".join(parts)),
    ),
    max_size=6,
)


def assert_rows_equal_those_of_expressions(block: bytes, *, text: str) -> None:
    for field in COMBINED_FIELDS:
        expected = field_of_rows(text, field)
        column, malformed = access_log_items(block, field=field)
        assert column.tolist() == [item for item in expected if item]
        assert malformed.tolist() == [row for row, item in enumerate(expected) if not item]
    assert access_log_times(block).tolist() == field_of_rows(text, "time")


def test_every_field_and_time_of_every_row_with_one_edit() -> None:
    places = range(len(PIECES))
    rows = [row for place in places for edit in EDITS for row in edited(PIECES, place, edit)]
    text = "".join("".join(row) + "\n" for row in rows)
    assert_rows_equal_those_of_expressions(text.encode(), text=text.replace("\r\n", "\n"))


@given(rows=ROWS)
@settings(max_examples=500)
@example(rows=['h - - [t] "GET /\\" 200 5'])
@example(rows=['h - - [t] "GET /\\\\" 200 5'])
@example(
    rows=['h - - [t] "GET /a\\ b" 200 5', 'h - - [t] "GET  /a" 200 5', 'h - - [t] "GET " 200 5']
)
@example(rows=["h - [t] [t", "h - -[t]", "h -  [t]", "h - [ [t]", "h - - []"])
def test_every_field_and_time_equals_that_of_a_regular_expression(rows: list[str]) -> None:
    text = "".join(row.replace("\n", "") + "\n" for row in rows)
    assert_rows_equal_those_of_expressions(text.encode(), text=text.replace("\r\n", "\n"))


@given(
    pieces=st.lists(
        st.one_of(
            st.just("".join(PIECES).encode()),
            st.sampled_from(
                [b"\n", b"\r\n", b"\xff", b"\xc3", b"\xc3\xa9", b"\x82\xa0", b'"', b"\\"]
            ),
            st.sampled_from([piece.encode() for piece in PIECES]),
        ),
        max_size=20,
    ),
    cut=st.integers(0, 400),
    encoding=st.sampled_from(["utf-8", "iso8859-1", "ascii", "cp1252", "shift_jis"]),
)
def test_any_bytes_are_read_like_rows_decoded_one_by_one(
    pieces: list[bytes], cut: int, encoding: str
) -> None:
    data = b"".join(pieces)
    rows = decoded_rows(data, encoding)
    chunks = [chunk for chunk in (data[:cut], data[cut:]) if chunk]
    for field in ("host", "agent"):
        stream = ByteStream("test", path=None, blocks=chunks)
        asked = Selection(field=field, encoding=encoding, times=True)
        batches = list(read_access_log(stream, asked))
        text = "".join(row + "\n" for row in rows)
        expected = field_of_rows(text, field)
        assert sum(batch.rows for batch in batches) == len(rows)
        assert [item for batch in batches for item in batch.item_list] == list(
            filter(None, expected)
        )
        times = [time for batch in batches for time in batch.times.tolist()]  # type: ignore[union-attr]
        assert times == times_of_texts(field_of_rows(text, "time"), unit="s").tolist()


@given(rows=ROWS)
@settings(max_examples=300)
@example(rows=['h - - [t] "GET / HTTP/1.0" 200 5', 'h - ann [t] "GET / HTTP/1.0" 200 -'])
@example(rows=['h - ann [t] "GET / HTTP/1.0" 200 99999999999999999999'])
def test_rows_with_weights_equal_those_of_a_regular_expression(rows: list[str]) -> None:
    text = "".join(row.replace("\n", "") + "\n" for row in rows).replace("\r\n", "\n")
    sizes = field_of_rows(text, "size")
    for field in COMBINED_FIELDS:
        expected = field_of_rows(text, field)
        stream = ByteStream("test", path=None, blocks=[text.encode()] if text else [])
        asked = Selection(field=field, encoding="utf-8", weight="size", max_weight=400, times=True)
        batches = list(read_access_log(stream, asked))
        assert [item for batch in batches for item in batch.item_list] == list(
            filter(None, expected)
        )
        weights = [list(batch.weights) for batch in batches if batch.weights is not None]
        assert list(chain.from_iterable(weights)) == [
            min(int(size), 400) for item, size in zip(expected, sizes, strict=True) if item
        ]
        times = [time for batch in batches for time in batch.times.tolist()]  # type: ignore[union-attr]
        assert times == times_of_texts(field_of_rows(text, "time"), unit="s").tolist()


def test_people_of_rows_with_weights() -> None:
    nobody = ROW.replace(" ann ", " - ")
    stream = ByteStream("test", path=None, blocks=[f"{ROW}\n{nobody}\n".encode()])
    asked = Selection(field="host", encoding="utf-8", weight="size", max_weight=100, user="user")
    (batch,) = read_access_log(stream, asked)
    assert batch.weights is not None
    assert (batch.user_list, list(batch.weights)) == (["ann"], [100])
    assert list(batch.without_user) == [1]


@pytest.mark.parametrize("user", ["host", "user"])
@pytest.mark.parametrize("weight", [None, "size"])
def test_a_dash_is_no_person(user: str, weight: str | None) -> None:
    rows = "".join(f"{row}\n" for row in (ROW, f"- {ROW.partition(chr(32))[2]}"))
    rows += ROW.replace(" ann ", " - ") + "\n"
    stream = ByteStream("test", path=None, blocks=[rows.encode()])
    asked = Selection(field="path", encoding="utf-8", weight=weight, max_weight=1000, user=user)
    (batch,) = read_access_log(stream, asked)
    assert list(batch.without_user) == ([1] if user == "host" else [2])


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match=r'field: expected one of host, .*, got "x"'):
        access_log_items(b"", field="x")


@pytest.mark.parametrize(
    "tail",
    ['"', ' "', '\\"', "\\", '" 200 x', "a", 'a" ', "a ", "[", " [", "[]", '" "', "5", "A-"],
)
def test_hostile_rows_take_linear_time(tail: str) -> None:
    heads = ("", "h ", "h - - ", 'h - - [t] "', 'h - - [t] "GET /a', 'h - - [t] "GET / H" 200 5 "')
    size = 100_000
    begin = time.process_time()
    for head in heads:
        for field in COMBINED_FIELDS:
            read(head + tail * (size // len(tail)), field=field)
    # 48 rows of 100 kB take about 0.1 s; in quadratic time they would take minutes.
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("name", "form", "rows", "hosts"),
    [
        ("apache_logs.gz", "combined", 10_000, 1_753),
        ("nasa_short.gz", "common", 7_084, 857),
        ("nasa_aug95_head.gz", "common", 5_000, 443),
    ],
)
def test_real_logs_equal_a_regular_expression_per_line(
    name: str, form: str, rows: int, hosts: int
) -> None:
    path = WEBLOGS / name
    if not path.exists():
        pytest.skip("the web logs of ../shared/data are not here")
    lines = gzip.decompress(path.read_bytes()).decode("latin-1").splitlines()
    plain = re.compile(r'^(\S+) \S+ \S+ \[[^\]]*\] "(.*?)" (\d{3}|-) (?:\d+|-)')
    matches = [match for match in map(plain.match, lines) if match]
    expected = {
        "host": Counter(match[1] for match in matches),
        "path": Counter(match[2].split(" ")[1] for match in matches if " " in match[2]),
        "status": Counter(match[3] for match in matches),
        "method": Counter(match[2].split(" ")[0] for match in matches if " " in match[2]),
    }
    assert len(expected["host"]) == hosts
    text = "".join(line + "\n" for line in lines)
    assert_rows_equal_those_of_expressions(text.encode(), text=text)
    for field, truth in expected.items():
        source = open_source(path, field=field, encoding="latin-1")
        counted = Counter(item for batch in source for item in batch.item_list)
        assert counted == truth
        assert source.tally.rows == rows
        assert source.tally.malformed == rows - truth.total()
        assert source.tally.formats == [f"{form}, field {field}"]
