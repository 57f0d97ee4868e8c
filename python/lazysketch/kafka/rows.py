"""Values of messages as rows, by the readers of the inputs: text in lines, and Arrow streams.

Every row of a value is a step, readable or not, as in a file. A message that has no value, and a
value of Arrow that cannot be read, are one step without an event. Rows of a message end with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.kafka.messages import without_long_rows
from lazysketch.sources.batch import UNKNOWN_TIME, RowBatch
from lazysketch.sources.formats.format import REGEX, Format
from lazysketch.sources.formats.registry import AUTO, FORMATS, check_format
from lazysketch.sources.formats.selection import Selection
from lazysketch.sources.formats.typed_items import typed_items
from lazysketch.sources.io.byte_stream import ByteStream

__all__ = ["ROW_FORMATS", "ValueRows", "read_values_as", "row_format"]

_ARROW: Final = "arrow"
# Formats in which each line is a row, whatever is in the lines before it.
ROW_FORMATS: Final = (*(name for name, form in FORMATS.items() if form.skips), _ARROW)


@dataclass(frozen=True, slots=True)
class ValueRows:
    """What values hold.

    Args:
        batches: The rows.
        ends: Of each value, the number of rows up to its end.
    """

    batches: list[RowBatch]
    ends: list[int]

    def __iter__(self) -> Iterator[tuple[int, RowBatch]]:
        """Yield each batch with the number of rows before it."""
        before = 0
        for batch in self.batches:
            yield before, batch
            before += batch.rows


def row_format(name: str, request: Selection) -> tuple[Format, Selection]:
    """Return the format of values, and what is read of each row.

    Args:
        name: One of ``ROW_FORMATS``; "auto" is JSON lines with a field and lines without one.
        request: What was asked for.

    Raises:
        ArgumentTypeError: No field for a format that requires one.
        ArgumentValueError: Another format, or one that lacks what was asked for.
    """
    if request.regex is not None and name == AUTO:
        name = REGEX
    if name == AUTO:
        name = "lines" if request.field is None else "jsonl"
    check_format(name, request, follow=False)
    if name not in ROW_FORMATS:
        raise ArgumentValueError(
            f"format: expected one of {', '.join(ROW_FORMATS)} for messages, got {shown(name)}"
        )
    form = FORMATS[name]
    if form.needs_field and not request.field:
        raise ArgumentTypeError(f"field: expected the name of one for format {name!r}, got none")
    return form, form.select(request)


def read_values_as(
    form: Format, selection: Selection
) -> Callable[[Sequence[bytes | None]], ValueRows]:
    """Return the function that reads values; None is a message without one.

    Args:
        form: One of :func:`row_format`.
        selection: What is read of each row.
    """
    if form.name == _ARROW:
        return lambda values: _read_arrow(values, selection)
    return lambda values: _read_text(values, form, selection)


def _read_text(values: Sequence[bytes | None], form: Format, selection: Selection) -> ValueRows:
    texts: list[bytes] = []
    ends: list[int] = []
    rows = 0
    for value in values:
        text = value or b"\n"
        text = without_long_rows(text if text.endswith(b"\n") else text + b"\n")
        texts.append(text)
        rows += text.count(b"\n")
        ends.append(rows)
    stream = ByteStream("messages", path=None, blocks=[b"".join(texts)])
    found = ValueRows([*form.batches(stream, selection)], ends)
    without_value = [ends[index] - 1 for index, value in enumerate(values) if value is None]
    if without_value:
        batches = [_absent(batch, without_value, before) for before, batch in found]
        found = replace(found, batches=batches)
    if sum(batch.rows for batch in found.batches) != rows:
        raise SourceError("message: expected one row for each line, got another number")
    return found


def _absent(batch: RowBatch, rows: list[int], before: int) -> RowBatch:
    """Return a batch with empty rows that are not malformed: they are of deletions."""
    begin = bisect_left(rows, before)
    own = {row - before for row in rows[begin : bisect_left(rows, before + batch.rows)]}
    malformed = [row for row in batch.malformed if row not in own]
    without_user = [row for row in batch.without_user if row not in own]
    return replace(
        batch,
        malformed=malformed,
        without_user=without_user,
        absent=sorted(own.union(batch.absent)),
    )


def _read_arrow(values: Sequence[bytes | None], selection: Selection) -> ValueRows:
    found = ValueRows([], [])
    rows = 0
    wanted, typed = typed_items(selection)
    for value in values:
        for batch in _arrow_batches(value, wanted):
            found.batches.append(typed(batch))
            rows += batch.rows
        found.ends.append(rows)
    return found


def _arrow_batches(value: bytes | None, selection: Selection) -> list[RowBatch]:
    from lazysketch.sources.formats.arrow_ipc import read_arrow_bytes  # late: needs pyarrow

    if value:
        try:
            return [*read_arrow_bytes(value, selection, name="message")]
        except SourceError:
            pass
    empty = RowBatch(
        items=[],
        times=np.full(1, UNKNOWN_TIME) if selection.times else None,
        weights=None if selection.weight is None and selection.value is None else [],
        users=None if selection.user is None else [],
    )
    return [replace(empty, absent=[0]) if value is None else replace(empty, malformed=[0])]
