"""Counts of ranges of keys from released halves and Haar coefficients.

The number of keys below a key is a sum of at most one cell per bit: of each depth the coefficient
of the node on the way to the key, times a factor of at most 1/2, and the counts of the halves. A
range is a difference of two such sums. So the noise of a range grows with the number of bits, and
not with the size of the range. Cells of rows with collisions are unbiased: the other cells of the
row are a sample of what collides.

Sources: docs/theory.md, Theorem 26; X. Xiao, G. Wang and J. Gehrke, "Differential privacy via
wavelet transforms", 2011; A. C. Gilbert and others, "Surfing wavelets on streams", 2001.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.symmetric_sums import (
    SampledErrors,
    SymmetricError,
    half_width_of_sum,
)
from lazysketch.specification.ranges import exact_coefficients, packed_cell

__all__ = ["KeyRanges"]

Cell = tuple[int, int]
Located = tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class KeyRanges:
    """A released table of ranges, and what it says of the number of keys in a range.

    Args:
        table: released, int64 of shape (bits, width).
        locate: returns the columns of a key, one per depth, and where its sign is -1; those of
            packed depths follow from the key.
        noise_variance: of a cell, in squared counts.
        most: no count is larger; infinite if unknown.
    """

    table: npt.NDArray[np.int64]
    locate: Callable[[int], Located]
    noise_variance: float
    most: float = math.inf
    _rows: dict[int, SampledErrors] = field(default_factory=dict, init=False)

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return len(self.table)

    @cached_property
    def _exact(self) -> int:
        return exact_coefficients(*self.table.shape)

    def between(self, low: int, high: int, *, miss: float) -> tuple[float, float, float]:
        """Return the number of keys from ``low`` up to below ``high``: estimate and both ends.

        Args:
            low: 0 or more.
            high: at least ``low``, at most 2^bits.
            miss: probability that the number is outside of the ends.
        """
        factors = self.factors(low, high)
        found = math.fsum(factor * float(self.table[cell]) for cell, factor in factors.items())
        if not factors:
            return 0.0, 0.0, 0.0
        half = self._half_width(factors, miss)
        least, largest = (min(max(at, 0.0), self.most) for at in (found - half, found + half))
        estimate = self._within_nodes(high) - self._within_nodes(low)
        return min(max(estimate, least), largest), least, largest

    def deviation(self, low: int, high: int) -> float:
        """Return the standard deviation of the estimate of a range, noise and collisions."""
        factors = self.factors(low, high)
        return math.sqrt(
            math.fsum(
                factor**2
                * (self._others(cell).variance if self._collides(cell) else self.noise_variance)
                for cell, factor in factors.items()
            )
        )

    def factors(self, low: int, high: int) -> dict[Cell, float]:
        """Return the cells whose weighted sum is the number of keys in a range, with the weights.

        Args:
            low: 0 or more.
            high: at least ``low``, at most 2^bits.
        """
        factors: dict[Cell, float] = defaultdict(float)
        for end, sign in ((high, 1.0), (low, -1.0)):
            for cell, factor in self._below(end):
                factors[cell] += sign * factor
        return {cell: factor for cell, factor in factors.items() if factor}

    def _within_nodes(self, key: int) -> float:
        """Return an estimate of the number of keys below one, in which no half exceeds its node.

        So a heavy node that collides with a light one moves an estimate by the light one at most.
        """
        if key == 0:
            return 0.0
        halves = [max(float(self.table[0, half]), 0.0) for half in (0, 1)]
        if key == 1 << self.bits:
            return math.fsum(halves)
        columns, flipped = self.locate(key)
        below, node = 0.0, math.fsum(halves)
        for row in range(self.bits):
            is_right = bool(key >> (self.bits - 1 - row) & 1)
            left = halves[0]
            if row > 0:
                cell = float(self.table[self._cell(row, key, columns)])
                coefficient = -cell if bool(flipped[row]) != is_right else cell
                left = min(max(0.5 * (node + coefficient), 0.0), node)
            if is_right:
                below += left
            node = node - left if is_right else left
        return below

    def _below(self, key: int) -> list[tuple[Cell, float]]:
        """Return the cells, with factors, whose sum is the number of keys below one."""
        if key == 0:
            return []
        if key == 1 << self.bits:
            return [((0, 0), 1.0), ((0, 1), 1.0)]
        columns, flipped = self.locate(key)
        found: list[tuple[Cell, float]] = []
        for row in range(self.bits):
            size = 1 << (self.bits - 1 - row)
            is_right, inside = bool(key & size), (key & (size - 1)) / size
            if row == 0:
                if is_right:
                    found.append(((0, 0), 1.0))
                found.append(((0, int(is_right)), inside))
                continue
            # A sign of -1 in the right half is that of the half: the coefficient has the other.
            sign = -1.0 if bool(flipped[row]) != is_right else 1.0
            factor = 0.5 * (1.0 - inside if is_right else inside)
            found.append((self._cell(row, key, columns), sign * factor))
        return found

    def _cell(self, row: int, key: int, columns: npt.NDArray[np.uint32]) -> Cell:
        """Return the cell of the node of depth ``row`` on the way to a key."""
        if row <= self._exact:
            return packed_cell(row, key >> (self.bits - row), self.table.shape[1])
        return row, int(columns[row])

    def _half_width(self, factors: dict[Cell, float], miss: float) -> float:
        errors = [
            (factor, self._others(cell)) for cell, factor in factors.items() if self._collides(cell)
        ]
        noise = self.noise_variance * math.fsum(
            factor**2 for cell, factor in factors.items() if not self._collides(cell)
        )
        return half_width_of_sum(errors, normal_variance=noise, miss=miss)

    def _collides(self, cell: Cell) -> bool:
        # Packed nodes fill no row beyond the depth of the last of them.
        return cell[0] > self._exact

    def _others(self, cell: Cell) -> SymmetricError:
        """Return what may be in a cell beside its own node: what is in the other cells."""
        row, column = cell
        if row not in self._rows:
            self._rows[row] = SampledErrors.of(self.table[row].astype(np.float64))
        return self._rows[row].without(float(self.table[row, column]))
