"""What all levels of a hierarchy promise together."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.errors import ArgumentValueError
from lazysketch.heavy_hitters.joint_privacy import split_of
from lazysketch.heavy_hitters.levels_privacy import checked_level_weights, splits_of_levels


def made(**changes: Any) -> ls.HierarchicalHeavyHitters:
    asked: dict[str, Any] = {"share": 0.1, "delta": 1e-6, **changes}
    return ls.HierarchicalHeavyHitters(ls.ipv4_prefixes(), **asked)


SIZES = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6)


@given(SIZES)
def test_parts_of_levels_add_up_to_at_most_one(weights: list[float]) -> None:
    parts = checked_level_weights(weights, levels=len(weights))
    assert sum(map(Fraction, parts)) <= 1
    assert math.isclose(sum(parts), 1.0, rel_tol=1e-13)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("weights", [None, (1, 1, 1, 5), (2, 1, 1, 4)])
@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_all_levels_together_keep_the_promise(epsilon: float, weights: Any, relation: Any) -> None:
    """Composed anew from what each level says of itself; nearly all of the privacy is used."""
    heavy = made(
        epsilon=epsilon, level_weights=weights, relation=relation, discovery_epoch=1_000_000
    )
    promise = heavy.privacy
    assert promise.private
    together = ls.compose(*(level.sketch for level in promise.levels))
    assert together.delta_at(promise.counts_epsilon) <= promise.counts_delta
    assert together.delta_at(0.999 * promise.counts_epsilon) > promise.counts_delta
    for whole, attribute in (
        (promise.discovery_epsilon, "discovery_epsilon"),
        (5e-7, "discovery_delta"),
    ):
        parts = sum(Fraction(getattr(level, attribute)) for level in promise.levels)
        assert parts <= Fraction(whole)
        assert parts > Fraction(whole) * Fraction(999, 1000)
    assert Fraction(promise.counts_epsilon) + Fraction(promise.discovery_epsilon) <= Fraction(
        epsilon
    )
    assert promise.epsilon <= epsilon
    assert promise.delta <= 1e-6
    # The plain sum would ask for far more noise: every level at a quarter of epsilon.
    assert sum(level.sketch.epsilon for level in promise.levels) > 1.2 * promise.counts_epsilon
    facts = [table._discovery_facts for table in heavy._tables]
    for fact, level in zip(facts, promise.levels, strict=True):
        halves = 2 if relation == "substitution" else 1
        assert fact["noise_epsilon"] <= level.discovery_epsilon / halves


def test_a_planted_calibration_is_noticed() -> None:
    """Each level given the privacy of the whole: what the check above would see."""
    whole = split_of(1.0, 1e-6, discovery_epsilon=None, discovery_delta=None)
    heavy = made(epsilon=1.0)
    alone = ls.LazyCountMin(
        depth=4, width=1024, epsilon=whole.sketch_epsilon, delta=whole.sketch_delta
    )
    together = ls.compose(*[alone.privacy] * 4)
    assert together.delta_at(whole.sketch_epsilon) > 100 * whole.sketch_delta
    levels = [level.sketch for level in heavy.privacy.levels]
    multipliers = [level.noise_multiplier / alone.privacy.noise_multiplier for level in levels]
    assert all(math.isclose(ratio, 2.0, rel_tol=1e-3) for ratio in multipliers)  # sqrt(4)


def test_privacy_that_no_noise_serves_is_refused() -> None:
    whole = split_of(1.0, 1e-6, discovery_epsilon=None, discovery_delta=None)
    described = ls.LazyCountMin(depth=4, width=1024, epsilon=1.0, delta=1e-6).privacy
    with pytest.raises(ArgumentValueError, match="^epsilon: expected"):
        splits_of_levels(whole, (0.25,) * 4, privacy_of=lambda epsilon, delta: described)
