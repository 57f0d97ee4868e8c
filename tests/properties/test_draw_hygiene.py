"""No draw of noise is used twice: not in two cells, nodes, sketches or sets of parameters.

All sketches here have a sigma of about 10^8 or more, so that two independent draws are
equal with a probability of about 1/(2 sqrt(pi) sigma) and shared draws are obvious. Two
measures, both scale-free, because sketches with different sigma may share their bits:

* coincidences: pairs of draws in one matrix that are equal up to sign; Poisson under
  independence, with a computed expectation;
* correlation of two vectors of m draws: normal with standard deviation 1/sqrt(m).

At the limits a false alarm has a probability below 1e-8 per comparison and 1e-5 per run. Only
sketches with fresh ids differ from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import lazysketch
import lazysketch.testing
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable

Draws = NDArray[np.int64]

LIMIT_IN_DEVIATIONS = 6.5  # P(|normal| > 6.5) = 8e-11
HEAVY = 2**22  # max_weight: a large sigma, with epsilon_numeric still below its 1 %

BASE: dict[str, object] = {
    "depth": 3,
    "width": 4,
    "epsilon": 0.5,
    "delta": 1e-6,
    "relation": "substitution",
    "horizon": 256,
    "mechanism": "haar",
    "calibration": "analytic",
    "max_weight": HEAVY,
    "max_events_per_user": 1,
    "hash_seed": 1,
}
CELLS = list(range(12))  # 3 x 4
NODES = list(range(1, 65))  # 256 steps / 4 columns


def make(
    cls: Callable[..., PrivateTable] = lazysketch.LazyCountMin,
    *,
    key: Key | None = None,
    **changes: object,
) -> PrivateTable:
    key = lazysketch.testing.seeded_key(7) if key is None else key
    return cls(**{**BASE, **changes}, key=key)


def draws(sketch: PrivateTable, cells: list[int] = CELLS, nodes: list[int] = NODES) -> Draws:
    matrix: Draws = np.asarray(lazysketch.testing.draws(sketch, cells, nodes))
    assert matrix.shape == (len(cells), len(nodes))
    assert matrix.dtype == np.int64
    return matrix


def coincidences(matrix: Draws) -> int:
    """Draws that equal an earlier one up to sign."""
    return matrix.size - np.unique(np.abs(matrix)).size


def coincidence_limit(count: int, sigma: float) -> float:
    """The expected number of pairs |z| = |z'|, plus ten deviations, plus ten."""
    expected = math.comb(count, 2) / (math.sqrt(math.pi) * sigma)
    return expected + 10 * math.sqrt(expected) + 10


def correlation(a: Draws, b: Draws) -> float:
    """The cosine of the angle; the mean of a draw is known to be 0."""
    x, y = a.reshape(-1).astype(float), b.reshape(-1).astype(float)
    return float(x @ y / math.sqrt((x @ x) * (y @ y)))


def related(a: Draws, b: Draws) -> bool:
    """Return whether two matrices share draws, at equal or at any positions, up to sign."""
    if abs(correlation(a, b)) > LIMIT_IN_DEVIATIONS / math.sqrt(a.size):
        return True
    shared = np.intersect1d(np.abs(a), np.abs(b)).size
    return shared > 10  # expected: size^2 / (sqrt(pi) sigma), below 0.01 here


def largest_correlation(rows: Draws) -> float:
    """The largest correlation of two different rows, in units of its standard deviation."""
    x = rows.astype(float)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gram = np.abs(x @ x.T)
    np.fill_diagonal(gram, 0.0)
    return float(gram.max() * math.sqrt(rows.shape[1]))


