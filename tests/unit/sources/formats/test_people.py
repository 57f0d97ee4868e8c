"""People of rows in every format: each item has its person, and a row without one is malformed."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.captures import ETHERNET, arp, framed, ip, pcap

from lazysketch import LazyCountMin, PersonBound
from lazysketch._native import People
from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources import RowBatch, feed, open_source

# An item and its person; None if the row does not have it.
Row = tuple[str | None, str | None]
ROWS: list[Row] = [
    ("/a", "1"),
    ("/b", None),
    (None, "2"),
    ("/a", "22"),
    (None, None),
    ("/c", "1"),
    ("/a", "3"),
]


def delimited(rows: list[Row], delimiter: str) -> bytes:
    lines = [f"{user or ''}{delimiter}{item or ''}" for item, user in rows]
    return "\n".join([f"u{delimiter}p", *lines, ""]).encode()


def json_lines(rows: list[Row]) -> bytes:
    """Every second person is an integer, who is the same one; a NaN is left to Python."""
    text = io.StringIO()
    for number, (item, user) in enumerate(rows):
        person = int(user) if user and number % 2 else user
        row = {"p": item, "u": {"id": person}, "x": math.nan if number % 3 == 0 else 1}
        text.write(json.dumps(row) + "\n")
    return text.getvalue().encode()


def table(rows: list[Row], kind: pa.DataType | None = None) -> pa.Table:
    items, users = zip(*rows, strict=True)
    if kind is not None and pa.types.is_integer(kind):
        users = tuple(user and int(user) for user in users)
    column = pa.array(users, pa.string() if kind is None or pa.types.is_dictionary(kind) else kind)
    if kind is not None and pa.types.is_dictionary(kind):
        column = column.dictionary_encode()
    return pa.table({"p": pa.array(items, pa.string()), "u": column})


def parquet(rows: list[Row], kind: pa.DataType | None = None) -> bytes:
    file = io.BytesIO()
    pq.write_table(table(rows, kind), file)
    return file.getvalue()


def arrow(rows: list[Row], kind: pa.DataType) -> bytes:
    file = io.BytesIO()
    feather.write_feather(table(rows, kind), file, compression="uncompressed")
    return file.getvalue()


def zeek(rows: list[Row]) -> bytes:
    lines = [f"1.5\t{user or '-'}\t{item or '(empty)'}\n" for item, user in rows]
    return ("#separator \\x09\n#fields\tts\tu\tp\n" + "".join(lines)).encode()


def log(rows: list[Row], rest: str = "") -> bytes:
    time = "17/May/2015:10:05:03 +0000"
    lines = [
        f'h - {user or "-"} [{time}] "{f"GET {item} HTTP/1.1" if item else "-"}" 200 5{rest}\n'
        for item, user in rows
    ]
    return "".join(lines).encode()


MADE: dict[str, tuple[Callable[[list[Row]], bytes], dict[str, Any]]] = {
    "csv": (lambda rows: delimited(rows, ","), {"field": "p", "user": "u"}),
    "tsv": (lambda rows: delimited(rows, "\t"), {"field": "p", "user": "u"}),
    "jsonl": (json_lines, {"field": "p", "user": "u.id"}),
    "parquet": (parquet, {"field": "p", "user": "u"}),
    "parquet of integers": (lambda rows: parquet(rows, pa.uint64()), {"field": "p", "user": "u"}),
    "arrow": (lambda rows: arrow(rows, pa.large_string()), {"field": "p", "user": "u"}),
    "arrow of integers": (lambda rows: arrow(rows, pa.int16()), {"field": "p", "user": "u"}),
    "arrow with a dictionary": (
        lambda rows: arrow(rows, pa.dictionary(pa.int32(), pa.string())),
        {"field": "p", "user": "u"},
    ),
    "zeek": (zeek, {"field": "p", "user": "u"}),
    "common": (log, {"field": "path", "user": "user"}),
    "combined": (lambda rows: log(rows, ' "-" "agent"'), {"field": "path", "user": "user"}),
}


def read(path: Path, **options: Any) -> tuple[list[Row], int]:
    """Return each row, (None, None) if it is malformed, and how many lack only their person."""
    source = open_source(path, **options)
    found: list[Row] = []
    for batch in source:
        assert batch.user_list is not None
        assert len(batch.user_list) == len(batch.items)
        pairs = zip(map(str, batch.item_list), map(str, batch.user_list), strict=True)
        rows: list[Row] = [(None, None)] * batch.rows
        counted = sorted(set(range(batch.rows)) - set(batch.malformed) - set(batch.absent))
        for row, pair in zip(counted, pairs, strict=True):
            rows[row] = pair
        found += rows
    assert source.tally.rows == len(found)
    return found, source.tally.without_user


def expected(rows: list[Row]) -> list[Row]:
    return [row if None not in row else (None, None) for row in rows]


@pytest.mark.parametrize("name", MADE)
def test_each_item_has_its_person_and_a_row_without_one_is_malformed(
    tmp_path: Path, name: str
) -> None:
    make, options = MADE[name]
    path = tmp_path / "rows"
    path.write_bytes(make(ROWS))
    form = name.split(" ", maxsplit=1)[0]
    rows, without_user = read(path, format=form, **options)
    assert rows == expected(ROWS)
    assert without_user == 1


@given(
    st.sampled_from(sorted(MADE)),
    st.lists(
        st.tuples(st.sampled_from([None, "/a", "/b"]), st.sampled_from([None, "7", "70"])),
        min_size=1,
        max_size=40,
    ),
)
def test_any_rows(tmp_path_factory: pytest.TempPathFactory, name: str, rows: list[Row]) -> None:
    make, options = MADE[name]
    path = tmp_path_factory.mktemp("rows") / "rows"
    path.write_bytes(make(rows))
    found, without_user = read(path, format=name.split(" ", maxsplit=1)[0], **options)
    assert found == expected(rows)
    assert without_user == sum(item is not None and user is None for item, user in rows)


def test_packets_have_the_address_of_their_person(tmp_path: Path) -> None:
    sent = [framed(ip("192.0.2.1", f"10.0.0.{i}", ports=(9, 80 + i)), ETHERNET) for i in range(3)]
    path = tmp_path / "rows.pcap"
    path.write_bytes(pcap([*sent, arp()]))
    for field in ("dport", "dst", "flow", "proto", "size"):
        (batch,) = open_source(path, field=field, user="src")
        assert batch.user_list == ["192.0.2.1"] * 3
        (alone,) = open_source(path, field=field)
        assert batch.item_list == alone.item_list[:3]
        assert batch.absent == [3]  # ARP has a size, but no address
    (batch,) = open_source(path, field="dport", user="dst")
    assert batch.user_list == ["10.0.0.0", "10.0.0.1", "10.0.0.2"]


def test_wrong_types_of_people_are_no_people(tmp_path: Path) -> None:
    people = ["true", "null", '""', "1.5", "[1]", '"\\ud800"', '{"a":1}', json.dumps("x" * 65_537)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"p":"a","u":{person}}}\n' for person in [*people, "-0", '"0"']))
    (batch,) = open_source(path, field="p", user="u")
    assert batch.user_list == ["0", "0"]
    assert batch.without_user == list(range(len(people)))


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.binary(), pa.timestamp("us")])
def test_columns_that_cannot_hold_people_are_refused(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"p": ["a"], "u": pa.array([None], kind)}), path)
    with pytest.raises(SourceError, match="expected text or integers in field 'u' for the user"):
        open_source(path, field="p", user="u")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a\nb\n", {"format": "lines", "user": "u"}, "user: expected none, since a row has no"),
        ("p,u\na,b\n", {"field": "p", "user": "p"}, "user: expected another field than the one"),
        (log(ROWS).decode(), {"user": "host"}, "user: expected another field than the one"),
        (log(ROWS).decode(), {"user": "status"}, "user: expected one of host, user for format"),
        ("p,u\na,b\n", {"field": "p", "user": "q"}, "expected a column of the header for user"),
    ],
)
def test_wrong_fields_of_people(
    tmp_path: Path, text: str, options: dict[str, str], message: str
) -> None:
    path = tmp_path / "rows"
    path.write_text(text)
    with pytest.raises((ArgumentValueError, SourceError), match=message):
        open_source(path, **options)  # type: ignore[arg-type]


def test_batches_are_cut_with_their_people() -> None:
    batch = RowBatch(["a", "b", "c"], [1, 3], users=["x", "y", "z"], without_user=[3])
    for cut in range(batch.rows + 1):
        first, after = batch.first(cut), batch.after(cut)
        assert [*(first.user_list or []), *(after.user_list or [])] == ["x", "y", "z"]
        assert len(first.items) == len(first.user_list or [])
        assert [*first.without_user, *(row + cut for row in after.without_user)] == [3]
    assert batch.before_malformed().user_list == ["x"]


def test_a_sketch_gets_the_people_of_its_items(tmp_path: Path) -> None:
    """The slow way, one event at a time, refuses the same events."""
    rows: list[Row] = [
        (f"/{i * i % 11}" if i % 5 else None, f"{i % 7}" if i % 3 else None) for i in range(300)
    ]
    path = tmp_path / "rows.csv"
    path.write_bytes(delimited(rows, ","))
    made = [
        LazyCountMin(
            depth=2, width=32, epsilon=1.0, delta=1e-6, hash_seed=3, person_bound=PersonBound(2)
        )
        for _ in range(2)
    ]
    feed(made[0], open_source(path, field="p", user="u"))
    for item, user in rows:
        if item is None or user is None:
            made[1].tick()
        else:
            made[1].update(item, user=user)
    assert made[0].step == made[1].step == len(rows)
    people = [People.of_table(sketch) for sketch in made]
    assert [each and (each.known, each.refused) for each in people] == [
        (7, people[1] and people[1].refused)
    ] * 2
    with LazyCountMin(depth=2, width=32, epsilon=1.0, delta=1e-6) as unbounded:
        with pytest.raises(ArgumentValueError, match="expected a person_bound, since the source"):
            feed(unbounded, open_source(path, field="p", user="u"))
        assert unbounded.step == 0
