"""Intervals and estimators: exact results on small tables, and properties of every release."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.estimation.error_distribution import ErrorDistribution, Strata
from lazysketch.estimation.order_statistics import (
    error_above,
    error_below,
    mean_least_noise,
    ranks,
)
from lazysketch.testing import seeded_key

SIZE = {"epsilon": 1.0, "delta": 1e-6}


def distribution_of(
    sample: list[float], *, noise: float = 0.0, one_sided: bool = True
) -> ErrorDistribution:
    return ErrorDistribution(np.sort(np.array(sample, dtype=np.float64)), noise, one_sided)


def brute_force(samples: list[list[float]], rank: int, threshold: float) -> float:
    """Return P(the rank-th smallest row error >= threshold), each row drawing from its sample.

    By rank, each of m values has probability 1 / (m + 1), and so has infinity.
    """
    total = 0.0
    rows = [[*sample, math.inf] for sample in samples]
    for drawn in itertools.product(*rows):
        if sorted(drawn)[rank] >= threshold:
            total += math.prod(1 / len(row) for row in rows)
    return total


@given(
    st.lists(
        st.lists(st.integers(-5, 20).map(float), min_size=2, max_size=5), min_size=1, max_size=4
    ),
    st.sampled_from([0.5, 0.2, 0.05]),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_thresholds_are_those_of_all_combinations(
    samples: list[list[float]], probability: float, data: st.DataObject
) -> None:
    rank = data.draw(st.integers(0, len(samples) - 1))
    distributions = [distribution_of(sample) for sample in samples]
    found = error_above(distributions, rank, probability)
    if math.isinf(found):
        assert brute_force(samples, rank, 1e9) > probability - 1e-12
        return
    assert brute_force(samples, rank, found + 1e-6) <= probability + 1e-12
    assert brute_force(samples, rank, found - 1e-6) > probability - 1e-12 or found < -1e3


@given(st.lists(st.integers(-5, 20).map(float), min_size=2, max_size=9), st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_below_mirrors_above(sample: list[float], depth: int) -> None:
    # Chebyshev's bound beyond the sample is symmetric, so the thresholds must be.
    distributions = [distribution_of(sample, one_sided=False)] * depth
    mirrored = [distribution_of([-x for x in sample], one_sided=False)] * depth
    for rank in range(depth):
        above = error_above(mirrored, depth - 1 - rank, 0.1)
        assert error_below(distributions, rank, 0.1) == pytest.approx(-above, abs=1e-6)


def test_the_noise_alone_bounds_errors_beyond_the_sample() -> None:
    # 9 cells cannot resolve 1 %; one-sided collisions keep the minimum above its noise.
    few = [distribution_of([100.0] * 9, noise=10.0)] * 3
    noise_only = [ErrorDistribution(np.empty(0), 10.0, one_sided=True)] * 3
    assert error_below(few, 0, 0.01) == pytest.approx(error_below(noise_only, 0, 0.01), abs=1e-6)
    one_of_three = 1 - (1 - 0.01) ** (1 / 3)
    assert error_below(noise_only, 0, 0.01) == pytest.approx(10 * _quantile(one_of_three), abs=1e-3)
    assert error_above([distribution_of([100.0] * 9, noise=10.0)], 0, 0.01) == math.inf


def _quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def test_the_mean_of_the_least_noise() -> None:
    assert mean_least_noise([2.0] * 3) == pytest.approx(-2 * 0.8463, abs=2e-3)
    assert mean_least_noise([1.0] * 4) == pytest.approx(-1.0294, abs=2e-3)
    assert mean_least_noise([3.0]) == pytest.approx(0.0, abs=1e-9)
    # Clark 1961: the minimum of two normals has mean -sqrt((a^2 + b^2) / (2 pi)).
    assert mean_least_noise([1.0, 5.0]) == pytest.approx(-math.sqrt(26 / (2 * math.pi)), abs=5e-3)
    assert mean_least_noise([0.0, 0.0]) == 0.0


def test_ranks_of_even_and_odd_depths() -> None:
    assert [ranks(depth, signed=True) for depth in (1, 2, 3, 4, 5)] == [
        (0, 0),
        (0, 1),
        (1, 1),
        (1, 2),
        (2, 2),
    ]


def test_strata_keep_pushes_apart_and_borrow_noise() -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 100, (2, 600))
    steps = np.full(600, 10_000.0)
    steps[:4] = 10_600.0
    noise = np.full(600, 4.0)
    noise[:4] = 400.0  # as at a push that closes many nodes
    found = Strata.of(table, published_steps=steps, noise_variance=noise, signed=False)
    assert set(found.of_column[:4]) != set(found.of_column[4:])
    few, many = found.distributions[found.of_column[0]], found.distributions[found.of_column[9]]
    assert (few.noise_deviation, many.noise_deviation) == (20.0, 2.0)
    assert len(many.sample) == 2 * 596
    assert len(few.sample) == 512
    # Borrowed cells lack a variance of 396, which is added.
    assert np.var(few.sample) == pytest.approx(np.var(table) + 396, rel=0.25)
    steps[7] = 0.0
    found = Strata.of(table, published_steps=steps, noise_variance=noise, signed=False)
    assert found.of_column[7] == -1


@pytest.fixture(scope="module")
def release() -> ls.Release:
    sketch = ls.LazyCountMin(depth=4, width=64, key=seeded_key(1), hash_seed=5, **SIZE)
    sketch.update_many(np.repeat(np.arange(100), np.arange(100) * 4)[::-1].copy())
    return sketch.release()


def test_many_items_equal_single_items(release: ls.Release) -> None:
    for at in ("published", "now"):
        many = release.interval_many([99, 5, 10**9], at=at, confidence=0.9)
        assert list(many) == [release.interval(i, at=at, confidence=0.9) for i in (99, 5, 10**9)]
        assert len(many) == 3
        for name in ("corrected", "joint", "bias-corrected", "minimum", None):
            each = [release.estimate(i, estimator=name, at=at) for i in (99, 5, 10**9)]
            together = release.estimate_many([99, 5, 10**9], estimator=name, at=at)
            assert together == pytest.approx(each)


def test_intervals_are_ordered_and_nested(release: ls.Release) -> None:
    items = list(range(0, 120, 7))
    single = release.interval_many(items)
    wider = release.interval_many(items, confidence=0.999)
    together = release.interval_many(items, simultaneous=True)
    now = release.interval_many(items, at="now")
    for found in (single, wider, together, now):
        assert np.all((found.low >= 0) & (found.low <= found.estimate))
        assert np.all(found.estimate <= found.high)
    for outer in (wider, together):
        assert np.all((outer.low <= single.low) & (outer.high >= single.high))
    assert np.all((now.low >= single.low) & (now.high >= single.high))
    assert single[3].width == single.high[3] - single.low[3]
    assert single[3].estimate in single[3]
    assert -1.0 not in single[3]


def test_the_default_estimate_is_that_of_the_paper(release: ls.Release) -> None:
    assert release.estimate(99) == release.estimate(99, estimator="minimum")
    rows = release.table[:, :]
    columns, _ = release._native.cells(99)
    assert release.estimate(99) == rows[np.arange(4), columns].min()


def test_lag_compensation_adds_the_published_rate(release: ls.Release) -> None:
    (part,) = release.parts
    columns, _ = release._native.cells(99)
    published = part.published_steps(release.width)[columns.astype(np.int64)]
    waiting = release.step - (published.min() + published.max()) / 2
    estimate = release.estimate(99, estimator="joint")
    expected = estimate * (1 + waiting / published.max())
    assert release.estimate(99, estimator="joint", at="now") == pytest.approx(expected)
    plain = release.estimate(99)
    assert release.estimate(99, at="now") == pytest.approx(plain * (1 + waiting / published.max()))


def test_items_without_a_published_cell() -> None:
    with ls.LazyCountMin(depth=2, width=64, max_weight=3, **SIZE) as sketch:
        assert sketch.interval("x", at="now").high == 0.0
        sketch.tick()
        waiting = [i for i in range(200) if 0 not in sketch.release()._native.cells(i)[0]]
        found = sketch.interval(waiting[0])
        assert (found.low, found.estimate, found.high) == (0.0, 0.0, 0.0)
        now = sketch.interval(waiting[0], at="now")
        assert (now.low, now.high) == (0.0, 3.0)  # one step of weight 3 at most


def test_an_exact_sketch_has_intervals_of_its_collisions() -> None:
    sketch = ls.CountMin(depth=3, width=256, hash_seed=1)
    sketch.update_many(np.repeat(np.arange(2000), 10))
    found = sketch.interval_many(np.arange(2000))
    assert np.mean((found.low <= 10) & (found.high >= 10)) >= 0.94
    empty = ls.CountMin(depth=1, width=1)
    assert (empty.interval("a").low, empty.interval("a").high) == (0.0, 0.0)


def test_counters_have_noise_only() -> None:
    counters = ls.ContinualCounters(counters=5, horizon=64, **SIZE)
    for _ in range(40):
        counters.update(2)
    release = counters.release()
    found = release.interval(2, confidence=0.95)
    assert found.high - release.estimate(2) == pytest.approx(
        1.959964 * release.noise_deviation[2], rel=1e-4
    )


def test_one_column_gives_only_an_upper_end() -> None:
    with ls.LazyCountMin(depth=2, width=1, horizon=100, **SIZE) as sketch:
        sketch.update_many(["a"] * 100)
        found = sketch.interval("a")
        assert found.low == 0.0
        assert found.high >= 100 - 5 * sketch.release().noise_deviation[0]


def test_merged_releases_have_intervals() -> None:
    parts = []
    for _ in range(2):
        sketch = ls.LazyCountSketch(depth=3, width=128, hash_seed=9, **SIZE)
        sketch.update_many(np.repeat(np.arange(50), 40))
        parts.append(sketch.release())
    merged = parts[0].merge(parts[1])
    found = merged.interval_many(np.arange(50), confidence=0.99, at="now")
    assert np.mean((found.low <= 80) & (found.high >= 80)) >= 0.9


BAD = [
    ({"confidence": 0.0}, "confidence"),
    ({"confidence": 1.0}, "confidence"),
    ({"confidence": float("nan")}, "confidence"),
    ({"confidence": "high"}, "confidence"),
    ({"at": "later"}, "at"),
    ({"at": 3}, "at"),
]


@pytest.mark.parametrize(("arguments", "name"), BAD)
def test_bad_arguments_are_named(
    release: ls.Release, arguments: dict[str, object], name: str
) -> None:
    with pytest.raises(ls.LazySketchError, match=f"^{name}: expected"):
        release.interval(1, **arguments)
    with pytest.raises(ls.LazySketchError, match=f"^{name}: expected"):
        release.interval_many([1], **arguments)


def test_bad_estimators_and_items_are_named(release: ls.Release) -> None:
    for wrong in ("median", "best", 3):
        with pytest.raises(ls.LazySketchError, match="^estimator: expected"):
            release.estimate(1, estimator=wrong)
    with pytest.raises(ls.LazySketchError, match="^at: expected"):
        release.estimate(1, at="tomorrow")
    with pytest.raises(ls.LazySketchError, match="^item: expected"):
        release.interval(1.5)
    with pytest.raises(ls.LazySketchError, match="^items: expected"):
        release.interval_many([1, None])
    with pytest.raises(ls.LazySketchError, match="^simultaneous: expected"):
        release.interval_many([1], simultaneous=1)


@given(
    st.sampled_from([ls.LazyCountMin, ls.LazyCountSketch]),
    st.integers(1, 6),
    st.integers(1, 70),
    st.integers(0, 300),
    st.sampled_from([None, 300]),
    st.sampled_from([0.5, 0.95, 0.9999]),
)
@example(
    ls.LazyCountSketch, 3, 27, 3, 300, 0.5
)  # noise, taken as a rate, exceeds the possible count
@settings(max_examples=60, deadline=None)
def test_intervals_of_every_release_are_consistent(
    make: type, depth: int, width: int, steps: int, horizon: int | None, confidence: float
) -> None:
    fixed = {"key": seeded_key(depth), "hash_seed": width}
    with make(depth=depth, width=width, horizon=horizon, **fixed, **SIZE) as sketch:
        sketch.update_many(np.arange(steps) % 7)
        release = sketch.release()
        for at in ("published", "now"):
            found = release.interval_many(np.arange(9), confidence=confidence, at=at)
            assert np.all((found.low >= 0) & (found.low <= found.high))
            assert np.all((found.low <= found.estimate) & (found.estimate <= found.high))
        for name in ("joint", "corrected", "bias-corrected"):
            assert np.all(np.isfinite(release.estimate_many(np.arange(9), estimator=name)))


def test_among_covers_the_list_that_items_were_chosen_from(release: ls.Release) -> None:
    everything = list(range(200))
    for at in ("published", "now"):
        together = release.interval_many(everything, simultaneous=True, at=at)
        chosen = release.interval_many(everything[:3], among=200, at=at)
        assert chosen.simultaneous
        assert list(chosen) == [together[position] for position in range(3)]
        alone = release.interval_many(everything, at=at)
        assert np.array_equal(alone.estimate, together.estimate)
        assert np.all((together.low <= alone.low) & (alone.high <= together.high))
    alone = release.interval_many(everything[:3], among=3)
    assert list(alone) == list(release.interval_many(everything[:3], simultaneous=True))


def test_the_joint_estimate_of_one_row_is_the_corrected_one() -> None:
    """Otherwise the mean collision with heavy items would be subtracted from every count."""
    sketch = ls.LazyCountMin(depth=1, width=300, epsilon=1.0, delta=1e-6, horizon=60_000)
    events = np.minimum(np.random.default_rng(3).zipf(1.3, 60_000), 10**6)
    sketch.update_many(events)
    release = sketch.release()
    joint = release.estimate_many([1, 2, 3, 4], estimator="joint")
    assert np.array_equal(joint, release.estimate_many([1, 2, 3, 4], estimator="corrected"))
    counts = np.array([np.count_nonzero(events == item) for item in (1, 2, 3, 4)])
    assert np.median(np.abs(joint / counts - 1)) < 0.2
