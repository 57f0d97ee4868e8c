"""Distributions of values of a store."""

from __future__ import annotations

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.sketches.distribution import Distribution
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_held_table import StoredHeldTable

__all__ = ["StoredDistribution"]


@reads_after_commit
class StoredDistribution(StoredHeldTable, Distribution):
    """A distribution of values of a store.

    The log has the numbers of bins in place of values, and secret identities in place of people.
    """

    def update(self, value: float, *, user: object = None) -> None:
        """Take one step with a value, as the method without a store."""
        people = None if user is None else [user]
        self._change("update_many", self._batches([value]), user=people)

    def update_many(self, values: object, *, user: object = None) -> None:
        """Take one step for each of many values, as the method without a store."""
        self._change("update_many", self._batches(values), user=user)

    def update_rows(self, values: object, *, empty_rows: object, user: object = None) -> None:
        """Take one step for each of many rows, as the method without a store."""
        self._change("update_rows", self._batches(values), empty_rows=empty_rows, user=user)

    def update_batch(self, values: object, *, user: object = None) -> None:
        """Take one step with any number of values, as the method without a store."""
        self._change("update_batch", self._batches(values), user=user)

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        if column is not None:
            raise ArgumentTypeError("column: expected none for values, got one")
        return super()._batches(self._bins_of(items))
