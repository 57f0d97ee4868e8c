"""Intervals of sums with any sign, from a public Count Sketch.

The tests of :mod:`.intervals` compare what a candidate leaves in an item's cells with the other
cells of the table, and do not depend on where the candidate lies. Only their ends are cut at 0,
since counts are not negative. So all values of the item are moved far up, and the ends back down.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch.estimation.error_model import deviations_of, error_model

if TYPE_CHECKING:
    import numpy.typing as npt

    from lazysketch import _native

    Array = npt.NDArray[np.float64]

__all__ = ["SignedTable"]

_REACH: Final = 2.0**12  # of an interval, in the largest cells; beyond it an end is infinite


class SignedTable:
    """A public Count Sketch, all columns of which were published at this step."""

    def __init__(self, table: npt.NDArray[np.int64], variance: float, *, step: int) -> None:
        """Estimate the errors of the cells.

        Args:
            table: released values, int64 of shape (depth, width).
            variance: of the noise in a cell.
            step: this step; 0 if nothing was counted.
        """
        self._table = table
        self._step = step
        largest = max(float(np.abs(table).max(initial=0)), math.sqrt(variance), 1.0)
        self._shift = 2.0 ** math.ceil(math.log2(_REACH * largest))
        self._model: _native.ErrorModel | None = None
        if step > 0:
            width = table.shape[1]
            self._model = error_model(
                table,
                kind="count-sketch",
                published_steps=lambda: np.full(width, float(step)),
                noise_variance=lambda: np.full(width, variance),
                step=step,
                max_weight=1,
            )

    def intervals(
        self,
        cells: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]],
        *,
        level: float,
    ) -> tuple[Array, Array, Array]:
        """Return estimates and both ends for items with these cells.

        Guarantee: each end misses with a probability of at most ``level``, for every stream, if the
        columns and signs of the item are random and independent of it (docs/intervals.md).

        Args:
            cells: columns and flips, each of shape (items, depth).
            level: probability of a miss at each end, above 0 and below 1/2.

        Returns:
            Arrays of shape (items,); an end is infinite if the table gives none.
        """
        columns = cells[0].astype(np.int64)
        if self._model is None or not len(columns):
            nothing = np.zeros(len(columns))
            return nothing, nothing.copy(), nothing.copy()
        released = self._table[np.arange(len(self._table)), columns].astype(np.float64)
        values = np.where(cells[1], -released, released) + self._shift
        found = self._model.intervals(
            values, columns, level=level, deviations=deviations_of(level), now=False
        )
        estimate, low, high = (part - self._shift for part in found)
        low = np.where(low <= -self._shift, -np.inf, low)
        return estimate, np.minimum(low, estimate), np.maximum(high, estimate)
