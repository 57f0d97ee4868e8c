"""Access logs by one regular expression per field, and lines by splitting.

The native reader is a single pass without backtracking, while a regular expression tries
other divisions of a row. If both agree, no division is ambiguous.
"""

from __future__ import annotations

import re

_HOST = r"[^ \n]+"
_UNTIL_REQUEST = r' [^ \n]+ [^\[\n]+ \[[^\]\n]*\] "'
_METHOD = r"[A-Za-z][A-Za-z_-]*"
_STATUS = r"(?:\d{3}|-)"
_SIZE = r"(?:\d+|-)"
_END = rf'" {_STATUS} {_SIZE}'
# Old servers do not escape quotes: only a quote before status and size ends a request.
_INNER = rf'(?:\\.|(?!{_END})")'
_REQUEST = rf'[^"\\\n]*(?:{_INNER}[^"\\\n]*)*'
# Up to a space or the end of the request; the final look-ahead excludes shorter matches.
_PATH = rf'(?! |{_END})[^ "\\\n]*(?:{_INNER}[^ "\\\n]*)*(?= |{_END})'
_QUOTED = r'[^"\\\n]*(?:\\.[^"\\\n]*)*'
_QUOTED_NOT_EMPTY = rf'(?!"){_QUOTED}'
_COMMON_ROW = rf"{_HOST}{_UNTIL_REQUEST}{_REQUEST}{_END}"

_ROWS = {
    "host": rf"({_HOST}){_UNTIL_REQUEST}{_REQUEST}{_END}",
    "user": rf"{_HOST} [^ \n]+ ([^\[\n]+) \[[^\]\n]*\] \"{_REQUEST}{_END}",
    "method": rf"{_HOST}{_UNTIL_REQUEST}({_METHOD}) {_REQUEST}{_END}",
    "path": rf"{_HOST}{_UNTIL_REQUEST}{_METHOD} ({_PATH}){_REQUEST}{_END}",
    "status": rf'{_HOST}{_UNTIL_REQUEST}{_REQUEST}" ({_STATUS}) {_SIZE}',
    "size": rf'{_HOST}{_UNTIL_REQUEST}{_REQUEST}" {_STATUS} ({_SIZE})',
    "referrer": rf'{_COMMON_ROW} "({_QUOTED_NOT_EMPTY})"',
    "agent": rf'{_COMMON_ROW} "{_QUOTED}" "({_QUOTED_NOT_EMPTY})"',
    "time": rf"{_HOST} [^ \n]+ [^\[\n]+ \[([^\]\n]*)\]",
}
# Every match is one row: a well-formed one, or else any line.
_FIELDS = {field: re.compile(rf"(?:{row}.*|.*)\n", re.ASCII) for field, row in _ROWS.items()}


def field_of_rows(text: str, field: str) -> list[str]:
    """Return a field, or the "time", of each row of a text; "" for a row without it."""
    found = _FIELDS[field].findall(text)
    return ["0" if size == "-" else size for size in found] if field == "size" else found


def decoded_rows(data: bytes, encoding: str) -> list[str]:
    """Return the rows of bytes, each decoded independently; "" for an undecodable one."""
    rows = data.split(b"\n")
    if not rows[-1]:
        rows.pop()  # after the last line end
    decoded = []
    for row in rows:
        try:
            decoded.append(row.decode(encoding).removesuffix("\r"))
        except UnicodeDecodeError:
            decoded.append("")
    return decoded
