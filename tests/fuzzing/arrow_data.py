"""Arrow data of every type, valid or broken within what a consumer can check.

The C data interface carries no sizes of buffers, so a consumer cannot detect a buffer that is too
short. Broken arrays here keep their buffers long enough: offsets, indices, run ends, child lengths,
view contents, bits and texts are wrong, but none of them makes a correct check read out of bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import datetime, timezone
from random import Random
from typing import Any, Final

import pyarrow as pa
from tests.fuzzing.verdicts import CANARY, CANARY_NUMBER

__all__ = ["arrow_batch", "broken_array", "whole_array"]

_DATA: Final = (CANARY.encode() + b"\xff\xfe ab") * 40
_SCALARS: Final = [
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()),
    *(pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.date64()),
    *(pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.timestamp("ms", "+23:59"), pa.time32("s")),
    *(pa.timestamp("us", "Nowhere/Town"), pa.time64("ns"), pa.duration("ms"), pa.binary(16)),
    *(pa.month_day_nano_interval(), pa.decimal128(9, 2), pa.decimal256(40, 3), pa.binary(0)),
    *(pa.decimal32(5, 1), pa.decimal64(12, 1), pa.timestamp("ns"), pa.binary(4)),
]
_TEXTS: Final = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()),
    pa.binary_view(),
]


def _bits(size: int, chance: Random) -> pa.Buffer:
    return pa.py_buffer(chance.randbytes(size // 8 + 9))


def _fixed(kind: pa.DataType, size: int, chance: Random) -> pa.Array:
    """Return an array of any bits; only booleans have less than a byte per value."""
    width = max(kind.bit_width // 8, 1) if kind.bit_width else 0
    data = pa.py_buffer(chance.randbytes(width * size + 16))
    return pa.Array.from_buffers(kind, size, [_validity(size, chance), data], -1)


def _validity(size: int, chance: Random) -> pa.Buffer | None:
    return _bits(size, chance) if chance.random() < 0.3 else None


def _texts(kind: pa.DataType, size: int, chance: Random) -> pa.Array:
    words = [f"{CANARY} {chance.choice(['', 'ä', 'long ' * 5])}{chance.randrange(9)}"] * size
    values = [None if chance.random() < 0.02 else word for word in words]
    binary = "binary" in str(kind)
    return pa.array([v and v.encode() if binary else v for v in values], kind)


def _nested(size: int, chance: Random) -> pa.Array:
    words = [f"{CANARY} {at % 3}" for at in range(size)]
    makers: list[Callable[[], pa.Array]] = [
        lambda: pa.array([[word] for word in words], pa.list_(pa.string())),
        lambda: pa.array([[1, 2]] * size, pa.list_(pa.int8(), 2)),
        lambda: pa.array([[1]] * size, pa.large_list_view(pa.int64())),
        lambda: pa.array([{CANARY: word} for word in words], pa.struct([(CANARY, pa.string())])),
        lambda: pa.array([{"a": 1, CANARY: 2}] * size),
        lambda: pa.array([[("k", 1)]] * size, pa.map_(pa.string(), pa.int64())),
        lambda: pa.array([None] * size, pa.struct([("a", pa.int64())])),
        lambda: pa.StructArray.from_arrays([], []),
        lambda: pa.nulls(size),
        lambda: pa.UnionArray.from_sparse(pa.array([0] * size, pa.int8()), [pa.array(words)]),
        lambda: pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"x" * 16] * size, pa.binary(16))
        ),
        lambda: pa.ExtensionArray.from_storage(pa.json_(), pa.array(words, pa.string())),
        lambda: pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, size + 1), pa.int32()), pa.array(words)
        ),
    ]
    return chance.choice(makers)()


def whole_array(chance: Random) -> pa.Array:
    """Return a valid array of any type, perhaps sliced or dictionary-encoded."""
    size = chance.choice([0, 1, 3, 20, 60, 300])
    which = chance.random()
    if which < 0.4:
        array = _texts(chance.choice(_TEXTS), size, chance)
    elif which < 0.55:
        array = pa.array([CANARY_NUMBER * 1000 + n % 7 for n in range(size)], pa.int64())
    elif which < 0.6:
        moment = datetime(2026, 5, 17, tzinfo=timezone.utc)
        array = pa.array([moment] * size, pa.timestamp("us", "Europe/Berlin"))
    elif which < 0.8:
        array = _fixed(chance.choice(_SCALARS), size, chance)
    else:
        array = _nested(size, chance)
    if chance.random() < 0.2:
        try:
            array = array.dictionary_encode()
        except (pa.ArrowException, NotImplementedError):
            return array
    if chance.random() < 0.4 and len(array):
        start = chance.randrange(len(array))
        array = array.slice(start, chance.randrange(len(array) - start + 1))
    return array


def _offsets(size: int, chance: Random, *, code: str) -> pa.Buffer:
    """Return offsets into _DATA that need not rise; some are negative."""
    most = len(_DATA)
    found = sorted(chance.randrange(most + 1) for _ in range(size + 1))
    for _ in range(chance.choice([0, 1, 3])):
        found[chance.randrange(len(found))] = chance.choice(
            [0, most, -1, 3, chance.randrange(most)]
        )
    return pa.py_buffer(struct.pack(f"<{len(found)}{code}", *found) + bytes(16))


def _broken_text(chance: Random) -> pa.Array:
    kind, size = chance.choice(_TEXTS[:2] + _TEXTS[3:5]), chance.choice([1, 3, 40])
    code = "q" if "large" in str(kind) else "i"
    return pa.Array.from_buffers(
        kind,
        size,
        [_validity(size, chance), _offsets(size, chance, code=code), pa.py_buffer(_DATA)],
        chance.choice([-1, 0, size]),
    )


def _broken_views(chance: Random) -> pa.Array:
    """Return views with a wrong buffer, start, length, prefix or padding."""
    size, views = chance.choice([1, 3, 40]), b""
    for _ in range(size):
        length = chance.choice([0, 3, 12, 13, 30, -1, 2**31 - 1])
        start = chance.choice([0, 5, len(_DATA) - 13, len(_DATA), -1, 2**31 - 1])
        prefix = _DATA[max(start, 0) :][:4].ljust(4, b"\0")
        views += struct.pack(
            "<i4sii", length, prefix, chance.choice([0, 0, 0, 1, -1, 2**31 - 1]), start
        )
    return pa.Array.from_buffers(
        chance.choice([pa.string_view(), pa.binary_view()]),
        size,
        [_validity(size, chance), pa.py_buffer(views), pa.py_buffer(_DATA)],
        -1,
    )


def _broken_dictionary(chance: Random) -> pa.Array:
    """Return indices that are negative or after the end, or a dictionary that is broken itself."""
    words = pa.array([f"{CANARY} {n}" for n in range(3)])
    kind = chance.choice([pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()])
    limits = {"uint8": 255, "uint64": 2**64 - 1}.get(str(kind), 127)
    values = [chance.choice([0, 1, 2, 3, limits, None]) for _ in range(10)]
    if not str(kind).startswith("u"):
        values.append(-1)
    dictionary = chance.choice(
        [words, pa.array([None, "a"]), _broken_text(chance), _nested(3, chance)]
    )
    return pa.DictionaryArray.from_arrays(pa.array(values, kind), dictionary, safe=False)


def _broken_nested(chance: Random) -> pa.Array:
    size = chance.choice([1, 3, 20])
    child = chance.choice([whole_array, _broken_text, _broken_views])(chance)
    makers: list[Callable[[], pa.Array]] = [
        lambda: pa.Array.from_buffers(
            pa.list_(child.type), size, [None, _offsets(size, chance, code="i")], children=[child]
        ),
        lambda: pa.Array.from_buffers(
            pa.struct([(CANARY, child.type)]), size, [_validity(size, chance)], children=[child]
        ),
        lambda: pa.Array.from_buffers(
            pa.run_end_encoded(pa.int32(), child.type),
            size,
            [None],
            children=[
                pa.array([chance.choice([-1, 0, 1, 5, 1]) for _ in range(3)], pa.int32()),
                child,
            ],
        ),
        lambda: pa.Array.from_buffers(pa.list_(child.type, 3), size, [None], children=[child]),
        lambda: pa.Array.from_buffers(
            pa.sparse_union([pa.field("a", child.type)], [3]),
            size,
            [None, pa.py_buffer(chance.randbytes(size + 8))],
            children=[child],
        ),
    ]
    return chance.choice(makers)()


def _enormous(chance: Random) -> pa.Array:
    """Return an array without data whose length is enormous."""
    size = chance.choice([2**31, 2**50, 2**62])
    kind = chance.choice([pa.binary(0), pa.null(), pa.list_(pa.null(), 0), pa.struct([])])
    if kind == pa.null():
        return pa.nulls(size)
    children = [pa.nulls(0)] if pa.types.is_fixed_size_list(kind) else None
    buffers = [None, pa.py_buffer(b"")] if kind == pa.binary(0) else [None]
    return pa.Array.from_buffers(kind, size, buffers, children=children)


def broken_array(chance: Random) -> Any:
    """Return an array that breaks the format; a valid one if pyarrow refuses to make it."""
    makers = [_broken_text, _broken_views, _broken_dictionary, _broken_nested, _enormous]
    try:
        return chance.choice(makers)(chance)
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError, OverflowError):
        return whole_array(chance)


def arrow_batch(chance: Random, _: object = None) -> Any:
    """Return an array, its chunks, a table, a batch or a stream; one in three broken."""
    array = broken_array(chance) if chance.random() < 0.35 else whole_array(chance)
    rows = [{CANARY: "b"}, {}, {"PARQUET:field_id": "1"}]
    makers: list[Callable[[], object]] = [
        lambda: pa.chunked_array([array, array.slice(len(array) // 2)]),
        lambda: pa.chunked_array([], type=array.type),
        lambda: pa.table({CANARY: array}),
        lambda: pa.table({f"{CANARY} a": array, f"{CANARY} b": array}),
        lambda: pa.table([array, array], names=["a", "a"]),
        lambda: pa.record_batch({CANARY: array}),
        lambda: pa.table({CANARY: array}).replace_schema_metadata(chance.choice(rows)),
        lambda: pa.RecordBatchReader.from_batches(
            pa.schema([("a", array.type)]), iter([pa.record_batch({"a": array})])
        ),
        lambda: pa.scalar(CANARY),
        lambda: pa.schema([(CANARY, pa.int64())]),
    ]
    if chance.random() < 0.5:
        return array
    try:
        return chance.choice(makers)()
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError):
        return array
