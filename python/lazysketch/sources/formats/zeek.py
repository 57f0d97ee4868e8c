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

Cost: as for CSV. NumPy only.

Source: Zeek documentation, "Zeek Log Formats and Inspection".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError
from lazysketch.sources.formats.column_names import ZEEK_NAME
from lazysketch.sources.formats.delimited import RowCutter
from lazysketch.sources.formats.selection import column_number
from lazysketch.sources.io.text_blocks import utf8_blocks
from lazysketch.sources.limits import MOST_HEADERS, check_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.batch import RowBatch
    from lazysketch.sources.formats.selection import Selection
    from lazysketch.sources.io.byte_stream import ByteStream

_HEADER_LINE = re.compile(rb"^#[^\n]*\n", re.MULTILINE)
_WORD = re.compile(rb"#(?:separator|unset_field|empty_field|fields)(?![a-z_])")
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")


class _Header:
    """The state defined by the header lines so far."""

    def __init__(self, selection: Selection, *, name: str) -> None:
        self.cutter: RowCutter | None = None
        self.missing = {"#unset_field": "-", "#empty_field": "(empty)"}
        self._separator = "\t"
        self._selection = selection
        self._name = name
        self._lines: dict[bytes, bytes] = {}  # the header lines in force, by their first word
        self._changes = 0

    def changes(self, line: bytes) -> bool:
        """Tell whether a header line changes how rows are read."""
        word = _WORD.match(line)
        return word is not None and self._lines.get(word[0]) != line

    def read(self, data: bytes) -> None:
        """Process a header line that changes something.

        Raises:
            SourceError: The separator is not one ASCII character, a field is missing, or the
                header changed too often.
        """
        word = _WORD.match(data)
        if word is None:
            return
        self._changes += 1
        if self._changes > MOST_HEADERS:
            raise SourceError(
                f"{self._name}: expected a header that changes at most {MOST_HEADERS:,} times "
                "(a limit of this reader), got more changes"
            )
        if word[0] == b"#separator":
            self._lines.clear()  # the others are split at it
        self._lines[word[0]] = data
        line = data.decode().rstrip("\r\n")
        if line.startswith("#separator"):
            written = line.removeprefix("#separator").strip(" ")
            self._separator = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), written)
            is_ascii = len(self._separator) == 1 and self._separator.isascii()
            if not is_ascii or self._separator in "\r\n":
                raise SourceError(
                    f"{self._name}: expected a separator of one ASCII character in the line "
                    "#separator, got another"
                )
            return
        key, *values = line.split(self._separator)
        if key in self.missing and values:
            self.missing[key] = values[0]
        if key == "#fields":
            self.cutter = self._cutter(values)

    def _cutter(self, names: list[str]) -> RowCutter:
        check_columns(len(names), name=self._name)
        certain = all(re.fullmatch(ZEEK_NAME, known) for known in names)
        wanted = {
            of: column_number(names, field, of=of, name=self._name, certain=certain)
            for of, field in self._selection.columns()
        }
        return RowCutter(
            columns=len(names),
            wanted=wanted,
            delimiter=self._separator,
            quoted=False,
            selection=self._selection,
        )


def read_zeek(stream: ByteStream, selection: Selection) -> Iterator[RowBatch]:
    """Yield the selected item, weight, time and person of each row."""
    header = _Header(selection, name=stream.name)
    for block in utf8_blocks(stream, encoding=selection.encoding):
        begin = 0
        rows: list[bytes] = []  # between header lines that change nothing
        for line in _HEADER_LINE.finditer(block):
            rows.append(block[begin : line.start()])
            begin = line.end()
            if header.changes(line[0]):
                yield from _rows(b"".join(rows), header, name=stream.name)
                rows.clear()
                header.read(line[0])
        yield from _rows(b"".join([*rows, block[begin:]]), header, name=stream.name)


def _rows(rows: bytes, header: _Header, *, name: str) -> Iterator[RowBatch]:
    if not rows:
        return
    if header.cutter is None:
        raise SourceError(f"{name}: expected a line #fields before the first row, got none")
    batch, _ = header.cutter.cut(rows, missing=tuple(header.missing.values()))
    yield batch
