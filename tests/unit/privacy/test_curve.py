"""The (epsilon, delta) curve of one calibration: sound with numerics, and tight."""

from __future__ import annotations

import builtins
import dataclasses
import math
from typing import Any

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

import lazysketch
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from lazysketch.privacy import (
    Privacy,
    adaptive_delta,
    adaptive_noise_multiplier,
    calibrate,
)
from lazysketch.privacy.adaptive import Smoothed
from lazysketch.privacy.calibration import NoiseCalibration, _Account
from lazysketch.privacy.curve import GaussianCurve, curve_of

epsilons = st.floats(-2, 1.2).map(lambda power: 10.0**power)
deltas = st.floats(-12, -1).map(lambda power: 10.0**power)
PROFILE = settings(max_examples=100, deadline=None)


def described(epsilon: float, delta: float, **changes: Any) -> Privacy:
    multiplier = adaptive_noise_multiplier(epsilon, delta)
    fields: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "relation": "substitution",
        "calibration": "analytic",
        "sigma": multiplier,
        "noise_multiplier": multiplier,
        "l2_sensitivity": 1.0,
        "max_weight": 1,
        "max_events_per_user": 1,
        "private": True,
        "not_private_because": (),
    }
    return Privacy(**{**fields, **changes})


NOTHING = Privacy.without_noise(because=("exact",))


@PROFILE
@given(epsilons, deltas)
def test_the_curve_goes_through_the_calibrated_pair(epsilon: float, delta: float) -> None:
    privacy = described(epsilon, delta)
    assert delta * (1 - 1e-8) <= privacy.delta_at(epsilon) <= delta
    assert epsilon * (1 - 1e-8) <= privacy.epsilon_at(delta) <= epsilon


@PROFILE
@given(epsilons, deltas, epsilons, epsilons)
def test_delta_falls_and_is_never_below_the_ideal(
    epsilon: float, delta: float, first: float, second: float
) -> None:
    privacy = described(epsilon, delta)
    low, high = sorted((first, second))
    assert privacy.delta_at(high) <= privacy.delta_at(low) <= 1.0
    assert privacy.delta_at(low) >= adaptive_delta(low, privacy.noise_multiplier) * (1 - 1e-9)


@PROFILE
@given(epsilons, deltas, deltas)
@example(1.0, 1e-6, 1e-4)
def test_round_trip_errs_towards_privacy(epsilon: float, delta: float, asked: float) -> None:
    privacy = described(epsilon, delta)
    found = privacy.epsilon_at(asked)
    if math.isinf(found):  # numerics are known too coarsely for that delta
        assert asked < delta
        return
    assert privacy.delta_at(min(100.0, found)) <= asked
    if found < epsilon:
        assert privacy.delta_at(found * (1 - 1e-6)) > asked * (1 - 1e-9)


@st.composite
def sketches(draw: st.DrawFn) -> tuple[_Account, NoiseCalibration, int]:
    asked = {
        "epsilon": draw(st.floats(-1, 0.7).map(lambda power: 10.0**power)),
        "delta": draw(st.floats(-12, -3).map(lambda power: 10.0**power)),
        "changed_cells": draw(st.integers(1, 64)),
        "mechanism_nodes": draw(st.integers(1, 800)),
        "draws": draw(st.integers(1, 2**40)),
        "max_events_per_user": draw(st.integers(1, 50)),
        "max_weight": draw(st.integers(1, 10)),
        "table_sensitivity2": draw(st.integers(1, 64)),
        "mechanism_sensitivity2": draw(st.integers(1, 70_000)),
        "depth": draw(st.integers(1, 8)),
    }
    changed = asked["changed_cells"] * asked["mechanism_nodes"] * asked["max_events_per_user"]
    account = _Account(
        asked["epsilon"], asked["delta"], changed_draws=changed, draws=asked["draws"]
    )
    try:
        return account, calibrate(calibration="analytic", **asked), asked["depth"]
    except ArgumentValueError:  # numerics beyond 1 % are refused at construction
        reject()


@PROFILE
@given(sketches(), epsilons)
def test_numerics_are_covered_at_every_epsilon(
    made: tuple[_Account, NoiseCalibration, int], epsilon: float
) -> None:
    """The curve gets (epsilon, delta, multiplier) only; compare it with the exact numeric parts."""
    account, noise, depth = made
    curve = curve_of(noise.epsilon, noise.delta, noise.noise_multiplier, depth=depth)
    assert curve.epsilon_numeric >= noise.epsilon_numeric
    tails = account.tails(noise.sigma)
    assert curve.tail * (1.0 + math.exp(noise.epsilon)) >= tails * (1 - 1e-12)
    # The inequality of _Account, at another epsilon.
    there = dataclasses.replace(account, epsilon=epsilon)
    if (ideal := epsilon - noise.epsilon_numeric) > 0:
        truth = math.exp(0.5 * noise.epsilon_numeric) * adaptive_delta(
            ideal, noise.noise_multiplier, depth=depth
        )
        truth += there.tails(noise.sigma)
        assert curve._bound(epsilon) >= min(1.0, truth) * (1 - 1e-12)


