"""Names of fields at the beginning of an input, for messages that a field is missing.

Only what is certainly a name is shown: a header that says so (Zeek, W3C), the keys that most of
the first objects or pairs have, and a first row of a table above columns of numbers. Another
first row of a table may be data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from lazysketch.sources.formats.selection import delimiter_of, names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.sources.formats.format import Format
    from lazysketch.sources.formats.selection import Head

__all__ = ["ZEEK_NAME", "names_in", "names_of_table"]

# Patterns are compiled with their first use, which few runs have.
_NAME = r"[^\W\d][\w ./()%:-]{0,39}"
_KEY = r"@?[\w.-]{1,40}"
ZEEK_NAME = r"[A-Za-z_][\w.]{0,39}"
_NUMBER = r"[+-]?\d[\d.,:eETZ/ +-]*"
_PAIR = r'(?:^|\s)([\w.%@/-]+)=(?:"(?:[^"\\]|\\.)*"|[^\s"]*)'
_FEWEST_ROWS = 2  # below a header
_DEEPEST = 3  # keys of a path


def names_in(form: Format, head: Head) -> list[str]:
    """Return the names of the fields of an input, none if they are not certain.

    Example:
        >>> from lazysketch.sources.formats.registry import FORMATS
        >>> from lazysketch.sources.formats.selection import Head
        >>> rows = ("when,who", "2026-05-17,a", "2026-05-18,b")
        >>> names_in(FORMATS["csv"], Head("visits.csv", b"", rows))
        ['when', 'who']
        >>> names_in(FORMATS["csv"], Head("visits.csv", b"", rows[1:]))
        []
    """
    rows = [_text(row) for row in head.rows]
    if form.name == "zeek":
        fields = next((row for row in rows if row.startswith("#fields\t")), "")
        names = fields.split("\t")[1:]
        return names if all(re.fullmatch(ZEEK_NAME, name) for name in names) else []
    if form.name == "jsonl":
        return _frequent([_keys(row) for row in rows])
    if form.name == "logfmt":
        pairs = [re.findall(_PAIR, row) for row in rows]
        return [name for name in _frequent(pairs) if re.fullmatch(_KEY, name)]
    if form.name in ("csv", "tsv") and rows:
        return names_of_table(rows, delimiter=form.delimiter or head.delimiter)
    return []


def _text(row: str) -> str:
    """Return a row that was decoded as latin-1, decoded as UTF-8 if it is."""
    try:
        return row.encode("latin-1").decode()
    except ValueError:
        return row


def _frequent(keys: Sequence[Sequence[str]]) -> list[str]:
    """Return the keys of more than half of the rows, in their order."""
    times = Counter(key for row in keys for key in dict.fromkeys(row))
    return [key for key, number in times.items() if 2 * number > len(keys)]


def _keys(row: str) -> list[str]:
    """Return the paths of keys of an object to text and integers."""
    try:
        value = json.loads(row)
    except (ValueError, RecursionError):
        return []
    return list(_paths(value, ())) if isinstance(value, dict) else []


def _paths(value: dict[str, object], before: tuple[str, ...]) -> list[str]:
    paths: list[str] = []
    for key, inner in value.items():
        if not re.fullmatch(_KEY, key):
            continue
        path = (*before, key)
        if isinstance(inner, dict) and len(path) < _DEEPEST:
            paths.extend(_paths(inner, path))
        elif isinstance(inner, str) or type(inner) is int:
            paths.append(".".join(path))
    return paths


def names_of_table(rows: Sequence[str], *, delimiter: str | None) -> list[str]:
    """Return the names in the first row of a table, none if it may be a row of data.

    Example:
        >>> names_of_table(["who,bytes", "ann,7", "bob,9"], delimiter=None)
        ['who', 'bytes']
        >>> names_of_table(["who,what", "ann,tea", "bob,milk"], delimiter=None)
        []
    """
    header = rows[0].removeprefix("\ufeff")
    delimiter = delimiter or delimiter_of(header, field=None)
    names = names_of(header, delimiter=delimiter)
    below = [names_of(row, delimiter=delimiter) for row in rows[1:]]
    below = [row for row in below if len(row) == len(names)]
    if len(below) < _FEWEST_ROWS or len(set(names)) < len(names):
        return []
    if not all(re.fullmatch(_NAME, name) for name in names):
        return []
    columns = list(zip(*below, strict=True))
    if any(name in column for name, column in zip(names, columns, strict=True)):
        return []
    of_numbers = [all(re.fullmatch(_NUMBER, cell) for cell in column) for column in columns]
    return names if any(of_numbers) else []
