"""Batches of any layout are counted completely or refused completely."""

from __future__ import annotations

import contextlib
import random
import string
from collections.abc import Callable, Sized

import numpy as np
import pyarrow as pa
import pytest
from tests.fuzzing.mutations import rounds

import lazysketch as ls
from lazysketch.errors import LazySketchError

WORDS = ["", "a", "203.0.113.9", "ä" * 9, "\0", "\U0001f600", "x" * 300, "\u202e"]
NUMPY = ["i1", "u1", "<i2", ">i2", "<i4", ">u4", "<i8", ">i8", "<u8", ">u8", "f4", "f8", "?"]
NUMPY += ["S3", "<U3", ">U3", "M8[s]", "m8[us]", "c8", "O", "V4", "f2"]
ARROW = [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.string(), pa.large_string()]
ARROW += [pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4)]
ARROW += [pa.float64(), pa.bool_(), pa.null(), pa.date32(), pa.list_(pa.int8()), pa.float16()]
ARROW += [pa.timestamp("s"), pa.decimal128(5, 2), pa.time64("us"), pa.large_list(pa.string())]


def numpy_array(chance: random.Random) -> object:
    size = chance.randrange(0, 40)
    kind = np.dtype(chance.choice(NUMPY))
    raw = np.frombuffer(chance.randbytes(size * kind.itemsize or 8), dtype=np.uint8)
    if kind.kind in "OV":
        array = np.array([chance.choice([1, "a", None, b"b", 1.5, ()]) for _ in range(size)], "O")
    elif kind.kind == "U":
        array = np.array([chance.choice(WORDS)[:3] for _ in range(size)], kind)
    else:
        array = raw[: size * kind.itemsize].copy().view(kind)
    if chance.random() < 0.3:
        array = array[:: chance.choice([-1, 2, -3])]
    if chance.random() < 0.1:
        array = array.reshape(-1, 1)
    if chance.random() < 0.1:
        array = np.ma.masked_array(array)
    return array


def arrow_values(kind: pa.DataType, size: int, chance: random.Random) -> list[object]:
    makers: dict[str, Callable[[], object]] = {
        "list": list,
        "string": lambda: "".join(chance.choices(string.printable, k=chance.randrange(20))),
        "fixed_size_binary": lambda: chance.randbytes(4),
        "binary": lambda: chance.randbytes(chance.randrange(30)),
        "bool": lambda: chance.random() < 0.5,
        "halffloat": lambda: np.float16(chance.random()),
        "double": chance.random,
        "null": lambda: None,
    }
    named = (make for name, make in makers.items() if name in str(kind))
    make = next(named, lambda: chance.randrange(128))
    holes = chance.random() < 0.3
    return [None if holes and chance.random() < 0.2 else make() for _ in range(size)]


def arrow_array(chance: random.Random) -> object:
    size, kind = chance.randrange(0, 40), chance.choice(ARROW)
    values = arrow_values(kind, size, chance)
    array = pa.array(values, type=None if "decimal" in str(kind) else kind)
    if chance.random() < 0.2 and len(array):
        with contextlib.suppress(pa.ArrowException):
            array = array.dictionary_encode()
    if chance.random() < 0.4 and size:
        start = chance.randrange(size)
        array = array.slice(start, chance.randrange(size - start + 1))
    shape = chance.randrange(4)
    if shape == 1:
        return pa.chunked_array([array, array.slice(len(array) // 2)])
    if shape == 2:
        return pa.table({"a": array})
    if shape == 3:
        return pa.table({"a": array, "b": array})
    return array


def python_items(chance: random.Random) -> object:
    pool: list[object] = [
        *WORDS,
        b"",
        b"\xff",
        0,
        -1,
        2**63,
        -(2**63),
        2**64,
        10**30,
        True,
        None,
        1.5,
    ]
    values = [chance.choice(pool) for _ in range(chance.randrange(6))]
    containers: list[Callable[[list[object]], object]] = [
        list,
        tuple,
        iter,
        set,
        lambda v: (x for x in v),
    ]
    return chance.choice(containers)(values)


def weights(chance: random.Random) -> object:
    if chance.random() < 0.6:
        return None
    size = chance.randrange(40)
    made = [chance.choice([0, 1, 2, 3, 3, 4, -1, 2**64, 1.5]) for _ in range(size)]
    return (
        np.ones(size, "i8") if chance.random() < 0.3 else chance.choice([made, np.array(made, "O")])
    )


def sized(items: object) -> int | None:
    if isinstance(items, pa.Table):
        return int(items.num_rows)
    return len(items) if isinstance(items, Sized) else None


SCHEDULES: list[ls.RoundRobin | ls.Punctual | None] = [
    None,
    ls.RoundRobin(horizon=10**6),
    ls.Punctual(horizon=10**6),
]


@pytest.mark.parametrize("kind", ["count-min", "count-sketch", "exact"])
def test_batches_of_any_layout(kind: str) -> None:
    counted = refused = 0
    sketch: ls.CountMin | ls.LazyCountMin | ls.LazyCountSketch | None = None
    for chance, name in rounds():
        if sketch is None or chance.random() < 0.01:
            if kind == "exact":
                sketch = ls.CountMin(depth=2, width=8)
            else:
                made = ls.LazyCountMin if kind == "count-min" else ls.LazyCountSketch
                sketch = made(
                    depth=2,
                    width=8,
                    epsilon=1.0,
                    delta=1e-6,
                    max_weight=3,
                    schedule=chance.choice(SCHEDULES),
                )
        items = chance.choice([numpy_array, arrow_array, python_items])(chance)
        expected, before = sized(items), sketch.step
        try:
            sketch.update_many(items, weights(chance))
            counted += 1
            assert expected is None or sketch.step - before == expected
        except LazySketchError as error:
            refused += 1
            if sketch.step != before or len(str(error)) > 1000:
                pytest.fail(f"{name}: a part of a batch was counted, or {error!r}")
        except BaseException as error:
            pytest.fail(f"{name}: {error!r}")
        sketch.release()
    assert counted > 0
    assert refused > 0
