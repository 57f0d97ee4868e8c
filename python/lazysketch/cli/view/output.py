"""Results on standard output, and what is for the operator on standard error.

A report is rows (one dictionary per item, or per part of a release), a summary and
lines of text. A table shows the rows and the lines; JSON holds the rows and the
summary; CSV and JSON lines hold the rows alone, and their lines go to standard error.
What is not finite is null in JSON and empty in CSV.

Items come from outside: nothing unprintable in them reaches a terminal.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    Row = Mapping[str, Any]

_ABOVE_NOISE = "above_noise"
_COMPLETE = "complete"
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
        name: What JSON calls the rows.
        columns: What a table shows of them; None for all, nothing for no table.
        header: The keys of the rows, for CSV without a row.
    """

    rows: Sequence[Row]
    summary: Row
    lines: Sequence[str]
    name: str = "items"
    columns: Sequence[str] | None = None
    header: Sequence[str] = ()


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
        whole = {**report.summary, report.name: report.rows}
        sys.stdout.write(as_json(whole, indent=2) + "\n")
        return
    if output == "csv":
        _write_csv(report, sys.stdout)
    else:
        sys.stdout.writelines(as_json(row, indent=None) + "\n" for row in report.rows)
    for line in report.lines:
        tell(line)


def table_of(
    rows: Sequence[Row],
    *,
    fold: bool,
    blocks: bool,
    columns: Sequence[str] | None = None,
    bars: bool = True,
) -> Table:
    """Lay rows out as a table, with a bar for each estimate; those that may be noise are dim.

    Args:
        rows: As in a report.
        fold: Break a long item over lines rather than cut it off.
        blocks: Whether block characters can be shown.
        columns: The keys to show; None for all.
        bars: Whether there may be bars.
    """
    table = Table(box=box.SIMPLE_HEAD if blocks else box.ASCII2, show_edge=False)
    keys = list(columns if columns is not None else rows[0] if rows else [])
    keys = [key for key in keys if key not in (_ABOVE_NOISE, _COMPLETE)]  # dim and … say it
    for key in keys:
        title = _TITLES.get(key, key)
        if key in _TEXTS:
            table.add_column(title, overflow="fold" if fold else "ellipsis", no_wrap=not fold)
        else:
            table.add_column(title, justify="right", no_wrap=True)
    bars = bars and "estimate" in keys
    if bars:
        table.add_column("", no_wrap=True)
    longest = max((row["estimate"] for row in rows), default=0.0) if bars else 0.0
    for row in rows:
        # Text, not str: an item is not markup.
        cells = [Text(shown(row, key)) for key in keys]
        above = row.get(_ABOVE_NOISE, True)
        if bars:
            length = row["estimate"] if above else 0.0
            cells.append(bar(length, longest=longest, blocks=blocks))
        table.add_row(*cells, style="" if above else "dim")
    return table


def fitting_table(
    rows: Sequence[Row], *, console: Console, fold: bool, columns: Sequence[str] | None = None
) -> Table:
    """Lay rows out as a table; without bars where long items would have to make room for them."""
    blocks = can_show_blocks(console)
    table = table_of(rows, fold=fold, blocks=blocks, columns=columns)
    if console.measure(table).maximum < console.width:
        return table
    # What is measured is cut to the console: as wide as that may be too wide.
    return table_of(rows, fold=fold, blocks=blocks, columns=columns, bars=False)


def shown(row: Row, key: str) -> str:
    """Return what a table shows of one value of a row; a name that was cut ends in an ellipsis."""
    text = _SHOWN.get(key, _text)(row[key])
    return text if key != "item" or row.get(_COMPLETE, True) else f"{text}…"


def bar(value: float, *, longest: float, blocks: bool, width: int = _BAR_WIDTH) -> Text:
    """Return a bar that is as long, in parts of the width, as the value in parts of the longest."""
    share = max(0.0, value / longest) if longest > 0 else 0.0
    if not blocks:
        return Text("#" * round(share * width))
    eighths = round(share * width * 8)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), style="cyan")


def can_show_blocks(console: Console) -> bool:
    """Tell whether the console's encoding has block characters."""
    return console.encoding.lower().startswith("utf")


def as_number(value: float) -> int | float:
    """Return the value as an integer where it is one, so that output has no idle ".0"."""
    return int(value) if float(value).is_integer() else float(value)


def as_json(value: object, *, indent: int | None) -> str:
    """Return the value as JSON; what is not finite is null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _write_table(report: Report) -> None:
    terminal = sys.stdout.isatty()
    console = OutputConsole(
        file=sys.stdout, highlight=False, width=None if terminal else _UNLIMITED
    )
    if report.rows and (report.columns is None or report.columns):
        table = fitting_table(report.rows, console=console, fold=terminal, columns=report.columns)
        if terminal:
            console.print(table)
        else:
            with console.capture() as captured:
                console.print(table)
            sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
        console.print()
    for line in report.lines:
        style = "bold red" if line.startswith("NOT PRIVATE") else ""
        console.print(Text(visible(line), style=style), soft_wrap=not terminal)


def _write_csv(report: Report, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(report.rows[0] if report.rows else report.header)
    for row in report.rows:
        writer.writerow(_csv_cell(cell, terminal=file.isatty()) for cell in _finite(row).values())


def _csv_cell(cell: object, *, terminal: bool) -> object:
    if isinstance(cell, bool):
        return str(cell).lower()
    return visible(cell) if terminal and isinstance(cell, str) else cell


def _finite(value: Any) -> Any:
    """Return the value with None for what no number of JSON can say."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _bound(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "-"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _text(value: object) -> str:
    return "-" if value is None else visible(str(value))


# Set to the left.
_TEXTS = (
    *("item", "part", "sketch", "relation", "schedule"),
    *("verdict", "check", "system", "case", "observed"),
)
_TITLES = {"relative_error": "error", "noise_deviation_max": "noise"}
_SHORT_ID = 8  # digits that tell the parts of a release apart; programs get all of them
_SHOWN: dict[str, Callable[[Any], str]] = {
    "estimate": _whole,
    "low": _whole,
    "high": _bound,
    "share": _percent,
    "true": _whole,
    "relative_error": _percent,
    "sketch": lambda name: str(name)[:_SHORT_ID],
    "steps": _whole,
    "samples": _whole,
    "seconds": lambda value: f"{value:.2f}",
    "epsilon": lambda value: f"{value:g}",
    "noise_deviation_max": lambda value: f"{value:,.1f}",
    "counts": lambda value: f"{value:,.1f}",
}
