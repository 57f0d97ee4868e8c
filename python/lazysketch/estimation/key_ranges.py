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
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from lazysketch.estimation.shrunk_coefficients import ShrunkCoefficients
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

    def quantile(self, share: float, *, miss: float) -> tuple[int | None, int, int]:
        """Return the smallest key that at least a share of all keys do not exceed, and both ends.

        The ends are found by halving the domain. A key lies on one side of a middle if the count
        below it tells so. Of the tests that can mislead an end there is one per bit, each with an
        equal part of ``miss``.

        Args:
            share: above 0 and below 1.
            miss: probability that the quantile is outside of the ends.

        Returns:
            The estimate, None if the estimated number of keys is not above 0, and the smallest and
            the largest key that the quantile may be.
        """
        each = miss * min(2.0 / self.bits, 1.0)  # half of it is beyond either end of an error

        @cache
        def excess(middle: int) -> tuple[float, float]:
            return self._excess(middle, share, miss=each)

        low = high = 0
        for bit in reversed(range(self.bits)):
            found, half = excess(low + (1 << bit))
            low += 0 if found >= -half else 1 << bit
            found, half = excess(high + (1 << bit))
            high += 0 if found >= half else 1 << bit
        estimate = self._reached(share)
        return (estimate if estimate is None else min(max(estimate, low), high)), low, high

    def _excess(self, key: int, share: float, *, miss: float) -> tuple[float, float]:
        """Return the number of keys below one, less a share of all, and its largest error."""
        factors = defaultdict(float, self.factors(0, key))
        for half in (0, 1):
            factors[0, half] -= share
        found = math.fsum(factor * float(self.table[cell]) for cell, factor in factors.items())
        return found, self._half_width(factors, miss)

    def _reached(self, share: float) -> int | None:
        """Return the first key with which the estimated counts reach a share; None of no keys."""
        node = self._all_keys
        if not node > 0.0:
            return None
        rest, key = share * node, 0
        for row in range(self.bits):
            left = self._left_half(row, key, node, self.locate(key))
            if rest > left:
                key |= 1 << (self.bits - 1 - row)
                rest, node = rest - left, node - left
            else:
                node = left
        return key

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

        So a heavy node that collides with a light one moves an estimate by the light one at most,
        and nodes below the noise are split evenly.
        """
        if key == 0:
            return 0.0
        node = self._all_keys
        if key == 1 << self.bits:
            return node
        located, below = self.locate(key), 0.0
        for row in range(self.bits):
            left = self._left_half(row, key, node, located)
            if key >> (self.bits - 1 - row) & 1:
                below, node = below + left, node - left
            else:
                node = left
        return below

    @cached_property
    def _coefficients(self) -> ShrunkCoefficients:
        return ShrunkCoefficients.of(
            self.table, exact=self._exact, noise_variance=self.noise_variance
        )

    @cached_property
    def _all_keys(self) -> float:
        return math.fsum(max(float(self.table[0, half]), 0.0) for half in (0, 1))

    def _left_half(self, row: int, key: int, node: float, located: Located) -> float:
        """Return an estimate of the left half of the node of depth ``row`` on the way to a key."""
        if row == 0:
            return max(float(self.table[0, 0]), 0.0)
        columns, flipped = located
        is_right = bool(key >> (self.bits - 1 - row) & 1)
        cell = float(self.table[self._cell(row, key, columns)])
        coefficient = -cell if bool(flipped[row]) != is_right else cell
        expected = self._coefficients.expected(row, node, coefficient)
        return min(max(0.5 * (node + expected), 0.0), node)

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
