"""What a format's reader is given, and the head by which a format is recognised."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.io.byte_stream import ByteStream

_ROWS = 20
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
DELIMITERS = (",", "\t", ";", "|")
_SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take out of each row, checked against the format.

    Args:
        field: The field, or None where a row is one item.
        encoding: How bytes become text, as ``check_encoding`` names it.
        weight: The field that holds the weight, or None: each row weighs 1.
        max_weight: What larger weights are clipped to.
        delimiter: What separates columns, or None: as the header shows.
        item_type: "str" or "int" if items have to be of that type, or None.
        times: Whether to tell when each row happened.
        time: The field that holds it, or None where the format itself has the place.
        time_unit: The unit of times that are numbers.
    """

    field: str | None
    encoding: str
    weight: str | None = None
    max_weight: int = 1
    delimiter: str | None = None
    item_type: str | None = None
    times: bool = False
    time: str | None = None
    time_unit: str = "s"

    def columns(self) -> list[tuple[str, str]]:
        """Return what each of the fields is taken for, and its name."""
        asked = (("field", self.field), ("weight", self.weight), ("time", self.time))
        return [(of, name) for of, name in asked if name is not None]


# Takes the stream's bytes as they come, or opens ``stream.path`` where it has to seek.
Reader: TypeAlias = Callable[[ByteStream, Selection], Iterator[RowBatch]]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an input.

    Args:
        name: What the input is called.
        data: Its first bytes, decompressed.
        rows: Its first rows that are not empty, for formats made of text.
        field: The field that is asked for.
        delimiter: What separates columns, if that is given.
    """

    name: str
    data: bytes
    rows: tuple[str, ...]
    field: str | None = None
    delimiter: str | None = None

    @classmethod
    def of(
        cls, stream: ByteStream, *, field: str | None = None, delimiter: str | None = None
    ) -> Head:
        """Look at a stream without consuming it."""
        data = stream.head()
        # Latin-1 decodes any byte, and formats are told by their ASCII skeleton.
        rows = [row.rstrip("\r") for row in data.decode("latin-1").split("\n")]
        if len(rows) > 1:
            rows.pop()  # cut off, or empty
        first_rows = tuple(row for row in rows if row)[:_ROWS]
        return cls(stream.name, data, first_rows, field, delimiter)

    def is_called(self, *endings: str) -> bool:
        """Tell whether the name, without the ending of a compression, ends in one of these."""
        name = self.name.lower()
        for compressed in _COMPRESSED:
            name = name.removesuffix(compressed)
        return name.endswith(endings)


def check_delimiter(delimiter: str | None) -> str | None:
    r"""Return the delimiter as one character.

    Raises:
        ArgumentValueError: Neither one printable ASCII character or tab, nor the name of
            one; a quote; a character of words and numbers.

    Example:
        >>> check_delimiter("tab"), check_delimiter(";")
        ('\t', ';')
    """
    if delimiter is None:
        return None
    char = _SPELLED.get(delimiter, delimiter)
    if len(char) != 1 or not (" " <= char <= "~" or char == "\t") or char.isalnum() or char == '"':
        raise ArgumentValueError(
            "delimiter: expected one ASCII character that separates columns "
            f"(or tab, comma, semicolon, bar, space), got {delimiter!r}"
        )
    return char


def delimiter_of(header: str, *, field: str | None) -> str:
    """Return the delimiter by which the header has the field; else the most frequent one.

    Example:
        >>> delimiter_of("a;b,c", field="a"), delimiter_of("x|y|z", field=None)
        (';', '|')
    """
    for delimiter in DELIMITERS:
        if field is not None and field in names_of(header, delimiter=delimiter):
            return delimiter
    return max(DELIMITERS, key=header.count)


def names_of(header: str, *, delimiter: str) -> list[str]:
    """Return the names in a line, none if it is not a row of columns."""
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:
        return []


def column_number(names: Sequence[str], asked: str, *, of: str, name: str, shown: bool) -> int:
    """Return which column has the name, counted from 0.

    Args:
        names: The columns.
        asked: The name that is asked for.
        of: What it was asked for as: "field", "weight" or "time".
        name: What the input is called.
        shown: Whether a message may list the columns. A first row of text that is not
            a header holds items, of which a message tells nothing.

    Raises:
        SourceError: No column has the name, or several have it.
    """
    found = [number for number, column in enumerate(names) if column == asked]
    if len(found) == 1:
        return found[0]
    if found:
        raise SourceError(f"{name}: expected one column {asked!r} for {of}, got {len(found)}")
    if shown:
        known = "one of " + ", ".join(map(repr, names))
    else:
        near = difflib.get_close_matches(asked.lower(), {column.lower() for column in names}, n=1)
        known = "a column of the header" + "".join(
            f" (did you mean {column!r}?)" for column in names if [column.lower()] == near
        )
    raise SourceError(f"{name}: expected {known} for {of}, got {asked!r}")
