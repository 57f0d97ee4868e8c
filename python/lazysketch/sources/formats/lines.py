"""Lines of text, and text columns of the native core as items.

Each line is an item; an empty line is a row without an item. The native core
(``rust/text``) splits the lines, about 15 ns each.

Items of a text column are an Arrow array on the same memory, which is counted without
one Python object per item. Without pyarrow they are a list of ``str``, about 0.1 us each.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lazysketch._native import line_items
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lazysketch.sources.batch import Items
    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream
    from lazysketch.sources.io.text_blocks import TextColumn

    ToItems: TypeAlias = Callable[[TextColumn], Items]

_END = ord("\n")


def read_lines(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the lines as items, without their line ends."""
    to_items = items_of_text()
    for block in row_blocks(stream, encoding=selection.encoding, skipped=stream.rows_skipped):
        column, malformed = line_items(block)
        yield RowBatch(items=to_items(column), malformed=malformed.tolist())


def looks_like_lines(head: Head) -> bool:  # noqa: ARG001 -- any head qualifies
    """Return True: lines are the fallback."""
    return True


def items_of_text() -> ToItems:
    """Return the function that makes items of a column: an Arrow array, or a list without pyarrow.

    Example:
        >>> import numpy as np
        >>> items = items_of_text()((np.array([0, 2, 3]), np.frombuffer(b"abc", np.uint8)))
        >>> list(map(str, items))
        ['ab', 'c']
    """
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return listed
    text = pa.large_string()

    def as_arrow(column: TextColumn) -> Items:
        offsets, data = column
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        array: Items = pa.Array.from_buffers(text, len(offsets) - 1, buffers)
        return array

    return as_arrow


def listed(column: TextColumn) -> list[str]:
    """Return the texts of a column as a list."""
    offsets, data = column
    if len(offsets) == 1:
        return []
    if _END in data:  # a JSON string may contain a line end, so they cannot be split at one
        texts, bounds = data.tobytes(), offsets.tolist()
        return [texts[begin:end].decode() for begin, end in pairwise(bounds)]
    rows = np.insert(data, offsets[1:-1], _END).tobytes()
    return rows.decode().split("\n")
