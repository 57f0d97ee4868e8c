"""A store: live objects that survive the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lazysketch import _native
from lazysketch.arguments import shown
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    StoreError,
)
from lazysketch.heavy_hitters.hierarchical import Origins
from lazysketch.heavy_hitters.hierarchies import Levels
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions
from lazysketch.releases.release import Release
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import exclusive
from lazysketch.specification.schedules import Schedule, ScheduleName, schedule_for
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store.ingestion import Ingestion, checked_name
from lazysketch.store.recovered_objects import (
    RecoveredObjects,
    header_of,
    made_record,
    other_parameters,
)
from lazysketch.store.stored_objects import (
    StoredCounters,
    StoredHierarchy,
    StoredHitters,
    StoredSketch,
    class_of,
    tables_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Store"]

Object = TypeVar("Object", StoredSketch, StoredCounters, StoredHitters, StoredHierarchy)


class Store(Ingestion):
    """Live objects in a directory; made by :func:`open_store`.

    Guarantee: what was committed is there after any crash, once; what was read is published again
    bit for bit; no noise ever meets two contents, as long as the directory and its anchor are not
    put back to an older state together.

    Source: docs/operations.md.
    """

    def __init__(self, native: _native.Store, *, checkpoint_bytes: int) -> None:
        """Read what the directory holds."""
        super().__init__(native)
        self._checkpoint_bytes = checkpoint_bytes
        self._kept = RecoveredObjects(
            native, sources=self._journal.sources, notes=self._journal.notes
        )
        self._journal.bytes_logged = self._kept.bytes_logged

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
            >>> from lazysketch import Geometric, open_store
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
        _require(TableSpec, spec)
        kind = class_of(spec)
        return self._opened(name, lambda origin: _one_table(kind._made, spec, origin))

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
        _require(TableSpec, spec)
        return self._opened(name, lambda origin: _one_table(StoredCounters._made, spec, origin))

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
        _require(HeavyHittersSpec, spec)
        return self._opened(name, lambda origin: _one_table(StoredHitters._made, spec, origin))

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

    def commit(self) -> None:
        """Make all changes durable that were made before the call.

        Raises:
            StoreError: the log could not be written; open the store again.
            ClosedError: after ``close()``.
        """
        self._journal.commit()
        if self._is_checkpoint_due:
            self._checkpoint_if_due()

    def publish(self) -> dict[str, Release]:
        """Commit, and return the release of every open sketch and of all heavy hitters.

        Guarantee: each release is a function of what is durable, so that it is the same after any
        crash.

        Returns:
            Releases by the name of the object; hierarchies have one per level and are left out.
        """
        readable = {
            name: stored
            for name, stored in self._open.items()
            if not isinstance(stored, StoredHierarchy)
        }
        return {name: stored.release() for name, stored in readable.items()}

    @exclusive
    def checkpoint(self) -> None:
        """Write the states of all objects, after which the log before them is removed.

        Raises:
            ArgumentValueError: an object that was not opened in this life: its changes are in the
                log only.
            StoreError: a store that cannot be written.
        """
        if self._kept:
            raise ArgumentValueError(
                f"store: expected all objects to be open, got {shown(min(self._kept))} not opened"
            )
        self._journal.check()
        header, tables = header_of(self._open, self._journal.sources, self._journal.notes)
        self._native.checkpoint(self._journal.last, header, tables)
        self._journal.bytes_logged = 0

    def rotate(self, key: Key) -> None:
        """Wrap the secrets of the store under another key; the noise stays as it is.

        Guarantee: releases before and after are those of one store. Destroy the old key afterwards:
        it opens copies of the directory that were made before.

        Args:
            key: the key that opens the store from now on.

        Raises:
            ArgumentTypeError: not a key.
            StoreError: a store that cannot be written.
        """
        if not isinstance(key, Key):
            raise ArgumentTypeError(f"key: expected a Key, got {type(key).__name__}")
        self._journal.check()
        self._native.rotate(key)

    @property
    def _is_checkpoint_due(self) -> bool:
        return self._journal.bytes_logged >= self._checkpoint_bytes and not self._kept

    @exclusive
    def _checkpoint_if_due(self) -> None:
        # Another thread may have written it in the meantime.
        if self._is_checkpoint_due:
            self.checkpoint()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all objects, open or not."""
        return tuple(sorted({*self._open, *self._kept}))

    def close(self) -> None:
        """Commit, and release the directory; all objects are kept.

        Raises:
            StoreError: the log could not be written.
        """
        for stored in self._open.values():
            for table in tables_of(stored):
                _native.PrivateSketch.close(table)
        self._native.close()

    @exclusive
    def _opened(self, name: str, make: Callable[[Origins], Object]) -> Object:
        """Make an object, or restore it and repeat its changes."""
        name = checked_name("name", name)
        self._journal.check()
        if name in self._open:
            raise ArgumentValueError(f"name: expected one that is not open, got {shown(name)}")
        is_new = name not in self._kept
        try:
            stored = make(self._kept.origins(name))
        except StoreError as error:
            raise (other_parameters(name) if "the parameters" in str(error) else error) from None
        stored._join(self._journal, name)
        if is_new:
            self._journal.log(made_record(name, stored))
        else:
            self._kept.repeat(name, stored)
        self._open[name] = stored
        return stored


def _require(kind: type, spec: object) -> None:
    if not isinstance(spec, kind):
        got = type(spec).__name__
        raise ArgumentTypeError(f"spec: expected a {kind.__name__}, got {got}")


def _one_table(made: Callable[..., Object], spec: object, origin: Origins) -> Object:
    key, state = origin(0)
    return made(spec, key=key, state=state)