def test_numerics_cost_little() -> None:
    privacy = lazysketch.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8).privacy
    for epsilon in (0.3, 0.7, 1.0):
        ideal = adaptive_delta(epsilon, privacy.noise_multiplier, depth=3)
        # The smoothing is the best at the calibrated pair.
        assert ideal < privacy.delta_at(epsilon) < ideal * (1 + 1e-2)
    assert privacy.delta_at(1.0) < ideal * (1 + 1e-4)


def test_a_planted_curve_without_its_tail_is_caught() -> None:
    """Draws reach 9.5 sigma: a curve without that tail claims a delta that does not hold."""
    ideal = Smoothed(adaptive_noise_multiplier(1.0, 1e-6), 1.0)
    pair: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ideal": ideal}
    honest = GaussianCurve(**pair, epsilon_numeric=1e-9, tail=1e-18)
    planted = GaussianCurve(**pair, epsilon_numeric=0.0, tail=0.0)
    assert planted.delta_at(5.0) < 1e-60 < 1e-18 < honest.delta_at(5.0)
    assert math.isinf(honest.epsilon_at(1e-19))
    assert planted.delta_at(0.5) < honest.delta_at(0.5)


def test_without_noise_there_is_no_guarantee() -> None:
    assert NOTHING.delta_at(1.0) == 1.0
    assert NOTHING.epsilon_at(0.5) == math.inf
    assert NOTHING.sentence == "NOT PRIVATE (exact): there is no privacy guarantee."


@pytest.mark.parametrize("privacy", [described(1.0, 1e-6), NOTHING])
def test_arguments_are_checked(privacy: Privacy) -> None:
    for wrong in (0.0, -1.0, math.nan, 101.0):
        with pytest.raises(ArgumentValueError, match="epsilon"):
            privacy.delta_at(wrong)
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(ArgumentValueError, match="delta"):
            privacy.epsilon_at(wrong)
    with pytest.raises(ArgumentTypeError):
        privacy.delta_at("1")
    with pytest.raises(ArgumentTypeError):
        privacy.epsilon_at(True)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_ideal_noise_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    """Of real numbers; integers cost more, but by no more than their bound."""
    dp_accounting = pytest.importorskip("dp_accounting")
    multiplier = adaptive_noise_multiplier(epsilon, delta)
    event = described(epsilon, delta).to_dp_event()
    assert event == dp_accounting.GaussianDpEvent(multiplier)
    real = GaussianCurve(
        ideal=Smoothed(multiplier, 1.0), epsilon_numeric=0.0, tail=0.0, epsilon=100.0, delta=delta
    )
    curve = curve_of(epsilon, delta, multiplier)
    for other in (0.1 * delta, delta, min(0.1, 50 * delta)):
        theirs = dp_accounting.get_epsilon_gaussian(multiplier, other)
        assert real.epsilon_at(other) == pytest.approx(theirs, rel=1e-6)
        assert curve.epsilon_at(other) > theirs
    assert isinstance(NOTHING.to_dp_event(), dp_accounting.NonPrivateDpEvent)


def test_the_error_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "dp_accounting":
            raise ModuleNotFoundError(name)
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackageError, match="pip install dp-accounting") as caught:
        described(1.0, 1e-6).to_dp_event()
    assert isinstance(caught.value, ImportError)


def test_the_sentence_promises_and_limits() -> None:
    substitution = described(1.0, 1e-8).sentence
    assert "any one event was there or another one, or none, in the same step" in substitution
    assert "The event may be chosen by what was published before." in substitution
    assert "factor of at most 2.72 (e^epsilon, epsilon = 1)" in substitution
    assert "at most 1e-08 (delta)" in substitution
    zero_out = described(1.0, 1e-8, relation="zero-out", max_weight=5, max_events_per_user=3)
    assert (
        "any 3 events of one person (of weight up to 5) took place or their steps were empty"
        in (zero_out.sentence)
    )
    assert "a person with more than 3 events" in zero_out.sentence
    assert "The events, all together, may be chosen by what was published" in zero_out.sentence
    assert "whose later events are chosen by what was published in between" in zero_out.sentence
    assert "whose later events" not in described(1.0, 1e-8, relation="zero-out").sentence
    for sentence in (substitution, zero_out.sentence):
        assert sentence.count("NOT promised: ") == 1
        for limit in ("number of steps", "deleted so that later ones move up", "operator sees"):
            assert limit in sentence.split("NOT promised: ")[1]
        assert "\n" not in sentence
