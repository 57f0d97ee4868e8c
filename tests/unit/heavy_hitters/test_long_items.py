"""Long items of columns that refer to the same memory in many rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tests.unit.heavy_hitters.test_discovery import expected, make, names, stream

# Two chunks of the core, and two batches of 50: an epoch of one would begin with nothing known.
EPOCH = 100
LONG = ["x" * (600 + number % 7) + f"{number:04}" for number in range(40)]


def test_entries_of_a_dictionary_are_told_apart() -> None:
    numbers = stream()
    column = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int8()), pa.array(LONG))
    sketch = make(max_item_bytes=1024, epoch=EPOCH)
    sketch.update_many(column)
    assert names(sketch) == expected(sketch, [LONG[number] for number in numbers], epoch=EPOCH)
    assert len(names(sketch)) > 1


def _views(numbers: npt.NDArray[np.int64]) -> pa.Array:
    """Text that begins at the same byte and differs in length only."""
    buffer = b"y" * 1000
    records = b"".join(
        length.to_bytes(4, "little") + b"yyyy" + bytes(8) for length in (600 + numbers).tolist()
    )
    buffers = [None, pa.py_buffer(records), pa.py_buffer(buffer)]
    column = pa.Array.from_buffers(pa.string_view(), len(numbers), buffers)
    column.validate(full=True)
    return column


def test_items_at_one_place_that_differ_in_length_are_told_apart() -> None:
    column = _views(np.array(stream()))
    sketch = make(max_item_bytes=1024, epoch=EPOCH)
    sketch.update_many(column)
    assert names(sketch) == expected(sketch, column.to_pylist(), epoch=EPOCH)
    assert len(names(sketch)) > 1


def test_memory_that_holds_another_item_in_the_next_batch() -> None:
    memory = bytearray(b"a" * 600)
    offsets = pa.py_buffer(np.array([0, 600], dtype=np.int32))
    sketch, items = make(max_item_bytes=1024, epoch=EPOCH), []
    for letter in b"ab":
        memory[:] = bytes([letter]) * 600
        entry = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(memory)])
        sketch.update_many(pa.DictionaryArray.from_arrays(pa.array(np.zeros(50, np.int8)), entry))
        items += [chr(letter) * 600] * 50
    assert names(sketch) == expected(sketch, items, epoch=EPOCH)
    assert len(names(sketch)) == 2
