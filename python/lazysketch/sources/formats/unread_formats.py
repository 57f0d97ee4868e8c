"""Tables and documents that no reader knows, recognised by their first rows to say what to write.

Detection takes what it does not know as lines: each line is an item, which is right for a
list of names and wrong for a table. The result is a hint for the operator. It changes
neither what is counted nor when, it names no content, and like every guess it is outside
the privacy guarantee.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lazysketch.sources.formats.selection import DELIMITERS

if TYPE_CHECKING:
    from lazysketch.sources.formats.selection import Head

_AS_LINES = "lazysketch top - --format lines"
_WITH_HEADER = "; if the first line is a header: --format csv --by COLUMN"
_FEW = 3  # rows from which a table is recognised
_CUT = {"\t": "", ",": " -d,", ";": " -d';'", "|": " -d'|'"}


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
    if rows and rows[0].lstrip()[:1] in ("[", "{") and rows[0].strip() in ("[", "{", "[{"):
        return (
            "a JSON document over several lines",
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
