"""A store: live objects that survive the process."""

from __future__ import annotations

from lazysketch import _native
from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.releases.any_release import AnyRelease
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.releases.release import Release
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.sketches.held_table import HeldTables
from lazysketch.sketches.keys import Key
from lazysketch.sketches.live_state import exclusive
from lazysketch.store.checkpoint_header import header_of
from lazysketch.store.ingestion import checked_name
from lazysketch.store.pipelines_by_name import PipelinesByName, parts_of_people
from lazysketch.store.spent import Spent
from lazysketch.store.stored_distinct import StoredDistinct
from lazysketch.store.stored_distribution import StoredDistribution
from lazysketch.store.stored_objects import StoredHierarchy, destroy, tables_of
from lazysketch.store.stored_ranges import StoredRanges
from lazysketch.store.stored_statistic_windows import StatisticsOfStore
from lazysketch.store.stored_sums import StoredSums
from lazysketch.store.stored_windows import WindowsOfStore

__all__ = ["Store"]

_OF_OTHER_RELEASES = (
    StoredDistinct,
    StoredDistribution,
    StoredRanges,
    StoredSums,
    StoredHierarchy,
    WindowsOfStore,
)


class Store(PipelinesByName):
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
            Releases by the name of the object; hierarchies and windows have several, and counts of
            distinct items have another class of them: these are left out.
        """
        readable = {
            name: stored
            for name, stored in self._open.items()
            if not isinstance(stored, _OF_OTHER_RELEASES)
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
        header, tables = header_of(
            self._open,
            self._journal.sources,
            self._journal.notes,
            self._journal.partials,
            self._eras,
        )
        self._native.checkpoint(self._journal.last, header, tables)
        self._journal.bytes_logged = 0

    @property
    def spent(self) -> Spent:
        """The guarantees of all objects of all eras together, in this life and before."""
        return self._eras.spent(parts_of_people(self._journal.notes))

    @property
    def era(self) -> int:
        """Number of the era: 0 for the first; another one begins in any doubt, see ``on_doubt``."""
        return self._eras.number

    @property
    def id(self) -> str:
        """Public id of the store in this era: another era publishes, and spends, anew."""
        return f"{self._native.store_id.hex()}-{self._eras.id:016x}"

    def earlier_release(self, name: str, level: int = 0) -> Release | None:
        """Return what an object had published last in earlier eras, as one public table.

        Merge it with the object's own release: ``live.release().merge(earlier)``. What was
        pending at the end of an era is in neither. All eras have one hash seed. Of distinct items
        see :meth:`earlier_distinct`: their eras do not add up. Of values see
        :meth:`earlier_distribution`.

        Args:
            name: name of an object.
            level: of a hierarchy.

        Returns:
            The sum of the last releases, of windows that of the windows that were kept; None if
            there is no earlier era, or nothing was published in any.

        Raises:
            ArgumentTypeError: not a name, or not an integer.
            ArgumentValueError: a level that does not exist, or an object that was not opened yet.
        """
        chosen = checked_name("name", name)
        if chosen not in self._open:
            raise ArgumentValueError(f"name: expected an open object, got {shown(chosen)}")
        if isinstance(self._open[chosen], HeldTables | StatisticsOfStore):
            raise ArgumentValueError("name: expected counts of items, got others")
        releases = self._eras.earlier.get(chosen, [])
        most = max(len(tables_of(self._open[chosen])) - 1, 0)
        place = checked_integer("level", level, least=0, most=most)
        self._journal.commit()
        found = releases[place] if releases else None
        return found if isinstance(found, Release) else None

    def earlier_distinct(self, name: str) -> DistinctRelease | None:
        """Return what a count of distinct items had published last in the era before this one.

        Each era has a bitmap of its own, so the numbers of two eras do not add up: people may be
        in both.

        Args:
            name: name of a count of distinct items.

        Returns:
            Its last release; None if there is no earlier era, or nothing was published in it.

        Raises:
            ArgumentTypeError: not a name.
            ArgumentValueError: another object, or one that was not opened yet.
        """
        last = self._earlier_of(name, StoredDistinct, "count of distinct items")
        return last if isinstance(last, DistinctRelease) else None

    def earlier_distribution(self, name: str) -> DistributionRelease | None:
        """Return what a distribution of values had published last in earlier eras, merged.

        Merge it with the distribution's own release: ``live.release().merge(earlier)``.

        Args:
            name: name of a distribution.

        Returns:
            The sum of its last releases; None if there is no earlier era, or nothing was published
            in any.

        Raises:
            ArgumentTypeError: not a name.
            ArgumentValueError: another object, or one that was not opened yet.
        """
        last = self._earlier_of(name, StoredDistribution, "distribution of values")
        return last if isinstance(last, DistributionRelease) else None

    def earlier_ranges(self, name: str) -> RangesRelease | None:
        """Return what counts of ranges of keys had published last in earlier eras, merged.

        Merge it with their own release: ``live.release().merge(earlier)``.

        Args:
            name: name of counts of ranges.

        Returns:
            The sum of their last releases; None if there is no earlier era, or nothing was
            published in any.

        Raises:
            ArgumentTypeError: not a name.
            ArgumentValueError: another object, or one that was not opened yet.
        """
        last = self._earlier_of(name, StoredRanges, "count of ranges")
        return last if isinstance(last, RangesRelease) else None

    def earlier_sums(self, name: str) -> SumsRelease | None:
        """Return what sums by item had published last in earlier eras, merged.

        Merge it with their own release: ``live.release().merge(earlier)``.

        Args:
            name: name of sums.

        Returns:
            The sum of their last releases; None if there is no earlier era, or nothing was
            published in any.

        Raises:
            ArgumentTypeError: not a name.
            ArgumentValueError: another object, or one that was not opened yet.
        """
        last = self._earlier_of(name, StoredSums, "object with sums by item")
        return last if isinstance(last, SumsRelease) else None

    def _earlier_of(self, name: str, kind: type, wanted: str) -> AnyRelease | None:
        """Return what an object with one release had published in earlier eras."""
        chosen = checked_name("name", name)
        if not isinstance(self._open.get(chosen), kind):
            raise ArgumentValueError(f"name: expected an open {wanted}, got {shown(chosen)}")
        self._journal.commit()
        (last,) = self._eras.earlier.get(chosen) or (None,)
        return last

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

    def close(self) -> None:
        """Commit, and release the directory; all objects are kept.

        Raises:
            StoreError: the log could not be written.
        """
        for stored in self._open.values():
            destroy(stored)
        self._native.close()