# --- within one sketch --------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["binary", "haar"])
def test_cells_and_nodes_share_nothing(mechanism: str) -> None:
    """64 cells x 1024 nodes: all pairs of cells, all pairs of nodes, all pairs of draws."""
    sketch = make(depth=4, width=16, horizon=16 * 1024, mechanism=mechanism)
    matrix = draws(sketch, list(range(64)), list(range(1, 1025)))
    limit = coincidence_limit(matrix.size, sketch.sigma)
    assert coincidences(matrix) < limit
    assert largest_correlation(matrix) < LIMIT_IN_DEVIATIONS
    # 64 draws per node are few: a correlation of normals has the tail (1 - r^2)^((m-1)/2), and
    # m = 64, r = 0.8 gives 1e-14 per pair of the 523,776.
    assert largest_correlation(matrix.T) < 0.8 * math.sqrt(64)

    # Planted: an index that is not injective, and a cell that repeats another one with the
    # opposite sign or one node later.
    cell, node = np.indices(matrix.shape)
    by_sum = matrix[0, (cell + node) % 1024]
    by_xor = matrix[0, (cell ^ node) % 1024]
    negated, late = matrix.copy(), matrix.copy()
    negated[5] = -negated[3]
    late[5, 1:] = late[3, :-1]
    for planted in (by_sum, by_xor, negated, late):
        assert coincidences(planted) > limit
    assert largest_correlation(negated) > LIMIT_IN_DEVIATIONS


def test_draws_have_the_declared_sigma_and_are_repeatable() -> None:
    """65,536 draws: the sample variance is within 6 x sqrt(2/65536) = 3.4 %, except with 2e-9."""
    sketch = make(depth=4, width=16, horizon=16 * 1024)
    cells, nodes = list(range(64)), list(range(1, 1025))
    matrix = draws(sketch, cells, nodes)
    ratio = float(np.mean(matrix.astype(float) ** 2)) / sketch.sigma**2
    assert abs(ratio - 1) < 0.034
    assert not abs(ratio * 3 / 2 - 1) < 0.034
    assert not abs(ratio * 2 / 3 - 1) < 0.034
    np.testing.assert_array_equal(draws(sketch, cells[::-1], nodes[::-1]), matrix[::-1, ::-1])
    sketch.update_many(range(1000))
    np.testing.assert_array_equal(draws(sketch, cells, nodes), matrix)


# --- two sketches -------------------------------------------------------------------


def test_one_master_key_and_fresh_ids() -> None:
    """Equal parameters, one key, ids from the operating system: no shared draws."""
    key = lazysketch.testing.seeded_key(7, sketch_id=None)
    sketches = [make(key=key) for _ in range(4)]
    assert len({bytes(sketch.sketch_id) for sketch in sketches}) == 4
    matrices = [draws(sketch) for sketch in sketches]
    for i, one in enumerate(matrices):
        for other in matrices[:i]:
            assert not related(one, other)
    limit = coincidence_limit(4 * matrices[0].size, sketches[0].sigma)
    assert coincidences(np.concatenate(matrices)) < limit


def test_the_same_id_repeats_the_draws() -> None:
    """The other direction: the tests above would also pass if draws were never repeated."""
    np.testing.assert_array_equal(draws(make()), draws(make()))
    identity = bytes(range(16))
    key = lazysketch.testing.seeded_key(7, sketch_id=identity)
    one, other = make(key=key), make(key=lazysketch.testing.seeded_key(7, sketch_id=identity))
    assert bytes(one.sketch_id) == bytes(other.sketch_id) == identity
    np.testing.assert_array_equal(draws(one), draws(other))
    assert related(draws(one), draws(other))


@pytest.mark.parametrize("bit", [0, 1, 63, 64, 127])
def test_one_bit_of_the_id_changes_all_draws(bit: int) -> None:
    identity = (1 << bit).to_bytes(16, "little")
    key = lazysketch.testing.seeded_key(7, sketch_id=identity)
    assert not related(draws(make()), draws(make(key=key)))


@pytest.mark.parametrize("seed", [0, 6, 8, 7 + 2**8, 7 + 2**32])
def test_the_seed_changes_all_draws(seed: int) -> None:
    key = lazysketch.testing.seeded_key(seed)
    assert not related(draws(make()), draws(make(key=key)))


