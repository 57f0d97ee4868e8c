"""Rows of sums of values by item: a sum with its interval, the number of events and their mean.

Numbers are rounded to what is far below the noise; ends outwards, so that an interval still covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypedDict

from lazysketch.releases.rows import as_number, printable_item

if TYPE_CHECKING:
    from lazysketch.releases.items import Item
    from lazysketch.releases.sums_release import SumsRelease

__all__ = ["SumRow", "sum_rows"]

_DIGITS: Final = 3  # digits of the noise of a sum, and of the range of a mean, which are shown


class SumRow(TypedDict):
    """One item: its sum, the interval of that, and estimates of its number of events and mean."""

    item: str | int
    sum: float
    low: float
    high: float
    count: float
    mean: float | None


def sum_rows(release: SumsRelease, items: Sequence[Item], *, confidence: float) -> list[SumRow]:
    """Return the rows of items, in their order.

    Args:
        release: The sums.
        items: The items.
        confidence: Of the interval of each sum.
    """
    if not items:
        return []
    sums = release.sums(items, confidence=confidence)
    counts, means = release.counts(items), release.means(items)
    grid, noise = release.grid, float(release.noise_deviation.max())
    places = _places(noise or grid.high - grid.low)
    places_of_means = _places(grid.high - grid.low) + 1
    return [
        {
            "item": printable_item(item),
            "sum": as_number(round(total.estimate, places)),
            "low": _outward(total.low, places, math.floor),
            "high": _outward(total.high, places, math.ceil),
            "count": as_number(round(number.estimate, 1)),
            "mean": None
            if math.isnan(mean.estimate)
            else as_number(round(mean.estimate, places_of_means)),
        }
        for item, total, number, mean in zip(items, sums, counts, means, strict=True)
    ]


def _places(scale: float) -> int:
    """Return how many decimal places show a number of this scale with some digits."""
    return _DIGITS - 1 - math.floor(math.log10(scale))


def _outward(end: float, places: int, towards: Callable[[float], int]) -> float:
    """Return an end at a number of decimal places, rounded outwards."""
    if not math.isfinite(end):
        return end
    scaled = end * 10.0**places
    return as_number(round(towards(scaled) / 10.0**places, places))
