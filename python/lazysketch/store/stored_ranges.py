"""Counts of ranges of keys of a store."""

from __future__ import annotations

from lazysketch.sketches.ranges import Ranges
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_held_table import StoredHeldTable

__all__ = ["StoredRanges"]


@reads_after_commit
class StoredRanges(StoredHeldTable, Ranges):
    """Counts of ranges of keys of a store; its log has secret identities in place of people."""

    def update(self, key: int, weight: int = 1, *, user: object = None) -> None:
        """Take one step with a key, as the method without a store."""
        people = None if user is None else [user]
        self._change("update_many", self._batches([key]), [weight], user=people)

    def update_many(
        self,
        keys: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Take one step for each of many keys, as the method without a store."""
        self._change("update_many", self._batches(keys, column), weights, user=user)

    def update_rows(
        self,
        keys: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Take one step for each of many rows, as the method without a store."""
        batches = self._batches(keys, column)
        self._change("update_rows", batches, weights, empty_rows=empty_rows, user=user)

    def update_batch(
        self,
        keys: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Take one step with any number of keys, as the method without a store."""
        self._change("update_batch", self._batches(keys, column), weights, user=user)
