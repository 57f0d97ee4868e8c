"""A model of distributions of values, with planted bugs. NOT PRIVATE.

The model computes the node sums over bins by definition, and adds them to the releases of an empty
distribution under the same key. Without a bug it equals the library bit for bit.

Source: docs/theory.md, Theorem 24.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from enum import Enum
from functools import cache

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.counts_system import LibraryCounts
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import strategy
from lazysketch.audit.system_under_test import Table
from lazysketch.specification.value_tree import ValueRows
from lazysketch.testing import seeded_key

__all__ = ["ValuesBug", "ValuesModel", "node_sums", "tree_over_bins", "worst_over_bins"]


class ValuesBug(Enum):
    """A planted bug of distributions of values; the value is its description."""

    NO_SUBSTITUTE = "noise of values without the substitute"
    TIME_ALONE = "noise of values for the tree over time alone"
    BINS = "counts of bins with the noise of node sums"
    REPEATED = "noise of a node over bins repeated"
    EXACT_TOTAL = "a total of values without noise"
    SKIPPED = "noise skipped in bins without values"


@cache
def tree_over_bins(rows: ValueRows, bins: int) -> Integers:
    """Return what a value of each bin adds to every node, by definition.

    Args:
        rows: the rows over bins.
        bins: a power of two.

    Returns:
        Shape (bins, nodes): V 1(t >= b), from the rows of time. Those of ``"tree"`` are divided by
        4 and rounded, halves towards 0.
    """
    over_time = strategy(rows, bins)
    added = np.array([over_time.shift(first) for first in range(1, bins + 1)])
    if rows == "haar":
        return added
    found: Integers = np.sign(added) * ((2 * np.abs(added) + 3) // 8)
    return found


def _added(case: Case) -> Integers:
    """Return what a value of each bin of a distribution adds to every node."""
    rows = case.spec.value_rows
    if rows is None:
        raise AssertionError("case: expected a distribution, got another kind")
    return tree_over_bins(rows, case.cells)


def worst_over_bins(case: Case, *, relation: str) -> int:
    """Return the largest squared change of all nodes over bins by one event.

    Args:
        case: the distribution.
        relation: the neighbouring relation, of the distribution or another one.

    Returns:
        Over all bins, under substitution over all pairs of bins too.
    """
    added = _added(case).astype(np.float64)  # the products are exact below 2^53
    gram = added @ added.T
    own = np.diag(gram)
    if relation == "zero-out":
        return int(own.max())
    return int(max(own.max(), (own[:, None] + own[None, :] - 2 * gram).max()))


def node_sums(case: Case, events: Sequence[int]) -> Integers:
    """Return the exact sums of all nodes after some events.

    Args:
        case: a distribution whose edges are 1, 2, .., so that the bin of a value is the value.
        events: the value of each step, or ``NO_EVENT``.

    Returns:
        Shape (nodes,).
    """
    values = [event for event in events if event != NO_EVENT]
    counts = np.bincount(np.array(values, dtype=np.int64), minlength=case.cells)
    found: Integers = counts @ _added(case)
    return found


class ValuesModel(ModelMaker[ValuesBug]):
    """A maker of model distributions.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: Case, *, seed: int | None = None) -> _ModelValues:
        """Return a model: under a random seed, or under the key of a seed and one id."""
        return _ModelValues(case, secrets.randbits(64) if seed is None else seed, self.bug)


class _ModelValues:
    """A model distribution, published at every step."""

    def __init__(self, case: Case, seed: int, bug: ValuesBug | None) -> None:
        """Make the empty distribution that the noise comes from."""
        spec = case.spec
        covered = worst_over_bins(case, relation=spec.relation)
        left = covered
        if bug is ValuesBug.NO_SUBSTITUTE:
            left = worst_over_bins(case, relation="zero-out")
        elif bug is ValuesBug.TIME_ALONE:
            left = 1
        sigma = spec.noise.sigma * float(np.sqrt(left / covered))
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
        """Return the noise of the empty distribution plus the model's own node sums."""
        noise = np.array(self._empty.read(), dtype=np.int64)
        values = [event for event in self._events if event != NO_EVENT]
        bins = np.bincount(np.array(values, dtype=np.int64), minlength=self._case.cells)
        sums = node_sums(self._case, self._events)
        if self._bug is ValuesBug.BINS:
            sums = bins
        elif self._bug is ValuesBug.REPEATED:
            noise[2] = noise[1]
        elif self._bug is ValuesBug.EXACT_TOTAL:
            noise[-1] = 0  # the node of all bins
        elif self._bug is ValuesBug.SKIPPED:
            noise[bins == 0] = 0
        read: Integers = noise + sums
        return read
