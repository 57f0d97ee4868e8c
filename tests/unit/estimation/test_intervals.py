"""Intervals and estimators: exact results on small tables, and properties of every release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch import _native
from lazysketch.estimation.estimators import Estimator
from lazysketch.testing import seeded_key

SIZE = {"epsilon": 1.0, "delta": 1e-6}


ESTIMATORS: tuple[Estimator | None, ...] = ("joint", "minimum", None)


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
        for name in ESTIMATORS:
            each = [release.estimate(i, estimator=name, at=at) for i in (99, 5, 10**9)]
            together = release.estimate_many([99, 5, 10**9], estimator=name, at=at)
            assert together.tolist() == each


def test_intervals_are_ordered_and_nested(release: ls.Release) -> None:
    items = list(range(0, 120, 7))
    single = release.interval_many(items, at="published")
    wider = release.interval_many(items, confidence=0.999, at="published")
    together = release.interval_many(items, simultaneous=True, at="published")
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


def test_an_item_has_one_number_at_one_step() -> None:
    """Of the live sketch, its release and every interval, after any update."""
    kinds: list[type[ls.LazyCountMin] | type[ls.LazyCountSketch]]
    kinds = [ls.LazyCountMin, ls.LazyCountSketch]
    for make in kinds:
        sketch = make(depth=3, width=128, key=seeded_key(2), hash_seed=6, **SIZE)
        generator = np.random.default_rng(1)
        sketch.update_many(generator.zipf(1.3, 3_000) % 500)
        for more in (0, 1, 1, 2, 40, 1, 700, 1, 3, 1):
            for item in generator.zipf(1.3, more).tolist():
                sketch.update(item % 500)
            release = sketch.release()
            items = list(range(1, 60))
            one_by_one = [sketch.estimate(item) for item in items]
            assert one_by_one == release.estimate_many(items).tolist()
            assert one_by_one == sketch.estimate_many(items).tolist()
            known = np.maximum(one_by_one, 0.0).tolist()
            assert known == [release.interval(item).estimate for item in items]
            for among in (None, 1_000_000):
                assert known == release.interval_many(items, among=among).estimate.tolist()
            top = {hitter.item: hitter.estimate for hitter in release.top(items, 60)}
            assert [top[item] for item in items] == np.maximum(release.decode(items), 0.0).tolist()
            published = [sketch.estimate(item, at="published") for item in items]
            assert published == release.estimate_many(items, at="published").tolist()


def test_the_minimum_is_that_of_the_paper(release: ls.Release) -> None:
    columns, _ = release._native.cells(99)
    least = release.table[np.arange(4), columns].min()
    assert release.estimate(99, estimator="minimum") == least
    assert release.estimate(99) != least


def test_lag_compensation_adds_the_published_rate(release: ls.Release) -> None:
    (part,) = release.parts
    columns, _ = release._native.cells(99)
    published = part.published_steps(release.width)[columns.astype(np.int64)]
    waiting = release.step - (published.min() + published.max()) / 2
    now = release.estimate(99)
    assert now == release.estimate(99, at="now", estimator="joint")
    expected = now * published.mean() / release.step
    assert release.estimate(99, at="published") == pytest.approx(expected)
    plain = release.estimate(99, estimator="minimum")
    compensated = release.estimate(99, estimator="minimum", at="now")
    assert compensated == pytest.approx(plain * (1 + waiting / published.max()))


def test_rows_of_several_steps_are_one_count() -> None:
    """Without noise and collisions, each row alone gives the count at this step."""
    sketch = ls.LazyCountMin(depth=4, width=256, epsilon=15.0, delta=0.1, hash_seed=3)
    sketch.update_many(np.zeros(100_000, np.int64))
    release = sketch.release()
    columns, _ = release._native.cells(0)
    rows = release.table[np.arange(4), columns]
    assert rows.max() - rows.min() > 50  # pushed at different steps
    assert release.estimate(0) == pytest.approx(100_000, abs=15)
    assert release.estimate(0, at="published") == pytest.approx(rows.mean(), abs=15)


def test_items_without_a_published_cell() -> None:
    with ls.LazyCountMin(depth=2, width=64, max_weight=3, **SIZE) as sketch:
        assert sketch.interval("x", at="now").high == 0.0
        sketch.tick()
        waiting = [i for i in range(200) if 0 not in sketch.release()._native.cells(i)[0]]
        found = sketch.interval(waiting[0], at="published")
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
    found = release.interval(2, confidence=0.95, at="published")
    assert found.high - release.estimate(2, at="published") == pytest.approx(
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
            assert np.all(np.isfinite(release.estimate_many(np.arange(9), at=at)))


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


def test_one_row_is_corrected_by_the_median_of_its_cells() -> None:
    """Otherwise the mean collision with heavy items would be subtracted from every count."""
    options: dict[str, Any] = {"horizon": 60_000, "hash_seed": 1, "key": seeded_key(1)}
    sketch = ls.LazyCountMin(depth=1, width=300, epsilon=1.0, delta=1e-6, **options)
    events = np.minimum(np.random.default_rng(3).zipf(1.3, 60_000), 10**6)
    sketch.update_many(events)
    joint = sketch.release().estimate_many([1, 2, 3, 4])
    counts = np.array([np.count_nonzero(events == item) for item in (1, 2, 3, 4)])
    assert np.median(np.abs(joint / counts - 1)) < 0.2


def test_sizes_that_do_not_fit_together_are_refused() -> None:
    columns_of: dict[str, Any] = {"published": lambda: np.ones(4), "variance": lambda: np.ones(4)}
    with pytest.raises(ls.LazySketchError, match="^table: expected"):
        _native.ErrorModel(np.ones((2, 3), np.int64), **columns_of, **MODEL)
    model = _native.ErrorModel(np.ones((2, 4), np.int64), **columns_of, **MODEL)
    for sizes in ((3, 3), (1, 2)):
        with pytest.raises(ls.LazySketchError, match="^values: expected"):
            model.intervals(np.ones(sizes), np.ones((3, 2), np.int64), **ASKED)
    for others in (np.ones((3, 3), np.int64), *(np.full((1, 2), outside) for outside in (-1, 4))):
        with pytest.raises(ls.LazySketchError, match="^columns: expected"):
            model.intervals(np.ones(others.shape), others, **ASKED)
        with pytest.raises(ls.LazySketchError, match="^columns: expected"):
            model.values(others)


def test_values_are_those_in_the_cells_of_items() -> None:
    table = np.array([[5, -7, 2**40, 0], [1, 2, 3, 4]])
    columns_of: dict[str, Any] = {"published": lambda: np.ones(4), "variance": lambda: np.ones(4)}
    model = _native.ErrorModel(table, **columns_of, **MODEL)
    columns = np.array([[2, 0], [1, 3], [1, 1]])
    assert model.values(columns).tolist() == [[2.0**40, 1.0], [-7.0, 4.0], [-7.0, 2.0]]
    assert model.values(columns[::2]).tolist() == [[2.0**40, 1.0], [-7.0, 2.0]]
    assert model.values(columns[:0]).shape == (0, 2)


MODEL = {"kind": "count-min", "step": 9.0, "max_weight": 1.0, "burstiness": 0.5}
ASKED = {"level": 0.025, "deviations": 1.96, "now": True}
