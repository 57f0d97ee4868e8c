"""Rows of results, for tables, CSV and JSON: estimates with their intervals.

Ends of counts are rounded outwards to whole counts, so that an interval still covers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from lazysketch.estimation.intervals import Intervals
    from lazysketch.releases.items import Item
    from lazysketch.releases.table_facts import TableFacts

__all__ = [
    "ItemRow",
    "Row",
    "as_number",
    "item_rows",
    "printable_item",
    "row_of",
]

Row: TypeAlias = "Mapping[str, object]"
"""A row of any kind: its values by the names of the columns, in their order."""


class ItemRow(TypedDict):
    """One item: its estimate to a tenth, its interval rounded outwards to whole counts."""

    rank: NotRequired[int]
    item: str | int
    estimate: float
    low: float
    high: float
    share: NotRequired[float | None]
    above_noise: bool
    complete: NotRequired[bool]
    true: NotRequired[int]
    relative_error: NotRequired[float | None]


def item_rows(
    release: TableFacts, items: Sequence[str | int], found: Intervals, *, ranked: bool
) -> list[ItemRow]:
    """Return the rows of items, in their order.

    Args:
        release: The counts.
        items: The items.
        found: Their estimates and intervals.
        ranked: Whether the rows have their places.
    """
    # With weights the number of steps is not the total.
    weighted = any(part.privacy.max_weight > 1 for part in release.parts)
    steps = max(release.step, 1)
    rows: list[ItemRow] = []
    for rank, (item, interval) in enumerate(zip(items, found, strict=True), start=1):
        estimate = interval.estimate
        share = None if weighted else as_number(round(estimate, 1)) / steps
        row = row_of(item, estimate, interval.low, interval.high, share=share)
        rows.append({"rank": rank, **row} if ranked else row)
    return rows


def row_of(item: Item, estimate: float, low: float, high: float, *, share: float | None) -> ItemRow:
    """Return the row of one item.

    Args:
        item: The item.
        estimate: Its count.
        low: The lower end of the interval.
        high: The upper end, which may be infinite.
        share: Its share of the stream, None if unknown.
    """
    return {
        "item": printable_item(item),
        "estimate": as_number(round(estimate, 1)),
        "low": as_number(math.floor(low)),
        "high": as_number(math.ceil(high) if math.isfinite(high) else math.inf),
        "share": None if share is None else round(share, 6),
        "above_noise": math.floor(low) > 0,
    }


def printable_item(item: Item) -> str | int:
    """Return an integer as it is, and any other item as text.

    Undecodable bytes are escaped; instants and dates are in the form of ISO 8601.

    Args:
        item: The item.
    """
    if isinstance(item, str | int):
        return item
    if isinstance(item, bytes):
        return item.decode("utf-8", errors="backslashreplace")
    return item.isoformat() if isinstance(item, date) else str(item)


def as_number(value: float) -> int | float:
    """Return the value as an integer if it is one, so that output has no needless ".0".

    Args:
        value: The value.
    """
    return int(value) if float(value).is_integer() else float(value)
