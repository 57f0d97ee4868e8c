"""Reports as tables of a terminal: columns, bars and the lines below.

Items are untrusted input: unprintable characters in them never reach a terminal.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lazysketch.cli.view.cells import (
    ABOVE_NOISE,
    BAR_WIDTH,
    bar,
    can_show_blocks,
    estimate_of,
    is_text,
    lower_of,
    shown,
    shown_keys,
    title_of,
    upper_of,
)
from lazysketch.cli.view.output import NOT_PRIVATE, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.cli.view.output import Report, Row

__all__ = ["fitting_table", "interval_bar", "table_of", "terminal_text"]

_GIVE_WAY: Final = ("share", "rank")
_FEWEST: Final = 5  # rows that are shown on a terminal of any height


def terminal_text(report: Report) -> str:
    """Return a report with the colours and the width of the terminal."""
    page = _Page()
    console = Console(file=page, highlight=False)
    if report.rows and (report.columns is None or report.columns):
        rows = report.rows
        if report.name == "items":
            around = sum(
                len(Text(visible(line)).wrap(console, console.width)) or 1 for line in report.lines
            )
            # Two lines for the titles, one before the lines, one for hidden rows, two for prompts.
            rows = rows[: max(console.height - around - 6, _FEWEST)]
        console.print(fitting_table(rows, console=console, columns=report.columns))
        if len(rows) < len(report.rows):
            hidden = f"{len(report.rows) - len(rows):,} more rows: | less, or --output csv"
            console.print(Text(hidden, style="dim"))
        console.print()
    for line in report.lines:
        style = "bold red" if line.startswith(NOT_PRIVATE) else ""
        console.print(Text(visible(line), style=style))
    return page.getvalue()


def table_of(
    rows: Sequence[Row],
    *,
    blocks: bool,
    columns: Sequence[str] | None = None,
    bars: bool = True,
) -> Table:
    """Return rows as a table with a bar per estimate; rows that may be noise are dim.

    Args:
        rows: The rows of a report.
        blocks: Whether block characters can be shown.
        columns: The keys to show; None for all.
        bars: Whether to draw bars, which show the intervals, too.
    """
    table = Table(box=box.SIMPLE_HEAD if blocks else box.ASCII2, show_edge=False)
    keys = shown_keys(rows, columns)
    for key in keys:
        if is_text(key):
            table.add_column(title_of(key), overflow="fold")
        else:
            table.add_column(title_of(key), justify="right", no_wrap=True)
    bars = bars and "estimate" in keys
    if bars:
        table.add_column("", no_wrap=True)
    longest = max((upper_of(row) for row in rows), default=0.0) if bars else 0.0
    for row in rows:
        above = bool(row.get(ABOVE_NOISE, True))
        # Text, not str: an item is not markup.
        cells = [Text(shown(row, key), style="" if above else "dim") for key in keys]
        if bars:
            cells.append(_bar_of(row, longest=longest, blocks=blocks) if above else Text(""))
        table.add_row(*cells)
    return table


def fitting_table(
    rows: Sequence[Row], *, console: Console, columns: Sequence[str] | None = None
) -> Table:
    """Return rows as a table; what follows from other columns gives way to the items.

    The bars go first, then the share, then the rank.
    """
    blocks = can_show_blocks(console.encoding)
    keys = list(columns if columns is not None else rows[0] if rows else [])
    table = table_of(rows, blocks=blocks, columns=keys)
    for left_out in ("", *_GIVE_WAY):
        # The measured width is clipped to the console, so an equal width may be too wide.
        if console.measure(table).maximum < console.width:
            break
        keys = [key for key in keys if key != left_out]
        table = table_of(rows, blocks=blocks, columns=keys, bars=False)
    return table


def interval_bar(low: float, high: float, *, longest: float, blocks: bool, width: int) -> Text:
    """Return a bar that is full up to ``low`` and lighter up to ``high``.

    Example:
        >>> interval_bar(5, 7, longest=10, blocks=True, width=10).plain
        '█████▒▒'
    """
    if longest <= 0 or high <= 0:
        return Text("")
    full = round(max(low, 0.0) / longest * width)
    end = max(round(min(high, longest) / longest * width), full)
    marks = ("█", "▒") if blocks else ("#", "-")
    return Text.assemble((marks[0] * full, "cyan"), (marks[1] * (end - full), "dim cyan"))


class _Page(io.StringIO):
    """Text for standard output, to which nothing is written yet."""

    @property
    def encoding(self) -> str | None:  # type: ignore[override]  # of a text in memory
        return getattr(sys.stdout, "encoding", None)

    def isatty(self) -> bool:
        return sys.stdout.isatty()


def _bar_of(row: Row, *, longest: float, blocks: bool) -> Text:
    if "low" not in row:
        return Text(bar(estimate_of(row), longest=longest, blocks=blocks), style="cyan")
    ends = lower_of(row), upper_of(row)
    return interval_bar(*ends, longest=longest, blocks=blocks, width=BAR_WIDTH)
