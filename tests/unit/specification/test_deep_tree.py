"""Trees with shared rows, and noise that is rounded at every node, against their definitions."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.oracle.deep_tree import DeepTree
from tools.tree_tables.shared import Shared, largest_move, sensitivity, streamed

import lazysketch as ls
import lazysketch.testing
from lazysketch import Mechanism
from lazysketch.errors import ArgumentValueError

ROOT = Path(__file__).parents[3]
FILES = ROOT / "rust/core/src/mechanism/deep/tables"
SIXTEENTHS = (9, 10, 12, 14, 16)
# Proven lower bounds: of the mean variance in closed form, and of the largest one by the dual of
# gamma_2 where it is known.
BOUNDS = {12: 11.511, 14: 14.37, 16: 17.91, 20: 26.16, 24: 35.97}


def table(sixteenths: int) -> bytes:
    return (FILES / f"deep_{sixteenths}.i16").read_bytes()


@cache
def tree(leaves: int) -> DeepTree:
    """The smallest tree and table for a number of pushes, chosen anew."""
    k = max(10, (leaves - 1).bit_length())
    sixteenths = next(m for m in SIXTEENTHS if leaves <= m * 2**k // 16)
    return DeepTree(table(sixteenths), k)


def test_the_tables_are_small() -> None:
    assert sorted(file.name for file in FILES.iterdir()) == sorted(
        f"deep_{m}.i16" for m in SIXTEENTHS
    )
    assert {file.stat().st_size for file in FILES.iterdir()} == {5_898}


@pytest.mark.parametrize("sixteenths", SIXTEENTHS)
def test_sensitivity_by_definition(sixteenths: int) -> None:
    """Column by column, in plain integers, for the leaves that the table serves."""
    leaves = sixteenths * 64
    mechanism = Mechanism("tree-deep", leaves=leaves)
    by_leaf = list(tree(leaves).changes())[::-1][:leaves]
    assert mechanism.sensitivity2 == max(square for square, _ in by_leaf)
    assert mechanism.nodes_per_leaf == max(count for _, count in by_leaf)
    assert (mechanism.nodes, mechanism.draws) == (leaves, 1025)


@pytest.mark.parametrize("k", [10, 12, 15, 17])
def test_sensitivity_by_streaming_over_all_nodes(k: int) -> None:
    """Difference arrays over the leaves: nothing of the recursion. 2^20 is a long test."""
    squares, counts = streamed(Shared.read(table(16)), k)
    mechanism = Mechanism("tree-deep", leaves=2**k)
    assert mechanism.sensitivity2 == squares.max() == sensitivity(Shared.read(table(16)), k)
    assert mechanism.nodes_per_leaf == counts.max()


@pytest.mark.long
@pytest.mark.parametrize("sixteenths", SIXTEENTHS)
def test_sensitivity_by_streaming_at_a_million(sixteenths: int) -> None:
    squares, counts = streamed(Shared.read(table(sixteenths)), 20)
    leaves = sixteenths * 2**16
    mechanism = Mechanism("tree-deep", leaves=leaves)
    assert mechanism.sensitivity2 == squares[:leaves].max()
    assert mechanism.nodes_per_leaf == counts[:leaves].max()


def counters_for(horizon: int, mechanism: str = "tree-deep") -> ls.ContinualCounters:
    return ls.ContinualCounters(
        counters=20,
        epsilon=1.0,
        delta=1e-6,
        schedule=ls.Punctual(horizon=horizon),
        mechanism=mechanism,
        key=lazysketch.testing.seeded_key(11),
    )


@pytest.mark.parametrize(
    ("horizon", "pushes"),
    [
        (576, range(1, 577)),
        (1024, range(5, 1025, 17)),
        (9 * 2**12, [1, 2, 3, 2**15, 9 * 2**12 - 1, 9 * 2**12]),
        (2**20, [1, 2**15 + 1, 333_333, 2**20 - 1, 2**20]),
        (2**32, [1, 7, 12_345_679, 0xABCDEF01, 2**32 - 1, 2**32]),
    ],
)
def test_released_noise_is_rounded_at_every_node(horizon: int, pushes: list[int]) -> None:
    """Release = count + noise to the last bit, also for the final push of the first table."""
    counters, oracle = counters_for(horizon), tree(horizon)
    for push in pushes:
        counters.tick(push - counters.steps - 1)
        counters.update(1)
        expected = []
        for cell in range(20):
            draws = dict(
                zip(path := oracle.path(push), draws_of(counters, cell, path), strict=True)
            )
            count = (cell == 1) * len([p for p in pushes if p <= push])
            expected.append(count + oracle.rounded_noise(push, draws.__getitem__))
        assert counters.release().table.ravel().tolist() == expected, push


def draws_of(counters: ls.ContinualCounters, cell: int, nodes: list[int]) -> list[int]:
    found = lazysketch.testing.draws(counters, cells=[cell], nodes=nodes)
    return [int(draw) for draw in found[0]]


def test_the_final_push_after_the_last_leaf() -> None:
    """N(n + 1) = N(n) + floor(z / a + 1/2) with a draw of its own, beyond the nodes of the tree."""
    counters, oracle = counters_for(576), tree(576)
    counters.tick(576)
    counters.finish()
    largest = int(np.sqrt(counters.mechanism.sensitivity2))
    kept = float(oracle.variance(576))
    extra = kept + 1 / largest**2
    assert counters.mechanism.variances([576, 577]) == pytest.approx([kept, extra], rel=1e-12)
    # Nothing is pending under this schedule, and the last push has less noise.
    path = oracle.path(576)
    noise = [
        oracle.rounded_noise(576, dict(zip(path, draws_of(counters, cell, path), strict=True)).get)  # type: ignore[arg-type]
        for cell in range(20)
    ]
    assert counters.release().table.ravel().tolist() == noise
    assert draws_of(counters, 0, [1025])
    with pytest.raises(ArgumentValueError, match="nodes"):
        draws_of(counters, 0, [1026])


@pytest.mark.parametrize("leaves", [576, 1024, 3 * 2**18, 2**32])
def test_variances_are_those_of_the_inverse(leaves: int) -> None:
    pushes = sorted({1, 2, leaves // 3, leaves // 2 + 1, leaves - 1, leaves})
    found = Mechanism("tree-deep", leaves=leaves).variances(pushes)
    expected = [float(tree(leaves).variance(push)) for push in pushes]
    assert np.allclose(found, expected, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("k", sorted(BOUNDS))
def test_standard_deviations_are_close_to_the_bound(k: int) -> None:
    """Within 8.5 % from 2^14 on; a sample of pushes, and the noisiest paths known."""
    mechanism = Mechanism("tree-deep", leaves=2**k)
    random = np.random.default_rng(k).integers(1, 2**k, 4000) | 1
    largest = float(mechanism.sensitivity2) * mechanism.variances(random).max()
    assert 1.0 < (largest / BOUNDS[k]) ** 0.5 < 1.085


@pytest.mark.parametrize("sixteenths", [9, 10, 12, 14])
def test_fewer_pushes_have_less_noise(sixteenths: int) -> None:
    """Without tables of their own, these would have the noise of the next power of two."""
    pushes = np.random.default_rng(1).integers(1, sixteenths * 2**12, 3000)
    whole, part = (Mechanism("tree-deep", leaves=m * 2**12) for m in (16, sixteenths))
    of = lambda one: float(one.sensitivity2) * one.variances(pushes).max()  # noqa: E731
    assert of(part) < {9: 0.94, 10: 0.955, 12: 0.975, 14: 0.995}[sixteenths] * of(whole)


def test_moved_events_by_definition() -> None:
    """D(a, b) of docs/theory.md, Theorem 12, by all pairs of leaves."""
    oracle = DeepTree(table(16), 10)
    rows = np.zeros((oracle.n, oracle.n + 1))
    for node in range(1, oracle.n + 1):
        for time, entry in oracle.row(node).items():
            rows[node - 1, time] = entry
    shifts = np.cumsum(rows[:, :0:-1], axis=1)[:, ::-1]
    # Integers below 2^53: exact in floats.
    products = shifts.T @ shifts
    norms = np.diag(products)
    moves = norms[:, None] + norms[None] - 2 * products
    for pieces in (128, 120, 72):
        leaves = oracle.n * pieces // 128
        assert largest_move(Shared.read(table(16)), 10, pieces) == moves[:leaves, :leaves].max()


@pytest.mark.parametrize("k", [10, 11, 14, 20, 32])
def test_a_move_in_the_first_part_is_worth_two_events(k: int) -> None:
    """In the first 15/16 of the leaves of any depth; a full tree would not do for 2^10 leaves."""
    shared = Shared.read(table(16))
    assert largest_move(shared, k, 120) <= 2 * sensitivity(shared, k)
