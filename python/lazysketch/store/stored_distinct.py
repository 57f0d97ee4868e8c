"""Counts of distinct items of a store."""

from __future__ import annotations

from lazysketch import _native
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_held_table import StoredHeldTable

__all__ = ["StoredDistinct"]


@reads_after_commit
class StoredDistinct(StoredHeldTable, DistinctCount):
    """A count of distinct items of a store.

    The log has fingerprints in place of items, and a checkpoint the secret bitmaps.
    """

    def update(self, item: object) -> None:
        """Take one step with an event of an item, as the method without a store."""
        self._change("update_many", self._batches([item]))

    def update_many(self, items: object, *, column: str | None = None) -> None:
        """Take one step for each of many events, as the method without a store."""
        self._change("update_many", self._batches(items, column))

    def update_rows(self, items: object, *, empty_rows: object, column: str | None = None) -> None:
        """Take one step for each of many rows, as the method without a store."""
        self._change("update_rows", self._batches(items, column), empty_rows=empty_rows)

    def update_batch(self, items: object, *, column: str | None = None) -> None:
        """Take one step with any number of events, as the method without a store."""
        self._change("update_batch", self._batches(items, column))

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        return [_native.logged_fingerprints(items, self._table, column=column)]
