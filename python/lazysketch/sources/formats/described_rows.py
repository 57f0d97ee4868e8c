"""Rows whose layout is described: logs of servers, ``key=value`` pairs, W3C logs, expressions.

The native core cuts the rows (``rust/text/src/fields``): a row is malformed if it does not follow
its layout or lacks the field, the weight or the person. Items are text, regardless of what they
say, and a weight is digits only.

Cost: 0.1 to 0.4 us per row, an expression more; linear in the bytes of any input. NumPy only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lazysketch._native import FieldReader
from lazysketch.arguments import shown
from lazysketch.errors import SourceError
from lazysketch.sources.formats.field_columns import batch_of_fields
from lazysketch.sources.formats.format import REGEX
from lazysketch.sources.formats.selection import names_shown
from lazysketch.sources.io.text_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Reader, Selection
    from lazysketch.sources.io.byte_stream import ByteStream

__all__ = ["mostly", "reader_of"]

# Layouts whose fields each input names, so that the time is a field of its own.
_NAMED = ("header", "pairs", REGEX)
# As the W3C names them: "c-ip", "cs(User-Agent)", "x-edge-location".
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}(?:\([A-Za-z0-9_-]{1,40}\))?")


def reader_of(layout: str) -> Reader:
    """Return the reader of a layout.

    Args:
        layout: The name of a log, "header", "pairs" or "regex".
    """

    def read(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
        rows = _field_reader(layout, selection)
        blocks = row_blocks(stream, encoding=selection.encoding, skipped=stream.rows_skipped)
        for block in blocks:
            columns = rows.read(block)
            if columns is None:
                raise _without_column(rows, selection, name=stream.name)
            yield batch_of_fields(columns, selection)

    return read


def mostly(layout: str, field: str, rows: tuple[str, ...]) -> bool:
    """Tell whether more than half of some rows, as latin-1, have a field of a layout."""
    reader = FieldReader(
        layout,
        field=field.encode(),
        weight=None,
        max_weight=1,
        time=None,
        value=None,
        user=None,
        trusted_hops=None,
    )
    columns = reader.read("".join(row + "\n" for row in rows).encode())
    return columns is not None and 2 * len(columns[0]) > len(rows)


def _field_reader(layout: str, selection: Selection) -> FieldReader:
    time = selection.time
    if selection.times and layout not in _NAMED:
        time = "time"
    names = (selection.field, selection.weight, time, selection.value, selection.user)
    field, weight, time_name, value, user = (
        None if name is None else name.encode("utf-8", "surrogatepass") for name in names
    )
    assert field is not None, "the format has a default field, or requires one"  # noqa: S101
    if selection.regex is not None:
        return FieldReader.with_pattern(
            selection.regex,
            field=field,
            weight=weight,
            max_weight=selection.max_weight,
            time=time_name,
            value=value,
            user=user,
        )
    return FieldReader(
        layout,
        field=field,
        weight=weight,
        max_weight=selection.max_weight,
        time=time_name,
        value=value,
        user=user,
        trusted_hops=selection.trusted_hops,
    )


def _without_column(rows: FieldReader, selection: Selection, *, name: str) -> SourceError:
    if rows.lacks == "header":
        return SourceError(f"{name}: expected a line #Fields: before the first row, got none")
    lacks = rows.lacks or "field"
    wanted = dict(selection.columns())[lacks]
    names = rows.columns or []
    # A line of data may follow "#Fields:" in a damaged file.
    certain = all(_COLUMN.fullmatch(column) for column in names)
    got = names_shown(names) if certain else f"{len(names):,} others"
    return SourceError(
        f"{name}: expected one column {shown(wanted)} for {lacks} in #Fields:, got {got}"
    )
