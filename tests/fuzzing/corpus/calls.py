"""Calls that once aborted, hung, panicked, showed an item or raised another class of error."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from tests.fuzzing.verdicts import CANARY

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError
from lazysketch.sources import open_source
from lazysketch.testing import draws, seeded_key

__all__ = ["CALLS", "Expected"]

# The classes of which the error is one; NoneType among them if the call may be accepted.
Expected: TypeAlias = tuple[type, ...]

_NOISE: Final[dict[str, Any]] = {"epsilon": 1.0, "delta": 1e-6}
_HEAVY: Final[dict[str, Any]] = {**_NOISE, "share": 0.2, "width": 32, "depth": 2}
_WRONG: Final = (ArgumentTypeError, ArgumentValueError, ItemError)
_TOO_LARGE: Final = (*_WRONG, MemoryError)
_ACCEPTED: Final = (type(None),)


def _sketch() -> ls.LazyCountMin:
    return ls.LazyCountMin(depth=2, width=8, **_NOISE, key=seeded_key(1))


def _live() -> Iterator[tuple[str, Any]]:
    yield "sketch", _sketch()
    yield "exact sketch", ls.CountMin(depth=2, width=8)
    yield "counters", ls.ContinualCounters(counters=3, **_NOISE)
    yield "heavy hitters", ls.HeavyHitters(**_HEAVY, discovery_epoch=60)
    yield "hierarchy", ls.HierarchicalHeavyHitters(ls.dns_names(1), **_HEAVY, discovery_epoch=60)
    yield "windows", ls.Windows(**_HEAVY, every=100)


class _Answers:
    """An object whose PyCapsule method gives an answer."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.answer()


class _Streams(_Answers):
    __arrow_c_array__ = property()  # type: ignore[assignment]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.answer()


def _capsule(name: bytes) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return new(ctypes.addressof(_ROOM), name, None)


_ROOM: Final = ctypes.create_string_buffer(512)


def _used() -> object:
    pair = pa.array(["a"]).__arrow_c_array__()
    once = _Answers(lambda: pair)
    _sketch().update_many(once)
    return once


def _used_stream() -> object:
    stream = pa.table({"a": ["a"]}).__arrow_c_stream__()
    once = _Streams(lambda: stream)
    _sketch().update_many(once)
    return once


def _broken_text() -> pa.Array:
    offsets = pa.py_buffer(np.array([0, 9, 3, 40], dtype="i4"))
    return pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"x" * 40)])


def _zero_width(size: int) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(0), size, [None, pa.py_buffer(b"")])


def _released() -> memoryview:
    view = memoryview(b"abc")
    view.release()
    return view


# Whether an empty batch of a type without items is an error is not what is asked here.
_EMPTY: Final[dict[str, Callable[[], object]]] = {
    "no column": lambda: pa.StructArray.from_arrays([], []),
    "released memory": _released,  # Python 3.11 iterates over it without an error
    "empty series": lambda: pl.Series([], dtype=pl.Null),
    "empty array": lambda: np.array([], dtype=object),
}


_BATCHES: Final[dict[str, Callable[[], object]]] = {
    "used capsule": _used,
    "used stream": _used_stream,
    "None instead of capsules": lambda: _Answers(lambda: None),
    "a list instead of capsules": lambda: _Answers(list),
    "one capsule instead of two": lambda: _Answers(lambda: pa.array([1]).__arrow_c_array__()[:1]),
    "capsules of other names": lambda: _Answers(lambda: (_capsule(b"a"), _capsule(b"b"))),
    "released structures": lambda: _Answers(
        lambda: (_capsule(b"arrow_schema"), _capsule(b"arrow_array"))
    ),
    "a released stream": lambda: _Streams(lambda: _capsule(b"arrow_array_stream")),
    "swapped capsules": lambda: _Answers(lambda: pa.array([1]).__arrow_c_array__()[::-1]),
    "offsets that fall": _broken_text,
    "null series of polars": lambda: pl.Series([None, None], dtype=pl.Null),
    "objects of polars": lambda: pl.Series([object()], dtype=pl.Object),
    "128-bit integers of polars": lambda: pl.Series([1, 2], dtype=pl.Int128),
    "two columns named by items": lambda: pd.DataFrame(
        {f"{CANARY} a": ["x"], f"{CANARY} b": ["y"]}
    ),
    "items of zero width without data": lambda: _zero_width(2**50),
    "nulls without data": lambda: pa.nulls(2**50),
    "structured array": lambda: np.zeros(3, "i4,f8"),
    "array without dimensions": lambda: np.array(CANARY, dtype=object),
}


