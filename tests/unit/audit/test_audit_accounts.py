"""The audit's schedules, matrices, distributions and bounds, against slower implementations.

The oracle shares no code with the audit: the oracle uses whole matrices, the audit paths. The
comparisons are exact; the coverage of the bounds is measured with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.locations import ROOT
from tests.oracle import haar
from tests.oracle.deep_tree import DeepTree
from tests.oracle.endless_tree import EndlessTree
from tests.oracle.schedules import last_push, pushes
from tests.oracle.tree import Tree
from tests.statistical import claimed
from tests.statistical.noise import Case, every_case

import lazysketch as ls
from lazysketch.audit import p_values
from lazysketch.audit.case import NO_EVENT, places
from lazysketch.audit.case import Case as Audited
from lazysketch.audit.claimed_noise import (
    ClaimedNoise,
    adaptive_delta,
    epsilon_of,
    gaussian_delta,
    multiplier,
    table_sensitivity2,
)
from lazysketch.audit.confidence import Mistakes, upper_rate
from lazysketch.audit.distinguisher import worst_step
from lazysketch.audit.schedule_model import end_of_round, leaves, progress
from lazysketch.audit.sensitivity import moved_nodes, worst_pair
from lazysketch.audit.strategy import strategy
from lazysketch.audit.suite import epsilon_at
from lazysketch.audit.system_under_test import Library
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import CountKind
from lazysketch.specification.schedules import Schedule

TABLES = ROOT / "rust" / "core" / "src" / "mechanism" / "tree" / "tables"


@pytest.mark.parametrize("case", every_case(cells=12, depth=2), ids=str)
def test_progress_equals_the_oracle(case: Case) -> None:
    made: dict[str, Callable[[], ls.RoundRobin | ls.Geometric | ls.Punctual]] = {
        "round robin": lambda: ls.RoundRobin(horizon=case.horizon or 1),
        "geometric": ls.Geometric,
        "punctual": lambda: ls.Punctual(horizon=case.horizon or 1),
    }
    schedule = made[case.schedule]()
    assert leaves(schedule, case.width) == case.mechanism_leaves
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
def test_progress_equals_the_core(schedule: Schedule, width: int) -> None:
    assert leaves(schedule, width) == schedule.leaves(width)
    for step in [*range(40), 40]:
        np.testing.assert_array_equal(
            progress(schedule, width, step)[0], schedule.pushes(width, step)
        )


@pytest.mark.parametrize("n", [1, 2, 4, 16])
def test_haar_equals_the_dense_matrices(n: int) -> None:
    matrix, decoder = haar.strategy_matrix(n), haar.decoder_matrix(n)
    of = strategy("haar", n)
    assert of.sensitivity2 == haar.sensitivity2(matrix)
    for push in range(1, n + 1):
        row = decoder[push - 1]
        assert of.weights(push) == {v: x for v, x in enumerate(row, start=1) if x}
        dense = [int(sum(entries[push - 1 :])) for entries in matrix]
        assert of.shift(push).tolist() == dense


@pytest.mark.parametrize(("name", "file"), [("tree", "tree_k4"), ("tree-log", "tree_k10_log")])
def test_trees_equal_the_table_files(name: str, file: str) -> None:
    tree = Tree.from_bytes((TABLES / f"{file}.i16").read_bytes())
    of = strategy(name, tree.n)
    squares, _ = tree.changes()
    assert of.nodes == tree.n
    assert of.sensitivity2 == max(squares)
    for push in {1, 2, 7, tree.n // 2, tree.n - 1, tree.n}:
        assert of.weights(push) == {v: x for v, x in tree.weights(push).items() if x}
        assert int((of.shift(push) ** 2).sum()) == squares[push - 1]


@pytest.mark.parametrize(("leaves", "sixteenths"), [(576, 9), (1000, 16)])
def test_shared_rows_equal_the_table_files(leaves: int, sixteenths: int) -> None:
    file = TABLES.parents[1] / f"deep/tables/deep_{sixteenths}.i16"
    tree, of = DeepTree(file.read_bytes(), 10), strategy("tree-deep", leaves)
    squares = [square for square, _ in tree.changes()][::-1]
    assert (of.nodes, of.size) == (sixteenths * 64, 1024)
    assert of.sensitivity2 == max(squares[: of.nodes])
    for push in {1, 2, 7, 333, of.nodes - 1, of.nodes}:
        weights = of.weights(push)
        assert sum(weight**2 for weight in weights.values()) == tree.variance(push)
        assert int((of.shift(push) ** 2).sum()) == squares[push - 1]
        assert of.row(push)[-1] == tree.row(push)[push]


def test_rows_without_a_horizon_equal_the_table_files() -> None:
    files = [TABLES.parents[1] / name for name in ("deep/tables/deep_16.i16", "endless/spine.i16")]
    tree = EndlessTree(*(file.read_bytes() for file in files))
    of = strategy("tree-endless", 2**32)
    mechanism = ls.Mechanism("tree-endless", leaves=2**32)
    assert (of.nodes, of.sensitivity2) == (mechanism.nodes, mechanism.sensitivity2)
    for push in [*range(1, 70), 128, 1000, 4097, 10**6 + 1, 2**28 + 1, 2**32 - 1, 2**32]:
        path, row = of.path(push), of.row(push)
        assert path == tree.path(push)
        entries = {at: entry for at, entry in tree.row(push).items() if entry}
        assert {at: entry for at, entry in zip(path, row, strict=True) if entry} == entries
    for push in (1, 13, 1000, 2**28 + 1):
        variance = sum(weight**2 for weight in of.weights(push).values())
        assert variance == tree.variance(push)
    squares = {leaf: square for leaf, square, _ in tree.changes(8)}
    for leaf in (1, 2, 13, 256):
        assert int((of.shift(leaf) ** 2).sum()) == squares[leaf]
    pushes = [1, 5, 12, 1000]
    ends = [of.final_push(push, nothing_pending=False) for push in pushes]
    assert ends == mechanism.final_pushes(pushes, nothing_pending=False).tolist()


def test_claimed_rounding_at_every_node_equals_simulation() -> None:
    """Mean and covariance of what rounding adds, from 2^17 wide draws; 5 deviations of slack."""
    of = strategy("tree-deep", 576)
    noise, random = ClaimedNoise(3000.0, of), np.random.default_rng(7)
    file = TABLES.parents[1] / "deep/tables/deep_9.i16"
    tree, errors = DeepTree(file.read_bytes(), 10), []
    draws = {v: random.integers(-9000, 9001, 2**17) for v in {*of.path(333), *of.path(335)}}
    for push in (333, 335):
        rounded: dict[int, np.ndarray] = {}
        exact: dict[int, np.ndarray] = {}
        for node in of.path(push):
            row = tree.row(node)
            above = [(at, entry) for at, entry in row.items() if at != node and entry]
            rest = draws[node] - sum(entry * rounded[at] for at, entry in above)
            rounded[node] = (2 * rest + row[node]) // (2 * row[node])
            exact[node] = (draws[node] - sum(e * exact[at] for at, e in above)) / row[node]
        errors.append(rounded[push] - exact[push])
    scale = 5 / math.sqrt(2**17)
    for push, error in zip((333, 335), errors, strict=True):
        mean, variance = noise.rounding(push)
        assert error.mean() == pytest.approx(mean, abs=scale * math.sqrt(variance))
        assert error.var() == pytest.approx(variance, rel=2 * scale)
    claimed = noise.covariance([333, 335])[0, 1] - of.covariance(333, 335) * noise.draw_variance
    assert np.cov(errors)[0, 1] == pytest.approx(claimed, rel=0.05, abs=1e-4)
    assert claimed > 0.0


@pytest.mark.parametrize("n", [*range(1, 40), 64, 65, 100])
def test_binary_sensitivity_equals_that_of_trying_every_leaf(n: int) -> None:
    of = strategy("binary", n)
    assert of.sensitivity2 == max(int(of.shift(first).sum()) for first in range(1, n + 1))
    for push in (1, n):
        assert of.weights(push) == claimed.weights("binary", n, push)


def test_a_mechanism_without_an_exact_distribution_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="exact distribution"):
        strategy("square-root", 8)


@pytest.mark.parametrize("mechanism", ["binary", "haar"])
@pytest.mark.parametrize("push", [1, 2, 5, 8])
def test_claimed_noise_equals_the_oracle(mechanism: str, push: int) -> None:
    noise = ClaimedNoise.of(
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
    # The two try different smoothings.
    assert noise.sigma == pytest.approx(sigma, rel=1e-6)
    assert noise.deviation(push) == pytest.approx(
        claimed.deviation(mechanism, 8, push, noise.sigma), rel=1e-12
    )
    assert noise.rounding(push) == pytest.approx(claimed.rounding(mechanism, 8, push))
    small = ClaimedNoise(1.3, noise.strategy)
    smallest, distribution = small.probabilities(push)
    other, expected = claimed.probabilities(mechanism, 8, push, 1.3)
    assert smallest == other
    np.testing.assert_allclose(distribution, expected, atol=1e-15)
    assert (
        claimed.table_sensitivity2("counters", depth=1, relation="zero-out")
        == table_sensitivity2("counters", depth=1, relation="zero-out")
        == 1
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (8, 1e-6), (1, 1e-9)])
def test_multipliers_are_accurate(epsilon: float, delta: float) -> None:
    def balle_and_wang(of: float) -> float:
        with mpmath.workdps(40):
            m, e = mpmath.mpf(of), mpmath.mpf(epsilon)
            far = mpmath.exp(e) * mpmath.ncdf(-1 / (2 * m) - e * m)
            return float(mpmath.ncdf(1 / (2 * m) - e * m) - far)

    found = claimed.multiplier(epsilon, delta, 0)
    assert balle_and_wang(found) == pytest.approx(delta, rel=1e-6)
    assert epsilon_of(1 / found, delta) == pytest.approx(epsilon, rel=1e-6)
    assert gaussian_delta(epsilon, 1 / found) == pytest.approx(delta, rel=1e-6)
    for depth in (1, 3, 8):
        adaptive = multiplier(epsilon, delta, depth)
        assert adaptive > found
        assert adaptive == pytest.approx(claimed.multiplier(epsilon, delta, depth), rel=1e-3)
        assert adaptive_delta(epsilon, 1 / adaptive, depth) == pytest.approx(delta, rel=1e-9)


def test_the_epsilon_of_a_mu() -> None:
    assert 1 / multiplier(epsilon_at(3.0, 1e-6, 2), 1e-6, 2) == pytest.approx(3.0)
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(1e-7, 1e-6) == 0.0


# --- bounds ---------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "trials"), [(0, 1), (0, 50), (3, 50), (49, 50), (700, 10_000)])
@pytest.mark.parametrize("risk", [0.05, 1e-7])
def test_clopper_and_pearson_bounds_satisfy_their_definition(
    wrong: int, trials: int, risk: float
) -> None:
    """At the bound, so few mistakes or fewer have exactly the probability of the risk."""
    rate = upper_rate(wrong, trials, risk)
    with mpmath.workdps(30):
        # P(at most k of n) as a regularised incomplete beta function.
        tail = mpmath.betainc(trials - wrong, wrong + 1, 0, 1 - mpmath.mpf(rate), regularized=True)
        assert float(tail) == pytest.approx(risk, rel=1e-6)


def test_only_mistakes_give_no_bound() -> None:
    assert upper_rate(7, 7, 0.05) == 1.0
    assert Mistakes(7, 7, 0, 7).mu(0.05) == 0.0
    assert Mistakes(50, 100, 50, 100).epsilon(1e-6, 0.05) == 0.0


@pytest.mark.parametrize("mu", [0.25, 1.0, 3.0])
def test_bounds_cover_the_truth_and_come_close(mu: float) -> None:
    """Two normals at distance mu: at most 5 % of 1000 bounds exceed it, the median is near."""
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


def test_the_bound_exceeds_a_wrong_claim() -> None:
    """2 d instead of 4 d at mu = 3 is mu = 4.24: detected with 1500 trials at a risk of 1e-8.

    Here at the expected number of mistakes; with its chance in tests/statistical/test_power.py.
    """
    rate = float(p_values.normal_distribution_function(-3 * math.sqrt(2) / 2))
    mistakes = Mistakes(round(1500 * rate), 1500, round(1500 * rate), 1500)
    assert mistakes.mu(1e-8) > 3


# --- pairs ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("hash_seed", [1, 2, 3])
def test_the_worst_pair_attains_the_sensitivity(kind: CountKind, hash_seed: int) -> None:
    case = Audited.of(kind, 2, 2, ls.RoundRobin(horizon=16))
    one, other = (places(case, hash_seed, i) for i in worst_pair(case, hash_seed))
    if kind == "count-sketch":  # the same bucket with opposite signs in every row
        assert [(r, c, -s) for r, c, s in one] == list(other)
    else:
        assert not set(one) & set(other)


def test_the_worst_step_attains_the_claimed_distance() -> None:
    case = Audited.of("count-sketch", 2, 2, ls.RoundRobin(horizon=16))
    pair = worst_step(case, hash_seed=1, mechanism="tree")
    _, distance = pair.likelihood_ratio("tree")
    assert 0.98 * case.mu < distance <= case.mu


# --- what a table is fed --------------------------------------------------------------------


@pytest.mark.parametrize("schedule", [ls.RoundRobin(horizon=16), ls.Batch(horizon=16)])
@pytest.mark.parametrize("weight", [1, 3])
def test_runs_of_events_and_of_ticks_are_fed_in_their_order(schedule: Any, weight: int) -> None:
    case = Audited.of("count-sketch", 2, 2, schedule, max_weight=3)
    whole, single = (
        Library().open(case, hash_seed=1, seed=1, sketch_id=bytes(16)) for _ in range(2)
    )
    stream = np.array([NO_EVENT, 1, 2, 2, NO_EVENT, NO_EVENT, 3, NO_EVENT, 1])
    whole.feed(stream[:0])
    whole.feed(stream, weight=weight)
    for item in stream.tolist():
        if item == NO_EVENT:
            single.sketch.tick()
        elif schedule.name == "batch":
            single.sketch.update_batch([item], [weight])
        else:
            single.sketch.update(item, weight)
    assert whole.sketch.release().step == single.sketch.release().step == len(stream)
    assert (whole.read() == single.read()).all()


@pytest.mark.parametrize("schedule", [ls.RoundRobin(horizon=16), ls.Geometric()])
def test_what_moves_are_the_jumps_of_every_step(schedule: Any) -> None:
    """In steps one by one: also at the first one, and back to where a cell was."""
    case = Audited.of("count-min", 2, 2, schedule)
    difference = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, -2, 0], [0, 3, -2, 0], [0, 0, 0, 1]])
    matrices = strategy("tree", case.leaves)
    moved = np.zeros((4, matrices.shift(1).size), dtype=np.int64)
    before = np.zeros(4, dtype=np.int64)
    for step, now in enumerate(difference, start=1):
        for cell in range(4):
            push = int(progress(schedule, 2, step)[0][cell % 2])
            if now[cell] != before[cell]:
                moved[cell] += (now[cell] - before[cell]) * matrices.shift(push)
        before = now
    assert (moved_nodes(case, matrices, difference) == moved.ravel()).all()
