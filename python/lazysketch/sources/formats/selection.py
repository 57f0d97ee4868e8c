"""The requested fields, the head of an input for format detection, and header rows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.io.byte_stream import ByteStream
from lazysketch.sources.io.compression import COMPRESSED_NAMES

_ROWS = 20
_MOST_SHOWN = 20
_LONGEST_SHOWN = 40
_COMPARED = 1_000  # names that are compared with a misspelled one
DELIMITERS = (",", "\t", ";", "|")
_SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


@dataclass(frozen=True, slots=True)
class Selection:
    """The fields to take from each row, and how to read them.

    Args:
        field: The field of the item, or None if a row is one item.
        encoding: The text encoding, as named by ``check_encoding``.
        weight: The field of the weight, or None: each row weighs 1.
        max_weight: Larger weights are clipped to this.
        delimiter: The delimiter of columns, or None: detected from the header.
        item_type: "str" or "int" if items must be of that type, or None.
        times: Whether to read the time of each row.
        time: The field of the time, or None if the format has a fixed place for it.
        time_unit: The unit of numeric times.
        user: The field of the person, or None if people are not read.
        regex: The expression whose groups are the fields, or None.
        trusted_hops: How many proxies before the server are trusted; None for all of them.
        value: The field of a number of each row, or None; weights are then these numbers.
        people_alone: Whether the field of the person may be that of the item.
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
    user: str | None = None
    regex: str | None = None
    trusted_hops: int | None = None
    value: str | None = None
    people_alone: bool = False

    def columns(self) -> list[tuple[str, str]]:
        """Return the role (field, weight, value, time or user) and name of each selected field."""
        roles = (
            ("field", self.field),
            ("weight", self.weight),
            ("value", self.value),
            ("time", self.time),
            ("user", self.user),
        )
        return [(of, name) for of, name in roles if name is not None]


# Reads the bytes of the stream in order, or opens ``stream.path`` if it must seek.
Reader: TypeAlias = Callable[[ByteStream, Selection], Iterator[RowBatch]]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an input.

    Args:
        name: The name of the input.
        data: Its first bytes, decompressed.
        rows: Its first non-empty rows, for text formats.
        field: The requested field.
        delimiter: The requested delimiter of columns.
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
        """Return the head of a stream without consuming it."""
        data = stream.head()
        # Latin-1 decodes any byte; ASCII characters suffice to recognise a format.
        rows = [row.rstrip("\r") for row in data.decode("latin-1").split("\n")]
        if len(rows) > 1:
            rows.pop()  # incomplete, or empty
        first_rows = tuple(row for row in rows if row)[:_ROWS]
        return cls(stream.name, data, first_rows, field, delimiter)

    def is_called(self, *endings: str) -> bool:
        """Tell whether the name, without a compression suffix, has one of these endings."""
        name = self.name.lower()
        for compressed in COMPRESSED_NAMES:
            name = name.removesuffix(compressed)
        return name.endswith(endings)


def check_delimiter(delimiter: str | None) -> str | None:
    r"""Return the delimiter as one character.

    Raises:
        ArgumentValueError: Neither a printable ASCII character or tab, nor the name of
            one; or a quote, letter or digit.

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
            f"(or tab, comma, semicolon, bar, space), got {shown(delimiter)}"
        )
    return char


def delimiter_of(header: str, *, field: str | None) -> str:
    """Return the first delimiter with which the header has the field, else the most frequent.

    Example:
        >>> delimiter_of("a;b,c", field="a"), delimiter_of("x|y|z", field=None)
        (';', '|')
    """
    for delimiter in DELIMITERS:
        if field is not None and field in names_of(header, delimiter=delimiter):
            return delimiter
    return max(DELIMITERS, key=header.count)


def names_of(header: str, *, delimiter: str) -> list[str]:
    """Return the column names in a header line, none if it cannot be parsed."""
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:
        return []


def column_number(
    names: Sequence[str], column: str, *, of: str, name: str, certain: bool = False
) -> int:
    """Return the number of the named column, counted from 0.

    A first row that is not a header contains items, so messages give positions and the number
    of columns, and a name only where the names are certain.

    Args:
        names: The names of all columns.
        column: The requested column.
        of: The role for which it was requested: "field", "weight", "time" or "user".
        name: The name of the input in messages.
        certain: Whether these are certainly names, not a row of data.

    Raises:
        SourceError: No column has the name, or several have it.
    """
    found = [number for number, known in enumerate(names) if known == column]
    if len(found) == 1:
        return found[0]
    if found:
        raise SourceError(f"{name}: expected one column {shown(column)} for {of}, got {len(found)}")
    columns = columns_shown(len(names))
    also = f": {names_shown(names)}" if certain else _similar_place(names, column)
    raise SourceError(
        f"{name}: expected a column of the header for {of}, got {shown(column)}, which is "
        f"none of its {columns}{also}"
    )


def _similar_place(names: Sequence[str], column: str) -> str:
    """Return where a column with a similar name is, or "" without such a column."""
    import difflib  # late: few names are misspelt

    near = difflib.get_close_matches(
        column.lower(), [known.lower() for known in names[:_COMPARED]], n=1
    )
    similar = [number for number, known in enumerate(names, 1) if [known.lower()] == near]
    return f"; the name of column {similar[0]} is similar" if similar else ""


def columns_shown(number: int) -> str:
    """Return a number of columns in words.

    Example:
        >>> columns_shown(1), columns_shown(2_000)
        ('1 column', '2,000 columns')
    """
    return "1 column" if number == 1 else f"{number:,} columns"


def type_shown(kind: object) -> str:
    """Return an Arrow type for a message, cut to a readable length."""
    text = str(kind)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def names_shown(names: Sequence[str]) -> str:
    """Return the first columns of a schema for a message, each cut to a readable length."""
    known = [
        name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..." for name in names
    ]
    more = f", ... ({len(names):,} columns)" if len(names) > _MOST_SHOWN else ""
    return ", ".join(map(repr, known[:_MOST_SHOWN])) + more
