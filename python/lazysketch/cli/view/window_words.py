"""Windows of time, their ends and the changes between them, in words and as rows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

from lazysketch.cli.view.pace import duration
from lazysketch.cli.view.report import CONFIDENCE
from lazysketch.releases.rows import printable_item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import Change

__all__ = [
    "ChangeRow",
    "change_of",
    "changes_caption",
    "instant_in_words",
    "length_in_words",
    "sentence_of_change",
]


class ChangeRow(TypedDict):
    """A change of an item's share from one window to the next."""

    window: str
    item: str | int
    before: float
    after: float
    change_low: float
    change_high: float


def change_of(begin: str, change: Change) -> ChangeRow:
    """Return the row of a change in the window that begins there."""
    return {
        "window": begin,
        "item": printable_item(change.item),
        "before": round(change.before, 6),
        "after": round(change.after, 6),
        "change_low": round(change.low, 6),
        "change_high": round(change.high, 6),
    }


def sentence_of_change(row: ChangeRow) -> str:
    """Return a row as a sentence."""
    direction = "rose" if row["change_low"] > 0 else "fell"
    return (
        f"{row['window']}: {row['item']} {direction} from {row['before']:.1%} to {row['after']:.1%}"
        f" ({row['change_low']:+.1%} to {row['change_high']:+.1%})"
    )


def changes_caption(rows: Sequence[ChangeRow]) -> str:
    """Return what a list of changes is."""
    number = f"{len(rows):,} changes" if len(rows) != 1 else "1 change"
    return (
        f"{number} of share from one window to the next; simultaneous {CONFIDENCE:.0%} confidence "
        "intervals for all changes at a window"
    )


def length_in_words(length: timedelta | int) -> str:
    """Return the length of a window."""
    if isinstance(length, int):
        return f"{length:,} steps"
    seconds = length.total_seconds()
    return duration(seconds) if seconds >= 1 else f"{seconds * 1000:g} ms"


def instant_in_words(instant: datetime | int) -> str:
    """Return an end of a window."""
    if isinstance(instant, int):
        return f"step {instant:,}"
    return instant.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
