"""Residuals: the release minus the true published count has the claimed distribution.

Fresh secret keys throughout: every run draws new noise. The claimed distribution comes from
`claimed`: sigma from epsilon, delta and brute-force sensitivities, weights from the oracle, nothing
from the sketch. False-alarm rates: `declared`; power: docs/testing.md.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical import claimed, declared
from tests.statistical.noise import (
    ALL_MECHANISMS,
    MECHANISMS,
    Case,
    Integers,
    every_case,
    residuals,
)

import lazysketch
from lazysketch.audit import p_values

BUDGET = declared.budget("residuals")

# Binary expansions with few and many ones, odd and even, around the largest node; 64 is the last.
PUSHES = [1, 2, 31, 32, 37, 63, 64]

# Pairs whose paths differ in one node, share only the root, or are adjacent.
PAIRS = [(1, 2), (31, 32), (32, 37), (37, 63), (32, 64)]


def check_one_push(values: Integers, case: Case, push: int) -> None:
    """Mean, variance and shape of the noise of one push."""
    what = f"{case}, push {push}"
    x = case.standardised(values, push)
    BUDGET.check(p_values.mean(x), f"mean: {what}")
    BUDGET.check(p_values.variance(x), f"variance: {what}")
    BUDGET.check(p_values.shape(values, case.deviation(push)), f"shape: {what}")


def correlation(case: Case, p: int, q: int) -> float:
    matrix = claimed.covariance_matrix(
        case.claimed_mechanism, case.mechanism_leaves, [p, q], case.sigma
    )
    return float(matrix[0, 1] / math.sqrt(matrix[0, 0] * matrix[1, 1]))


@pytest.mark.parametrize("case", every_case(), ids=str)
def test_each_push_and_each_pair_of_pushes(case: Case) -> None:
    """8192 cells: 7 pushes x 3 tests, 5 covariances."""
    with case.make() as sketch:
        assert sketch.private == (case.mechanism != "square-root")
        found = residuals(sketch, case, PUSHES)
    for push, values in found.items():
        check_one_push(values, case, push)
    for p, q in PAIRS:
        x, y = case.standardised(found[p], p), case.standardised(found[q], q)
        p_value = p_values.covariance(x, y, correlation(case, p, q))
        BUDGET.check(p_value, f"covariance: {case}, pushes {p} and {q}")


@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.1, 8.0])
@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_other_parameters(mechanism: str, epsilon: float, relation: str) -> None:
    """Other multipliers and sensitivities of the table; 20 leaves, which are padded."""
    case = Case(
        "count-sketch",
        mechanism,
        "round robin",
        leaves=20,
        epsilon=epsilon,
        delta=1e-4,
        relation=relation,
    )
    with case.make() as sketch:
        found = residuals(sketch, case, [1, 15, 16, 20])
    for push, values in found.items():
        check_one_push(values, case, push)


@pytest.mark.parametrize("mechanism", ALL_MECHANISMS)
def test_all_pushes_of_a_cell_jointly(mechanism: str) -> None:
    """All 16 pushes of 8192 cells, whitened by the claimed covariance.

    Whitened transcripts must be independent standard normals: 16 variances, the largest of 120
    covariances, one total. This detects two nodes that share noise, and a missing node.
    """
    case = Case("count-min", mechanism, "round robin", leaves=16)
    pushes = list(range(1, 17))
    with case.make() as sketch:
        found = residuals(sketch, case, pushes)
    x = whitened(np.array([found[p] for p in pushes]), case, pushes)
    BUDGET.check(p_values.variance(x), f"total: {case}")
    for row, values in enumerate(x):
        BUDGET.check(p_values.variance(values), f"whitened variance {row}: {case}")
        BUDGET.check(p_values.mean(values), f"whitened mean {row}: {case}")
    pairs = [p_values.covariance(a, b, 0.0) for a, b in itertools.combinations(x, 2)]
    BUDGET.check(min(pairs) * len(pairs), f"whitened covariances: {case}")


def whitened(values: Integers, case: Case, pushes: list[int]) -> NDArray[np.float64]:
    """One row per push: independent standard normals if the claim holds."""
    covariance = claimed.covariance_matrix(
        case.claimed_mechanism, case.mechanism_leaves, pushes, case.sigma
    )
    means = [claimed.rounding(case.claimed_mechanism, case.mechanism_leaves, p)[0] for p in pushes]
    centred = values - np.array(means)[:, None]
    return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), centred))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_cells_are_independent(mechanism: str) -> None:
    """All pairs of 128 cells over 256 pushes, by the largest of 8128 correlations.

    The transcripts are whitened: 256 independent values per cell. Cells that share their noise,
    also with the opposite sign, have a correlation of 1 or -1; the critical value is 0.6.
    """
    case = Case("count-min", mechanism, "round robin", depth=4, width=32, leaves=256)
    pushes = list(range(1, 257))
    with case.make() as sketch:
        found = residuals(sketch, case, pushes)
    x = whitened(np.array([found[p] for p in pushes]), case, pushes)
    sums = (x.T @ x)[np.triu_indices(128, k=1)]
    worst = p_values.products(float(np.abs(sums).max()), pairs=256, correlation=0.0)
    BUDGET.check(worst * sums.size, f"cells: {case}")


@pytest.mark.parametrize("lag", [1, 2, 3, 64, 2048, 2049, 4096])
def test_neighbouring_cells_of_a_wide_table(lag: int) -> None:
    """Within a row, and from row to row (2048 columns)."""
    case = Case("count-sketch", "haar", "round robin")
    with case.make() as sketch:
        x = case.standardised(residuals(sketch, case, [37])[37], 37)
    # Products of overlapping pairs are dependent; each half has no overlap, so its test is exact.
    first = (np.arange(x.size - lag) // lag) % 2 == 0
    for half in (first, ~first):
        if half.any():
            at = np.flatnonzero(half)
            BUDGET.check(p_values.covariance(x[at], x[at + lag], 0.0), f"lag {lag}")


@pytest.mark.parametrize("kind", ["count-min", "counters"])
@pytest.mark.parametrize("given", [False, True], ids=["a key for each", "one master key"])
def test_two_sketches_are_independent(kind: str, given: bool) -> None:
    """Equal parameters, equal steps: only the fresh id of each sketch makes the noise differ."""
    case = Case(kind, "haar", "punctual", depth=1 if kind == "counters" else 4)
    key = lazysketch.Key.generate() if given else None
    pairs = []
    for _ in range(2):
        with case.make(key=key, hash_seed=5) as sketch:
            pairs.append(case.standardised(residuals(sketch, case, [45])[45], 45))
    BUDGET.check(p_values.covariance(*pairs, 0.0), f"two sketches, {kind}")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_second_read_has_the_same_noise(mechanism: str) -> None:
    """Exact, no false alarm: noise is a function of (cell, push), not of the read."""
    case = Case("count-min", mechanism, "round robin", width=64)
    with case.make() as sketch:
        sketch.tick(case.step_of(3))
        first = np.array(sketch.release().table)
        sketch.estimate_many(range(100))
        np.testing.assert_array_equal(sketch.release().table, first)
        sketch.tick(1)  # pushes column 0 only
        np.testing.assert_array_equal(sketch.release().table[:, 1:], first[:, 1:])


SMALL_NOISE = [
    # haar, n = 2, push 1 = n/2: N = (2 z + 3 z') / 12; one value of twelve is a tie
    Case("counters", "haar", "punctual", 1, 2**17, 2, 8.0, 1e-6, "zero-out"),
    Case("counters", "haar", "punctual", 1, 2**17, 4, 20.0, 1e-6, "zero-out"),
    Case("counters", "binary", "punctual", 1, 2**17, 1, 8.0, 1e-6, "zero-out"),
    Case("counters", "binary", "punctual", 1, 2**17, 4, 20.0, 1e-6, "zero-out"),
]


@pytest.mark.parametrize("case", SMALL_NOISE, ids=lambda case: f"{case.mechanism} {case.leaves}")
def test_the_exact_distribution_of_small_noise(case: Case) -> None:
    """Every probability, at a sigma near 1: draws of zero, both signs, ties, rounding.

    131,072 cells. Detects a rejected -0, a sign added to the rounded magnitude, half-even (too few
    odd values) and half-away (too few zeros), which no variance shows at a usual sigma.
    """
    pushes = list(range(1, case.leaves + 1))
    with case.make() as sketch:
        found = residuals(sketch, case, pushes)
    for push, values in found.items():
        smallest, probabilities = claimed.probabilities(
            case.mechanism, case.leaves, push, case.sigma
        )
        BUDGET.check(histogram_p_value(values, smallest, probabilities), f"{case}, push {push}")


def histogram_p_value(values: Integers, smallest: int, probabilities: NDArray[np.float64]) -> float:
    """P-value of a histogram; values rarer than 1e-12 form one class."""
    likely = probabilities > 1e-12
    low, high = int(likely.argmax()), likely.size - int(likely[::-1].argmax())
    seen = np.bincount(values - smallest, minlength=likely.size)
    rest = max(1e-15, 1.0 - probabilities[low:high].sum())
    others = values.size - seen[low:high].sum()
    return p_values.counts(
        np.append(seen[low:high], others), np.append(probabilities[low:high], rest)
    )


@pytest.mark.parametrize("push", [32, 16, 48, 1])
def test_even_and_odd_releases_are_equally_frequent(push: int) -> None:
    """At a usual sigma: half-even rounding makes all ties even, one value of twelve at n/2."""
    case = Case("count-min", "haar", "round robin", width=2**15)
    with case.make() as sketch:
        values = residuals(sketch, case, [push])[push]
    odd = int(np.count_nonzero(values % 2))
    BUDGET.check(p_values.counts([odd, values.size - odd], [0.5, 0.5]), f"parity, push {push}")
