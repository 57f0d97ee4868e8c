"""From bytes to rows: equal to splitting and decoding row by row, for any chunks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lazysketch.errors import ArgumentValueError
from lazysketch.sources.io import text_blocks
from lazysketch.sources.io.text_blocks import check_encoding, row_blocks

PIECES = st.sampled_from(
    [b"a", b"\xc3\xa4", b"\xff", b"\xc3", b"\n", b"\r\n", b"\r", b"\x0c", b"\x85", b"\xe2\x80\xa8"]
)


def naive_rows(data: bytes, encoding: str) -> list[str]:
    rows = data.split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    decoded = []
    for row in rows:
        try:
            decoded.append(row.decode(encoding).removesuffix("\r"))
        except UnicodeDecodeError:
            decoded.append("")
    return decoded


def rows_of(chunks: list[bytes], encoding: str = "utf-8") -> list[str]:
    blocks = list(row_blocks(chunks, encoding=encoding))
    assert all(block.endswith(b"\n") for block in blocks)
    return naive_rows(b"".join(blocks), "utf-8")


@given(
    pieces=st.lists(PIECES, max_size=40),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    encoding=st.sampled_from(["utf-8", "iso8859-1", "ascii", "cp1252", "shift_jis"]),
)
@example(pieces=[b"a", b"\r\n"], cuts=[2], encoding="utf-8")
def test_rows_do_not_depend_on_chunk_boundaries(
    pieces: list[bytes], cuts: list[int], encoding: str
) -> None:
    data = b"".join(pieces)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges) if a < b]
    assert rows_of(chunks, encoding) == naive_rows(data, encoding)


@given(pieces=st.lists(PIECES, max_size=40), cut=st.integers(1, 60))
def test_blocks_for_the_core_contain_whole_rows_unchanged(pieces: list[bytes], cut: int) -> None:
    data = b"".join(pieces)
    chunks = [chunk for chunk in (data[:cut], data[cut:]) if chunk]
    blocks = list(row_blocks(chunks, encoding="utf-8"))
    assert all(block.endswith(b"\n") for block in blocks)
    assert b"".join(blocks) == data + b"\n" * (not data.endswith(b"\n") and data != b"")
    in_latin = b"".join(row_blocks(chunks, encoding="iso8859-1")).decode()
    rows = in_latin.split("\n")[:-1]
    assert [row.removesuffix("\r") for row in rows] == naive_rows(data, "iso8859-1")


def test_other_line_separators_stay_inside_a_row() -> None:
    assert rows_of(["a\x0b\x0c\x1c\u2028\x85b\n".encode()]) == ["a\x0b\x0c\x1c\u2028\x85b"]


def test_a_byte_order_mark_is_dropped_at_the_beginning_only() -> None:
    mark = b"\xef\xbb\xbf"
    assert rows_of([mark + b"a\n", mark + b"b\n"]) == ["a", "\ufeffb"]


@pytest.mark.parametrize("size", [10, 11, 12, 25])
@pytest.mark.parametrize("step", [1, 3, 10])
def test_a_row_that_is_too_long_becomes_empty_at_any_chunk_boundary(
    monkeypatch: pytest.MonkeyPatch, size: int, step: int
) -> None:
    monkeypatch.setattr(text_blocks, "LONGEST_ROW", 10)
    data = b"a\n" + b"x" * size + b"\nb\n" + b"y" * size
    chunks = [data[i : i + step] for i in range(0, len(data), step)]
    kept = size <= 10
    assert rows_of(chunks) == ["a", "x" * size * kept, "b", "y" * size * kept]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("utf8", "utf-8"),
        ("UTF-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("latin-1", "iso8859-1"),
        ("gb18030", "gb18030"),
    ],
)
def test_encodings_with_separable_rows_are_accepted(asked: str, name: str) -> None:
    assert check_encoding(asked) == name


@pytest.mark.parametrize(
    "encoding",
    [
        *("", "nope", "a\0b", "hex", "rot13", "undefined"),
        *("utf-16", "utf-32-le", "cp500", "unicode_escape"),
        *("utf-7", "iso2022_jp", "hz", "idna", "punycode", "raw_unicode_escape"),
    ],
)
def test_other_encodings_are_refused_by_name(encoding: str) -> None:
    with pytest.raises(ArgumentValueError, match="^encoding: expected .*, got "):
        check_encoding(encoding)
