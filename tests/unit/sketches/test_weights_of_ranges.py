"""Ranges of keys with weights: a key of weight w counts as w keys at its step, everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key

BITS, MOST = 8, 9
KEYS = np.random.default_rng(3).integers(0, 1 << BITS, 300)
WEIGHTS = np.random.default_rng(4).integers(0, MOST + 1, 300)
REPEATED = np.repeat(KEYS, WEIGHTS)


def made(**options: Any) -> ls.Ranges:
    plain: dict[str, Any] = {"bits": BITS, "width": 16, "max_weight": MOST, "hash_seed": 5}
    plain |= {"epsilon": 1.0, "delta": 1e-6, "key": seeded_key(3)}
    if "horizon" not in options:
        plain["schedule"] = ls.Batch(horizon=4)
    return ls.Ranges(**{**plain, **options})


def test_a_weight_is_as_many_keys() -> None:
    with made() as weighed, made() as repeated:
        weighed.update_batch(KEYS, WEIGHTS)
        weighed.update_batch(pa.array(KEYS), WEIGHTS.tolist())
        for _ in range(2):
            repeated.update_batch(REPEATED)
        assert weighed.release().to_bytes() == repeated.release().to_bytes()


def test_every_way_to_count_has_weights() -> None:
    keys, weights = KEYS[:40].tolist(), WEIGHTS[:40].tolist()
    ways = [made(horizon=64) for _ in range(3)]
    ways[0].update_many(keys, weights)
    for key, weight in zip(keys, weights, strict=True):
        ways[1].update(key, weight)
    ways[2].update_rows(keys[:30], weights[:30], empty_rows=[])
    ways[2].update_many(keys[30:], weights[30:])
    assert len({way.release().to_bytes() for way in ways}) == 1


def test_intervals_hold_weights() -> None:
    with made(horizon=4_000, bits=16, width=256, max_weight=1_000, epsilon=8.0) as live:
        live.update_many(np.arange(2_000), np.full(2_000, 1_000))
        found = live.count_between(0, 1_000, confidence=1 - 1e-9)
        assert found.low <= 1e6 <= found.high
        assert live.total().estimate > 1.5e6
        assert live.quantile(0.5, confidence=1 - 1e-9).low <= 999
    with made(schedule=ls.Single(), bits=4, max_weight=50) as live:
        live.update_many([3] * 10, [50] * 10)
        assert live.total().high >= 500.0  # nothing of it is published yet


def test_privacy_and_noise_are_those_of_the_largest_weight() -> None:
    plain, weighed = made(max_weight=1), made()
    ratio = weighed.spec.noise.l2_sensitivity / plain.spec.noise.l2_sensitivity
    assert ratio == pytest.approx(MOST, rel=1e-12)
    assert weighed.release().parts[0].privacy.max_weight == MOST
    with ls.Ranges(max_weight=MOST, epsilon=1.0, delta=1e-6, bits=4) as live:
        assert "weights up to 9" in str(live.privacy)


@pytest.mark.parametrize(
    ("weights", "error"),
    [([MOST + 1], ArgumentValueError), ([1, 1], ArgumentValueError), ([1.5], ArgumentTypeError)],
)
def test_wrong_weights_change_nothing(weights: list[Any], error: type[Exception]) -> None:
    with made() as live, made() as untouched:
        with pytest.raises(error, match="weights"):
            live.update_batch([7], weights)
        assert live.steps == 0
        live.update_batch([])
        untouched.update_batch([])
        assert live.release().to_bytes() == untouched.release().to_bytes()


def test_windows_have_weights() -> None:
    options: dict[str, Any] = {"bits": BITS, "width": 16, "hash_seed": 5, "epsilon": 1.0}
    options |= {"delta": 1e-6, "every": "1h", "slices": 1, "max_weight": MOST}
    now = [0.0]
    weighed, repeated = (
        ls.RangesWindows(**options, key=seeded_key(4), clock=lambda: now[0]) for _ in range(2)
    )
    weighed.update_many(KEYS, WEIGHTS)
    weighed.update(17, 5)
    repeated.update_many(np.append(REPEATED, [17] * 5))
    now[0] = 3_600.0
    assert weighed.release().to_bytes() == repeated.release().to_bytes()
    with pytest.raises(ArgumentValueError, match="weight"):
        weighed.update(17, MOST + 1)
