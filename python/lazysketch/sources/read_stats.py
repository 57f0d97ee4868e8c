"""What was read so far, counted for the operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lazysketch.sources.batch import Batch

_POSITIONS_KEPT = 5


class Position(NamedTuple):
    """A row of an input: the input's name, and the row's number, counted from 1.

    A header is not a row.
    """

    name: str
    row: int


@dataclass
class Tally:
    """What was read so far, for the operator alone: outside the privacy guarantee.

    Args:
        rows: Rows, readable or not; the steps of a sketch that was fed with them.
        malformed: Rows without an item, or with a weight that is none.
        absent: Sound rows of a kind that has no such field, counted apart from these.
        first_malformed: Where the first few of these are; never what they hold.
        clipped: Rows whose weight was larger than allowed, and was counted as that.
        total_weight: The sum of the weights as they were counted; without weights, the
            number of rows with an item.
        formats: What each input was read as, e.g. ``"combined, field host"``.
    """

    rows: int = 0
    malformed: int = 0
    absent: int = 0
    first_malformed: list[Position] = field(default_factory=list)
    clipped: int = 0
    total_weight: int = 0
    formats: list[str] = field(default_factory=list)

    def add(self, batch: Batch, *, name: str, rows_before: int) -> None:
        """Count a batch of the input of that name, of which so many rows came before."""
        self.rows += batch.rows
        self.malformed += len(batch.malformed)
        self.absent += len(batch.absent)
        self.clipped += len(batch.clipped)
        self.total_weight += batch.total_weight
        missing = _POSITIONS_KEPT - len(self.first_malformed)
        self.first_malformed.extend(
            Position(name, rows_before + position + 1) for position in batch.malformed[:missing]
        )
