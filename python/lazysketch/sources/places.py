"""What a source says of a batch: where it begins in its input, and what is noted after its rows."""

from __future__ import annotations

from typing import Protocol

__all__ = ["BatchPlace", "RowsPosition"]


class RowsPosition(Protocol):
    """How far an input was counted."""

    @property
    def rows(self) -> int:
        """The rows that were counted."""

    def to_text(self) -> str:
        """Return what a store keeps, so that the next run goes on there."""


class BatchPlace(Protocol):
    """Where a batch begins."""

    @property
    def source(self) -> str:
        """The name of the input as the source of a store."""

    @property
    def before(self) -> int:
        """Rows of the input before the batch."""

    def after(self, rows: int) -> RowsPosition:
        """Return the position after some rows of the batch."""
