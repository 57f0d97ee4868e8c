"""The tree without a horizon, and the schedules that use it, against their definitions."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from tests.oracle.endless_tree import EndlessTree

import lazysketch as ls
import lazysketch.testing
from lazysketch import Mechanism

TABLES = Path(__file__).parents[3] / "rust/core/src/mechanism"
# Proven lower bounds for a mechanism that knows the number of pushes: of the largest variance up to
# 2^12, of the mean beyond.
BOUNDS = {8: 6.415, 10: 8.77, 12: 11.511, 16: 17.91, 20: 26.16, 22: 30.87, 24: 35.97, 32: 60.25}


@cache
def oracle() -> EndlessTree:
    shared = (TABLES / "deep/tables/deep_16.i16").read_bytes()
    return EndlessTree(shared, (TABLES / "endless/spine.i16").read_bytes())


@cache
def mechanism() -> Mechanism:
    return Mechanism("tree-endless", leaves=2**32)


def test_facts() -> None:
    assert (mechanism().nodes, mechanism().draws) == (2**32, 2**32 + 1)
    assert mechanism().sensitivity2 == 262_227  # attained in epoch 13, by the recursion
    fewer = Mechanism("tree-endless", leaves=1000)
    assert (fewer.nodes, fewer.draws) == (1024, 1025)
    assert fewer.sensitivity2 == mechanism().sensitivity2
    assert fewer.variances(range(1024)).tolist() == mechanism().variances(range(1024)).tolist()


def test_no_leaf_of_the_first_epochs_exceeds_the_sensitivity() -> None:
    """Column by column, in plain integers, with the whole spine. Epochs are equally sensitive."""
    largest, most = dict[int, int](), 0
    for leaf, square, changed in oracle().changes(11):
        epoch = oracle().epoch(leaf)
        largest[epoch] = max(largest.get(epoch, 0), square)
        most = max(most, changed)
    assert set(largest) == set(range(12))
    assert max(largest.values()) <= mechanism().sensitivity2 <= 1.01 * min(largest.values())
    assert most <= mechanism().nodes_per_leaf


def test_rows_of_an_epoch_do_not_show_in_earlier_leaves() -> None:
    """They sum to zero over the whole path, for every kind of row and every epoch."""
    for j in range(2, 33):
        for depth in range(2, j + 1):
            for turns in (0, 1, 2**60 // 3):
                v = 2 ** (depth - 2) + turns % 2 ** (depth - 2)
                time = (2 * v + 1) << (j - depth)
                assert oracle().epoch(time) == j
                assert sum(oracle().row(time).values()) == 0
                assert min(oracle().row(time)) >= 2 ** (j - 1)


PUSHES = [*range(1, 70), 127, 128, 129, 1000, 1024, 4097, 65_535, 10**6 + 1, 2**28 + 1, 2**32 - 1]


def test_released_noise_is_rounded_at_every_node() -> None:
    """Release = count + noise to the last bit."""
    counters = ls.ContinualCounters(
        counters=6,
        epsilon=1.0,
        delta=1e-6,
        schedule=ls.Punctual(),
        key=lazysketch.testing.seeded_key(12),
    )
    assert counters.mechanism.name == "tree-endless"
    for number, push in enumerate(PUSHES, start=1):
        counters.tick(push - counters.steps - 1)
        counters.update(1)
        expected = []
        for cell in range(6):
            path = oracle().path(push)
            drawn = lazysketch.testing.draws(counters, cells=[cell], nodes=path)[0].tolist()
            noise = oracle().rounded_noise(push, dict(zip(path, drawn, strict=True)).__getitem__)
            expected.append((cell == 1) * number + noise)
        assert counters.release().table.ravel().tolist() == expected, push


def test_variances_by_definition() -> None:
    found = mechanism().variances(PUSHES)
    for push, variance in zip(PUSHES, found, strict=True):
        assert variance == pytest.approx(float(oracle().variance(push)), rel=1e-9), push


def test_the_price_of_no_horizon() -> None:
    """Standard deviations over the bound of a mechanism that knows the end: at most 1.40."""
    for j, bound in BOUNDS.items():
        first = 2 ** (j - 1)
        pushes = sorted({first + 1 + i * 0x9E3779B97F4A7C15 % first for i in range(600)})
        largest = float(mechanism().variances(pushes).max()) * mechanism().sensitivity2
        assert 1.25 < math.sqrt(largest / bound) < 1.40, j


@pytest.mark.parametrize("schedule", [ls.Batch(), ls.Punctual()])
def test_schedules_without_a_horizon(schedule: ls.Batch | ls.Punctual) -> None:
    assert schedule.horizon is None
    sketch = ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-8, schedule=schedule)
    assert (sketch.horizon, sketch.mechanism.name) == (None, "tree-endless")
    sketch.update("a")
    sketch.tick(10**6)
    release = ls.Release.from_bytes(sketch.release().to_bytes())
    (part,) = release.parts
    assert part.schedule == schedule
    assert part.mechanism is not None
    assert part.mechanism.name == "tree-endless"
    assert part.privacy.private
    early = ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-8, schedule=schedule)
    early.update("a")
    # Noise grows with the stream, not with a horizon.
    assert early.release().noise_deviation.max() < 0.4 * release.noise_deviation.max()
