"""The law of the noise of discovery, under fresh keys, and how often strangers are published.

Fresh keys are random, so a wrong answer may come by chance: at most at the declared rates.
Fresh keys show no noise; the law is seen through seeded ones whose seeds are random.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import pytest
from tests.native_specs import hitters_spec
from tests.unit.heavy_hitters.test_discovery import DISCOVERY, SKETCH

import lazysketch as ls
from lazysketch import _native
from lazysketch.audit import p_values
from lazysketch.testing import seeded_key

ALPHA = 1e-9
DRAWS = 200_000


def probabilities(epsilon: float, reach: int) -> np.ndarray:
    """Discrete Laplace on -reach .. reach, the ends with their tails: closed forms."""
    ratio = math.exp(-epsilon)
    inside = np.arange(-reach, reach + 1)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(inside)
    law[0] = law[-1] = ratio**reach / (1 + ratio)
    return law


def histogram(values: Any, reach: int) -> Any:
    return np.bincount(np.clip(values, -reach, reach) + reach, minlength=2 * reach + 1)


def p_value(values: Any, epsilon: float) -> float:
    reach = math.ceil(6 / epsilon)
    return p_values.counts(histogram(values, reach), probabilities(epsilon, reach))


def draws(epsilon: float, *, capacity: int = 4) -> tuple[float, Any]:
    """Epsilon of the noise, and draws of several windows and slots under a random seed."""
    sketch = _native.HeavySketch(
        hitters_spec(
            SKETCH, {**DISCOVERY, "epsilon": epsilon, "delta": 1e-6, "capacity": capacity}
        ),
        key=seeded_key(secrets.randbits(64)),
    )
    slots = list(range(DRAWS // 4))
    values = [sketch._discovery_draws(window, slots) for window in (0, 1, 2, 2**40)]
    return sketch._discovery_facts["noise_epsilon"], np.concatenate(values)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5, 1.0, 3.0])
def test_draws_are_discrete_laplace(epsilon: float) -> None:
    """False-alarm rate 1e-9 per epsilon; planted laws are rejected on the same seeds."""
    epsilon, values = draws(epsilon)
    assert p_value(values, epsilon) > ALPHA
    generator = np.random.default_rng(1)

    def planted(scale: float) -> Any:
        law = np.ceil(generator.exponential(1.0, (2, DRAWS)) * scale / epsilon)
        return (law[0] - law[1]).astype(np.int64)

    assert p_value(planted(1.0), epsilon) > ALPHA  # the planted laws are right but for the plant
    for wrong in (0.9, 1.1):
        assert p_value(planted(wrong), epsilon) <= ALPHA
    # A sign bit on the magnitude: P(0) = 1 - e^-epsilon, about twice what it should be. Seen
    # where zero is a matter of a hundred draws or more.
    magnitude = np.ceil(generator.exponential(1.0, DRAWS) / epsilon).astype(np.int64) - 1
    assert p_value(magnitude * generator.choice([-1, 1], DRAWS), epsilon) <= ALPHA


def test_slots_and_windows_are_independent() -> None:
    """Correlation of the same slots in two windows, and of neighbouring slots: 5e-10 each."""
    _, values = draws(0.5)
    for window in values.reshape(4, -1)[:, : DRAWS // 8 * 2].reshape(4, -1, 2):
        x = np.sign(window[:, 0] + 0.5) * np.sign(window[:, 1] + 0.5)
        # P(z >= 0) = 1 / (1 + e^-1/2) = q; the product is 1 with q^2 + (1 - q)^2.
        q = 1 / (1 + math.exp(-0.5))
        agree = q * q + (1 - q) * (1 - q)
        assert p_values.counts([np.sum(x < 0), np.sum(x > 0)], [1 - agree, agree]) > ALPHA / 4
    one, other = values.reshape(4, -1)[:2]
    assert np.mean(one == other) < 0.2  # P(equal) = 0.13; planted, a key without its window: 1


@pytest.mark.parametrize("capacity", [8, 32])
def test_strangers_are_published_below_delta(capacity: int) -> None:
    """10^4 windows of 32 distinct items, each once: the rate of publication against delta.

    Misra-Gries (8) and dictionary (32). By Chernoff, at rate delta more than `most` of the n
    events are published with probability at most 1e-9; and for the dictionary, whose rate is
    exactly P(own >= tau - 1), it is met from both sides. A threshold one lower is noticed.
    """
    windows, length, delta = 10_000, 32, 0.002
    found = {**DISCOVERY, "epoch": length, "capacity": capacity, "epsilon": 1.0, "delta": delta}
    sketch = _native.HeavySketch(hitters_spec(SKETCH, found), key=ls.Key.generate())
    events = windows * length
    sketch.update_many(np.arange(events))
    assert sketch._epoch == windows
    published = len(sketch._candidates())
    facts = sketch._discovery_facts
    ratio = math.exp(-facts["noise_epsilon"])
    if facts["variant"] == "misra-gries":
        most = delta * events
        while events * entropy(most / events, delta) < math.log(1e9):
            most += 1
        assert published <= most
        return
    rate = ratio ** (facts["threshold"] - 1) / (1 + ratio)
    assert rate <= delta
    assert p_values.counts([published, events - published], [rate, 1 - rate]) > ALPHA
    lower = rate / ratio
    assert p_values.counts([published, events - published], [lower, 1 - lower]) <= ALPHA


def entropy(f: float, p: float) -> float:
    """Relative entropy of two coins."""
    return f * math.log(f / p) + (1 - f) * math.log((1 - f) / (1 - p))
