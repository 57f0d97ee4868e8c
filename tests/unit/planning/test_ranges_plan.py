"""Plans of ranges: errors that are measured, of ranges, networks and all keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key

GUARANTEE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
TABLES, KEYS, BITS = 48, 20_000, 20


@pytest.mark.parametrize(
    ("options", "width"),
    [
        ({"schedule": ls.Single()}, 64),
        ({"schedule": ls.Single(), "relation": "zero-out", "max_events_per_user": 3}, 64),
        ({"schedule": ls.Single()}, 1_024),
        ({"schedule": ls.Single(), "epsilon": 8.0}, 4),
    ],
    ids=["some collide", "zero-out", "few collide", "collisions"],
)
def test_the_predicted_errors_are_the_measured_ones(options: dict[str, Any], width: int) -> None:
    """Seeded: 48 tables of even keys, each with hash functions of its own, and their sums."""
    wanted: dict[str, Any] = {**GUARANTEE, "keys": KEYS, "bits": BITS, "width": width, **options}
    found = ls.plan_ranges(**wanted, prefix=6)
    squares: dict[str, list[float]] = {"range": [], "network": [], "all": [], "estimate": []}
    for number in range(TABLES):
        chance = np.random.default_rng(number)
        keys = chance.integers(0, 1 << BITS, KEYS)
        key = seeded_key(29, sketch_id=number.to_bytes(16, "big"))
        made = {name: of for name, of in wanted.items() if name != "keys"}
        with ls.Ranges(**made, hash_seed=number, key=key) as counted:
            counted.update_many(keys)
            counted.finish()
            release = counted.release()
        ends = np.sort(chance.integers(0, 1 << BITS, (20, 2)))
        networks = chance.integers(0, 1 << 6, 20) << (BITS - 6)
        asked = {
            "range": [(low, high + 1) for low, high in ends.tolist()],
            "network": [(low, low + (1 << (BITS - 6))) for low in networks.tolist()],
            "all": [(0, 1 << BITS)],
        }
        for name, ranges in asked.items():
            for low, high in ranges:
                true = int(((keys >= low) & (keys < high)).sum())
                cells = release._keys.factors(low, high).items()
                sums = sum(factor * release._keys.table[cell] for cell, factor in cells)
                squares[name].append((float(sums) - true) ** 2)
                if name == "range":
                    estimate = release.count_between(low, high).estimate
                    squares["estimate"].append((estimate - true) ** 2)
    measured = {name: float(np.sqrt(np.mean(each))) for name, each in squares.items()}
    assert measured["range"] == pytest.approx(found.standard_error, rel=0.15)
    assert measured["network"] == pytest.approx(found.prefix_error, rel=0.15)
    assert measured["all"] == pytest.approx(found.total_error, rel=0.35)  # of 48 tables
    assert measured["estimate"] <= 1.15 * found.standard_error
    assert found.half_width == pytest.approx(1.959964 * found.standard_error)


def test_what_is_planned_is_made() -> None:
    found = ls.plan_ranges(keys=1_000, bits=12, width=32, horizon=500, steps=100, **GUARANTEE)
    assert (found.bits, found.width, found.prefix, found.steps) == (12, 32, 6, 100)
    assert (found.memory, found.keys) == (8 * 12 * 32, 1_000)
    with found.ranges() as counted:
        assert (counted.bits, counted.width, counted.horizon) == (12, 32, 500)
    wide = ls.plan_ranges(keys=10, bits=64, width=16, prefix=64, horizon=9, **GUARANTEE)
    assert 0 < wide.prefix_error < wide.standard_error
    assert ls.plan_ranges(keys=10, bits=1, horizon=9, **GUARANTEE).prefix == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"keys": 0}, "keys: expected"),
        ({"bits": 65}, "bits: expected"),
        ({"width": 1}, "width: expected"),
        ({"prefix": 9}, "prefix: expected an integer from 1 to 8, got 9"),
        ({"prefix": 0}, "prefix: expected"),
        ({"confidence": 1.0}, "confidence: expected"),
        ({"steps": 0}, "steps: expected"),
        ({"horizon": 9, "schedule": ls.Single()}, "horizon: expected none with a schedule"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    plain: dict[str, Any] = {"keys": 1_000, "bits": 8, "width": 16, **GUARANTEE}
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        ls.plan_ranges(**{**plain, **wrong})
