"""A tree over bins of values: how much noise its node sums need, and what they say of prefixes.

The core has the rows, and examines them in exact integers. Costs some milliseconds when a tree is
first used.

Source: docs/theory.md, Theorem 24.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.privacy.relations import Relation

__all__ = ["FEWEST_BINS", "MOST_BINS", "VALUE_ROWS", "ValueRows", "ValueTree", "padded_bins"]

ValueRows: TypeAlias = Literal["tree", "haar"]

VALUE_ROWS: Final[tuple[ValueRows, ...]] = get_args(ValueRows)
"""Both kinds of rows, the one with less noise first."""
FEWEST_BINS: Final = 4
MOST_BINS: Final = 2**14


def padded_bins(bins: int) -> int:
    """Return the number of bins of the smallest tree that has room for some bins.

    Args:
        bins: 1 or more.

    Returns:
        A power of two, at least 4.

    Example:
        >>> padded_bins(100)
        128
    """
    return max(FEWEST_BINS, 1 << (bins - 1).bit_length())


@dataclass(frozen=True)
class ValueTree:
    """A tree over a number of bins.

    Args:
        rows: ``"tree"`` for optimised rows, ``"haar"`` for those in closed form.
        bins: a power of two, 4 to 2^14.

    Example:
        >>> ValueTree("haar", 1024).sensitivity2("zero-out")
        49
    """

    rows: ValueRows
    bins: int

    def sensitivity2(self, relation: Relation, *, moves: bool = False) -> int:
        """Return the squared norm by which the node sums of neighbouring streams differ, at most.

        Args:
            relation: ``"substitution"`` or ``"zero-out"``.
            moves: True if the event that replaces another one may be in another window, whose node
                sums are others: they do not cancel those of the event that goes.

        Returns:
            A positive integer, per unit of weight; with moves, of all windows together.

        Source: docs/theory.md, Theorem 24; with moves, Theorem 12d.

        Example:
            >>> ValueTree("tree", 1024).sensitivity2("substitution")
            8321
            >>> haar = ValueTree("haar", 4)
            >>> haar.sensitivity2("substitution"), haar.sensitivity2("substitution", moves=True)
            (24, 34)
        """
        replaced = self._facts(relation)[0]
        if not moves or relation == "zero-out":
            return replaced
        return max(replaced, 2 * self._facts("zero-out")[0])

    def changed_nodes(self, relation: Relation) -> int:
        """Return how many node sums of neighbouring streams can differ.

        Args:
            relation: ``"substitution"`` or ``"zero-out"``.

        Returns:
            A positive integer.

        Example:
            >>> ValueTree("tree", 1024).changed_nodes("zero-out")
            137
        """
        return self._facts(relation)[1]

    def prefixes(self, sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the counts of the first 1, 2, .. bins that released node sums give.

        Args:
            sums: released node sums, int64 of shape (bins,).

        Returns:
            float64 of shape (bins,); neither monotone nor positive.
        """
        return _native.value_prefixes(sums, rows=self.rows)

    def variances(self, lows: npt.ArrayLike, highs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the variances of counts of ranges of bins, in units of that of a node sum.

        Args:
            lows: numbers of the first bins, 0 to ``bins``, of shape (ranges,).
            highs: one past the last bins, of the same shape.

        Returns:
            float64 of shape (ranges,).

        Example:
            >>> ValueTree("haar", 4).variances([0], [4]).round(3)
            array([0.111])
        """
        return _native.value_variances(
            rows=self.rows,
            bins=self.bins,
            lows=np.asarray(lows, dtype=np.int64),
            highs=np.asarray(highs, dtype=np.int64),
        )

    def _facts(self, relation: Relation) -> tuple[int, int]:
        replaced = relation == "substitution"
        return _native.value_tree_facts(rows=self.rows, bins=self.bins, replaced=replaced)
