"""What workers hand over to a store: sealed counts, which become one step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

from lazysketch import _native
from lazysketch.errors import ArgumentTypeError
from lazysketch.releases.any_release import AnyRelease, any_release
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.releases.release import Release
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.sketches.live_state import exclusive
from lazysketch.store.calls import Call
from lazysketch.store.ingestion import Ingestion, checked_note, checked_source
from lazysketch.store.partial_batches import ADDED, AddedPartial, lost_publication

if TYPE_CHECKING:
    from lazysketch.store.ingestion import Stored
    from lazysketch.store.stored_distinct import StoredDistinct
    from lazysketch.store.stored_distribution import StoredDistribution
    from lazysketch.store.stored_hierarchical_windows import StoredHierarchicalWindows
    from lazysketch.store.stored_objects import (
        StoredCounters,
        StoredHierarchy,
        StoredHitters,
        StoredSketch,
    )
    from lazysketch.store.stored_ranges import StoredRanges
    from lazysketch.store.stored_sliding import StoredSliding
    from lazysketch.store.stored_sums import StoredSums
    from lazysketch.store.stored_windows import StoredWindows

__all__ = ["PartialIngestion"]


class PartialIngestion(Ingestion):
    """Exactly-once steps of partial counts; a part of a store."""

    @overload
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: StoredSketch | StoredCounters | StoredHitters | StoredWindows | StoredSliding,
        positions: str = "",
    ) -> Release: ...
    @overload
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: StoredHierarchy | StoredHierarchicalWindows,
        positions: str = "",
    ) -> tuple[Release, ...]: ...
    @overload
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: StoredDistinct,
        positions: str = "",
    ) -> DistinctRelease: ...
    @overload
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: StoredDistribution,
        positions: str = "",
    ) -> DistributionRelease: ...
    @overload
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: StoredRanges,
        positions: str = "",
    ) -> RangesRelease: ...
    @overload
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: StoredSums,
        positions: str = "",
    ) -> SumsRelease: ...
    def add_partials(
        self,
        source: str,
        sequence: int,
        sealed: Iterable[bytes],
        *,
        into: Stored,
        positions: str = "",
    ) -> AnyRelease | tuple[AnyRelease, ...]:
        """Add the partial counts of workers as one step, commit, and return what is published.

        Windows take their steps by the clock: there the counts are a part of the open slice.

        Guarantee: as if ``update_batch`` had counted the events of all workers, bit for bit, for
        any number of workers and any order of ``sealed``. Names are published as if the events had
        come in the order of their secret identities. All counts, their ids, the sequence and the
        positions are one record: all or none of them survive a crash, and the release is made
        after they are durable. A batch that is sent again is not counted again, and the same
        release is returned; a batch id that is committed with other positions or other counts is
        refused. So is everything that was damaged, sealed for another object, era or store, or
        added before. A refusal counts nothing. Where a batch is counted and its publication cannot
        be made, as the disk fails or its window has ended before it is sent again, the call raises
        too: :meth:`last_sequence` tells what was counted.

        Args:
            source: name of the sender, 1 to 200 characters; at most 1,024 in a store, as it keeps
                the last publication of each.
            sequence: 1, 2, ... within the source; gaps are allowed.
            sealed: results of ``PartialCounts.seal``, in any order; none for a step without events.
                They are opened one after the other.
            into: a sketch, counters, distinct items, a distribution, ranges, sums, heavy hitters or
                a hierarchy, of this store, with the batch schedule; or windows by the clock. Of
                hierarchies those that split items natively.
            positions: what :meth:`note` returns from then on, up to 10,000 characters: where the
                source reads on.

        Returns:
            The release after the step; of windows that of the ended slices of the open window; of a
            hierarchy one release per level, the coarsest first.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, an object of another store, or a batch or
                partial counts that are refused.
            HorizonError: past the last batch.
            StoreError: a store that cannot be written; send the batch again after opening it.

        Source: docs/scale.md; docs/theory.md, "Partial counts".
        """
        name, number = checked_source(source, sequence)
        note = checked_note("positions", positions)
        self._check_open(into)
        if isinstance(sealed, (bytes, str)):
            got = type(sealed).__name__
            raise ArgumentTypeError(f"sealed: expected a list of bytes, got {got}")
        into._pass_time()
        counts = into._new_sum()
        partials: list[AddedPartial] = []
        for one in sealed:
            if not isinstance(one, bytes):
                got = type(one).__name__
                raise ArgumentTypeError(f"sealed: expected a list of bytes, got one {got}")
            issued, partial_id = counts.add(bytes(one))
            partials.append(AddedPartial(issued, partial_id.hex()))
        return self._add_gathered(name, number, note, into, counts, partials)

    @exclusive
    def _add_gathered(
        self,
        source: str,
        sequence: int,
        positions: str,
        into: Stored,
        counts: _native.GatheredCounts,
        partials: list[AddedPartial],
    ) -> AnyRelease | tuple[AnyRelease, ...]:
        journal = self._journal
        journal.check()
        table = into._partial_table()
        step = table._step
        call = Call(
            object=into._name,
            method=ADDED,
            source=source,
            sequence=sequence,
            note=positions,
            facts={
                "partials": [[*partial] for partial in partials],
                "content": counts.digest().hex(),
                "table": table.sketch_id.hex(),
                "step": step + into._STEPS_OF_PARTIALS,
            },
            contents=(counts.sealed(),),
            gathered=counts,
        )
        last = journal.sources.get(source, 0)
        if journal.partials.repeated(call, last_sequence=last) is None:
            journal.partials.check_new(call, partials, step=step)
            journal.change(into, call)
        return self._publication(source, into)

    def _publication(self, source: str, into: Stored) -> AnyRelease | tuple[AnyRelease, ...]:
        """Commit, and return what is published after the last batch of a source."""
        batches = self._journal.partials
        self._journal.commit()
        batch = batches.last[source]
        if not batch.publication:
            table = into._partial_table()
            if (table.sketch_id.hex(), table._step) != (batch.table, batch.step):
                raise lost_publication()
            batches.published(source, [it.to_bytes() for it in into._publication()])
        self.commit()  # where a checkpoint may be due, which has the publication
        releases = [any_release(it) for it in batches.last[source].publication]
        return tuple(releases) if into._partial_levels() else releases[0]
