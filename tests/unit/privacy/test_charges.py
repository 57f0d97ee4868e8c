"""Charges: totals of counts and of plain pairs, against exact compositions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.unit.privacy.test_curve import described

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy import Privacy, compose, gaussian_delta
from lazysketch.privacy.charges import PlainPart, charge_of, pure_mu, sum_up, total_of

PROFILE = settings(max_examples=25, deadline=None)
epsilons = st.floats(-2, 0.5).map(lambda power: 10.0**power)


def ideal_delta(epsilon: float, mu: float) -> float:
    """Return the delta of a Gaussian mechanism, at an epsilon of any sign."""
    ahead = math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2) if epsilon < 700 else 0.0
    return float(norm.sf(epsilon / mu - mu / 2) - ahead)


def exact_delta(epsilon: float, pure: list[float], mu: float = 0.0) -> float:
    """Return the delta of randomised responses and a Gaussian mechanism together, exactly.

    An (e, 0)-DP randomised response has the loss e with probability 1 / (1 + exp(-e)), else -e,
    and no (e, 0)-DP mechanism composes to more (Kairouz, Oh and Viswanath 2015).
    """
    losses, masses = np.zeros(1), np.ones(1)
    for each in pure:
        likely = 1.0 / (1.0 + math.exp(-each))
        losses = np.concatenate([losses + each, losses - each])
        masses = np.concatenate([masses * likely, masses * (1.0 - likely)])
        losses, places = np.unique(losses.round(12), return_inverse=True)
        masses = np.bincount(places.ravel(), masses).astype(np.float64)
    left = epsilon - losses
    if mu:
        deltas = np.array([ideal_delta(each, mu) for each in left])
    else:
        deltas = np.maximum(0.0, -np.expm1(np.minimum(left, 0.0)))
    return float(masses @ deltas)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.25, 1.0, 1.01, 3.0, 20.0, 100.0])
def test_the_gaussian_mechanism_lies_below_the_trade_off_and_touches_it(epsilon: float) -> None:
    mu = pure_mu(epsilon)
    errors = np.concatenate([np.geomspace(1e-30, 0.5, 400), 1 - np.geomspace(1e-12, 0.5, 400)])
    pure = np.maximum(
        0.0, np.maximum(1 - math.exp(epsilon) * errors, (1 - errors) / math.exp(epsilon))
    )
    gaussian = norm.cdf(norm.isf(errors) - mu)
    assert (gaussian <= pure * (1 + 1e-9) + 1e-15).all()
    corner = 1.0 / (1.0 + math.exp(epsilon))
    assert norm.sf(mu / 2) == pytest.approx(corner, rel=1e-9)
    assert norm.sf(mu * (1 - 1e-6) / 2) > corner  # less would not lie below it


@PROFILE
@given(st.lists(epsilons, min_size=1, max_size=8), st.floats(0.05, 1.0))
def test_pairs_compose_to_no_less_than_exact_responses(pure: list[float], share: float) -> None:
    epsilon = share * sum(pure)
    stated = compose(*((each, 1e-12) for each in pure)).delta_at(epsilon)
    assert stated >= exact_delta(epsilon, pure) * (1 - 1e-9)


@PROFILE
@given(st.lists(epsilons, min_size=1, max_size=6), epsilons, st.floats(0.1, 1.5))
def test_pairs_and_counts_compose_to_no_less_than_exact_ones(
    pure: list[float], counts: float, share: float
) -> None:
    part = described(counts, 1e-7)
    together = compose(part, *((each, 0.0) for each in pure))
    epsilon = share * (counts + sum(pure))
    assert together.delta_at(epsilon) >= exact_delta(epsilon, pure, part.mu) * (1 - 1e-9)
    known = total_of([charge_of(part), *(charge_of(PlainPart(each, 0.0)) for each in pure)])
    assert known.delta_at(epsilon) >= exact_delta(epsilon, pure, part.mu) * (1 - 1e-9)


def test_many_responses_are_near_the_exact_total() -> None:
    pure = [0.1] * 200
    stated = compose(*((each, 0.0) for each in pure)).epsilon_at(1e-6)
    assert exact_delta(stated, pure) <= 1e-6
    assert exact_delta(0.75 * stated, pure) > 1e-6  # the corner of the trade-off costs pi / 2


def test_a_year_of_daily_runs_has_a_total() -> None:
    day = ls.HeavyHitters(share=0.01, epsilon=1.0, delta=1e-8)
    year = compose(*[day] * 365)
    assert year.epsilon_at(1e-5) == pytest.approx(49.4, abs=0.2)
    # An oracle of the same parts: real Gaussian counts, names as randomised responses.
    mu = day.privacy.sketch.mu * math.sqrt(365)
    exact = exact_delta(year.epsilon_at(1e-5), [0.25] * 365, mu)
    assert 1e-7 < exact + 365 * 5e-9 < 1e-5
    assert not year.why_infinite(1e-5)
    assert "delta = " in year.why_infinite(1e-6)
    assert "mu = " in compose(*[year] * 10).why_infinite(1e-3)


@PROFILE
@given(st.floats(-1.5, 0.9), st.floats(-12, -4), st.integers(1, 7))
def test_the_charge_of_counts_covers_their_noise(power: float, small: float, depth: int) -> None:
    epsilon, delta = 10.0**power, 10.0**small
    sketch = ls.LazyCountMin(depth=depth, width=64, epsilon=epsilon, delta=delta)
    charge = charge_of(sketch.privacy)
    assert charge.mu_squared > sketch.privacy.mu**2
    for share in (0.5, 0.9, 1.0, 1.5):
        exact = gaussian_delta(share * epsilon, sketch.privacy.noise_multiplier)
        assert charge.delta_at(share * epsilon) >= exact * (1 - 1e-10)
    assert charge.delta_at(epsilon) <= delta
    # A useful one: its mu is that of the noise, up to the smoothing of Theorem 15.
    if epsilon <= 1.0 and delta >= 1e-9 and depth >= 3:
        assert charge.mu_squared <= 1.05 * sketch.privacy.mu**2


@PROFILE
@given(st.randoms(use_true_random=False), st.sampled_from([1e-12, 1e-8, 1e-5]))
def test_no_change_of_probabilities_exceeds_the_charge(random: object, tail: float) -> None:
    # Theorem 19 on finite laws: P~(S) <= P(S) + t and Q(S) <= Q~(S) + t alone, whatever they are.
    law = np.random.default_rng(random.getrandbits(64))  # type: ignore[attr-defined]
    mu = 0.5
    cuts = norm.ppf(np.linspace(0, 1, 200)[1:-1])
    here, there = (np.diff(norm.cdf([-np.inf, *cuts, np.inf], loc=at)) for at in (mu, 0.0))
    drawn_here, drawn_there = here.copy(), there.copy()
    for drawn, at in ((drawn_here, law.integers(199)), (drawn_there, law.integers(150, 199))):
        moved = min(tail, drawn[at])
        drawn[at] -= moved
        drawn[law.integers(199)] += moved
    more = min((1 + math.exp(e)) * tail + ideal_delta(e, mu) for e in np.arange(0.1, 20, 0.1))
    for epsilon in (-1.0, 0.0, 0.5, 1.0, 3.0, 10.0, 40.0):
        exact = np.maximum(0.0, drawn_here - math.exp(epsilon) * drawn_there).sum()
        assert exact <= ideal_delta(epsilon, mu) + more + 1e-14


def test_charges_of_equal_parts_add_up() -> None:
    one = charge_of(PlainPart(0.5, 1e-9))
    four = total_of([one] * 4)
    assert four.mu_squared == pytest.approx(4 * one.mu_squared)
    assert (four.epsilon, four.pair_delta) == (2.0, sum_up([1e-9] * 4))
    assert total_of([one]) == one


def test_sums_are_exact_or_rounded_up() -> None:
    assert sum_up([0.75, 0.25]) == 1.0
    assert sum_up([1.0, 1e-30]) > 1.0
    assert sum_up([]) == 0.0


def test_everything_that_is_described_composes() -> None:
    heavy = ls.HeavyHitters(share=0.05, epsilon=1.0, delta=1e-8)
    levels = ls.HierarchicalHeavyHitters(ls.ipv4_prefixes(), share=0.05, epsilon=1.0, delta=1e-8)
    sketch = ls.LazyCountMin(depth=3, width=64, epsilon=0.5, delta=1e-8)
    alone = compose(heavy)
    assert (alone.delta, alone.delta_at(1.0)) == (1e-8, 1e-8)
    assert str(alone).startswith("(1, 1e-08)-DP per event")
    assert compose(heavy.privacy) == alone
    assert len(compose(levels).parts) == len(compose(levels).plain) == 4
    assert compose(levels).epsilon_at(compose(levels).delta) <= 1.0
    both = compose(heavy, levels.privacy, sketch, sketch.privacy, (0.1, 0.0), alone)
    assert (len(both.parts), len(both.plain)) == (8, 7)
    with pytest.raises(ArgumentTypeError, match="got str"):
        compose("sketch")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="got float"):
        compose(1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="delta"):
        compose((1.0, 1.0))
    plain = compose((1.0, 1e-9))
    assert (plain.relation, plain.max_events_per_user, plain.max_weight) == (None, 1, 1)
    assert "1 mechanisms" in plain.sentence
    with pytest.raises(ArgumentValueError, match="plain: expected none"):
        plain.to_dp_event()


def test_counts_without_a_guarantee_have_no_charge() -> None:
    with pytest.raises(ArgumentValueError, match="NOT PRIVATE"):
        charge_of(Privacy.without_noise(because=("exact",)))


def test_the_numbers_of_a_pair_are_floats() -> None:
    part = PlainPart(np.float32(1.0), 0)
    assert (type(part.epsilon), type(part.delta)) == (float, float)
