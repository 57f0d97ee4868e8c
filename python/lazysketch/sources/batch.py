"""Batches of consecutive rows: items, their people, and the positions of rows without an item.

Every row is one step, readable or not: the schedule of a private sketch depends on the
step number alone, so an unreadable row must not shift the steps of later rows. A batch
therefore holds the positions of its rows without an item.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lazysketch._native import TextColumn

    Item: TypeAlias = str | int | bytes
    # Or an Arrow array, which mypy does not see (pyarrow is untyped here).
    Items: TypeAlias = (
        Sequence[Item] | TextColumn | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.float64]
    )
    Weights: TypeAlias = Sequence[int] | NDArray[np.int64] | NDArray[np.float64]

UNKNOWN_TIME = -(1 << 63)

# With more than one empty step per 32 rows, segments are short; slicing lists is then cheaper.
_ROWS_PER_EMPTY = 32
_LARGEST = (1 << 63) - 1


class Segment(NamedTuple):
    """Consecutive items, their weights (None: 1 each), and the number of empty steps after them."""

    items: Items
    weights: Weights | None
    empty_steps: int


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Consecutive rows of an input.

    Args:
        items: The items of the rows that have one, in order: text, integers, floats or bytes,
            as a list, a NumPy array or an Arrow array without nulls.
        malformed: Positions of unreadable rows, counted from 0 over all rows of the
            batch, ascending.
        weights: The weight of each item, as a list or an array; None if all are 1. For sums by item
            the value of each, as float64.
        clipped: Indices, counted from 0, of the items whose weight exceeded the maximum.
        absent: Positions, as in ``malformed``, of valid rows of a kind that does not have
            the field (an ARP packet has no port). They are empty steps too.
        times: The time of each row, with or without an item, in nanoseconds since 1970
            UTC (UNKNOWN_TIME: unknown); None if times were not requested.
        users: The person of each item, as text, in the order of the items; None if people
            were not requested.
        without_user: Positions of the malformed rows that lack only their person.

    Example:
        >>> batch = RowBatch.from_rows(["a", "", "b"])
        >>> batch.items, batch.malformed
        (['a', 'b'], [1])
        >>> [tuple(segment) for segment in batch.segments()]
        [(['a'], None, 1), (['b'], None, 0)]
    """

    items: Items
    malformed: Sequence[int] = ()
    weights: Weights | None = None
    clipped: Sequence[int] = ()
    absent: Sequence[int] = ()
    times: NDArray[np.int64] | None = None
    users: Items | None = None
    without_user: Sequence[int] = ()

    @classmethod
    def from_rows(cls, rows: list[str]) -> RowBatch:
        """Make a batch of rows; an empty string means that the row is malformed."""
        if "" not in rows:
            return cls(rows)
        return cls(
            items=[row for row in rows if row],
            malformed=[position for position, row in enumerate(rows) if not row],
        )

    @property
    def rows(self) -> int:
        """The number of rows, which is the number of steps."""
        return len(self.items) + len(self.malformed) + len(self.absent)

    @property
    def item_list(self) -> list[Item]:
        """The items as a list of Python values."""
        return list(_as_list(self.items))

    @property
    def user_list(self) -> list[Item] | None:
        """The person of each item as a list of Python values; None if not requested."""
        return None if self.users is None else list(_as_list(self.users))

    @property
    def empty_rows(self) -> Sequence[int]:
        """Positions of the rows without an item, counted from 0 over all rows, ascending."""
        return list(merge(self.malformed, self.absent)) if self.absent else self.malformed

    @property
    def item_times(self) -> NDArray[np.int64] | None:
        """The time of each item: ``times`` without the rows that have no item."""
        if self.times is None or not (self.malformed or self.absent):
            return self.times
        return np.delete(self.times, self.empty_rows)

    @property
    def total_weight(self) -> int:
        """The sum of the weights; with values in their place the number of items."""
        weights = self.weights
        if weights is None or getattr(weights, "dtype", None) == np.float64:
            return len(self.items)
        if isinstance(weights, np.ndarray):
            if not weights.size or int(weights.max()) <= _LARGEST // weights.size:
                return int(weights.sum())
            weights = weights.tolist()  # Python integers do not overflow
        return sum(weights)

    def with_items(self, items: Items, *, others: Sequence[int]) -> RowBatch:
        """Return the batch with other items, and further malformed rows.

        Args:
            items: One for each item of the batch, without ``others``.
            others: Indices of the items in whose place there is none: their rows are malformed.
        """
        if not len(others):
            return dataclasses.replace(self, items=items)
        rows = np.delete(np.arange(self.rows), self.empty_rows)
        left = np.delete(np.arange(len(rows)), others)
        weights, users = self.weights, self.user_list
        return dataclasses.replace(
            self,
            items=items,
            malformed=sorted([*self.malformed, *rows[list(others)].tolist()]),
            weights=None if weights is None else np.asarray(weights)[left],
            clipped=np.flatnonzero(np.isin(left, self.clipped)).tolist(),
            users=None if users is None else [users[index] for index in left.tolist()],
        )

    def before_malformed(self) -> RowBatch:
        """Return the rows before the first malformed one."""
        if not self.malformed:
            return self
        return dataclasses.replace(self.first(self.malformed[0]), malformed=(), without_user=())

    def first(self, rows: int) -> RowBatch:
        """Return the first ``rows`` rows, or all if there are fewer."""
        malformed = bisect_left(self.malformed, rows)
        absent = bisect_left(self.absent, rows)
        items = rows - malformed - absent
        return RowBatch(
            items=self.items[:items],
            malformed=self.malformed[:malformed],
            weights=None if self.weights is None else self.weights[:items],
            clipped=self.clipped[: bisect_left(self.clipped, items)],
            absent=self.absent[:absent],
            times=None if self.times is None else self.times[:rows],
            users=None if self.users is None else self.users[:items],
            without_user=self.without_user[: bisect_left(self.without_user, rows)],
        )

    def after(self, rows: int) -> RowBatch:
        """Return what follows the first ``rows`` rows."""
        malformed = bisect_left(self.malformed, rows)
        absent = bisect_left(self.absent, rows)
        items = rows - malformed - absent
        clipped = self.clipped[bisect_left(self.clipped, items) :]
        without_user = self.without_user[bisect_left(self.without_user, rows) :]
        return RowBatch(
            items=self.items[items:],
            malformed=[position - rows for position in self.malformed[malformed:]],
            weights=None if self.weights is None else self.weights[items:],
            clipped=[position - items for position in clipped],
            absent=[position - rows for position in self.absent[absent:]],
            times=None if self.times is None else self.times[rows:],
            users=None if self.users is None else self.users[items:],
            without_user=[position - rows for position in without_user],
        )

    def segments(self) -> Iterator[Segment]:
        """Yield the batch in segments of items that are followed by empty steps, in order.

        Calling ``update_many(items, weights)`` and then ``tick(empty_steps)`` for each
        segment takes exactly one step per row. A sketch's
        ``update_rows(items, weights, empty_rows=batch.empty_rows)`` does the same for the
        whole batch, faster.
        """
        items, weights, empty = self.items, self.weights, self.empty_rows
        if len(empty) * _ROWS_PER_EMPTY > self.rows:
            items = _as_list(items)
            weights = weights.tolist() if isinstance(weights, np.ndarray) else weights
        begin = end = ticks = 0
        for index, position in enumerate(empty):
            items_before = position - index
            if ticks and items_before > end:
                yield _segment(items, weights, begin, end, ticks)
                begin, ticks = end, 0
            end = items_before
            ticks += 1
        if ticks:
            yield _segment(items, weights, begin, end, ticks)
        if end == 0 and not ticks:
            yield Segment(items, weights, 0)
        elif end < len(items):
            yield _segment(items, weights, end, len(items), 0)


def _segment(
    items: Items, weights: Weights | None, begin: int, end: int, empty_steps: int
) -> Segment:
    return Segment(items[begin:end], None if weights is None else weights[begin:end], empty_steps)


def _as_list(items: Items) -> Sequence[Item]:
    """Return a NumPy or Arrow array as a list, any other sequence unchanged."""
    return items.tolist() if hasattr(items, "tolist") else items
