"""From columns of text, as the native core cuts them out of rows, to items and times.

Items are an Arrow array on the same memory, which is counted without a value of Python
per item. Without pyarrow they are a list of ``str``, at about 0.1 us each.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lazysketch.sources.formats.timestamps import times_of_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    # Offsets and UTF-8: text i is data[offsets[i] : offsets[i + 1]].
    TextColumn: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint8]]
    ToItems: TypeAlias = Callable[[TextColumn], Sequence[Any]]

_END = ord("\n")


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


def times_of_text(column: TextColumn, *, unit: str) -> NDArray[np.int64]:
    """Return the instant of each text of a column."""
    offsets, data = column
    return times_of_bytes(data, ends=offsets[1:], lengths=np.diff(offsets), unit=unit)
