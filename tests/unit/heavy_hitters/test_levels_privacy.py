"""Split of privacy into counts and names, and privacy of all levels of a hierarchy together."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
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
    """The guarantees of the levels compose to that of all; nearly all of the budget is used."""
    heavy = made(
        epsilon=epsilon, level_weights=weights, relation=relation, discovery_epoch=1_000_000
    )
    privacy = heavy.privacy
    assert privacy.private
    together = ls.compose(*(level.sketch for level in privacy.levels))
    assert together.delta_at(privacy.counts_epsilon) <= privacy.counts_delta
    assert together.delta_at(0.999 * privacy.counts_epsilon) > privacy.counts_delta
    for whole, attribute in (
        (privacy.discovery_epsilon, "discovery_epsilon"),
        (5e-7, "discovery_delta"),
    ):
        parts = sum(Fraction(getattr(level, attribute)) for level in privacy.levels)
        assert parts <= Fraction(whole)
        assert parts > Fraction(whole) * Fraction(999, 1000)
    assert Fraction(privacy.counts_epsilon) + Fraction(privacy.discovery_epsilon) <= Fraction(
        epsilon
    )
    assert 0.999 * epsilon < privacy.epsilon <= epsilon
    assert 0.999e-6 < privacy.delta <= 1e-6
    # The plain sum would ask for far more noise: every level at a quarter of epsilon.
    assert sum(level.sketch.epsilon for level in privacy.levels) > 1.2 * privacy.counts_epsilon
    facts = [table._discovery_facts for table in heavy._tables]
    for fact, level in zip(facts, privacy.levels, strict=True):
        rates = fact["rates"]
        spent = sum(rates) if relation == "substitution" else max(rates)
        assert 0.999 * level.discovery_epsilon < spent <= level.discovery_epsilon


def test_a_planted_calibration_is_noticed() -> None:
    """Mutation control: levels that each have the full privacy exceed it together."""
    whole = split_of(1.0, 1e-6, discovery_epsilon=None, discovery_delta=None)
    heavy = made(epsilon=1.0)
    alone = ls.LazyCountMin(
        depth=4, width=1024, epsilon=whole.sketch_epsilon, delta=whole.sketch_delta
    )
    together = ls.compose(*[alone.privacy] * 4)
    assert together.delta_at(whole.sketch_epsilon) > 100 * whole.sketch_delta
    levels = [level.sketch for level in heavy.privacy.levels]
    multipliers = [level.noise_multiplier / alone.privacy.noise_multiplier for level in levels]
    assert all(math.isclose(ratio, 2.0, rel_tol=4e-3) for ratio in multipliers)  # sqrt(4)


def test_privacy_that_no_noise_serves_is_refused() -> None:
    whole = split_of(1.0, 1e-6, discovery_epsilon=None, discovery_delta=None)
    described = ls.LazyCountMin(depth=4, width=1024, epsilon=1.0, delta=1e-6).privacy
    with pytest.raises(ArgumentValueError, match="^epsilon: expected"):
        splits_of_levels(whole, (0.25,) * 4, privacy_of=lambda level, epsilon, delta: described)


PARTS = st.floats(min_value=1e-6, max_value=100.0)


@given(
    epsilon=PARTS, delta=st.floats(min_value=1e-30, max_value=0.999), part=st.floats(0.001, 0.999)
)
@settings(max_examples=500)
def test_parts_never_exceed_the_total(epsilon: float, delta: float, part: float) -> None:
    """In exact arithmetic, and in the float sums that users see."""
    for names in (None, part * epsilon, math.nextafter(epsilon, 0.0)):
        split = split_of(epsilon, delta, discovery_epsilon=names, discovery_delta=None)
        sums = Fraction(split.sketch_epsilon) + Fraction(split.discovery_epsilon)
        assert sums <= Fraction(epsilon)
        assert split.sketch_epsilon + split.discovery_epsilon <= epsilon
        assert Fraction(split.sketch_delta) + Fraction(split.discovery_delta) <= Fraction(delta)
