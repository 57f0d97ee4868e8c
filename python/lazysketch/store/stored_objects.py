"""The live objects of a store: classes with the interface of those without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch import _native
from lazysketch.errors import ArgumentValueError
from lazysketch.heavy_hitters.heavy_hitters import HeavyHitters
from lazysketch.heavy_hitters.hierarchical import HierarchicalHeavyHitters
from lazysketch.sketches.counters import ContinualCounters
from lazysketch.sketches.held_table import HeldTables
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Punctual
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store.calls import Call
from lazysketch.store.partial_batches import ADDED
from lazysketch.store.stored_changes import (
    Changes,
    reads_after_commit,
    unknown_change,
    workers_split,
)
from lazysketch.store.table_numbers import number_of_table
from lazysketch.windows.hierarchical_windows import HierarchicalWindows
from lazysketch.windows.running_windows import RunningWindows
from lazysketch.windows.sums_windows import SumsWindows

if TYPE_CHECKING:
    from typing_extensions import Self

    from lazysketch.heavy_hitters.hierarchies import Levels
    from lazysketch.heavy_hitters.level_tables import Origins
    from lazysketch.releases.items import Item
    from lazysketch.releases.release import Release
    from lazysketch.specification.schedules import Schedule

__all__ = [
    "StoredCounters",
    "StoredHierarchy",
    "StoredHitters",
    "StoredSketch",
    "class_of",
    "destroy",
    "digest_of",
    "people_of",
    "tables_of",
]


class _ItemChanges(Changes):
    """Changes with items of one table."""

    def _people(self) -> dict[int, _native.People]:
        return people_of(tables_of(self))

    def update(self, item: object, weight: int = 1, *, user: object = None) -> None:
        """Count one event, as the method without a store."""
        people = None if user is None else [user]
        self._change("update_many", self._batches([item]), [weight], user=people)

    def update_rows(
        self,
        items: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Count rows, some without an event, as the method without a store."""
        self._change(
            "update_rows", self._batches(items, column), weights, empty_rows=empty_rows, user=user
        )

    def update_batch(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Count any number of events in one step, as the method without a store."""
        self._change("update_batch", self._batches(items, column), weights, user=user)


class _StoredTable(_ItemChanges, PrivateTable):
    """A sketch or counters of a store."""

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        threads: int = 1,
        user: object = None,
    ) -> None:
        """Count many events, one step each, as the method without a store."""
        self._change(
            "update_many", self._batches(items, column), weights, threads=threads, user=user
        )

    def _partial_table(self) -> _native.PrivateSketch:
        return self

    def _carry_out(self, call: Call) -> None:
        core, user = _native.PrivateSketch, call.user
        if call.method == "update_many":
            core.update_many(self, call.events[0], call.weights, threads=call.threads, user=user)
        elif call.method == "update_rows":
            empty = call.empty_rows
            core.update_rows(self, call.events[0], call.weights, empty_rows=empty, user=user)
        elif call.method == "update_batch":
            core._update_batch(self, call.events[0], call.weights, user=user)
        elif call.method == ADDED:
            self._gathered(call).add_to(self)
        elif call.method == "step":
            core._update_vector(self, call.weights)
        elif call.method == "tick":
            core.tick(self, call.steps)
        elif call.method == "finish":
            core.finish(self)
        else:
            raise unknown_change(call)


class StoredSketch(_StoredTable):
    """A sketch of a store, which is also of the class that its description gives.

    The log has fingerprints in place of items that are no integers: no more is counted.
    """

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        return [_native.logged_fingerprints(items, self, column=column)]

    @property
    def step(self) -> int:
        """Steps taken: events and ticks."""
        return self._step


@reads_after_commit
class StoredCounters(_StoredTable, ContinualCounters):
    """Counters of a store."""

    _CHANGES = Changes._CHANGES | {"step"}

    def step(self, vector: object) -> None:
        """Take one step with an event count for every counter, as the method without a store."""
        self._change("step", weights=vector)


@reads_after_commit
class StoredHitters(_ItemChanges, HeavyHitters):
    """Heavy hitters of a store."""

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        threads: int = 1,
        user: object = None,
    ) -> None:
        """Count many events, one step each, as the method without a store."""
        self._change(
            "update_many", self._batches(items, column), weights, threads=threads, user=user
        )

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open epoch now, as the method without a store."""
        self._change("end_discovery_epoch")

    def _partial_table(self) -> _native.PrivateSketch:
        return self._table

    def _carry_out(self, call: Call) -> None:
        base, user = HeavyHitters, call.user
        if call.method == "update_many":
            base.update_many(self, call.events[0], call.weights, threads=call.threads, user=user)
        elif call.method == "update_rows":
            empty = call.empty_rows
            base.update_rows(self, call.events[0], call.weights, empty_rows=empty, user=user)
        elif call.method == "update_batch":
            base.update_batch(self, call.events[0], call.weights, user=user)
        elif call.method == ADDED:
            self._gathered(call).add_to(self._table)
        elif call.method == "tick":
            base.tick(self, call.steps)
        elif call.method == "end_discovery_epoch":
            base.end_discovery_epoch(self)
        elif call.method == "finish":
            base.finish(self)
        else:
            raise unknown_change(call)


@reads_after_commit
class StoredHierarchy(Changes, HierarchicalHeavyHitters):
    """Heavy hitters of a store at all levels of a hierarchy.

    The log has the names of an event at every level: should the functions of the levels change
    between two lives, the counts of the past do not.
    """

    _BOUNDED = "levels have"

    @classmethod
    def _of_levels(
        cls, levels: Levels, origin: Origins, schedule: Schedule, **options: Any
    ) -> Self:
        self = cls.__new__(cls)
        self._make(levels, origin, schedule, **options)
        return self

    def update(self, item: Item, weight: int = 1, *, user: Item | None = None) -> None:
        """Count one event at every level, as the method without a store."""
        people = None if user is None else [user]
        self._change("update_many", self._batches([item]), [weight], user=people)

    def update_many(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count many events at every level, as the method without a store."""
        self._change("update_many", self._batches(items), weights, user=user)

    def update_rows(
        self, items: object, weights: object = None, *, empty_rows: object, user: object = None
    ) -> None:
        """Count rows, some without an event, as the method without a store."""
        self._change("update_rows", self._batches(items), weights, empty_rows=empty_rows, user=user)

    def update_batch(self, items: object, weights: object = None, *, user: object = None) -> None:
        """Count any number of events in one step, as the method without a store."""
        self._change("update_batch", self._batches(items), weights, user=user)

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open epochs now, as the method without a store."""
        self._change("end_discovery_epoch")

    def _people(self) -> dict[int, _native.People]:
        people = self._people_of_levels
        return {} if people is None else {0: people}

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:  # noqa: ARG002 -- levels have no columns
        return [_native.logged_events(column) for column in self.levels._columns(items)]

    def _partial_table(self) -> _native.PrivateSketch:
        return self._tables[0]

    def _partial_levels(self) -> _native.Hierarchy:
        return workers_split(self.levels)

    def _publication(self) -> tuple[Release, ...]:
        return tuple(self.release(level) for level in range(len(self._tables)))

    def _last_published(self) -> list[bytes]:
        return [release.to_bytes() for release in self._publication() if release.step]

    def _carry_out(self, call: Call) -> None:
        tables, batches = self._tables, call.events
        people = self._people_of_levels
        if call.user is not None and people is not None and call.method.startswith("update_"):
            _native.update_bounded(
                people,
                tables,
                list(batches),
                call.user,
                call.weights,
                empty_rows=call.empty_rows,
                in_one_step=call.method == "update_batch",
            )
        elif call.method in ("update_many", "update_rows"):
            _native.update_rows_of_all(tables, batches, call.weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            _native.update_batch_of_all(tables, batches, [call.weights] * len(tables))
        elif call.method == ADDED:
            self._gathered(call).add_to_levels(tables)
        elif call.method == "tick":
            _native.tick_all(tables, call.steps)
        elif call.method == "end_discovery_epoch":
            _native.end_epoch_of_all(tables)
        elif call.method == "finish":
            _native.finish_all(tables)
        else:
            raise unknown_change(call)


def _stored(kind: type[PrivateTable]) -> type[StoredSketch]:
    bases: tuple[type, ...] = (StoredSketch, kind)
    made = type(f"Stored{kind.__name__}", bases, {"__doc__": kind.__doc__})
    return reads_after_commit(made)


_LAZY: Final = {"count-min": _stored(LazyCountMin), "count-sketch": _stored(LazyCountSketch)}
_PUNCTUAL: Final = {
    "count-min": _stored(PunctualCountMin),
    "count-sketch": _stored(PunctualCountSketch),
}


_OTHERS: Final = {
    "counters": "counters; see Store.counters",
    "distinct": "distinct items; see Store.distinct",
    "values": "values; see Store.distribution",
    "ranges": "ranges of keys; see Store.ranges",
}


def class_of(spec: TableSpec) -> type[StoredSketch]:
    """Return the class of the stored sketch of a description.

    Args:
        spec: the description.

    Raises:
        ArgumentValueError: a description of counters, of distinct items or of values.
    """
    other = _OTHERS.get(spec.kind)
    if other is not None:
        raise ArgumentValueError(f"spec: expected one of a sketch, got one of {other}")
    return (_PUNCTUAL if isinstance(spec.schedule, Punctual) else _LAZY)[spec.kind]


def tables_of(stored: object) -> dict[int, _native.PrivateSketch]:
    """Return the tables whose states a checkpoint has for an object, by their numbers.

    Args:
        stored: an object of a store.
    """
    if isinstance(stored, HeavyHitters):
        return {0: stored._table}
    if isinstance(stored, (HierarchicalHeavyHitters, HeldTables)):
        return dict(enumerate(stored._tables))
    if isinstance(stored, (HierarchicalWindows, SumsWindows)):
        return {
            number_of_table(number, level): table
            for number, window in stored._live.tables.items()
            for level, table in enumerate(window.tables)
        }
    if isinstance(stored, RunningWindows):
        return {number: table._table for number, table in stored._live.tables.items()}
    return {0: cast("_native.PrivateSketch", stored)}


def people_of(tables: Mapping[int, _native.PrivateSketch]) -> dict[int, _native.People]:
    """Return what people have contributed to each of some tables, by their numbers.

    Args:
        tables: tables of an object, of which those without a bound of people are left out.
    """
    found = {number: _native.People.of_table(table) for number, table in tables.items()}
    return {number: people for number, people in found.items() if people is not None}


def destroy(stored: Any) -> None:
    """Destroy the keys and counts of an object, and what it knows of people.

    Args:
        stored: an object of a store.
    """
    people = stored._people()
    for table in tables_of(stored).values():
        _native.PrivateSketch.close(table)
    for one in people.values():
        one.forget()


def digest_of(stored: Any) -> str:
    """Return a digest of the parameters of an object.

    Args:
        stored: an object of a store.
    """
    if isinstance(stored, RunningWindows):
        return stored._digest  # type: ignore[attr-defined, no-any-return]
    tables = "".join(table._parameters_digest.hex() for table in tables_of(stored).values())
    further: str = stored._further_parameters()
    return tables + further
