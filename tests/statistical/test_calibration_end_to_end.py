"""Calibration end to end: no pair of neighbours is further apart than 1 / noise_multiplier.

Exact, not random. Two sketches under one seeded key are fed two neighbouring streams; the
difference of their releases after every step is the exact shift of the published counts. The joint
distribution of a transcript is a Gaussian around it (tests of residuals; oracle), so its distance
mu in deviations determines (epsilon, delta): Dong, Roth and Su, mu-GDP. Two distances:

* by nodes: ||U shift|| / sigma over all nodes, which the calibration bounds;
* by releases: sqrt(shift' C^-1 shift) with the covariance C of the releases so far.

The second is post-processing of the first and never larger.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracle import haar
from tests.oracle.gaussian_binary_mechanism import GaussianBinaryMechanism
from tests.statistical import claimed
from tests.statistical.noise import KINDS, MECHANISMS, SCHEDULES

import lazysketch
import lazysketch.testing
from lazysketch.privacy import classical_noise_multiplier, gaussian_delta
from lazysketch.sketches.private_table import PrivateTable

EPSILON, DELTA = 0.7, 1e-6
DEPTH, WIDTH, HASH_SEED = 2, 3, 1
STEPS = {"round robin": 14, "geometric": 14, "punctual": 8}  # 5 leaves (padded to 8), 4096, 8
RELATIONS = ("substitution", "zero-out")

Integers = NDArray[np.int64]
Events = dict[int, tuple[int | None, int]]  # step -> (item or None, weight); other steps: ticks


def make(
    kind: str, mechanism: str, schedule: str, relation: str, **changes: object
) -> PrivateTable:
    common: dict[str, object] = {
        "epsilon": EPSILON,
        "delta": DELTA,
        "horizon": None if schedule == "geometric" else STEPS[schedule],
        "mechanism": mechanism,
        "relation": relation,
        "key": lazysketch.testing.seeded_key(4),
        **changes,
    }
    if kind == "counters":
        return lazysketch.ContinualCounters(counters=WIDTH, schedule=schedule, **common)
    name = ("Punctual" if schedule == "punctual" else "Lazy") + (
        "CountMin" if kind == "count-min" else "CountSketch"
    )
    made: Callable[..., PrivateTable] = getattr(lazysketch, name)
    return made(depth=DEPTH, width=WIDTH, hash_seed=HASH_SEED, **common)


@cache
def furthest_pair(kind: str) -> tuple[int, int]:
    """Two items that move the exact table as far apart as substitution allows, by search.

    Count-Min: different buckets in every row. Count Sketch: the same bucket with opposite signs
    in every row, the case that the paper's 2 d omits. Among these a pair that changes few
    columns, so that two events can share one push of all of them.
    """
    if kind == "counters":
        return 0, 1
    cls = lazysketch.CountMin if kind == "count-min" else lazysketch.CountSketch
    tables = []
    for item in range(60):
        sketch = cls(depth=DEPTH, width=WIDTH, hash_seed=HASH_SEED)
        sketch.update(item)
        tables.append(np.array(sketch.table))
    wanted = claimed.table_sensitivity2(kind, depth=DEPTH, relation="substitution")
    attaining = {}
    for a, b in itertools.combinations(range(60), 2):
        if ((tables[a] - tables[b]) ** 2).sum() == wanted:
            touched = (tables[a] != tables[b]).any(axis=0)
            # Column 0 is pushed at step 1, before a second event is possible.
            attaining[a, b] = (np.count_nonzero(touched), bool(touched[0]))
    return min(attaining, key=attaining.__getitem__)


def releases(sketch: PrivateTable, events: Events, steps: int) -> tuple[Integers, Integers]:
    """Tables (steps, cells) and pushes (steps, cells) after every step."""
    tables, pushes = [], []
    for step in range(1, steps + 1):
        item, weight = events.get(step, (None, 0))
        if item is None:
            sketch.tick()
        else:
            sketch.update(item, weight)
        release = sketch.release()
        tables.append(np.array(release.table).reshape(-1))
        pushes.append(np.tile(release.pushes, release.depth))
    return np.array(tables), np.array(pushes)


def leaves_of(sketch: PrivateTable) -> int:
    mechanism = sketch.release().parts[0].mechanism
    assert mechanism is not None
    return mechanism.leaves


def shifts(
    one: PrivateTable, other: PrivateTable, pair: tuple[Events, Events], steps: int
) -> list[Integers]:
    """For each cell, the difference of its published count at push 1, 2, ..., up to the last."""
    (tables, pushes), (others, same) = (
        releases(sketch, events, steps) for sketch, events in zip((one, other), pair, strict=True)
    )
    np.testing.assert_array_equal(pushes, same)
    difference = others - tables
    found = []
    for cell in range(difference.shape[1]):
        new = np.flatnonzero(np.diff(pushes[:, cell], prepend=0))
        found.append(difference[new, cell])
        # Between two pushes nothing new is released.
        rows = np.maximum(pushes[:, cell] - 1, 0)
        if new.size:
            expected = np.where(pushes[:, cell] > 0, found[-1][rows], 0)
            np.testing.assert_array_equal(difference[:, cell], expected)
    return found


@cache
def node_shift(mechanism: str, leaves: int, first: int) -> NDArray[np.int64]:
    return claimed.node_shift(mechanism, leaves, first)


def distance2_of_nodes(mechanism: str, leaves: int, cells: list[Integers]) -> int:
    """|| U shift ||^2 over all cells, in exact integers; a shift persists after the last push."""
    total = 0
    for shift in cells:
        jumps = np.diff(shift, prepend=0)
        moved = sum(
            int(jumps[i]) * node_shift(mechanism, leaves, int(i) + 1) for i in np.flatnonzero(jumps)
        )
        total += int(np.sum(np.square(moved)))
    return total


def distance2_of_releases(mechanism: str, leaves: int, cells: list[Integers]) -> float:
    """Sum of shift' C^-1 shift over all cells, with C for draws of variance 1."""
    total = 0.0
    for shift in cells:
        if shift.any():
            pushes = range(1, shift.size + 1)
            covariance = [
                [float(claimed.covariance(mechanism, leaves, p, q)) for q in pushes] for p in pushes
            ]
            total += float(shift @ np.linalg.solve(np.array(covariance), shift))
    return total


