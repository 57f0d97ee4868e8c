"""Results on standard output, and what is for the operator on standard error.

A report is rows (one dictionary per item), a summary and lines of text. A table
shows the rows and the lines; JSON holds the rows and the summary; CSV and JSON lines
hold the rows alone, and their lines go to standard error.

Items come from outside: nothing unprintable in them reaches a terminal.
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    Row = Mapping[str, Any]

_BAR_WIDTH = 12
_UNLIMITED = 10_000  # columns, where there is no terminal to fit into
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Report:
    """What a verb found.

    Args:
        rows: One mapping per item, with the same keys in the same order.
        summary: Everything else, for programs.
        lines: The same for people.
    """

    rows: Sequence[Row]
    summary: Row
    lines: Sequence[str]


class OutputConsole(Console):
    """A console that leaves a broken pipe to the one place that handles it."""

    def on_broken_pipe(self) -> NoReturn:
        """Pass the failure on."""
        raise BrokenPipeError


def tell(message: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"lazysketch: {visible(' '.join(message.split()))}\n")
    sys.stderr.flush()


def visible(text: str) -> str:
    r"""Escape what does not print: controls, and marks that reorder or hide text.

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
    """Write a report to standard output in the form asked for."""
    if output == "table":
        _write_table(report)
        return
    if output == "json":
        whole = {**report.summary, "items": list(report.rows)}
        sys.stdout.write(json.dumps(whole, indent=2) + "\n")
        return
    if output == "csv":
        _write_csv(report.rows, sys.stdout)
    else:
        sys.stdout.writelines(json.dumps(row) + "\n" for row in report.rows)
    for line in report.lines:
        tell(line)


def table_of(rows: Sequence[Row], *, fold: bool, blocks: bool) -> Table:
    """Lay rows out as a table, with a bar for each estimate.

    Args:
        rows: As in a report; the keys choose the columns.
        fold: Break a long item over lines rather than cut it off.
        blocks: Whether block characters can be shown.
    """
    table = Table(box=box.SIMPLE_HEAD if blocks else box.ASCII2, show_edge=False)
    keys = list(rows[0]) if rows else []
    for key in keys:
        if key == "item":
            table.add_column("item", overflow="fold" if fold else "ellipsis", no_wrap=not fold)
        else:
            title = _TITLES[key] if blocks else _TITLES[key].replace("±", "+-")
            table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max((row["estimate"] for row in rows), default=0.0)
    for row in rows:
        # Text, not str: an item is not markup.
        cells = [Text(_SHOWN[key](row[key])) for key in keys]
        table.add_row(*cells, _bar(row["estimate"], longest=longest, blocks=blocks))
    return table


def can_show_blocks(console: Console) -> bool:
    """Tell whether the console's encoding has block characters."""
    return console.encoding.lower().startswith("utf")


def as_number(value: float) -> int | float:
    """Return the value as an integer where it is one, so that output has no idle ".0"."""
    return int(value) if float(value).is_integer() else float(value)


def _write_table(report: Report) -> None:
    terminal = sys.stdout.isatty()
    console = OutputConsole(
        file=sys.stdout, highlight=False, width=None if terminal else _UNLIMITED
    )
    table = table_of(report.rows, fold=terminal, blocks=can_show_blocks(console))
    console.print(table)
    console.print()
    for line in report.lines:
        console.print(Text(visible(line)), soft_wrap=not terminal)


def _write_csv(rows: Sequence[Row], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows[0])
    clean = visible if file.isatty() else str
    for row in rows:
        writer.writerow(clean(cell) if isinstance(cell, str) else cell for cell in row.values())


def _bar(value: float, *, longest: float, blocks: bool) -> Text:
    share = max(0.0, value / longest) if longest > 0 else 0.0
    if not blocks:
        return Text("#" * round(share * _BAR_WIDTH))
    eighths = round(share * _BAR_WIDTH * 8)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), style="cyan")


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


_TITLES = {
    "rank": "rank",
    "estimate": "estimate",
    "noise_95": "± noise",
    "share": "share",
    "true": "true",
    "relative_error": "error",
}
_SHOWN: dict[str, Callable[[Any], str]] = {
    "rank": str,
    "item": visible,
    "estimate": _whole,
    "noise_95": _whole,
    "share": _percent,
    "true": _whole,
    "relative_error": _percent,
}
