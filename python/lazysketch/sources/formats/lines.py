"""Lines of text: each line is an item; an empty line is a row without one.

Cut by the native core (``rust/rows``), about 15 ns per line.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lazysketch._native import line_items
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream
    from lazysketch.sources.io.text_blocks import TextColumn

    ToItems: TypeAlias = Callable[[TextColumn], Sequence[Any]]

_END = ord("\n")


def read_lines(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the lines as items, unchanged but for their end."""
    to_items = items_of_text()
    for block in row_blocks(stream, encoding=selection.encoding):
        column, malformed = line_items(block)
        yield RowBatch(items=to_items(column), malformed=malformed.tolist())


def looks_like_lines(head: Head) -> bool:  # noqa: ARG001 -- any text does
    """Return True: what is nothing else is lines."""
    return True


def items_of_text() -> ToItems:
    """Return what makes items of a column, as far as this installation can.

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

    def arrow(column: TextColumn) -> Any:
        offsets, data = column
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(text, len(offsets) - 1, buffers)

    return arrow


def listed(column: TextColumn) -> list[str]:
    """Return the texts of a column; one by one, if one holds the end of a row, as JSON can."""
    offsets, data = column
    if len(offsets) == 1:
        return []
    if _END in data:
        texts, bounds = data.tobytes(), offsets.tolist()
        return [texts[begin:end].decode() for begin, end in pairwise(bounds)]
    rows = np.insert(data, offsets[1:-1], _END).tobytes()
    return rows.decode().split("\n")
