"""Lines of text: each line is an item; an empty line is a row without one.

Cut by the native core (``rust/rows``), about 15 ns per line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch._native import line_items
from lazysketch.sources.batch import Batch
from lazysketch.sources.formats.text_columns import items_of_text
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.formats.selection import Head, Selection
    from lazysketch.sources.io.byte_stream import ByteStream


def read_lines(stream: ByteStream, selection: Selection) -> Iterator[Batch]:
    """Yield the lines as items, unchanged but for their end."""
    to_items = items_of_text()
    for block in row_blocks(stream, encoding=selection.encoding):
        column, malformed = line_items(block)
        yield Batch(items=to_items(column), malformed=malformed.tolist())


def looks_like_lines(head: Head) -> bool:  # noqa: ARG001 -- any text does
    """Return True: what is nothing else is lines."""
    return True
