"""A public list of items whose counts are read together, and the heaviest of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.peeling import Cells, PeeledTable

__all__ = ["DecodedList"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class DecodedList:
    """A public list of items, the heavy ones taken out of each other's cells.

    Items are places in the list. Each is estimated when it is first asked for: of a long list
    hardly any are, if only the heaviest are shown.
    """

    def __init__(
        self, cells: Cells, peeled: PeeledTable | None, estimates: Array | None = None
    ) -> None:
        """Keep the list.

        Args:
            cells: columns and flips of the items, each of shape (items, depth).
            peeled: the table without the heavy ones; None for exact tables and earlier times.
            estimates: float64 of shape (items,), where there is no such table.
        """
        self._cells, self._given = cells, estimates
        self.peeled = peeled
        self._heaviest: tuple[int, Places, Array] | None = None

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._cells[0])

    def cells_of(self, places: Places) -> Cells:
        """Return the columns and flips of some items."""
        return self._cells[0][places], self._cells[1][places]

    @cached_property
    def estimates(self) -> Array:
        """The estimates of all items, float64 of shape (items,)."""
        if self._given is None and self.peeled is not None:
            self._given = self.peeled.estimates(self._cells)
        return np.empty(0) if self._given is None else self._given

    def estimates_of(self, places: Places) -> Array:
        """Return the estimates of some items."""
        if self._given is None and self.peeled is not None:
            return self.peeled.estimates(self.cells_of(places))
        return self.estimates[places]

    def heaviest(self, n: int) -> tuple[Places, Array]:
        """Return the n heaviest items, or all of a shorter list.

        Returns:
            Their places by falling estimate, in order where estimates are equal or below 0, and
            their estimates.
        """
        kept = self._heaviest
        if kept is None or kept[0] < n:
            kept = self._heaviest = n, *self._of_all(n)
        return kept[1][:n], kept[2][:n]

    def _of_all(self, n: int) -> tuple[Places, Array]:
        if self._given is None and self.peeled is not None:
            return self.peeled.heaviest(self._cells, n)
        places = np.argsort(-np.maximum(self.estimates, 0.0), kind="stable")[:n]
        return places, self.estimates[places]
