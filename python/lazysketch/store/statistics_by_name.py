"""Statistics of a store by name: what counts something else than items, in tables of its own."""

from __future__ import annotations

from lazysketch.specification.table_spec import TableSpec
from lazysketch.store.objects_by_name import ObjectsByName, one_table, require_spec
from lazysketch.store.stored_distinct import StoredDistinct
from lazysketch.store.stored_distribution import StoredDistribution
from lazysketch.store.stored_ranges import StoredRanges
from lazysketch.store.stored_sums import StoredSums
from lazysketch.sums.sums_spec import SumsSpec

__all__ = ["StatisticsByName"]


class StatisticsByName(ObjectsByName):
    """The statistics of a store, beside its counts of items."""

    def distinct(self, name: str, spec: TableSpec) -> StoredDistinct:
        """Return the count of distinct items of a name: a new one, or the one that the store has.

        Guarantee: that of :class:`DistinctCount`, over all lives of the store. Another era begins
        without bits: people who are in both eras count in both.

        Args:
            name: its name in the store, 1 to 200 characters.
            spec: its description, of kind ``"distinct"``, such as ``DistinctCount(...).spec``; the
                same in every life.

        Returns:
            A live count. Its changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description.
            StoreError: a store that cannot be read or written.
        """
        require_spec(TableSpec, spec)
        return self._opened(name, lambda origin: one_table(StoredDistinct._made, spec, origin))

    def distribution(self, name: str, spec: TableSpec) -> StoredDistribution:
        """Return the distribution of values of a name: a new one, or the one that the store has.

        Guarantee: that of :class:`Distribution`, over all lives of the store.

        Args:
            name: its name in the store, 1 to 200 characters.
            spec: its description, of kind ``"values"``, such as ``Distribution(...).spec``; the
                same in every life.

        Returns:
            A live distribution. Its changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description.
            StoreError: a store that cannot be read or written.
        """
        require_spec(TableSpec, spec)
        made = StoredDistribution._made
        return self._opened(name, lambda origin: one_table(made, spec, origin))

    def ranges(self, name: str, spec: TableSpec) -> StoredRanges:
        """Return the counts of ranges of keys of a name: new ones, or those that the store has.

        Guarantee: that of :class:`Ranges`, over all lives of the store.

        Args:
            name: their name in the store, 1 to 200 characters.
            spec: their description, of kind ``"ranges"``, such as ``Ranges(...).spec``; the same in
                every life.

        Returns:
            Live counts. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description.
            StoreError: a store that cannot be read or written.
        """
        require_spec(TableSpec, spec)
        return self._opened(name, lambda origin: one_table(StoredRanges._made, spec, origin))

    def sums(self, name: str, spec: SumsSpec) -> StoredSums:
        """Return the sums by item of a name: new ones, or those that the store has.

        Guarantee: that of :class:`Sums`, over all lives of the store.

        Args:
            name: their name in the store, 1 to 200 characters.
            spec: their description, such as ``Sums(...).spec``; the same in every life, with the
                bounds of values.

        Returns:
            Live sums. Their changes are durable when the store commits.

        Raises:
            ArgumentTypeError: not a name, or not a description.
            ArgumentValueError: a name that is open already, or another description.
            StoreError: a store that cannot be read or written.

        Example:
            >>> import pathlib, tempfile
            >>> import lazysketch as ls
            >>> folder, key = pathlib.Path(tempfile.mkdtemp()), ls.Key.generate()
            >>> spec = ls.Sums(low=0, high=1500, epsilon=1.0, delta=1e-8, horizon=1_000).spec
            >>> with ls.open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     sent = store.sums("bytes by host", spec)
            ...     sent.update_many(["a", "b"], [1200.0, 40.0])
            ...     store.ingest("probe 1", 1, ["a"], into=sent, weights=[90.0])
            True
            >>> with ls.open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     store.sums("bytes by host", spec).steps
            3
        """
        require_spec(SumsSpec, spec)
        return self._opened(name, lambda origin: StoredSums._of(spec, origin))
