"""Windows of a hierarchy of a store.

They log the names of an event at every level, as a hierarchy does, and have a table per window and
level, each under an id of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from lazysketch import _native
from lazysketch.heavy_hitters.hitters_spec import LevelsOptions
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.sketches.keys import Key
from lazysketch.store.calls import Call
from lazysketch.store.partial_batches import ADDED
from lazysketch.store.recovered_objects import Origin
from lazysketch.store.stored_changes import reads_after_commit, workers_split
from lazysketch.store.stored_windows import WindowsOfItems
from lazysketch.store.table_numbers import (
    LEVELS_WITHOUT_EVENTS,
    WITHOUT_EVENTS,
    number_of_table,
)
from lazysketch.windows.cuts import Cut
from lazysketch.windows.hierarchical_windows import HierarchicalWindows
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.running_windows import closed_windows
from lazysketch.windows.window_levels import LevelsSpec, WindowLevels

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from lazysketch.heavy_hitters.hierarchies import Levels

__all__ = ["StoredHierarchicalWindows", "StoredHierarchicalWindowsOptions"]


class StoredHierarchicalWindowsOptions(LevelsOptions, total=False):
    """Keyword arguments of windows of a hierarchy, as for :class:`lazysketch.HierarchicalWindows`.

    Args:
        every: length of a window.
        keep: number of ended windows that are kept.
        slices: parts of a window.
        clock: returns seconds since 1970; it may differ from life to life.
        level_weights: one number per level.
        person_bound: what is counted of each person, at all levels or one per level.
    """

    every: str | timedelta | None
    keep: int
    slices: int | None
    clock: Callable[[], float] | None
    level_weights: Sequence[float] | None
    person_bound: PersonBound | Sequence[PersonBound] | None


class _StoredLevels(WindowLevels):
    """Maker of the tables of a store, one per window and level, each with an id of its own."""

    def __init__(self, spec: LevelsSpec, origin: Origin) -> None:
        self._of_store = origin
        super().__init__(spec, key=origin(WITHOUT_EVENTS)[0])
        # As for windows without levels.
        empty = self.make(LEVELS_WITHOUT_EVENTS)
        digests = [table._parameters_digest.hex() for table in empty.tables]
        self.digest = f"{' '.join(digests)} {', '.join(spec.levels.names)}"
        self.identities = empty.people
        _native.close_all(empty.tables)

    def _origin(self, number: int, level: int) -> tuple[Key, _native.SavedState | None]:
        return self._of_store(number_of_table(number, level))


@reads_after_commit
class StoredHierarchicalWindows(WindowsOfItems, HierarchicalWindows):
    """Windows of a hierarchy of a store."""

    @classmethod
    def _of_levels(
        cls,
        levels: Levels,
        origin: Origin,
        **options: Unpack[StoredHierarchicalWindowsOptions],
    ) -> Self:
        self = cls.__new__(cls)

        def origin_of(
            spec: LevelsSpec, cut: Cut, kept: int
        ) -> tuple[WindowLevels, Progress | None]:
            tables = _StoredLevels(spec, origin)
            return tables, self._begun(tables, origin, cut, kept)

        self._make_levels(levels, origin_of, **options)
        return self

    def _people(self) -> dict[int, _native.People]:
        tables = self._live.tables
        return {number: one.people for number, one in tables.items() if one.people is not None}

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:  # noqa: ARG002 -- levels have no columns
        return [_native.logged_events(column) for column in self.levels._columns(items)]

    def _open_tables(self) -> list[_native.PrivateSketch]:
        """Return the tables of the open window, the coarsest level first."""
        if not self._live.tables:
            raise closed_windows()
        (window,) = self._live.tables.values()
        return [*window.tables]

    def _partial_table(self) -> _native.PrivateSketch:
        return self._open_tables()[0]

    def _partial_levels(self) -> _native.Hierarchy:
        return workers_split(self.levels)

    def _carry_out(self, call: Call) -> None:
        if call.method != ADDED:
            super()._carry_out(call)
            return
        self._settled()
        self._gathered(call).add_to_levels(self._open_tables(), in_open_step=True)

    def _logged(self, call: Call) -> object:
        return call.events
