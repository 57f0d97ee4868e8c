"""Opening inputs: gzip detected by its first bytes, errors with names, live pipes."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import threading
import tracemalloc
import zlib
from pathlib import Path

import pytest

from lazysketch.errors import SourceError
from lazysketch.sources import open_source
from lazysketch.sources.io.byte_stream import open_bytes
from lazysketch.sources.io.compression import READ_SIZE

PAYLOAD = random.Random(1).randbytes(3 * READ_SIZE + 17)


def content(path: Path) -> bytes:
    with open_bytes(path) as stream:
        return b"".join(stream)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "input"


def give_standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))


@pytest.mark.parametrize("payload", [b"", b"\x1f", b"\x1f\n", b"a\n", PAYLOAD])
def test_plain_and_gzip_give_the_same_bytes_regardless_of_the_name(
    path: Path, payload: bytes
) -> None:
    path.write_bytes(payload)
    assert content(path) == payload
    path.write_bytes(gzip.compress(payload))
    assert content(path) == payload


def test_gzip_members_are_joined_and_padding_is_skipped(path: Path) -> None:
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(PAYLOAD) + b"\0" * 700)
    assert content(path) == b"a\n" + PAYLOAD
    path.write_bytes(gzip.compress(b"a\n") + b"\0" * 5 + gzip.compress(b"b\n"))
    assert content(path) == b"a\nb\n"


def test_a_gzip_file_truncated_anywhere_is_an_error(path: Path) -> None:
    whole = gzip.compress(b"some rows\n" * 30)
    for size in range(2, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(SourceError, match="input: expected a whole gzip file, got one"):
            content(path)


def test_damaged_gzip_is_an_error(path: Path) -> None:
    whole = bytearray(gzip.compress(b"some rows\n" * 30))
    whole[-6] ^= 1  # in the checksum
    for data in (whole, gzip.compress(b"a\n") + b"rubbish"):
        path.write_bytes(data)
        with pytest.raises(SourceError, match="input: expected gzip data, got damaged data"):
            content(path)


def test_a_decompression_bomb_needs_little_memory(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(100):
            file.write(bytes(1 << 20))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    source = open_source(path, format="lines")
    assert [batch.rows for batch in source] == [1]
    assert source.tally.malformed == 1
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_errors_name_an_input_that_cannot_be_opened(path: Path) -> None:
    with pytest.raises(SourceError, match="input: expected an existing file, got none"):
        open_source(path)
    path.mkdir()
    with pytest.raises(SourceError, match="input: expected a file, got a directory"):
        open_source(path)
    with pytest.raises(SourceError, match="expected a file, got a directory"):
        content(path)
    with pytest.raises(SourceError, match="expected a readable file, got none"):
        open_source("a\0b")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_errors_name_a_file_without_read_permission(path: Path) -> None:
    path.write_bytes(b"a\n")
    path.chmod(0)
    with pytest.raises(SourceError, match="got permission denied"):
        content(path)


def test_standard_input_is_read_and_may_be_gzip(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"a\nb\n", gzip.compress(b"a\nb\n")):
        give_standard_input(monkeypatch, data)
        assert [batch.item_list for batch in open_source("-", format="lines")] == [["a", "b"]]


def test_a_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="standard input: expected an open stream"):
        list(open_source("-"))
    closed = io.TextIOWrapper(io.BytesIO(b""))
    monkeypatch.setattr(sys, "stdin", closed)
    closed.close()
    with pytest.raises(SourceError, match="standard input: expected"):
        list(open_source("-"))


@pytest.mark.parametrize("form", ["lines", "auto"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_live_pipe_yields_what_has_arrived(
    monkeypatch: pytest.MonkeyPatch, *, form: str, compressed: bool
) -> None:
    outlet, inlet = os.pipe()
    with os.fdopen(outlet, "r") as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        batches = iter(open_source("-", format=form))
        # If a row is held back, closing the pipe makes the test fail instead of hang.
        guard = threading.Timer(20, os.close, [inlet])
        guard.start()
        deflate = zlib.compressobj(wbits=31)
        for row in ("first", "second", "third"):
            data = f"{row}\nhalf a r".encode() if row == "third" else f"{row}\n".encode()
            if compressed:
                data = deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)
            os.write(inlet, data)
            assert next(batches).item_list == [row]
        guard.cancel()
        os.write(inlet, deflate.compress(b"ow") + deflate.flush() if compressed else b"ow")
        os.close(inlet)
        assert [batch.item_list for batch in batches] == [["half a row"]]


def test_the_head_is_not_consumed(path: Path) -> None:
    path.write_bytes(b"a\nb\n")
    with open_bytes(path) as stream:
        assert stream.head() == stream.head() == b"a\nb\n"
        assert b"".join(stream) == b"a\nb\n"
        assert stream.path == path
