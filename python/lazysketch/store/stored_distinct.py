"""Counts of distinct items of a store."""

from __future__ import annotations

from lazysketch import _native
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.store.calls import Call
from lazysketch.store.stored_changes import Changes, reads_after_commit, unknown_change

__all__ = ["StoredDistinct"]


@reads_after_commit
class StoredDistinct(Changes, DistinctCount):
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

    def _carry_out(self, call: Call) -> None:
        table = self._table
        if call.method == "update_many":
            table.update_many(call.events[0], call.weights)
        elif call.method == "update_rows":
            table.update_rows(call.events[0], call.weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            table.update_batch(call.events[0])
        elif call.method == "tick":
            table.tick(call.steps)
        elif call.method == "finish":
            table.finish()
        else:
            raise unknown_change(call)
