"""Sensitivity to an event that moves in time: docs/theory.md, Theorem 12, in integers."""

from __future__ import annotations

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentValueError
from lazysketch.specification.mechanisms import Mechanism, mechanisms_for
from lazysketch.windows.cuts import MOST_SLICES_OF_TREE_LOG, leaves_of


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


@pytest.mark.parametrize("slices", [17, 480, 513, 640, 700, 760, 761, 768, 769, 850, 896, 960])
def test_a_move_is_worth_two_events_in_deep_trees(slices: int) -> None:
    """Their rows for at most 12/16 of 1,024 leaves have an end of their own."""
    mechanism = mechanisms_for("tree-deep", leaves=leaves_of(slices), growing=False)[0]
    assert mechanism.name == "tree-deep"
    assert largest_moves(mechanism)[slices - 1] <= 2 * mechanism.sensitivity2


def test_an_end_of_a_deep_tree_would_not_do() -> None:
    """The plant: from 761 to 768 slices in as many leaves a move is worth more than two events."""
    mechanism = mechanisms_for("tree-deep", leaves=768, growing=False)[0]
    worst = largest_moves(mechanism)
    assert [s for s in range(1, 769) if worst[s - 1] > 2 * mechanism.sensitivity2] == list(
        range(761, 769)
    )
    assert worst[767] == 99_557
    assert {leaves_of(s) for s in range(761, 769)} == {769}


def test_tree_log_serves_so_many_slices_and_no_more() -> None:
    """With more slices a move within a window costs more in its rows of 1,024 leaves."""
    for power in range(11):
        leaves = 1 << power
        mechanism = mechanisms_for("tree-log", leaves=leaves, growing=False)[0]
        assert mechanism.name == "tree-log"
        slices = max(s for s in range(1, 961) if leaves / 2 < leaves_of(s) <= leaves)
        worst = largest_moves(mechanism)
        assert worst[min(slices, MOST_SLICES_OF_TREE_LOG) - 1] <= 2 * mechanism.sensitivity2
        if leaves == 1024:
            assert worst[MOST_SLICES_OF_TREE_LOG] > 2 * mechanism.sensitivity2
    values = {"bins": ls.Bins([1.0]), "epsilon": 1.0, "delta": 1e-6, "every": "1h"}
    counts = {"domain": ["a"], "epsilon": 1.0, "delta": 1e-6, "every": "1h"}
    for make, options in ((ls.DistributionWindows, values), (ls.Windows, counts)):
        make(**options, mechanism="tree-log", slices=MOST_SLICES_OF_TREE_LOG)  # type: ignore[operator]
        make(**options, mechanism="tree", slices=MOST_SLICES_OF_TREE_LOG + 1)  # type: ignore[operator]
        with pytest.raises(
            ArgumentValueError, match="^mechanism: expected another one than 'tree-"
        ):
            make(**options, mechanism="tree-log", slices=MOST_SLICES_OF_TREE_LOG + 1)  # type: ignore[operator]
