"""Sensitivities and variances of a table, in floating point and with gradients.

Along the path of one node the rows form a triangular matrix; the decoder's rows are the rows of its
inverse. Cost: O(n k^2) for all nodes together, for the value and also for the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tools.tree_tables.layout import nodes_at, times

__all__ = ["Geometry", "inverse", "inverse_gradient"]

Reals = npt.NDArray[np.float64]


def _parents(array: Reals, depth: int) -> Reals:
    """Repeat the entries of depth - 1 for the nodes of ``depth``."""
    return array if depth == 1 else np.repeat(array, 2, axis=0)


def inverse(rows: list[Reals]) -> tuple[list[Reals], list[Reals]]:
    """Return the rows of the inverse, and the inverse path matrices (nodes, d + 1, d + 1) by depth.

    Maps decoder rows to strategy rows and back: the inverse has the same pattern.
    """
    paths = [1.0 / rows[0].reshape(1, 1, 1)]
    inverted = [1.0 / rows[0]]
    for depth in range(1, len(rows)):
        above, own = rows[depth][:, :depth], rows[depth][:, depth]
        parents = _parents(paths[-1], depth)
        path = np.zeros((nodes_at(depth), depth + 1, depth + 1))
        path[:, :depth, :depth] = parents
        path[:, depth, :depth] = -np.einsum("vi,vij->vj", above, parents) / own[:, None]
        path[:, depth, depth] = 1.0 / own
        paths.append(path)
        inverted.append(path[:, depth, :])
    return inverted, paths


def inverse_gradient(
    rows: list[Reals], paths: list[Reals], of_inverted: list[Reals]
) -> list[Reals]:
    """Turn a gradient by the inverse's rows into one by ``rows``: :func:`inverse` in reverse."""
    found = [np.empty_like(array) for array in rows]
    of_path = np.zeros_like(paths[-1])
    for depth in range(len(rows) - 1, 0, -1):
        above, own = rows[depth][:, :depth], rows[depth][:, depth, None]
        parents = _parents(paths[depth - 1], depth)
        of_row = of_inverted[depth] + of_path[:, depth, :]
        result = paths[depth][:, depth, :depth]  # -(above @ parents) / own
        of_sum = -of_row[:, :depth] / own
        found[depth][:, :depth] = np.einsum("vij,vj->vi", parents, of_sum)
        found[depth][:, depth] = -(of_row[:, :depth] * result).sum(1) / own[:, 0]
        found[depth][:, depth] -= of_row[:, depth] / own[:, 0] ** 2
        of_parents = above[:, :, None] * of_sum[:, None, :] + of_path[:, :depth, :depth]
        of_path = of_parents if depth == 1 else of_parents[0::2] + of_parents[1::2]
    of_root = of_inverted[0] + of_path[:, 0, :]
    found[0][:] = -of_root / rows[0] ** 2
    return found


@dataclass(frozen=True)
class _Pieces:
    """Intervals of leaves start < l <= stop on which the suffix sums of one depth are constant."""

    order: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]


class Geometry:
    """Order of times along each path; it depends on k only."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.n = 1 << k
        self.pieces = []
        for depth in range(k + 1):
            order = np.argsort(times(k, depth), axis=1)
            stop = np.take_along_axis(times(k, depth), order, axis=1)
            start = np.concatenate([np.zeros_like(stop[:, :1]), stop[:, :-1]], axis=1)
            self.pieces.append(_Pieces(order, start, stop))

    def suffix_sums(self, rows: list[Reals]) -> list[Reals]:
        """Return, per depth, the suffix sums of each row in the order of its times."""
        ordered = (
            np.take_along_axis(row, pieces.order, axis=1)
            for row, pieces in zip(rows, self.pieces, strict=True)
        )
        return [np.cumsum(row[:, ::-1], axis=1)[:, ::-1] for row in ordered]

    def from_suffix_sums(self, sums: list[Reals]) -> list[Reals]:
        """Return the rows with these suffix sums."""
        rows = []
        for each, pieces in zip(sums, self.pieces, strict=True):
            ordered = each.copy()
            ordered[:, :-1] -= each[:, 1:]
            row = np.empty_like(ordered)
            np.put_along_axis(row, pieces.order, ordered, axis=1)
            rows.append(row)
        return rows

    def sensitivities(self, sums: list[Reals]) -> Reals:
        """Return ||U 1_{t >= l}||^2 for every leaf l = 1..n."""
        difference = np.zeros(self.n + 1)
        for each, pieces in zip(sums, self.pieces, strict=True):
            square = np.square(each).ravel()
            difference += np.bincount(pieces.start.ravel(), square, self.n + 1)
            difference -= np.bincount(pieces.stop.ravel(), square, self.n + 1)
        return np.cumsum(difference)[: self.n]

    def sensitivities_gradient(self, sums: list[Reals], weights: Reals) -> list[Reals]:
        """Return the gradient of the sum of weights * sensitivities by the rows of U."""
        below = np.concatenate([[0.0], np.cumsum(weights)])
        found = []
        for each, pieces in zip(sums, self.pieces, strict=True):
            of_sums = 2.0 * each * (below[pieces.stop] - below[pieces.start])
            row = np.empty_like(each)
            np.put_along_axis(row, pieces.order, np.cumsum(of_sums, axis=1), axis=1)
            found.append(row)
        return found
