"""Second moments and inner products of Count Sketch releases."""

from __future__ import annotations

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.estimation.moments import inner_product, second_moment
from lazysketch.testing import seeded_key

SIZE = {"depth": 5, "width": 256, "epsilon": 1.0, "delta": 1e-6}
EVENTS = np.random.default_rng(4).zipf(1.5, 40_000) % 5_000
OTHERS = np.random.default_rng(5).zipf(1.4, 40_000) % 5_000


def release_of(events: np.ndarray, *, hash_seed: int | None = None, number: int = 0) -> ls.Release:
    # Punctual: no lag between the rows and the truth.
    # Seeded: whether intervals cover and estimates are near is the same in every run.
    key = seeded_key(hash_seed or 0, sketch_id=bytes([number] * 16))
    with ls.LazyCountSketch(**SIZE, horizon=len(events), hash_seed=hash_seed, key=key) as sketch:
        sketch.update_many(events)
        return sketch.release()


def truth(first: np.ndarray, second: np.ndarray) -> float:
    counts = [np.bincount(e, minlength=5_000).astype(float) for e in (first, second)]
    return float(counts[0] @ counts[1])


def test_intervals_cover_and_estimates_are_near() -> None:
    # At 99 % each of 40 intervals fails with at most 1 %: more than 7 failures once in 1e8 sets of
    # seeds.
    f2, product = truth(EVENTS, EVENTS), truth(EVENTS, OTHERS)
    covered = 0
    for seed in range(20):
        first, second = (
            release_of(EVENTS, hash_seed=seed),
            release_of(OTHERS, hash_seed=seed, number=1),
        )
        moment = first.second_moment(confidence=0.99)
        covered += moment.low <= f2 <= moment.high
        # At most one round of 256 in 40,000 steps is missing: far inside the interval.
        assert moment.estimate == pytest.approx(f2, rel=0.25)
        joint = first.inner_product(second, confidence=0.99)
        covered += joint.low <= product <= joint.high
        assert joint == second.inner_product(first, confidence=0.99)
    assert covered >= 33


def test_noise_is_subtracted() -> None:
    # The table holds noise only: without the correction F2 would be width * variance.
    rng = np.random.default_rng(1)
    noise = np.full(256, 900.0)
    estimates = []
    for _ in range(50):
        table = np.rint(rng.standard_normal((5, 256)) * 30).astype(np.int64)
        moment = second_moment(table, noise, confidence=0.95)
        estimates.append(moment.estimate)
    spread = 900 * np.sqrt(2 * 256 / 5) / np.sqrt(50)
    assert abs(np.mean(estimates)) < 6 * spread
    planted = [e + 256 * 900.0 for e in estimates]
    assert abs(np.mean(planted)) > 6 * spread


def test_few_columns_give_no_upper_end() -> None:
    moment = second_moment(np.array([[3], [-3]]), np.ones(1), confidence=0.95)
    assert (moment.low, moment.high) == (0.0, float("inf"))


def test_a_product_with_zeros_is_about_zero() -> None:
    table = np.full((3, 64), 5, dtype=np.int64)
    moment = inner_product(
        (table, np.zeros_like(table)), (np.ones(64), np.ones(64)), confidence=0.9
    )
    assert moment.estimate == 0.0
    assert moment.low < 0.0 < moment.high


def test_bad_questions_are_refused() -> None:
    release = release_of(EVENTS, hash_seed=1)
    with pytest.raises(ls.LazySketchError, match="^second_moment: expected a release of a Count"):
        ls.CountMin(depth=2, width=8).release().second_moment()
    with pytest.raises(ls.LazySketchError, match="^inner_product: expected a release of a Count"):
        ls.CountMin(depth=2, width=8).release().inner_product(release)
    with pytest.raises(ls.LazySketchError, match="^confidence: expected"):
        release.second_moment(confidence=2)
    with pytest.raises(ls.LazySketchError, match="^other: expected a release"):
        release.inner_product(3)
    with pytest.raises(ls.LazySketchError, match="^other: expected releases of different"):
        release.inner_product(release)
    with pytest.raises(ls.LazySketchError, match="^other: expected count-sketch 5 x 256"):
        release.inner_product(release_of(OTHERS, hash_seed=2, number=1))
