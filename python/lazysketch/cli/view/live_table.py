"""Layout of the live table for a terminal of any size.

A narrower terminal shows fewer columns, a lower one fewer rows. Columns that follow from the others
are dropped first: the course, the bar, the trend, the share, the rank. The interval stays next to
the estimate as long as the items remain readable; a bar is full up to its lower end and lighter up
to its upper end. From 110 columns on, the right third shows the course of each item.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lazysketch.cli.view.cells import can_show_blocks, shown
from lazysketch.cli.view.courses import sparkline
from lazysketch.cli.view.output import visible
from lazysketch.cli.view.table import fitting_table, interval_bar
from lazysketch.cli.view.trends import RECENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console, RenderableType

    from lazysketch.releases.rows import ItemRow, Row

__all__ = ["heading", "live_table", "table_of_values", "trend_text"]

_GAP: Final = 2  # between columns
_BAR: Final = "bar"
_TREND: Final = "trend"
_BAR_WIDTHS: Final = (6, 30)  # minimum and maximum
_TREND_WIDTH: Final = 7
_COURSE: Final = "course"
_COURSES_FROM: Final = 110  # columns of a terminal
# Columns, and the width that a long item must have for this layout to be chosen.
_LAYOUTS: Final = (
    (("rank", "item", "estimate", "low", "high", "share", _BAR, _TREND, _COURSE), 24),
    (("rank", "item", "estimate", "low", "high", "share", _BAR, _TREND), 32),
    (("rank", "item", "estimate", "low", "high", "share", _TREND), 22),
    (("rank", "item", "estimate", "low", "high", "share"), 22),
    (("rank", "item", "estimate", "low", "high"), 16),
    (("item", "estimate", "low", "high"), 10),
    (("item", "estimate"), 1),
)
_LEGEND: Final = (
    f"trend: last {RECENT * 100:.0f} % of the steps against all before, if the intervals differ"
)
_LARGEST_RATIO: Final = 10.0  # larger ratios are too noisy to show


def live_table(
    rows: Sequence[ItemRow],
    trends: Sequence[float | None],
    *,
    head: Sequence[Text],
    foot: Sequence[Text],
    console: Console,
    height: int | None = None,
    courses: Mapping[str | int, Sequence[float]] | None = None,
) -> RenderableType:
    """Return the table that is shown while a stream is read.

    Args:
        rows: The rows of a report.
        trends: The recent rate of each item relative to its rate before, or None.
        head: Lines above the table.
        foot: Lines below it.
        console: The terminal that the table has to fit into.
        height: The lines that it may take; those of the terminal without one for the cursor if
            None.
        courses: The recent rates of each item; None for none.
    """
    lines = console.height - 1 if height is None else height
    wide = bool(courses) and console.width >= _COURSES_FROM and can_show_blocks(console.encoding)
    course_width = console.width // 3 - _GAP if wide else 0
    columns, item_width, bar_width = (
        _layout(rows, width=console.width, course_width=course_width) if rows else ((), 0, 0)
    )
    if _TREND in columns and any(ratio is not None for ratio in trends):
        foot = [Text(_LEGEND, style="dim"), *foot]
    around = sum(len(line.wrap(console, console.width)) for line in (*head, *foot))
    room = max(lines - around - 2, 1)  # two lines for the titles
    hidden = len(rows) - room
    if hidden > 0:
        room = max(room - 1, 1)  # one line for the number of hidden rows
    parts: list[RenderableType] = list(head)
    if rows:
        table = _table(
            columns, item_width, bar_width, course_width, blocks=can_show_blocks(console.encoding)
        )
        drawn = {
            row["item"]: sparkline((courses or {}).get(row["item"], ()), width=course_width)
            for row in rows[:room]
        }
        _fill(table, rows[:room], trends[:room], columns, bar_width=bar_width, courses=drawn)
        parts.append(table)
    if hidden > 0:
        parts.append(Text(f"{len(rows) - room:,} more rows", style="dim"))
    return Group(*parts, *foot)


def table_of_values(
    rows: Sequence[Row],
    *,
    head: Sequence[Text],
    foot: Sequence[Text],
    console: Console,
    height: int,
) -> RenderableType:
    """Return the table of rows that are not of items, such as quantiles.

    Args:
        rows: The rows of a report; none before something is published.
        head: Lines above the table.
        foot: Lines below it.
        console: The terminal that the table has to fit into.
        height: The lines that it may take.
    """
    if not rows:
        return Group(*head, *foot)
    around = sum(len(line.wrap(console, console.width)) for line in (*head, *foot))
    room = max(height - around - 2, 1)  # two lines for the titles
    hidden = len(rows) - room
    if hidden > 0:
        room = max(room - 1, 1)  # one line for the number of hidden rows
    table = fitting_table(rows[:room], console=console)
    more = [Text(f"{len(rows) - room:,} more rows", style="dim")] if hidden > 0 else []
    return Group(*head, table, *more, *foot)


def trend_text(ratio: float | None, *, blocks: bool) -> Text:
    """Return an arrow and the change; the colour repeats the direction.

    Example:
        >>> [trend_text(ratio, blocks=True).plain for ratio in (1.25, 0.4, 12.0, None)]
        ['▲ +25%', '▼ -60%', '▲ x10+', '']
    """
    if ratio is None:
        return Text("")
    change = f"x{_LARGEST_RATIO:.0f}+" if ratio >= _LARGEST_RATIO else f"{ratio - 1:+.0%}"
    if ratio >= 1:
        return Text(f"{'▲' if blocks else '^'} {change}", style="green")
    return Text(f"{'▼' if blocks else 'v'} {change}", style="yellow")


def _table(
    columns: Sequence[str], item_width: int, bar_width: int, course_width: int, *, blocks: bool
) -> Table:
    """Return the empty table."""
    table = Table(
        box=box.SIMPLE_HEAD if blocks else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1 if blocks else _GAP, 0, 0),
    )
    widths = {
        "item": item_width,
        _TREND: _TREND_WIDTH,
        _BAR: bar_width,
        _COURSE: course_width,
    }
    for name in columns:
        title = "" if name in ("rank", _BAR) else name
        if name in widths:
            table.add_column(title, width=widths[name], no_wrap=True, overflow="ellipsis")
        else:
            table.add_column(title, justify="right", no_wrap=True)
    return table


def _fill(
    table: Table,
    rows: Sequence[ItemRow],
    trends: Sequence[float | None],
    columns: Sequence[str],
    *,
    bar_width: int,
    courses: Mapping[str | int, Text],
) -> None:
    blocks = table.box is not None
    longest = max(_upper(row) for row in rows)
    for row, ratio in zip(rows, trends, strict=True):
        above = row["above_noise"]
        others = {
            _TREND: trend_text(ratio, blocks=blocks),
            _BAR: interval_bar(
                row["low"] if above else 0.0,
                _upper(row) if above else 0.0,
                longest=longest,
                blocks=blocks,
                width=bar_width,
            ),
            _COURSE: courses[row["item"]],
        }
        # Text, not str: an item is not markup.
        cells = [others[name] if name in others else Text(shown(row, name)) for name in columns]
        table.add_row(*cells, style="" if above else "dim")


def _upper(row: ItemRow) -> float:
    """Return the upper end of an interval, which may be unknown."""
    return row["high"] if math.isfinite(row["high"]) else row["estimate"]


def _layout(
    rows: Sequence[ItemRow], *, width: int, course_width: int
) -> tuple[tuple[str, ...], int, int]:
    """Return the columns, the width of the items and the width of the bar."""
    longest = max(cell_len(shown(row, "item")) for row in rows)
    # A number, such as that of distinct items, has no rank and no share, and so no trend.
    absent = () if "share" in rows[0] else ("rank", "share", _TREND)
    room = 0
    for layout, wanted in _LAYOUTS:
        columns = tuple(name for name in layout if name not in absent)
        if _COURSE in columns and not course_width:
            continue
        others = [name for name in columns if name not in ("item", _BAR, _COURSE)]
        taken = sum(_width(rows, name) for name in others) + _GAP * (len(columns) - 1)
        taken += course_width if _COURSE in columns else 0
        room = width - taken - (_BAR_WIDTHS[0] if _BAR in columns else 0)
        if room >= min(max(longest, cell_len("item")), wanted):
            break
    item_width = max(min(room, max(longest, cell_len("item"))), 1)
    if _BAR not in columns:
        return columns, item_width, 0
    narrowest, widest = _BAR_WIDTHS
    return columns, item_width, min(narrowest + max(room - item_width, 0), widest)


def _width(rows: Sequence[ItemRow], name: str) -> int:
    if name == _TREND:
        return _TREND_WIDTH
    return max([cell_len(shown(row, name)) for row in rows] + [0 if name == "rank" else len(name)])


def heading(name: str, *, mark: str, progress: str) -> Text:
    """Return the first line: a mark, the input and the progress, cut to the width."""
    text = f"{mark} reading {visible(name)}: {progress}"
    return Text(text, style="bold", no_wrap=True, overflow="ellipsis")
