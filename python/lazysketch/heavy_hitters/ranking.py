"""Lists of heavy items that do not flicker.

Two items of nearly one weight would change places with every reading, because of noise alone. An
item that was shown stays until another is heavier by more than one standard error, and a share
that was reached has to be missed by as much. Both depend on published names and public estimates
only.

Items are places in a list that only grows, and the standard error of an item is the one that it had
when it was last shown: only what is shown needs one.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.sketches.live_state import exclusive

__all__ = ["ShownLists"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_MOST_LISTS: Final = 64  # kept; the oldest are forgotten

_NOTHING: Final = np.empty(0, np.intp), np.empty(0)


class ShownLists:
    """Items shown last, by list, with their standard errors."""

    def __init__(self) -> None:
        """Begin with nothing shown."""
        self._shown: dict[Hashable, tuple[Places, Array]] = {}
        # The garbage collector may run code that asks for a list again.
        self._lock = threading.RLock()

    def shown(self, name: Hashable, *, candidates: int) -> tuple[Places, Array]:
        """Return the places that a list showed last, and their standard errors.

        Args:
            name: of the list; nothing is returned for one that is not known.
            candidates: how many there are; another thread may have shown newer ones.
        """
        places, errors = self._shown.get(name, _NOTHING)
        known = places < candidates
        return places[known], errors[known]

    def most(self, name: Hashable, estimates: Array, *, n: int) -> Places:
        """Return the places of the n heaviest, those shown before favoured.

        Args:
            name: of the list.
            estimates: float64 of shape (candidates,); of those that are neither among the n
                largest nor shown before, anything that is less.
            n: how many.

        Returns:
            Places by falling estimate.
        """
        chosen = np.argsort(-self._favoured(name, estimates), kind="stable")[:n]
        return _ordered(chosen, estimates)

    def above(self, name: Hashable, estimates: Array, *, least: float) -> Places:
        """Return the places of all that reach a count, those shown before with one error less.

        Args:
            name: of the list.
            estimates: float64 of shape (candidates,).
            least: the count.

        Returns:
            Places by falling estimate.
        """
        return _ordered(np.flatnonzero(self._favoured(name, estimates) >= least), estimates)

    @exclusive
    def remember(self, name: Hashable, places: Places, errors: Array) -> None:
        """Keep what a list shows now.

        Args:
            name: of the list.
            places: of the items, intp of shape (items,).
            errors: their standard errors, float64 of the same shape.
        """
        shown = {one: others for one, others in self._shown.items() if one != name}
        shown[name] = places, errors
        if len(shown) > _MOST_LISTS:
            del shown[next(iter(shown))]
        self._shown = shown  # one assignment: an interrupt leaves the lists of before

    def _favoured(self, name: Hashable, estimates: Array) -> Array:
        favoured: Array = estimates.copy()
        places, errors = self.shown(name, candidates=len(favoured))
        favoured[places] += errors
        return favoured


def _ordered(places: Places, estimates: Array) -> Places:
    ordered: Places = places[np.argsort(-estimates[places], kind="stable")]
    return ordered
