"""The column of text that readers return: a sequence of str, and an Arrow array on its memory."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch._native import TextColumn, line_items
from lazysketch.errors import ArgumentTypeError

ROWS = st.lists(st.text("ab \u00e9\u20ac\U0001f600", min_size=1, max_size=4), max_size=9)
ENDS = st.none() | st.integers(-12, 12)


def column_of(rows: list[str]) -> TextColumn:
    column, malformed = line_items("".join(row + "\n" for row in rows).encode())
    assert not malformed.size
    return column


@given(rows=ROWS, begin=ENDS, end=ENDS, second=ENDS)
def test_it_is_a_sequence_of_texts(
    rows: list[str], begin: int | None, end: int | None, second: int | None
) -> None:
    column = column_of(rows)
    assert len(column) == len(rows)
    assert column.tolist() == rows
    assert [column[index] for index in range(-len(rows), len(rows))] == rows * 2
    part, expected = column[begin:end], rows[begin:end]
    assert part.tolist() == expected
    assert len(part) == len(expected)
    assert part[second:].tolist() == expected[second:]


@given(rows=ROWS, begin=ENDS, end=ENDS)
def test_it_is_an_array_of_arrow(rows: list[str], begin: int | None, end: int | None) -> None:
    array = pa.array(column_of(rows)[begin:end])
    array.validate(full=True)
    assert array.type == pa.large_string()
    assert array.to_pylist() == rows[begin:end]


@given(rows=ROWS, begin=ENDS, end=ENDS)
def test_its_parts_are_ends_and_bytes(rows: list[str], begin: int | None, end: int | None) -> None:
    ends, data = column_of(rows)[begin:end].parts()
    texts = [text.encode() for text in rows[begin:end]]
    assert ends.tolist() == [0, *np.cumsum([len(text) for text in texts]).tolist()]
    assert data.tobytes() == b"".join(texts)


@given(rows=ROWS, begin=ENDS, end=ENDS)
def test_it_knows_its_longest_text(rows: list[str], begin: int | None, end: int | None) -> None:
    longest = max((len(text.encode()) for text in rows[begin:end]), default=0)
    assert column_of(rows)[begin:end].longest == longest


def test_what_arrow_got_outlives_the_column() -> None:
    rows = [f"row {number}" for number in range(10_000)]
    array = pa.array(column_of(rows)[5_000:])
    gc.collect()
    assert array.to_pylist() == rows[5_000:]


def test_arrow_shares_its_memory() -> None:
    column = column_of(["a", "bc", "d"])
    whole, part = pa.array(column), pa.array(column[1:])
    assert [one.address for one in whole.buffers()[1:]] == [
        one.address for one in part.buffers()[1:]
    ]


@given(rows=ROWS)
def test_a_sketch_counts_it_as_the_list(rows: list[str]) -> None:
    counted, listed = (ls.CountMin(depth=3, width=64, hash_seed=1) for _ in range(2))
    counted.update_many(column_of(rows))
    listed.update_many(rows)
    assert (counted.table == listed.table).all()


def test_a_place_outside_is_refused() -> None:
    column = column_of(["a"])
    for index in (1, -2, 1 << 62):
        with pytest.raises(IndexError):
            column[index]
    with pytest.raises(ArgumentTypeError, match="index: expected an integer or a slice, got str"):
        column["a"]  # type: ignore[call-overload]
    with pytest.raises(ArgumentTypeError, match="slice of consecutive texts"):
        column[::2]


def test_rows_that_are_not_utf_8_are_not_in_it() -> None:
    column, malformed = line_items(b"a\n\xff secret\nb\n")
    assert column.tolist() == ["a", "b"]
    assert malformed.tolist() == [1]
