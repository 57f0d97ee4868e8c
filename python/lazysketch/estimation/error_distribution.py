"""Error distribution of one cell (collisions + noise).

An item's bucket is uniform over the columns of a row, whatever the other items are. So the cells of
the item's row are a sample of the error in its own cell: collisions plus noise, in their true
proportions and with their true tails. Ranks in that sample bound the probabilities of the unknown
error without any model of the stream (conformal prediction).

Columns that were pushed more often, or later, have another error distribution. They are kept apart
as :class:`Strata`: within one stratum the noise has one variance and the published steps differ by
at most an eighth. A stratum of few cells borrows the cells of the columns pushed nearest in time.
Noise is added to borrowed cells that have less of it; borrowed cells with more noise make the
intervals wider.

Costs one sort of the table. Prefer the noise alone (``collisions=False``) for counters, which do
not collide.

Source: V. Vovk, A. Gammerman, G. Shafer 2005, Proposition 2.4 (ranks of exchangeable values).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["ErrorDistribution", "Strata"]

Array = npt.NDArray[np.float64]

_FEWEST_CELLS: Final = 512
_STRETCH: Final = math.log(1.125)  # largest log ratio of published steps within a stratum
_DENSITY_POINTS: Final = 2048
_ROOT_2: Final = math.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class ErrorDistribution:
    """Distribution of a cell's error, estimated from a sample of such errors.

    Guarantee: :meth:`at_least` and :meth:`at_most` bound the probabilities from above, by rank;
    below the resolution of the sample, by the noise alone (one-sided collisions) or by
    Chebyshev's inequality.

    Attributes:
        sample: sorted errors; empty where nothing collides.
        noise_deviation: standard deviation of the noise alone.
        one_sided: True if collisions only increase a cell (Count-Min).
    """

    sample: Array
    noise_deviation: float
    one_sided: bool

    def at_least(self, threshold: float) -> float:
        """Return an upper bound of P(error >= threshold).

        Args:
            threshold: in counts.

        Returns:
            A probability, never below the resolution of the sample.
        """
        if not len(self.sample):
            return self._noise_below(-threshold)
        above = len(self.sample) - int(self.sample.searchsorted(threshold, side="left"))
        by_rank = (above + 1.0) / (len(self.sample) + 1.0)
        if above or self.one_sided:
            return by_rank
        return min(by_rank, self._chebyshev(threshold))

    def at_most(self, threshold: float) -> float:
        """Return an upper bound of P(error <= threshold).

        Args:
            threshold: in counts.

        Returns:
            A probability, never below the resolution of the sample.
        """
        if not len(self.sample):
            return self._noise_below(threshold)
        below = int(self.sample.searchsorted(threshold, side="right"))
        by_rank = (below + 1.0) / (len(self.sample) + 1.0)
        if below:
            return by_rank
        if self.one_sided:
            return min(by_rank, self._noise_below(threshold))
        return min(by_rank, self._chebyshev(threshold))

    @cached_property
    def root_mean_square(self) -> float:
        """Root of the mean squared error of a cell."""
        if not len(self.sample):
            return self.noise_deviation
        return float(np.sqrt(np.mean(self.sample**2)))

    def log_density(self, errors: Array) -> Array:
        """Return the logarithm of the density, up to the resolution of the sample.

        Args:
            errors: float64 array, in counts.

        Returns:
            Log densities; constant in the far tails, so that no single row can exclude a count.
        """
        if not len(self.sample):
            scale = max(self.noise_deviation, 1e-9)
            return -0.5 * (errors / scale) ** 2 - math.log(scale)
        points, heights = self._density
        return np.interp(errors, points, heights)

    @cached_property
    def _density(self) -> tuple[Array, Array]:
        """Kernel density estimate on a grid over the bulk, with a floor beyond it."""
        low, first, third, high = np.quantile(self.sample, [0.002, 0.25, 0.75, 0.95])
        # Values near 2^62 are 512 apart: the grid cannot be finer.
        finest = 4 * _DENSITY_POINTS * np.spacing(max(abs(low), abs(high)))
        spread = max((third - first) / 1.349, self.noise_deviation, 0.5, finest)
        bandwidth = 0.6 * spread * len(self.sample) ** -0.2
        start, end = low - 8 * bandwidth, high + 8 * bandwidth
        points = np.linspace(start, end, _DENSITY_POINTS)
        step = points[1] - points[0]
        binned, _ = np.histogram(self.sample, _DENSITY_POINTS, (start - step / 2, end + step / 2))
        reach = min(math.ceil(4 * bandwidth / step), _DENSITY_POINTS // 2 - 1)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / bandwidth) ** 2)
        smooth = np.convolve(binned, kernel / kernel.sum(), "same")
        floor = 1.0 / _DENSITY_POINTS  # one cell of the sample, spread over the grid
        return points, np.log((smooth + floor) / (len(self.sample) * step))

    def _noise_below(self, threshold: float) -> float:
        if self.noise_deviation == 0.0:
            return 1.0 if threshold >= 0.0 else 0.0
        return math.erfc(-threshold / (self.noise_deviation * _ROOT_2)) / 2.0

    def _chebyshev(self, threshold: float) -> float:
        # The sample may miss rare errors: add one more cell with the mean square of the others.
        spread2 = self.root_mean_square**2 * (1 + 1 / len(self.sample))
        return spread2 / threshold**2 if threshold**2 > spread2 else 1.0


@dataclass(frozen=True, eq=False)
class Strata:
    """The columns of a table, grouped by the error distribution of their cells.

    Attributes:
        of_column: stratum of every column, int64 of shape (width,); -1 where no push has happened.
        distributions: one distribution per stratum.
    """

    of_column: npt.NDArray[np.int64]
    distributions: tuple[ErrorDistribution, ...]

    @classmethod
    def of(
        cls,
        table: npt.NDArray[np.int64],
        *,
        published_steps: Array,
        noise_variance: Array,
        signed: bool,
        collisions: bool = True,
    ) -> Strata:
        """Return the strata of a table.

        Args:
            table: released values, shape (depth, width).
            published_steps: steps published in every column, shape (width,).
            noise_variance: of every column, shape (width,).
            signed: True for Count Sketch, whose errors have random signs.
            collisions: False for counters.

        Returns:
            The strata, at most some hundreds.
        """
        pushed = published_steps > 0
        ages = np.floor(np.log(np.maximum(published_steps, 1.0)) / _STRETCH)
        keys = np.column_stack([noise_variance, ages])[pushed]
        distinct, labels = np.unique(keys, axis=0, return_inverse=True)
        of_column = np.full(table.shape[1], -1, dtype=np.int64)
        of_column[pushed] = labels.ravel()
        distributions = []
        for stratum, (variance, _) in enumerate(distinct):
            sample = np.empty(0)
            if collisions:
                columns = _nearest(of_column == stratum, pushed, published_steps, len(table))
                lacking = np.maximum(variance - noise_variance[columns], 0.0)
                sample = _sample(table[:, columns], lacking, signed=signed)
            distributions.append(
                ErrorDistribution(sample, math.sqrt(variance), one_sided=not signed)
            )
        return cls(of_column, tuple(distributions))


def _nearest(
    own: npt.NDArray[np.bool_], pushed: npt.NDArray[np.bool_], steps: Array, depth: int
) -> npt.NDArray[np.int64]:
    """Return the columns of a stratum and, if these are few, those pushed nearest in time."""
    columns = np.flatnonzero(own)
    wanted = -(-_FEWEST_CELLS // depth)
    if len(columns) >= wanted:
        return columns
    others = np.flatnonzero(pushed & ~own)
    distance = np.abs(steps[others] - steps[columns].mean())
    closest = others[np.argsort(distance, kind="stable")[: wanted - len(columns)]]
    return np.concatenate([columns, closest])


def _sample(cells: npt.NDArray[np.int64], lacking: Array, *, signed: bool) -> Array:
    """Return the sorted errors in cells, after adding the noise that some of them lack."""
    errors = cells.astype(np.float64)
    if lacking.any():
        # A fixed seed is fine: this is public post-processing.
        errors += np.random.default_rng(0).standard_normal(errors.shape) * np.sqrt(lacking)
    flat = errors.ravel()
    return np.sort(np.concatenate([flat, -flat]) if signed else flat)
