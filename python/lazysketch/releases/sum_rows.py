"""Rows of sums of values by item: a sum with its interval, the number of events and their mean.

Numbers are rounded to what is far below the noise; ends outwards, so that an interval still covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np

from lazysketch.releases.rows import as_number, printable_item

if TYPE_CHECKING:
    from lazysketch.estimation.intervals import Interval
    from lazysketch.releases.items import Item
    from lazysketch.releases.sums_release import SumsRelease

__all__ = ["SumRow", "TopSumRow", "sum_rows", "top_sum_rows"]

_DIGITS: Final = 3  # digits of the noise of a sum, and of the range of a mean, which are shown


class SumRow(TypedDict):
    """One item: its sum, the interval of that, and estimates of its number of events and mean."""

    item: str | int
    sum: float
    low: float
    high: float
    count: float
    mean: float | None


class TopSumRow(TypedDict):
    """One of the items of a list with the largest sums, with intervals of all that is said of it.

    The intervals of the sums of the whole list cover together; so do those of the numbers of
    events, and those of the means.
    """

    rank: int
    item: str | int
    sum: float
    low: float
    high: float
    count: float
    fewest: float
    most: float
    mean: float | None
    mean_low: float
    mean_high: float
    above_noise: bool


def top_sum_rows(
    release: SumsRelease, items: Sequence[Item], *, most: int, confidence: float
) -> list[TopSumRow]:
    """Return the rows of the items of a public list with the largest sums, in descending order.

    Args:
        release: The sums.
        items: The list, of distinct items.
        most: How many rows.
        confidence: Of the intervals of each question for the whole list together.
    """
    if not items:
        return []
    sums, counts, means = (
        question(items, confidence=confidence, simultaneous=True)
        for question in (release.sums, release.counts, release.means)
    )
    order = np.argsort(-sums.estimate, kind="stable")[:most].tolist()
    totals, numbers, averages = list(sums), list(counts), list(means)
    places, places_of_means = _all_places(release)
    return [
        {
            "rank": rank,
            "item": printable_item(items[at]),
            "sum": as_number(round(totals[at].estimate, places)),
            "low": _outward(totals[at].low, places, math.floor),
            "high": _outward(totals[at].high, places, math.ceil),
            "count": as_number(round(numbers[at].estimate, 1)),
            "fewest": _outward(numbers[at].low, 0, math.floor),
            "most": _outward(numbers[at].high, 0, math.ceil),
            "mean": _mean(averages[at], places_of_means),
            "mean_low": _outward(averages[at].low, places_of_means, math.floor),
            "mean_high": _outward(averages[at].high, places_of_means, math.ceil),
            "above_noise": totals[at].low > 0.0 or totals[at].high < 0.0,
        }
        for rank, at in enumerate(order, start=1)
    ]


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
    places, places_of_means = _all_places(release)
    return [
        {
            "item": printable_item(item),
            "sum": as_number(round(total.estimate, places)),
            "low": _outward(total.low, places, math.floor),
            "high": _outward(total.high, places, math.ceil),
            "count": as_number(round(number.estimate, 1)),
            "mean": _mean(mean, places_of_means),
        }
        for item, total, number, mean in zip(items, sums, counts, means, strict=True)
    ]


def _all_places(release: SumsRelease) -> tuple[int, int]:
    """Return how many decimal places show a sum, and a mean."""
    grid, noise = release.grid, float(release.noise_deviation.max())
    return _places(noise or grid.high - grid.low), _places(grid.high - grid.low) + 1


def _mean(found: Interval, places: int) -> float | None:
    """Return a mean, or None without an estimate."""
    return None if math.isnan(found.estimate) else as_number(round(found.estimate, places))


def _places(scale: float) -> int:
    """Return how many decimal places show a number of this scale with some digits."""
    return _DIGITS - 1 - math.floor(math.log10(scale))


def _outward(end: float, places: int, towards: Callable[[float], int]) -> float:
    """Return an end at a number of decimal places, rounded outwards."""
    if not math.isfinite(end):
        return end
    scaled = end * 10.0**places
    return as_number(round(towards(scaled) / 10.0**places, places))
