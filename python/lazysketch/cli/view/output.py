"""Results on standard output, messages for the operator on standard error.

A report has rows (one mapping per item, or per part of a release), a summary and lines of text.
A table shows the rows and the lines; JSON has the rows and the summary; CSV and JSON lines have
the rows only, and the lines go to standard error. A non-finite number is null in JSON and empty in
CSV.

Items are untrusted input: unprintable characters in them never reach a terminal.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import select
import sys
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOT_PRIVATE: Final = "NOT PRIVATE"
"""How a line begins that stands out."""

Row: TypeAlias = "Mapping[str, object]"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verb.

    Args:
        rows: One mapping per item, with the same keys in the same order.
        summary: Everything else, for programs.
        lines: The same for people.
        name: The key of the rows in JSON.
        columns: The keys that a table shows; None for all, empty for no table.
        header: The keys of the rows, for CSV without rows.
    """

    rows: Sequence[Row]
    summary: Row
    lines: Sequence[str]
    name: str = "items"
    columns: Sequence[str] | None = None
    header: Sequence[str] = ()


class Writing:
    """Text on its way to standard output.

    It is encoded once, and every written byte is counted. After a failure that is not the output's,
    such as a lack of memory, a second call of :meth:`complete` therefore continues where the first
    one stopped.
    """

    def __init__(self, text: str) -> None:
        self._left = memoryview(text.encode(_encoding(), "backslashreplace"))

    def complete(self) -> None:
        """Write what is left.

        Raises:
            OSError: Standard output is closed, full or gone.
        """
        output = sys.stdout
        buffer = getattr(output, "buffer", None)
        if buffer is None:  # text in memory, in a program that calls the command
            output.write(str(self._left, "utf-8"))
            self._left = self._left[:0]
            return
        # Past the buffers, so that nothing is left in them for the interpreter to write at its end.
        output.flush()
        raw: io.RawIOBase = getattr(buffer, "raw", buffer)
        while self._left:
            written = raw.write(self._left)
            if written is None:  # a full pipe that another process made non-blocking
                select.select([], [raw], [])
                continue
            self._left = self._left[written:]


def put(text: str) -> None:
    """Write text to standard output.

    Raises:
        OSError: Standard output is closed, full or gone.
    """
    Writing(text).complete()


_held: list[str] | None = None
_answers: list[str] = []


@contextmanager
def held_messages() -> Iterator[None]:
    """Keep messages while a screen is shown, and write them after it."""
    global _held
    _held = []
    try:
        yield
    finally:
        messages, _held = _held, None
        _answers.clear()
        for message in messages:
            tell(message)


def hold_answer(message: str) -> bool:
    """Let the screen show the answer to a signal, and write it after the screen.

    Returns:
        False if no screen is shown. It may be called by the handler of a signal.
    """
    held = _held
    if held is None:
        return False
    _answers.append(message)
    held.append(message)
    return True


def held_answers() -> Sequence[str]:
    """Return the answers that the screen shows."""
    return tuple(_answers)


def tell(message: str) -> None:
    """Write one line to standard error; a terminal that is gone loses it."""
    if _held is not None:
        _held.append(message)
        return
    try:
        sys.stderr.write(f"lazysketch: {visible(' '.join(message.split()))}\n")
        sys.stderr.flush()
    except OSError:
        # The interpreter flushes again at exit, which would change the exit status.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def visible(text: str) -> str:
    r"""Escape unprintable characters: controls, and marks that reorder or hide text.

    Example:
        >>> visible("a\x1b[31m\u202e")
        'a\\x1b[31m\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def write(report: Report, *, output: str) -> None:
    """Write a report to standard output in the given format."""
    put(text_of(report, output=output))
    for line in remarks_of(report, output=output):
        tell(line)


def text_of(report: Report, *, output: str) -> str:
    """Return a report in the given format, with the colours of standard output for a table."""
    if output == "table":
        return _table_text(report)
    if output == "json":
        document = {**report.summary, report.name: report.rows}
        return as_json(document, indent=2) + "\n"
    if output == "csv":
        return _csv_text(report, terminal=sys.stdout.isatty())
    return "".join(as_json(row, indent=None) + "\n" for row in report.rows)


def _table_text(report: Report) -> str:
    # Late: other formats need no rich, and the layout of a file needs little of it.
    if sys.stdout.isatty():
        from lazysketch.cli.view.table import terminal_text

        return terminal_text(report)
    from lazysketch.cli.view.plain_table import plain_text

    return plain_text(report, encoding=_encoding())


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"  # none of a text in memory


def remarks_of(report: Report, *, output: str) -> Sequence[str]:
    """Return the lines of a report that its format has no place for."""
    return () if output in ("table", "json") else report.lines


def item_text(row: Row) -> str:
    """Return the item of a row as people see it; a truncated one ends in an ellipsis."""
    item = row["item"]
    text = "-" if item is None else visible(str(item))
    return text if row.get("complete", True) else f"{text}…"


def name_without_folders(of: str) -> str:
    """Return the name of an input without the folders that it lies in.

    Args:
        of: a path, or words.

    Example:
        >>> name_without_folders("/var/log/access.log"), name_without_folders("2 inputs")
        ('access.log', '2 inputs')
    """
    return Path(of).name or of


def as_json(value: object, *, indent: int | None) -> str:
    """Return the value as JSON; a non-finite number is null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _csv_text(report: Report, *, terminal: bool) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(report.rows[0] if report.rows else report.header)
    for row in report.rows:
        cells = (_finite(cell) for cell in row.values())
        writer.writerow(_csv_cell(cell, terminal=terminal) for cell in cells)
    return file.getvalue()


def _csv_cell(cell: object, *, terminal: bool) -> object:
    if isinstance(cell, bool):
        return str(cell).lower()
    return visible(cell) if terminal and isinstance(cell, str) else cell


def _finite(value: object) -> object:
    """Return the value with None for each number that JSON cannot express."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