def neighbours(kind: str, relation: str, step: int) -> tuple[Events, Events]:
    """Two streams that differ in one event at the step, with other events around it."""
    a, b = furthest_pair(kind)
    common: Events = {s: ((s * s) % 3, 1) for s in range(2, 15, 3) if s != step}
    there: Events = {**common, step: (a, 1)}
    return there, ({**common, step: (b, 1)} if relation == "substitution" else common)


# --- the distances -------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_event_moves_releases_further_than_claimed(
    kind: str, mechanism: str, schedule: str, relation: str
) -> None:
    """Every step of the horizon; the worst one attains the sensitivity exactly."""
    steps, largest = STEPS[schedule], 0
    depth = DEPTH if kind != "counters" else 1
    multiplier = claimed.multiplier(EPSILON, DELTA, depth)
    for step in range(1, steps + 1):
        pair = neighbours(kind, relation, step)
        one, other = (make(kind, mechanism, schedule, relation) for _ in range(2))
        leaves = leaves_of(one)
        cells = shifts(one, other, pair, steps)
        by_nodes = distance2_of_nodes(mechanism, leaves, cells)
        by_releases = distance2_of_releases(mechanism, leaves, cells)
        assert by_releases <= by_nodes * (1 + 1e-9)
        if schedule == "punctual":  # all 8 leaves were released
            assert by_releases == pytest.approx(by_nodes)
        mu = math.sqrt(by_nodes) / one.sigma
        assert mu * multiplier <= 1
        if mu > 0:  # the last events of a stream may never be published
            assert gaussian_delta(EPSILON, 1 / mu) <= DELTA
        largest = max(largest, by_nodes)
    table2 = claimed.table_sensitivity2(kind, depth=depth, relation=relation)
    assert largest == table2 * claimed.mechanism_sensitivity2(mechanism, leaves)
    # Nor is there too much noise: the numeric account adds at most one percent.
    assert math.sqrt(largest) / one.sigma * multiplier > 0.99


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_weights_and_several_events_of_one_person(kind: str, mechanism: str) -> None:
    """Two events of weight 3 replaced, at all pairs of steps: the squared distance grows by 36."""
    a, b = furthest_pair(kind)
    multiplier, largest = claimed.multiplier(EPSILON, DELTA, DEPTH), 0.0
    for s, t in itertools.combinations(range(1, 15), 2):
        one, other = (
            make(
                kind, mechanism, "round robin", "substitution", max_weight=3, max_events_per_user=2
            )
            for _ in range(2)
        )
        pair: tuple[Events, Events] = ({s: (a, 3), t: (a, 3)}, {s: (b, 3), t: (b, 3)})
        leaves = leaves_of(one)
        by_nodes = distance2_of_nodes(mechanism, leaves, shifts(one, other, pair, 14))
        largest = max(largest, math.sqrt(by_nodes) / one.sigma * multiplier)
    assert 0.99 < largest <= 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_vectors_that_differ_in_several_counters(mechanism: str) -> None:
    """ContinualCounters.step with max_changes = 3: three counters change by one each."""
    multiplier, largest = claimed.multiplier(EPSILON, DELTA, 1), 0.0
    for at in range(1, 9):
        tables = []
        for vector in ([0, 0, 0], [1, 1, 1]):
            counters = make("counters", mechanism, "punctual", "zero-out", max_changes=3)
            assert isinstance(counters, lazysketch.ContinualCounters)
            rows = []
            for step in range(1, 9):
                counters.step(vector if step == at else [0, 1, 0])
                rows.append(np.array(counters.release().table).reshape(-1))
            tables.append(np.array(rows))
        # At the step itself the vectors differ by (1, 1, 1), elsewhere not at all.
        cells = list((tables[1] - tables[0]).T)
        by_nodes = distance2_of_nodes(mechanism, 8, cells)
        largest = max(largest, math.sqrt(by_nodes) / counters.sigma * multiplier)
    assert 0.99 < largest <= 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_planted_sensitivities_are_exceeded(mechanism: str) -> None:
    """2 d instead of 4 d (which `calibration="classical"` reproduces), and one level too few."""
    one, other = (
        make("count-sketch", mechanism, "punctual", "substitution", calibration="classical")
        for _ in range(2)
    )
    cells = shifts(one, other, neighbours("count-sketch", "substitution", 1), 8)
    distance = math.sqrt(distance2_of_nodes(mechanism, 8, cells))
    paper = classical_noise_multiplier(EPSILON, DELTA)
    assert distance / one.sigma * paper == pytest.approx(math.sqrt(2), rel=1e-3)

    sound = make("count-sketch", mechanism, "punctual", "substitution")
    level = {"binary": 3 / 4, "haar": 17 / 21}[mechanism]
    planted = sound.sigma * math.sqrt(level)
    assert distance / planted * claimed.multiplier(EPSILON, DELTA, DEPTH) > 1.1


