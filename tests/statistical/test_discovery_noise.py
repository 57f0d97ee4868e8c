"""The distribution of the noise of discovery, and the rates at which names are published.

Keys are random, so a false alarm is possible: at most at the declared rate. Fresh keys do not
expose draws, so the distribution is tested through seeded keys with random seeds. Every test is
two-sided: too little noise and too much, names too rarely and too often.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.native_specs import hitters_spec
from tests.statistical import declared
from tests.unit.heavy_hitters.test_discovery import DISCOVERY, SKETCH

import lazysketch as ls
from lazysketch import _native
from lazysketch.audit import p_values
from lazysketch.testing import seeded_key

Integers = NDArray[np.int64]
Sample = NDArray[np.float64]
BUDGET = declared.budget("discovery noise")
DRAWS = 200_000
EPSILONS = (0.02, 0.1, 0.5, 1.0, 3.0)


def probabilities(epsilon: float, reach: int) -> Sample:
    """Discrete Laplace on -reach .. reach, in closed form; the ends include their tails."""
    ratio = math.exp(-epsilon)
    inside = np.arange(-reach, reach + 1)
    found = (1 - ratio) / (1 + ratio) * ratio ** np.abs(inside)
    found[0] = found[-1] = ratio**reach / (1 + ratio)
    return found


def far(epsilon: float, claimed: float) -> Sample:
    """The probabilities of |z| below 1 / claimed, and of the others: the best test of the scale."""
    ratio = math.exp(-epsilon)
    beyond = 2 * ratio ** math.ceil(1 / claimed) / (1 + ratio)
    return np.array([1 - beyond, beyond])


def histogram(values: Integers, reach: int) -> Integers:
    return np.bincount(np.clip(values, -reach, reach) + reach, minlength=2 * reach + 1)


def p_value_of_values(values: Integers, epsilon: float) -> float:
    reach = math.ceil(6 / epsilon)
    return p_values.counts(histogram(values, reach), probabilities(epsilon, reach))


def p_value_of_scale(values: Integers, epsilon: float) -> float:
    beyond = int(np.count_nonzero(np.abs(values) >= math.ceil(1 / epsilon)))
    return p_values.counts([values.size - beyond, beyond], far(epsilon, epsilon))


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
    return sketch._discovery_facts["rates"][0], np.concatenate(values)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_draws_are_discrete_laplace(epsilon: float) -> None:
    """Every probability, and the share beyond 1 / epsilon."""
    epsilon, values = draws(epsilon)
    BUDGET.check(p_value_of_values(values, epsilon), f"probabilities, epsilon {epsilon}")
    BUDGET.check(p_value_of_scale(values, epsilon), f"scale, epsilon {epsilon}")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_sign_bit_on_a_magnitude_is_rejected(epsilon: float) -> None:
    """P(0) = 1 - e^-epsilon is about twice the right value; data are seeded."""
    generator = np.random.default_rng(1)

    def magnitudes() -> Integers:
        drawn = np.ceil(generator.exponential(1.0, DRAWS) / epsilon) - 1
        return np.asarray(drawn, dtype=np.int64)

    assert p_value_of_values(magnitudes() - magnitudes(), epsilon) > BUDGET.alpha
    planted = magnitudes() * generator.choice([-1, 1], DRAWS)
    assert p_value_of_values(planted, epsilon) <= BUDGET.alpha


def test_slots_and_epochs_are_independent() -> None:
    """The signs of neighbouring slots agree as often as claimed; epochs have different draws."""
    _, values = draws(0.5)
    for pairs in values.reshape(4, -1)[:, : DRAWS // 8 * 2].reshape(4, -1, 2):
        x = np.sign(pairs[:, 0] + 0.5) * np.sign(pairs[:, 1] + 0.5)
        # q = P(z >= 0) = 1 / (1 + e^-1/2); the product is 1 with probability q^2 + (1 - q)^2.
        q = 1 / (1 + math.exp(-0.5))
        agree = q * q + (1 - q) * (1 - q)
        p_value = p_values.counts([np.sum(x < 0), np.sum(x > 0)], [1 - agree, agree])
        BUDGET.check(p_value, "neighbouring slots")
    one, other = values.reshape(4, -1)[:2]
    ratio = math.exp(-0.5)
    equal = (1 - ratio) / (1 + ratio) * (1 + ratio**2) / (1 - ratio**2) * (1 - ratio) / (1 + ratio)
    same = int(np.count_nonzero(one == other))
    BUDGET.check(
        p_values.counts([same, one.size - same], [equal, 1 - equal]), "equal draws of two epochs"
    )


EPOCHS = 20_000
LENGTH, DELTA = 50, 0.02
VARIANTS: dict[str, dict[str, object]] = {
    "dictionary": {"capacity": 64, "epsilon": 0.3},
    "misra-gries": {"capacity": 8},
}


def asked_of(variant: str) -> dict[str, object]:
    asked = {"epoch": LENGTH, "epsilon": 1.0, "delta": DELTA, **VARIANTS[variant]}
    return {**DISCOVERY, **asked}


def near_the_threshold(facts: dict[str, Any]) -> int:
    """A count that is published in a part of the epochs, as epsilon says."""
    below = 2 if facts["variant"] == "dictionary" else round(2 / facts["rates"][0])
    return int(facts["threshold"]) - below


def selected(facts: dict[str, Any], count: int, *, factor: float = 1.0) -> Sample:
    """As `none_one_both`, by exact counts; what decides about them may be wrong by a factor."""
    wrong, single = (1.0, factor) if count == 1 else (factor, 1.0)
    rising, falling = (rate / wrong for rate in facts["rates"])
    delta = facts["threshold_delta"] * single
    p = 0.0
    for _ in range(count):
        grown = math.exp(rising) * p + delta
        p = min(grown, 1 - math.exp(-falling) * (1 - p))
    return np.array([(1 - p) ** 2, 2 * p * (1 - p), p * p])


def none_one_both(epsilon: float, *, needed: int, shared: bool) -> Sample:
    """P(0, 1, 2 names of an epoch are published), each if its noise is `needed` or more."""
    reach, ratio = math.ceil(40 / epsilon), math.exp(-epsilon)

    def tail(x: Integers) -> Sample:
        above = ratio ** np.maximum(x, 0) / (1 + ratio)
        below = 1 - ratio ** np.maximum(1 - x, 0) / (1 + ratio)
        return np.where(x > 0, above, below)

    drawn = np.arange(-reach, reach + 1) if shared else np.array([0])
    weight = probabilities(epsilon, reach) if shared else np.array([1.0])
    own = tail(needed - drawn)
    found = np.array([(1 - own) ** 2, 2 * own * (1 - own), own**2]) @ weight
    return np.asarray(found / found.sum())


@pytest.mark.parametrize("rare", [False, True], ids=["near the threshold", "one event"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_names_are_published_as_often_as_claimed(variant: str, rare: bool) -> None:
    """Epochs of two names each, both with one event or both near below the threshold.

    None, one or both are published. Under Misra-Gries an epoch has one shared draw, so both are
    published more often than independent noise would have it. A name with one event is published
    with at most delta.
    """
    sketch = _native.HeavySketch(hitters_spec(SKETCH, asked_of(variant)), key=ls.Key.generate())
    facts = sketch._discovery_facts
    assert facts["variant"] == variant
    epsilon, threshold = facts["rates"][0], facts["threshold"]
    count = 1 if rare else near_the_threshold(facts)
    assert 1 <= count <= LENGTH // 2
    sketch.update_rows(
        np.arange(2 * EPOCHS).repeat(count),
        empty_rows=np.flatnonzero(np.arange(LENGTH * EPOCHS) % LENGTH >= 2 * count),
    )
    assert sketch._epoch == EPOCHS
    published = np.zeros(EPOCHS, dtype=np.int64)
    for item, _, epoch, _ in sketch._candidates():
        assert isinstance(item, int)
        assert item // 2 == epoch
        published[epoch] += 1
    seen, exact = np.bincount(published, minlength=3), variant == "dictionary"

    def law(count: int, *, exact: bool = exact) -> Sample:
        needed = threshold - count
        return (
            selected(facts, count) if exact else none_one_both(epsilon, needed=needed, shared=True)
        )

    expected = law(count)
    assert not rare or 1 - expected[0] <= 2 * DELTA
    BUDGET.check(p_values.counts(seen, expected), f"{variant}, count {count}")
    # Planted: the other variant's law, and the counts next to the right one.
    planted = [law(count, exact=not exact), law(count - 1), law(count + 1)]
    for wrong in planted:
        assert p_values.counts(np.rint(wrong * EPOCHS), expected) <= BUDGET.alpha
