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
from lazysketch.privacy.relations import CountKind

__all__ = ["Cells", "PeeledTable", "can_peel"]

_RARE: Final = 1e-4
_TOGETHER: Final = 256  # items, at about a millisecond each

Array = npt.NDArray[np.float64]
Cells = tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]


def can_peel(kind: CountKind, published_steps: Array) -> bool:
    """Return whether names can be taken out of a table.

    Args:
        kind: counters have no collisions.
        published_steps: step up to which every column is published, shape (width,).

    Returns:
        True if items collide, and every column was published.

    Example:
        >>> can_peel("count-min", np.array([7.0, 7.0])), can_peel("counters", np.array([7.0, 7.0]))
        (True, False)
    """
    return kind != "counters" and bool((published_steps > 0).all())


class PeeledTable:
    """A public table, and the heavy names of a list that are taken out of it."""

    def __init__(self, model: _native.ErrorModel, *, published_shares: Array, names: Cells) -> None:
        """Fit the counts of the heavy names.

        Args:
            model: of the errors of the table.
            published_shares: share of the steps up to which every column is published, (width,).
            names: columns and flips of the names, each of shape (names, depth).
        """
        self._shares = published_shares
        self._native = _native.PeeledTable(model, *names)

    @property
    def takes_all(self) -> bool:
        """True if the list is so short that all its names are taken out."""
        return self._native.takes_all

    @property
    def pays(self) -> bool:
        """True if the errors that are left are smaller than those of the table."""
        return self._native.pays

    def narrows(self, *, level: float) -> bool:
        """Return whether intervals become narrower, as far as list and level tell.

        The names of a long list that intervals take out are chosen by their own cells, so they are
        few: that pays at levels at which collisions with heavy names matter.

        Args:
            level: probability of a miss at each end.
        """
        return self.takes_all or level < _RARE

    def estimates(self, cells: Cells) -> Array:
        """Return the counts of items at this step, in the list or not.

        Args:
            cells: their columns and flips, each of shape (items, depth).

        Returns:
            Joint estimates from what is left in their cells, float64 of shape (items,).
        """
        return self._native.estimates(*cells)

    def without_ghosts(self, estimates: Array, cells: Cells) -> Array:
        """Return estimates in which no heavy name is mistaken for others.

        A name that never occurred may share half of its cells with a heavy one, and then looks like
        half of it. Among a million names there are some for each heavy one.

        Args:
            estimates: of the table with all names, shape (items,).
            cells: columns and flips of the items, each of shape (items, depth).

        Returns:
            The estimates; where the heavy names made more than half of one, that without them.
        """
        left = self.estimates(cells)
        return np.where(left < estimates / 2.0, left, estimates)

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
        estimates = np.maximum(self.estimates(cells), 0.0)  # within the intervals
        low, high = np.empty_like(estimates), np.empty_like(estimates)
        # In parts, so that Ctrl-C ends a long list.
        for begin in range(0, len(estimates), _TOGETHER):
            part = slice(begin, begin + _TOGETHER)
            columns, flipped = cells[0][part], cells[1][part]
            found = self._native.ends(columns, flipped, estimates=estimates[part], level=level)
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
