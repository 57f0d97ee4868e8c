"""Collision model: distribution of other items' mass in a cell.

A workload holds the shares of the items of an assumed or sampled stream, without their names: the
heaviest one by one, the others in groups of nearly equal shares. :meth:`Workload.cells` hashes them
into cells by a fixed stream of random numbers, so that equal arguments give equal results. Costs
some milliseconds per width, for any number of items.

Source: a bucket of n items, each present with probability 1 / w, holds a number of items that is
Poisson to within 1 / w in total variation (Le Cam 1960).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST_DISTINCT", "Workload"]

Array = npt.NDArray[np.float64]

LARGEST_DISTINCT: Final = 2**22
_SINGLY: Final = 4096  # most items that are hashed one by one
_CERTAIN: Final = 256.0  # a count of at least this many occurrences in the sample is exact
_GROUP: Final = math.log(1.1)  # largest log ratio of shares within one group
_MANY: Final = 4.0  # with this many items of a group per cell their sum is taken as normal


@dataclass(frozen=True, eq=False)
class Workload:
    """Distribution of the weight of a stream over its items.

    Attributes:
        heavy: shares of the heaviest items, float64, in descending order.
        shares: share of one item of each group, float64.
        numbers: number of items of each group, float64.
        description: in words.
        sampled: True if it comes from a sample, which must be public.
    """

    heavy: Array
    shares: Array
    numbers: Array
    description: str
    sampled: bool

    @classmethod
    def zipf(cls, skew: float, *, distinct: int, events: float) -> Workload:
        """Return the workload whose item of rank r has a share proportional to r^-skew.

        Args:
            skew: 0 for equal shares; 1 to 1.3 for words, pages and addresses.
            distinct: number of items.
            events: total weight of the stream.

        Returns:
            The workload.

        Example:
            >>> Workload.zipf(1.0, distinct=3, events=1e6).heavy.round(3)
            array([0.545, 0.273, 0.182])
        """
        weights = np.arange(1, distinct + 1, dtype=np.float64) ** -skew
        expected = weights * (events / weights.sum())
        description = f"Zipf with skew {skew:g} over {distinct:,} items"
        # The mean square of a Poisson variable with mean c is c (c + 1).
        certain = int(np.count_nonzero(expected >= _CERTAIN))
        return cls._of(expected, expected + 1.0, certain, description, sampled=False)

    @classmethod
    def sample(cls, counts: Mapping[object, int] | npt.ArrayLike, *, events: float) -> Workload:
        """Return the workload estimated from a sample, scaled to the stream.

        Args:
            counts: counts of the items of the sample, in any order.
            events: total weight of the stream.

        Returns:
            The workload.
        """
        values = list(counts.values()) if isinstance(counts, Mapping) else counts
        found = np.sort(np.asarray(values, dtype=np.float64))[::-1]
        found = found[found > 0]
        size = float(found.sum())
        description = f"a sample of {size:,.0f} events with {len(found):,} items"
        # With m events sampled from n, r (r - 1) is an unbiased estimate of c (c - 1) m^2 / n^2.
        ratio = events / size
        lumps = (found - 1.0) * ratio + 1.0
        certain = int(np.count_nonzero(found >= _CERTAIN))
        return cls._of(found * ratio, lumps, certain, description, sampled=True)

    @classmethod
    def _of(
        cls, counts: Array, lumps: Array, certain: int, description: str, *, sampled: bool
    ) -> Workload:
        """Return the workload of descending counts whose expected squares are counts * lumps.

        The counts of rare items are uncertain: c = r n / m counts may belong to one item, to
        several, or to none. They are modelled as c / l items of l counts each, with l such that the
        sum of squares, c l, is as expected: sums and sums of squares are unbiased.
        """
        total = float(counts.sum())
        singly = min(_SINGLY, certain)
        tail, lumps = counts[singly:], lumps[singly:]
        _, starts = np.unique(-np.floor(np.log(lumps) / _GROUP), return_index=True)
        mass = np.add.reduceat(tail, starts) if len(tail) else np.empty(0)
        numbers = np.add.reduceat(tail / lumps, starts) if len(tail) else np.empty(0)
        return cls(counts[:singly] / total, mass / numbers / total, numbers, description, sampled)

    def without(self, names: int) -> tuple[Array, Workload]:
        """Return the shares of the heaviest items, and the workload of the others.

        Args:
            names: number of items, 1 or more.

        Returns:
            Their shares, at most ``names``, in descending order; and what is left.

        Example:
            >>> shares, rest = Workload.zipf(1.0, distinct=3, events=1e6).without(2)
            >>> shares.round(3), rest.heavy.round(3)
            (array([0.545, 0.273]), array([0.182]))
        """
        heavy = self.heavy[:names]
        left = names - len(heavy)
        before = np.concatenate([[0.0], np.cumsum(np.floor(self.numbers))[:-1]])
        taken = np.clip(left - before, 0.0, np.floor(self.numbers))
        shares = np.concatenate([heavy, np.repeat(self.shares, taken.astype(np.int64))])
        rest = replace(self, heavy=self.heavy[names:], numbers=self.numbers - taken)
        return np.sort(shares)[::-1], rest

    def cells(self, width: int, *, rows: int, columns: int, seed: int = 0) -> tuple[Array, Array]:
        """Return the mass in some cells of a table, without and with random signs.

        Args:
            width: number of columns of the table.
            rows: number of simulated rows.
            columns: number of simulated columns, at most ``width``.
            seed: seed of the fixed stream of random numbers.

        Returns:
            Two float64 arrays of shape (rows, columns), as shares of the whole stream.
        """
        generator = np.random.default_rng([seed, width])
        places, weights = self._singly(generator, width, rows, columns)
        others, grouped = self._grouped(generator, width, rows * columns)
        places, weights = np.concatenate([places, others]), np.concatenate([weights, grouped])
        signs = generator.integers(0, 2, len(weights)) * 2.0 - 1.0
        size = rows * columns
        plain: Array = np.bincount(places, weights, size).astype(np.float64)
        signed: Array = np.bincount(places, weights * signs, size).astype(np.float64)
        many = self.numbers / width >= _MANY
        expected = self.numbers[many] / width
        mean = float(np.sum(self.shares[many] * expected))
        spread = math.sqrt(float(np.sum(self.shares[many] ** 2 * expected)))
        plain += mean + spread * generator.standard_normal(size)
        signed += spread * generator.standard_normal(size)
        return plain.reshape(rows, columns), signed.reshape(rows, columns)

    def _singly(
        self, generator: np.random.Generator, width: int, rows: int, columns: int
    ) -> tuple[npt.NDArray[np.int64], Array]:
        hashed = generator.integers(0, width, (rows, len(self.heavy)))
        row, item = np.nonzero(hashed < columns)
        return row * columns + hashed[row, item], self.heavy[item]

    def _grouped(
        self, generator: np.random.Generator, width: int, cells: int
    ) -> tuple[npt.NDArray[np.int64], Array]:
        few = self.numbers / width < _MANY
        landings = generator.poisson(self.numbers[few] / width * cells)
        weights = np.repeat(self.shares[few], landings)
        return generator.integers(0, cells, len(weights)), weights
