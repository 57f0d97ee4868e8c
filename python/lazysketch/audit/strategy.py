"""The matrices of a mechanism by definition: weights, sensitivity and covariance, in exact numbers.

How one cell counts n pushes. Node v has time v; the row of U for a node holds integers at its
ancestors and itself; N = U^-1 z. Rows of the optimised tables are public constants and are read
from the library; everything derived from them is computed here, so that a wrong sensitivity,
weight or path in the core shows as a difference. Cost: k^2 / 2 fractions for the weights of one
push; n k log k, once, for the sensitivity.

Source: docs/theory.md, "The tree mechanism"; Chan, Shi and Song 2011 (binary).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import numpy as np

from lazysketch import _native
from lazysketch.audit.endless_rows import LAST_EPOCH, endless_path, endless_row, epoch_of
from lazysketch.audit.schedule_model import Integers
from lazysketch.errors import ArgumentValueError

__all__ = ["Strategy", "strategy"]

# Shared rows: the sixteenths of the leaves that tables serve, the smallest depth of a tree, depths
# with rows of their own, the last depths, and where rows begin in a file.
_SIXTEENTHS = (9, 10, 12, 14, 16)
_ALL_LEAVES = 1 << 10  # of a table that serves 16 sixteenths
_SHALLOWEST, _TOP, _LAST = 10, 7, 3
_HEADER, _SHARED = 4, 4 + 1 + 7 * 2**7
# Without a horizon, the rows of the first epochs and the spine are examined. The most sensitive
# leaf is in epoch 13; all epochs are equally sensitive, up to the rounding of rows to integers.
_EXAMINED = 13
_EXACT = ("tree", "tree-log", "tree-deep", "tree-endless", "haar", "binary")


@dataclass(frozen=True)
class Strategy:
    """U and its inverse, for one mechanism and one number of pushes.

    Args:
        mechanism: ``"binary"``, ``"haar"``, ``"tree"``, ``"tree-log"``, ``"tree-deep"`` or
            ``"tree-endless"``.
        leaves: largest number of pushes.

    Attributes:
        nodes: most pushes.
        size: largest node; a tree that serves its first leaves only has larger ones.
    """

    mechanism: str
    leaves: int
    nodes: int = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        """Find the size of the tree."""
        if self.mechanism not in _EXACT:
            raise ArgumentValueError(
                "mechanism: expected one with an exact distribution "
                f"({', '.join(_EXACT)}), got {self.mechanism!r}"
            )
        if self.mechanism == "binary":
            nodes = self.leaves
        elif self.mechanism in ("haar", "tree-endless"):
            nodes = 1 << (self.leaves - 1).bit_length()
        elif self.mechanism == "tree-deep":
            size = 1 << max(_SHALLOWEST, (self.leaves - 1).bit_length())
            served = (size * sixteenths // 16 for sixteenths in _SIXTEENTHS)
            object.__setattr__(self, "nodes", next(n for n in served if self.leaves <= n))
            object.__setattr__(self, "size", size)
            return
        else:
            nodes = 1 << (next(k for k in range(60) if 1 + k * 2**k >= self._table.size))
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "size", nodes)

    @property
    def _table(self) -> Integers:
        return _table(self.mechanism, self.leaves)

    def path(self, push: int) -> list[int]:
        """Return the ancestors of a push number from the root down, then the push number.

        Args:
            push: 1 to the number of leaves.

        Returns:
            Push numbers.
        """
        if self.mechanism == "tree-endless":
            return endless_path(push, _path)
        return _path(push, self.size)

    def row(self, push: int) -> list[int]:
        """Return the row of U for a push number, entry by entry along its path.

        Args:
            push: 1 to the number of nodes; not for ``"binary"``.

        Returns:
            One integer per node of the path.
        """
        if self.mechanism == "tree-endless":
            size = 1 << epoch_of(push)
            within = _path(push, size)
            shared = _deep_row(_table("tree-deep", _ALL_LEAVES), size, within)
            return endless_row(push, self._table, within, shared, _TOP)
        path = self.path(push)
        depth = len(path) - 1
        if self.mechanism == "haar":
            if depth == 0:
                return [3]
            size = self.size >> depth  # the block is push - size to push + size
            bounds = {push - size: -2, push + size: -2}
            return [bounds.get(time, 0) for time in path[:-1]] + [4]
        if self.mechanism == "tree-deep":
            return _deep_row(self._table, self.size, path)
        return _row_of_its_own(self._table, self.size, path)

    @property
    def rounds_every_node(self) -> bool:
        """True if noise is rounded at every node of a path, False if at its end."""
        return self.mechanism in ("tree-deep", "tree-endless")

    def roundings(self, push: int) -> dict[int, tuple[float, int]]:
        """Return the weight of each node's rounding error in the noise of a push, and its entry.

        Args:
            push: 1 to the number of pushes, or one more for the extra leaf of a final push.

        Returns:
            For the nodes of the path: weight of the draw times own entry, and own entry.
        """
        if push == self.nodes + 1:
            return {
                **self.roundings(self.nodes),
                self.size + 1: (1.0, math.isqrt(self.sensitivity2)),
            }
        weights = self.weights(push)
        owns = {node: self.row(node)[-1] for node in self.path(push)}
        return {v: (float(weights.get(v, 0) * own), own) for v, own in owns.items()}

    def weights(self, push: int) -> dict[int, Fraction]:
        """Return the weight of each draw in the noise of a push: its row of U^-1.

        Args:
            push: 1 to the number of nodes, or one more for the extra leaf of a final push.

        Returns:
            Non-zero weights by node.
        """
        return _weights(self, push)

    def final_push(self, push: int, *, nothing_pending: bool) -> int:
        """Return the leaf of the final push of a cell, by trying all later ones.

        Without a horizon only the ends of the blocks and epochs that the next one lies in.

        Args:
            push: number of its last push, 0 for none.
            nothing_pending: True if it was pushed at the last step; it may keep its noise then.

        Returns:
            The later leaf with the least variance; the one after the last, if there is no other.
        """
        later: Iterable[int] = range(push + 1, self.nodes + 1)
        if self.mechanism == "tree-endless":  # too many to try
            levels = range(self.nodes.bit_length())
            ends = {((push >> level) + 1) << level for level in levels}
            later = sorted(end for end in ends if end <= self.nodes)
        later = later or [self.nodes + 1]
        variances = {leaf: self.covariance(leaf, leaf) for leaf in later}
        best = min(variances, key=lambda leaf: variances[leaf])
        keeps = nothing_pending and push > 0 and self.covariance(push, push) <= variances[best]
        return push if keeps else best

    def shift(self, first: int) -> Integers:
        """Return the change of every node's exact sum if the count is one larger from ``first`` on.

        Args:
            first: push number, 1 to the number of leaves.

        Returns:
            U 1(t >= first); node v at position v - 1. Without a horizon, of the nodes of the first
            2^13 pushes, then of the rest of the spine; ``first`` is at most 2^13.
        """
        if self.mechanism == "binary":
            node = np.arange(1, self.size + 1)
            return ((node - (node & -node) < first) & (first <= node)).astype(np.int64)
        times, entries = _dense(self)
        result: Integers = np.where(times >= first, entries, 0).sum(axis=1)
        return result

    @property
    def sensitivity2(self) -> int:
        """The largest squared norm of :meth:`shift`, over all leaves of the tree."""
        return _sensitivity2(self)

    def covariance(self, push: int, other: int) -> float:
        """Return the covariance of the noise of two pushes of a cell, for draws of variance 1.

        Args:
            push: a push number.
            other: another push number, or the same.

        Returns:
            The sum over common nodes of the products of the weights.
        """
        return _covariance(self, min(push, other), max(push, other))

    def denominator(self, push: int) -> int:
        """Return the common denominator of the weights of a push.

        Args:
            push: a push number.

        Returns:
            The least common denominator.
        """
        return math.lcm(*(weight.denominator for weight in self.weights(push).values()))


@cache
def strategy(mechanism: str, leaves: int) -> Strategy:
    """Return the strategy of a mechanism; each strategy is computed once.

    Args:
        mechanism: its name in a release.
        leaves: largest number of pushes.

    Returns:
        The strategy.

    Example:
        >>> strategy("haar", 1024).sensitivity2, strategy("binary", 1024).sensitivity2
        (49, 11)
    """
    return Strategy(mechanism, leaves)


def _path(push: int, size: int) -> list[int]:
    """The ancestors of a push number in a tree with this many leaves, root first, and itself."""
    left, right, found = 0, size, [size]
    while found[-1] != push:
        middle = (left + right) // 2
        found.append(middle)
        left, right = (left, middle) if push < middle else (middle, right)
    return found


def _row_of_its_own(rows: Integers, size: int, path: list[int]) -> list[int]:
    """The row of a node, where every node has one."""
    depth = len(path) - 1
    # Depths before d hold (d - 1) 2^(d-1) + 1 entries; node (d, v) has d + 1 of them.
    index = path[-1] * 2**depth // (2 * size)
    start = 0 if depth == 0 else 1 + (depth - 1) * 2 ** (depth - 1) + index * (depth + 1)
    return [int(entry) for entry in rows[start : start + depth + 1]]


def _deep_row(table: Integers, size: int, path: list[int]) -> list[int]:
    """The row of a node: its own down to depth 7, below by the last 6 turns on its path."""
    depth = len(path) - 1
    if depth <= _TOP:
        return _row_of_its_own(table[_HEADER:], size, path)
    index = path[-1] * 2**depth // (2 * size)
    which = max(0, depth - (size.bit_length() - 1 - _LAST)) * 64 + index % 64
    own, *above, right = (int(entry) for entry in table[_SHARED + 8 * which :][:8])
    row = dict(zip(path[-2:-8:-1], above, strict=True))
    # The block of the 6th ancestor lies half a block on both of its sides.
    middle, half = path[-7], size >> (depth - 6)
    row[middle + half] = right
    if middle > half:
        row[middle - half] = -own - sum(above) - right
    return [row.get(time, 0) for time in path[:-1]] + [own]


@cache
def _table(mechanism: str, leaves: int) -> Integers:
    return _native.mechanism_rows(mechanism=mechanism, leaves=leaves).astype(np.int64)


@cache
def _weights(of: Strategy, push: int) -> dict[int, Fraction]:
    if push == of.nodes + 1:  # N(n) + z / a, with a^2 within the squared sensitivity
        return {**_weights(of, of.nodes), of.size + 1: Fraction(1, math.isqrt(of.sensitivity2))}
    if of.mechanism == "binary":
        found, node = {}, push
        while node:
            found[node] = Fraction(1)
            node -= node & -node
        return found
    known: dict[int, dict[int, Fraction]] = {}
    path = of.path(push)
    for time in path:
        *above, own = of.row(time)
        combined = {time: Fraction(1, own)}
        for ancestor, entry in zip(path, above, strict=False):
            for node, weight in known[ancestor].items() if entry else ():
                combined[node] = combined.get(node, Fraction(0)) - Fraction(entry, own) * weight
        known[time] = combined
    return {node: weight for node, weight in known[push].items() if weight}


@cache
def _covariance(of: Strategy, push: int, other: int) -> float:
    one, two = of.weights(push), of.weights(other)
    return float(sum((w * two[node] for node, w in one.items() if node in two), Fraction(0)))


@cache
def _dense(of: Strategy) -> tuple[Integers, Integers]:
    """Times and entries of all rows, padded with 0 at time 0."""
    endless = of.mechanism == "tree-endless"
    nodes = list(range(1, (2**_EXAMINED if endless else of.size) + 1))
    if endless:
        nodes += [1 << j for j in range(_EXAMINED + 1, LAST_EPOCH + 1)]
    paths = [of.path(push) for push in nodes]
    length = max(map(len, paths))
    times = np.zeros((len(nodes), length), dtype=np.int64)
    entries = np.zeros((len(nodes), length), dtype=np.int64)
    for i, (push, path) in enumerate(zip(nodes, paths, strict=True)):
        times[i, : len(path)] = path
        entries[i, : len(path)] = of.row(push)
    return times, entries


@cache
def _sensitivity2(of: Strategy) -> int:
    if of.mechanism == "binary":
        return max(int(of.shift(first).sum()) for first in _powers(of.leaves))
    times, entries = _dense(of)
    order = np.argsort(-times, axis=1)
    times, entries = (np.take_along_axis(x, order, axis=1) for x in (times, entries))
    squares = np.cumsum(entries, axis=1) ** 2
    # Leaves that are looked at: those of the rows, without the spine of later epochs.
    last = 2**_EXAMINED if of.mechanism == "tree-endless" else of.nodes
    # Between two consecutive times of a row, its sum is constant.
    below = np.concatenate([times[:, 1:], np.zeros((len(times), 1), dtype=np.int64)], axis=1)
    jumps = np.zeros(last + 2, dtype=np.int64)
    np.add.at(jumps, np.minimum(below, last) + 1, squares)
    np.add.at(jumps, np.minimum(times, last) + 1, -squares)
    return int(np.cumsum(jumps)[1 : last + 1].max())


def _powers(leaves: int) -> list[int]:
    """The leaves that lie in the most binary nodes: the first, or right after a power of two.

    A test compares this with trying all leaves.
    """
    return [1, *(2**k + 1 for k in range(leaves.bit_length()) if 2**k < leaves)]
