"""Lines: equal to splitting and decoding row by row, with and without pyarrow, in any chunks."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.oracle.access_log import decoded_rows

import lazysketch as ls
from lazysketch import testing
from lazysketch._native import TextColumn
from lazysketch.sources import RowBatch, feed, open_source
from lazysketch.sources.formats.lines import read_lines
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.io import text_blocks
from lazysketch.sources.io.byte_stream import ByteStream

ENCODINGS = ["utf-8", "iso8859-1", "ascii", "cp1252", "shift_jis", "gb18030"]
PIECES = st.sampled_from(
    [
        *(b"a", b"bc ", b"\n", b"\r\n", b"\r", b"\x0c", b"\0", b"\xc3\xa4", b"\xe2\x80\xa8"),
        *(b"\xff", b"\xc3", b"\x82\xa0", b"\x85", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    ]
)


def read(chunks: list[bytes], *, encoding: str = "utf-8") -> list[RowBatch]:
    stream = ByteStream("test", path=None, blocks=chunks)
    return list(read_lines(stream, Selection(field=None, encoding=encoding)))


def rows_of(batches: list[RowBatch]) -> list[object]:
    """Return all rows, "" for a row without an item."""
    rows: list[object] = []
    for batch in batches:
        items, malformed = iter(batch.item_list), set(batch.malformed)
        rows += ["" if row in malformed else next(items) for row in range(batch.rows)]
        assert next(items, None) is None
    return rows


@given(
    pieces=st.lists(PIECES, max_size=40),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    encoding=st.sampled_from(ENCODINGS),
)
@example(pieces=[b"a", b"\r\n"], cuts=[2], encoding="utf-8")
@example(pieces=[b"\xef\xbb\xbf", b"\n", b"\xef\xbb\xbf"], cuts=[4], encoding="utf-8")
def test_items_are_the_non_empty_rows(pieces: list[bytes], cuts: list[int], encoding: str) -> None:
    data = b"".join(pieces)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges) if a < b]
    marked = encoding == "utf-8" and data.startswith(b"\xef\xbb\xbf")
    expected = decoded_rows(data[3:] if marked else data, encoding)
    if marked and len(data) == 3:
        expected = [""]  # bytes without a line end are a row
    assert rows_of(read(chunks, encoding=encoding)) == expected


@pytest.mark.parametrize("size", [10, 11, 25])
@pytest.mark.parametrize("step", [1, 3, 10])
def test_a_line_that_is_too_long_is_malformed(
    monkeypatch: pytest.MonkeyPatch, size: int, step: int
) -> None:
    monkeypatch.setattr(text_blocks, "LONGEST_ROW", 10)
    data = b"a\n" + b"x" * size + b"\nb\n"
    chunks = [data[place : place + step] for place in range(0, len(data), step)]
    assert rows_of(read(chunks)) == ["a", "x" * size * (size <= 10), "b"]


def test_decoded_lone_surrogates_are_malformed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No accepted encoding of the standard library does so; an installed one may.
    monkeypatch.setattr(text_blocks, "_decoded", lambda block, _: "a\n\ud800\nb\n")
    assert rows_of(read([b"a\n?\nb\n"], encoding="iso8859-1")) == ["a", "", "b"]


LOG = '{} - - [20/Nov/2025:09:0{}:00 +0000] "GET /{} HTTP/1.1" 200 5 "-" "caf\xe9"\n'


def private() -> ls.LazyCountMin:
    return ls.LazyCountMin(
        depth=2,
        width=8,
        epsilon=1.0,
        delta=1e-6,
        horizon=400,
        hash_seed=1,
        key=testing.seeded_key(1),
    )


@pytest.mark.parametrize("broken", [0, 100, 10, 2])
def test_a_sketch_is_the_same_with_pyarrow_and_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: int
) -> None:
    """Few rows without an item slice arrays, many slice lists."""
    lines, log = tmp_path / "lines", tmp_path / "log"
    hosts = [f"10.0.0.{row % 7}" for row in range(400)]
    missing = {row for row in range(400) if broken and row % broken == 1}
    lines.write_text("".join("\n" if r in missing else f"{h}\n" for r, h in enumerate(hosts)))
    log.write_text(
        "".join("x\n" if r in missing else LOG.format(h, r % 10, r) for r, h in enumerate(hosts))
    )
    one_by_one = private()
    for row, host in enumerate(hosts):
        if row in missing:
            one_by_one.tick()
        else:
            one_by_one.update(host)
    expected = one_by_one.release().table
    for without in (False, True):
        if without:
            monkeypatch.setitem(sys.modules, "pyarrow", None)
        for path, form in ((lines, "lines"), (log, "common")):
            fed, source = private(), open_source(path, format=form)
            feed(fed, source)
            assert (fed.release().table == expected).all()
            assert (fed.step, source.tally.malformed) == (400, len(missing))
            (batch,) = open_source(path, format=form)
            assert isinstance(batch.items, TextColumn)
