"""Sums and means of values by item, of a store."""

from __future__ import annotations

import hashlib

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.store.calls import Call
from lazysketch.store.stored_changes import reads_after_commit, unknown_change
from lazysketch.store.stored_held_table import StoredHeldTables
from lazysketch.sums.sums import Sums

__all__ = ["StoredSums"]


@reads_after_commit
class StoredSums(StoredHeldTables, Sums):
    """Sums by item of a store.

    The log has fingerprints in place of items, and integers of the grid in place of values.
    """

    def update(self, item: object, value: float) -> None:
        """Take one step with an item and a value, as the method without a store."""
        self.update_many([item], [value])

    def update_many(self, items: object, values: object) -> None:
        """Take one step for each of many events, as the method without a store."""
        self._change("update_many", self._batches(items), self._weights(values))

    def update_rows(self, items: object, values: object, *, empty_rows: object) -> None:
        """Take one step for each of many rows, as the method without a store."""
        weights = self._weights(values)
        self._change("update_rows", self._batches(items), weights, empty_rows=empty_rows)

    def update_batch(self, items: object, values: object) -> None:
        """Take one step with any number of events, as the method without a store."""
        self._change("update_batch", self._batches(items), self._weights(values))

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        return [_native.logged_fingerprints(items, self._counts, column=column)]

    def _batch(
        self,
        items: object,
        weights: object,
        *,
        empty_rows: object,
        column: str | None,
        times: object,
        user: object = None,
    ) -> Call:
        if weights is None:
            raise ArgumentTypeError("weights: expected one value per item of sums, got none")
        return super()._batch(
            items,
            self._weights(weights),
            empty_rows=empty_rows,
            column=column,
            times=times,
            user=user,
        )

    def _further_parameters(self) -> str:
        # The digests of the tables have the number of grid steps, and not what a step is worth.
        grid = self._spec.grid
        bounds = repr((grid.low + 0.0, grid.high + 0.0, grid.is_exact))
        return hashlib.blake2b(bounds.encode(), digest_size=16).hexdigest()

    def _count(self, call: Call) -> None:
        counts, values, events = self._counts, self._values, call.events[0]
        weights = call.weights
        if weights is None:
            raise unknown_change(call)
        if call.method in ("update_many", "update_rows"):
            _native.update_sums(counts, values, events, weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            _native.update_sums(counts, values, events, weights, in_one_step=True)
        elif call.method == "add_to_batch":
            _native.add_to_batch_of_all([counts, values], [events, events], [None, weights])
        else:
            raise unknown_change(call)
