"""The default width: bounds, what it depends on, and that more columns would hardly help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lazysketch as ls
from lazysketch import Batch, Geometric, RoundRobin, Single
from lazysketch.heavy_hitters.default_width import NARROWEST, _collisions, default_width
from lazysketch.specification.schedules import Schedule

MEMORY = 32 << 20
SCHEDULES = (Single(), Geometric(), Batch(horizon=60), RoundRobin(horizon=2**20))


def spec(schedule: Schedule, *, epsilon: float = 1.0, weight: int = 1) -> ls.TableSpec:
    return ls.TableSpec(
        kind="count-min",
        depth=4,
        width=1,
        schedule=schedule,
        epsilon=epsilon,
        delta=1e-6,
        max_weight=weight,
    )


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda each: each.name)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("share", [0.5, 0.01, 0.0001])
def test_a_power_of_two_within_its_bounds(schedule: Schedule, epsilon: float, share: float) -> None:
    found = default_width(share, spec(schedule, epsilon=epsilon), memory=MEMORY)
    assert found & (found - 1) == 0
    assert 32 * found <= MEMORY
    if isinstance(schedule, RoundRobin):
        assert 20 * found <= schedule.horizon
    else:
        assert found >= max(NARROWEST, 8 / share)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda each: each.name)
def test_less_noise_needs_more_columns(schedule: Schedule) -> None:
    widths = [
        default_width(0.01, spec(schedule, epsilon=epsilon), memory=MEMORY)
        for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_weights_scale_noise_and_collisions_alike() -> None:
    for schedule in SCHEDULES:
        plain, weighted = (spec(schedule, weight=weight) for weight in (1, 100))
        assert default_width(0.01, plain, memory=MEMORY) == default_width(
            0.01, weighted, memory=MEMORY
        )


@pytest.mark.parametrize(("memory", "most"), [(1 << 16, 2048), (1 << 12, 128), (1 << 20, 32768)])
def test_memory_bounds_the_width(memory: int, most: int) -> None:
    assert default_width(1e-5, spec(Single()), memory=memory) == most


@pytest.mark.parametrize("weights", ["zipf", "log-normal", "two classes"])
def test_four_times_the_columns_hardly_help(weights: str) -> None:
    """Streams that the rule was not made for: the error falls by less than half.

    False alarms: over 300 items and 2 seeds the ratio of two such means moves by about 6 %; at a
    width of 256 it is above 3.7 on all three streams.
    """
    generator = np.random.default_rng(5)
    shares = {
        "zipf": np.arange(1, 200_001.0) ** -1.2,
        "log-normal": np.exp(2.0 * generator.standard_normal(100_000)),
        "two classes": np.where(np.arange(30_000) < 40, 750.0, 1.0),
    }[weights]
    events = generator.choice(len(shares), 250_000, p=shares / shares.sum())
    counts = np.bincount(events, minlength=len(shares))
    names = np.argsort(-counts, kind="stable")[:300]
    chosen = default_width(0.01, spec(Single()), memory=MEMORY)

    def error(width: int) -> float:
        found = []
        for seed in range(2):
            table = replace(spec(Single()), width=width, hash_seed=seed)
            sketch = ls.LazyCountMin.from_spec(table)
            sketch.update_many(events)
            sketch.finish()
            found.append(np.abs(sketch.release().decode(names) - counts[names]).mean())
        return float(np.mean(found))

    assert error(chosen) < 2.0 * error(4 * chosen)
    assert error(256) > 2.0 * error(4 * chosen), "the test can fail"


@pytest.mark.parametrize("width", [2**12, 2**16])
def test_collisions_are_those_of_items_rarer_than_one_per_cell(width: int) -> None:
    """Direct sums over a million items: each adds its variance, divided by the width."""
    shares = np.arange(1, 2**20 + 1, dtype=np.float64) ** -1.1
    shares /= shares.sum()
    light, steps = shares[width:], 2**20
    expected = steps * (steps * (light**2).sum() + light.sum()) / width
    found = _collisions(width, spec(Geometric(), weight=3), steps)
    assert found == pytest.approx(9 * expected, rel=0.1)  # integrals instead of sums
