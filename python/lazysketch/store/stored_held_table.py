"""Bases of the objects of a store that count in tables of their own.

With a public clock a step is a slice of time: events are added to the open step, in any number of
batches, and the step ends when the clock says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.sketches.held_table import HeldTable, HeldTables
from lazysketch.store.calls import Call
from lazysketch.store.partial_batches import ADDED
from lazysketch.store.stored_changes import Changes, unknown_change

__all__ = ["StoredHeldTable", "StoredHeldTables"]

_COUNTING: Final = ("update_many", "update_rows", "update_batch")


class StoredHeldTables(Changes, HeldTables):
    """An object of a store whose tables take all steps together."""

    _ended_steps: Callable[[], int] | None = None

    def _follow_clock(self, ended_steps: Callable[[], int]) -> None:
        """End steps by a public clock, and add all events to the open step.

        Guarantee: the number of steps is that of the clock, whatever is counted.

        Args:
            ended_steps: returns how many steps have ended by the clock.

        Raises:
            ArgumentTypeError: another schedule than Batch.
        """
        if self._tables[0].schedule.name != "batch":
            raise ArgumentTypeError("schedule: expected Batch for a clock, got another")
        self._ended_steps = ended_steps

    def finish(self) -> None:
        """Publish everything pending, as the last step, as the method without a store.

        With a clock the open step ends first, so that the number of steps does not show whether it
        had events.
        """
        self._pass_time()
        self._change("finish", steps=0 if self._ended_steps is None else 1)

    def _pass_time(self) -> None:
        if self._ended_steps is None or self._journal.lock.nested or self._tables[0].finished:
            return
        due = self._ended_steps() - self._tables[0]._step
        if due > 0:  # a clock that goes backwards ends nothing
            self._journal.change(self, Call(object=self._name, method="tick", steps=due))

    def _change(
        self,
        method: str,
        events: Sequence[_native.LoggedEvents] = (),
        weights: object = None,
        *,
        user: object = None,
        empty_rows: object = None,
        steps: int = 0,
        threads: int = 1,
    ) -> None:
        if self._ended_steps is not None and method in _COUNTING:
            self._pass_time()
            method, empty_rows = "add_to_batch", None
        super()._change(
            method,
            events,
            weights,
            user=user,
            empty_rows=empty_rows,
            steps=steps,
            threads=threads,
        )

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
        call = super()._batch(
            items, weights, empty_rows=empty_rows, column=column, times=times, user=user
        )
        if self._ended_steps is None:
            return call
        # Rows without an event take no step of their own here.
        return replace(call, method="add_to_batch", empty_rows=None)

    def _carry_out(self, call: Call) -> None:
        tables = list(self._tables)
        if call.method == "tick":
            _native.tick_all(tables, call.steps)
        elif call.method == "finish":
            _native.tick_all(tables, call.steps)
            _native.finish_all(tables)
        else:
            self._count(call)

    def _count(self, call: Call) -> None:
        """Make a change that has events."""
        raise NotImplementedError


class StoredHeldTable(StoredHeldTables, HeldTable):
    """An object of a store whose log has batches of one table."""

    def _people(self) -> dict[int, _native.People]:
        people = _native.People.of_table(self._table)
        return {} if people is None else {0: people}

    def _partial_table(self) -> _native.PrivateSketch:
        return self._table

    def _count(self, call: Call) -> None:
        table, user = self._table, call.user
        if call.method == "update_many":
            table.update_many(call.events[0], call.weights, user=user)
        elif call.method == "update_rows":
            empty = call.empty_rows
            table.update_rows(call.events[0], call.weights, empty_rows=empty, user=user)
        elif call.method == "update_batch":
            table.update_batch(call.events[0], call.weights, user=user)
        elif call.method == ADDED:
            self._gathered(call).add_to(table)
        elif call.method == "add_to_batch":
            table._add_to_batch(call.events[0], call.weights, user=user)
        else:
            raise unknown_change(call)
