"""The live objects of a store: classes with the interface of those without one.

Every change goes through the journal. Every other public method and property is a read: it is made
after a commit, unless it is listed as one that does not depend on events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentValueError, StoreError
from lazysketch.heavy_hitters.heavy_hitters import HeavyHitters
from lazysketch.heavy_hitters.hierarchical import HierarchicalHeavyHitters
from lazysketch.sketches.counters import ContinualCounters
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Punctual
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store.calls import Call, plain_counts
from lazysketch.store.journal import Journal

if TYPE_CHECKING:
    from typing_extensions import Self

    from lazysketch.heavy_hitters.hierarchical import Origins
    from lazysketch.heavy_hitters.hierarchies import Levels
    from lazysketch.releases.items import Item
    from lazysketch.specification.schedules import Schedule

__all__ = [
    "StoredCounters",
    "StoredHierarchy",
    "StoredHitters",
    "StoredSketch",
    "class_of",
    "tables_of",
]

_Stored = TypeVar("_Stored", bound="_Changes")

# What depends on arguments alone.
_FIXED: Final = frozenset(
    {
        "counters", "depth", "discovery_epoch", "from_spec", "hash_seed", "horizon", "kind",
        "levels", "mechanism", "memory", "not_private_because", "privacy", "private", "schedule",
        "sigma", "sketch_id", "smallest_share", "spec", "threshold", "width",
    }
)  # fmt: skip


def _reads_after_commit(kind: type[_Stored]) -> type[_Stored]:
    """Return a class whose reads are made after a commit."""
    for name in dir(kind):
        if name.startswith("_") or name in _FIXED or name in kind._CHANGES:
            continue
        found = getattr(kind, name)
        if callable(found):
            setattr(kind, name, _reading(found))
        else:  # a property, of Python or of the native class
            setattr(kind, name, property(_reading(found.__get__), doc=found.__doc__))
    return kind


def _reading(found: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(found, assigned=("__name__", "__qualname__", "__doc__"))
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        journal: Journal = self._journal
        return journal.read(found, self, *args, **kwargs)

    return read


class _Changes:
    """The changes that all stored objects have, as calls that the journal logs."""

    _CHANGES: ClassVar[frozenset[str]] = frozenset(
        {
            "close", "end_discovery_epoch", "finish", "tick", "update", "update_batch",
            "update_many", "update_rows",
        }
    )  # fmt: skip
    _journal: Journal
    _name: str

    def _join(self, journal: Journal, name: str) -> None:
        """Log all changes from here on, under a name."""
        self._journal, self._name = journal, name

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        """Return the items as batches that are counted and logged, one per table."""
        raise NotImplementedError

    def _change(
        self,
        method: str,
        events: Sequence[_native.LoggedEvents] = (),
        weights: object = None,
        *,
        empty_rows: object = None,
        steps: int = 0,
        threads: int = 1,
    ) -> None:
        call = Call(
            object=self._name,
            method=method,
            events=tuple(events),
            weights=plain_counts(weights),
            empty_rows=plain_counts(empty_rows),
            steps=steps,
            threads=threads,
        )
        self._journal.change(self, call)

    def _carry_out(self, call: Call) -> None:
        raise NotImplementedError

    def tick(self, steps: int = 1) -> None:
        """Take steps without an event, as the method without a store."""
        self._change("tick", steps=checked_integer("steps", steps, least=0, most=2**63 - 1))

    def finish(self) -> None:
        """Publish everything pending, as the last step, as the method without a store."""
        self._change("finish")

    def close(self) -> None:
        """Refuse: ``store.close()`` closes all objects, and keeps them."""
        raise ArgumentValueError(
            "store: expected store.close(), which keeps every object, got close() of one of them"
        )


class _ItemChanges(_Changes):
    """Changes with items of one table."""

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        return [_native.logged_events(items, column=column)]

    def update(self, item: object, weight: int = 1) -> None:
        """Count one event, as the method without a store."""
        self._change("update_many", self._batches([item]), [weight])

    def update_rows(
        self,
        items: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
    ) -> None:
        """Count rows, some without an event, as the method without a store."""
        self._change("update_rows", self._batches(items, column), weights, empty_rows=empty_rows)

    def update_batch(
        self, items: object, weights: object = None, *, column: str | None = None
    ) -> None:
        """Count any number of events in one step, as the method without a store."""
        self._change("update_batch", self._batches(items, column), weights)


class _StoredTable(_ItemChanges, PrivateTable):
    """A sketch or counters of a store."""

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        threads: int = 1,
    ) -> None:
        """Count many events, one step each, as the method without a store."""
        self._change("update_many", self._batches(items, column), weights, threads=threads)

    def _carry_out(self, call: Call) -> None:
        core = _native.PrivateSketch
        if call.method == "update_many":
            core.update_many(self, call.events[0], call.weights, threads=call.threads)
        elif call.method == "update_rows":
            core.update_rows(self, call.events[0], call.weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            core._update_batch(self, call.events[0], call.weights)
        elif call.method == "step":
            core._update_vector(self, call.weights)
        elif call.method == "tick":
            core.tick(self, call.steps)
        elif call.method == "finish":
            core.finish(self)
        else:
            raise _unknown(call)


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


@_reads_after_commit
class StoredCounters(_StoredTable, ContinualCounters):
    """Counters of a store."""

    _CHANGES = _Changes._CHANGES | {"step"}

    def step(self, vector: object) -> None:
        """Take one step with an event count for every counter, as the method without a store."""
        self._change("step", weights=vector)


@_reads_after_commit
class StoredHitters(_ItemChanges, HeavyHitters):
    """Heavy hitters of a store."""

    def update_many(
        self, items: object, weights: object = None, *, column: str | None = None
    ) -> None:
        """Count many events, one step each, as the method without a store."""
        self._change("update_many", self._batches(items, column), weights)

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open epoch now, as the method without a store."""
        self._change("end_discovery_epoch")

    def _carry_out(self, call: Call) -> None:
        base = HeavyHitters
        if call.method == "update_many":
            base.update_many(self, call.events[0], call.weights)
        elif call.method == "update_rows":
            base.update_rows(self, call.events[0], call.weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            base.update_batch(self, call.events[0], call.weights)
        elif call.method == "tick":
            base.tick(self, call.steps)
        elif call.method == "end_discovery_epoch":
            base.end_discovery_epoch(self)
        elif call.method == "finish":
            base.finish(self)
        else:
            raise _unknown(call)


@_reads_after_commit
class StoredHierarchy(_Changes, HierarchicalHeavyHitters):
    """Heavy hitters of a store at all levels of a hierarchy.

    The log has the names of an event at every level: should the functions of the levels change
    between two lives, the counts of the past do not.
    """

    @classmethod
    def _of_levels(
        cls, levels: Levels, origin: Origins, schedule: Schedule, **options: Any
    ) -> Self:
        self = cls.__new__(cls)
        self._make(levels, origin, schedule, **options)
        return self

    def update(self, item: Item, weight: int = 1) -> None:
        """Count one event at every level, as the method without a store."""
        self._change("update_many", self._batches([item]), [weight])

    def update_many(self, items: object, weights: object = None) -> None:
        """Count many events at every level, as the method without a store."""
        self._change("update_many", self._batches(items), weights)

    def update_rows(self, items: object, weights: object = None, *, empty_rows: object) -> None:
        """Count rows, some without an event, as the method without a store."""
        self._change("update_rows", self._batches(items), weights, empty_rows=empty_rows)

    def update_batch(self, items: object, weights: object = None) -> None:
        """Count any number of events in one step, as the method without a store."""
        self._change("update_batch", self._batches(items), weights)

    def end_discovery_epoch(self) -> None:
        """Publish the names of the open epochs now, as the method without a store."""
        self._change("end_discovery_epoch")

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:  # noqa: ARG002 -- levels have no columns
        return [_native.logged_events(column) for column in self.levels.columns(items)]

    def _carry_out(self, call: Call) -> None:
        tables, batches = self._tables, call.events
        if call.method in ("update_many", "update_rows"):
            _native.update_rows_of_all(tables, batches, call.weights, empty_rows=call.empty_rows)
        elif call.method == "update_batch":
            _native.update_batch_of_all(tables, batches, call.weights)
        elif call.method == "tick":
            _native.tick_all(tables, call.steps)
        elif call.method == "end_discovery_epoch":
            _native.end_epoch_of_all(tables)
        elif call.method == "finish":
            _native.finish_all(tables)
        else:
            raise _unknown(call)


def _stored(kind: type[PrivateTable]) -> type[StoredSketch]:
    bases: tuple[type, ...] = (StoredSketch, kind)
    made = type(f"Stored{kind.__name__}", bases, {"__doc__": kind.__doc__})
    return _reads_after_commit(made)


_LAZY: Final = {"count-min": _stored(LazyCountMin), "count-sketch": _stored(LazyCountSketch)}
_PUNCTUAL: Final = {
    "count-min": _stored(PunctualCountMin),
    "count-sketch": _stored(PunctualCountSketch),
}


def class_of(spec: TableSpec) -> type[StoredSketch]:
    """Return the class of the stored sketch of a description.

    Args:
        spec: the description.

    Raises:
        ArgumentValueError: a description of counters.
    """
    if spec.kind == "counters":
        raise ArgumentValueError(
            "spec: expected one of a sketch, got one of counters; see Store.counters"
        )
    return (_PUNCTUAL if isinstance(spec.schedule, Punctual) else _LAZY)[spec.kind]


def tables_of(stored: object) -> list[_native.PrivateSketch]:
    """Return the tables whose states a checkpoint has for an object.

    Args:
        stored: an object of a store.
    """
    if isinstance(stored, HeavyHitters):
        return [stored._table]
    if isinstance(stored, HierarchicalHeavyHitters):
        return list(stored._tables)
    return [cast("_native.PrivateSketch", stored)]


def _unknown(call: Call) -> StoreError:
    return StoreError(f"state: expected a change of this version, got {call.method!r}")
