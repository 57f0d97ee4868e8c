"""Reports as tables of a terminal: columns, bars and the lines below.

Items are untrusted input: unprintable characters in them never reach a terminal.
"""

from __future__ import annotations

import io
import math
import sys
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lazysketch.cli.view.output import item_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lazysketch.cli.view.output import Report, Row

__all__ = ["bar", "can_show_blocks", "fitting_table", "shown", "table_of", "table_text"]

_ABOVE_NOISE: Final = "above_noise"
_COMPLETE: Final = "complete"
_BAR_WIDTH: Final = 12
_UNLIMITED: Final = 10_000  # columns, if the output is not a terminal
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def table_text(report: Report) -> str:
    """Return a report for people, with the colours and the width of standard output."""
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
    """Return one value of a row as a table shows it."""
    return item_text(row) if key == "item" else _SHOWN.get(key, _text)(row[key])


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


class _Page(io.StringIO):
    """Text for standard output, to which nothing is written yet."""

    @property
    def encoding(self) -> str | None:  # type: ignore[override]  # of a text in memory
        return getattr(sys.stdout, "encoding", None)

    def isatty(self) -> bool:
        return sys.stdout.isatty()


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
