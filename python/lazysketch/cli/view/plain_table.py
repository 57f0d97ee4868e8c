"""Reports as plain text, for files and pipes: no colours, and nothing is cut or folded.

A terminal's table (:mod:`lazysketch.cli.view.table`) looks the same where it has room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.cli.view.cells import (
    ABOVE_NOISE,
    bar,
    can_show_blocks,
    estimate_of,
    is_text,
    shown,
    shown_keys,
    title_of,
)
from lazysketch.cli.view.output import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.cli.view.output import Report, Row

__all__ = ["plain_text"]

# Between columns; the line below the titles, and where columns meet it.
_BLOCKS: Final = (" ", "─", "─")
_ASCII: Final = ("|", "-", "+")


def plain_text(report: Report, *, encoding: str) -> str:
    """Return a report as plain text, which is to be written in an encoding."""
    lines = [visible(line) for line in report.lines]
    keys = shown_keys(report.rows, report.columns)
    if report.rows and keys:
        lines[:0] = [*_table(report.rows, keys, blocks=can_show_blocks(encoding)), ""]
    return "".join(f"{line}\n" for line in lines)


def _table(rows: Sequence[Row], keys: Sequence[str], *, blocks: bool) -> list[str]:
    from rich.cells import cell_len  # late: lines alone need no rich

    between, under, crossing = _BLOCKS if blocks else _ASCII
    columns = [([title_of(key), *(shown(row, key) for row in rows)], is_text(key)) for key in keys]
    if "estimate" in keys:
        columns.append((["", *_bars(rows, blocks=blocks)], True))
    padded, rule = [], []
    for cells, at_left in columns:
        lengths = [cell_len(cell) for cell in cells]
        width = max(lengths)
        blanks = [" " * (width - length) for length in lengths]
        pairs = zip(cells, blanks, strict=True)
        padded.append([cell + blank if at_left else blank + cell for cell, blank in pairs])
        rule.append(under * (width + 2))
    lines = [f" {f' {between} '.join(cells)}".rstrip() for cells in zip(*padded, strict=True)]
    lines.insert(1, crossing.join(rule))
    return lines


def _bars(rows: Sequence[Row], *, blocks: bool) -> list[str]:
    longest = max(estimate_of(row) for row in rows)
    return [
        bar(estimate_of(row), longest=longest, blocks=blocks) if row.get(ABOVE_NOISE, True) else ""
        for row in rows
    ]
