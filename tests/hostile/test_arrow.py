"""Malformed Arrow data from any producer: one error of ours, and nothing is counted."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.hostile.arrow_structs import Array, Producer, Stream

from lazysketch import CountMin, HeavyHitters, LazyCountMin
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ItemError,
    LazySketchError,
)
from lazysketch.heavy_hitters import HierarchicalHeavyHitters, Levels

Live: TypeAlias = CountMin | LazyCountMin | HeavyHitters | HierarchicalHeavyHitters

GIVEN = {"epsilon": 4.0, "delta": 1e-6}
LEVELS = Levels(("first", "all"), lambda item: (str(item)[:1], item))
LIVE: dict[str, Callable[[], Live]] = {
    "exact": lambda: CountMin(depth=2, width=16),
    "private": lambda: LazyCountMin(depth=2, width=16, **GIVEN),
    "heavy hitters": lambda: HeavyHitters(share=0.1, discovery_epoch=4_000, **GIVEN),
    "hierarchy": lambda: HierarchicalHeavyHitters(
        LEVELS, share=0.1, discovery_epoch=4_000, **GIVEN
    ),
}


@pytest.fixture(scope="module", params=LIVE)
def sketch(
    request: pytest.FixtureRequest,
) -> Live:
    return LIVE[request.param]()


def steps_of(sketch: Live) -> int:
    if isinstance(sketch, HierarchicalHeavyHitters):
        return sketch.release(0).step
    return sketch.release().step


def int32(*values: int) -> bytes:
    return struct.pack(f"{len(values)}i", *values)


def int64(*values: int) -> bytes:
    return struct.pack(f"{len(values)}q", *values)


TEXT = Array(b"u", 2, [None, int32(0, 1, 2), b"ab"])
WORDS = Array(b"U", 2, [None, int64(0, 1, 2), b"ab"])
NUMBERS = Array(b"l", 2, [None, int64(1, 2)])
INLINE = struct.pack("i12s", 1, b"a") + struct.pack("i12s", 1, b"b")
VIEWS = Array(b"vu", 2, [None, INLINE, b""])
LONG_VIEW = struct.pack("i4sii", 20, b"long", 0, 0)
KEYS = Array(b"c", 2, [None, bytes([0, 1])], dictionary=TEXT)
TABLE = Array(b"+s", 2, [None], children=[replace(TEXT, name=b"item")])


def test_the_well_formed_ones_are_counted() -> None:
    for array in (TEXT, WORDS, VIEWS, KEYS, TABLE):
        counted = CountMin(depth=2, width=16, hash_seed=1)
        counted.update_many(array)
        assert (counted.step, counted.estimate("a")) == (2, 1)
    counted = CountMin(depth=2, width=16, hash_seed=1)
    counted.update_many(Stream([TEXT, TEXT]))
    assert (counted.step, counted.estimate("b")) == (4, 2)
    # An offset within validity bitmap, offsets and values.
    bits = Array(b"u", 2, [bytes([0b1110]), int32(0, 1, 2, 3), b"xab"], null_count=-1, offset=1)
    counted.update_many(bits)
    assert (counted.step, counted.estimate("b")) == (6, 3)


def deep(levels: int) -> Array:
    array = TEXT
    for _ in range(levels):
        array = Array(b"+l", 1, [None, int32(0, 1)], children=[array])
    return array


MALFORMED = {
    "decreasing offsets": replace(TEXT, buffers=[None, int32(0, 2, 1), b"ab"]),
    "offsets that decrease within": replace(
        TEXT, length=3, buffers=[None, int32(0, 9, 1, 2), b"ab"]
    ),
    "negative offsets": replace(TEXT, buffers=[None, int32(-1, 1, 2), b"ab"]),
    "negative last offset": replace(TEXT, buffers=[None, int32(0, 1, -2), b"ab"]),
    "decreasing 64-bit offsets": replace(WORDS, buffers=[None, int64(3, 2, 1), b"ab"]),
    "huge 64-bit offset within": replace(WORDS, buffers=[None, int64(0, 2**62, 2), b"ab"]),
    "negative 64-bit offset": replace(WORDS, buffers=[None, int64(0, 1, -(2**63)), b"ab"]),
    "no offsets": replace(TEXT, buffers=[None, None, b"ab"]),
    "no text": replace(TEXT, buffers=[None, int32(0, 1, 2), None]),
    "no values": replace(NUMBERS, buffers=[None, None]),
    "negative length": replace(NUMBERS, length=-1),
    "longest length": replace(NUMBERS, length=2**63 - 1),
    "negative offset": replace(NUMBERS, offset=-1),
    "offset that overflows": replace(NUMBERS, offset=2**63 - 1),
    "length times width overflows": replace(NUMBERS, length=2**61),
    "negative null count": replace(NUMBERS, null_count=-2),
    "too large a null count": replace(NUMBERS, null_count=3),
    "nulls without a bitmap": replace(NUMBERS, null_count=1),
    "null count that is wrong": replace(
        NUMBERS, buffers=[bytes([0b11]), int64(1, 2)], null_count=1
    ),
    "no buffers": replace(NUMBERS, n_buffers=0),
    "one buffer": replace(NUMBERS, n_buffers=1),
    "too many buffers": replace(NUMBERS, buffers=[None, int64(1, 2), b""]),
    "negative number of buffers": replace(NUMBERS, n_buffers=-1),
    "no list of buffers": replace(NUMBERS, has_buffers=False),
    "text with two buffers": replace(TEXT, n_buffers=2),
    "children of a number": replace(NUMBERS, children=[TEXT]),
    "negative number of children": replace(NUMBERS, n_children=-1),
    "no list of children": replace(TABLE, has_children=False),
    "null child": replace(TABLE, children=[None], schema_children=[TEXT]),
    "null child of the schema": replace(TABLE, schema_children=[None]),
    "fewer children than fields": replace(TABLE, children=[], schema_children=[TEXT]),
    "more children than fields": replace(TABLE, children=[TEXT, TEXT], schema_children=[TEXT]),
    "short column": replace(TABLE, length=3),
    "short column of an offset table": replace(TABLE, offset=1),
    "list without a child": Array(b"+l", 1, [None, int32(0, 1)]),
    "runs without children": Array(b"+r", 1, []),
    "map without a child": Array(b"+m", 1, [None, int32(0, 1)]),
    "nested 40 levels deep": deep(40),
    "index beyond the dictionary": replace(KEYS, buffers=[None, bytes([0, 2])]),
    "negative index": replace(KEYS, buffers=[None, bytes([0, 255])]),
    "dictionary of the schema only": replace(NUMBERS, schema_dictionary=TEXT),
    "float indices": Array(b"g", 2, [None, int64(0, 1)], dictionary=TEXT),
    "malformed dictionary": replace(
        KEYS, dictionary=replace(TEXT, buffers=[None, int32(0, 5, 2), b"ab"])
    ),
    "invalid UTF-8": replace(TEXT, buffers=[None, int32(0, 1, 2), b"a\xff"]),
    "offset within a character": replace(TEXT, buffers=[None, int32(0, 1, 2), "é".encode()]),
    "invalid UTF-8 in 64 bits": replace(WORDS, buffers=[None, int64(0, 1, 2), b"\xc0a"]),
    "invalid UTF-8 in a view": replace(
        VIEWS, buffers=[None, struct.pack("i12s", 1, b"\xff") * 2, b""]
    ),
    "padding of a view": replace(VIEWS, buffers=[None, struct.pack("i12s", 1, b"ab") * 2, b""]),
    "view of no buffer": Array(b"vu", 1, [None, LONG_VIEW, b""]),
    "view beyond its buffer": Array(b"vu", 1, [None, LONG_VIEW, b"long", int64(4)]),
    "wrong prefix of a view": Array(b"vu", 1, [None, LONG_VIEW, b"x" * 20, int64(20)]),
    "negative length of a view": Array(b"vu", 1, [None, struct.pack("i12s", -1, b""), b""]),
    "negative length of a buffer": Array(b"vu", 1, [None, LONG_VIEW, b"long" * 5, int64(-1)]),
    "no lengths of buffers": Array(b"vu", 1, [None, LONG_VIEW, b"long" * 5, None]),
    "views with two buffers": Array(b"vu", 0, [None, INLINE]),
    "no format": Array(None, 2, [None, int64(1, 2)]),
    "unknown format": replace(NUMBERS, format=b"what"),
    "empty format": replace(NUMBERS, format=b""),
    "format that is not text": replace(NUMBERS, format=b"\xff"),
    "name that is not text": replace(NUMBERS, name=b"\xff"),
    "negative width": Array(b"w:-4", 2, [None, b"abcd"]),
    "width that is not a number": Array(b"w:x", 2, [None, b"abcd"]),
    "largest width": Array(b"w:2147483647", 2**40, [None, b"abcd"]),
    "union without its fields": Array(b"+us:0,1", 1, [b"\0"], children=[TEXT]),
    "released": replace(NUMBERS, is_released=True),
    "stream of nothing known": Stream([replace(NUMBERS, format=b"what")]),
    "stream that was released": Stream([TEXT], is_released=True),
    "stream that releases itself": Stream([replace(TEXT, is_released=True)]),
    "stream without a schema": Stream([TEXT], without=["get_schema"]),
    "stream without arrays": Stream([TEXT], without=["get_next"]),
    "stream whose schema fails": Stream([TEXT], fails_at=-1, error=5),
    "stream that fails": Stream([TEXT, TEXT], fails_at=1, error=5),
    "stream with a malformed array": Stream([TEXT, replace(TEXT, length=-3)]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_data_raise_and_count_nothing(sketch: Live, name: str) -> None:
    before = steps_of(sketch)
    # Their type may be refused before their content is read.
    with pytest.raises((ArgumentValueError, ItemError), match="^items: expected") as caught:
        sketch.update_many(MALFORMED[name])
    assert "alice" not in str(caught.value)
    assert steps_of(sketch) == before


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_weights_raise_and_count_nothing(name: str) -> None:
    counted = CountMin(depth=2, width=16)
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="^weights: expected"):
        counted.update_many(["a", "b"], MALFORMED[name])
    assert counted.step == 0


def test_a_stream_that_releases_itself_early_is_read_or_refused() -> None:
    counted = CountMin(depth=2, width=16)
    try:
        counted.update_many(Stream([TEXT], releases_early=True))
    except LazySketchError:
        assert counted.step == 0
    else:
        assert counted.step == 2


@pytest.mark.parametrize("fails_at", [-1, 0, 1])
def test_a_producer_without_memory_raises_a_memory_error(sketch: Live, fails_at: int) -> None:
    with pytest.raises(MemoryError, match="^items: expected a stream that can be read"):
        sketch.update_many(Stream([TEXT, TEXT], fails_at=fails_at))


@pytest.mark.long
def test_an_endless_stream_of_nothing_ends() -> None:
    empty = replace(TEXT, length=0)
    with pytest.raises(ArgumentValueError, match="more than 1048576 arrays"):
        CountMin(depth=1, width=2).update_many(Stream([empty], repeats=True))


def test_a_capsule_can_be_used_once(
    sketch: Live,
) -> None:
    once = Producer(pa.array(["a", "b"]).__arrow_c_array__())
    sketch.update_many(once)
    with pytest.raises(ArgumentValueError, match="^items: .* released or used before"):
        sketch.update_many(once)


CAPSULES = pa.array(["a"]).__arrow_c_array__()


@pytest.mark.parametrize(
    "exported",
    [
        pytest.param(None, id="None"),
        pytest.param([], id="list"),
        pytest.param("text", id="text"),
        pytest.param(1, id="integer"),
        pytest.param((), id="nothing"),
        pytest.param((1, 2), id="integers"),
        pytest.param(CAPSULES[:1], id="schema"),
        pytest.param(CAPSULES[::-1], id="reversed"),
        pytest.param((*CAPSULES, None), id="three"),
        pytest.param(CAPSULES[0], id="capsule"),
    ],
)
def test_producers_that_return_something_else(sketch: Live, exported: object) -> None:
    with pytest.raises(ArgumentTypeError, match="^items: expected (two|a) capsule"):
        sketch.update_many(Producer(exported))


def test_types_that_claim_values_without_having_them() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2**50], pa.int64()), pa.array(["a"]))
    wide = pa.Array.from_buffers(pa.binary(0), 2**47, [None, pa.py_buffer(b"")])
    nothing = Array(b"n", 2**55)
    entries = Array(b"w:0", 2**50, [None, None])
    for items, error in (
        (runs, ItemError),
        (wide, MemoryError),
        (nothing, ItemError),
        (replace(KEYS, dictionary=entries), MemoryError),
        (replace(KEYS, dictionary=nothing), ItemError),
    ):
        counted = CountMin(depth=2, width=16)
        with pytest.raises(error):
            counted.update_many(items)
        assert counted.step == 0


def test_columns_of_nulls(
    sketch: Live,
) -> None:
    before = steps_of(sketch)
    for empty in (pl.Series("x", []), pa.nulls(0)):
        sketch.update_many(empty)
    assert steps_of(sketch) == before
    for nulls in (pl.Series("x", [None, None]), pa.nulls(2)):
        with pytest.raises(ItemError, match="^items: expected no nulls, got one at position 0"):
            sketch.update_many(nulls)


def test_messages_show_numbers_of_columns_and_no_names() -> None:
    # The names of columns of a table without a header are its first row.
    headerless = pl.DataFrame({"alice@example.com": ["b"], "192.0.2.1": ["c"]})
    nested = pa.array([[{"alice@example.com": {"192.0.2.1": 1}}]])
    for items, column, shown in (
        (headerless, None, "column: expected the name of one of 2 columns, got none"),
        (headerless, "src", 'column: expected the name of one of 2 columns, got "src"'),
        (nested, None, "got Arrow type List at position 0; nothing was applied"),
    ):
        with pytest.raises(LazySketchError, match=shown) as caught:
            CountMin(depth=2, width=16).update_many(items, column=column)
        assert "alice" not in str(caught.value)
        assert "192.0" not in str(caught.value)
    with pytest.raises(ArgumentTypeError, match="^items: expected one column, got 2"):
        LIVE["hierarchy"]().update_many(headerless)


def test_arrays_that_are_resized_during_the_call() -> None:
    for size in (10, 100_000, (10, 99)):
        counted = CountMin(depth=2, width=16)
        array = np.arange(1000)

        class Resizes:
            def __index__(self, array: np.ndarray = array, size: object = size) -> int:
                array.resize(size, refcheck=False)
                return 1

        with pytest.raises(ArgumentValueError, match="^items: expected an array that stays"):
            counted.update_many(array, [Resizes()] + [1] * 999)
        assert counted.step == 0