def _times_that_are_no_text() -> None:
    live = _of_range()
    offsets = pa.py_buffer(np.array([0, 12], dtype="i4"))
    text = pa.py_buffer(f"{CANARY} \xff".encode("latin-1") + bytes(2))
    times = pa.Array.from_buffers(pa.string(), 1, [None, offsets, text])
    live.update_many([1], times=pa.table({"a": times}))


def _batches() -> Iterator[tuple[str, Callable[[], object], Expected]]:
    for name, live in _live():
        for batch, make in _BATCHES.items():
            yield f"{name}: {batch}", partial(_update, live, make), _TOO_LARGE
        for empty, make in _EMPTY.items():
            yield f"{name}: {empty}", partial(_update, live, make), (*_WRONG, *_ACCEPTED)


def _update(live: Any, make: Callable[[], object]) -> None:
    live.update_many(make())


class _WithoutIterator(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return {}


class _Unmeasured(tuple):  # type: ignore[type-arg]
    def __len__(self) -> Any:
        return None


class _WithoutParts(tuple):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return 3


class _Resizes:
    """A weight that resizes the array of items while weights are converted."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __index__(self) -> int:
        self.array.resize(1 << 20, refcheck=False)
        return 1


def _resized() -> None:
    items = np.arange(3)
    _sketch().update_many(items, [_Resizes(items), 1, 1])


def _of_range() -> ls.Windows:
    return ls.Windows(**_HEAVY, every="1h", begin="2026-01-01", end="2026-01-02")


def _broken_views() -> pa.Array:
    views = struct.pack("<i4sii", 30, CANARY[:4].encode(), 2**31 - 1, 2**31 - 1)
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"x" * 40)]
    return pa.Array.from_buffers(pa.string_view(), 1, buffers, -1)


class _Endless(Sequence[Any]):
    """A sequence that goes on after its length."""

    def __getitem__(self, at: object) -> Any:
        return 1

    def __len__(self) -> int:
        return 3


def _opened(**settings: Any) -> object:
    return open_source("/dev/null", **settings)


class _NoTruth:
    def __bool__(self) -> bool:
        return 3  # type: ignore[return-value]


# What windows convert themselves: to NumPy, which some columns of pyarrow and polars cannot.
_COLUMNS: Final[dict[str, Callable[[], object]]] = {
    "128-bit integers of polars": lambda: pl.Series([1], dtype=pl.Int128),
    "a table of unions": lambda: pa.table(
        {"a": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([CANARY])])}
    ),
    "broken views": _broken_views,
    "a table of broken views": lambda: pa.table({"a": _broken_views()}),
}


def _columns_of_windows() -> Iterator[tuple[str, Callable[[], object], Expected]]:
    for name, make in _COLUMNS.items():
        times = lambda make=make: _of_range().update_many([1], times=make())  # noqa: E731
        weights = lambda make=make: _of_range().update_many([1], make(), times=[0])  # noqa: E731
        items = lambda make=make: _of_range().update_many(make(), times=[0])  # noqa: E731
        yield f"times: {name}", times, _WRONG
        yield f"weights: {name}", weights, (*_WRONG, *_ACCEPTED)
        yield f"items: {name}", items, _WRONG


def _hardly_confident(kind: Any, confidence: float) -> object:
    live = kind(depth=5, width=33, **_NOISE, key=seeded_key(1))
    live.update_many(["a"] * 8)
    return live.interval_many(["a", "b"], confidence=confidence)


_CONSTRUCTIONS: Final[dict[str, tuple[Callable[[], object], Expected]]] = {
    "a table of a terabyte": (lambda: ls.CountMin(depth=64, width=2**24), (ArgumentValueError,)),
    "max_item_bytes below 0": (
        lambda: ls.HeavyHitters(**_HEAVY, max_item_bytes=-1),
        (ArgumentValueError,),
    ),
    "max_item_bytes of 2^32": (
        lambda: ls.HeavyHitters(**_HEAVY, max_item_bytes=2**32),
        (ArgumentValueError,),
    ),
    "a duration as epsilon": (
        lambda: ls.LazyCountMin(depth=2, width=8, epsilon=np.timedelta64(3, "s"), delta=1e-6),
        (ArgumentTypeError,),
    ),
    "a number as prefix lengths": (lambda: ls.ipv4_prefixes(np.int64(3)), (ArgumentTypeError,)),
    "a number as paths": (lambda: open_source(3), (ArgumentTypeError,)),
    "bytes as a path": (lambda: open_source(b"x"), (ArgumentTypeError,)),
    "a set as encoding": (lambda: open_source("/dev/null", encoding={1}), (ArgumentTypeError,)),
    "a surrogate as column": (
        lambda: _sketch().update_many(pa.table({"a": [1]}), column="\ud800"),
        _WRONG,
    ),
    "a long column": (
        lambda: _sketch().update_many([1], column="x" * 70_000),
        (ArgumentTypeError,),
    ),
    "times that are not UTF-8": (_times_that_are_no_text, (ArgumentTypeError,)),
    **{
        f"a long {name}": (partial(_opened, **{name: "x" * 70_000}), (ArgumentValueError,))
        for name in ("format", "delimiter", "encoding", "item_type", "time_unit")
    },
    "a long schedule": (
        lambda: ls.ContinualCounters(counters=2, horizon=9, schedule="x" * 70_000, **_NOISE),
        (ArgumentValueError,),
    ),
    "a clip without an end": (
        lambda: open_source("/dev/null", field="a", weight="b", max_weight=10**5000),
        (ArgumentValueError,),
    ),
    "an integer as truth": (lambda: open_source("/dev/null", strict=1), (ArgumentTypeError,)),
    "an interval of saves above all floats": (
        lambda: ls.PeriodicSaves(_sketch().release, "a.lzs", seconds=10**400),
        (ArgumentValueError,),
    ),
    "bytes of NumPy as slices": (
        lambda: ls.Windows(**_HEAVY, every=100, slices=np.void(b"abc")),
        (ArgumentTypeError,),
    ),
    "a clock above all floats": (
        lambda: ls.Windows(**_HEAVY, every="1h", clock=lambda: 10**400),
        (ArgumentValueError,),
    ),
    "a value without truth": (
        lambda: ls.Windows(**_HEAVY, every=100).top(3, include_open=_NoTruth()),
        (ArgumentTypeError,),
    ),
    "broken views as pushes": (
        lambda: ls.Mechanism("haar", leaves=8).variances(_broken_views()),
        (ArgumentTypeError,),
    ),
    "broken views as cells": (
        lambda: draws(_sketch(), cells=_broken_views(), nodes=[1]),
        (ArgumentTypeError,),
    ),
    "endless paths": (lambda: open_source(_Endless()), (MemoryError, ArgumentTypeError)),
    "endless prefix lengths": (lambda: ls.ipv4_prefixes(_Endless()), (ArgumentValueError,)),
    "endless level weights": (
        lambda: ls.HierarchicalHeavyHitters(
            ls.dns_names(1), **_HEAVY, discovery_epoch=60, level_weights=_Endless()
        ),
        (ArgumentValueError,),
    ),
    "endless names of an item": (
        lambda: ls.Levels(("a", "b"), lambda _: _Endless()).of("a"),
        (ItemError,),
    ),
    "released memory as prefix lengths": (
        lambda: ls.ipv4_prefixes(_released()),
        (ArgumentTypeError,),
    ),
    "a sample of values without an order": (
        lambda: ls.plan(steps=100, memory=30_000, **_NOISE, sample=np.array([1, "a"], object)),
        (*_WRONG, *_ACCEPTED),
    ),
    **{
        f"{kind.__name__} at confidence {confidence}": (
            partial(_hardly_confident, kind, confidence),
            _ACCEPTED,
        )
        for kind in (ls.LazyCountMin, ls.LazyCountSketch)
        for confidence in (1e-3, 1e-17)
    },
    "a list without an iterator": (
        lambda: _sketch().release().top(_WithoutIterator([1])),
        (ArgumentTypeError,),
    ),
    "a kind that cannot be compared": (
        lambda: ls.HeavyHitters(**_HEAVY, kind=np.void(b"abc")),
        (ArgumentTypeError,),
    ),
    "a pair without a length": (
        lambda: ls.Geometric(growth=_Unmeasured((1, 2))),
        _ACCEPTED,
    ),
    "parts that give no iterator": (
        lambda: ls.Composition(_WithoutParts((1, 2))),
        (ArgumentTypeError,),
    ),
    "names of levels without a length": (
        lambda: ls.Levels(_Unmeasured(("a", "b")), lambda item: (item, item)).of("a"),
        _ACCEPTED,
    ),
    "items resized by a weight": (_resized, (*_WRONG, *_ACCEPTED)),
}

CALLS: Final[list[tuple[str, Callable[[], object], Expected]]] = [
    *_batches(),
    *_columns_of_windows(),
    *((name, call, expected) for name, (call, expected) in _CONSTRUCTIONS.items()),
]
