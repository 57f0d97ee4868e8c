"""All input types give the same state: arrays and columns, weights, threads.

The reference is one ``update`` per event, which ``tests/properties`` compares with the paper.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch
import lazysketch.testing
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_WEIGHT = 9
PROFILE = settings(deadline=None, max_examples=40)


Private = lazysketch.LazyCountSketch | lazysketch.LazyCountMin


def make(cls: Callable[..., Private] = lazysketch.LazyCountSketch, **overrides: object) -> Private:
    arguments = {
        "depth": 3,
        "width": 17,
        "epsilon": 1.0,
        "delta": 1e-6,
        "max_weight": MAX_WEIGHT,
        "hash_seed": 99,
        "key": lazysketch.testing.seeded_key(4),
    }
    return cls(**{**arguments, **overrides})


def one_by_one(items: Sequence[object], weights: Sequence[int] | None = None) -> Private:
    sketch = make()
    for position, item in enumerate(items):
        sketch.update(item, 1 if weights is None else weights[position])
    return sketch


def assert_same(one: Private, other: Private) -> None:
    for ticks in (0, 1, 40):
        one.tick(ticks)
        other.tick(ticks)
        assert one.release().to_bytes() == other.release().to_bytes()


TEXTS = [f"item {n * n % 41}{'é' * (n % 3 == 0)}{'long' * (n % 7)}" for n in range(700)]
ASCII = [text.replace("é", "") for text in TEXTS]


def cut(values: list[str]) -> pa.Array:
    """Offsets that do not begin at 0, into a longer buffer."""
    return pa.array(["é", *values, "after"]).slice(1, len(values))


COLUMNS: dict[str, Callable[[list[str]], object]] = {
    "text": pa.array,
    "large text": lambda values: pa.array(values, pa.large_string()),
    "views": lambda values: pa.array(values, pa.string_view()),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "dictionary of views": lambda values: pa.DictionaryArray.from_arrays(
        pa.array(values).dictionary_encode().indices.cast(pa.int16()),
        pa.array(values).dictionary_encode().dictionary.cast(pa.string_view()),
    ),
    "chunks": lambda values: pa.chunked_array([values[:1], [], values[1:600], values[600:]]),
    "part": cut,
    "one of two columns": lambda values: pa.table({"a": values}),
}


@pytest.mark.parametrize("values", [TEXTS, ASCII], ids=["text", "ASCII"])
@pytest.mark.parametrize("layout", COLUMNS)
def test_columns_of_text(layout: str, values: list[str]) -> None:
    sketch = make()
    sketch.update_many(COLUMNS[layout](values))
    assert_same(sketch, one_by_one(values))


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
@pytest.mark.parametrize("form", ["numpy", "arrow", "odd address", "strided", "big-endian"])
def test_integers_of_every_width(dtype: str, form: str) -> None:
    limits = np.iinfo(dtype)
    values = np.resize(np.array([0, 1, limits.max, limits.min, limits.max // 3], dtype=dtype), 1100)
    batch = {
        "numpy": lambda: values,
        "arrow": lambda: pa.array(values),
        "odd address": lambda: np.frombuffer(b"x" + values.tobytes(), dtype=dtype, offset=1),
        "strided": lambda: np.repeat(values, 2)[::2],
        "big-endian": lambda: values.astype(np.dtype(dtype).newbyteorder(">")),
    }[form]()
    sketch = make()
    sketch.update_many(batch)
    assert_same(sketch, one_by_one(values.tolist()))


@pytest.mark.parametrize("values", [[b"a", b"", b"\xff\x00", b"a" * 40], [b"x"]])
@pytest.mark.parametrize("layout", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_columns_of_bytes(layout: pa.DataType, values: list[bytes]) -> None:
    sketch = make()
    sketch.update_many(pa.array(values * 200, layout))
    assert_same(sketch, one_by_one(values * 200))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8", "object"])
@pytest.mark.parametrize("length", [3, 1500])
def test_weights_of_every_type(dtype: str, length: int) -> None:
    items = [n % 5 for n in range(length)]
    weights = [n * n % (MAX_WEIGHT + 1) for n in range(length)]
    sketch = make()
    sketch.update_many(np.array(items), np.array(weights, dtype=dtype))
    assert_same(sketch, one_by_one(items, weights))


@pytest.mark.parametrize("length", [3, 1500])
def test_bad_weights_of_arrays_are_refused(length: int) -> None:
    sketch, twin = make(), make()
    for bad in (-1, MAX_WEIGHT + 1):
        weights = np.ones(length, dtype=np.int64)
        weights[-1] = bad
        with pytest.raises(ArgumentValueError, match=f"position {length - 1}"):
            sketch.update_many(np.arange(length), weights)
    assert_same(sketch, twin)


def test_weights_that_change_during_a_batch_stay_within_their_bound() -> None:
    """Another thread writes huge weights into the array while it is counted.

    Every event adds at most the largest weight, so that the sensitivity holds.
    """
    items, weights = np.zeros(1 << 20, dtype=np.int64), np.ones(1 << 20, dtype=np.uint64)
    stop = threading.Event()

    def overwrite() -> None:
        while not stop.is_set():
            weights[::7] = 1 << 40
            weights[::7] = 1

    sketch = make(lazysketch.LazyCountMin, epsilon=8.0, width=4)
    other = threading.Thread(target=overwrite)
    other.start()
    try:
        for _ in range(10):
            try:
                sketch.update_many(items, weights)
            except ArgumentValueError:
                continue
    finally:
        stop.set()
        other.join()
    assert sketch.estimate(0) <= sketch.step * MAX_WEIGHT + 10_000


@PROFILE
@given(
    items=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=60),
    repeats=st.integers(1, 40),
    threads=st.integers(1, 5),
)
def test_threads_and_types_of_any_batch(items: list[int], repeats: int, threads: int) -> None:
    stream = items * repeats
    expected = one_by_one(stream)
    for values in (
        np.array(stream, dtype=np.int32),
        np.array(stream, dtype=np.int64),
        pa.array(stream, pa.int32()),
    ):
        sketch = make()
        sketch.update_many(values, threads=threads)
        assert sketch.release().to_bytes() == expected.release().to_bytes()


@pytest.mark.parametrize(
    "cls", [lazysketch.LazyCountMin, lazysketch.LazyCountSketch, lazysketch.CountMin]
)
def test_threads_give_the_same_state(
    cls: type[lazysketch.LazyCountMin | lazysketch.LazyCountSketch | lazysketch.CountMin],
) -> None:
    values = np.arange(400_000, dtype=np.int64) ** 2 % 1009
    texts = pa.array([f"{value:012d}" for value in values.tolist()])
    exact = {"depth": 3, "width": 17, "hash_seed": 99} if cls is lazysketch.CountMin else None
    for items in (values, texts):
        one, two = (cls(**exact) if exact else make(cls) for _ in range(2))
        one.update_many(items)
        two.update_many(items, threads=3)
        assert one.release().table.tolist() == two.release().table.tolist()


@pytest.mark.parametrize("threads", [0, -1, 1.5, None, True])
def test_wrong_numbers_of_threads_are_refused(threads: object) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="threads"):
        make().update_many([1], threads=threads)


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_bytes_that_are_not_utf_8_are_refused(layout: pa.DataType) -> None:
    """Also after much ASCII, and inline in a view."""
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    binary = kinds.get(layout, pa.binary_view())
    for bad in (b"\xff", b"long enough to lie outside \xff"):
        column = pa.array([b"plain"] * 300 + [bad], binary)
        forged = pa.Array.from_buffers(layout, len(column), column.buffers())
        sketch = make()
        with pytest.raises(ArgumentValueError, match="malformed"):
            sketch.update_many(forged)
        assert sketch.step == 0


def test_offsets_inside_a_character_are_refused() -> None:
    data = pa.py_buffer("aéb".encode())
    offsets = pa.py_buffer(np.array([0, 2, 4], dtype=np.int32).tobytes())
    forged = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])
    with pytest.raises(ArgumentValueError, match="malformed"):
        make().update_many(forged)


@pytest.mark.parametrize(
    "offsets", [[0, 3, 1, 4], [0, 99, 2, 4], [0, -1, 2, 4], [2, 1, 2, 4]], ids=str
)
def test_offsets_that_are_not_ascending_are_refused(offsets: list[int]) -> None:
    buffer = pa.py_buffer(np.array(offsets, dtype=np.int32).tobytes())
    forged = pa.Array.from_buffers(pa.string(), 3, [None, buffer, pa.py_buffer(b"abcd")])
    with pytest.raises(ArgumentValueError, match="malformed"):
        make().update_many(forged)


def test_a_null_is_refused_in_every_layout() -> None:
    for layout in (pa.string(), pa.string_view(), pa.binary(), pa.int32()):
        values: list[str | None] = [None] * 2 if layout == pa.int32() else ["a", None]
        with pytest.raises(ItemError, match="null"):
            make().update_many(pa.array(values, layout))
