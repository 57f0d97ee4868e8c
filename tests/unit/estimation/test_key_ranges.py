"""Ranges of keys from halves and coefficients: exact without noise, and unbiased with it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from lazysketch.estimation.key_ranges import KeyRanges
from lazysketch.estimation.symmetric_sums import SampledErrors, half_width_of_sum

BITS = 5


def places(key: int, bits: int = BITS) -> list[int]:
    """Return the places of a key where all depths are packed: halves, then depth by depth."""
    halves = [key >> (bits - 1 - row) for row in range(bits)]
    return [halves[0], *(2**row + (halves[row] >> 1) for row in range(1, bits))]


def located(key: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
    """Return the signs of a key; columns, which packed depths do not use, are far outside."""
    halves = [key >> (BITS - 1 - row) for row in range(BITS)]
    flipped = [False, *(bool(half & 1) for half in halves[1:])]
    return np.full(BITS, 2**31, dtype=np.uint32), np.array(flipped)


def exact(keys: npt.NDArray[np.int64], width: int = 16) -> KeyRanges:
    table = np.zeros((BITS, width), dtype=np.int64)
    for key in keys.tolist():
        signs = 1 - 2 * located(key)[1].astype(np.int64)
        np.add.at(table.reshape(-1), places(key), signs)
    return KeyRanges(table=table, locate=located, noise_variance=1e-12)


@pytest.mark.parametrize("width", [7, 8, 16])
def test_every_range_is_exact_without_noise(width: int) -> None:
    keys = np.random.default_rng(3).integers(0, 1 << BITS, 200)
    counts = exact(keys, width)
    for low, high in itertools.combinations_with_replacement(range((1 << BITS) + 1), 2):
        true = int(((keys >= low) & (keys < high)).sum())
        assert counts.between(low, high, miss=0.05)[0] == pytest.approx(true, abs=1e-9)


def first_key_that_reaches(keys: npt.NDArray[np.int64], share: float) -> int:
    """Return the smallest key that at least a share of the keys do not exceed, by counting."""
    return min(
        key for key in range(1 << BITS) if int((keys <= key).sum()) >= share * len(keys) - 1e-9
    )


@pytest.mark.parametrize("width", [7, 16])
@pytest.mark.parametrize("among", [[0], [31], [3, 4], range(1 << BITS)])
def test_every_quantile_is_exact_without_noise(width: int, among: list[int]) -> None:
    keys = np.random.default_rng(4).choice(among, 200)
    counts = exact(keys, width)
    for number in range(1, 40):
        share = number / 40 + 0.001  # no share is a number of keys
        if share < 1.0:
            true = first_key_that_reaches(keys, share)
            assert counts.quantile(share, miss=0.05) == (true, true, true)


def test_quantiles_of_no_keys_are_unknown() -> None:
    counts = exact(np.array([], dtype=np.int64))
    assert counts.quantile(0.5, miss=0.05) == (None, 0, (1 << BITS) - 1)


def test_noise_widens_a_quantile_to_keys_that_the_counts_do_not_reject() -> None:
    """Ends from the definition: the counts of all keys, each with its own largest error."""
    keys = np.arange(1 << BITS).repeat(10)
    counts = replace(exact(keys), noise_variance=9.0)
    for share in (0.2, 0.5, 0.77):
        _, low, high = counts.quantile(share, miss=0.05)
        ends = []
        for key in range(1, 1 << BITS):
            factors = {(0, 0): 0.0, (0, 1): 0.0, **counts.factors(0, key)}
            less = {cell: share if cell in ((0, 0), (0, 1)) else 0.0 for cell in factors}
            square = 9.0 * math.fsum((factors[cell] - less[cell]) ** 2 for cell in factors)
            ends.append((10 * key - share * len(keys), math.sqrt(square)))
        deviations = NormalDist().inv_cdf(1 - 0.05 / BITS)
        certain = [key for key, (excess, one) in enumerate(ends, 1) if excess < -deviations * one]
        refused = [key for key, (excess, one) in enumerate(ends, 1) if excess > deviations * one]
        assert low == max(certain, default=0)
        assert high == min(refused, default=1 << BITS) - 1


def test_a_range_has_few_cells_and_the_deviation_of_its_weights() -> None:
    counts = replace(exact(np.arange(1 << BITS)), noise_variance=1.0)
    for low, high in itertools.combinations(range((1 << BITS) + 1), 2):
        factors = counts.factors(low, high)
        assert len(factors) <= 2 * BITS
        square = math.fsum(factor**2 for factor in factors.values())
        assert counts.deviation(low, high) == pytest.approx(math.sqrt(square))
        # Two ends: each at most 1/2 of a coefficient per row, and the halves.
        assert square <= 2 + BITS / 2
    assert counts.factors(0, 1 << BITS) == {(0, 0): 1.0, (0, 1): 1.0}
    assert counts.between(7, 7, miss=0.05) == (0.0, 0.0, 0.0)


def test_the_mean_square_of_a_prefix_is_a_twelfth_per_row() -> None:
    """The prediction of docs/ranges.md: (bits - 1) / 12 + 8/9."""
    bits = 12

    def in_columns(key: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        halves = [key >> (bits - 1 - row) for row in range(bits)]
        columns = [halves[0], *(half >> 1 for half in halves[1:])]
        return np.array(columns, np.uint32), np.array([False, *(h & 1 for h in halves[1:])], bool)

    table = np.zeros((bits, 1 << bits), dtype=np.int64)
    counts = KeyRanges(table=table, locate=in_columns, noise_variance=1.0)
    squares = [counts.deviation(0, key) ** 2 for key in range(1, 1 << bits)]
    assert np.mean(squares) == pytest.approx((bits - 1) / 12 + 8 / 9, rel=0.001)


def test_normal_errors_have_normal_ends() -> None:
    for miss, deviations in [(0.3173105, 1.0), (0.05, 1.959964), (1e-6, 4.891638)]:
        found = half_width_of_sum([], normal_variance=4.0, miss=miss)
        assert found == pytest.approx(2.0 * deviations, abs=4e-3)


@pytest.mark.parametrize("miss", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("heavy", [0, 3, 40])
def test_ends_are_those_of_simulated_sums(heavy: int, miss: float) -> None:
    """Cells with noise and some heavy others, in 20 rows: 400,000 sums exceed it as often."""
    chance = np.random.default_rng(11)
    noise, rows, width = 30.0, 20, 256
    cells = chance.normal(0.0, noise, (rows, width))
    cells[:, :heavy] += chance.pareto(1.5, (rows, heavy)) * 300
    factors = chance.uniform(0.05, 0.5, rows)
    added = np.column_stack([cells, np.zeros(rows)])
    errors = [
        (factor, SampledErrors.of(row).without(0.0))
        for factor, row in zip(factors, added, strict=True)
    ]
    found = half_width_of_sum(errors, normal_variance=noise**2, miss=miss)
    sums = chance.normal(0.0, noise, 400_000)
    for factor, row in zip(factors, cells, strict=True):
        sign = chance.choice([-1.0, 1.0], len(sums))
        sums += factor * sign * row[chance.integers(0, width, len(sums))]
    true = float(np.quantile(np.abs(sums), 1.0 - miss))
    assert 0.97 * true <= found <= 1.04 * true


@pytest.mark.parametrize("width", [2, 3, 24, 25, 40, 64, 65, 300])
def test_a_cell_is_left_out_of_its_row(width: int) -> None:
    """Of few others each is there with its share; of many the mean square and the largest are."""
    chance = np.random.default_rng(width)
    cells = np.round(chance.normal(0.0, 3.0, width)) * 10.0 ** chance.integers(0, 6, width)
    row = SampledErrors.of(cells)
    for column, cell in enumerate(cells.tolist()):
        others = np.abs(np.delete(cells, column))
        found = row.without(cell)
        assert float(found.shares.sum()) == pytest.approx(1.0)
        assert found.variance == pytest.approx(float(np.mean(others**2)), rel=1e-9)
        assert float(found.values.max()) == pytest.approx(float(others.max()), rel=1e-9)
        if width <= 24:
            np.testing.assert_allclose(found.values, np.sort(others), rtol=1e-9)


@pytest.mark.parametrize("largest", [94_906_297.0, 2.0**45 + 1.0])
def test_a_large_cell_is_found_again_in_its_row(largest: float) -> None:
    found = SampledErrors.of(np.array([1.0, 2.0, largest])).without(largest)
    np.testing.assert_allclose(found.values, [1.0, 2.0])
