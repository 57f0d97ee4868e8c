"""Base of the objects of a store that count in a table of their own."""

from __future__ import annotations

from lazysketch import _native
from lazysketch.sketches.held_table import HeldTable
from lazysketch.store.calls import Call
from lazysketch.store.partial_batches import ADDED
from lazysketch.store.stored_changes import Changes, unknown_change

__all__ = ["StoredHeldTable"]


class StoredHeldTable(Changes, HeldTable):
    """An object of a store whose log has batches of one table, without weights."""

    def _partial_table(self) -> _native.PrivateSketch:
        return self._table

    def _carry_out(self, call: Call) -> None:
        table = self._table
        if call.method == "update_many":
            table.update_many(call.events[0], call.weights)
        elif call.method == "update_rows":
            table.update_rows(call.events[0], call.weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            table.update_batch(call.events[0])
        elif call.method == ADDED:
            self._gathered(call).add_to(table)
        elif call.method == "tick":
            table.tick(call.steps)
        elif call.method == "finish":
            table.finish()
        else:
            raise unknown_change(call)
