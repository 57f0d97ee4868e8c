"""The batches of a run, counted into the object of its state."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, cast

from lazysketch.cli.run.windowed import check_times
from lazysketch.errors import LazySketchError
from lazysketch.store.stored_distinct import StoredDistinct
from lazysketch.store.stored_distribution import StoredDistribution
from lazysketch.store.stored_ranges import StoredRanges
from lazysketch.store.stored_sums import StoredSums
from lazysketch.store.stored_windows import WindowsOfStore

if TYPE_CHECKING:
    from lazysketch.cli.run.state import State
    from lazysketch.sources import Source
    from lazysketch.store.stored_objects import StoredHitters, StoredSketch
    from lazysketch.store.stored_sliding import StoredSliding
    from lazysketch.store.stored_statistic_windows import (
        StoredDistinctWindows,
        StoredDistributionWindows,
        StoredRangesWindows,
    )
    from lazysketch.store.stored_sums_windows import StoredSumsWindows
    from lazysketch.store.stored_windows import StoredWindows

    StoredStatistic: TypeAlias = StoredDistinct | StoredDistribution | StoredRanges | StoredSums
    StoredStatisticWindows: TypeAlias = (
        StoredDistinctWindows | StoredDistributionWindows | StoredRangesWindows | StoredSumsWindows
    )
    StoredWindowed: TypeAlias = StoredWindows | StoredSliding | StoredStatisticWindows
    KeptWhole: TypeAlias = StoredSketch | StoredHitters | StoredStatistic
    Kept: TypeAlias = KeptWhole | StoredWindowed

__all__ = ["Counting"]


class Counting:
    """Counts the batches of a source into an object of a store, each with its position.

    Args:
        state: Where the object is kept.
        stored: The object.
        source: Where the batches come from.
    """

    def __init__(self, state: State, stored: Kept, source: Source) -> None:
        self.tick = stored.tick
        self._store = state.store
        self._stored = stored
        self._source = source

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count a batch of the source without an empty row."""
        rows = len(cast("list[object]", items))
        self._count(items, weights, empty_rows=None, times=times, user=user, rows=rows)

    def update_rows(
        self,
        items: object,
        weights: object = None,
        *,
        empty_rows: object,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count a batch of the source."""
        rows = len(cast("list[object]", items)) + len(cast("list[int]", empty_rows))
        self._count(items, weights, empty_rows=empty_rows, times=times, user=user, rows=rows)

    def close(self) -> None:
        """Close the state; a failure is known from its last commit."""
        with suppress(LazySketchError):
            self._store.close()

    def _count(
        self,
        items: object,
        weights: object,
        *,
        empty_rows: object,
        times: object,
        user: object,
        rows: int,
    ) -> None:
        stored = self._stored
        if isinstance(stored, WindowsOfStore):
            check_times(stored, times)
        place = self._source.place
        if place is None:  # of a pipe
            if isinstance(stored, WindowsOfStore):
                stored._count_batch(
                    stored._batch(
                        items, weights, empty_rows=empty_rows, column=None, times=times, user=user
                    )
                )
            else:
                self._count_of_pipe(stored, items, weights, empty_rows=empty_rows, user=user)
            return
        position = place.after(rows)
        self._store.ingest(
            place.source,
            position.rows,
            items,
            into=stored,
            weights=weights,
            empty_rows=empty_rows,
            times=times,
            user=user,
            note=position.to_text(),
            durable=False,
        )

    def _count_of_pipe(
        self,
        stored: KeptWhole,
        items: object,
        weights: object,
        *,
        empty_rows: object,
        user: object,
    ) -> None:
        if isinstance(stored, StoredDistinct):  # without weights and people
            if empty_rows is None:
                stored.update_many(items)
            else:
                stored.update_rows(items, empty_rows=empty_rows)
        elif isinstance(stored, StoredDistribution):  # without weights
            if empty_rows is None:
                stored.update_many(items, user=user)
            else:
                stored.update_rows(items, empty_rows=empty_rows, user=user)
        elif empty_rows is None:
            stored.update_many(items, weights, user=user)
        else:
            stored.update_rows(items, weights, empty_rows=empty_rows, user=user)