# --- one parameter changed ----------------------------------------------------------

CHANGES: dict[str, dict[str, object]] = {
    "epsilon by one bit": {"epsilon": math.nextafter(0.5, 1.0)},
    "epsilon": {"epsilon": 0.6},
    "delta": {"delta": 2e-6},
    "relation": {"relation": "zero-out"},
    "calibration": {"calibration": "classical"},
    "mechanism": {"mechanism": "binary"},
    "depth": {"depth": 4},
    "width": {"width": 5},
    "horizon with the same leaves": {"horizon": 255},
    "horizon": {"horizon": 512},
    "width and horizon, same leaves": {"width": 8, "horizon": 512},
    "max_weight": {"max_weight": HEAVY + 1},
    "max_events_per_user": {"max_events_per_user": 2},
    "hash_seed": {"hash_seed": 2},
    "hash_seed, a high bit": {"hash_seed": 1 + 2**40},
    "geometric schedule": {"horizon": None},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("cls", [lazysketch.LazyCountMin, lazysketch.LazyCountSketch])
def test_one_parameter_changes_all_draws(cls: Callable[..., PrivateTable], change: str) -> None:
    """Also if sigma, and with it everything that the noise depends on, is unchanged."""
    assert not related(draws(make(cls)), draws(make(cls, **CHANGES[change])))


def test_all_changed_sketches_share_nothing_with_each_other() -> None:
    matrices = [draws(make(**change)) for change in CHANGES.values()]
    for i, one in enumerate(matrices):
        for other in matrices[:i]:
            assert not related(one, other)


def test_parameters_with_equal_sigma_share_nothing() -> None:
    """Two events of weight w and one of weight 2 w: equal sigma, different working keys."""
    one = make(max_weight=2 * HEAVY, max_events_per_user=1)
    other = make(max_weight=HEAVY, max_events_per_user=2)
    assert not related(draws(one), draws(other))


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_the_kind_changes_all_draws(relation: str) -> None:
    """Under zero-out both kinds have the same sensitivity: only the kind differs."""
    one = make(lazysketch.LazyCountMin, relation=relation)
    other = make(lazysketch.LazyCountSketch, relation=relation)
    if relation == "zero-out":
        assert one.sigma == other.sigma
    assert not related(draws(one), draws(other))


def test_the_schedule_changes_all_draws() -> None:
    """With one column, lazy and punctual have equal pushes, leaves, sigma and horizon."""
    cells = list(range(3))
    one = make(lazysketch.LazyCountMin, width=1, horizon=64)
    other = make(lazysketch.PunctualCountMin, width=1, horizon=64)
    assert one.sigma == other.sigma
    assert not related(draws(one, cells), draws(other, cells))


def test_counters_and_sketches_share_nothing() -> None:
    """A table of one row and as many counters with the same noise."""
    cells = list(range(4))
    sketch = make(depth=1, width=4)
    counters = lazysketch.ContinualCounters(
        counters=4,
        epsilon=BASE["epsilon"],
        delta=BASE["delta"],
        horizon=BASE["horizon"],
        relation=BASE["relation"],
        mechanism=BASE["mechanism"],
        calibration=BASE["calibration"],
        max_weight=BASE["max_weight"],
        key=lazysketch.testing.seeded_key(7),
    )
    assert not related(draws(sketch, cells), draws(counters, cells))


def test_related_detects_shared_draws() -> None:
    """Planted: the same bits at another sigma, negated, shifted, or a quarter of them."""
    base = draws(make())
    scaled = np.rint(base * 1.37).astype(np.int64)
    shifted = np.roll(base, 1, axis=1)
    other = draws(make(hash_seed=2))
    quarter = np.where(np.arange(base.shape[1]) % 4 == 0, base, other)
    for planted in (base, scaled, -base, shifted, quarter, base.T.reshape(base.shape)):
        assert related(base, planted)
    assert not related(base, other)
