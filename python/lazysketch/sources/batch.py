"""What every source yields: a run of rows, as items and the positions without one.

A row is a step, whether it could be read or not: a row that cannot be read must
not shift the steps of the rows behind it, because the schedule of a private
sketch depends on the step number alone. So a batch tells not only its items but
also where between them the unreadable rows stood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of an input.

    Args:
        items: The items of the rows that have one, in order.
        malformed: Positions, counted from 0 over all rows of the batch and rising,
            of the rows that have none.

    Example:
        >>> batch = Batch.from_rows(["a", "", "b"])
        >>> batch.items, batch.malformed
        (['a', 'b'], [1])
        >>> list(batch.segments())
        [(['a'], 1), (['b'], 0)]
    """

    items: Sequence[str]
    malformed: Sequence[int] = ()

    @classmethod
    def from_rows(cls, rows: list[str]) -> Batch:
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
        return len(self.items) + len(self.malformed)

    def segments(self) -> Iterator[tuple[Sequence[str], int]]:
        """Cut the batch into pairs (items, number of empty steps after them), in order.

        Feeding each pair with ``update_many(items)`` and then ``tick(steps)`` takes
        exactly one step per row.
        """
        begin = end = ticks = 0
        for index, position in enumerate(self.malformed):
            items_before = position - index
            if ticks and items_before > end:
                yield self.items[begin:end], ticks
                begin, ticks = end, 0
            end = items_before
            ticks += 1
        if ticks:
            yield self.items[begin:end], ticks
        if end == 0 and not ticks:
            yield self.items, 0
        elif end < len(self.items):
            yield self.items[end:], 0
