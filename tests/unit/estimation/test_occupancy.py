"""The number of distinct items from noisy numbers of set bits, against balls in boxes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from lazysketch.estimation.occupancy import Occupancy, sampling_shares


def means(items: float, levels: int, bits: int) -> list[float]:
    """Expected set bits of each level: each box stays empty if every ball misses it."""
    return [bits * (1 - (1 - share / bits) ** items) for share in sampling_shares(levels)]


def thrown(random: np.random.Generator, items: int, levels: int, bits: int) -> list[int]:
    """Set bits of each level, ball by ball."""
    level = random.choice(levels, size=items, p=sampling_shares(levels))
    box = random.integers(0, bits, items)
    occupied = np.unique(level * bits + box)
    return np.bincount(occupied // bits, minlength=levels).tolist()


@pytest.mark.parametrize("levels", [1, 2, 5, 16])
def test_shares_add_up(levels: int) -> None:
    assert math.fsum(sampling_shares(levels)) == 1.0
    assert len(sampling_shares(levels)) == levels


@pytest.mark.parametrize("items", [1, 7, 100, 5_000, 10**6, 3 * 10**8])
@pytest.mark.parametrize("noise", [1e-4, 1.0, 900.0])
def test_expected_counts_give_the_number(items: int, noise: float) -> None:
    occupancy = Occupancy(means(items, 8, 2**14), [noise] * 8, 2**14)
    assert occupancy.estimate() == pytest.approx(items, rel=1e-6)
    low, high = occupancy.bounds(0.95)
    assert low <= items <= high < math.inf
    deviation = occupancy.standard_error(items)
    # The ends are about 1.96 deviations away where the error is small.
    if deviation < 0.02 * items:
        assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.05)


@pytest.mark.parametrize("noise", [1e-4, 30.0])
@pytest.mark.parametrize("items", [20, 400, 3_000, 20_000])
def test_error_is_that_of_thrown_balls(items: int, noise: float) -> None:
    """Seeded: 400 tables; their spread is known to 4 %, their mean to 5 % of it."""
    random = np.random.default_rng(7)
    levels, bits, tables = 4, 256, 400
    estimates = []
    for _ in range(tables):
        counts = np.array(thrown(random, items, levels, bits), dtype=float)
        counts += random.normal(0.0, math.sqrt(noise), levels)
        estimates.append(Occupancy(counts.tolist(), [noise] * levels, bits).estimate())
    expected = Occupancy(means(items, levels, bits), [noise] * levels, bits).standard_error(items)
    if expected > 0.3 * items:
        pytest.skip("estimates are cut off at 0")
    assert np.std(estimates) == pytest.approx(expected, rel=0.16)
    assert abs(np.mean(estimates) - items) < 0.2 * expected + 1e-9


def test_levels_share_their_items() -> None:
    """Without the covariance of the levels the score would vary by less than stated."""
    random = np.random.default_rng(8)
    items, levels, bits = 100, 3, 2**12
    scores = [
        Occupancy(thrown(random, items, levels, bits), [1.0] * levels, bits)._score(items)
        for _ in range(800)
    ]
    assert np.mean(scores) == pytest.approx(0.0, abs=0.15)
    # Noise of 1 was claimed and not added: the rest is far below 1.
    assert np.std(scores) < 0.5
    noisy = []
    for _ in range(800):
        counts = np.array(thrown(random, items, levels, bits)) + random.normal(0, 1, levels)
        noisy.append(Occupancy(counts.tolist(), [1.0] * levels, bits)._score(items))
    assert np.std(noisy) == pytest.approx(1.0, rel=0.1)


def test_intervals_are_nested() -> None:
    occupancy = Occupancy(means(5_000, 5, 512), [40.0] * 5, 512)
    ends = [occupancy.bounds(confidence) for confidence in (0.5, 0.9, 0.95, 0.999)]
    for (low, high), (lower, higher) in itertools.pairwise(ends):
        assert lower < low < 5_000 < high < higher


def test_nothing_seen_and_everything_full() -> None:
    empty = Occupancy([-3.0, 1.0], [25.0, 25.0], 64)
    assert empty.estimate() == 0.0
    assert empty.bounds(0.95)[0] == 0.0
    full = Occupancy([64.0, 64.0], [0.01, 0.01], 64)
    low, high = full.bounds(0.95)
    assert high == math.inf
    assert 64 < low < full.estimate() <= full.largest
    assert full.standard_error(1e9) == math.inf
