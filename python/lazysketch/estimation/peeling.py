"""Counts and intervals after heavy names of a public list are taken out of each other's cells.

Which names are asked about is public, and so is the hash. The counts of the heavy ones are fitted
to the table together; what they leave has smaller errors, and no large collisions. An interval
tests the count of an item against the rest of the table: take the count out of the item's cells,
fit the other names again, and rank the item's cells among all choices of one cell per row.

Columns that were published at other steps are extrapolated to this one first.

Source: docs/estimators.md#known-names, docs/intervals.md#known-names.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.estimation.error_model import BURSTINESS, deviations_of

__all__ = ["Cells", "PeeledTable"]

_TOGETHER: Final = 256  # items, at about a millisecond each

Array = npt.NDArray[np.float64]
Cells = tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]


class PeeledTable:
    """A public table, and a list of names, of which the heavy ones are taken out of it."""

    def __init__(self, model: _native.ErrorModel, *, published_shares: Array, names: Cells) -> None:
        """Keep the list; names are taken out when they are first needed.

        Args:
            model: of the errors of the table.
            published_shares: share of the steps up to which every column is published, (width,).
            names: columns and flips of the names, each of shape (names, depth).
        """
        self._shares = published_shares
        self._native = _native.PeeledTable(model, *names)

    def estimates(self, cells: Cells) -> Array:
        """Return the counts of items at this step, in the list or not.

        Args:
            cells: their columns and flips, each of shape (items, depth).

        Returns:
            Joint estimates from what is left in their cells, float64 of shape (items,).
        """
        return self._native.estimates(*cells)

    def heaviest(self, cells: Cells, number: int) -> tuple[npt.NDArray[np.intp], Array]:
        """Return the items with the largest counts; only those that may be among them are read.

        Args:
            cells: columns and flips of the items, each of shape (items, depth).
            number: how many at most.

        Returns:
            Their places by falling count, in order where counts are equal or below 0, and their
            counts, which are those of :meth:`estimates`.
        """
        places, counts = self._native.heaviest(*cells, number)
        return places.astype(np.intp), counts

    def ends(self, cells: Cells, *, level: float, max_weight: int) -> tuple[Array, Array] | None:
        """Return the ends of the intervals of items at this step.

        Guarantee: if all columns were published at this step, each end misses the count with a
        probability of at most ``level``, for every stream, if the columns and signs of the item are
        random and independent of the stream and of the list (docs/intervals.md).

        Args:
            cells: columns and flips of the items, each of shape (items, depth).
            level: probability of a miss at each end, above 0 and below 1/2.
            max_weight: largest weight of an event.

        Returns:
            Lower and upper ends; None if the table is too small to reject a count at this level.
        """
        low, high = np.empty(len(cells[0])), np.empty(len(cells[0]))
        # In parts, so that Ctrl-C ends a long list.
        for begin in range(0, len(low), _TOGETHER):
            part = slice(begin, begin + _TOGETHER)
            found = self._native.ends(cells[0][part], cells[1][part], level=level)
            # A count that no test rejects has no upper end.
            if found is None or not np.isfinite(found[1]).all():
                return None
            low[part], high[part] = found
        return self._with_drift(cells, low, high, deviations_of(level), max_weight)

    def _with_drift(
        self, cells: Cells, low: Array, high: Array, deviations: float, max_weight: int
    ) -> tuple[Array, Array]:
        """Widen by what the item's rate may have changed since the last pushes of its columns."""
        middle = (low + high) / 2.0
        pending = middle * (1.0 - self._shares[cells[0].astype(np.int64)].mean(axis=1))
        drift = deviations * np.sqrt(pending * max_weight + (BURSTINESS * pending) ** 2)
        half = np.hypot((high - low) / 2.0, drift)
        return np.maximum(middle - half, 0.0), middle + half
