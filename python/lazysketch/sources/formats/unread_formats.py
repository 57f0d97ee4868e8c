"""Archives, tables and documents that no reader knows, recognised to say what to write.

An archive, a journal of systemd and text in UTF-16 are refused by their first bytes: their lines
are no rows. They are refused only where the format is detected. Anything else that detection does
not know is taken as lines: each line is an item, which is right for a list of names and wrong for a
table; then a hint says so to the operator, which changes neither what is counted nor when. Nothing
here names content, and like every guess it is outside the privacy guarantee.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lazysketch.errors import SourceError
from lazysketch.sources.formats.selection import DELIMITERS

if TYPE_CHECKING:
    from lazysketch.sources.formats.selection import Head

_AS_LINES = "lazysketch top - --format lines"
_WITH_HEADER = "; if the first line is a header: --format csv --by COLUMN"
_FEW = 3  # rows from which a table is recognised
_CUT = {"\t": "", ",": " -d,", ";": " -d';'", "|": " -d'|'"}

_UTF_16 = ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE")
# What begins with these bytes at this place, and the command that makes rows of it.
_REFUSED = (
    (0, b"PK\x03\x04", ("a zip archive", "unzip -p FILE")),
    (257, b"ustar", ("a tar archive", "tar -xOf FILE")),
    (0, b"\x04\x22\x4d\x18", ("lz4 data", "lz4 -dc FILE")),
    (0, b"LPKSHHRH", ("a journal of systemd", "journalctl -o json --file FILE")),
    (0, b"\xff\xfe", _UTF_16),
    (0, b"\xfe\xff", _UTF_16),
)
_SPREADSHEETS = (".xlsx", ".ods")
_SHORT = 64  # bytes among which UTF-16 has a zero


def refuse_unread(head: Head) -> None:
    """Raise SourceError if the first bytes are those of something without rows of text.

    Example:
        >>> from lazysketch.sources.formats.selection import Head
        >>> refuse_unread(Head("a.txt", b"ann\\n", ("ann",)))
    """
    for place, magic, (kind, command) in _REFUSED:
        if not head.data.startswith(magic, place):
            continue
        if (kind, command) == _UTF_16 and b"\0" not in head.data[:_SHORT]:
            continue
        advice = f"to count its rows: {command} | lazysketch top -"
        if head.is_called(*_SPREADSHEETS):
            kind, advice = "a spreadsheet", "save it as CSV"
        raise SourceError(f"{head.name}: expected an input with rows, got {kind}; {advice}")


def advice_on_lines(head: Head) -> str:
    """Return what rows that are taken as lines look like and what to write, "" if like lines.

    Example:
        >>> from lazysketch.sources.formats.selection import Head
        >>> advice_on_lines(Head("names.txt", b"", ("ann", "bob", "eve")))
        ''
        >>> advice_on_lines(Head("t.txt", b"", ("a\\t1", "b\\t2", "c\\t3"))).partition(";")[0]
        'each line is one item, but the first lines look like a table of 2 columns without a header'
    """
    found = _description(head.rows)
    if not found:
        return ""
    looks, advice = found
    return f"each line is one item, but the first lines look like {looks}; {advice}"


def _description(rows: tuple[str, ...]) -> tuple[str, str] | None:
    first = rows[0].strip() if rows else ""
    if first in ("[", "{") or first.startswith("[{"):
        return (
            "a JSON document, which has not one object per line",
            "to count its objects: jq -c '.[]' FILE | lazysketch top - --format jsonl --by KEY",
        )
    return _table(rows)


def _table(rows: tuple[str, ...]) -> tuple[str, str] | None:
    if len(rows) < _FEW:
        return None
    for delimiter in sorted(DELIMITERS, key="\t|;,".index):
        (number, times), *_ = Counter(row.count(delimiter) for row in rows).most_common(1)
        if number and times == len(rows):
            return (
                f"a table of {number + 1} columns without a header",
                f"to count its first column: cut{_CUT[delimiter]} -f1 FILE | {_AS_LINES}"
                + _WITH_HEADER,
            )
    return None
