"""Batches of every input type equal single updates; a batch with an error is not applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError, LazySketchError

WORDS = ["b", "", "a", "é", "b", "long enough to leave the view " * 2, "b"]
BLOBS = [word.encode() for word in WORDS]
NUMBERS = [3, 0, 1, 100, 3, 3, 7]
COUNTERS: dict[str, object] = {"counters": 128, "epsilon": 1.0, "delta": 1e-6, "horizon": 1000}


def exact() -> ls.CountMin:
    return ls.CountMin(depth=3, width=4096, hash_seed=5)


def one_by_one(items: Sequence[object], weights: list[int] | None = None) -> NDArray[np.int64]:
    sketch = exact()
    for item, weight in zip(items, weights or [1] * len(items), strict=True):
        sketch.update(item, weight)
    return sketch.table


def assert_equals_single_updates(
    batch: object, items: Sequence[object], *, column: str | None = None
) -> None:
    sketch = exact()
    sketch.update_many(batch, column=column)
    assert sketch.step == len(items)
    np.testing.assert_array_equal(sketch.table, one_by_one(items))
    wanted = [sketch.estimate(item) for item in items]
    assert sketch.estimate_many(batch, column=column).tolist() == wanted
    assert sketch.release().estimate_many(batch, column=column).tolist() == wanted


ARROW_TYPES: list[tuple[pa.DataType, Sequence[object]]] = [
    (pa.string(), WORDS),
    (pa.large_string(), WORDS),
    (pa.string_view(), WORDS),
    (pa.binary(), BLOBS),
    (pa.large_binary(), BLOBS),
    (pa.binary_view(), BLOBS),
    (pa.binary(3), [b"abc", b"\0\0\0", b"abc", b"xyz", b"ab\0", b"abc", b"zzz"]),
    *((arrow(), NUMBERS) for arrow in (pa.int8, pa.int16, pa.int32, pa.int64)),
    *((arrow(), NUMBERS) for arrow in (pa.uint8, pa.uint16, pa.uint32, pa.uint64)),
    (pa.int64(), [-(2**63), 2**63 - 1, -1, 0, 5, 5, -1]),
    (pa.uint64(), [2**64 - 1, 2**63, 0, 1, 2**64 - 1, 5, 5]),
]


def encoded(array: pa.Array) -> pa.Array:
    """A dictionary array; pyarrow cannot encode views and fixed sizes."""
    entries = list(dict.fromkeys(array.to_pylist()))
    keys = pa.array([entries.index(value) for value in array.to_pylist()], pa.int8())
    return pa.DictionaryArray.from_arrays(keys, pa.array(entries, array.type))


ARROW_FORMS: dict[str, Callable[[pa.Array], object]] = {
    "array": lambda array: array,
    "sliced": lambda array: pa.concat_arrays([array[4:6], array, array[:3]])[2:9],
    "chunked": lambda array: pa.chunked_array([array[:2], array[:0], array[2:6], array[6:]]),
    "sliced chunks": lambda array: pa.chunked_array([array, array, array]).slice(7, 7),
    "an empty chunk before": lambda array: pa.chunked_array([array[:0], array]),
    "table": lambda array: pa.table({"x": array}),
    "sliced table": lambda array: pa.table({"x": pa.concat_arrays([array, array])}).slice(7),
    "record batch": lambda array: pa.record_batch({"x": array}),
    "struct": lambda array: pa.StructArray.from_arrays([array], ["x"]),
    "dictionary": encoded,
    "sliced dictionary": lambda array: pa.concat_arrays([encoded(array), encoded(array)])[7:],
    "chunked dictionaries": lambda array: pa.chunked_array(
        [encoded(array[:3]), encoded(array[3:])]
    ),
}


@pytest.mark.parametrize("form", ARROW_FORMS)
@pytest.mark.parametrize(("arrow", "items"), ARROW_TYPES, ids=lambda value: str(value)[:20])
def test_pyarrow(arrow: pa.DataType, items: Sequence[object], form: str) -> None:
    assert_equals_single_updates(ARROW_FORMS[form](pa.array(items, arrow)), items)


@pytest.mark.parametrize(("arrow", "items"), ARROW_TYPES, ids=lambda value: str(value)[:20])
def test_empty_arrow_data_apply_nothing(arrow: pa.DataType, items: Sequence[object]) -> None:
    empty = pa.array([], arrow)
    for batch in (empty, pa.chunked_array([], arrow), pa.table({"x": empty}), encoded(empty)):
        assert_equals_single_updates(batch, [])
    assert_equals_single_updates(pa.array([]), [])  # the null type


@pytest.mark.parametrize("keys", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()], ids=str)
def test_dictionary_keys_of_all_widths(keys: pa.DataType) -> None:
    entries = pa.array(["a", "unused", "b"])
    array = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], keys), entries)
    assert_equals_single_updates(array, ["b", "a", "b"])


def test_unused_dictionary_entries_do_not_count() -> None:
    entries = pa.array([1, 999, None, 2])
    array = pa.DictionaryArray.from_arrays(pa.array([3, 0, 3]), entries)
    assert_equals_single_updates(array, [2, 1, 2])
    counters = ls.ContinualCounters(**COUNTERS)
    counters.update_many(array)  # 999 is not a valid index, but does not occur
    assert counters.steps == 3


def test_a_bad_dictionary_entry_is_reported_where_it_occurs() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 1]), pa.array([1, 999]))
    with pytest.raises(ItemError, match=r"^items: .* at position 3\b"):
        ls.ContinualCounters(**COUNTERS).update_many(array)


@pytest.mark.parametrize(
    "wide",
    [
        pa.table({"n": NUMBERS, "w": WORDS}),
        pa.record_batch({"n": NUMBERS, "w": WORDS}),
        pl.DataFrame({"n": NUMBERS, "w": WORDS}),
        pd.DataFrame({"n": NUMBERS, "w": WORDS}),
        lambda: duckdb.from_arrow(pa.table({"n": NUMBERS, "w": WORDS})),
    ],
    ids=["table", "record batch", "polars", "pandas", "duckdb"],
)
def test_wide_tables_must_name_the_column(wide: object) -> None:
    wide = wide() if callable(wide) else wide
    assert_equals_single_updates(wide, WORDS, column="w")
    assert_equals_single_updates(wide, NUMBERS, column="n")
    sketch = exact()
    with pytest.raises(ArgumentTypeError, match="^column: "):
        sketch.update_many(wide)
    with pytest.raises(ArgumentValueError, match="^column: .* got \"?'?absent"):
        sketch.update_many(wide, column="absent")
    with pytest.raises(ArgumentTypeError, match="^column: "):
        sketch.update_many(wide, column=1)
    assert sketch.step == 0


@pytest.mark.parametrize("plain", [pa.array(WORDS), WORDS, np.array(NUMBERS), pl.Series(WORDS)])
def test_data_without_columns_take_no_column(plain: object) -> None:
    for call in (exact().update_many, exact().estimate_many, exact().release().estimate_many):
        with pytest.raises(ArgumentTypeError, match="^column: "):
            call(plain, column="x")


POLARS_FORMS: dict[str, Callable[[], tuple[object, Sequence[object]]]] = {
    "strings": lambda: (pl.Series(WORDS), WORDS),
    "binaries": lambda: (pl.Series(BLOBS), BLOBS),
    "integers": lambda: (pl.Series(NUMBERS, dtype=pl.UInt8), NUMBERS),
    "categorical": lambda: (pl.Series(WORDS, dtype=pl.Categorical), WORDS),
    "enum": lambda: (pl.Series(["a", "b", "a"], dtype=pl.Enum(["c", "b", "a"])), ["a", "b", "a"]),
    "frame": lambda: (pl.DataFrame({"x": WORDS}), WORDS),
    "categorical frame": lambda: (
        pl.DataFrame({"x": pl.Series(WORDS, dtype=pl.Categorical)}),
        WORDS,
    ),
    "several chunks": lambda: (
        pl.concat([pl.Series(WORDS[:3]), pl.Series(WORDS[3:])], rechunk=False),
        WORDS,
    ),
    "sliced": lambda: (pl.Series(WORDS * 2)[7:], WORDS),
}


@pytest.mark.parametrize("form", POLARS_FORMS)
def test_polars(form: str) -> None:
    batch, items = POLARS_FORMS[form]()
    assert_equals_single_updates(batch, items)


PANDAS_FORMS: dict[str, Callable[[], tuple[object, Sequence[object]]]] = {
    "strings": lambda: (pd.Series(WORDS), WORDS),
    "arrow strings": lambda: (pd.Series(WORDS, dtype="string[pyarrow]"), WORDS),
    "python strings": lambda: (pd.Series(WORDS, dtype=object), WORDS),
    "int64": lambda: (pd.Series(NUMBERS, dtype="int64"), NUMBERS),
    "uint8": lambda: (pd.Series(NUMBERS, dtype="uint8"), NUMBERS),
    "nullable integers": lambda: (pd.Series(NUMBERS, dtype="Int64"), NUMBERS),
    "category": lambda: (pd.Series(WORDS, dtype="category"), WORDS),
    "category of integers": lambda: (pd.Series(NUMBERS, dtype="category"), NUMBERS),
    "frame": lambda: (pd.DataFrame({"x": WORDS}), WORDS),
    "odd index": lambda: (pd.Series(NUMBERS, index=[9, 9, 1, 0, 5, 5, 2]), NUMBERS),
}


@pytest.mark.parametrize("form", PANDAS_FORMS)
def test_pandas(form: str) -> None:
    batch, items = PANDAS_FORMS[form]()
    assert_equals_single_updates(batch, items)


def test_duckdb() -> None:
    words = duckdb.from_arrow(pa.table({"x": WORDS}))
    assert_equals_single_updates(words, WORDS)
    numbers = duckdb.sql("select i::bigint as i from range(5000) t(i) order by i")
    assert_equals_single_updates(numbers, list(range(5000)))


def test_a_stream_of_record_batches() -> None:
    table = pa.table({"x": pa.chunked_array([WORDS[:2], WORDS[2:]])})
    sketch = exact()
    sketch.update_many(table.to_reader())
    np.testing.assert_array_equal(sketch.table, one_by_one(WORDS))


INTEGER_DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u4", ">u8"]


@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
def test_numpy_integers(dtype: str) -> None:
    array = np.array(NUMBERS, dtype=dtype)
    assert_equals_single_updates(array, NUMBERS)
    assert_equals_single_updates(array[::-1], NUMBERS[::-1])
    assert_equals_single_updates(np.repeat(array, 3)[1::3], NUMBERS)
    assert_equals_single_updates(np.stack([array, array], axis=1)[:, 1], NUMBERS)
    array.setflags(write=False)
    assert_equals_single_updates(array, NUMBERS)
    low = int(np.iinfo(np.dtype(dtype)).min)
    high = int(np.iinfo(np.dtype(dtype)).max)
    assert_equals_single_updates(np.array([low, high], dtype=dtype), [low, high])


def test_numpy_text_bytes_and_objects() -> None:
    words = ["a", "é", "", "b" * 40]
    assert_equals_single_updates(np.array(words), words)
    assert_equals_single_updates(np.array(words)[::-2], words[::-2])
    assert_equals_single_updates(np.array(words, dtype=">U40"), words)
    assert_equals_single_updates(np.array(words, dtype=np.dtypes.StringDType()), words)
    assert_equals_single_updates(np.array([b"a", b"bc"]), [b"a", b"bc"])
    zeros = ["a\0b", "\0a", "a\0", "\0"]  # numpy takes zeros at the end for filling
    assert_equals_single_updates(np.array(zeros), [text.rstrip("\0") for text in zeros])
    raw = [text.encode() for text in zeros]
    assert_equals_single_updates(np.array(raw), [text.rstrip(b"\0") for text in raw])
    far = ["\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "a" * 9]
    assert_equals_single_updates(np.array(far), far)
    assert_equals_single_updates(np.array([], dtype="U3"), [])
    assert_equals_single_updates(np.array([], dtype="S0"), [])
    assert_equals_single_updates(np.array(["", ""]), ["", ""])
    mixed = ["a", b"a", 1, 10**30, np.int8(1)]
    assert_equals_single_updates(np.array(mixed, dtype=object), mixed)
    assert_equals_single_updates(np.array([], dtype=np.int64), [])


@pytest.mark.parametrize("dtype", ["U4", ">U4"])
def test_numpy_text_with_a_lone_surrogate_is_refused(dtype: str) -> None:
    array = np.array(["a", "b\ud800", "c"], dtype=dtype)
    for table in (exact(), ls.HeavyHitters(epsilon=1.0, delta=1e-6, share=0.1)):
        with pytest.raises(ls.errors.ItemError, match="surrogate at position 1; nothing was"):
            table.update_many(array)


def test_names_of_numpy_text_are_those_of_a_list() -> None:
    words = ["é", "b" * 40, "c"] * 4000
    for given, expected in ((words, words), ([word.encode() for word in words],) * 2):
        key = ls.Key.generate()
        tables = [
            ls.HeavyHitters(epsilon=1.0, delta=1e-6, share=0.1, discovery_epoch=12_000, key=key)
            for _ in range(2)
        ]
        tables[0].update_many(np.array(given))
        tables[1].update_many(expected)
        assert set(tables[0].candidates) == set(expected)
        assert tables[0].candidates == tables[1].candidates


def test_iterables() -> None:
    assert_equals_single_updates(tuple(WORDS), WORDS)
    assert_equals_single_updates(range(-3, 300, 7), list(range(-3, 300, 7)))
    unique = sorted(set(WORDS))
    counted = dict.fromkeys(unique, 0)
    for batch in (set(unique), frozenset(unique), counted.keys()):
        assert_equals_single_updates(batch, unique)
    assert_equals_single_updates(dict(enumerate(WORDS)).values(), WORDS)
    sketch = exact()
    sketch.update_many(word for word in WORDS)
    np.testing.assert_array_equal(sketch.table, one_by_one(WORDS))
    sketch = exact()
    sketch.update_many(iter(NUMBERS))
    np.testing.assert_array_equal(sketch.table, one_by_one(NUMBERS))


def private() -> ls.LazyCountMin:
    key = ls.Key.generate()
    return ls.LazyCountMin(
        depth=2, width=4, epsilon=1.0, delta=1e-6, horizon=100, max_weight=9, key=key
    )


def assert_refused(
    error: type[LazySketchError], match: str, batch: object, *, weights: object = None
) -> None:
    """Check that exact and private sketches refuse a batch and apply nothing."""
    for sketch in (exact(), private()):
        sketch.update_many(["a"] * 10)
        before = sketch.release().to_bytes()
        with pytest.raises(error, match=match):
            sketch.update_many(batch() if callable(batch) else batch, weights)
        assert sketch.release().to_bytes() == before


NULLS: list[tuple[object, int]] = [
    (pa.array(["a", "b", None]), 2),
    (pa.array([1, None, None]), 1),
    (pa.array([b"a", None], pa.binary_view()), 1),
    (pa.array(["a", None], pa.string_view()), 1),
    (pa.array(["x", "a", None, "b"])[1:], 1),
    (pa.chunked_array([["a", "b"], [], ["c", None]]), 3),
    (pa.table({"x": pa.chunked_array([["a", "b"], ["c", None]])}), 3),
    (pa.chunked_array([pa.array([{"x": 1}] * 2), pa.array([{"x": 1}, None])]), 3),
    (pa.array(["a", None, "a"]).dictionary_encode(), 1),
    (pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(["a", None])), 2),
    (pa.nulls(2), 0),
    (pl.Series(["a", "b", None]), 2),
    (pl.Series(["a", None], dtype=pl.Categorical), 1),
    (pd.Series(["a", "b", None]), 2),
    (pd.Series([1, 2, None], dtype="Int64"), 2),
    (pd.Series(["a", None], dtype="category"), 1),
    (lambda: duckdb.sql("select * from (values (1), (2), (null)) t(x)"), 2),
    (np.array(["a", None], dtype=object), 1),
    (["a", "b", None], 2),
    (["a", 1, 1.5], 2),
    (["a", float("nan")], 1),
    (["a", True], 1),
]


@pytest.mark.parametrize(("batch", "position"), NULLS)
def test_nulls_are_refused_with_their_position(batch: object, position: int) -> None:
    assert_refused(ItemError, rf"^items: .* at position {position}\b", batch)


def test_a_nan_in_a_float_column_is_refused() -> None:
    for batch in (pd.Series([1, None]), pl.Series([1.5]), pa.array([1.0]), np.array([1.0])):
        assert_refused(LazySketchError, "^items: ", batch)


NO_BATCHES: list[object] = [
    "word",
    b"word",
    bytearray(b"word"),
    {"a": 1},
    5,
    None,
    True,
    1.5,
    object(),
    np.array([True]),
    np.array([1.5]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.array([1], dtype="timedelta64[s]"),
    np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]),
    np.array([[1, 2]]),
    np.array(5),
    np.array([["a"]]),
    np.str_("word"),
    pa.array([1.5]),
    pa.array([True]),
    pa.array([[1], [2]]),
    pa.array([1]).cast(pa.timestamp("s")),
]


@pytest.mark.parametrize("batch", NO_BATCHES, ids=lambda value: type(value).__name__)
def test_values_that_are_not_batches_are_refused(batch: object) -> None:
    assert_refused(LazySketchError, "^items: ", batch)


@pytest.mark.parametrize("single", ["word", b"word", bytearray(b"word"), {"a": 1}])
def test_a_single_value_is_not_taken_for_a_batch(single: object) -> None:
    assert_refused(ArgumentTypeError, "^items: .* got (str|bytes|bytearray|dict)$", single)
    assert_refused(ArgumentTypeError, "^weights: ", [1, 2], weights=single)


def test_an_iterable_that_raises_applies_nothing() -> None:
    def broken() -> Iterator[str]:
        yield from WORDS
        raise RuntimeError("the source failed")

    for sketch in (exact(), private()):
        with pytest.raises(RuntimeError, match="source failed"):
            sketch.update_many(broken())
        assert sketch.step == 0


def test_a_batch_may_use_the_sketch_that_it_feeds() -> None:
    sketch = exact()
    sketch.update_many("b" for _ in range(3) if sketch.estimate("b") == 0)
    assert sketch.estimate("b") == 3.0
