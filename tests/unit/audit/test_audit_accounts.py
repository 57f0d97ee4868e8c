"""The audit's own account of schedules, matrices, laws and bounds, against slower ones.

The oracle shares no code with the audit: the one follows the definitions by matrices, the other
along paths. Exact, but for the coverage of the bounds, which is seeded.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.locations import ROOT
from tests.oracle import haar
from tests.oracle.schedules import last_push, pushes
from tests.oracle.tree import Tree
from tests.statistical import claimed
from tests.statistical.noise import Case, every_case

import lazysketch as ls
from lazysketch.audit import p_values
from lazysketch.audit.claims import (
    Claim,
    epsilon_of,
    gaussian_delta,
    multiplier,
    table_sensitivity2,
)
from lazysketch.audit.confidence import Mistakes, upper_rate
from lazysketch.audit.configuration import Configuration, places
from lazysketch.audit.distinguisher import worst_step
from lazysketch.audit.schedule_model import end_of_round, leaves, progress
from lazysketch.audit.sensitivity import worst_pair
from lazysketch.audit.strategy import strategy
from lazysketch.audit.suite import epsilon_at
from lazysketch.errors import ArgumentValueError

TABLES = ROOT / "rust" / "core" / "src" / "mechanism" / "tables"


@pytest.mark.parametrize("case", every_case(cells=12, depth=2), ids=str)
def test_progress_is_that_of_the_oracle(case: Case) -> None:
    made: dict[str, Any] = {
        "round robin": lambda: ls.RoundRobin(horizon=case.horizon or 1),
        "geometric": ls.Geometric,
        "punctual": lambda: ls.Punctual(horizon=case.horizon or 1),
    }
    schedule = made[case.schedule]()
    assert leaves(schedule, case.width) == case.law_leaves
    for step in (0, 1, 5, 6, 7, 12, 13, 40):
        counts, last = progress(schedule, case.width, step)
        for column in range(case.width):
            assert counts[column] == pushes(case.described, column, step)
            assert last[column] == last_push(case.described, column, step)
    for push in (1, 2, 3):
        counts, last = progress(schedule, case.width, end_of_round(schedule, case.width, push))
        assert (counts == push).all()
        assert last.max() == end_of_round(schedule, case.width, push)


@pytest.mark.parametrize(
    "schedule",
    [
        ls.RoundRobin(horizon=100, period=3),
        ls.Batch(horizon=100),
        ls.Single(horizon=40),
        ls.Geometric(growth=(1, 7), rounds=20),
    ],
    ids=lambda schedule: schedule.name,
)
@pytest.mark.parametrize("width", [1, 3, 7])
def test_progress_is_that_of_the_core(schedule: Any, width: int) -> None:
    assert leaves(schedule, width) == schedule.leaves(width)
    for step in [*range(40), 40]:
        np.testing.assert_array_equal(
            progress(schedule, width, step)[0], schedule.pushes(width, step)
        )


@pytest.mark.parametrize("n", [1, 2, 4, 16])
def test_haar_is_that_of_the_dense_matrices(n: int) -> None:
    matrix, decoder = haar.strategy_matrix(n), haar.decoder_matrix(n)
    of = strategy("haar", n)
    assert of.sensitivity2 == haar.sensitivity2(matrix)
    for push in range(1, n + 1):
        row = decoder[push - 1]
        assert of.weights(push) == {v: x for v, x in enumerate(row, start=1) if x}
        dense = [int(sum(entries[push - 1 :])) for entries in matrix]
        assert of.shift(push).tolist() == dense


@pytest.mark.parametrize(("name", "file"), [("tree", "tree_k4"), ("tree-log", "tree_k10_log")])
def test_trees_are_those_of_the_table_files(name: str, file: str) -> None:
    tree = Tree.from_bytes((TABLES / f"{file}.i16").read_bytes())
    of = strategy(name, tree.n)
    squares, _ = tree.changes()
    assert of.nodes == tree.n
    assert of.sensitivity2 == max(squares)
    for push in {1, 2, 7, tree.n // 2, tree.n - 1, tree.n}:
        assert of.weights(push) == {v: x for v, x in tree.weights(push).items() if x}
        assert int((of.shift(push) ** 2).sum()) == squares[push - 1]


@pytest.mark.parametrize("n", [*range(1, 40), 64, 65, 100])
def test_binary_is_that_of_every_leaf(n: int) -> None:
    of = strategy("binary", n)
    assert of.sensitivity2 == max(int(of.shift(first).sum()) for first in range(1, n + 1))
    for push in (1, n):
        assert of.weights(push) == claimed.weights("binary", n, push)


def test_a_mechanism_without_an_exact_law_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="exact law"):
        strategy("square-root", 8)


@pytest.mark.parametrize("mechanism", ["binary", "haar"])
@pytest.mark.parametrize("push", [1, 2, 5, 8])
def test_claims_are_those_of_the_oracle(mechanism: str, push: int) -> None:
    claim = Claim.of(
        kind="count-sketch",
        depth=3,
        relation="substitution",
        epsilon=0.7,
        delta=1e-6,
        mechanism=mechanism,
        leaves=8,
        scale=1,
    )
    sigma = claimed.sigma(
        kind="count-sketch", depth=3, mechanism=mechanism, leaves=8, epsilon=0.7, delta=1e-6
    )
    assert claim.sigma == pytest.approx(sigma, rel=1e-12)
    assert claim.deviation(push) == pytest.approx(
        claimed.deviation(mechanism, 8, push, sigma), rel=1e-12
    )
    assert claim.rounding(push) == pytest.approx(claimed.rounding(mechanism, 8, push))
    small = Claim(1.3, claim.strategy)
    smallest, law = small.probabilities(push)
    other, expected = claimed.probabilities(mechanism, 8, push, 1.3)
    assert smallest == other
    np.testing.assert_allclose(law, expected, atol=1e-15)
    assert (
        claimed.table_sensitivity2("counters", depth=1, relation="zero-out")
        == table_sensitivity2("counters", depth=1, relation="zero-out")
        == 1
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (8, 1e-6), (1, 1e-9)])
def test_multipliers_are_those_of_high_precision(epsilon: float, delta: float) -> None:
    found = multiplier(epsilon, delta)
    with mpmath.workdps(40):
        m, e = mpmath.mpf(found), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(1 / (2 * m) - e * m) - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * m) - e * m)
        assert float(exact) == pytest.approx(delta, rel=1e-6)
    assert epsilon_of(1 / found, delta) == pytest.approx(epsilon, rel=1e-6)
    assert gaussian_delta(epsilon, 1 / found) == pytest.approx(delta, rel=1e-6)


def test_the_epsilon_of_a_mu() -> None:
    assert 1 / multiplier(epsilon_at(3.0, 1e-6), 1e-6) == pytest.approx(3.0)
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(1e-7, 1e-6) == 0.0


# --- bounds ---------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "trials"), [(0, 1), (0, 50), (3, 50), (49, 50), (700, 10_000)])
@pytest.mark.parametrize("risk", [0.05, 1e-7])
def test_clopper_and_pearson_by_its_definition(wrong: int, trials: int, risk: float) -> None:
    """At the bound, as few mistakes have exactly the probability of the risk."""
    rate = upper_rate(wrong, trials, risk)
    with mpmath.workdps(30):
        # P(at most k of n) as a regularised incomplete beta function.
        tail = mpmath.betainc(trials - wrong, wrong + 1, 0, 1 - mpmath.mpf(rate), regularized=True)
        assert float(tail) == pytest.approx(risk, rel=1e-6)


def test_all_wrong_bounds_nothing() -> None:
    assert upper_rate(7, 7, 0.05) == 1.0
    assert Mistakes(7, 7, 0, 7).mu(0.05) == 0.0
    assert Mistakes(50, 100, 50, 100).epsilon(1e-6, 0.05) == 0.0


@pytest.mark.parametrize("mu", [0.25, 1.0, 3.0])
def test_bounds_cover_the_truth_and_come_close(mu: float) -> None:
    """Two normals at distance mu: 1000 seeded audits, at most 5 % above it, and none useless."""
    generator = np.random.default_rng(4)
    trials, epsilon = 2000, epsilon_of(mu, 1e-6)
    rate = float(p_values.normal_distribution_function(-mu / 2))
    above, bounds = 0, []
    for _ in range(1000):
        fp, fn = generator.binomial(trials, rate, size=2)
        mistakes = Mistakes(int(fp), trials, int(fn), trials)
        bounds.append(mistakes.mu(0.05))
        above += bounds[-1] > mu
        assert mistakes.epsilon(1e-6, 0.05) <= epsilon + 1e-9
    assert above <= 50
    assert np.median(bounds) > mu - 10 / math.sqrt(trials)


def test_a_bound_of_a_wrong_claim_exceeds_it() -> None:
    """2 d for 4 d at mu = 3 is mu = 4.24: seen beyond doubt with 1500 trials."""
    rate = float(p_values.normal_distribution_function(-3 * math.sqrt(2) / 2))
    mistakes = Mistakes(round(1500 * rate), 1500, round(1500 * rate), 1500)
    assert mistakes.mu(1e-8) > 3


# --- pairs ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("hash_seed", [1, 2, 3])
def test_the_worst_pair_attains_the_sensitivity(kind: str, hash_seed: int) -> None:
    configuration = Configuration(kind, 2, 2, ls.RoundRobin(horizon=16))
    one, other = (places(configuration, hash_seed, i) for i in worst_pair(configuration, hash_seed))
    if kind == "count-sketch":  # the same buckets, the other signs, in every row
        assert [(r, c, -s) for r, c, s in one] == list(other)
    else:
        assert not set(one) & set(other)


def test_the_worst_step_is_as_far_apart_as_is_claimed() -> None:
    configuration = Configuration("count-sketch", 2, 2, ls.RoundRobin(horizon=16))
    pair = worst_step(configuration, hash_seed=1, mechanism="tree")
    _, distance = pair.likelihood_ratio("tree")
    assert 0.98 * configuration.mu < distance <= configuration.mu
