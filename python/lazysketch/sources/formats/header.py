"""Headers: the columns of a text format, and the delimiter that separates them."""

from __future__ import annotations

import csv
import difflib
from typing import TYPE_CHECKING

from lazysketch.errors import ArgumentValueError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.sources.formats.selection import Head

_DELIMITERS = (",", "\t", ";", "|")
_SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


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
    for delimiter in _DELIMITERS:
        if field is not None and field in names_of(header, delimiter=delimiter):
            return delimiter
    return max(_DELIMITERS, key=header.count)


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


def looks_like_tsv(head: Head) -> bool:
    """Tell whether the input is called so, or has the field in a header with tabs."""
    named = head.is_called(".tsv", ".tab")
    return named or (_has_field(head, "\t") and "\t" in head.rows[0])


def looks_like_csv(head: Head) -> bool:
    """Tell whether the input is called so, or has the field in a header."""
    if head.is_called(".csv"):
        return True
    given = (head.delimiter,) if head.delimiter else _DELIMITERS
    return any(_has_field(head, delimiter) for delimiter in given)


def _has_field(head: Head, delimiter: str) -> bool:
    if head.field is None or not head.rows:
        return False
    # The head was decoded as latin-1, which keeps bytes apart.
    field = head.field.encode().decode("latin-1")
    names = names_of(head.rows[0].removeprefix("\xef\xbb\xbf"), delimiter=delimiter)
    return field in names
