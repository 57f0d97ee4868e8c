"""What every source yields: a run of rows, as items and the positions without one.

A row is a step, whether it could be read or not: a row that cannot be read must
not shift the steps of the rows behind it, because the schedule of a private
sketch depends on the step number alone. So a batch tells not only its items but
also where between them the rows without one stood.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

UNKNOWN_TIME = -(1 << 63)

# Above one empty step in so many rows, short slices are taken: those of a list are cheaper.
_MANY = 32
_LARGEST = (1 << 63) - 1


class Segment(NamedTuple):
    """Items in a row, their weights (None: 1 each), and the number of empty steps after them."""

    items: Sequence[Any]
    weights: Sequence[int] | None
    empty_steps: int


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Consecutive rows of an input.

    Args:
        items: The items of the rows that have one, in order: text, integers or bytes,
            as a list or as an Arrow array without nulls.
        malformed: Positions, counted from 0 over all rows of the batch and rising,
            of the rows that cannot be read.
        weights: The weight of each item, as a list or an array; None if all are 1.
        clipped: Which items, counted from 0, had a larger weight than is allowed.
        absent: Positions, as of ``malformed``, of the rows that are sound but of a kind
            without such a field: a packet of ARP has no port. Empty steps all the same.
        times: When each row happened, whether it has an item or not, in nanoseconds
            since 1970 UTC (UNKNOWN_TIME: unknown); None if they are not asked for.

    Example:
        >>> batch = RowBatch.from_rows(["a", "", "b"])
        >>> batch.items, batch.malformed
        (['a', 'b'], [1])
        >>> [tuple(segment) for segment in batch.segments()]
        [(['a'], None, 1), (['b'], None, 0)]
    """

    items: Sequence[Any]
    malformed: Sequence[int] = ()
    weights: Sequence[int] | None = None
    clipped: Sequence[int] = ()
    absent: Sequence[int] = ()
    times: NDArray[np.int64] | None = None

    @classmethod
    def from_rows(cls, rows: list[str]) -> RowBatch:
        """Make a batch of rows in which the empty string stands for "no item"."""
        if "" not in rows:
            return cls(rows)
        return cls(
            items=[row for row in rows if row],
            malformed=[position for position, row in enumerate(rows) if not row],
        )

    @property
    def rows(self) -> int:
        """The number of rows, and so of steps."""
        return len(self.items) + len(self.malformed) + len(self.absent)

    @property
    def item_list(self) -> list[Any]:
        """The items as values of Python, whatever holds them."""
        return list(_listed(self.items))

    @property
    def empty_rows(self) -> Sequence[int]:
        """The positions, counted from 0 over all rows and rising, of the rows without an item."""
        return list(merge(self.malformed, self.absent)) if self.absent else self.malformed

    @property
    def item_times(self) -> NDArray[np.int64] | None:
        """When each item happened, as ``times`` without the rows that have no item."""
        if self.times is None or not (self.malformed or self.absent):
            return self.times
        return np.delete(self.times, self.empty_rows)

    @property
    def total_weight(self) -> int:
        """The sum of the weights."""
        weights = self.weights
        if weights is None:
            return len(self.items)
        if isinstance(weights, np.ndarray):
            if not weights.size or int(weights.max()) <= _LARGEST // weights.size:
                return int(weights.sum())
            weights = weights.tolist()  # integers of Python, whose sum does not overflow
        return sum(weights)

    def before_malformed(self) -> RowBatch:
        """Return the rows before the first malformed one."""
        if not self.malformed:
            return self
        return dataclasses.replace(self.first(self.malformed[0]), malformed=())

    def first(self, rows: int) -> RowBatch:
        """Return the first rows, at most as many as there are."""
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
        )

    def segments(self) -> Iterator[Segment]:
        """Cut the batch into pieces without an empty step inside, in order.

        Feeding each piece with ``update_many(items, weights)`` and then
        ``tick(empty_steps)`` takes exactly one step per row; a sketch's
        ``update_rows(items, weights, empty_rows=batch.empty_rows)`` does it at once, faster.
        """
        items, weights, empty = self.items, self.weights, self.empty_rows
        if len(empty) * _MANY > self.rows:
            items, weights = _listed(items), _listed(weights)
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


def _segment(items: Any, weights: Any, begin: int, end: int, empty_steps: int) -> Segment:
    return Segment(items[begin:end], None if weights is None else weights[begin:end], empty_steps)


def _listed(values: Any) -> Any:
    """Return an array of NumPy or Arrow as a list, anything else as it is."""
    return values.tolist() if hasattr(values, "tolist") else values
