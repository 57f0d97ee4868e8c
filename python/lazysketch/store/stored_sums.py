"""Sums and means of values by item, of a store."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.specification.value_grid import ValueGrid
from lazysketch.store.calls import Call
from lazysketch.store.partial_batches import ADDED
from lazysketch.store.stored_changes import reads_after_commit, unknown_change
from lazysketch.store.stored_held_table import StoredHeldTables
from lazysketch.sums.sums import Sums

__all__ = ["StoredSums", "parameters_of_grid"]

_COUNTING: Final = ("update_many", "update_rows", "update_batch", "add_to_batch")


def parameters_of_grid(grid: ValueGrid) -> str:
    """Return a digest of what a step of a grid is worth; those of tables have its number of steps.

    Args:
        grid: how values become integers.
    """
    bounds = repr((grid.low + 0.0, grid.high + 0.0, grid.is_exact))
    return hashlib.blake2b(bounds.encode(), digest_size=16).hexdigest()


@reads_after_commit
class StoredSums(StoredHeldTables, Sums):
    """Sums by item of a store.

    The log has fingerprints in place of items, integers of the grid in place of values, and secret
    identities in place of people.
    """

    def update(self, item: object, value: float, *, user: object = None) -> None:
        """Take one step with an item and a value, as the method without a store."""
        self.update_many([item], [value], user=None if user is None else [user])

    def update_many(self, items: object, values: object, *, user: object = None) -> None:
        """Take one step for each of many events, as the method without a store."""
        self._change("update_many", self._batches(items), self._weights(values), user=user)

    def update_rows(
        self, items: object, values: object, *, empty_rows: object, user: object = None
    ) -> None:
        """Take one step for each of many rows, as the method without a store."""
        weights, batches = self._weights(values), self._batches(items)
        self._change("update_rows", batches, weights, user=user, empty_rows=empty_rows)

    def update_batch(self, items: object, values: object, *, user: object = None) -> None:
        """Take one step with any number of events, as the method without a store."""
        self._change("update_batch", self._batches(items), self._weights(values), user=user)

    def _people(self) -> dict[int, _native.People]:
        # One decision for both tables, in which an event has the same cells.
        people = _native.People.of_table(self._counts)
        return {} if people is None else {0: people}

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

    def _partial_table(self) -> _native.PrivateSketch:
        return self._counts

    def _partial_values(self) -> tuple[_native.PrivateSketch, float, float, bool]:
        grid = self._spec.grid
        return self._values, grid.low, grid.high, grid.is_exact

    def _further_parameters(self) -> str:
        return parameters_of_grid(self._spec.grid)

    def _count(self, call: Call) -> None:
        if call.method == ADDED:
            self._gathered(call).add_to_both(self._counts, self._values)
            return
        if call.method not in _COUNTING:
            raise unknown_change(call)
        # A batch of a pipeline without events has no weights in the log.
        weights = np.empty(0, dtype=np.uint64) if call.weights is None else call.weights
        _native.update_sums(
            self._counts,
            self._values,
            call.events[0],
            weights,
            user=call.user,
            empty_rows=call.empty_rows,
            in_one_step=call.method == "update_batch",
            in_open_step=call.method == "add_to_batch",
        )
