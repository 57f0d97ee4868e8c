"""Intervals cover the true count, over hash seeds and noise, and are not far too wide.

Each of n sketches has its own key, id and hash seed, so for one item the number of misses is
binomial and Chernoff's bound gives the p-values. Two-sided: intervals miss with at most 1 -
confidence, and intervals of half the width miss with at least 25 %. Keys are seeded, so results are
reproducible; `declared` has the rate over seeds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.estimation.error_model import error_model
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.testing import seeded_key

SKETCHES, PLANTED, CONFIDENCE = 400, 250, 0.9
HALF, LEAST = 0.5, 0.25
STEPS = {3: 20_000, 4: 156 * 128}  # by depth: in the middle of a round, and at the end of one
EVENTS = np.minimum(np.random.default_rng(11).zipf(1.2, 20_000), 5_000)
ITEMS = np.array([1, 40, 5_500])  # heavy, light, absent
BUDGET = declared.budget("coverage")
TABLES = [("count-min", 3), ("count-sketch", 3), ("count-sketch", 4)]


def released(kind: str, depth: int, number: int) -> ls.Release:
    spec = spec_of(kind, depth)
    made: type[PrivateTable] = ls.LazyCountMin if kind == "count-min" else ls.LazyCountSketch
    # The hash seed follows from key and id: it differs from sketch to sketch.
    key = seeded_key(11, sketch_id=number.to_bytes(16, "big"))
    with made.from_spec(spec, key=key) as sketch:
        sketch.update_many(EVENTS[: STEPS[depth]])
        return sketch.release()


@cache
def spec_of(kind: str, depth: int) -> ls.TableSpec:
    return ls.TableSpec(
        kind=kind,
        depth=depth,
        width=128,
        schedule=ls.RoundRobin(horizon=STEPS[depth]),
        epsilon=1.0,
        delta=1e-6,
    )


def without_collisions(release: ls.Release) -> None:
    """Planted: intervals of the noise alone."""
    release.__dict__["_errors"] = error_model(
        # The noise alone, without the counts: symmetric about 0.
        np.random.default_rng(1)
        .normal(0.0, release.noise_deviation, release.table.shape)
        .round()
        .astype(np.int64),
        kind=release._native.kind,
        published_steps=lambda: release._published_steps,
        noise_variance=lambda: release._noise_variance,
        step=release.step,
        max_weight=1,
    )


def true_counts(depth: int) -> np.ndarray:
    return np.bincount(EVENTS[: STEPS[depth]], minlength=6_000)[ITEMS]


@cache
def misses(kind: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The misses of each item, of the intervals and of those of half the width."""
    true, hash_seeds = true_counts(depth), set()
    whole, half = np.zeros(len(ITEMS), int), np.zeros(len(ITEMS), int)
    for number in range(SKETCHES):
        release = released(kind, depth, number)
        hash_seeds.add(release.hash_seed)
        of = release.interval_many(ITEMS, confidence=CONFIDENCE, at="now")
        whole += (true < of.low) | (true > of.high)
        for at, (estimate, low, high) in enumerate(zip(of.estimate, of.low, of.high, strict=True)):
            least, most = narrowed(estimate, low, high, by=HALF)
            half[at] += not least <= true[at] <= most
    assert len(hash_seeds) == SKETCHES
    return whole, half


@pytest.mark.parametrize(("kind", "depth"), TABLES)
def test_intervals_cover_and_are_not_far_too_wide(kind: str, depth: int) -> None:
    for item, true, *missed in zip(ITEMS, true_counts(depth), *misses(kind, depth), strict=True):
        whole, half = map(int, missed)
        what = f"{kind} {depth}, item {item}"
        p_value = too_many(whole, of=SKETCHES, confidence=CONFIDENCE)
        BUDGET.check(p_value, f"too narrow: {what}")
        if true:  # that of an absent item begins at 0, however narrow it is
            BUDGET.check(too_few(half, of=SKETCHES, least=LEAST), f"too wide: {what}")
            # Planted: intervals of twice the width, narrowed by half, are those as they are.
            assert too_few(whole, of=SKETCHES, least=LEAST) <= BUDGET.alpha


@pytest.mark.parametrize(("confidence", "collisions"), [(0.65, True), (CONFIDENCE, False)])
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_intervals_that_are_too_narrow_are_rejected(
    kind: str, confidence: float, collisions: bool
) -> None:
    missed, depth = 0, 3
    for number in range(PLANTED):
        release = released(kind, depth, number)
        if not collisions:
            without_collisions(release)
        wrong = release.interval_many(ITEMS[1:2], confidence=confidence, at="now")[0]
        missed += not wrong.low <= true_counts(depth)[1] <= wrong.high
    assert too_many(missed, of=PLANTED, confidence=CONFIDENCE) <= BUDGET.alpha
