"""Parquet and Arrow: typed columns, struct fields, nulls, damage, pipes, memory."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lazysketch.errors import ArgumentTypeError, SourceError
from lazysketch.sources import Source, open_source
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.arrow_ipc import read_arrow, read_arrow_bytes
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io.byte_stream import ByteStream

TABLE = pa.table(
    {
        "user": pa.array(
            [{"id": 1, "name": "a"}, {"id": 2, "name": None}, None, {"id": 3, "name": ""}]
        ),
        "n": pa.array([1, None, 30, -4]),
        "large": pa.array([1, 2**64 - 1, 3, 4], pa.uint64()),
        "text": ["a", "b", None, "c"],
        "chosen": pa.array(["a", "b", None, "c"]).dictionary_encode(),
        "raw": pa.array([b"a", b"\xff", None, b"c"]),
        "price": [1.5, 2.5, 3.5, 4.5],
        "dotted.name": ["p", "q", "r", "s"],
    }
)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def write_file(table: pa.Table, path: Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table)


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "parquet": pq.write_table,
    "arrow file": write_file,
    "arrow stream": write_stream,
}
writers = pytest.mark.parametrize("kind", WRITERS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "input"


def read(source: Source) -> tuple[list[object], list[int], list[int] | None]:
    items: list[object] = []
    malformed: list[int] = []
    weights: list[int] | None = None
    for batch in source:
        malformed += [place + len(items) + len(malformed) for place in batch.malformed]
        items += batch.item_list
        if batch.weights is not None:
            weights = [*(weights or []), *map(int, batch.weights)]
    return items, malformed, weights


@writers
@pytest.mark.parametrize(
    ("field", "items", "malformed"),
    [
        ("n", [1, 30, -4], [1]),
        ("large", [1, 2**64 - 1, 3, 4], []),
        ("text", ["a", "b", "c"], [2]),
        ("chosen", ["a", "b", "c"], [2]),
        ("raw", [b"a", b"\xff", b"c"], [2]),
        ("user.id", [1, 2, 3], [2]),
        ("user.name", ["a", ""], [1, 2]),
        ("dotted.name", ["p", "q", "r", "s"], []),
    ],
)
def test_columns_keep_their_types(
    path: Path, kind: str, field: str, items: list[object], malformed: list[int]
) -> None:
    WRITERS[kind](TABLE, path)
    source = open_source(path, field=field)
    assert read(source) == (items, malformed, None)
    assert (source.tally.rows, source.tally.malformed) == (4, len(malformed))
    assert source.tally.formats == [f"{kind.split()[0]}, field {field}"]
    assert source.part_read == 1


@writers
def test_weights(path: Path, kind: str) -> None:
    WRITERS[kind](TABLE, path)
    source = open_source(path, field="dotted.name", weight="n", max_weight=9)
    assert read(source) == (["p", "r"], [1, 3], [1, 9])
    assert (source.tally.clipped, source.tally.total_weight) == (1, 10)
    source = open_source(path, field="user.id", weight="large", max_weight=9)
    assert read(source) == ([1, 2, 3], [2], [1, 9, 4])
    source = open_source(path, field="user.id", weight="large", max_weight=2**63 - 1)
    assert read(source)[2] == [1, 2**63 - 1, 4]


@writers
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"field": "price"}, "expected text, bytes or integers in field 'price', got double"),
        ({"field": "user"}, "expected text, bytes or integers in field 'user', got struct"),
        ({"field": "nope"}, "expected one of 'user', 'n', .* for field, got 'nope'"),
        ({"field": "user.nope"}, "for field, got 'user.nope'"),
        ({"field": "text.id"}, "for field, got 'text.id'"),
        ({"field": "text", "weight": "no", "max_weight": 2}, "for weight, got 'no'"),
        (
            {"field": "text", "weight": "price", "max_weight": 2},
            "expected integers in field 'price' for the weight, got double",
        ),
        ({"field": "n", "item_type": "str"}, "expected items of type str in field 'n', got int64"),
        ({"field": "text", "item_type": "int"}, "type int in field 'text', got string"),
    ],
)
def test_columns_of_unsuitable_types_are_refused(
    path: Path, kind: str, settings: dict[str, object], message: str
) -> None:
    WRITERS[kind](TABLE, path)
    with pytest.raises(SourceError, match=f"input: .*{message}"):
        list(open_source(path, **settings))


@writers
def test_the_item_type_may_be_given(path: Path, kind: str) -> None:
    WRITERS[kind](TABLE, path)
    assert read(open_source(path, field="n", item_type="int"))[0] == [1, 30, -4]
    assert read(open_source(path, field="text", item_type="str"))[0] == ["a", "b", "c"]


@writers
def test_a_field_is_required(path: Path, kind: str) -> None:
    WRITERS[kind](TABLE, path)
    with pytest.raises(ArgumentTypeError, match="for format.*its columns are"):
        list(open_source(path))


@writers
def test_damage_is_an_error(path: Path, kind: str) -> None:
    WRITERS[kind](pa.table({"a": [str(i) for i in range(20_000)]}), path)
    whole = path.read_bytes()
    for size in (len(whole) // 2, 9, 12):
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match="input: expected .*, got damaged data"):
            list(open_source(path, field="a"))


@writers
def test_text_that_is_not_utf8_is_malformed_row_by_row(path: Path, kind: str) -> None:
    offsets, data = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffb")
    column = pa.Array.from_buffers(pa.string(), 3, [None, offsets, data])
    WRITERS[kind](pa.table({"a": column}), path)
    assert read(open_source(path, field="a")) == (["a", "b"], [1], None)


@pytest.mark.parametrize("arrow", [pa.string_view(), pa.binary_view(), pa.large_string()])
def test_other_layouts_of_text(path: Path, arrow: object) -> None:
    column = pa.array(["a", None, "b" * 99]).cast(arrow)
    write_stream(pa.table({"a": column}), path)
    items, malformed, _ = read(open_source(path, field="a"))
    assert items == ([b"a", b"b" * 99] if arrow == pa.binary_view() else ["a", "b" * 99])
    assert malformed == [1]


def test_arrow_is_read_from_pipes_and_compressed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("arrow file", "arrow stream"):
        WRITERS[kind](TABLE, path)
        data = path.read_bytes()
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(data))))  # type: ignore[type-var]
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read(open_source("-", field="text"))[0] == ["a", "b", "c"]


def test_parquet_is_not_read_from_pipes(path: Path) -> None:
    pq.write_table(TABLE, path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(SourceError, match="expected a Parquet file on disk, .* got a pipe"):
        list(open_source(path, field="text"))


@writers
def test_large_files_are_read_in_batches(path: Path, kind: str) -> None:
    WRITERS[kind](pa.table({"a": pa.array(range(300_000)), "n": pa.array([2] * 300_000)}), path)
    source = open_source(path, field="a", weight="n", max_weight=5)
    sizes = [batch.rows for batch in source]
    assert max(sizes) <= 1 << 16
    assert sum(sizes) == 300_000
    assert source.tally.total_weight == 600_000


def items_or_none(batches: Iterable[RowBatch]) -> list[object] | None:
    """Return the items; None for an input that is refused."""
    try:
        return [item for batch in batches for item in batch.item_list]
    except SourceError:
        return None


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("patch", [b"\xff" * 8, b"\x80" * 4, b"\x7f\xff\xff\x7f", b"\0" * 8])
def test_an_arrow_stream_damaged_anywhere(tmp_path: Path, patch: bytes, packed: bool) -> None:
    """Negative lengths, wrong offsets and indices: rows or one error; no crash, no stray memory.

    Every fourth place of a stream of text and of a dictionary of text. From memory it is the same.
    """
    texts = pa.array([f"item {i}" for i in range(6)])
    table = pa.table({"a": texts, "b": texts.dictionary_encode()})
    write_stream(table, tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    outcomes = set()
    for at in range(0, len(whole), 4):
        data = whole[:at] + patch + whole[at + len(patch) :]
        path = tmp_path / f"damaged-{at}"
        path.write_bytes(gzip.compress(data, 1) if packed else data)
        for field in ("a", "b"):
            items = items_or_none(open_source([str(path)], format="arrow", field=field))
            selection = Selection(field=field, encoding="utf-8")
            stream = ByteStream("data", path=None, blocks=[data])
            from_memory = items_or_none(read_arrow_bytes(data, selection, name="data"))
            assert from_memory == items_or_none(read_arrow(stream, selection)), at
            outcomes.add("refused" if items is None else "rows")
            if items is None:
                continue
            # Only text of the file; memory after it must not become an item.
            assert all(str(item).encode() in data for item in items), at
        path.unlink()
    assert outcomes == {"rows", "refused"}
