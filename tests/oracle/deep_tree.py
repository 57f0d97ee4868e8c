"""The tree mechanism with shared rows, and rounding at every node, by definition.

docs/theory.md of lazysketch, "Shared rows" and "Rounding at every node". n = 2^k pushes; nodes,
times and ancestors are those of the tree. Rows are the integers of a table file: 7, 6, 3, 0; the
rows of depths 0 to 7; four tables of 64 rows. This module shares no code with the library or the
tools.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction


class RoundedTree(ABC):
    """A tree whose noise is rounded at every node."""

    @abstractmethod
    def row(self, time: int) -> dict[int, int]:
        """The row of U for the node with this time: entries by time."""

    @abstractmethod
    def path(self, time: int) -> list[int]:
        """Times of the nodes from which the noise of a push follows, its own last."""

    def rounded_noise(self, time: int, draws: Callable[[int], int]) -> int:
        """The noise of a push: floor of combination + 1/2 at every node of its path."""
        noise: dict[int, int] = {}
        for node in self.path(time):
            row = self.row(node)
            known = sum(entry * noise[at] for at, entry in row.items() if at != node and entry)
            noise[node] = (2 * (draws(node) - known) + row[node]) // (2 * row[node])
        return noise[time]


class DeepTree(RoundedTree):
    """Rows by the times of nodes, for one file and one k."""

    def __init__(self, data: bytes, k: int) -> None:
        """Take the table apart."""
        entries = list(struct.unpack(f"<{len(data) // 2}h", data))
        if entries[:4] != [7, 6, 3, 0]:
            raise ValueError("table: expected another header")
        self.k, self.n = k, 2**k
        rest = iter(entries[4:])
        self.top = {
            (d, v): [next(rest) for _ in range(d + 1)]
            for d in range(8)
            for v in range(1 if d == 0 else 2 ** (d - 1))
        }
        self.shared = [[[next(rest) for _ in range(8)] for _ in range(64)] for _ in range(4)]
        if next(rest, None) is not None:
            raise ValueError("table: expected another length")

    def time(self, d: int, v: int) -> int:
        """The time of node (d, v)."""
        return self.n if d == 0 else (2 * v + 1) * self.n // 2**d

    def node(self, time: int) -> tuple[int, int]:
        """Depth and index of the node with this time."""
        d = 0
        while time * 2**d % self.n:
            d += 1
        return (0, 0) if d == 0 else (d, (time * 2**d // self.n - 1) // 2)

    def row(self, time: int) -> dict[int, int]:
        """The row of U for the node with this time: entries by time."""
        d, v = self.node(time)
        if d <= 7:
            times = [self.time(i, 0 if i == 0 else v >> (d - i)) for i in range(d + 1)]
            return dict(zip(times, self.top[d, v], strict=True))
        own, *above, right = self.shared[max(0, d - (self.k - 3))][v % 64]
        row = {time: own}
        for i, entry in enumerate(above, start=1):
            row[self.time(d - i, v >> i)] = entry
        # The block of the 6th ancestor, which lies in its middle.
        middle, half = self.time(d - 6, v >> 6), self.n // 2 ** (d - 6)
        row[middle + half] = row.get(middle + half, 0) + right
        if middle > half:
            row[middle - half] = row.get(middle - half, 0) - own - sum(above) - right
        return row

    def path(self, time: int) -> list[int]:
        """Times of the ancestors of a node, root first, then its own."""
        d, v = self.node(time)
        return [self.time(i, 0 if i == 0 else v >> (d - i)) for i in range(d + 1)]

    def variance(self, time: int) -> Fraction:
        """Variance of the noise of a push before rounding, in units of sigma^2."""
        weights: dict[int, dict[int, Fraction]] = {}
        for node in self.path(time):
            row = self.row(node)
            found = {node: Fraction(1, row[node])}
            for at, entry in row.items():
                if at != node and entry:
                    for draw, weight in weights[at].items():
                        found[draw] = found.get(draw, Fraction(0)) - weight * entry / row[node]
            weights[node] = found
        return sum((w * w for w in weights[time].values()), Fraction(0))

    def changes(self) -> Iterator[tuple[int, int]]:
        """||U 1(t >= l)||^2 and its number of non-zero entries, for l = n down to 1."""
        columns: dict[int, list[tuple[int, int]]] = {time: [] for time in range(1, self.n + 1)}
        for node in range(1, self.n + 1):
            for time, entry in self.row(node).items():
                columns[time].append((node, entry))
        sums = dict.fromkeys(columns, 0)
        square, changed = 0, 0
        for leaf in range(self.n, 0, -1):
            for node, entry in columns[leaf]:
                old, sums[node] = sums[node], sums[node] + entry
                square += sums[node] ** 2 - old**2
                changed += (sums[node] != 0) - (old != 0)
            yield square, changed
