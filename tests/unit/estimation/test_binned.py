"""Quantiles, shares and ranges from node sums: exact without noise, and their errors with it."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from tests.value_matrix import matrix

from lazysketch.estimation.binned import BinnedCounts, rising
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows, ValueTree, padded_bins

EDGES = (0.0, 1.0, 2.5, 4.0, 8.0, 16.0, 17.0, 30.0, 31.0)
LEVEL = 0.025


def counts_of(values: npt.NDArray[np.float64], rows: ValueRows) -> BinnedCounts:
    """What is published of values without noise."""
    tree = ValueTree(rows, padded_bins(len(EDGES) + 1))
    bins = np.bincount(np.searchsorted(EDGES, values, side="right"), minlength=tree.bins)
    sums = matrix(tree) @ np.cumsum(bins)
    return BinnedCounts(edges=EDGES, tree=tree, sums=sums, variance=0.0)


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_without_noise_answers_are_exact(rows: ValueRows) -> None:
    values = np.random.default_rng(5).gamma(2.0, 5.0, 700)
    counts = counts_of(values, rows)
    assert counts.total(level=LEVEL) == pytest.approx((700, 700, 700))
    for low in (-math.inf, *EDGES, math.inf):
        below = float((values < low).mean())
        assert counts.share_below(low, level=LEVEL) == pytest.approx((below,) * 3, abs=1e-9)
        for high in (edge for edge in (-math.inf, *EDGES, math.inf) if edge >= low):
            between = int(((low <= values) & (values < high)).sum())
            assert counts.between(low, high, level=LEVEL) == pytest.approx((between,) * 3, abs=1e-6)
    all_bins = counts.bins(level=LEVEL)
    known = np.bincount(np.searchsorted(EDGES, values, side="right"), minlength=len(EDGES) + 1)
    for each in all_bins:
        assert each == pytest.approx(known, abs=1e-6)
    # No share of 700 values is reached at an edge exactly, where two bins would be possible.
    for share in (0.0101, 0.2503, 0.5007, 0.9001):
        true = np.sort(values)[math.ceil(share * len(values)) - 1]
        estimate, low, high = counts.quantile(share, level=LEVEL)
        assert low <= true <= high
        assert low <= estimate <= high
        assert high in EDGES
        assert EDGES.index(high) - EDGES.index(low) == 1


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_between_edges_intervals_cover_every_place(rows: ValueRows) -> None:
    values = np.array([5.0, 6.0, 7.0, 20.0])
    counts = counts_of(values, rows)
    assert counts.between(4.0, 7.0, level=LEVEL) == pytest.approx((2.25, 0.0, 3.0))
    assert counts.share_below(6.0, level=LEVEL) == pytest.approx((0.375, 0.0, 0.75))
    # Nothing is known of the open bins but their counts.
    counts = counts_of(np.array([-9.0, 50.0, 60.0]), rows)
    assert counts.share_below(-5.0, level=LEVEL) == pytest.approx((0.0, 0.0, 1 / 3))
    assert counts.between(40.0, math.inf, level=LEVEL) == pytest.approx((2.0, 0.0, 2.0))
    assert counts.quantile(0.2, level=LEVEL) == (0.0, -math.inf, 0.0)
    assert counts.quantile(0.9, level=LEVEL) == (31.0, 31.0, math.inf)


def test_nothing_is_known_of_no_values() -> None:
    counts = counts_of(np.array([]), "haar")
    assert math.isnan(counts.quantile(0.5, level=LEVEL)[0])
    assert math.isnan(counts.share_below(1.0, level=LEVEL)[0])
    assert counts.share_below(1.0, level=LEVEL)[1:] == (0.0, 1.0)
    assert counts.total(level=LEVEL) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_variances_and_ends_are_those_of_the_noise(rows: ValueRows) -> None:
    """Seeded: the covariance of 20,000 draws against the ends of ranges and of the total."""
    random, tree = np.random.default_rng(3), ValueTree(rows, 16)
    inverse = np.linalg.inv(matrix(tree))
    noise = random.normal(0.0, 30.0, (20_000, 16)) @ inverse.T
    prefixes = np.column_stack((np.zeros(len(noise)), noise))
    lows, highs = np.triu_indices(17, 1)
    exact = 900.0 * tree.variances(lows, highs)
    measured = (prefixes[:, highs] - prefixes[:, lows]).var(axis=0)
    assert measured == pytest.approx(exact, rel=0.05)
    sums = matrix(tree) @ np.cumsum(np.full(16, 10_000))
    counts = BinnedCounts(edges=EDGES, tree=tree, sums=sums, variance=900.0)
    found = counts.between(1.0, 8.0, level=LEVEL)
    half = NormalDist().inv_cdf(1 - LEVEL) * math.sqrt(900.0 * tree.variances([2], [5])[0])
    assert found[1:] == pytest.approx((30_000 - half, 30_000 + half))


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_ends_miss_as_often_as_stated(rows: ValueRows) -> None:
    """Seeded: 2,000 tables at 10 %: each end within 4 deviations of its rate, 2.7 %."""
    random = np.random.default_rng(11)
    values = random.gamma(2.0, 5.0, 5_000)
    tree = counts_of(values, rows).tree
    exact = counts_of(values, rows).sums
    deviation = 60.0 * math.sqrt(tree.sensitivity2("zero-out"))
    level, misses = 0.1, np.zeros((4, 2))
    median = np.sort(values)[2_499]
    truths = ((values < 8.0).mean(), ((values >= 1.0) & (values < 16.0)).sum(), len(values))
    for _ in range(2_000):
        noisy = np.rint(exact + random.normal(0.0, deviation, len(exact))).astype(np.int64)
        counts = BinnedCounts(EDGES, tree, noisy, deviation**2 + 1 / 12)
        found = (
            counts.share_below(8.0, level=level),
            counts.between(1.0, 16.0, level=level),
            counts.total(level=level),
            counts.quantile(0.5, level=level),
        )
        for at, (truth, (_, low, high)) in enumerate(zip((*truths, median), found, strict=True)):
            misses[at] += (truth < low, truth > high)
    assert misses[:3] / 2_000 == pytest.approx(np.full((3, 2), level), abs=0.027)
    # A bin with the quantile is kept unless an edge of it is rejected, which lies further off.
    assert (misses[3] / 2_000 <= level + 0.027).all()


def test_rising_numbers_are_the_nearest() -> None:
    """Against small steps towards the optimum: no rising sequence is nearer."""
    random = np.random.default_rng(2)
    for _ in range(50):
        values, weights = random.normal(size=8), random.uniform(0.1, 3.0, 8)
        fitted = rising(values, weights)
        assert (np.diff(fitted) >= 0).all()
        best = float((weights * (values - fitted) ** 2).sum())
        for _ in range(200):
            other = np.sort(fitted + random.normal(0.0, 0.05, 8))
            assert float((weights * (values - other) ** 2).sum()) >= best - 1e-12
    rises = np.array([1.0, 2.0, 2.0, 5.0])
    assert rising(rises, np.ones(4)).tolist() == rises.tolist()
    assert rising(np.array([3.0, 1.0]), np.array([1.0, 3.0])).tolist() == [1.5, 1.5]


def test_counts_stay_within_their_limit() -> None:
    tree = ValueTree("haar", 16)
    sums = matrix(tree) @ np.cumsum(np.full(16, 100))
    counts = BinnedCounts(EDGES, tree, sums, 1e6, most=1_000.0)
    for ends in (counts.total(level=LEVEL), counts.between(0.0, 8.0, level=LEVEL)):
        assert max(ends) <= 1_000.0
    assert max(counts.bins(level=LEVEL)[2]) <= 1_000.0
