"""Pipelines of a store by name: their parts are objects of the store."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, Final

from lazysketch import _native
from lazysketch.errors import ArgumentValueError
from lazysketch.heavy_hitters import HeavyHitters, HierarchicalHeavyHitters
from lazysketch.pipelines.part import Live, Part, checked_parts, of_people
from lazysketch.pipelines.shares import Split, made_parts, shared_out
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation, checked_delta, checked_epsilon, checked_relation
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.live_state import exclusive
from lazysketch.sketches.ranges import Ranges
from lazysketch.store.ingestion import checked_name
from lazysketch.store.recovered_objects import note_record
from lazysketch.store.stored_pipeline import (
    StoredPipeline,
    noted_split,
    people_protected_in,
    split_of_note,
)
from lazysketch.store.windows_by_name import WindowsByName
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import SumsSpec

__all__ = ["PipelinesByName", "parts_of_people"]

_NOTE: Final = "\0pipeline "  # names of sources are printable, so none is this one


class PipelinesByName(WindowsByName):
    """The pipelines of a store, above its objects."""

    def __init__(self, native: _native.Store) -> None:
        """Begin with no pipeline open."""
        super().__init__(native)
        self._pipelines: dict[str, StoredPipeline] = {}

    @exclusive
    def pipeline(
        self,
        name: str,
        parts: Mapping[str, Part],
        *,
        epsilon: float,
        delta: float,
        relation: Relation = "substitution",
        horizon: int | None = None,
        rows: int | None = None,
        shares: Mapping[str, float] | None = None,
        user: str | None = None,
        person_bound: PersonBound | None = None,
    ) -> StoredPipeline:
        """Return the pipeline of a name: a new one, or the one that the store has.

        Its part ``x`` is the object ``NAME/x`` of the store: what was published of it in earlier
        eras is ``earlier_release("NAME/x")``. A change of the pipeline is one record, and
        :meth:`ingest` takes rows with ``into=`` the pipeline.

        Guarantee: that of :class:`Pipeline`, over all lives of the store. How the privacy is
        divided is kept, so that all lives divide it in one way.

        Args:
            name: its name in the store, 1 to 100 characters.
            parts: as for the class; the same in every life.
            epsilon: of all parts together, above 0 and at most 100.
            delta: of all parts together, above 0 and below 1.
            relation: ``"substitution"`` or ``"zero-out"``.
            horizon: largest number of rows, or None.
            rows: expected number of rows.
            shares: of the privacy, or None for the best.
            user: name of the column of the person of each row, or None.
            person_bound: what each part counts of a person; the log has secret identities alone.

        Returns:
            A live pipeline. Its changes are durable when the store commits.

        Raises:
            ArgumentTypeError: a wrong type, or an unknown option of a part.
            ArgumentValueError: a value outside its range, a name that is open already, or other
                parameters than those that it was made with.
            StoreError: a store that cannot be read or written.

        Example:
            >>> import pathlib, tempfile
            >>> import lazysketch as ls
            >>> folder, key = pathlib.Path(tempfile.mkdtemp()), ls.Key.generate()
            >>> parts = {
            ...     "pages": ls.Part(ls.LazyCountMin, "path", depth=3, width=64),
            ...     "visitors": ls.Part(ls.DistinctCount, "client"),
            ... }
            >>> with ls.open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     site = store.pipeline("site", parts, epsilon=1.0, delta=1e-8)
            ...     site.update_many({"path": ["/", "/a"], "client": [1, 2]})
            >>> with ls.open_store(folder / "s", key=key, anchor=folder / "anchor") as store:
            ...     store.pipeline("site", parts, epsilon=1.0, delta=1e-8).steps
            2
        """
        own = checked_name("name", name)
        described = of_people(checked_parts(parts), user, person_bound)
        whole = checked_epsilon(epsilon), checked_delta(delta)
        related = checked_relation(relation)
        noted = self._journal.notes.get(_NOTE + own)
        if noted is None:
            split = shared_out(
                described,
                whole,
                relation=related,
                horizon=horizon,
                rows=rows,
                shares=shares,
                of_people=user is not None,
            )
            note = noted_split(split, [*described], whole, user)
            self._journal.log(note_record(_NOTE + own, note))
            self._journal.notes[_NOTE + own] = note
        else:
            split = split_of_note(noted, [*described], whole, user)
        stored = StoredPipeline.__new__(StoredPipeline)
        live = self._parts(own, described, split, relation=related, horizon=horizon)
        stored._assemble(described, live, whole, split.shares, user=user)
        stored._join(self._journal, own)
        self._pipelines[own] = stored
        return stored

    def _parts(
        self,
        name: str,
        parts: Mapping[str, Part],
        split: Split,
        *,
        relation: Relation,
        horizon: int | None,
    ) -> list[Any]:
        """Open the objects of all parts."""
        likes = made_parts(parts, split.pairs, relation=relation, horizon=horizon)
        return [
            self._part(
                f"{name}/{own}",
                part,
                like,
                {"epsilon": pair[0], "delta": pair[1], "relation": relation},
                horizon=horizon,
            )
            for (own, part), like, pair in zip(parts.items(), likes, split.pairs, strict=True)
        ]

    def _part(
        self,
        name: str,
        part: Part,
        like: Live,
        privacy: Mapping[str, Any],
        *,
        horizon: int | None,
    ) -> object:
        """Open the object of a part, described like one that was made for it.

        That one has a seed of its own, where none was given: here it follows from the store.
        """
        seed: Any = part.options.get("hash_seed")
        if isinstance(like, Distribution):
            return self.distribution(name, like.spec)
        if isinstance(like, Sums):
            return self.sums(name, like.spec if seed is not None else _without_seed(like.spec))
        if isinstance(like, Ranges):
            return self.ranges(name, replace(like.spec, hash_seed=seed))
        if isinstance(like, DistinctCount):
            return self.distinct(name, replace(like.spec, hash_seed=seed))
        if isinstance(like, HeavyHitters):
            table = replace(like.spec.table, hash_seed=seed)
            return self.heavy_hitters(name, replace(like.spec, table=table))
        if isinstance(like, HierarchicalHeavyHitters):
            options: dict[str, Any] = {**part.options_with(horizon), **privacy}
            return self.hierarchy(name, options.pop("levels"), **options)
        return self.sketch(name, replace(like.spec, hash_seed=seed))

    def _check_open(self, into: object) -> None:
        if isinstance(into, StoredPipeline):
            if self._pipelines.get(into._name) is not into:
                raise ArgumentValueError("into: expected an open object of this store, got another")
            return
        super()._check_open(into)


def parts_of_people(notes: Mapping[str, str]) -> Set[str]:
    """Return the names of the objects that are parts of pipelines that protect people.

    Args:
        notes: of a store, which has one for each of its pipelines.
    """
    names: set[str] = set()
    for noted, note in notes.items():
        if noted.startswith(_NOTE):
            own = noted.removeprefix(_NOTE)
            names.update(f"{own}/{part}" for part in people_protected_in(note))
    return names


def _without_seed(spec: SumsSpec) -> SumsSpec:
    counts, values = replace(spec.counts, hash_seed=None), replace(spec.values, hash_seed=None)
    return replace(spec, counts=counts, values=values)
