"""Shrunk coefficients: as uneven as the counted nodes are, and with less error than the cells."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from lazysketch.estimation.shrunk_coefficients import ShrunkCoefficients

BITS, WIDTH, EXACT = 10, 128, 9  # 2^10 places in 10 rows of 128


def counted(share: float, seed: int) -> list[npt.NDArray[np.float64]]:
    """Return the nodes of each depth of a random cascade of 200,000 keys, the first the root."""
    chance = np.random.default_rng(seed)
    nodes = [np.array([200_000])]
    for _ in range(BITS):
        left = chance.binomial(nodes[-1], chance.beta(share, share, nodes[-1].size))
        nodes.append(np.stack([left, nodes[-1] - left], axis=1).ravel())
    return [depth.astype(np.float64) for depth in nodes]


def coefficients(nodes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the coefficients of a depth from the nodes of the next one."""
    return nodes[::2] - nodes[1::2]


def packed(nodes: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.int64]:
    """Return the table in which each node has a cell of its own."""
    places = np.zeros(BITS * WIDTH, dtype=np.int64)
    places[:2] = nodes[1]
    for depth in range(1, BITS):
        places[1 << depth : 2 << depth] = coefficients(nodes[depth + 1])
    return places.reshape(BITS, WIDTH)


@pytest.mark.parametrize("share", [0.3, 1.0, 5.0])
def test_spreads_are_those_of_the_counted_nodes(share: float) -> None:
    nodes = counted(share, seed=1)
    found = ShrunkCoefficients.of(packed(nodes), exact=EXACT, noise_variance=0.0)
    for depth in range(1, BITS):
        squares = float(np.square(coefficients(nodes[depth + 1])).sum())
        true = squares / float(np.square(nodes[depth]).sum())
        assert found.spreads[depth] == pytest.approx(max(true, 0.01), rel=1e-9)
    assert found.disturbances == (0.0,) * BITS


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_noise_is_taken_off_the_spreads(share: float) -> None:
    """Of depths with nodes above the noise; the error of a spread is below 0.04 at 5 deviations."""
    nodes = counted(share, seed=2)
    table = packed(nodes)
    noise = np.random.default_rng(5).normal(0.0, 50.0, table.shape).round().astype(np.int64)
    clean = ShrunkCoefficients.of(table, exact=EXACT, noise_variance=0.0)
    found = ShrunkCoefficients.of(table + noise, exact=EXACT, noise_variance=2_500.0)
    np.testing.assert_allclose(found.spreads, clean.spreads, atol=0.04)


@pytest.mark.parametrize("share", [0.3, 1.0, 5.0])
def test_the_estimates_have_the_least_error_among_multiples_of_the_cells(share: float) -> None:
    """Over 64 nodes or more the error is within 10 % of the least that one factor for all has."""
    nodes = counted(share, seed=3)
    table = packed(nodes)
    noise = np.random.default_rng(6).normal(0.0, 200.0, table.shape).round().astype(np.int64)
    released = (table + noise).reshape(-1)
    found = ShrunkCoefficients.of(table + noise, exact=EXACT, noise_variance=40_000.0)
    for depth in range(6, BITS):
        true = coefficients(nodes[depth + 1])
        cells = released[1 << depth : 2 << depth].astype(np.float64)
        estimates = [
            found.expected(depth, node, cell)
            for node, cell in zip(nodes[depth].tolist(), cells.tolist(), strict=True)
        ]
        factors = np.linspace(0.0, 1.0, 101)[:, None]
        best = float(np.square(factors * cells - true).mean(axis=1).min())
        assert float(np.square(np.array(estimates) - true).mean()) <= 1.1 * best


def test_heavy_nodes_in_a_shared_row_do_not_disturb_its_other_cells() -> None:
    """The variance of half of the cells, within 15 % (5 deviations of a median of 4,096)."""
    chance = np.random.default_rng(7)
    table = chance.normal(0.0, 60.0, (32, 4_096)).round().astype(np.int64)
    table[20, :40] += 1_000_000
    found = ShrunkCoefficients.of(table, exact=15, noise_variance=100.0)
    assert math.sqrt(found.disturbances[20]) == pytest.approx(60.0, rel=0.075)
    assert found.disturbances[:16] == (100.0,) * 16


def test_a_shared_row_disturbs_by_its_noise_at_least() -> None:
    table = np.zeros((32, 4_096), dtype=np.int64)
    found = ShrunkCoefficients.of(table, exact=15, noise_variance=9.0)
    assert found.disturbances == (9.0,) * 32
    assert found.expected(20, 0.0, 5.0) == 0.0


def test_a_node_far_above_the_noise_keeps_its_cell() -> None:
    nodes = counted(0.3, seed=4)
    found = ShrunkCoefficients.of(packed(nodes), exact=EXACT, noise_variance=1.0)
    assert found.expected(3, 1e6, -5e5) == pytest.approx(-5e5, rel=1e-6)
    assert abs(found.expected(3, 0.1, 50.0)) < 1.0
