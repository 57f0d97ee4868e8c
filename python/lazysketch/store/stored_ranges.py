"""Counts of ranges of keys of a store."""

from __future__ import annotations

from lazysketch.sketches.ranges import Ranges
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_held_table import StoredHeldTable

__all__ = ["StoredRanges"]


@reads_after_commit
class StoredRanges(StoredHeldTable, Ranges):
    """Counts of ranges of keys of a store."""

    def update(self, key: int) -> None:
        """Take one step with a key, as the method without a store."""
        self._change("update_many", self._batches([key]))

    def update_many(self, keys: object, *, column: str | None = None) -> None:
        """Take one step for each of many keys, as the method without a store."""
        self._change("update_many", self._batches(keys, column))

    def update_rows(self, keys: object, *, empty_rows: object, column: str | None = None) -> None:
        """Take one step for each of many rows, as the method without a store."""
        self._change("update_rows", self._batches(keys, column), empty_rows=empty_rows)

    def update_batch(self, keys: object, *, column: str | None = None) -> None:
        """Take one step with any number of keys, as the method without a store."""
        self._change("update_batch", self._batches(keys, column))
