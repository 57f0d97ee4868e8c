"""Every input takes a bounded time per byte and at most 512 MiB, whatever it states or repeats.

Each input here is small and took a minute, gigabytes or the whole machine before its limit.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.hostile.children import outcomes

from lazysketch.errors import SourceError
from lazysketch.sources import open_source

_MEMORY = 512  # MiB
_SECONDS = 60.0  # on a busy machine; each input takes a fraction of a second
_BIG = "x" * 1_000_000
_FIELD: dict[str, object] = {"field": "v"}


def _repeated(entry: str, rows: int) -> pa.Table:
    indices = pa.Array.from_buffers(pa.int8(), rows, [None, pa.py_buffer(bytes(rows))])
    return pa.table({"v": pa.DictionaryArray.from_arrays(indices, pa.array([entry]))})


def _stream(path: Path, table: pa.Table, compression: str | None = None) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(str(path), table.schema, options=options) as out:
        out.write_table(table)
    return path


def _parquet(path: Path, table: pa.Table, **options: object) -> Path:
    pq.write_table(table, path, compression="zstd", **options)
    return path


def test_an_entry_that_many_rows_repeat_is_never_copied(tmp_path: Path) -> None:
    long, short = _repeated(_BIG, 200_000), _repeated("x" * 60_000, 200_000)
    inputs = [
        (_parquet(tmp_path / "long.parquet", long), _FIELD),
        (_parquet(tmp_path / "short.parquet", short), _FIELD),
        (_stream(tmp_path / "long.arrow", long), _FIELD),
        (_stream(tmp_path / "lz4.arrow", long, "lz4"), _FIELD),
        (_stream(tmp_path / "short.arrow", short, "zstd"), _FIELD),
    ]
    found = outcomes(inputs, seconds=_SECONDS)
    # An item beyond the limit is an empty step; it neither ends the run nor moves a row.
    assert [outcome.items for outcome in found] == [0, 200_000, 0, 0, 200_000]
    for outcome in found:
        assert (outcome.rows, outcome.error) == (200_000, "")
        assert outcome.seconds < 5
    assert found[-1].peak < _MEMORY


def test_values_that_expand_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    big = pa.table({"v": pa.array([_BIG] * 60)})
    inputs: list[tuple[Path, dict[str, object]]] = [
        (_parquet(tmp_path / "plain.parquet", big, use_dictionary=False), _FIELD),
        (
            _parquet(
                tmp_path / "prefix.parquet",
                big,
                use_dictionary=False,
                column_encoding={"v": "DELTA_BYTE_ARRAY"},
            ),
            _FIELD,
        ),
    ]
    found = outcomes(inputs, seconds=_SECONDS)
    assert [(outcome.rows, outcome.items, outcome.error) for outcome in found] == [(60, 0, "")] * 2
    assert found[-1].peak < _MEMORY


def _patched(path: Path, position: int, value: bytes) -> Path:
    data = bytearray(path.read_bytes())
    data[position : position + len(value)] = value
    path.write_bytes(data)
    return path


def test_rows_and_bytes_that_are_only_stated_are_refused_by_the_limit(tmp_path: Path) -> None:
    zero = pa.Array.from_buffers(pa.binary(0), (1 << 31) - 1, [None, pa.py_buffer(b"")])
    stated = _stream(tmp_path / "stated.arrow", pa.table({"v": ["a" * 5_000]}), "zstd")
    data = stated.read_bytes()
    # The text is the only long buffer: 5,000 bytes stated before its compressed bytes.
    _patched(stated, data.rindex(struct.pack("<q", 5_000)), struct.pack("<q", 1 << 40))
    inputs: list[tuple[Path, dict[str, object]]] = [
        (_stream(tmp_path / "zero.arrow", pa.table([zero], names=["v"])), _FIELD),
        (stated, _FIELD),
    ]
    rows, size = outcomes(inputs, seconds=_SECONDS)
    assert "expected at most 1,100 rows per byte of the input" in rows.error
    assert "expected a decompressed record batch of at most 128 MiB" in size.error
    assert "damaged" not in rows.error + size.error
    assert (rows.rows, size.rows) == (0, 0)
    assert size.peak < _MEMORY


def test_large_containers_are_refused_by_name(tmp_path: Path) -> None:
    batch = _stream(tmp_path / "batch.arrow", pa.table({"v": pa.array([bytes(1 << 20)] * 140)}))
    page = tmp_path / "page.parquet"
    large = pa.table({"v": pa.array([bytes(1 << 20)] * 70)})
    _parquet(page, large, use_dictionary=False, data_page_size=1 << 30, write_batch_size=1000)
    dictionary = _parquet(
        tmp_path / "dictionary.parquet",
        pa.table({"v": pa.array([bytes([at]) * (1 << 20) for at in range(40)])}),
        dictionary_pagesize_limit=1 << 30,
    )
    found = outcomes([(path, _FIELD) for path in (batch, page, dictionary)], seconds=_SECONDS)
    assert [outcome.error.partition(" (a limit")[0] for outcome in found] == [
        "expected a record batch of at most 128 MiB",
        "expected a page of at most 64 MiB",
        "expected a dictionary of at most 32 MiB",
    ]
    assert found[-1].peak < _MEMORY


@pytest.mark.parametrize(
    ("name", "data", "rows", "error"),
    [
        ("open.csv", b"v,b\n" + b'z","\n' * 100_000, 100_000, ""),
        ("columns.csv", b"v" + b",c" * 20_000 + b"\nx\n", 0, "at most 16,384 columns"),
        ("columns.zeek", b"#fields\tv" + b"\tc" * 20_000 + b"\nx\n", 0, "at most 16,384 columns"),
        ("comments.zeek", b"#fields\tv\n" + b"#x\na\n" * 100_000, 100_000, ""),
        ("same.zeek", b"#fields\tv\na\n" * 100_000, 100_000, ""),
        ("deep.jsonl", (b'{"v":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n") * 5, 5, ""),
        ("digits.jsonl", (b'{"v":' + b"9" * 1_000_000 + b"}\n") * 2, 2, ""),
    ],
)
def test_text_takes_linear_time(
    tmp_path: Path, name: str, data: bytes, rows: int, error: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    source = open_source(path, field="v")
    begin = time.process_time()
    if error:
        with pytest.raises(SourceError, match=error):
            list(source)
    else:
        for _ in source:
            pass
    assert source.tally.rows == rows
    assert time.process_time() - begin < 5
