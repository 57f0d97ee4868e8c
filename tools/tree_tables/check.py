"""Exact-integer check of a table: everything that the library recomputes when it loads one.

Written from the definitions in Python integers, independently of the Rust code; both follow
docs/theory.md. Up to k = 10 dense linear algebra computes the same figures again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from tools.tree_tables.layout import Rows, depth_of, nodes_at, times

__all__ = ["DENSE", "Facts", "TableError", "check", "dense_agrees"]

DENSE = 10
_BITS = 124  # of numerators and denominators: see mechanism/rounding.rs
_REACH = 13.2  # no draw exceeds this many sigma, and 1


class TableError(ValueError):
    """Raised when a table cannot be used, or differs from its description."""


@dataclass(frozen=True)
class Facts:
    """Figures that follow from the rows."""

    k: int
    sensitivity2: int
    nodes_per_leaf: int
    largest_sum: int
    largest_denominator: int
    variances: tuple[float, ...]  # of pushes 1..n, in units of sigma^2

    @property
    def largest_variance(self) -> float:
        """Largest variance of a release at sensitivity 1."""
        return self.sensitivity2 * max(self.variances)

    @property
    def mean_variance(self) -> float:
        """Mean variance of a release at sensitivity 1."""
        return self.sensitivity2 * math.fsum(self.variances) / len(self.variances)

    @property
    def largest_sigma(self) -> float:
        """Largest sigma for which 2 sum|num| (13.2 sigma + 1) + den stays below 2^126."""
        room = (2**126 - self.largest_denominator) / (2 * self.largest_sum)
        return (room - 1.0) / _REACH

    def __str__(self) -> str:
        """One line of figures."""
        return (
            f"k={self.k} sensitivity2={self.sensitivity2} nodes per leaf={self.nodes_per_leaf} "
            f"variance max={self.largest_variance:.4f} mean={self.mean_variance:.4f} "
            f"log2 sum={math.log2(self.largest_sum):.1f} "
            f"den={math.log2(self.largest_denominator):.1f} "
            f"sigma up to {self.largest_sigma:.3g}"
        )


def check(rows: Rows) -> Facts:
    """Return the facts of a table; raise TableError if it cannot be used."""
    k = depth_of(rows)
    if any(array.dtype.kind != "i" for array in rows):
        raise TableError("expected integer rows; quantise first")
    entries = [[[int(entry) for entry in row] for row in array] for array in rows]
    if any(row[-1] == 0 for depth in entries for row in depth):
        raise TableError("expected no zero on the diagonal: the matrix has no inverse")
    squares, changed = _steps(k, entries)
    sums, denominators, variances = _decoder(k, entries)
    if max(*sums, *denominators) >= 1 << _BITS:
        raise TableError(f"expected numerators and denominators of {_BITS} bits")
    facts = Facts(k, max(squares), max(changed), max(sums), max(denominators), tuple(variances))
    if facts.largest_sigma < 1.0:
        raise TableError("expected room for a sigma of 1 within 126 bits")
    return facts


def _steps(k: int, entries: list[list[list[int]]]) -> tuple[list[int], list[int]]:
    """Return ||U 1_{t >= l}||^2 and the number of its non-zero entries, for every leaf l."""
    n = 1 << k
    squares, changed = [0] * (n + 1), [0] * (n + 1)
    for depth in range(k + 1):
        for row, when in zip(entries[depth], times(k, depth).tolist(), strict=True):
            start = 0
            left = sum(row)
            for time, entry in sorted(zip(when, row, strict=True)):
                # Leaves start < l <= time cover the rest of the row.
                squares[start] += left * left
                squares[time] -= left * left
                changed[start] += left != 0
                changed[time] -= left != 0
                start, left = time, left - entry
    return _running(squares)[:n], _running(changed)[:n]


def _running(differences: list[int]) -> list[int]:
    total, found = 0, []
    for each in differences:
        total += each
        found.append(total)
    return found


def _decoder(k: int, entries: list[list[list[int]]]) -> tuple[list[int], list[int], list[float]]:
    """Return the sum of |numerators|, the denominator and the variance, by push number.

    The row of the inverse for node v solves R^T x = e_last along v's path. Over the denominator
    D = product of the diagonal it is integer: x_j = -(sum over i > j of x_i R[i,j]) / R[j,j].
    """
    n = 1 << k
    sums, denominators, variances = [0] * n, [0] * n, [0.0] * n
    for depth in range(k + 1):
        when = times(k, depth)[:, -1].tolist()
        for v in range(nodes_at(depth)):
            path = [entries[i][v >> (depth - i) if i else 0] for i in range(depth + 1)]
            denominator = math.prod(row[-1] for row in path)
            numerators = [0] * (depth + 1)
            numerators[depth] = denominator // path[depth][depth]
            for j in reversed(range(depth)):
                rest = sum(numerators[i] * path[i][j] for i in range(j + 1, depth + 1))
                quotient, remainder = divmod(-rest, path[j][j])
                if remainder:
                    raise TableError("expected the diagonal's product as common denominator")
                numerators[j] = quotient
            push = when[v] - 1
            sums[push] = sum(abs(numerator) for numerator in numerators)
            denominators[push] = abs(denominator)
            squares = sum(numerator * numerator for numerator in numerators)
            variances[push] = squares / (denominator * denominator)
    return sums, denominators, variances


def dense_agrees(rows: Rows, facts: Facts) -> bool:
    """Return True if the dense matrices U A and U^-1 give the same figures; for k up to 10."""
    k = facts.k
    n = 1 << k
    strategy = np.zeros((n, n))
    for depth in range(k + 1):
        when = times(k, depth)
        for row, on in zip(rows[depth], when, strict=True):
            strategy[on[-1] - 1, on - 1] = row
    columns = np.square(strategy @ np.tril(np.ones((n, n)))).sum(0)
    variances = np.square(np.linalg.inv(strategy)).sum(1)
    exact = columns.max() == facts.sensitivity2  # integers far below 2^53
    return bool(exact and np.allclose(variances, facts.variances, rtol=1e-9, atol=0.0))
