"""The live table for a terminal of any size.

Columns give way as it gets narrower, rows as it gets shorter. What goes first is what can be had
from the rest: the bar, the trend, the share, the rank. The interval stays beside the estimate
down to the width at which an item can no longer be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lazysketch.cli.view.output import bar, can_show_blocks, shown, visible
from lazysketch.cli.view.trends import RECENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType

    Row = dict[str, Any]

__all__ = ["heading", "live_table", "trend_text"]

_GAP: Final = 2  # between columns
_BAR: Final = "bar"
_TREND: Final = "trend"
_BARS: Final = (6, 30)  # narrowest and widest
_TREND_WIDTH: Final = 7
# Columns, and the cells that an item must be given, if it is as long as that.
_LAYOUTS: Final = (
    (("rank", "item", "estimate", "low", "high", "share", _BAR, _TREND), 32),
    (("rank", "item", "estimate", "low", "high", "share", _TREND), 22),
    (("rank", "item", "estimate", "low", "high", "share"), 22),
    (("rank", "item", "estimate", "low", "high"), 16),
    (("item", "estimate", "low", "high"), 10),
    (("item", "estimate"), 1),
)
_LEGEND: Final = (
    f"trend: the last {RECENT * 100:.0f} % of the steps against all before, where beyond noise"
)
_MANY: Final = 10.0  # times as frequent; how many more than that noise does not tell


def live_table(
    rows: Sequence[Row],
    trends: Sequence[float | None],
    *,
    head: Sequence[Text],
    foot: Sequence[Text],
    console: Console,
) -> RenderableType:
    """Lay out what is shown while a stream is read.

    Args:
        rows: As in a report.
        trends: How many times more frequent each has become, or None.
        head: Lines above the table.
        foot: Lines below it.
        console: The terminal that it has to fit into.
    """
    columns, *widths = _layout(rows, width=console.width) if rows else ((), 0, 0)
    if _TREND in columns and any(ratio is not None for ratio in trends):
        foot = [Text(_LEGEND, style="dim"), *foot]
    around = sum(len(line.wrap(console, console.width)) for line in (*head, *foot))
    room = max(console.height - around - 3, 1)  # two lines of titles, one of the cursor
    hidden = len(rows) - room
    if hidden > 0:
        room = max(room - 1, 1)  # and one that says so
    parts: list[RenderableType] = list(head)
    if rows:
        table = _table(columns, *widths, blocks=can_show_blocks(console))
        _fill(table, rows[:room], trends[:room], columns, bar_width=widths[1])
        parts.append(table)
    if hidden > 0:
        parts.append(Text(f"{len(rows) - room:,} more below", style="dim"))
    return Group(*parts, *foot)


def trend_text(ratio: float | None, *, blocks: bool) -> Text:
    """Return an arrow with the change, which does not need its colour to be understood.

    Example:
        >>> [trend_text(ratio, blocks=True).plain for ratio in (1.25, 0.4, 12.0, None)]
        ['▲ +25%', '▼ -60%', '▲ x10+', '']
    """
    if ratio is None:
        return Text("")
    change = f"x{_MANY:.0f}+" if ratio >= _MANY else f"{ratio - 1:+.0%}"
    if ratio >= 1:
        return Text(f"{'▲' if blocks else '^'} {change}", style="green")
    return Text(f"{'▼' if blocks else 'v'} {change}", style="yellow")


def _table(columns: Sequence[str], item_width: int, bar_width: int, *, blocks: bool) -> Table:
    """Return the table without its rows."""
    table = Table(
        box=box.SIMPLE_HEAD if blocks else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1 if blocks else _GAP, 0, 0),
    )
    widths = {"item": item_width, _TREND: _TREND_WIDTH, _BAR: bar_width}
    for name in columns:
        title = "" if name in ("rank", _BAR) else name
        if name in widths:
            table.add_column(title, width=widths[name], no_wrap=True, overflow="ellipsis")
        else:
            table.add_column(title, justify="right", no_wrap=True)
    return table


def _fill(
    table: Table,
    rows: Sequence[Row],
    trends: Sequence[float | None],
    columns: Sequence[str],
    *,
    bar_width: int,
) -> None:
    blocks = table.box is not None
    longest = max(float(row["estimate"]) for row in rows)
    for row, ratio in zip(rows, trends, strict=True):
        above = row["above_noise"]
        length = float(row["estimate"]) if above else 0.0
        others = {
            _TREND: trend_text(ratio, blocks=blocks),
            _BAR: bar(length, longest=longest, blocks=blocks, width=bar_width),
        }
        # Text, not str: an item is not markup.
        cells = [others[name] if name in others else Text(shown(row, name)) for name in columns]
        table.add_row(*cells, style="" if above else "dim")


def _layout(rows: Sequence[Row], *, width: int) -> tuple[tuple[str, ...], int, int]:
    """Return the columns, the width of the items and that of the bar."""
    longest = max(cell_len(shown(row, "item")) for row in rows)
    room = 0
    for columns, wanted in _LAYOUTS:
        others = [name for name in columns if name not in ("item", _BAR)]
        taken = sum(_width(rows, name) for name in others) + _GAP * (len(columns) - 1)
        room = width - taken - (_BARS[0] if _BAR in columns else 0)
        if room >= min(max(longest, cell_len("item")), wanted):
            break
    item_width = max(min(room, max(longest, cell_len("item"))), 1)
    bar_width = min(_BARS[0] + max(room - item_width, 0), _BARS[1]) if _BAR in columns else 0
    return columns, item_width, bar_width


def _width(rows: Sequence[Row], name: str) -> int:
    if name == _TREND:
        return _TREND_WIDTH
    return max([cell_len(shown(row, name)) for row in rows] + [0 if name == "rank" else len(name)])


def heading(name: str, *, progress: str) -> Text:
    """Return the first line: what is read, how far it is, and how to end it."""
    return Text(f"reading {visible(name)}: {progress}; Ctrl-C ends", style="bold")
