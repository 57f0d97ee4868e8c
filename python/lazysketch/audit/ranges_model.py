"""A model of counts of ranges of keys, with planted bugs. NOT PRIVATE.

The model computes halves and Haar coefficients by definition, and adds them to the releases of
empty counts under the same key. Without a bug it equals the library bit for bit. Nothing here is
taken from the core, except the columns and signs of the depths that have collisions.

Source: docs/theory.md, Theorem 26.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from enum import Enum
from functools import cache

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.claimed_noise import multiplier
from lazysketch.audit.counts_system import LibraryCounts
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Table
from lazysketch.sketches.ranges import Ranges
from lazysketch.testing import seeded_key

__all__ = [
    "RangesBug",
    "RangesModel",
    "cells_of_keys",
    "equal_rows",
    "packed_depths",
    "sums_of_keys",
    "worst_over_keys",
]


class RangesBug(Enum):
    """A planted bug of counts of ranges; the value is its description."""

    NO_SUBSTITUTE = "noise of ranges without the substitute"
    NO_COLLISIONS = "noise of ranges as if every node had a cell"
    EQUAL_ROWS = "depths that change unequally counted as equal rows"
    ONE_DEPTH = "noise of ranges for one coefficient"
    NODES = "both halves of a node counted with one sign"
    OVERLAP = "packed depths that share cells"
    REPEATED = "noise of a cell of ranges repeated"
    SKIPPED = "noise of ranges skipped in empty cells"


def packed_depths(bits: int, width: int) -> int:
    """Return how many depths have a cell for each node: their numbers fit into so many rows.

    Args:
        bits: of a key.
        width: columns.

    Example:
        >>> packed_depths(32, 4096)
        16
    """
    return max(depths for depths in range(1, bits + 1) if 2**depths <= depths * width)


@cache
def cells_of_keys(case: Case, *, bug: RangesBug | None = None) -> Integers:
    """Return what an event of each key adds to every cell, by definition.

    Args:
        case: few bits, with a hash seed.
        bug: a planted bug of the cells.

    Returns:
        Shape (keys, cells).
    """
    bits, width = case.spec.depth, case.spec.width
    packed = packed_depths(bits, width)
    with Ranges.from_spec(case.spec, key=seeded_key(1)) as empty:
        located = empty.release()._native.cells
    added = np.zeros((1 << bits, case.cells), dtype=np.int64)
    for key in range(1 << bits):
        columns, negative = located(key)
        for depth in range(bits):
            node, half = key >> (bits - depth), key >> (bits - 1 - depth) & 1
            sign = 1 if bug is RangesBug.NODES else 1 - 2 * half
            if depth == 0:
                place, sign = half, 1
            elif depth < packed:
                place = node if bug is RangesBug.OVERLAP else 2**depth + node
            else:
                place = depth * width + int(columns[depth])
                sign = sign * (1 - 2 * half) * (1 - 2 * int(negative[depth]))
            added[key, place] += sign
    return added


def sums_of_keys(case: Case, events: Sequence[int], *, bug: RangesBug | None = None) -> Integers:
    """Return the exact counts of all cells after some events.

    Args:
        case: counts of ranges of few bits, with a hash seed.
        events: the key of each step, or ``NO_EVENT``.
        bug: a planted bug of the cells.

    Returns:
        Shape (cells,).
    """
    keys = np.array([event for event in events if event != NO_EVENT], dtype=np.int64)
    found: Integers = cells_of_keys(case, bug=bug)[keys].sum(axis=0)
    return found


def worst_over_keys(bits: int, width: int, *, relation: str) -> int:
    """Return the largest squared change of all cells by one event, over all row functions.

    Args:
        bits: of a key.
        width: columns.
        relation: the neighbouring relation.

    Returns:
        The largest over the first bit in which two keys differ, of a sum over depths.

    Example:
        >>> worst_over_keys(32, 4096, relation="substitution")
        96
    """
    if relation == "zero-out":
        return bits
    packed = packed_depths(bits, width)

    def change(depth: int, first: int) -> int:
        if depth < first:
            return 0  # one node, and one half of it
        if depth == first:
            return 2 if depth == 0 else 4  # both halves of the domain; one coefficient
        return 2 if depth < packed else 4  # two cells, or one that both nodes have

    return max(sum(change(depth, first) for depth in range(bits)) for first in range(bits))


def equal_rows(bits: int, width: int, *, relation: str) -> int:
    """Return how many rows share the change equally, as docs/theory.md, Theorem 26, counts them.

    Args:
        bits: of a key.
        width: columns.
        relation: the neighbouring relation.
    """
    if relation == "zero-out":
        return bits
    return max(1, worst_over_keys(bits, width, relation=relation) // 6)


class RangesModel(ModelMaker[RangesBug]):
    """A maker of model counts of ranges.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: Case, *, seed: int | None = None) -> _ModelRanges:
        """Return a model: under a random seed, or under the key of a seed and one id."""
        return _ModelRanges(case, secrets.randbits(64) if seed is None else seed, self.bug)


class _ModelRanges:
    """Model counts of ranges, published at every step."""

    def __init__(self, case: Case, seed: int, bug: RangesBug | None) -> None:
        """Make the empty counts that the noise comes from."""
        sigma = case.spec.noise.sigma * _share(case, bug)
        self._case, self._bug = case, bug
        self._empty = LibraryCounts(case, seeded_key(seed), sigma=sigma)
        self.mechanism, self.sigma = self._empty.mechanism, sigma
        self.l2_sensitivity = self._empty.l2_sensitivity
        self._events: list[int] = []

    def feed(self, events: Sequence[int]) -> None:
        """Take one step per entry."""
        self._events += events
        self._empty.feed([NO_EVENT] * len(events))

    def read(self) -> Table:
        """Return the noise of the empty counts plus the model's own cells."""
        noise = np.array(self._empty.read(), dtype=np.int64)
        sums = sums_of_keys(self._case, self._events, bug=self._bug)
        if self._bug is RangesBug.REPEATED:
            noise[2] = noise[1]
        elif self._bug is RangesBug.SKIPPED:
            noise[sums == 0] = 0
        read: Integers = noise + sums
        return read


def _share(case: Case, bug: RangesBug | None) -> float:
    """Return which part of the deviation that is needed a bug leaves."""
    spec = case.spec
    bits, width = spec.depth, spec.width
    needed = worst_over_keys(bits, width, relation=spec.relation)
    if bug is RangesBug.NO_SUBSTITUTE:
        return math.sqrt(bits / needed)
    if bug is RangesBug.NO_COLLISIONS:
        return math.sqrt(min(needed, 2 * bits) / needed)
    if bug is RangesBug.ONE_DEPTH:
        return math.sqrt(1 / needed)
    if bug is RangesBug.EQUAL_ROWS:
        rows = equal_rows(bits, width, relation=spec.relation)
        fewer, more = (multiplier(spec.epsilon, spec.delta, one) for one in (rows, bits))
        return more / fewer
    return 1.0
