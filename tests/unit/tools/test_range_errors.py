"""The table of docs/ranges.md: its hierarchies are exact without noise and collisions."""

from __future__ import annotations

import numpy as np
import pytest
from tools.range_errors import Hierarchy, cascade, nodes_of_range, table


def test_a_cascade_has_all_events() -> None:
    keys, counts = cascade(5_000, 0.6, np.random.default_rng(1))
    assert counts.sum() == 5_000
    assert counts.min() > 0
    assert np.all(np.diff(keys.astype(np.int64)) > 0)


@pytest.mark.parametrize("every", [1, 2, 4, 8])
def test_nodes_are_the_range(every: int) -> None:
    levels, chance = list(range(every, 33, every)), np.random.default_rng(every)
    for _ in range(20):
        low, high = sorted(int(end) for end in chance.integers(0, 1 << 32, 2))
        at = low
        for level, number in nodes_of_range(low, high, levels):
            size = 1 << (32 - levels[level])
            assert number * size == at
            at += size
        assert at == high


@pytest.mark.parametrize("signed", [True, False])
def test_few_keys_without_noise_have_no_error(signed: bool) -> None:
    keys = np.array([3, 70_000, 2**31, 2**32 - 1], dtype=np.uint64)
    counts = np.array([5, 7, 1, 40])
    hierarchy = Hierarchy(8, signed=signed)
    estimate = hierarchy.estimates(keys, counts, noise=0.0, chance=np.random.default_rng(3))
    assert estimate((0, 70_001)) == pytest.approx(12, abs=0.5)
    assert estimate((2**31, 2**32)) == pytest.approx(41, abs=0.5)


def test_the_sensitivity_of_levels() -> None:
    """Of 8 levels of 16,384 cells the first three have a cell for each node."""
    assert Hierarchy(4, signed=False).sensitivity2(16_384) == 16
    assert Hierarchy(4, signed=True).sensitivity2(16_384) == 2 * 3 + 4 * 5


def test_the_table_has_a_row_for_each_structure() -> None:
    lines = table(events=2_000, streams=1, questions=2).split("\n")
    assert len(lines) == 2 + 6
    assert all(line.count("|") == lines[0].count("|") for line in lines)
