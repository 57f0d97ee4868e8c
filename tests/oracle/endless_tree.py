"""The tree mechanism without a horizon, and its noise, by definition.

docs/theory.md of lazysketch, "No horizon". Pushes 1, 2, 4, ... are the spine; epoch j has pushes
2^(j-1) + 1 .. 2^j, and its other nodes are those of the right half of a tree with shared rows. This
module shares no code with the library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction

from tests.oracle.deep_tree import DeepTree, RoundedTree


class EndlessTree(RoundedTree):
    """Rows by the times of nodes."""

    def __init__(self, shared: bytes, spine: bytes) -> None:
        """Take the tables apart: 6 integers per epoch."""
        entries = struct.unpack(f"<{len(spine) // 2}h", spine)
        self.spine = [entries[at : at + 6] for at in range(0, len(entries), 6)]
        self.trees = {j: DeepTree(shared, j) for j in range(2, len(self.spine))}

    def epoch(self, time: int) -> int:
        """The epoch of a push."""
        return (time - 1).bit_length()

    def row(self, time: int) -> dict[int, int]:
        """The row of U for the node with this time: entries by time."""
        j = self.epoch(time)
        *before, own, factor = self.spine[j]
        if time == 2**j:
            row = {2 ** (j - 4 + i): entry for i, entry in enumerate(before) if j - 4 + i >= 0}
            return {**row, time: own}
        tree = self.trees[j]
        depth, _ = tree.node(time)

        def scaled(entry: int) -> int:
            return (entry * factor + 2**12) // 2**13

        whole = tree.row(time)
        if depth <= 7:
            row = {at: scaled(entry) for at, entry in whole.items() if at != tree.n // 2}
            return {**row, tree.n // 2: -sum(row.values())}
        path = tree.path(time)
        middle, half = path[depth - 6], tree.n // 2 ** (depth - 6)
        # The left end of the block of the 6th ancestor gets minus the sum of the others.
        left = middle - half
        _, v = tree.node(time)
        own_entry, *above, right = tree.shared[max(0, depth - (j - 3))][v % 64]
        row = {time: scaled(own_entry)}
        for i, entry in enumerate(above, start=1):
            row[path[depth - i]] = scaled(entry)
        row[middle + half] = row.get(middle + half, 0) + scaled(right)
        row[left] = row.get(left, 0) - sum(row.values())
        return row

    def path(self, time: int) -> list[int]:
        """The spine up to the end of the epoch, then the nodes of the epoch down to a push."""
        j = self.epoch(time)
        spine = [2**i for i in range(j + 1)]
        return spine if time == 2**j else spine + self.trees[j].path(time)[2:]

    def variance(self, time: int) -> Fraction:
        """Variance of the noise of a push before rounding, in units of sigma^2."""
        path = self.path(time)
        weights = dict.fromkeys(path, Fraction(0))
        weights[time] = Fraction(1)
        found = Fraction(0)
        for node in reversed(path):
            row = self.row(node)
            weight = weights[node] / row[node]
            found += weight * weight
            for at, entry in row.items():
                if at != node and entry:
                    weights[at] -= weight * entry
        return found

    def changes(self, last: int) -> Iterator[tuple[int, int, int]]:
        """Leaf, ||U 1(t >= l)||^2 and its non-zero entries, for the leaves of the first epochs."""
        columns: dict[int, list[tuple[int, int]]] = {}
        for node in range(1, 2**last + 1):
            for time, entry in self.row(node).items():
                columns.setdefault(time, []).append((node, entry))
        sums: dict[int, int] = {}
        for j in range(last + 1, len(self.spine)):
            for time, entry in self.row(2**j).items():
                columns.setdefault(time, []).append((2**j, entry))
        square, changed = 0, 0
        for leaf in sorted(columns, reverse=True):
            for node, entry in columns[leaf]:
                old = sums.get(node, 0)
                sums[node] = old + entry
                square += sums[node] ** 2 - old**2
                changed += (sums[node] != 0) - (old != 0)
            if leaf <= 2**last:
                yield leaf, square, changed
