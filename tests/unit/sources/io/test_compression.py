"""Compression: every kind by its first bytes; several members, damage, truncation, bombs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from lazysketch.errors import SourceError
from lazysketch.sources import open_source
from lazysketch.sources.io.byte_stream import open_bytes
from lazysketch.sources.io.compression import READ_SIZE, ReadableBlocks
from lazysketch.sources.limits import FREE_EXPANSION

PAYLOAD = random.Random(1).randbytes(3 * READ_SIZE + 17)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue().to_pybytes())


KINDS: dict[str, Callable[[bytes], bytes]] = {
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zstd": zstd,
}
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "input"


def content(path: Path) -> bytes:
    with open_bytes(path) as stream:
        return b"".join(stream)


@kinds
@pytest.mark.parametrize("payload", [b"a\n", b"\xfd7zX", b"BZ", PAYLOAD])
def test_each_kind_is_decompressed_regardless_of_the_name(
    path: Path, kind: str, payload: bytes
) -> None:
    path.write_bytes(KINDS[kind](payload))
    assert content(path) == payload
    path.write_bytes(payload)
    assert content(path) == payload


@pytest.mark.parametrize("name", ["a.GZ", "a.csv.gz", "a.xz", "a.zst", "a.bz2"])
def test_plain_data_under_the_name_of_compressed_ones_are_refused(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"<html>not found</html>\n")
    ending = name.lower().rpartition(".")[2]
    with pytest.raises(
        SourceError, match=rf"{name}: expected \w+ data, .* ends in \.{ending}, got"
    ):
        content(tmp_path / name)


def test_another_compression_than_that_of_the_name_and_an_empty_file_are_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.gz").write_bytes(lzma.compress(b"a\n"))
    (tmp_path / "b.gz").write_bytes(b"")
    assert content(tmp_path / "a.gz") == b"a\n"
    assert content(tmp_path / "b.gz") == b""


@kinds
def test_members_are_joined(path: Path, kind: str) -> None:
    path.write_bytes(KINDS[kind](b"a\n") + KINDS[kind](PAYLOAD) + KINDS[kind](b"b\n"))
    assert content(path) == b"a\n" + PAYLOAD + b"b\n"


@kinds
def test_a_file_truncated_anywhere_is_an_error(path: Path, kind: str) -> None:
    whole = KINDS[kind](b"some rows\n" * 30)
    for size in range(6, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match=f"input: expected a whole {kind} file, got one"):
            content(path)


@kinds
def test_damage_is_an_error(path: Path, kind: str) -> None:
    damaged = [KINDS[kind](b"a\n") + b"rubbish" * 9]
    if kind != "zstd":  # its frames need no checksum
        whole = bytearray(KINDS[kind](PAYLOAD))
        whole[len(whole) // 2] ^= 1
        damaged.append(bytes(whole))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(SourceError, match=f"input: expected {kind} data, got damaged data"):
            content(path)


@kinds
def test_a_decompression_bomb_needs_little_memory(path: Path, kind: str) -> None:
    path.write_bytes(KINDS[kind](bytes(60 << 20)))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    source = open_source(path, format="lines")
    assert [batch.rows for batch in source] == [1]
    assert tracemalloc.get_traced_memory()[1] < 12 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", ["bz2", "xz", "zstd"])
def test_a_decompression_bomb_ends_by_the_name_of_the_limit(path: Path, kind: str) -> None:
    path.write_bytes(KINDS[kind](b"ab\n" * (1 << 20)) * 60)  # 180 MiB
    source = open_source(path, format="lines")
    with pytest.raises(SourceError, match="expected at most 1,100 bytes per byte of the input"):
        for _ in source:
            pass
    assert FREE_EXPANSION // 3 < source.tally.rows < FREE_EXPANSION


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz"])
def test_empty_members_take_linear_time(path: Path, kind: str) -> None:
    # The input that took the square of a block for each block: here it would be a minute.
    compress = {**KINDS, "gzip": gzip.compress}[kind]
    one = compress(b"")
    path.write_bytes(one * ((2 << 20) // len(one)) + compress(b"a\n"))
    begin = time.process_time()
    assert content(path) == b"a\n"
    assert time.process_time() - begin < 10


def test_a_dictionary_that_needs_too_much_memory_is_refused(path: Path) -> None:
    data = bytearray(lzma.compress(b"a\n"))
    header = 12  # bytes of the stream header, before the block header
    checksum = header + 4 * (data[header] + 1) - 4
    data[data.index(b"\x21\x01") + 2] = 40  # filter LZMA2 with a dictionary of 4 GiB
    data[checksum : checksum + 4] = zlib.crc32(data[header:checksum]).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(SourceError, match="expected xz data that need at most 256 MiB"):
        content(path)


@kinds
def test_standard_input_may_be_compressed(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    data = io.BytesIO(KINDS[kind](b"a\nb\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(data)))  # type: ignore[type-var]
    assert [batch.item_list for batch in open_source("-", format="lines")] == [["a", "b"]]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_python_without_lzma_reads_other_kinds(
    path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)
    whole = compress(PAYLOAD)
    path.write_bytes(whole)
    assert content(path) == PAYLOAD
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :])
    with pytest.raises(SourceError, match="damaged data"):
        content(path)


@pytest.mark.parametrize(("kind", "module"), [("bz2", "bz2"), ("xz", "lzma")])
def test_a_python_without_a_module_names_it_and_the_kind_of_data(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: str
) -> None:
    """Its own half is missing there, ``_bz2``; the module of the standard library is not."""
    path.write_bytes(KINDS[kind](b"a\n"))
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, f"_{module}", None)
    expected = f"input: expected a Python with the module {module} for {kind} data, got one"
    with pytest.raises(SourceError, match=expected) as raised:
        content(path)
    assert raised.value.__suppress_context__
    monkeypatch.undo()
    assert content(path) == b"a\n"


def test_without_pyarrow_zstd_names_the_missing_package(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(zstd(b"a\n"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"input: expected pyarrow for zstd data \(pip install"):
        content(path)


def test_blocks_as_a_file() -> None:
    file = ReadableBlocks([b"abc", b"d", b"ef"])
    assert [file.read(2), file.read(2), file.read(9)] == [b"ab", b"c", b"d"]
    assert file.read() == b"ef"
    assert file.read(3) == b""
