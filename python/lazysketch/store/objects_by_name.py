"""Objects of a store by name: new ones, or those that the store has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lazysketch import _native
from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError
from lazysketch.heavy_hitters.hierarchies import Levels
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions
from lazysketch.releases.any_release import any_release
from lazysketch.sketches.live_state import exclusive
from lazysketch.specification.schedules import Schedule, ScheduleName, schedule_for
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store.eras import Eras, begin_record, end_record
from lazysketch.store.ingestion import checked_name
from lazysketch.store.partial_ingestion import PartialIngestion
from lazysketch.store.recovered_objects import (
    Origin,
    RecoveredObjects,
    made_record,
    other_parameters,
)
from lazysketch.store.stored_distinct import StoredDistinct
from lazysketch.store.stored_distribution import StoredDistribution
from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
from lazysketch.store.stored_objects import (
    StoredCounters,
    StoredHierarchy,
    StoredHitters,
    StoredSketch,
    class_of,
    destroy,
)
from lazysketch.store.stored_ranges import StoredRanges
from lazysketch.store.stored_sliding import StoredSliding
from lazysketch.store.stored_statistic_windows import (
    StoredDistinctWindows,
    StoredDistributionWindows,
    StoredRangesWindows,
)
from lazysketch.store.stored_sums import StoredSums
from lazysketch.store.stored_sums_windows import StoredSumsWindows
from lazysketch.store.stored_windows import StoredWindows

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ObjectsByName", "one_table", "require_spec"]

Object = TypeVar(
    "Object",
    StoredSketch,
    StoredCounters,
    StoredDistinct,
    StoredDistribution,
    StoredRanges,
    StoredSums,
    StoredHitters,
    StoredHierarchy,
    StoredWindows,
    StoredSliding,
    StoredHierarchicalWindows,
    StoredDistinctWindows,
    StoredDistributionWindows,
    StoredRangesWindows,
    StoredSumsWindows,
)


class ObjectsByName(PartialIngestion):
    """The objects of a store, apart from its windows; base class of :class:`Store`."""

    def __init__(self, native: _native.Store) -> None:
        """Read what the directory holds."""
        super().__init__(native)
        journal = self._journal
        self._eras = Eras()
        self._kept = RecoveredObjects(
            native,
            sources=journal.sources,
            notes=journal.notes,
            partials=journal.partials,
            eras=self._eras,
        )
        journal.bytes_logged = self._kept.bytes_logged

    def sketch(self, name: str, spec: TableSpec) -> StoredSketch:
        """Return the sketch of a name: a new one, or the one that the store has.

        Guarantee: that of the class that the description gives, over all lives of the store.

        Args:
            name: its name in the store, 1 to 200 characters.
            spec: its description; the same in every life.

        Returns:
            A live sketch. Its changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description than the one
                that the object was made with.
            StoreError: a store that cannot be read or written.

        Example:
            >>> import pathlib, tempfile
            >>> from lazysketch import Geometric, Key, open_store
            >>> folder, key = pathlib.Path(tempfile.mkdtemp()), Key.generate()
            >>> spec = TableSpec(
            ...     kind="count-min", depth=3, width=64, schedule=Geometric(),
            ...     epsilon=1.0, delta=1e-8,
            ... )
            >>> with open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     store.sketch("visits", spec).update_many(["/a", "/b", "/a"])
            >>> with open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     store.sketch("visits", spec).step
            3
        """
        require_spec(TableSpec, spec)
        kind = class_of(spec)
        return self._opened(name, lambda origin: one_table(kind._made, spec, origin))

    def counters(self, name: str, spec: TableSpec) -> StoredCounters:
        """Return the counters of a name: new ones, or those that the store has.

        Guarantee: that of :class:`ContinualCounters`, over all lives of the store.

        Args:
            name: their name in the store, 1 to 200 characters.
            spec: their description, of kind ``"counters"``; the same in every life.

        Returns:
            Live counters. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description.
            StoreError: a store that cannot be read or written.
        """
        require_spec(TableSpec, spec)
        return self._opened(name, lambda origin: one_table(StoredCounters._made, spec, origin))

    def heavy_hitters(self, name: str, spec: HeavyHittersSpec) -> StoredHitters:
        """Return the heavy hitters of a name: new ones, or those that the store has.

        Guarantee: that of :class:`HeavyHitters`, over all lives of the store.

        Args:
            name: their name in the store, 1 to 200 characters.
            spec: their description; the same in every life.

        Returns:
            Live heavy hitters. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description.
            StoreError: a store that cannot be read or written.
        """
        require_spec(HeavyHittersSpec, spec)
        return self._opened(name, lambda origin: one_table(StoredHitters._made, spec, origin))

    def hierarchy(
        self,
        name: str,
        levels: Levels,
        *,
        horizon: int | None = None,
        schedule: Schedule | ScheduleName | None = None,
        **options: Unpack[HittersOptions],
    ) -> StoredHierarchy:
        """Return the heavy hitters of a name at all levels of a hierarchy.

        Guarantee: that of :class:`HierarchicalHeavyHitters`, over all lives of the store.

        Args:
            name: their name in the store, 1 to 200 characters.
            levels: the hierarchy.
            horizon: as for the class.
            schedule: as for the class.
            **options: as for the class; the same in every life.

        Returns:
            Live heavy hitters. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.
        """
        chosen = schedule_for(schedule, horizon)
        return self._opened(
            name, lambda origin: StoredHierarchy._of_levels(levels, origin, chosen, **options)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all objects, open or not."""
        return tuple(sorted({*self._open, *self._kept}))

    @exclusive
    def _opened(self, name: str, make: Callable[[Origin], Object]) -> Object:
        """Make an object, or restore it and repeat its changes."""
        name = checked_name("name", name)
        self._journal.check()
        if name in self._open:
            raise ArgumentValueError(f"name: expected one that is not open, got {shown(name)}")
        if self._kept.is_of_an_earlier_era(name):
            self._end(name, self._restored(name, make))
        if name in self._kept:
            stored = self._restored(name, make)
        else:
            stored = make(self._kept.origin(name))
            stored._join(self._journal, name)
            record = made_record(name, stored)
            self._journal.log(record)
            self._eras.add(name, record.facts["privacy"])
        self._open[name] = stored
        return stored

    def _restored(self, name: str, make: Callable[[Origin], Object]) -> Object:
        """Make an object that the store has, and repeat its changes."""
        origin = self._kept.origin(name)
        try:
            stored = make(origin)
            origin.restore_people(stored._people())
        except StoreError as error:
            raise (other_parameters(name) if "the parameters" in str(error) else error) from None
        stored._join(self._journal, name)
        self._kept.repeat(name, stored)
        return stored

    def _end(self, name: str, stored: Object) -> None:
        """End an object of an earlier era: keep what it had published last, and destroy it."""
        record = end_record(name, stored)
        self._journal.log(record)
        self._eras.end(name, [any_release(it) for it in record.contents])
        destroy(stored)

    def _begin_era(self, *, anchored: bool, copied: bool) -> None:
        """Begin an era, before anything is opened in it; durable before anything is read."""
        record = begin_record(anchored=anchored, copied=copied)
        self._journal.log(record)
        self._eras.begin(record.facts)


def require_spec(kind: type, spec: object) -> None:
    """Raise ArgumentTypeError unless a description is of a class.

    Args:
        kind: the class.
        spec: the description.
    """
    if not isinstance(spec, kind):
        got = type(spec).__name__
        raise ArgumentTypeError(f"spec: expected a {kind.__name__}, got {got}")


def one_table(made: Callable[..., Object], spec: object, origin: Origin) -> Object:
    """Return an object of one table.

    Args:
        made: makes it, from a description, a key and a state.
        spec: the description.
        origin: where it comes from.
    """
    key, state = origin(0)
    return made(spec, key=key, state=state)
