"""Lines of text: each line is an item; an empty line is a row without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.sources.batch import Batch
from lazysketch.sources.text import text_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.opening import ByteStream
    from lazysketch.sources.reader import Head, Selection


def read_lines(stream: ByteStream, selection: Selection) -> Iterator[Batch]:
    """Yield the lines as items, unchanged but for their end."""
    for text in text_blocks(stream, encoding=selection.encoding):
        rows = text.split("\n")
        rows.pop()  # what follows the last line's end
        yield Batch.from_rows(rows)


def looks_like_lines(head: Head) -> bool:  # noqa: ARG001 -- any text does
    """Return True: what is nothing else is lines."""
    return True
