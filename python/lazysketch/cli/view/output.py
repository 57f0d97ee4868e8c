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
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row: TypeAlias = "Mapping[str, object]"

_ABOVE_NOISE: Final = "above_noise"
_COMPLETE: Final = "complete"
_BAR_WIDTH: Final = 12
_UNLIMITED: Final = 10_000  # columns, if the output is not a terminal
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


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
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        self._left = memoryview(text.encode(encoding, "backslashreplace"))

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


def tell(message: str) -> None:
    """Write one line to standard error; a terminal that is gone loses it."""
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


def remarks_of(report: Report, *, output: str) -> Sequence[str]:
    """Return the lines of a report that its format has no place for."""
    return () if output in ("table", "json") else report.lines


def table_of(
    rows: Sequence[Row],
    *,
    fold: bool,
    blocks: bool,
    columns: Sequence[str] | None = None,
    bars: bool = True,
) -> Table:
    """Return rows as a table with a bar per estimate; rows that may be noise are dim.

    Args:
        rows: The rows of a report.
        fold: Wrap a long item instead of truncating it.
        blocks: Whether block characters can be shown.
        columns: The keys to show; None for all.
        bars: Whether to draw bars.
    """
    table = Table(box=box.SIMPLE_HEAD if blocks else box.ASCII2, show_edge=False)
    keys = list(columns if columns is not None else rows[0] if rows else [])
    # Dimming and "…" show these two.
    keys = [key for key in keys if key not in (_ABOVE_NOISE, _COMPLETE)]
    for key in keys:
        title = _TITLES.get(key, key)
        if key in _TEXTS:
            table.add_column(title, overflow="fold" if fold else "ellipsis", no_wrap=not fold)
        else:
            table.add_column(title, justify="right", no_wrap=True)
    bars = bars and "estimate" in keys
    if bars:
        table.add_column("", no_wrap=True)
    longest = max((_estimate(row) for row in rows), default=0.0) if bars else 0.0
    for row in rows:
        # Text, not str: an item is not markup.
        cells = [Text(shown(row, key)) for key in keys]
        above = bool(row.get(_ABOVE_NOISE, True))
        if bars:
            length = _estimate(row) if above else 0.0
            cells.append(bar(length, longest=longest, blocks=blocks))
        table.add_row(*cells, style="" if above else "dim")
    return table


def fitting_table(
    rows: Sequence[Row], *, console: Console, fold: bool, columns: Sequence[str] | None = None
) -> Table:
    """Return rows as a table, without bars if these would leave too little room for items."""
    blocks = can_show_blocks(console)
    table = table_of(rows, fold=fold, blocks=blocks, columns=columns)
    if console.measure(table).maximum < console.width:
        return table
    # The measured width is clipped to the console, so an equal width may be too wide.
    return table_of(rows, fold=fold, blocks=blocks, columns=columns, bars=False)


def shown(row: Row, key: str) -> str:
    """Return one value of a row as a table shows it; a truncated item ends in an ellipsis."""
    text = _SHOWN.get(key, _text)(row[key])
    return text if key != "item" or row.get(_COMPLETE, True) else f"{text}…"


def bar(value: float, *, longest: float, blocks: bool, width: int = _BAR_WIDTH) -> Text:
    """Return a bar of length ``width * value / longest``."""
    share = max(0.0, value / longest) if longest > 0 else 0.0
    if not blocks:
        return Text("#" * round(share * width))
    eighths = round(share * width * 8)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), style="cyan")


def can_show_blocks(console: Console) -> bool:
    """Return whether the console's encoding has block characters."""
    return console.encoding.lower().startswith("utf")


def as_number(value: float) -> int | float:
    """Return the value as an integer if it is one, so that output has no needless ".0"."""
    return int(value) if float(value).is_integer() else float(value)


def as_json(value: object, *, indent: int | None) -> str:
    """Return the value as JSON; a non-finite number is null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


class _Page(io.StringIO):
    """Text for standard output, to which nothing is written yet."""

    @property
    def encoding(self) -> str | None:  # type: ignore[override]  # of a text in memory
        return getattr(sys.stdout, "encoding", None)

    def isatty(self) -> bool:
        return sys.stdout.isatty()


def _table_text(report: Report) -> str:
    page = _Page()
    terminal = page.isatty()
    console = Console(file=page, highlight=False, width=None if terminal else _UNLIMITED)
    if report.rows and (report.columns is None or report.columns):
        table = fitting_table(report.rows, console=console, fold=terminal, columns=report.columns)
        console.print(table)
        if not terminal:
            lines = page.getvalue().splitlines()
            page.seek(page.truncate(0))
            page.writelines(f"{line.rstrip()}\n" for line in lines)
        console.print()
    for line in report.lines:
        style = "bold red" if line.startswith("NOT PRIVATE") else ""
        console.print(Text(visible(line), style=style), soft_wrap=not terminal)
    return page.getvalue()


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


def _estimate(row: Row) -> float:
    return _number(row["estimate"])


def _number(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    return value


def _count(value: object) -> str:
    return f"{_number(value):,.0f}"


def _bound(value: object) -> str:
    return _count(value) if math.isfinite(_number(value)) else "-"


def _tenths(value: object) -> str:
    return f"{_number(value):,.1f}"


def _percent(value: object) -> str:
    return "-" if value is None else f"{_number(value):.2%}"


def _text(value: object) -> str:
    return "-" if value is None else visible(str(value))


# Left-aligned.
_TEXTS: Final = (
    *("item", "part", "sketch", "relation", "schedule"),
    *("verdict", "check", "system", "case", "observed"),
)
_TITLES: Final = {"relative_error": "error", "noise_deviation_max": "noise"}
_SHORT_ID: Final = 8  # hex digits that distinguish the parts of a release; JSON and CSV have all
_SHOWN: Final[Mapping[str, Callable[[object], str]]] = {
    "estimate": _count,
    "low": _count,
    "high": _bound,
    "share": _percent,
    "true": _count,
    "relative_error": _percent,
    "sketch": lambda name: str(name)[:_SHORT_ID],
    "steps": _count,
    "samples": _count,
    "seconds": lambda value: f"{_number(value):.2f}",
    "epsilon": lambda value: f"{_number(value):g}",
    "noise_deviation_max": _tenths,
    "counts": _tenths,
}
