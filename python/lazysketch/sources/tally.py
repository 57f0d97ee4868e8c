"""What was read, for the operator only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lazysketch.sources.batch import RowBatch

_POSITIONS_KEPT = 5


class Position(NamedTuple):
    """A row of an input: the input's name, and the row's number from 1 (headers excluded)."""

    name: str
    row: int


@dataclass
class Tally:
    """Statistics of what was read, for the operator only: outside the privacy guarantee.

    Args:
        rows: Rows, readable or not: the number of steps of a sketch that was fed them.
        malformed: Rows without a readable item or with an invalid weight.
        absent: Valid rows of a kind that does not have the field; not malformed.
        without_user: The malformed rows that lack only their person.
        first_malformed: Positions of the first five malformed rows, never their content.
        clipped: Rows whose weight exceeded the maximum and was counted as the maximum.
        total_weight: The sum of the weights as counted; without weights, the number of
            rows with an item.
        formats: How the inputs were read, e.g. ``"combined, field host"``.
        fields: The fields of the items, without repetition; empty for whole rows.
        guesses: How each input is read whose format was detected, and what changes it, without
            repetition of a format.
        hints: What the first rows of an input look like instead, and what to write then.
    """

    rows: int = 0
    malformed: int = 0
    absent: int = 0
    without_user: int = 0
    first_malformed: list[Position] = field(default_factory=list)
    clipped: int = 0
    total_weight: int = 0
    formats: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def add(self, batch: RowBatch, *, name: str, rows_before: int) -> None:
        """Count a batch of the named input, after ``rows_before`` earlier rows of that input."""
        self.rows += batch.rows
        self.malformed += len(batch.malformed)
        self.absent += len(batch.absent)
        self.without_user += len(batch.without_user)
        self.clipped += len(batch.clipped)
        self.total_weight += batch.total_weight
        missing = _POSITIONS_KEPT - len(self.first_malformed)
        self.first_malformed.extend(
            Position(name, rows_before + position + 1) for position in batch.malformed[:missing]
        )
