"""Windows of a store by name: new ones, or those that the store has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.heavy_hitters.hierarchies import Levels
from lazysketch.store.statistics_by_name import StatisticsByName
from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
from lazysketch.store.stored_sliding import StoredSliding
from lazysketch.store.stored_statistic_windows import (
    StoredDistinctWindows,
    StoredDistributionWindows,
    StoredRangesWindows,
)
from lazysketch.store.stored_sums_windows import StoredSumsWindows
from lazysketch.store.stored_windows import StoredWindows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindowsOptions
    from lazysketch.store.stored_sliding import StoredSlidingOptions
    from lazysketch.store.stored_statistic_windows import (
        StoredDistinctWindowsOptions,
        StoredDistributionWindowsOptions,
        StoredRangesWindowsOptions,
    )
    from lazysketch.store.stored_sums_windows import StoredSumsWindowsOptions
    from lazysketch.store.stored_windows import StoredWindowsOptions

__all__ = ["WindowsByName"]


class WindowsByName(StatisticsByName):
    """The objects of a store, windows among them; base class of :class:`Store`."""

    def windows(self, name: str, **options: Unpack[StoredWindowsOptions]) -> StoredWindows:
        """Return the windows of a name: new ones, or those that the store has.

        Guarantee: that of :class:`Windows`, over all lives of the store. What a window contains
        follows from the log, which has what the clock said: the clock is never asked twice.

        Args:
            name: their name in the store, 1 to 200 characters.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.

        Example:
            >>> import pathlib, tempfile
            >>> from lazysketch import Key, open_store
            >>> folder, key = pathlib.Path(tempfile.mkdtemp()), Key.generate()
            >>> options = {"every": 1_000, "share": 0.1, "epsilon": 1.0, "delta": 1e-6}
            >>> with open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     store.windows("pages", **options).update_many(["/a"] * 1_500)
            >>> with open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     pages = store.windows("pages", **options)
            ...     len(pages.windows), pages.step
            (1, 1500)
        """
        return self._opened(name, lambda origin: StoredWindows._of(origin, **options))

    def sliding(self, name: str, **options: Unpack[StoredSlidingOptions]) -> StoredSliding:
        """Return the sliding windows of a name: new ones, or those that the store has.

        Guarantee: that of :class:`Sliding`, over all lives of the store. The ends of slices that
        are kept are there after a restart; slices that ended in between have no events.

        Args:
            name: their name in the store, 1 to 200 characters.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.
        """
        return self._opened(name, lambda origin: StoredSliding._of(origin, **options))

    def hierarchical_windows(
        self, name: str, levels: Levels, **options: Unpack[StoredHierarchicalWindowsOptions]
    ) -> StoredHierarchicalWindows:
        """Return the windows of a name at all levels of a hierarchy.

        Guarantee: that of :class:`HierarchicalWindows`, over all lives of the store.

        Args:
            name: their name in the store, 1 to 200 characters.
            levels: the hierarchy; its levels have the same names in every life.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.
        """
        return self._opened(
            name, lambda origin: StoredHierarchicalWindows._of_levels(levels, origin, **options)
        )

    def distinct_windows(
        self, name: str, **options: Unpack[StoredDistinctWindowsOptions]
    ) -> StoredDistinctWindows:
        """Return the windows of distinct items of a name: new ones, or those that the store has.

        Guarantee: that of :class:`DistinctWindows`, over all lives of the store. What a window
        contains follows from the log, which has what the clock said.

        Args:
            name: their name in the store, 1 to 200 characters.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.

        Example:
            >>> import pathlib, tempfile
            >>> from lazysketch import Key, open_store
            >>> folder, key = pathlib.Path(tempfile.mkdtemp()), Key.generate()
            >>> options = {"every": 1_000, "epsilon": 1.0, "delta": 1e-6}
            >>> with open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     store.distinct_windows("visitors", **options).update_many(range(1_500))
            >>> with open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     visitors = store.distinct_windows("visitors", **options)
            ...     len(visitors.windows), visitors.step
            (1, 1500)
        """
        return self._opened(name, lambda origin: StoredDistinctWindows._of(origin, **options))

    def distribution_windows(
        self, name: str, **options: Unpack[StoredDistributionWindowsOptions]
    ) -> StoredDistributionWindows:
        """Return the windows of distributions of a name: new ones, or those that the store has.

        Guarantee: that of :class:`DistributionWindows`, over all lives of the store. What a window
        contains follows from the log, which has what the clock said.

        Args:
            name: their name in the store, 1 to 200 characters.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.
        """
        return self._opened(name, lambda origin: StoredDistributionWindows._of(origin, **options))

    def ranges_windows(
        self, name: str, **options: Unpack[StoredRangesWindowsOptions]
    ) -> StoredRangesWindows:
        """Return the windows of ranges of keys of a name: new ones, or those that the store has.

        Guarantee: that of :class:`RangesWindows`, over all lives of the store. What a window
        contains follows from the log, which has what the clock said.

        Args:
            name: their name in the store, 1 to 200 characters.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.
        """
        return self._opened(name, lambda origin: StoredRangesWindows._of(origin, **options))

    def sums_windows(
        self, name: str, **options: Unpack[StoredSumsWindowsOptions]
    ) -> StoredSumsWindows:
        """Return the windows of sums of a name: new ones, or those that the store has.

        Guarantee: that of :class:`SumsWindows`, over all lives of the store. What a window contains
        follows from the log, which has what the clock said.

        Args:
            name: their name in the store, 1 to 200 characters.
            **options: as for the class, without a key; the same in every life, except the clock.

        Returns:
            Live windows. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that they were made with.
            StoreError: a store that cannot be read or written.
        """
        return self._opened(name, lambda origin: StoredSumsWindows._of(origin, **options))
