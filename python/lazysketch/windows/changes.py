"""Items whose share of the stream differs between two sets of windows.

A share is a count divided by a total. The counts of all candidates and both totals get simultaneous
intervals, so the intervals also cover items that are selected because they changed most. The
difference of two shares lies between the differences of their opposite ends. These intervals are
wider than those of a test of one item, but hold for the largest change among thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lazysketch.releases.items import Item
from lazysketch.result_tables import Rows
from lazysketch.windows.window import Window, merged, total_of

__all__ = ["Against", "Change", "Changes", "changes_between"]

Array = npt.NDArray[np.float64]
Against: TypeAlias = Literal["previous", "earlier"]


@dataclass(frozen=True)
class Change:
    """An item whose change of share is distinguishable from 0.

    Guarantee: post-processing of published names and public tables; see :meth:`Windows.changes`.

    Attributes:
        item: the item.
        before: estimated share in the earlier windows, from 0 to 1.
        after: estimated share in the later windows, from 0 to 1.
        low: lower end of the interval of the difference, ``after - before``.
        high: upper end.
    """

    item: Item
    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Estimated change of the share; negative if it fell."""
        return self.after - self.before


class Changes(Rows[Change]):
    """Changes of shares, the largest difference first: a frozen sequence of :class:`Change`.

    Guarantee: post-processing of published names and public tables.

    It compares equal to a list of the same changes, is a table in notebooks, and
    ``polars.DataFrame`` and ``pyarrow.table`` take it as it is.

    Args:
        rows: the changes, in order.

    Example:
        >>> changes = Changes([Change("a", before=0.1, after=0.4, low=0.2, high=0.5)])
        >>> changes[0].item, changes.to_dict()["after"]
        ('a', [0.4])
    """

    __slots__ = ()

    _row = Change


def changes_between(
    before: Sequence[Window],
    after: Sequence[Window],
    items: Sequence[Item],
    *,
    confidence: float,
) -> Changes:
    """Return the items whose share changed.

    Args:
        before: the earlier windows, one or more.
        after: the later windows, one or more.
        items: candidates, chosen without reading the tables.
        confidence: probability that all intervals hold together, above 0 and below 1.

    Returns:
        The items whose interval excludes 0, the largest difference first.

    Source: docs/windows.md.
    """
    if not items:
        return Changes()
    asked = 2 * len(items) + 2  # two counts of each item, two totals
    past, past_low, past_high = _shares(before, items, confidence=confidence, asked=asked)
    now, now_low, now_high = _shares(after, items, confidence=confidence, asked=asked)
    low, high = now_low - past_high, now_high - past_low
    changed = np.flatnonzero((low > 0.0) | (high < 0.0))
    found = [
        Change(items[at], float(past[at]), float(now[at]), low=float(low[at]), high=float(high[at]))
        for at in changed.tolist()
    ]
    return Changes(sorted(found, key=lambda change: -abs(change.difference)))


def _shares(
    windows: Sequence[Window],
    items: Sequence[Item],
    *,
    confidence: float,
    asked: int,
) -> tuple[Array, Array, Array]:
    """Return the estimated shares of the items and the ends of their intervals, from 0 to 1."""
    release = merged(windows)
    counts = release.interval_many(list(items), confidence=confidence, among=asked)
    total = total_of(windows, release, failure=(1.0 - confidence) / 2.0 / asked)
    estimate = np.clip(counts.estimate / total.estimate, 0.0, 1.0)
    low = np.minimum(counts.low / max(total.high, 1.0), 1.0)
    if total.low > 0.0:
        return estimate, low, np.minimum(counts.high / total.low, 1.0)
    return estimate, low, np.ones_like(low)
