"""Items with their counts, as the lists of the heaviest have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazysketch.estimation.intervals import Intervals
from lazysketch.releases.items import Item
from lazysketch.result_tables import Rows

__all__ = ["HeavyHitter", "HeavyItems", "hitters_of"]


@dataclass(frozen=True)
class HeavyHitter:
    """A heavy item.

    Guarantee: post-processing of published names and of the public table.

    Attributes:
        item: as it was given, or its first bytes if it is not ``complete``.
        estimate: its count, within the interval.
        low: lower end of its interval.
        high: upper end.
        share: estimate over the size of the stream; NaN if the table does not tell the size.
        complete: False if the item is longer than ``max_item_bytes``.
    """

    item: Item
    estimate: float
    low: float
    high: float
    share: float
    complete: bool = True


class HeavyItems(Rows[HeavyHitter]):
    """Heavy items by falling estimate: a frozen sequence of :class:`HeavyHitter`.

    Guarantee: post-processing of published names and of the public table.

    It compares equal to a list of the same items. Notebooks show it as a table,
    ``polars.DataFrame`` and ``pyarrow.table`` take it as it is, ``pandas.DataFrame`` takes
    :meth:`to_dict`.

    Args:
        rows: the items, in order.

    Example:
        >>> items = HeavyItems([HeavyHitter("a", 90.0, 80.0, 100.0, 0.9)])
        >>> items[0].item, len(items), items.to_dict()["estimate"]
        ('a', 1, [90.0])
    """

    __slots__ = ()

    _row = HeavyHitter


def hitters_of(items: Sequence[Item], found: Intervals, *, size: float) -> list[HeavyHitter]:
    """Return items with their counts.

    Args:
        items: as given.
        found: their intervals, in the same order.
        size: of the stream, which shares are parts of; noisy for some, so a share is 1 at most.

    Returns:
        The items, in the same order.
    """
    return [
        HeavyHitter(
            item, answer.estimate, answer.low, answer.high, min(answer.estimate / size, 1.0)
        )
        for item, answer in zip(items, found, strict=True)
    ]
