r"""Values of messages as rows: lines of text, JSON lines, or Arrow streams.

A message holds one row or many. Values of text are joined to one block, which the native core
reads; rows of a message end with it, so that a message that ends within a row or a quote cannot
change the rows of the next one. A value that cannot be read has no events. Its partition and offset
are reported, never its content. A message without a value (the mark of a deletion in a compacted
topic) is skipped.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lazysketch._native import line_items
from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.json_lines import block_reader
from lazysketch.sources.formats.typed_items import typed_items
from lazysketch.sources.io.text_blocks import LONGEST_ROW

if TYPE_CHECKING:
    from lazysketch.sources.formats.selection import Selection

__all__ = [
    "MESSAGE_FORMATS",
    "MalformedMessage",
    "ReadValues",
    "values_reader",
    "without_long_rows",
]

MESSAGE_FORMATS = ("lines", "jsonl", "arrow")


class MalformedMessage(NamedTuple):
    """Where a message lies that has rows which cannot be read.

    Attributes:
        topic: its topic.
        partition: its partition.
        offset: its offset.

    Example:
        >>> place = MalformedMessage("visits", 3, 1_200)
        >>> f"{place.topic} [{place.partition}] offset {place.offset}"
        'visits [3] offset 1200'
    """

    topic: str
    partition: int
    offset: int


class ReadValues(NamedTuple):
    """What the values of some messages hold.

    Attributes:
        batches: the rows.
        malformed: indices of the values with rows that cannot be read, ascending.
    """

    batches: list[RowBatch]
    malformed: list[int]


def values_reader(form: str, request: Selection) -> Callable[[Sequence[bytes]], ReadValues]:
    """Return the function that reads values.

    Args:
        form: "lines", "jsonl" or "arrow".
        request: What is read of each row.

    Raises:
        ArgumentTypeError: No field for a format that requires one.
        ArgumentValueError: Another format, or a field of lines.
    """
    if form not in MESSAGE_FORMATS:
        raise ArgumentValueError(
            f"format: expected one of {', '.join(MESSAGE_FORMATS)}, got {shown(form)}"
        )
    if form == "lines":
        if (request.field, request.weight, request.value) != (None, None, None):
            raise ArgumentValueError("field: expected none for lines, each of which is an item")
        _, typed = typed_items(request)
        return _text_reader(lambda block: typed(_lines(block)))
    if request.field is None:
        raise ArgumentTypeError(f"field: expected the name of one for format {form!r}, got none")
    wanted, typed = typed_items(request)
    if form == "arrow":
        return _arrow_reader(wanted, typed)
    read = block_reader(wanted)
    return _text_reader(lambda block: typed(read(block)))


def _lines(block: bytes) -> RowBatch:
    column, malformed = line_items(block)
    return RowBatch(items=column, malformed=malformed.tolist())


def _text_reader(read: Callable[[bytes], RowBatch]) -> Callable[[Sequence[bytes]], ReadValues]:
    def read_values(values: Sequence[bytes]) -> ReadValues:
        whole = [value if value.endswith(b"\n") else value + b"\n" for value in values]
        # Of text in files, a row that is longer than this is an empty one as well.
        kept = [without_long_rows(value) for value in whole]
        batch = read(b"".join(kept))
        if not len(batch.malformed):
            return ReadValues([batch], [])
        ends = [*itertools.accumulate(value.count(b"\n") for value in kept)]
        found = {bisect_right(ends, row) for row in batch.malformed}
        return ReadValues([batch], sorted(found))

    return read_values


def without_long_rows(value: bytes) -> bytes:
    """Return the rows of a value, empty ones in the place of those that are too long.

    Args:
        value: text in lines.
    """
    if len(value) <= LONGEST_ROW:
        return value
    rows = value.split(b"\n")
    return b"\n".join(row if len(row) <= LONGEST_ROW else b"" for row in rows)


def _arrow_reader(
    request: Selection, typed: Callable[[RowBatch], RowBatch]
) -> Callable[[Sequence[bytes]], ReadValues]:
    import pyarrow as pa

    from lazysketch.errors import SourceError
    from lazysketch.sources.formats.arrow_columns import (
        batch_of_columns,
        check_types,
        column_of,
        type_of,
    )

    wanted = dict(request.columns())

    def rows_of(value: bytes) -> list[RowBatch]:
        with pa.ipc.open_stream(value) as stream:
            types = {
                of: type_of(stream.schema, field, of=of, name="message")
                for of, field in wanted.items()
            }
            check_types(types, request, name="message")
            found = []
            for batch in stream:
                columns = {of: column_of(batch, field) for of, field in wanted.items()}
                weights, numbers = columns.get("weight"), columns.get("value")
                rows = batch_of_columns(columns["field"], weights, request, values=numbers)
                found.append(typed(rows))
            return found

    def read_values(values: Sequence[bytes]) -> ReadValues:
        batches: list[RowBatch] = []
        malformed: list[int] = []
        for index, value in enumerate(values):
            try:
                rows = rows_of(value)
            except (pa.ArrowInvalid, OSError, SourceError):
                malformed.append(index)
                continue
            batches += rows
            if any(len(batch.malformed) for batch in rows):
                malformed.append(index)
        return ReadValues(batches, malformed)

    return read_values
