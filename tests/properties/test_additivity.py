"""Additivity: noise that is independent of the data cancels in a difference.

Two sketches with one seeded key, one id and equal parameters are fed different streams of equal
length. The difference of their releases must be exactly the difference of the exact published
counts after every step: noise depends on the cell and the push only, and the rounding commutes
with adding an integer, at ties too. (For this reason two streams must never share a key and an id
outside tests.)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import haar
from tests.oracle.counters import mechanisms, no_noise
from tests.oracle.schedules import Geometric, Punctual, RoundRobin, Schedule
from tests.oracle.sketches import HashesReadOff, LazySketch

import lazysketch
import lazysketch.testing
from lazysketch.sketches.private_table import PrivateTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

PROFILE = settings(deadline=None, max_examples=12)
MAX_WEIGHT = 5
DEPTH, WIDTH = 3, 4
SEED = 11

LAZY: dict[str, Callable[..., PrivateTable]] = {
    "count-min": lazysketch.LazyCountMin,
    "count-sketch": lazysketch.LazyCountSketch,
}
PUNCTUAL: dict[str, Callable[..., PrivateTable]] = {
    "count-min": lazysketch.PunctualCountMin,
    "count-sketch": lazysketch.PunctualCountSketch,
}
EXACT: dict[str, type[lazysketch.CountMin | lazysketch.CountSketch]] = {
    "count-min": lazysketch.CountMin,
    "count-sketch": lazysketch.CountSketch,
}

Stream = list[tuple[int | None, int]]  # an item of None is a step without an event


def private_sketch(
    kind: str, mechanism: str, schedule: str, *, horizon: int, depth: int, width: int
) -> PrivateTable:
    make = (PUNCTUAL if schedule == "punctual" else LAZY)[kind]
    return make(
        depth=depth,
        width=width,
        epsilon=1.0,
        delta=1e-6,
        horizon=None if schedule == "geometric" else horizon,
        mechanism=mechanism,
        max_weight=MAX_WEIGHT,
        hash_seed=SEED,
        key=lazysketch.testing.seeded_key(SEED),
    )


def published_counts(
    kind: str, schedule: str, *, horizon: int, depth: int, width: int
) -> LazySketch:
    """The oracle without noise: the exact counts at the last push of each column."""
    schedules: dict[str, Schedule] = {
        "round robin": RoundRobin(width=width, horizon=horizon),
        "geometric": Geometric(width=width),
        "punctual": Punctual(width=width, horizon=horizon),
    }
    described = schedules[schedule]
    make_exact = partial(EXACT[kind], depth=depth, width=width, hash_seed=SEED)
    return LazySketch(
        kind,
        depth=depth,
        width=width,
        hashes=HashesReadOff(make_exact),
        schedule=described,
        mechanism=mechanisms("binary", leaves=described.leaves, noise=no_noise),
    )


def take(sketch: PrivateTable, item: int | None, weight: int) -> None:
    if item is None:
        sketch.tick()
    else:
        sketch.update(item, weight)


events = st.tuples(st.none() | st.integers(0, 6), st.integers(0, MAX_WEIGHT))


@pytest.mark.parametrize("schedule", ["round robin", "geometric", "punctual"])
@pytest.mark.parametrize("mechanism", ["binary", "haar"])
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@PROFILE
@given(pairs=st.lists(st.tuples(events, events), min_size=1, max_size=50))
def test_differences_are_exact(
    kind: str,
    mechanism: str,
    schedule: str,
    *,
    pairs: list[tuple[tuple[int | None, int], tuple[int | None, int]]],
) -> None:
    size: dict[str, int] = {"horizon": len(pairs), "depth": DEPTH, "width": WIDTH}
    sketches = [private_sketch(kind, mechanism, schedule, **size) for _ in range(2)]
    counts = [published_counts(kind, schedule, **size) for _ in range(2)]
    for pair in pairs:
        for sketch, count, (item, weight) in zip(sketches, counts, pair, strict=True):
            take(sketch, item, weight)
            count.update(item, weight)
        released = [sketch.release().table for sketch in sketches]
        exact = [np.array(count.table, dtype=np.int64) for count in counts]
        np.testing.assert_array_equal(released[1] - released[0], exact[1] - exact[0])


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_differences_are_exact_at_ties(kind: str) -> None:
    """Haar at p = n/2: N = z(n)/6 + z(n/2)/4, half an integer for one draw in twelve.

    Half-even and half-away roundings differ from floor(N + 1/2) only there, so the table must have
    such cells, with noise of both signs and with even and odd counts. The release is compared with
    the exact rounding of count + N.
    """
    depth, width = 6, 64
    size = {"horizon": 2 * width, "depth": depth, "width": width}
    stream: Stream = [(t % 37, 1 + t % MAX_WEIGHT) for t in range(width)]
    empty = private_sketch(kind, "haar", "round robin", **size)
    full = private_sketch(kind, "haar", "round robin", **size)
    counts = published_counts(kind, "round robin", **size)
    empty.tick(len(stream))
    for item, weight in stream:
        take(full, item, weight)
        counts.update(item, weight)

    z = lazysketch.testing.draws(empty, list(range(depth * width)), [1, 2])
    noise = [
        haar.noise_at(1, 2, {1: int(row[0]), 2: int(row[1])}.__getitem__) for row in z.tolist()
    ]
    exact = np.array(counts.table, dtype=np.int64).reshape(-1)
    ties = [cell for cell, value in enumerate(noise) if value.denominator == 2]
    assert len(ties) > 10, "too few ties for this seed: the test is too weak"
    assert {noise[cell] > 0 for cell in ties} == {True, False}
    assert {int(exact[cell]) % 2 for cell in ties} == {0, 1}

    table = full.release().table.reshape(-1)
    difference = table - empty.release().table.reshape(-1)
    np.testing.assert_array_equal(difference, exact)
    for cell, value in enumerate(noise):
        assert table[cell] == haar.rounded(int(exact[cell]) + value)

    # Planted: the two wrong roundings, on count + N, disagree with the release.
    half_even = [round(int(exact[cell]) + noise[cell]) for cell in ties]
    half_away = [half_away_from_zero(int(exact[cell]) + noise[cell]) for cell in ties]
    assert half_even != table[ties].tolist()
    assert half_away != table[ties].tolist()


def half_away_from_zero(value: Fraction) -> int:
    return haar.rounded(value) if value >= 0 else -haar.rounded(-value)


@pytest.mark.parametrize("mechanism", ["binary", "haar"])
def test_counters_differ_by_their_counts(mechanism: str) -> None:
    """ContinualCounters with one counter, which every step pushes."""
    make = partial(
        lazysketch.ContinualCounters,
        counters=1,
        epsilon=1.0,
        delta=1e-6,
        horizon=64,
        mechanism=mechanism,
        max_weight=MAX_WEIGHT,
    )
    busy = make(key=lazysketch.testing.seeded_key(SEED))
    idle = make(key=lazysketch.testing.seeded_key(SEED))
    total = 0
    for t in range(64):
        weight = (t * t) % (MAX_WEIGHT + 1)
        total += weight
        busy.update(0, weight)
        idle.tick()
        estimates = [one.estimate(0, estimator="minimum") for one in (busy, idle)]
        assert estimates[0] - estimates[1] == total
