"""Hostile batches: NumPy arrays of every layout, data frames, iterators that raise late."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
from tests.fuzzing.arrow_data import arrow_batch
from tests.fuzzing.exporters import exporter
from tests.fuzzing.scalars import Disturbance, good_item, hostile, raised
from tests.fuzzing.verdicts import CANARY, CANARY_NUMBER

__all__ = ["good_batch", "items", "positions", "weights"]

_DTYPES: Final = [
    *("i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8"),
    *("f2", "f4", "f8", "g", "F", "D", "?", "S0", "S3", "S9", "<U0", "<U3", ">U3", "V4", "O"),
    *("M8[s]", "<M8[ns]", ">M8[us]", "M8[D]", "m8[us]", "M8", "i4,f8", "T"),
]

_FIXED: Final = object()


def good_batch(chance: Random, _: Disturbance) -> list[Any]:
    """Return a list of items."""
    return [good_item(chance) for _ in range(chance.choice([0, 1, 3, 20, 300]))]


def _elements(kind: np.dtype[Any], size: int, chance: Random) -> np.ndarray:
    if kind.kind == "T":
        return np.array([chance.choice(["", "a", CANARY]) for _ in range(size)], dtype=kind)
    if kind.kind == "O":
        objects = np.empty(size, dtype=object)
        for at in range(size):
            objects[at] = _element(chance, lambda: None)
        return objects
    if kind.kind == "U":
        return np.array([chance.choice(["", "ab", CANARY]) for _ in range(size)], kind)
    raw = np.frombuffer(chance.randbytes(size * kind.itemsize), dtype=np.uint8)
    return raw.copy().view(kind) if kind.itemsize and size else np.zeros(size, kind)


def _element(chance: Random, disturbance: Disturbance) -> object:
    return hostile(chance, disturbance) if chance.random() < 0.2 else good_item(chance)


def numpy_array(chance: Random, disturbance: Disturbance) -> Any:
    """Return an array of any dtype, byte order, stride, shape, alignment or subclass."""
    kind = np.dtype(chance.choice(_DTYPES))
    array = _elements(kind, chance.choice([0, 1, 2, 7, 40, 300]), chance)
    shaped: list[Callable[[], object]] = [
        lambda: array,
        lambda: array[:: chance.choice([-1, 2, -3])],
        lambda: array.reshape(-1, 1),
        lambda: array.reshape(1, -1),
        lambda: array[:1].reshape(()),
        lambda: np.ma.masked_array(array, mask=[chance.random() < 0.5 for _ in array]),
        lambda: np.broadcast_to(array[:1], (5,)) if len(array) else array,
        lambda: np.broadcast_to(array[:1], (1 << 40,))[:0] if len(array) else array,
        lambda: array.view(np.matrix) if kind.kind in "iuf" else array,
        lambda: array.view(np.recarray),
        lambda: np.lib.stride_tricks.as_strided(array, shape=(len(array),), strides=(0,)),
        lambda: _odd_address(array),
        lambda: _read_only(array),
        lambda: array.view(type("Array", (np.ndarray,), {"__len__": lambda _: 10**6})),
    ]
    try:
        return chance.choice([*shaped[:1] * 5, *shaped])()
    except (ValueError, TypeError):  # a shape that this dtype does not have
        return array


def _odd_address(array: np.ndarray) -> np.ndarray:
    if array.dtype.hasobject or array.dtype.kind == "T" or not array.size:
        return array
    return np.frombuffer(b"x" + array.tobytes(), dtype=array.dtype, offset=1)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def frame(chance: Random, _: Disturbance) -> Any:
    """Return a series or a frame of pandas or polars; names of columns are items too."""
    size = chance.choice([0, 1, 5, 50])
    words = [f"{CANARY} {chance.randrange(9)}" for _ in range(size)]
    numbers = [chance.randrange(200) for _ in range(size)]
    holes = [None if chance.random() < 0.3 else word for word in words]
    pandas: list[Callable[[], object]] = [
        lambda: pd.Series(words),
        lambda: pd.Series(words, dtype="category"),
        lambda: pd.Series(words, dtype="string"),
        lambda: pd.Series(holes, dtype=object),
        lambda: pd.Series(numbers, dtype="Int64"),
        lambda: pd.Series([None, *numbers], dtype="Int64"),
        lambda: pd.Series(numbers, dtype="float64"),
        lambda: pd.Series(pd.date_range("2026-05-17", periods=size, tz="Europe/Berlin")),
        lambda: pd.Series(pd.arrays.SparseArray(numbers)),
        lambda: pd.Index(words),
        lambda: pd.DataFrame({CANARY: words}),
        lambda: pd.DataFrame({f"{CANARY} a": words, f"{CANARY} b": numbers}),
        lambda: pd.DataFrame({CANARY_NUMBER: numbers, "b": words}),
        lambda: pd.DataFrame(),
    ]
    polars: list[Callable[[], object]] = [
        lambda: pl.Series(words, dtype=pl.String),
        lambda: pl.Series(words, dtype=pl.Categorical),
        lambda: pl.Series(holes, dtype=pl.String),
        lambda: pl.Series(numbers, dtype=chance.choice([pl.UInt8, pl.Int16, pl.Int64, pl.UInt64])),
        lambda: pl.Series(numbers, dtype=chance.choice([pl.Float32, pl.Int128, pl.Decimal])),
        lambda: pl.Series([None] * size, dtype=pl.Null),
        lambda: pl.Series([[1]] * size, dtype=pl.List(pl.Int64)),
        lambda: pl.Series([_FIXED] * size, dtype=pl.Object),
        lambda: pl.Series([b"a"] * size, dtype=pl.Binary).slice(size // 2),
        lambda: pl.DataFrame({CANARY: words}),
        lambda: pl.DataFrame({f"{CANARY} a": words, f"{CANARY} b": numbers}),
        lambda: pl.DataFrame({CANARY: words}).lazy(),
        lambda: pl.DataFrame(),
    ]
    return chance.choice(pandas if chance.random() < 0.5 else polars)()


def _late(chance: Random, disturbance: Disturbance) -> Any:
    """Return an iterable that disturbs or raises after some items, or lies about its length."""
    values, error, does = good_batch(chance, disturbance)[:20], raised(chance), chance.randrange(4)

    def generate() -> Any:
        yield from values
        if does == 0:
            raise error
        if does == 1:
            disturbance()
        yield hostile(chance, disturbance) if does == 2 else f"{CANARY} last"

    class Sequence:
        def __len__(self) -> int:
            return chance.choice([0, 1, 10**6, 2**62])

        def __getitem__(self, at: int) -> object:
            return values[at]

    class Hinted:
        def __iter__(self) -> Any:
            return generate()

        def __length_hint__(self) -> int:
            return chance.choice([0, 1, 2**62, 2**40])

    class Growing(list):
        def __iter__(self) -> Any:
            for value in values:
                self.append(value)
                yield value

    made = [generate, Sequence, Hinted, lambda: Growing(values), lambda: dict.fromkeys(values)]
    return chance.choice(
        [*made, lambda: (type(one).__name__ for one in generate()), lambda: set(values)]
    )()


def _changing(chance: Random, disturbance: Disturbance) -> Any:
    """Return a list or an array that its own element changes while it is converted."""
    values: list[Any] = good_batch(chance, disturbance)[:20]

    class Element:
        def __index__(self) -> int:
            values.clear()
            return 1

        def __hash__(self) -> int:
            values.extend(range(50))
            return 1

        def __arrow_c_array__(self, requested: object = None) -> None:
            values[:] = [None] * 3

    values.insert(chance.randrange(len(values) + 1), Element())
    return values if chance.random() < 0.7 else np.array(values, dtype=object)


def _buffers(chance: Random, _: Disturbance) -> Any:
    made: list[Callable[[], object]] = [
        lambda: memoryview(chance.randbytes(24)),
        lambda: memoryview(chance.randbytes(24)).cast("q"),
        lambda: memoryview(chance.randbytes(24)).cast("B", (4, 6)),
        lambda: (ctypes.c_int64 * 3)(1, 2, 3),
        lambda: bytearray(b"abc"),
        lambda: memoryview(np.zeros(5))[::2],
    ]
    return chance.choice(made)()


def items(chance: Random, disturbance: Disturbance) -> Any:
    """Return a batch of items, one time in four a plain one."""
    makers: list[Callable[[Random, Disturbance], Any]] = [
        *(good_batch, good_batch, good_batch, numpy_array, numpy_array, arrow_batch, arrow_batch),
        *(frame, _late, _changing, exporter, _buffers, hostile),
        lambda c, d: [_element(c, d) for _ in range(c.randrange(6))],
        lambda c, d: tuple(_element(c, d) for _ in range(c.randrange(6))),
    ]
    return chance.choice(makers)(chance, disturbance)


def weights(chance: Random, disturbance: Disturbance) -> Any:
    """Return weights: of a wrong number, type or range, or right ones."""
    size = chance.choice([0, 1, 3, 20, 300])
    right: list[object] = [chance.choice([0, 1, 2, 3]) for _ in range(size)]
    wrong = [
        *right,
        chance.choice([-1, 4, 2**63, 2**64, 10**30, 1.5, None, "1", True, float("nan")]),
    ]
    makers: list[Callable[[], object]] = [
        lambda: right,
        lambda: np.array(right, dtype=chance.choice(["i8", "u1", ">i4", "f8", "O", "?", "u8"])),
        lambda: wrong,
        lambda: np.array(wrong, dtype=object),
        lambda: iter(right),
        lambda: [*right, hostile(chance, disturbance)],
        lambda: arrow_batch(chance, disturbance),
        lambda: frame(chance, disturbance),
        lambda: _late(chance, disturbance),
        lambda: _changing(chance, disturbance),
        lambda: exporter(chance, disturbance),
        lambda: hostile(chance, disturbance),
        lambda: numpy_array(chance, disturbance),
    ]
    return None if chance.random() < 0.4 else chance.choice(makers)()


def positions(chance: Random, disturbance: Disturbance) -> Any:
    """Return positions of rows: ascending ones, or any weights."""
    if chance.random() < 0.6:
        return sorted(chance.sample(range(10), chance.randrange(5)))
    return weights(chance, disturbance) if chance.random() < 0.5 else hostile(chance, disturbance)
