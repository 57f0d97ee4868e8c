"""CSV and TSV: rows of the columns that a header names, parsed by pyarrow.

All columns are text. A quoted field may contain the delimiter, line ends and doubled
quotes. A row is malformed if it has more or fewer columns than the header, or if its
field is empty. An empty line is a malformed row.

Blocks of whole lines are parsed one at a time in the calling thread, so rows are counted
as they arrive and Ctrl-C works. To detect whether a block ends inside quotes, a sentinel
row with too many columns is appended: the parser reports either the sentinel alone, or
everything from the open row on. The open row is held for the next block. A quote that is
not closed within LONGEST_ROW bytes, or at all, costs its line.

Cost: about 0.2 us per row of five columns. Needs pyarrow.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow as pa
from pyarrow import csv as arrow_csv

from lazysketch.errors import SourceError
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.arrow_columns import batch_of_text
from lazysketch.sources.formats.column_names import names_of_table
from lazysketch.sources.formats.selection import column_number, delimiter_of
from lazysketch.sources.io.text_blocks import LONGEST_ROW, UNDECODABLE_BYTES, utf8_blocks
from lazysketch.sources.limits import check_columns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream


_LONG_HELD = 1 << 16
_BEGINNING, _FIRST_ROWS = 1 << 14, 20  # bytes and rows that tell whether the first one is a header
_GROWTH = 8
_OPEN = rb'(?:(?<![^\rDELIMITER])|^)"'


class Parsed(NamedTuple):
    """The rows of a block.

    Args:
        columns: The selected columns by role (field, weight, time or user).
        unparsed: Positions of the rows with a wrong number of columns.
        open_size: The size in bytes of an open row at the end, which is in neither of these.
    """

    columns: dict[str, pa.Array]
    unparsed: list[int]
    open_size: int


class _InvalidRow(Protocol):
    """pyarrow.csv.InvalidRow, which is untyped."""

    @property
    def number(self) -> int: ...
    @property
    def text(self) -> str: ...


class RowParser:
    """Splits blocks of whole lines into rows and extracts some columns.

    Args:
        columns: The number of columns of a row.
        wanted: The column numbers to extract, counted from 0, by role.
        delimiter: The delimiter, one ASCII character.
        quoted: Whether fields may be quoted.
        name: The name of the input in messages.
    """

    def __init__(
        self, *, columns: int, wanted: dict[str, int], delimiter: str, quoted: bool, name: str
    ) -> None:
        self._names = [str(number) for number in range(columns)]
        self._wanted = {of: self._names[number] for of, number in wanted.items()}
        self.delimiter = delimiter
        self._quoted = quoted
        self._name = name
        # Inside or outside quotes, this adds more columns than a row has.
        self._sentinel = f'"{delimiter}' * (2 * columns + 4) if quoted else ""

    def parse(self, block: bytes) -> Parsed:
        """Return the rows of a block, which may end with an open row (inside quotes)."""
        invalid: list[tuple[int, str]] = []

        def skip(row: _InvalidRow) -> str:
            invalid.append((row.number - 1, row.text))
            return "skip"

        data = block + self._sentinel.encode() + b"\n" if self._quoted else block
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(data),
                # pyarrow numbers invalid rows only in a single block and thread.
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, block_size=len(data) + 1, column_names=self._names
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter,
                    quote_char='"' if self._quoted else False,
                    newlines_in_values=self._quoted,
                    ignore_empty_lines=False,
                    invalid_row_handler=skip,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(dict.fromkeys(self._wanted.values())),
                    column_types={name: pa.string() for name in self._wanted.values()},
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid:
            raise SourceError(f"{self._name}: expected rows of columns, got damaged data") from None
        open_size = 0
        if self._quoted:
            _, last = invalid.pop()
            open_size = len(last[: last.rindex(self._sentinel)].encode())
        columns = {of: table[column].combine_chunks() for of, column in self._wanted.items()}
        return Parsed(columns, [number for number, _ in invalid], open_size)


def read_delimited(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight, time and person of each row."""
    blocks = utf8_blocks(stream, encoding=selection.encoding)
    held = b""
    arrived: list[bytes] = []
    more = 0
    parser: RowParser | None = None
    for block in blocks:
        arrived.append(block)
        more += len(block)
        # A long open row is parsed again only when it has grown by a part of itself: a pipe may
        # deliver it line by line.
        if len(held) > _LONG_HELD and more * _GROWTH < len(held):
            continue
        data = b"".join([held, *arrived])
        arrived.clear()
        more = 0
        if parser is None:
            parsed = _header(data, selection, name=stream.name)
            if parsed is None:
                held = data
                continue
            parser, size = parsed
            data = data[size:]
        held = yield from _rows(parser, data, selection, more_follows=True)
    data = b"".join([held, *arrived])
    if parser is None:
        raise SourceError(f"{stream.name}: expected a header row, got an open quote")
    yield from _rows(parser, data, selection, more_follows=False)


def _rows(
    parser: RowParser, data: bytes, selection: Selection, *, more_follows: bool
) -> Generator[RowBatch, None, bytes]:
    """Yield the rows and return the open row at the end; without more data, it is malformed."""
    open_size = yield from _parsed(parser, data, selection)
    rest = data[len(data) - open_size :]
    if not rest or (more_follows and open_size <= LONGEST_ROW):
        return rest
    # The quote that opened the row is not closed by any line after it. So a line that is open
    # itself is never closed either, and every line before ``end`` is judged on its own.
    end = len(rest)
    if more_follows:
        end = rest.index(b"\n", end - LONGEST_ROW - 1) + 1
    yield from _parsed(parser, _closed(rest[:end], parser.delimiter), selection)
    open_size = yield from _parsed(parser, rest[end:], selection)
    return rest[len(rest) - open_size :]


def _parsed(parser: RowParser, data: bytes, selection: Selection) -> Generator[RowBatch, None, int]:
    """Yield the rows, and return the size of the open row at the end."""
    if not data:
        return 0
    columns, unparsed, open_size = parser.parse(data)
    if unparsed or len(columns["field"]):
        yield batch_of_text(
            columns["field"],
            columns.get("weight"),
            selection,
            times=columns.get("time"),
            users=columns.get("user"),
            unparsed=unparsed,
            undecodable=not data.isascii() and UNDECODABLE_BYTES in data,
        )
    return open_size


def _closed(lines: bytes, delimiter: str) -> bytes:
    """Return the lines, those that end inside quotes as empty lines, which are malformed."""
    opens = re.compile(_OPEN.replace(b"DELIMITER", re.escape(delimiter.encode())))
    kept = (b"" if _ends_open(line, opens) else line for line in lines.split(b"\n"))
    return b"\n".join(kept)


def _ends_open(line: bytes, opens: re.Pattern[bytes]) -> bool:
    """Tell whether a line ends inside quotes, as pyarrow reads it."""
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


def _header(data: bytes, selection: Selection, *, name: str) -> tuple[RowParser, int] | None:
    """Return a parser for the header's columns and the header's size; None if it is open."""
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
    parser = RowParser(
        columns=len(names),
        wanted=wanted,
        delimiter=delimiter,
        quoted=True,
        name=name,
    )
    return parser, size
