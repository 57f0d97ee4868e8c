"""Logs and tables that no reader knows, recognised by their first rows to say what to write.

Detection takes what it does not know as lines: each line is an item, which is right for a
list of names and wrong for a log. The result is a hint for the operator. It changes
neither what is counted nor when, it names no content, and like every guess it is outside
the privacy guarantee.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from lazysketch.sources.formats.selection import DELIMITERS

if TYPE_CHECKING:
    from lazysketch.sources.formats.selection import Head

_AS_LINES = "lazysketch top - --format lines"
_AS_TABLE = "lazysketch top - --format csv"
_WITH_HEADER = "; if the first line is a header: --format csv --by COLUMN"
_W3C_TABS = r'/^#Fields:/ {sub(/^#Fields: */, ""); gsub(/ +/, "\t"); print} !/^#/'
_W3C_SPACES = "s/^#Fields: *//p; /^#/!p"
_FEW = 3  # rows from which a table is recognised
_CUT = {"\t": "", ",": " -d,", ";": " -d';'", "|": " -d'|'"}


class _Log(NamedTuple):
    """A kind of log.

    Args:
        name: What it is called.
        row: Matches a row of it, as latin-1.
        advice: A command that counts it by client or program.
    """

    name: str
    row: re.Pattern[str]
    advice: str


_W3C = re.compile(r"#Fields: ?\S")
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^ ]{0,40}"
_OLD_TIME = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_LOGS = (
    _Log(
        "a log of an application load balancer",
        re.compile(rf"(?:https?|h2|grpcs|wss?) {_TIME} [^ ]+ [^ ]+:\d+ "),
        f"awk '{{sub(/:[0-9]+$/, \"\", $4); print $4}}' FILE | {_AS_LINES}",
    ),
    _Log(
        "a log of a classic load balancer",
        re.compile(rf"{_TIME} [^ ]+ [^ ]+:\d+ (?:[^ ]+:\d+|-) -?[\d.]+ "),
        f"awk '{{sub(/:[0-9]+$/, \"\", $3); print $3}}' FILE | {_AS_LINES}",
    ),
    _Log(
        "a log of HAProxy",
        re.compile(r".{0,200}haproxy\[\d+\]: [^ ]+:\d+ \["),
        f"sed -E 's/.*haproxy\\[[0-9]+\\]: ([^ ]+):[0-9]+ .*/\\1/' FILE | {_AS_LINES}",
    ),
    _Log(
        "a log of syslog",
        re.compile(rf"(?:<\d{{1,3}}>)?(?:{_OLD_TIME}) [^ ]+ [^ :]+(?:\[\d+\])?:"),
        f"awk '{{sub(/(\\[[0-9]+\\])?:$/, \"\", $5); print $5}}' FILE | {_AS_LINES}",
    ),
    _Log(
        "a log of syslog",
        re.compile(rf"<\d{{1,3}}>1 (?:{_TIME}|-) [^ ]+ [^ ]+ "),
        f"awk '{{print $4}}' FILE | {_AS_LINES}",
    ),
    _Log(
        "a log of syslog",
        re.compile(rf"{_TIME} [^ ]+ [^ :]+(?:\[\d+\])?:"),
        f"awk '{{sub(/(\\[[0-9]+\\])?:$/, \"\", $3); print $3}}' FILE | {_AS_LINES}",
    ),
)


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
    fields = next((row for row in rows if _W3C.match(row)), None)
    if fields is not None:
        data = [row for row in rows if not row.startswith("#")]
        return _w3c(has_tabs=any("\t" in row for row in data))
    for log in _LOGS:
        if 2 * sum(log.row.match(row) is not None for row in rows) > len(rows):
            return log.name, f"to count it: {log.advice}"
    if rows and rows[0].lstrip()[:1] in ("[", "{") and rows[0].strip() in ("[", "{", "[{"):
        return (
            "a JSON document over several lines",
            "to count its objects: jq -c '.[]' FILE | lazysketch top - --format jsonl --by KEY",
        )
    return _table(rows)


def _w3c(*, has_tabs: bool) -> tuple[str, str]:
    if has_tabs:
        return (
            "a W3C log with tabs, as of CloudFront",
            f"to count it: awk '{_W3C_TABS}' FILE | lazysketch top - --format tsv --by c-ip",
        )
    return (
        "a W3C log with spaces, as of IIS",
        f"to count it: sed -n '{_W3C_SPACES}' FILE | {_AS_TABLE} --delimiter space --by c-ip",
    )


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
