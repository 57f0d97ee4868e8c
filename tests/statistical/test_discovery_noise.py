"""The distribution of the noise of discovery, and the rate at which rare names are published.

Keys are random, so a false alarm is possible: at most at the declared rates. Fresh keys do not
expose draws, so the distribution is tested through seeded keys with random seeds.
"""

from __future__ import annotations

import math
import secrets

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.native_specs import hitters_spec
from tests.unit.heavy_hitters.test_discovery import DISCOVERY, SKETCH

import lazysketch as ls
from lazysketch import _native
from lazysketch.audit import p_values
from lazysketch.testing import seeded_key

Integers = NDArray[np.int64]
ALPHA = 1e-9
DRAWS = 200_000


def probabilities(epsilon: float, reach: int) -> np.ndarray:
    """Discrete Laplace on -reach .. reach, in closed form; the ends include their tails."""
    ratio = math.exp(-epsilon)
    inside = np.arange(-reach, reach + 1)
    found = (1 - ratio) / (1 + ratio) * ratio ** np.abs(inside)
    found[0] = found[-1] = ratio**reach / (1 + ratio)
    return found


def histogram(values: Integers, reach: int) -> Integers:
    return np.bincount(np.clip(values, -reach, reach) + reach, minlength=2 * reach + 1)


def p_value(values: Integers, epsilon: float) -> float:
    reach = math.ceil(6 / epsilon)
    return p_values.counts(histogram(values, reach), probabilities(epsilon, reach))


def draws(epsilon: float, *, capacity: int = 4) -> tuple[float, Integers]:
    """Epsilon of the noise, and the draws of several epochs and slots under a random seed."""
    sketch = _native.HeavySketch(
        hitters_spec(
            SKETCH, {**DISCOVERY, "epsilon": epsilon, "delta": 1e-6, "capacity": capacity}
        ),
        key=seeded_key(secrets.randbits(64)),
    )
    slots = list(range(DRAWS // 4))
    values = [sketch._discovery_draws(epoch, slots) for epoch in (0, 1, 2, 2**40)]
    return sketch._discovery_facts["noise_epsilon"], np.concatenate(values)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5, 1.0, 3.0])
def test_draws_are_discrete_laplace(epsilon: float) -> None:
    """False-alarm rate 1e-9 per epsilon; planted distributions are rejected."""
    epsilon, values = draws(epsilon)
    assert p_value(values, epsilon) > ALPHA
    generator = np.random.default_rng(1)

    def planted(scale: float) -> Integers:
        geometric = np.ceil(generator.exponential(1.0, (2, DRAWS)) * scale / epsilon)
        return np.asarray(geometric[0] - geometric[1], dtype=np.int64)

    assert p_value(planted(1.0), epsilon) > ALPHA  # the plant is correct without its scale
    for wrong in (0.9, 1.1):
        assert p_value(planted(wrong), epsilon) <= ALPHA
    # A sign bit added to the magnitude: P(0) = 1 - e^-epsilon, about twice the right value.
    # Detected if a hundred draws or more are zero.
    magnitude = np.ceil(generator.exponential(1.0, DRAWS) / epsilon).astype(np.int64) - 1
    assert p_value(magnitude * generator.choice([-1, 1], DRAWS), epsilon) <= ALPHA


def test_slots_and_epochs_are_independent() -> None:
    """Correlation of the same slots in two epochs, and of neighbouring slots: 5e-10 each."""
    _, values = draws(0.5)
    for pairs in values.reshape(4, -1)[:, : DRAWS // 8 * 2].reshape(4, -1, 2):
        x = np.sign(pairs[:, 0] + 0.5) * np.sign(pairs[:, 1] + 0.5)
        # q = P(z >= 0) = 1 / (1 + e^-1/2); the product is 1 with probability q^2 + (1 - q)^2.
        q = 1 / (1 + math.exp(-0.5))
        agree = q * q + (1 - q) * (1 - q)
        assert p_values.counts([np.sum(x < 0), np.sum(x > 0)], [1 - agree, agree]) > ALPHA / 4
    one, other = values.reshape(4, -1)[:2]
    assert np.mean(one == other) < 0.2  # P(equal) = 0.13; under a key without the epoch it is 1


@pytest.mark.parametrize("capacity", [8, 32])
def test_rare_names_are_published_with_probability_below_delta(capacity: int) -> None:
    """10^4 epochs of 32 distinct items, each once: the rate of publication against delta.

    Misra-Gries (8) and dictionary (32). By Chernoff, at rate delta more than `most` of the n
    events are published with probability at most 1e-9. For the dictionary, whose rate is exactly
    P(own >= tau - 1), the test is two-sided. A threshold that is one too low is detected.
    """
    epochs, length, delta = 10_000, 32, 0.002
    found = {**DISCOVERY, "epoch": length, "capacity": capacity, "epsilon": 1.0, "delta": delta}
    sketch = _native.HeavySketch(hitters_spec(SKETCH, found), key=ls.Key.generate())
    events = epochs * length
    sketch.update_many(np.arange(events))
    assert sketch._epoch == epochs
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
