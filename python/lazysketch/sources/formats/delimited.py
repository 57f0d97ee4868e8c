"""CSV and TSV: rows of columns that the header names, parsed by pyarrow.

Columns are text, whatever they look like. A field may stand in quotes, with the
delimiter, line ends and doubled quotes inside. A row is malformed if it has more or
fewer columns than the header, or if its field is empty. An empty line is such a row.

Blocks of whole lines are parsed one by one, in this thread, so that rows are counted
as they arrive, and Ctrl-C works. Whether a block ends inside of quotes is asked of the
parser itself: a row of too many columns is put behind the block, and the parser
reports either that row, or all from the open row on. What is open is held for the next
block. A quote that is not closed within LONGEST_ROW bytes, or at all, costs its line.

Cost: about 0.2 us per row of five columns. Needs pyarrow.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from lazysketch.errors import SourceError
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.arrow_columns import batch_of_text
from lazysketch.sources.formats.selection import column_number, delimiter_of
from lazysketch.sources.formats.timestamps import unknown
from lazysketch.sources.io.text_blocks import LONGEST_ROW, UNDECODABLE_BYTES, utf8_blocks

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream


class RowParser:
    """Cuts blocks of whole lines into rows and takes some columns of each.

    Args:
        columns: How many columns a row has.
        wanted: Which of them to take, counted from 0; by what they are taken for.
        delimiter: What separates them, one ASCII character.
        quoted: Whether quotes mean anything.
        name: What the input is called.
    """

    def __init__(
        self, *, columns: int, wanted: dict[str, int], delimiter: str, quoted: bool, name: str
    ) -> None:
        self._names = [str(number) for number in range(columns)]
        self._wanted = {of: self._names[number] for of, number in wanted.items()}
        self._delimiter = delimiter
        self._quoted = quoted
        self._name = name
        # Inside of quotes or outside, this is a row, or its end, with more columns than any.
        self._end = f'"{delimiter}' * (2 * columns + 4) if quoted else ""

    def parse(self, block: bytes) -> tuple[dict[str, Any], list[int], int]:
        """Return the columns, the positions of rows that do not fit, the size of an open row.

        The open row, which begins but does not end in the block, is in no other part of
        the answer.
        """
        strange: list[tuple[int, str]] = []

        def note(row: Any) -> str:
            strange.append((row.number - 1, row.text))
            return "skip"

        data = block + self._end.encode() + b"\n" if self._quoted else block
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(data),
                # One block, one thread: only then are rows numbered.
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, block_size=len(data) + 1, column_names=self._names
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    quote_char='"' if self._quoted else False,
                    newlines_in_values=self._quoted,
                    ignore_empty_lines=False,
                    invalid_row_handler=note,
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
        rest = 0
        if self._quoted:
            _, last = strange.pop()
            rest = len(last[: last.rindex(self._end)].encode())
        columns = {of: table[column].combine_chunks() for of, column in self._wanted.items()}
        return columns, [number for number, _ in strange], rest


def read_delimited(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield one column of each row, with others as its weight and time if they are asked for."""
    blocks = utf8_blocks(stream, encoding=selection.encoding)
    held = b""
    parser: RowParser | None = None
    for block in blocks:
        data = held + block
        if parser is None:
            parsed = _header(data, selection, name=stream.name)
            if parsed is None:
                held = data
                continue
            parser, size = parsed
            data = data[size:]
        held = yield from _rows(parser, data, selection, more_follows=True)
    if parser is None:
        raise SourceError(f"{stream.name}: expected a header row, got an open quote")
    yield from _rows(parser, held, selection, more_follows=False)


def _rows(
    parser: RowParser, data: bytes, selection: Selection, *, more_follows: bool
) -> Generator[RowBatch, None, bytes]:
    """Yield the rows and return the open one at the end, none if nothing follows."""
    while data:
        columns, strange, size = parser.parse(data)
        if strange or len(columns["field"]):
            yield batch_of_text(
                columns["field"],
                columns.get("weight"),
                selection,
                times=columns.get("time"),
                unparsed=strange,
                undecodable=not data.isascii() and UNDECODABLE_BYTES in data,
            )
        rest = data[len(data) - size :]
        if not rest or (more_follows and size <= LONGEST_ROW):
            return rest
        # The line with the quote that nothing closes.
        yield RowBatch(items=[], malformed=[0], times=unknown(1) if selection.times else None)
        data = rest[rest.index(b"\n") + 1 :]
    return b""


def _header(data: bytes, selection: Selection, *, name: str) -> tuple[RowParser, int] | None:
    """Return a parser made after the header, and the header's size; None if it is open."""
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
    wanted = {
        of: column_number(names, field, of=of, name=name, shown=False)
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
