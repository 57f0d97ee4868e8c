"""The sizes of real streams: thousands of pushes, wide tables, many slots and epochs.

A bug that begins after 1,024 pushes, 64 slots or 65,536 cells is not seen on the small tables of
the other tests.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from itertools import chain

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.properties.test_core_equals_oracle import Plan, Setup, run
from tests.unit.heavy_hitters.test_discovery import SKETCH, expected, make, names

import lazysketch as ls
from lazysketch.testing import seeded_key

PUSHES = 4_096  # the most that every mechanism has
MECHANISMS = ["tree", "tree-log", "haar", "binary"]
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)
# Distances at which numbers that are cut to fewer bits repeat, and those next to them.
LAGS = sorted(set(chain.from_iterable((2**j - 1, 2**j, 2**j + 1) for j in range(1, 17))))


def repeated(noise: NDArray[np.int64], lag: int) -> float:
    """The fraction of values that are equal to those of an index larger by ``lag``."""
    return float(np.mean(noise[lag:] == noise[:-lag]))


@pytest.mark.parametrize("mechanism", ["haar", "binary"])
def test_noise_of_late_pushes_equals_the_oracle(mechanism: str) -> None:
    setup = Setup("count-sketch", mechanism, "round robin", 2, 1, PUSHES, seed=5)
    plan: Plan = [([("a", 2), (None, 1), ("b", 1)] * 2, True)]
    for idle in (1_021, 2_045, PUSHES - 6):
        run(setup, plan, idle=idle)


@every_mechanism
def test_no_two_pushes_have_the_same_noise(mechanism: str) -> None:
    """At a deviation of more than 100, 0.3 % of independent values are equal; 1 % fails."""
    sketch = ls.LazyCountMin(
        depth=4,
        width=4,
        epsilon=0.05,
        delta=1e-6,
        horizon=4 * PUSHES,
        mechanism=mechanism,
        key=seeded_key(11),
    )
    assert sketch.sigma > 20
    noise = np.empty((PUSHES, 16), dtype=np.int64)
    for values in noise:
        sketch.tick(4)
        values[:] = sketch.release().table.ravel()
    assert noise.std() > 100
    for lag in (lag for lag in LAGS if lag < PUSHES):
        assert repeated(noise, lag) < 0.01, lag


def test_the_geometric_schedule_ends_with_its_last_push() -> None:
    rounds = 40
    sketch = ls.LazyCountSketch(
        depth=2,
        width=4,
        epsilon=1.0,
        delta=1e-6,
        schedule=ls.Geometric(growth=(1, 4), rounds=rounds),
        key=seeded_key(3),
    )
    steps = 0
    while (release := sketch.release()).pushes.min() < rounds:
        sketch.update_many(np.arange(256))
        steps += 256
        assert steps < 10**6
    sketch.update_many(np.zeros(5_000, dtype=np.int64))
    sketch.tick(10**9)
    later = sketch.release()
    assert later.pushes.max() == rounds
    np.testing.assert_array_equal(later.table, release.table)


def test_cells_of_a_wide_table_share_no_noise() -> None:
    """100,000 cells at a deviation of more than 1,000: 0.03 % of values are equal; 0.3 % fails."""
    depth, width = 2, 50_000
    sketch = ls.LazyCountMin(
        depth=depth,
        width=width,
        epsilon=0.005,
        delta=1e-6,
        schedule=ls.Single(horizon=1),
        key=seeded_key(4),
    )
    sketch.tick(1)
    release = sketch.release()
    noise = release.table.ravel()
    assert noise.std() > 1_000
    for lag in (*LAGS, width):
        if lag < noise.size:
            assert repeated(noise, lag) < 0.003, lag
    items = np.arange(3_000)
    assert sketch.estimate_many(items).tolist() == release.estimate_many(items).tolist()


@pytest.mark.parametrize(
    ("capacity", "epoch", "epochs"),
    [(1_010, 3_000, 3), (1_500, 1_500, 11)],
    ids=["misra-gries", "dictionary"],
)
def test_many_slots_and_epochs_equal_the_oracle(capacity: int, epoch: int, epochs: int) -> None:
    """Items with counts near the threshold, more than slots, so that some are evicted."""
    sketch = make(capacity=capacity, epoch=epoch, epsilon=1.5)
    assert sketch._discovery_facts["slots"] >= 1_000
    variant = "misra-gries" if capacity < epoch else "dictionary"
    assert sketch._discovery_facts["variant"] == variant
    generator = np.random.default_rng(8)
    stream = generator.integers(0, 1_200, epoch * epochs)
    stream += np.repeat(np.arange(epochs) * 600, epoch)
    assert any(sketch._discovery_draws(number, [0])[0] for number in range(epochs))
    wanted = expected(sketch, stream.tolist(), epoch=epoch)
    sketch.update_many(stream)
    assert names(sketch) == wanted
    assert len(set(wanted.values())) == epochs  # every epoch published something new


def test_no_two_epochs_and_no_two_slots_have_the_same_noise() -> None:
    """1,100 slots in 40 epochs at a deviation above 100: 0.3 % of draws are equal; 3 % fails."""
    sketch = make(capacity=1_100, epoch=10_000, epsilon=0.01, delta=1e-3)
    slots = list(range(1_101))
    draws = np.array([sketch._discovery_draws(epoch, slots) for epoch in range(40)])
    assert draws.std() > 100
    for lag in LAGS:
        if lag < 40:
            assert repeated(draws, lag) < 0.03, lag
        if lag < 1_100:
            assert repeated(draws.T, lag) < 0.03, lag


def seed_of(tag: int) -> int:
    """The seed of a type of items, as ``table::hash`` derives it."""
    return mix(SKETCH["hash_seed"] ^ mix(tag))


def mix(x: int) -> int:
    mask = 2**64 - 1
    x ^= x >> 27
    x = x * 0x3C79_AC49_2BA7_B653 & mask
    x ^= x >> 33
    x = x * 0x1C69_B3F7_4AC4_AE35 & mask
    return x ^ x >> 27


def colliding_integer(value: int, tag: int) -> int:
    """The non-negative integer with the fingerprint of a value of another type."""
    return (value & (2**64 - 1)) ^ seed_of(tag) ^ seed_of(3)


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NEGATIVE, INSTANT, DATE = 4, 6, 7


@pytest.mark.parametrize(
    ("item", "value", "tag"),
    [
        (-5, -5, NEGATIVE),
        (EPOCH + timedelta(microseconds=10**15), 10**15, INSTANT),
        (date(1970, 1, 1) + timedelta(days=20_000), 20_000, DATE),
    ],
    ids=["negative", "instant", "date"],
)
@pytest.mark.parametrize("capacity", [6, 50])
def test_items_with_one_fingerprint_have_two_names(
    item: object, value: int, tag: int, capacity: int
) -> None:
    """The public hash is a bijection of 64-bit numbers: anyone can make such pairs."""
    other = colliding_integer(value, tag)
    exact = ls.CountMin(depth=8, width=65_536, hash_seed=SKETCH["hash_seed"])
    exact.update_many([item, other])
    assert exact.estimate(item) == exact.estimate(other) == 2.0  # they do collide
    sketch = make(capacity=capacity)
    sketch.update_many([item, other] * 25)
    assert set(names(sketch)) == {item, other}
    alone = make(capacity=capacity)
    alone.update_many([other] * 50)
    assert set(names(alone)) == {other}
