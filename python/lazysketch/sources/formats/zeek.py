r"""Zeek logs in their TSV format.

Header lines describe the columns::

    #separator \x09
    #set_separator	,
    #empty_field	(empty)
    #unset_field	-
    #fields	ts	uid	id.orig_h	...

Lines that begin with "#" are not rows. A repeated header, as in concatenated logs, applies
to the rows after it. A row is malformed if it has more or fewer columns than the header,
or if the field is unset, empty or "". Items are taken as written: an escape (``\x09``) is
not decoded, and a set is one item. The time of a row is its field ``ts``, unless another
is named.

Cost: as for CSV. Needs pyarrow.

Source: Zeek documentation, "Zeek Log Formats and Inspection".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError
from lazysketch.sources.formats.arrow_columns import batch_of_text
from lazysketch.sources.formats.delimited import RowParser
from lazysketch.sources.formats.selection import column_number
from lazysketch.sources.io.text_blocks import UNDECODABLE_BYTES, utf8_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream

_HEADER_LINE = re.compile(rb"^#[^\n]*\n", re.MULTILINE)
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")


class _Header:
    """The state defined by the header lines so far."""

    def __init__(self, selection: Selection, *, name: str) -> None:
        self.parser: RowParser | None = None
        self.missing = {"#unset_field": "-", "#empty_field": "(empty)"}
        self._separator = "\t"
        self._selection = selection
        self._name = name

    def read(self, line: str) -> None:
        """Process a header line.

        Raises:
            SourceError: The separator is not one ASCII character, or a field is missing.
        """
        if line.startswith("#separator"):
            written = line.removeprefix("#separator").strip(" ")
            self._separator = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), written)
            if len(self._separator) != 1 or not self._separator.isascii():
                raise SourceError(
                    f"{self._name}: expected a separator of one ASCII character, got {written!r}"
                )
            return
        key, *values = line.split(self._separator)
        if key in self.missing and values:
            self.missing[key] = values[0]
        if key == "#fields":
            self.parser = self._parser(values)

    def _parser(self, names: list[str]) -> RowParser:
        wanted = {
            of: column_number(names, field, of=of, name=self._name, list_names=True)
            for of, field in self._selection.columns()
        }
        return RowParser(
            columns=len(names),
            wanted=wanted,
            delimiter=self._separator,
            quoted=False,
            name=self._name,
        )


def read_zeek(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight and time of each row."""
    header = _Header(selection, name=stream.name)
    for block in utf8_blocks(stream, encoding=selection.encoding):
        begin = 0
        for line in _HEADER_LINE.finditer(block):
            yield from _rows(block[begin : line.start()], header, selection, name=stream.name)
            header.read(line[0].decode().rstrip("\r\n"))
            begin = line.end()
        yield from _rows(block[begin:], header, selection, name=stream.name)


def _rows(rows: bytes, header: _Header, selection: Selection, *, name: str) -> Iterator[RowBatch]:
    if not rows:
        return
    if header.parser is None:
        raise SourceError(f"{name}: expected a line #fields before the first row, got none")
    columns, unparsed, _ = header.parser.parse(rows)
    missing = tuple(header.missing.values())
    yield batch_of_text(
        columns["field"],
        columns.get("weight"),
        selection,
        times=columns.get("time"),
        unparsed=unparsed,
        missing=missing,
        undecodable=not rows.isascii() and UNDECODABLE_BYTES in rows,
    )
