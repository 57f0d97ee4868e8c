r"""Web access logs in the common and the combined log format.

::

    host ident user [time] "METHOD path PROTOCOL" status bytes "referrer" "agent"
    `------------------- common ------------------------------'
    `------------------- combined --------------------------------------------'

One compiled expression per field runs over whole blocks. Each of its matches is one
row, whether the row is well formed (the group holds the field) or not (the group is
empty), so rows are neither split nor counted in Python. About 1 us per row.

A row is malformed if it does not follow the format up to the byte count, or if the
field is not there: a request that is only ``"-"`` has no path, and in a row that is
cut off within the agent the agent is malformed but the host is not. What servers
append to the two formats is ignored. Fields are taken as they stand: a path keeps its
query, an escaped quote (``\"``) its backslash, an absent referrer is the item ``-``.

Every expression takes linear time on any input: neighbouring repetitions never match
the same character, so a row that fails is given up without trying other divisions.

Source: Apache HTTP Server documentation, mod_log_config, "Common Log Format" and
"Combined Log Format".
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from lazysketch.sources.batch import Batch
from lazysketch.sources.text import text_blocks
from lazysketch.sources.times import times_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lazysketch.sources.opening import ByteStream
    from lazysketch.sources.reader import Head, Selection

COMMON_FIELDS = ("host", "path", "status", "method")
COMBINED_FIELDS = (*COMMON_FIELDS, "agent", "referrer")

_HOST = r"[^ \n]+"
_UNTIL_REQUEST = r' [^ \n]+ [^\[\n]+ \[[^\]\n]*\] "'
_METHOD = r"[A-Za-z][A-Za-z_-]*"
_STATUS = r"(?:\d{3}|-)"
_SIZE = r"(?:\d+|-)"
_END = rf'" {_STATUS} {_SIZE}'
# Old servers do not escape quotes: only a quote before status and size ends a request.
_INNER = rf'(?:\\.|(?!{_END})")'
_REQUEST = rf'[^"\\\n]*(?:{_INNER}[^"\\\n]*)*'
# Up to a space or the end of the request; the look-ahead behind it admits no shorter match.
_PATH = rf'(?! |{_END})[^ "\\\n]*(?:{_INNER}[^ "\\\n]*)*(?= |{_END})'
_QUOTED = r'[^"\\\n]*(?:\\.[^"\\\n]*)*'
_QUOTED_NOT_EMPTY = rf'(?!"){_QUOTED}'
_COMMON_ROW = rf"{_HOST}{_UNTIL_REQUEST}{_REQUEST}{_END}"

_ROWS = {
    "host": rf"({_HOST}){_UNTIL_REQUEST}{_REQUEST}{_END}",
    "method": rf"{_HOST}{_UNTIL_REQUEST}({_METHOD}) {_REQUEST}{_END}",
    "path": rf"{_HOST}{_UNTIL_REQUEST}{_METHOD} ({_PATH}){_REQUEST}{_END}",
    "status": rf'{_HOST}{_UNTIL_REQUEST}{_REQUEST}" ({_STATUS}) {_SIZE}',
    "referrer": rf'{_COMMON_ROW} "({_QUOTED_NOT_EMPTY})"',
    "agent": rf'{_COMMON_ROW} "{_QUOTED}" "({_QUOTED_NOT_EMPTY})"',
}
# Every match is one row: a well-formed one, or else whatever the line holds.
_TIMES = re.compile(rf"(?:{_HOST} [^ \n]+ [^\[\n]+ \[([^\]\n]*)\].*|.*)\n", re.ASCII)
_FIELDS = {field: re.compile(rf"(?:{row}.*|.*)\n", re.ASCII) for field, row in _ROWS.items()}


def read_access_log(stream: ByteStream, selection: Selection) -> Iterator[Batch]:
    """Yield one field of each row, with its time if that is asked for."""
    rows_of = _FIELDS[selection.field or COMMON_FIELDS[0]].findall
    for text in text_blocks(stream, encoding=selection.encoding):
        batch = Batch.from_rows(rows_of(text))
        if selection.times:
            # The time of a row does not hang on whether what follows it can be read.
            times = times_of_texts(_TIMES.findall(text), unit=selection.time_unit)
            batch = dataclasses.replace(batch, times=times)
        yield batch


def looks_common(head: Head) -> bool:
    """Tell whether more than half of the first rows follow the common log format."""
    return _mostly("host", head.rows)


def looks_combined(head: Head) -> bool:
    """Tell whether more than half of the first rows follow the combined log format."""
    return _mostly("agent", head.rows)


def _mostly(field: str, rows: tuple[str, ...]) -> bool:
    found = _FIELDS[field].findall("".join(row + "\n" for row in rows))
    return 2 * sum(map(bool, found)) > len(rows)
