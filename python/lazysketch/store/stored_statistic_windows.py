"""Windows of distinct items, and of distributions, of a store.

The log has fingerprints in place of items, and the numbers of bins in place of values. Each window
has a table under an id of its own, and a checkpoint has the states of the open ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch import _native
from lazysketch.arguments import check_keywords
from lazysketch.errors import ArgumentTypeError
from lazysketch.sketches.keys import Key
from lazysketch.specification.distinct_spec import BitmapOptions
from lazysketch.specification.distribution_spec import BinnedOptions
from lazysketch.specification.ranges_spec import KeyOptions
from lazysketch.store.recovered_objects import Origin
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_objects import people_of, tables_of
from lazysketch.store.stored_windows import WindowsOfStore
from lazysketch.store.table_numbers import WITHOUT_EVENTS, number_of_window
from lazysketch.windows.cuts import Cut
from lazysketch.windows.distinct_windows import DistinctWindows
from lazysketch.windows.distribution_windows import DistributionWindows
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.public_facts import Held
from lazysketch.windows.ranges_windows import RangesWindows
from lazysketch.windows.statistic_tables import Statistic, StatisticTables
from lazysketch.windows.statistic_windows import CutOptions, StatisticWindows

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "AddedUp",
    "StatisticsOfStore",
    "StoredDistinctWindows",
    "StoredDistinctWindowsOptions",
    "StoredDistributionWindows",
    "StoredDistributionWindowsOptions",
    "StoredRangesWindows",
    "StoredRangesWindowsOptions",
]


class StoredDistinctWindowsOptions(BitmapOptions, CutOptions):
    """Keyword arguments of windows of distinct items, as for :class:`lazysketch.DistinctWindows`.

    The clock may differ from life to life.
    """


class StoredDistributionWindowsOptions(BinnedOptions, CutOptions):
    """Keyword arguments of windows of values, as for :class:`lazysketch.DistributionWindows`.

    The clock may differ from life to life.
    """


class StoredRangesWindowsOptions(KeyOptions, CutOptions):
    """Keyword arguments of windows of ranges of keys, as for :class:`lazysketch.RangesWindows`.

    The clock may differ from life to life.
    """


class _StoredTables(StatisticTables):
    """Maker of the tables of a store: each window has its own id, and they share a hash seed."""

    def __init__(self, spec: TableSpec, kind: type[Statistic], origin: Origin) -> None:
        self._of_store = origin
        super().__init__(spec, kind, key=origin(WITHOUT_EVENTS)[0])
        # A table that counts nothing gives the seed, the same in every life.
        self.empty = self.make(WITHOUT_EVENTS)._table
        self.digest = self.empty._parameters_digest.hex()
        self.identities = _native.People.of_table(self.empty)
        self.empty.close()

    def _origin(self, number: int) -> tuple[Key, _native.SavedState | None]:
        return self._of_store(number_of_window(number))


class StatisticsOfStore(WindowsOfStore[Held], StatisticWindows[Held]):
    """Windows of a store that hold no list of items."""

    _empty: _native.PrivateSketch
    """Closed; it knows how items are hashed."""

    def _open_stored(self, origin: Origin, **options: Any) -> None:
        """Open windows with the tables of the store, as far as they have come there."""

        def origin_of(
            spec: TableSpec, cut: Cut, kept: int
        ) -> tuple[StatisticTables, Progress | None]:
            tables = _StoredTables(spec, self._KIND, origin)
            self._empty = tables.empty
            return tables, self._begun(tables, origin, cut, kept)

        self._make(origin_of, **options)

    def _count(
        self, events: object, times: object, *, weights: object = None, user: object = None
    ) -> None:
        self._count_batch(
            self._batch(events, weights, empty_rows=None, column=None, times=times, user=user)
        )

    def _people(self) -> dict[int, _native.People]:
        return people_of(tables_of(self))


@reads_after_commit
class StoredDistinctWindows(StatisticsOfStore[Any], DistinctWindows):
    """Windows of distinct items of a store."""

    @classmethod
    def _of(cls, origin: Origin, **options: Unpack[StoredDistinctWindowsOptions]) -> Self:
        known = StoredDistinctWindowsOptions
        check_keywords(DistinctWindows, (), options, known, example=cls._EXAMPLE)
        self = cls.__new__(cls)
        self._open_stored(origin, **options)
        return self

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        return [_native.logged_fingerprints(items, self._empty, column=column)]

    def _last_published(self) -> list[bytes]:
        # Distinct items of windows do not add up: an item may be in several.
        return [window.release.to_bytes() for window in self._published()]


class AddedUp(StatisticsOfStore[Any]):
    """Windows of a store whose releases add up."""

    def _last_published(self) -> list[bytes]:
        published = [window.release for window in self._published()]
        if not published:
            return []
        first, *others = published
        return [(first.merge(*others) if others else first).to_bytes()]


@reads_after_commit
class StoredRangesWindows(AddedUp, RangesWindows):
    """Windows of ranges of keys of a store."""

    @classmethod
    def _of(cls, origin: Origin, **options: Unpack[StoredRangesWindowsOptions]) -> Self:
        known = StoredRangesWindowsOptions
        check_keywords(RangesWindows, (), options, known, example=cls._EXAMPLE)
        self = cls.__new__(cls)
        self._open_stored(origin, **options)
        return self


@reads_after_commit
class StoredDistributionWindows(AddedUp, DistributionWindows):
    """Windows of distributions of a store."""

    @classmethod
    def _of(cls, origin: Origin, **options: Unpack[StoredDistributionWindowsOptions]) -> Self:
        known = StoredDistributionWindowsOptions
        check_keywords(DistributionWindows, (), options, known, example=cls._EXAMPLE)
        self = cls.__new__(cls)
        self._open_stored(origin, **options)
        return self

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        if column is not None:
            raise ArgumentTypeError("column: expected none for values, got one")
        return super()._batches(self._converted(items))
