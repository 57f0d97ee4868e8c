"""What released Haar coefficients say of the halves of their nodes: cells, shrunk towards 0.

A coefficient is the difference between two halves, so it is no larger than the node. A cell of a
node far below its noise says nothing of it, and its best estimate of the halves is that they are
even. How uneven the nodes of a depth are is estimated from the squares of all its cells.

Source: docs/theory.md, "Ranges of keys"; W. James and C. Stein, "Estimation with quadratic loss",
1961 (shrinkage by what the cells themselves say).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["ShrunkCoefficients"]

_LEAST_SPREAD: Final = 0.01
_MEDIAN_OF_NORMAL: Final = 0.674489750196082  # of the absolute value, in deviations


@dataclass(frozen=True)
class ShrunkCoefficients:
    """How far the coefficients of each depth are to be believed.

    Args:
        spreads: for each depth the mean square of a coefficient over that of its node, up to 1.
        disturbances: for each depth the variance of what else is in a cell, noise included.
    """

    spreads: tuple[float, ...]
    disturbances: tuple[float, ...]

    @classmethod
    def of(
        cls, table: npt.NDArray[np.int64], *, exact: int, noise_variance: float
    ) -> ShrunkCoefficients:
        """Return what a released table says of its coefficients.

        Args:
            table: released, of shape (bits, width).
            exact: depths below the halves of the domain with a cell for each of their nodes.
            noise_variance: of a cell, in squared counts.
        """
        cells = table.astype(np.float64)
        packed, shared = cells.reshape(-1), cells[exact + 1 :]
        depths = [packed[1 << depth : 2 << depth] for depth in range(1, exact + 1)] + list(shared)
        nodes = float(np.square(np.maximum(cells[0, :2], 0.0)).sum())
        spreads = [1.0]
        for depth in depths:
            # The squares of two halves add up to half of those of the node and its coefficient.
            square = float(depth @ depth) - len(depth) * noise_variance
            coefficients = min(max(square, 0.0), nodes)
            spreads.append(max(coefficients / nodes, _LEAST_SPREAD) if nodes else 1.0)
            nodes = (nodes + coefficients) / 2.0
        # Half of the cells tell: heavy nodes, which are in few of them, do not count.
        middles = [float(np.median(np.abs(row))) / _MEDIAN_OF_NORMAL for row in shared]
        return cls(
            tuple(spreads),
            (
                *(noise_variance for _ in range(exact + 1)),
                *(max(middle**2, noise_variance) for middle in middles),
            ),
        )

    def expected(self, depth: int, node: float, cell: float) -> float:
        """Return the estimate of a coefficient, of least mean square error among multiples of it.

        Args:
            depth: of the node, 1 or more.
            node: estimated count of the node, 0 or more.
            cell: its released coefficient.

        Returns:
            A number with the sign of the cell, no larger.
        """
        own = self.spreads[depth] * node * node
        return cell * own / (own + self.disturbances[depth]) if own > 0.0 else 0.0
