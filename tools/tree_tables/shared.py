"""Rows that all nodes of a depth share: independent checks of the tables for more than 2^14 pushes.

A table has the rows of depths 0 to 7, then four sets of 64 rows of 8 entries (own, 6 nearest
ancestors, right end of the block of the 6th; the left end of that block gets minus their sum):
one set for all depths below 7 but the last three, which have the others. Node (d, v) takes row v
mod 64.

:func:`streamed` computes the squared norm of every leaf node by node, :func:`sensitivity` and
:func:`largest_move` by the recursions of docs/theory.md, "Shared rows" and "Windows of a stream",
in exact integers. None of them shares code with the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Shared", "largest_move", "sensitivity", "streamed"]

Integers: TypeAlias = npt.NDArray[np.int64]

_TOP, _TURNS, _LAST = 7, 6, 3
_ROWS, _PIECES = 1 << _TURNS, 2 << _TURNS
_NEVER = -(2**60)


@dataclass(frozen=True)
class Shared:
    """The rows of one file: ``top[d]`` of shape (nodes, d + 1), ``sets`` of shape (4, 64, 8)."""

    top: tuple[Integers, ...]
    sets: Integers

    @classmethod
    def read(cls, data: bytes) -> Shared:
        """Return the rows in the bytes of a file."""
        entries = np.frombuffer(data, dtype="<i2").astype(np.int64)
        if entries[:4].tolist() != [_TOP, _TURNS, _LAST, 0]:
            raise ValueError("table: expected the header 7, 6, 3, 0")
        top, at = [], 4
        for d in range(_TOP + 1):
            nodes = 1 if d == 0 else 1 << (d - 1)
            top.append(entries[at : at + nodes * (d + 1)].reshape(nodes, d + 1))
            at += nodes * (d + 1)
        return cls(tuple(top), entries[at:].reshape(_LAST + 1, _ROWS, _TURNS + 2))

    def set_of(self, k: int, d: int) -> int:
        """Return the set of rows of depth d > 7 in a tree of depth k."""
        return max(0, d - (k - _LAST))

    def top_sums(self) -> Integers:
        """Return the sums of the rows of depths 0 to 7 over times from a leaf on, by 128 pieces."""
        found = []
        for d, rows in enumerate(self.top):
            for v, row in enumerate(rows):
                sums = np.zeros(1 << _TOP, dtype=np.int64)
                for i, entry in enumerate(row):
                    time = 1 << _TOP if i == 0 else (2 * (v >> (d - i)) + 1) << (_TOP - i)
                    sums[:time] += entry
                found.append(sums)
        return np.array(found)

    def block_sums(self, of: int) -> Integers:
        """Return the same for the 64 nodes of one depth in a block, by its 128 pieces."""
        sums = np.zeros((_ROWS, _PIECES), dtype=np.int64)
        for turns, row in enumerate(self.sets[of]):
            for i in range(_TURNS + 1):
                sums[turns, : (2 * (turns >> i) + 1) << i] += row[i]
            sums[turns] += row[-1]
        return sums


def streamed(shared: Shared, k: int) -> tuple[Integers, Integers]:
    """Return ||U 1(t >= l)||^2 and its number of non-zero entries for all leaves of 2^k.

    Each node adds the squares of its row's sums to a difference array over leaves.
    """
    squares, counts = (np.zeros((1 << k) + 2, dtype=np.int64) for _ in range(2))
    for d in range(k + 1):
        times, entries = _support(shared, k, d)
        order = np.argsort(times, axis=1, kind="stable")
        times = np.take_along_axis(times, order, axis=1)
        entries = np.take_along_axis(entries, order, axis=1)
        rest, begin = entries.sum(axis=1), np.ones(len(times), dtype=np.int64)
        for time, entry in zip(times.T, entries.T, strict=True):
            for total, added in ((squares, rest**2), (counts, (rest != 0).astype(np.int64))):
                np.add.at(total, begin, added)
                np.subtract.at(total, time + 1, added)
            rest, begin = rest - entry, time + 1
    return np.cumsum(squares)[1:-1], np.cumsum(counts)[1:-1]


def _support(shared: Shared, k: int, d: int) -> tuple[Integers, Integers]:
    """Return times and entries of all rows of a depth."""
    v = np.arange(1 if d == 0 else 1 << (d - 1), dtype=np.int64)
    if d <= _TOP:
        times = [np.full_like(v, 1 << k)]
        times += [(2 * (v >> (d - i)) + 1) << (k - i) for i in range(1, d + 1)]
        return np.stack(times, axis=1), shared.top[d]
    rows = shared.sets[shared.set_of(k, d)][v % _ROWS]
    times = [(2 * (v >> i) + 1) << (k - d + i) for i in range(_TURNS + 1)]
    left = (v >> _TURNS) << (k - d + _TURNS + 1)
    times += [left + (1 << (k - d + _TURNS + 1)), left]
    ends = np.where(left > 0, -rows.sum(axis=1), 0)
    return np.stack(times, axis=1), np.column_stack([rows, ends])


def sensitivity(shared: Shared, k: int, pieces: int = 1 << _TOP) -> int:
    """Return the largest ||U 1(t >= l)||^2 over the leaves of the first pieces, of 128."""
    top = (shared.top_sums() ** 2).sum(axis=0)
    top[pieces:] = _NEVER
    windows = [(shared.block_sums(of) ** 2).sum(axis=0) for of in range(_LAST + 1)]
    states = top.reshape(2, _ROWS).max(axis=0)
    for d in range(_TOP + 1, k + 1):
        states = (np.repeat(states, 2) + windows[shared.set_of(k, d)]).reshape(2, _ROWS).max(axis=0)
    return int(states.max())


def largest_move(shared: Shared, k: int, pieces: int = 1 << _TOP) -> int:
    """Return the largest D(a, b) of two leaves in the first pieces, of 128.

    The digits of two leaves first differ at a depth j. Rows of a depth up to j + 6 can lie on a
    block of both, deeper ones on a block of one. So the state is the last 6 digits of both.
    """
    top = shared.top_sums()
    both = [_distances(shared.block_sums(of)) for of in range(_LAST + 1)]
    one = [(shared.block_sums(of) ** 2).sum(axis=0) for of in range(_LAST + 1)]
    apart = [norms[:, None] + norms[None] for norms in one]
    best = 0
    for first in range(1, k + 1):
        if first <= _TOP:
            states, depth = _diverging_at_the_top(_distances(top), first, pieces), _TOP + 1
        else:
            zero = 2 * np.arange(_ROWS)
            windows = np.full((_PIECES, _PIECES), _NEVER)
            windows[zero, zero + 1] = both[shared.set_of(k, first)][zero, zero + 1]
            states, depth = _last_digits(windows), first + 1
        for d in range(depth, k + 1):
            added = (both if d <= first + _TURNS else apart)[shared.set_of(k, d)]
            states = _last_digits(np.repeat(np.repeat(states, 2, axis=0), 2, axis=1) + added)
        best = max(best, int(states.max()))
    return best


def _distances(sums: Integers) -> Integers:
    """Return the squared distances of all pairs of columns."""
    norms = (sums**2).sum(axis=0)
    distances: Integers = norms[:, None] + norms[None] - 2 * sums.T @ sums
    return distances


def _diverging_at_the_top(distances: Integers, first: int, pieces: int) -> Integers:
    """Return the states of pairs of pieces whose digits differ first at a depth up to 7."""
    piece = np.arange(1 << _TOP)
    shift = _TOP - first
    siblings = (piece[:, None] >> shift) + 1 == piece[None] >> shift
    parents = piece[:, None] >> (shift + 1) == piece[None] >> (shift + 1)
    allowed = siblings & parents & (piece[None] < pieces)
    return _last_digits(np.where(allowed, distances, _NEVER))


def _last_digits(windows: Integers) -> Integers:
    """Return the largest value for each pair of last 6 digits."""
    largest: Integers = windows.reshape(2, _ROWS, 2, _ROWS).max(axis=(0, 2))
    return largest
