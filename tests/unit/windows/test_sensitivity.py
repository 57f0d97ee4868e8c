"""Sensitivity to an event that moves in time: docs/theory.md, Theorem 12, in integers."""

from __future__ import annotations

import numpy as np
import pytest

from lazysketch.audit.strategy import strategy
from lazysketch.specification.mechanisms import Mechanism, mechanisms_for
from lazysketch.windows.cuts import leaves_of


def largest_moves(mechanism: Mechanism) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Largest squared shift of one cell by a move among the first s leaves, for s = 1 .. leaves."""
    rows = strategy(mechanism.name, mechanism.leaves)
    shifts = np.array([rows.shift(leaf) for leaf in range(1, mechanism.leaves + 1)])
    products = shifts @ shifts.T  # entries are below 2^8, sums below 2^32
    norms = np.diag(products)
    moves = norms[:, None] + norms[None, :] - 2 * products
    return np.maximum.accumulate(np.tril(moves).max(axis=1))


@pytest.mark.parametrize("power", range(11))
@pytest.mark.parametrize("preferred", [0, -1], ids=["tree", "haar"])
def test_a_move_is_worth_two_events_at_most(power: int, preferred: int) -> None:
    """For every number of slices that gets a table of this size."""
    leaves = 1 << power
    slices = [s for s in range(1, 961) if leaves / 2 < leaves_of(s) <= leaves]
    assert slices
    mechanism = mechanisms_for("tree", leaves=leaves, growing=False)[preferred]
    smallest = mechanisms_for("tree", leaves=leaves_of(slices[0]), growing=False)[preferred]
    assert mechanism.sensitivity2 == smallest.sensitivity2
    worst = largest_moves(mechanism)
    assert worst[max(slices) - 1] <= 2 * mechanism.sensitivity2


def test_a_full_table_would_not_do() -> None:
    """The plant: with 64 slices in 64 leaves a move is worth more than two events."""
    mechanism = mechanisms_for("tree", leaves=64, growing=False)[0]
    assert largest_moves(mechanism)[63] > 2 * mechanism.sensitivity2
    assert leaves_of(64) == 65
    assert [leaves_of(s) for s in (1, 16, 30, 31, 60, 61, 960)] == [1, 16, 30, 33, 60, 65, 960]
