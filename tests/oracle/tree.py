"""The tree mechanism with any integer rows, by its definition and in exact fractions.

docs/theory.md of lazysketch, "The tree mechanism". n = 2^k pushes. The root has time n; node
(d, v), d = 1..k and v < 2^(d-1), has time (2 v + 1) n / 2^d. Its row of the strategy matrix U has
one integer per ancestor, by depth, and one for itself. With integer draws z, one per node,

    U[v,v] N_v = z_v - sum over ancestors a of U[v,a] N_a,

and the release of push p is count + floor(N_p + 1/2). Rows are the bytes of a table file: 16-bit
little-endian integers, depth by depth. This module shares no code with the library or the tools.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from tests.oracle.haar import Matrix, NodeNoise, rounded


class Tree:
    """A table, indexed by times only: rows[p] maps the times of p's ancestors to integers."""

    def __init__(self, rows: dict[int, dict[int, int]]) -> None:
        self.rows = rows
        self.n = max(rows)
        # Parents before children: the smaller the lowest set bit of a time, the deeper its node.
        self.order = sorted(rows, key=lambda p: -(p & -p))

    @classmethod
    def from_bytes(cls, data: bytes) -> Tree:
        """The rows of a table file."""
        entries = iter(struct.unpack(f"<{len(data) // 2}h", data))
        # k + 1 depths of (1 + sum over d >= 1 of 2^(d-1) (d+1)) entries: 1 + k 2^k.
        k = next(k for k in range(1, 30) if 1 + k * 2**k >= len(data) // 2)
        n = 2**k
        rows = {n: {n: next(entries)}}
        for d in range(1, k + 1):
            for v in range(2 ** (d - 1)):
                path = [n] + [(2 * (v >> (d - i)) + 1) * n // 2**i for i in range(1, d + 1)]
                rows[path[-1]] = {time: next(entries) for time in path}
        if next(entries, None) is not None:
            raise ValueError("table: expected 1 + k 2^k entries")
        return cls(rows)

    def noise(self, draws: NodeNoise) -> dict[int, Fraction]:
        """N_p for every push, by the recursion above."""
        found: dict[int, Fraction] = {}
        for p in self.order:
            row = self.rows[p]
            rest = draws(p) - sum((x * found[a] for a, x in row.items() if a != p), Fraction(0))
            found[p] = rest / row[p]
        return found

    def released(self, draws: NodeNoise) -> list[int]:
        """The releases of pushes 1..n of an empty cell."""
        noise = self.noise(draws)
        return [rounded(noise[p]) for p in range(1, self.n + 1)]

    def weights(self, p: int) -> dict[int, Fraction]:
        """The non-zero entries of row p of L: the weight of each draw in the noise of push p.

        Leaf n + 1 is that of a final push after n others: N_(n+1) = N_n + z_(n+1) / a.
        """
        if p == self.n + 1:
            largest = math.isqrt(max(self.changes()[0]))
            return {**self.weights(self.n), p: Fraction(1, largest)}
        row = self.rows[p]
        found = {p: Fraction(1, row[p])}
        for a, x in row.items():
            if a != p:
                for node, weight in self.weights(a).items():
                    found[node] = found.get(node, Fraction(0)) - Fraction(x, row[p]) * weight
        return found

    def strategy_matrix(self) -> Matrix:
        """U: row p - 1 belongs to the node of time p."""
        return [
            [Fraction(self.rows[p].get(t, 0)) for t in range(1, self.n + 1)]
            for p in range(1, self.n + 1)
        ]

    def decoder_matrix(self) -> Matrix:
        """L, column by column: the noise if only one draw is 1."""
        columns = [self.noise(lambda node, v=v: int(node == v)) for v in range(1, self.n + 1)]  # type: ignore[misc]
        return [[column[p] for column in columns] for p in range(1, self.n + 1)]

    def changes(self) -> tuple[list[int], list[int]]:
        """||U 1_{t >= l}||^2 and its number of non-zero entries, for l = 1..n.

        From the last leaf down: a step at l instead of l + 1 adds column l of U.
        """
        columns: dict[int, list[tuple[int, int]]] = {time: [] for time in self.rows}
        for p, row in self.rows.items():
            for time, entry in row.items():
                columns[time].append((p, entry))
        sums = dict.fromkeys(self.rows, 0)
        square, squares, counts, changed = 0, [], [], 0
        for leaf in range(self.n, 0, -1):
            for p, entry in columns[leaf]:
                old, sums[p] = sums[p], sums[p] + entry
                square += sums[p] ** 2 - old**2
                changed += (sums[p] != 0) - (old != 0)
            squares.append(square)
            counts.append(changed)
        return squares[::-1], counts[::-1]