# --- the claimed distribution ----------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32])
def test_node_shifts_equal_the_dense_matrices(n: int) -> None:
    matrix = haar.strategy_matrix(n)
    for first in range(1, n + 1):
        dense = [int(sum(row[first - 1 :])) for row in matrix]
        assert claimed.node_shift("haar", n, first).tolist() == dense
    assert claimed.mechanism_sensitivity2("haar", n) == haar.sensitivity2(matrix)


@pytest.mark.parametrize("leaves", [1, 2, 5, 8, 21, 32])
def test_node_shifts_equal_the_stored_nodes(leaves: int) -> None:
    for first in range(1, leaves + 1):
        oracle = GaussianBinaryMechanism(lambda node: 0)
        for leaf in range(1, leaves + 1):
            oracle.feed(int(leaf == first))
        stored = [oracle.closed[node] for node in range(1, leaves + 1)]
        assert claimed.node_shift("binary", leaves, first).tolist() == stored


@pytest.mark.parametrize("n", [1, 2, 8, 16])
def test_weights_are_the_rows_of_the_decoder(n: int) -> None:
    for push, row in enumerate(haar.decoder_matrix(n), start=1):
        weights = claimed.weights("haar", n, push)
        assert [weights.get(v, 0) for v in range(1, n + 1)] == row


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_package_states_the_same_distribution(mechanism: str) -> None:
    """Sensitivity, by brute force up to 256 leaves and in closed form beyond; variances."""
    for leaves in [*range(1, 66), 100, 128, 255, 256, 257, 512, 1000, 4096, 2**20]:
        stated = lazysketch.Mechanism(mechanism, leaves=leaves)
        assert stated.sensitivity2 == claimed.mechanism_sensitivity2(mechanism, leaves)
    for leaves in (1, 2, 20, 64):
        stated = lazysketch.Mechanism(mechanism, leaves=leaves)
        exact = [float(claimed.covariance(mechanism, leaves, p, p)) for p in range(1, leaves + 1)]
        assert stated.variances(range(1, leaves + 1)) == pytest.approx(exact)


@pytest.mark.parametrize(
    ("epsilon", "delta", "ideal", "percent"),
    [
        (0.3, 1e-3, 7.071, 0.16),
        (1, 1e-6, 4.225, 0.35),
        (0.1, 1e-6, 36.305, 0.01),
        (3, 1e-6, 1.544, 1.85),
        (1, 1e-9, 5.495, 0.21),
        (8, 1e-6, 0.653, 6.21),
    ],
)
def test_claimed_multiplier(epsilon: float, delta: float, ideal: float, percent: float) -> None:
    """Reference values, and what integers cost at depth 3; a sketch never has less noise."""
    assert claimed.multiplier(epsilon, delta, 0) == pytest.approx(ideal, abs=6e-4)
    found = claimed.multiplier(epsilon, delta, 3) / claimed.multiplier(epsilon, delta, 0)
    assert 100 * (found - 1) == pytest.approx(percent, abs=0.02)
    sketch = lazysketch.LazyCountMin(
        depth=3, width=8, epsilon=epsilon, delta=delta, horizon=512, mechanism="haar"
    )
    table2, mechanism2 = 6, claimed.mechanism_sensitivity2("haar", 64)
    claim = claimed.multiplier(epsilon, delta, 3) * math.sqrt(table2 * mechanism2)
    assert claim * (1 - 1e-4) <= sketch.sigma <= claim * 1.001
