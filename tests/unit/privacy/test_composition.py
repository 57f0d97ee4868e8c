"""Composition of several sketches: mu = sqrt(sum of mu^2), and parts that do not compose."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.privacy.test_curve import NOTHING, described

import lazysketch
import lazysketch.testing
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy import Composition, adaptive_noise_multiplier, compose
from lazysketch.privacy.adaptive import IntegerNoise, smoothed
from lazysketch.privacy.composed_counts import composed_counts

pairs = st.tuples(
    st.floats(-1, 0.7).map(lambda power: 10.0**power),
    st.floats(-10, -3).map(lambda power: 10.0**power),
)
PROFILE = settings(max_examples=60, deadline=None)


@PROFILE
@given(pairs, st.floats(-2, 1).map(lambda power: 10.0**power))
def test_one_part_is_itself(pair: tuple[float, float], epsilon: float) -> None:
    part = described(*pair)
    alone = compose(part)
    assert alone.mu == pytest.approx(part.mu, rel=1e-12)
    assert alone.delta_at(epsilon) == part.delta_at(epsilon)
    assert alone.epsilon_at(1e-7) == part.epsilon_at(1e-7)


@PROFILE
@given(st.lists(pairs, min_size=2, max_size=5), st.randoms())
def test_order_and_nesting_do_not_matter(asked: list[tuple[float, float]], random: object) -> None:
    parts = [described(*pair) for pair in asked]
    together, nested = compose(*parts), compose(compose(*parts[:1]), compose(*parts[1:]))
    assert nested == together
    turned = compose(*reversed(parts))
    assert turned.mu == pytest.approx(together.mu, rel=1e-14)
    assert turned.delta_at(1.0) == pytest.approx(together.delta_at(1.0), rel=1e-9)
    assert together.mu**2 == pytest.approx(sum(part.mu**2 for part in parts), rel=1e-12)
    assert together.mu >= math.hypot(*(part.mu for part in parts))


@PROFILE
@given(st.lists(pairs, min_size=2, max_size=5), st.floats(-1, 1.3).map(lambda power: 10.0**power))
def test_more_parts_cost_more_but_no_more_than_their_sum(
    asked: list[tuple[float, float]], epsilon: float
) -> None:
    parts = [described(*pair) for pair in asked]
    together = compose(*parts)
    assert together.delta_at(epsilon) >= compose(*parts[1:]).delta_at(epsilon) * (1 - 1e-9) or (
        together.delta_at(epsilon) >= 1e-15
    )
    total, delta = sum(part.epsilon for part in parts), sum(part.delta for part in parts)
    assert together.delta_at(total * (1 + 1e-14)) <= delta * (1 + 1e-13)
    assert together.epsilon_at(min(0.5, delta * (1 + 1e-13))) <= total * (1 + 1e-13)


def test_k_equal_sketches_cost_the_square_root_of_k() -> None:
    """Four sketches with half the mu each cost as much as one."""
    single = adaptive_noise_multiplier(1.0, 1e-6)
    quarter = described(1.0, 1e-6, noise_multiplier=2 * single, sigma=2 * single)
    together = compose(*[quarter] * 4)
    assert compose(compose(*[quarter] * 3), quarter) == together
    assert together.noise_multiplier == pytest.approx(single, rel=1e-12)
    # The parts have more noise than their own pair needs: numerics are bounded by 1 % each.
    assert 1.0 <= together.epsilon_at(1e-6) <= 1.06


def test_tight_parts_agree_with_dp_accounting() -> None:
    """Compare with an independent accountant that composes privacy loss distributions, not mu."""
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    parts = [described(0.5, 1e-8), described(1.0, 1e-6), described(0.3, 1e-3)]
    together = compose(*parts)
    event = together.to_dp_event()
    assert [each.noise_multiplier for each in event.events] == [
        part.noise_multiplier for part in parts
    ]
    for delta in (1e-6, 1e-4):
        theirs = PLDAccountant().compose(event).get_epsilon(delta)
        # The reference overestimates by its grid of 1e-4 per part; it has real numbers.
        assert theirs - 1e-3 <= together.epsilon_at(delta) <= theirs + 0.02


def test_a_planted_sum_of_mu_is_caught() -> None:
    """Adding mu, or taking the largest, gives a different cost."""
    parts = [described(0.5, 1e-6), described(0.7, 1e-6)]
    mu = compose(*parts).mu
    assert max(part.mu for part in parts) * 1.1 < mu < sum(part.mu for part in parts) / 1.1


def test_parts_that_do_not_compose_are_refused() -> None:
    good = described(1.0, 1e-6)
    with pytest.raises(ArgumentValueError, match="number 2, NOT PRIVATE: exact"):
        compose(good, NOTHING)
    with pytest.raises(ArgumentValueError, match="one relation, got 'substitution' and 'zero-out'"):
        compose(good, described(1.0, 1e-6, relation="zero-out"))
    with pytest.raises(ArgumentValueError, match="at least one"):
        compose()
    with pytest.raises(ArgumentTypeError, match=r"sketch\.privacy"):
        compose(lazysketch.CountMin(depth=2, width=8))
    for kind in (Composition, lazysketch.Release, lazysketch.DistinctCount):
        with pytest.raises(ArgumentTypeError, match=f"expected a {kind.__name__}, got the class"):
            compose(kind)
    for name in ("parts_to_compose", "promises", "privacy"):
        for value in (5, [good], (good, good, 5), {b"run": good}, None):
            posing = type("Posing", (), {name: value, "epsilon": 1.0, "delta": 1e-6})()
            with pytest.raises(ArgumentTypeError, match=r"parts: expected descriptions"):
                compose(posing)
    with pytest.raises(ArgumentTypeError, match="tuple"):
        Composition([good])


def test_a_composition_is_a_value() -> None:
    together = compose(described(1.0, 1e-6), described(0.5, 1e-6, max_events_per_user=3))
    assert together.epsilon_at(1e-6) > 1.0
    assert pickle.loads(pickle.dumps(together)) == copy.deepcopy(together) == together
    assert together.max_events_per_user == 1
    assert together.relation == "substitution"
    assert str(together).startswith("(1.1")
    assert "-DP per event (substitution), 2 parts together (mu = " in str(together)
    assert together.sentence.startswith("For everything that these 2 sketches ever publish")
    assert "NOT promised" in together.sentence


def test_numerics_of_all_parts_are_covered() -> None:
    """Ratios of densities multiply, so the numeric parts of epsilon add up (Theorem 8)."""
    specs = [
        lazysketch.TableSpec(
            kind="count-min",
            depth=3,
            width=64,
            schedule=lazysketch.Punctual(horizon=1_000),
            epsilon=epsilon,
            delta=1e-6,
            max_weight=10**5,
        )
        for epsilon in (0.5, 1.0)
    ]
    together = compose(*(spec.privacy for spec in specs))
    numeric = sum(spec.noise.epsilon_numeric for spec in specs)
    assert numeric > 1e-5
    tables = {IntegerNoise(spec.noise.noise_multiplier, 3): 1 for spec in specs}
    bounds = [smoothed(tables, step / 100) for step in range(5, 100)]
    for epsilon in (0.1, 0.3, 0.7, 1.0, 1.05, 1.3):
        ideal = min(bound.delta(epsilon - numeric) for bound in bounds if bound is not None)
        assert together.delta_at(epsilon) >= ideal


def test_a_composition_promises_what_every_part_promises() -> None:
    """Larger events and larger groups are protected by a part of the sketches only."""
    weak = described(1.0, 1e-6, max_weight=2, max_events_per_user=3)
    strong = described(1.0, 1e-6, max_weight=7, max_events_per_user=5)
    for together in (compose(weak, strong), compose(strong, weak)):
        assert together.max_events_per_user == 3
        assert "any 3 events of one person (of weight up to 2)" in together.sentence
        assert "5 events" not in together.sentence
        assert "weight up to 7" not in together.sentence


def test_the_parts_of_a_merged_release_compose() -> None:
    sketches = [
        lazysketch.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-6, hash_seed=7)
        for _ in range(3)
    ]
    merged = sketches[0].release().merge(sketches[1].release()).merge(sketches[2].release())
    together = compose(*(part.privacy for part in merged.parts))
    assert together.mu == pytest.approx(math.sqrt(3) * sketches[0].privacy.mu, rel=1e-12)


def test_plain_pairs_hold_from_the_sum_of_their_epsilons_on() -> None:
    """A sum of deltas at the sum of epsilons and above it, also where that is below 1."""
    for each in (0.25, 1.0):
        together = compose((each, 1e-6), (each, 1e-6))
        assert together.delta_at(2.0 * each) == pytest.approx(2e-6, rel=1e-12)
        assert together.delta_at(2.5 * each) <= 2e-6 * (1.0 + 1e-12)


def test_totals_of_counts_are_never_rounded_down() -> None:
    """Against exact sums, of as many parts as make a sum of doubles round in both directions."""
    part = lazysketch.LazyCountMin(depth=2, width=8, epsilon=0.1, delta=1e-9).privacy
    one = composed_counts([part])
    for number in range(2, 60):
        together = composed_counts([part] * number)
        for name in ("epsilon", "delta"):
            exact = number * Fraction(getattr(part, name))
            assert exact <= Fraction(getattr(together, name)) <= exact * Fraction(1 + 1e-12)
        for name in ("epsilon_numeric", "tail"):
            assert Fraction(getattr(together, name)) >= number * Fraction(getattr(one, name))


def test_a_guarantee_is_stated_at_the_delta_that_is_asked_for() -> None:
    parts = described(1.0, 1e-6), described(2.0, 1e-6)
    stated = Composition(parts, stated_delta=1e-5)
    assert (stated.delta, stated.epsilon) == (1e-5, compose(*parts).epsilon_at(1e-5))
    assert str(stated).startswith(f"({stated.epsilon:g}, 1e-05)-DP")
    with_pair = Composition(parts, compose((0.5, 1e-5)).plain, stated_delta=1e-6)
    assert with_pair.epsilon == math.inf
    assert "the parts spend delta = " in str(with_pair)


@pytest.mark.parametrize(
    ("delta", "error"),
    [(0.0, ArgumentValueError), (1.0, ArgumentValueError), ("1e-6", ArgumentTypeError)],
)
def test_a_wrong_delta_is_named(delta: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="^stated_delta: expected a number above 0 and below 1"):
        Composition((described(1.0, 1e-6),), stated_delta=delta)  # type: ignore[arg-type]
