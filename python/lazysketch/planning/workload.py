"""What else lies in a cell: collisions of a stream whose frequencies are assumed or sampled.

A workload is the shares of the items, without their names: the heaviest one by one, the others in
groups of nearly equal shares. :meth:`Workload.cells` hashes them into cells by a fixed stream of
random numbers, so that one question has one answer. Costs some milliseconds per width, whatever
the number of items.

Source: a bucket of n items, each present with probability 1 / w, holds a number of them that is
Poisson to within 1 / w in total variation (Le Cam 1960).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST_DISTINCT", "Workload"]

Array = npt.NDArray[np.float64]

LARGEST_DISTINCT: Final = 2**22
_SINGLY: Final = 4096  # items that are hashed one by one
_CERTAIN: Final = 256.0  # occurrences in the sample from which a count is taken as known
_GROUP: Final = math.log(1.1)  # shares within one group differ by at most this ratio
_MANY: Final = 4.0  # items of a group in a cell from which their sum is taken as normal


@dataclass(frozen=True, eq=False)
class Workload:
    """How the weight of a stream is spread over its items.

    Attributes:
        heavy: shares of the heaviest items, float64, falling.
        shares: shares of an item of each group, float64.
        numbers: items of each group, float64.
        description: in words.
        sampled: True if it comes from a sample, which then has to be public.
    """

    heavy: Array
    shares: Array
    numbers: Array
    description: str
    sampled: bool

    @classmethod
    def zipf(cls, skew: float, *, distinct: int, events: float) -> Workload:
        """Return the workload whose item of rank r has a share in proportion to r^-skew.

        Args:
            skew: 0 for items that are all alike; 1 to 1.3 for words, pages and addresses.
            distinct: items.
            events: of the stream.

        Returns:
            The workload.

        Example:
            >>> Workload.zipf(1.0, distinct=3, events=1e6).heavy.round(3)
            array([0.545, 0.273, 0.182])
        """
        weights = np.arange(1, distinct + 1, dtype=np.float64) ** -skew
        expected = weights * (events / weights.sum())
        description = f"Zipf with skew {skew:g} over {distinct:,} items"
        # A number that is Poisson with mean c has c (c + 1) for its mean square.
        certain = int(np.count_nonzero(expected >= _CERTAIN))
        return cls._of(expected, expected + 1.0, certain, description, sampled=False)

    @classmethod
    def sample(cls, counts: Mapping[object, int] | npt.ArrayLike, *, events: float) -> Workload:
        """Return the workload that a sample shows, scaled to the stream.

        Args:
            counts: of the items of the sample, in any order.
            events: of the stream.

        Returns:
            The workload.
        """
        values = list(counts.values()) if isinstance(counts, Mapping) else counts
        found = np.sort(np.asarray(values, dtype=np.float64))[::-1]
        found = found[found > 0]
        size = float(found.sum())
        description = f"a sample of {size:,.0f} events with {len(found):,} items"
        # r (r - 1) of m events drawn from n estimates c (c - 1) m^2 / n^2 without bias.
        ratio = events / size
        lumps = (found - 1.0) * ratio + 1.0
        certain = int(np.count_nonzero(found >= _CERTAIN))
        return cls._of(found * ratio, lumps, certain, description, sampled=True)

    @classmethod
    def _of(
        cls, counts: Array, lumps: Array, certain: int, description: str, *, sampled: bool
    ) -> Workload:
        """Return the workload of counts, falling, that come to their squares as lumps do.

        What is rare in a sample or rarely expected is uncertain: c = r n / m counts that lie on one
        item, on several, or on none. They are c / l items of l counts each, where l is such that
        the sum of squares, c l, is as expected: sums and sums of squares are without bias.
        """
        total = float(counts.sum())
        singly = min(_SINGLY, certain)
        tail, lumps = counts[singly:], lumps[singly:]
        _, starts = np.unique(-np.floor(np.log(lumps) / _GROUP), return_index=True)
        mass = np.add.reduceat(tail, starts) if len(tail) else np.empty(0)
        numbers = np.add.reduceat(tail / lumps, starts) if len(tail) else np.empty(0)
        return cls(counts[:singly] / total, mass / numbers / total, numbers, description, sampled)

    def cells(self, width: int, *, rows: int, columns: int, seed: int = 0) -> tuple[Array, Array]:
        """Return what lies in some cells of a table, unsigned and with random signs.

        Args:
            width: columns of the table.
            rows: to simulate.
            columns: to simulate, at most ``width``.
            seed: of the fixed stream of random numbers.

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
