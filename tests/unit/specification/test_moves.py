"""What a count costs that moves to a later push: docs/theory.md, Lemma 23a, in exact integers.

The factor 9/4 is a fact about the tables that ship. Nothing here uses the code of the library but
the facts that it states.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.oracle.tree import Tree
from tools.tree_tables.shared import Shared, largest_move

from lazysketch import Mechanism
from lazysketch.privacy.relations import table_sensitivity2

ROOT = Path(__file__).parents[3] / "rust/core/src/mechanism"
TREES = sorted((ROOT / "tree/tables").glob("*.i16"))
DEEP = {m: ROOT / f"deep/tables/deep_{m}.i16" for m in (9, 10, 12, 14, 16)}
FACTOR = Fraction(9, 4)
BLOCK = 1024


def depth_of(file: Path) -> int:
    return int(file.stem.removesuffix("_log").removeprefix("tree_k"))


def large(file: Path) -> bool:
    return depth_of(file) > 10


def shifts_of(file: Path) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """U 1(t >= l) for every leaf l, one column each."""
    tree = Tree.from_bytes(file.read_bytes())
    shifts = np.zeros((tree.n, tree.n))
    for node, row in tree.rows.items():
        for time, entry in row.items():
            shifts[node - 1, :time] += entry
    return shifts


def largest_distance(shifts: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> int:
    """The largest D(a, b) of two leaves. Integers below 2^53 are exact in floats."""
    norms = (shifts**2).sum(axis=0)
    largest = 0.0
    for start in range(0, len(norms), BLOCK):
        products = shifts[:, start : start + BLOCK].T @ shifts
        moves = norms[start : start + BLOCK, None] + norms[None] - 2 * products
        largest = max(largest, moves.max())
    return int(largest)


def test_the_factor_is_that_of_the_calibration() -> None:
    assert table_sensitivity2("distinct", depth=1, relation="zero-out") == FACTOR
    assert table_sensitivity2("distinct", depth=1, relation="substitution") == 4 * FACTOR


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=[pytest.mark.long] if large(file) else []) for file in TREES],
    ids=lambda file: file.stem,
)
def test_moves_within_a_table(file: Path) -> None:
    name = "tree-log" if file.stem.endswith("_log") else "tree"
    mechanism = Mechanism(name, leaves=2 ** depth_of(file))
    found = largest_distance(shifts_of(file))
    assert 0 < found <= FACTOR * mechanism.sensitivity2
    if file.stem == "tree_k10_log":
        # The largest of all: a factor of 2.2 would not do.
        assert found > Fraction(22, 10) * mechanism.sensitivity2


def test_all_tables_are_examined() -> None:
    """With those that only a long run examines."""
    assert {depth_of(file) for file in TREES} == set(range(2, 15))
    assert sum(file.stem.endswith("_log") for file in TREES) == 2


@pytest.mark.parametrize("power", range(9))
def test_moves_in_haar_rows(power: int) -> None:
    """The root has 3; a node below has 4, and -2 at both ends of its block."""
    leaves = 2**power
    rows = {leaves: {leaves: 3}}
    for depth in range(1, power + 1):
        half = leaves >> depth
        for time in range(half, leaves, 2 * half):
            ends = {end: -2 for end in (time - half, time + half) if end > 0}
            rows[time] = {time: 4, **ends}
    shifts = np.zeros((leaves, leaves))
    for node, row in rows.items():
        for time, entry in row.items():
            shifts[node - 1, :time] += entry
    found = largest_distance(shifts)
    assert found == (8 * power + 8 if power else 0)
    assert found <= FACTOR * Mechanism("haar", leaves=leaves).sensitivity2


@pytest.mark.parametrize("k", [10, 11, 14, 20, 32, 48])
@pytest.mark.parametrize("sixteenths", sorted(DEEP))
def test_moves_in_shared_rows(sixteenths: int, k: int) -> None:
    """By the recursion, which `test_deep_tree.py` compares with all pairs of leaves."""
    shared = Shared.read(DEEP[sixteenths].read_bytes())
    mechanism = Mechanism("tree-deep", leaves=sixteenths * 2 ** (k - 4))
    assert largest_move(shared, k, 8 * sixteenths) <= FACTOR * mechanism.sensitivity2


@pytest.mark.parametrize("k", [11, 12, 20, 40])
@pytest.mark.parametrize("sixteenths", [9, 10, 12, 14, 16])
def test_fewer_leaves_have_the_sensitivity_of_their_part(sixteenths: int, k: int) -> None:
    """So the distance within the part bounds that within any first leaves of it."""
    before = {9: 8, 10: 9, 12: 10, 14: 12, 16: 14}[sixteenths]
    most = Mechanism("tree-deep", leaves=sixteenths * 2 ** (k - 4))
    least = Mechanism("tree-deep", leaves=before * 2 ** (k - 4) + 1)
    assert least.sensitivity2 == most.sensitivity2


@pytest.mark.parametrize("name", ["tree", "tree-log", "tree-deep", "haar"])
def test_a_move_to_the_extra_leaf(name: str) -> None:
    """The final push has a row of its own with an entry a, a^2 <= sensitivity2."""
    sensitivity2 = Mechanism(name, leaves=1024).sensitivity2  # type: ignore[arg-type]
    assert sensitivity2 + math.isqrt(int(sensitivity2)) ** 2 <= FACTOR * sensitivity2
