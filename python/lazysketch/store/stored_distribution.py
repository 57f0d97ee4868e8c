"""Distributions of values of a store."""

from __future__ import annotations

from lazysketch import _native
from lazysketch.sketches.distribution import Distribution
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_held_table import StoredHeldTable

__all__ = ["StoredDistribution"]


@reads_after_commit
class StoredDistribution(StoredHeldTable, Distribution):
    """A distribution of values of a store.

    The log has the numbers of bins in place of values.
    """

    def update(self, value: float) -> None:
        """Take one step with a value, as the method without a store."""
        self._change("update_many", self._logged([value]))

    def update_many(self, values: object) -> None:
        """Take one step for each of many values, as the method without a store."""
        self._change("update_many", self._logged(values))

    def update_rows(self, values: object, *, empty_rows: object) -> None:
        """Take one step for each of many rows, as the method without a store."""
        self._change("update_rows", self._logged(values), empty_rows=empty_rows)

    def update_batch(self, values: object) -> None:
        """Take one step with any number of values, as the method without a store."""
        self._change("update_batch", self._logged(values))

    def _logged(self, values: object) -> list[_native.LoggedEvents]:
        return self._batches(self._bins_of(values))
