"""Lists of heavy items that do not flicker.

Two items of nearly one weight would change places with every reading, because of noise alone. An
item that was shown stays until another is heavier by more than one standard error, and a share
that was reached has to be missed by as much. Both depend on published names and public estimates
only.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch.sketches.live_state import exclusive

__all__ = ["ShownLists"]

Array = npt.NDArray[np.float64]

_MOST_LISTS: Final = 64  # kept; the oldest are forgotten


class ShownLists:
    """Items shown last, by list."""

    def __init__(self) -> None:
        """Begin with nothing shown."""
        self._shown: dict[Hashable, frozenset[Hashable]] = {}
        # The garbage collector may run code that asks for a list again.
        self._lock = threading.RLock()

    def most(
        self, name: Hashable, keys: Sequence[Hashable], estimates: Array, errors: Array, *, n: int
    ) -> list[int]:
        """Return the positions of the n heaviest, those shown before favoured.

        Args:
            name: of the list.
            keys: identities of the candidates.
            estimates: float64 of shape (candidates,).
            errors: standard errors of the estimates, same shape.
            n: how many.

        Returns:
            Positions by falling estimate.
        """
        favoured = estimates + np.where(self._were_shown(name, keys), errors, 0.0)
        chosen = np.argsort(-favoured, kind="stable")[:n]
        return self._show(name, keys, estimates, chosen)

    def above(
        self,
        name: Hashable,
        keys: Sequence[Hashable],
        estimates: Array,
        errors: Array,
        *,
        least: float,
    ) -> list[int]:
        """Return the positions of all that reach a count, those shown before with one error less.

        Args:
            name: of the list.
            keys: identities of the candidates.
            estimates: float64 of shape (candidates,).
            errors: standard errors of the estimates, same shape.
            least: the count.

        Returns:
            Positions by falling estimate.
        """
        favoured = estimates + np.where(self._were_shown(name, keys), errors, 0.0)
        return self._show(name, keys, estimates, np.flatnonzero(favoured >= least))

    @exclusive
    def _remember(self, name: Hashable, items: frozenset[Hashable]) -> None:
        shown = {one: others for one, others in self._shown.items() if one != name}
        shown[name] = items
        if len(shown) > _MOST_LISTS:
            del shown[next(iter(shown))]
        self._shown = shown  # one assignment: an interrupt leaves the lists of before

    def _were_shown(self, name: Hashable, keys: Sequence[Hashable]) -> npt.NDArray[np.bool_]:
        before = self._shown.get(name, frozenset())
        return np.array([key in before for key in keys], dtype=np.bool_)

    def _show(
        self,
        name: Hashable,
        keys: Sequence[Hashable],
        estimates: Array,
        chosen: npt.NDArray[np.intp],
    ) -> list[int]:
        self._remember(name, frozenset(keys[i] for i in chosen))
        ordered: list[int] = chosen[np.argsort(-estimates[chosen], kind="stable")].tolist()
        return ordered
