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

from lazysketch.cli.view.output import NOT_PRIVATE, item_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lazysketch.cli.view.output import Report, Row

__all__ = [
    "bar",
    "can_show_blocks",
    "fitting_table",
    "interval_bar",
    "shown",
    "table_of",
    "table_text",
]

_GIVE_WAY: Final = ("share", "rank")
_ABOVE_NOISE: Final = "above_noise"
_COMPLETE: Final = "complete"
_BAR_WIDTH: Final = 12
_FEWEST: Final = 5  # rows that are shown on a terminal of any height
_UNLIMITED: Final = 10_000  # columns, if the output is not a terminal
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def table_text(report: Report) -> str:
    """Return a report for people, with the colours and the width of standard output."""
    page = _Page()
    terminal = page.isatty()
    console = Console(file=page, highlight=False, width=None if terminal else _UNLIMITED)
    if report.rows and (report.columns is None or report.columns):
        rows = report.rows
        if terminal and report.name == "items":
            around = sum(
                len(Text(visible(line)).wrap(console, console.width)) or 1 for line in report.lines
            )
            # Two lines for the titles, one before the lines, one for hidden rows, two for prompts.
            rows = rows[: max(console.height - around - 6, _FEWEST)]
        table = fitting_table(rows, console=console, fold=terminal, columns=report.columns)
        console.print(table)
        if len(rows) < len(report.rows):
            hidden = f"{len(report.rows) - len(rows):,} more rows: | less, or --output csv"
            console.print(Text(hidden, style="dim"))
        if not terminal:
            lines = page.getvalue().splitlines()
            page.seek(page.truncate(0))
            page.writelines(f"{line.rstrip()}\n" for line in lines)
        console.print()
    for line in report.lines:
        style = "bold red" if line.startswith(NOT_PRIVATE) else ""
        console.print(Text(visible(line), style=style), soft_wrap=not terminal)
    return page.getvalue()


def table_of(
    rows: Sequence[Row],
    *,
    fold: bool,
    blocks: bool,
    columns: Sequence[str] | None = None,
    bars: bool = True,
    intervals: bool = False,
) -> Table:
    """Return rows as a table with a bar per estimate; rows that may be noise are dim.

    Args:
        rows: The rows of a report.
        fold: Wrap a long item instead of truncating it.
        blocks: Whether block characters can be shown.
        columns: The keys to show; None for all.
        bars: Whether to draw bars.
        intervals: Whether a bar shows the interval too.
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
    most = _upper if intervals else _estimate
    longest = max((most(row) for row in rows), default=0.0) if bars else 0.0
    lines = []
    for row in rows:
        above = bool(row.get(_ABOVE_NOISE, True))
        # Text, not str: an item is not markup.
        cells = [Text(shown(row, key), style="" if above else "dim") for key in keys]
        if bars:
            drawn = _bar_of if intervals and "low" in row else _plain_bar_of
            cells.append(drawn(row, longest=longest, blocks=blocks) if above else Text(""))
        lines.append(cells)
    if not fold and lines:
        # Rows of one line each are laid out together, which costs a fifth.
        lines = [[Text("\n").join(column) for column in zip(*lines, strict=True)]]
    for cells in lines:
        table.add_row(*cells)
    return table


def fitting_table(
    rows: Sequence[Row], *, console: Console, fold: bool, columns: Sequence[str] | None = None
) -> Table:
    """Return rows as a table; what follows from other columns gives way to the items.

    The bars go first, then the share, then the rank.
    """
    blocks = can_show_blocks(console)
    keys = list(columns if columns is not None else rows[0] if rows else [])
    table = table_of(rows, fold=fold, blocks=blocks, columns=keys, intervals=fold)
    for left_out in ("", *_GIVE_WAY):
        # The measured width is clipped to the console, so an equal width may be too wide.
        if console.measure(table).maximum < console.width:
            break
        keys = [key for key in keys if key != left_out]
        table = table_of(rows, fold=fold, blocks=blocks, columns=keys, bars=False)
    return table


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


def _upper(row: Row) -> float:
    """Return the upper end of an interval, which may be unknown or not be there."""
    high = _number(row.get("high", row["estimate"]))
    return high if math.isfinite(high) else _estimate(row)


def _plain_bar_of(row: Row, *, longest: float, blocks: bool) -> Text:
    return bar(_estimate(row), longest=longest, blocks=blocks)


def _bar_of(row: Row, *, longest: float, blocks: bool) -> Text:
    low = _number(row["low"])
    return interval_bar(low, _upper(row), longest=longest, blocks=blocks, width=_BAR_WIDTH)


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


def _magnitude(value: object) -> str:
    """Show six significant digits, and no exponent where all digits before the point fit."""
    number = _number(value)
    short = f"{number:,.6g}"
    return f"{number:,.0f}" if "e+" in short and abs(number) < _LONG else short


def _percent(value: object) -> str:
    return "-" if value is None else f"{_number(value):.2%}"


def _text(value: object) -> str:
    return "-" if value is None else visible(str(value))


# Left-aligned.
_TEXTS: Final = (
    *("item", "part", "sketch", "relation", "schedule"),
    *("verdict", "check", "system", "case", "observed"),
)
_TITLES: Final = {
    "at_least": "at least",
    "at_most": "at most",
    "relative_error": "error",
    "noise_deviation_max": "noise",
}
_LONG: Final = 1e12  # values from here on have an exponent
_SHORT: Final = 1_000  # sums below have digits after the point where these are known
_SHORT_ID: Final = 8  # hex digits that distinguish the parts of a release; JSON and CSV have all
_SHOWN: Final[Mapping[str, Callable[[object], str]]] = {
    "estimate": _count,
    "sum": lambda value: f"{_number(value):,g}" if abs(_number(value)) < _SHORT else _count(value),
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
    "quantile": lambda share: f"{_number(share):g}",
    "value": _magnitude,
    "from": _magnitude,
    "to": _magnitude,
    "below": _percent,
    "at_least": _percent,
    "at_most": _percent,
}
