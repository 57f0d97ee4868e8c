"""CSV and TSV: rows of the columns that a header names, cut by the native core.

All columns are text. A quoted field may contain the delimiter, line ends and doubled
quotes. A row is malformed if it has more or fewer columns than the header, or if its
field is empty. An empty line is a malformed row.

Blocks of whole lines are cut one at a time in the calling thread, so rows are counted as
they arrive and Ctrl-C works. A row that is open at the end of a block, inside quotes, is
held for the next block. A quote that is not closed within LONGEST_ROW bytes, or at all,
costs its line.

Cost: 65 ns per row of five columns and 49 bytes, 105 with quotes around each; times add 100.
NumPy only.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from lazysketch._native import DelimitedReader
from lazysketch.errors import SourceError
from lazysketch.sources.formats.column_names import names_of_table
from lazysketch.sources.formats.field_columns import batch_of_fields
from lazysketch.sources.formats.selection import column_number, delimiter_of
from lazysketch.sources.io.text_blocks import LONGEST_ROW, utf8_blocks
from lazysketch.sources.limits import check_columns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream


_LONG_HELD = 1 << 16
_BEGINNING, _FIRST_ROWS = 1 << 14, 20  # bytes and rows that tell whether the first one is a header
_GROWTH = 8
_OPEN = rb'(?:(?<![^\rDELIMITER])|^)"'


class RowCutter:
    """Cuts blocks of whole lines into rows and takes some columns.

    Args:
        columns: The number of columns of a row.
        wanted: The column numbers to take, counted from 0, by role.
        delimiter: The delimiter, one ASCII character.
        quoted: Whether fields may be quoted.
        selection: Has ``max_weight``, ``value`` and ``time_unit``.
    """

    def __init__(
        self,
        *,
        columns: int,
        wanted: dict[str, int],
        delimiter: str,
        quoted: bool,
        selection: Selection,
    ) -> None:
        self.delimiter = delimiter
        self._selection = selection
        self._reader = DelimitedReader(
            columns=columns,
            field=wanted["field"],
            weight=wanted.get("weight"),
            max_weight=selection.max_weight,
            time=wanted.get("time"),
            value=wanted.get("value"),
            user=wanted.get("user"),
            delimiter=ord(delimiter),
            quoted=quoted,
        )

    def cut(self, block: bytes, *, missing: Sequence[str] = ()) -> tuple[RowBatch, int]:
        """Return the rows of a block, and the size in bytes of an open row that it ends with.

        Args:
            block: Whole lines in UTF-8.
            missing: Texts that are no items and no people.
        """
        absent = [text.encode() for text in missing]
        columns, open_size = self._reader.read(block, missing=absent)
        return batch_of_fields(columns, self._selection), open_size


def read_delimited(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight, time and person of each row."""
    blocks = utf8_blocks(stream, encoding=selection.encoding)
    held = b""
    arrived: list[bytes] = []
    more = 0
    cutter: RowCutter | None = None
    for block in blocks:
        arrived.append(block)
        more += len(block)
        # A long open row is cut again only when it has grown by a part of itself: a pipe may
        # deliver it line by line.
        if len(held) > _LONG_HELD and more * _GROWTH < len(held):
            continue
        data = b"".join([held, *arrived])
        arrived.clear()
        more = 0
        if cutter is None:
            found = _header(data, selection, name=stream.name)
            if found is None:
                held = data
                continue
            cutter, size = found
            data = data[size:]
        held = yield from _rows(cutter, data, more_follows=True)
    data = b"".join([held, *arrived])
    if cutter is None:
        raise SourceError(f"{stream.name}: expected a header row, got an open quote")
    yield from _rows(cutter, data, more_follows=False)


def _rows(
    cutter: RowCutter, data: bytes, *, more_follows: bool
) -> Generator[RowBatch, None, bytes]:
    """Yield the rows and return the open row at the end; without more data, it is malformed."""
    open_size = yield from _cut(cutter, data)
    rest = data[len(data) - open_size :]
    if not rest or (more_follows and open_size <= LONGEST_ROW):
        return rest
    # The quote that opened the row is not closed by any line after it. So a line that is open
    # itself is never closed either, and every line before ``end`` is judged on its own.
    end = len(rest)
    if more_follows:
        end = rest.index(b"\n", end - LONGEST_ROW - 1) + 1
    yield from _cut(cutter, _closed(rest[:end], cutter.delimiter))
    open_size = yield from _cut(cutter, rest[end:])
    return rest[len(rest) - open_size :]


def _cut(cutter: RowCutter, data: bytes) -> Generator[RowBatch, None, int]:
    """Yield the rows, and return the size of the open row at the end."""
    if not data:
        return 0
    batch, open_size = cutter.cut(data)
    if batch.rows:
        yield batch
    return open_size


def _closed(lines: bytes, delimiter: str) -> bytes:
    """Return the lines, those that end inside quotes as empty lines, which are malformed."""
    opens = re.compile(_OPEN.replace(b"DELIMITER", re.escape(delimiter.encode())))
    kept = (b"" if _ends_open(line, opens) else line for line in lines.split(b"\n"))
    return b"\n".join(kept)


def _ends_open(line: bytes, opens: re.Pattern[bytes]) -> bool:
    """Tell whether a line ends inside quotes."""
    at = 0
    while found := opens.search(line, at):  # a quote at the beginning of a field
        at = found.end()
        while True:
            at = line.find(b'"', at) + 1
            if not at:
                return True
            if line[at : at + 1] != b'"':
                break
            at += 1  # a doubled quote
    return False


def _header(data: bytes, selection: Selection, *, name: str) -> tuple[RowCutter, int] | None:
    """Return a cutter for the header's columns and the header's size; None if it is open."""
    first_line = data[: data.index(b"\n")].decode()
    delimiter = selection.delimiter or delimiter_of(first_line, field=selection.field)
    size = 0

    def lines() -> Iterator[str]:
        nonlocal size
        while size < len(data):
            begin, size = size, data.index(b"\n", size) + 1
            yield data[begin:size].decode()

    try:
        names = next(csv.reader(lines(), delimiter=delimiter, strict=True))
    except csv.Error:
        if len(data) > LONGEST_ROW:
            raise SourceError(f"{name}: expected a header row, got an open quote") from None
        return None
    check_columns(len(names), name=name)
    beginning = data[:_BEGINNING].decode(errors="replace").split("\n")[:_FIRST_ROWS]
    rows = [row.rstrip("\r") for row in beginning]
    certain = names_of_table(rows, delimiter=delimiter) == names
    wanted = {
        of: column_number(names, field, of=of, name=name, certain=certain)
        for of, field in selection.columns()
    }
    cutter = RowCutter(
        columns=len(names),
        wanted=wanted,
        delimiter=delimiter,
        quoted=True,
        selection=selection,
    )
    return cutter, size
