"""Noise calibration: compared with 60 digits and dp-accounting; errors on the side of privacy."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.privacy.adaptive import adaptive_delta, adaptive_noise_multiplier
from lazysketch.privacy.calibration import NoiseCalibration, calibrate
from lazysketch.privacy.gaussian import (
    classical_noise_multiplier,
    gaussian_delta,
    noise_multiplier,
)

EPSILONS = [1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.999, 1.0, 3.0, 8.0, 10.0, 30.0, 100.0]
DELTAS = [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.4, 0.5, 0.51, 0.9]
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
EXTREMES = [(1e-300, 1e-6), (1e-300, 1e-200), (1e-4, 1e-279), (100.0, 1e-279), (5.0, 0.999)]


def exact_delta(epsilon: float, multiplier: float) -> mpmath.mpf:
    """Evaluate Balle and Wang's formula directly, with enough digits for its cancellation."""
    with mpmath.workdps(60 + 320):
        mu, eps = 1 / mpmath.mpf(multiplier), mpmath.mpf(epsilon)
        root = mpmath.sqrt(2)
        upper = mpmath.erfc((eps / mu - mu / 2) / root) / 2
        return upper - mpmath.exp(eps) * mpmath.erfc((eps / mu + mu / 2) / root) / 2


@pytest.mark.parametrize(("epsilon", "delta"), GRID + EXTREMES)
def test_multiplier_is_sufficient_and_tight(epsilon: float, delta: float) -> None:
    multiplier = noise_multiplier(epsilon, delta)
    assert exact_delta(epsilon, multiplier) <= mpmath.mpf(delta)
    assert exact_delta(epsilon, multiplier * (1 - 1e-6)) > mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-4, 1.0, 100.0])
@pytest.mark.parametrize("delta", [1e-280, 1 - 1e-9, 1 - 1e-15, 1 - 2.0**-53])
def test_multiplier_is_sufficient_at_the_ends(epsilon: float, delta: float) -> None:
    multiplier = noise_multiplier(epsilon, delta)
    assert exact_delta(epsilon, multiplier) <= mpmath.mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_multiplier_is_tight_to_the_documented_1e_9(epsilon: float, delta: float) -> None:
    assert exact_delta(epsilon, noise_multiplier(epsilon, delta) * (1 - 1e-9)) > mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, *EPSILONS])
@pytest.mark.parametrize("multiplier", [1e-4, 1e-3, 0.05, 0.1, 0.5, 1.0, 2.0, 7.0, 40.0, 1e4, 1e9])
def test_gaussian_delta_is_a_close_upper_bound(epsilon: float, multiplier: float) -> None:
    bound, exact = mpmath.mpf(gaussian_delta(epsilon, multiplier)), exact_delta(epsilon, multiplier)
    assert bound >= exact
    assert bound <= max(mpmath.mpf(1e-280), exact * (1 + mpmath.mpf(2e-11)))


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-8, 2).map(lambda power: min(100.0, 10.0**power)),
    st.floats(-2.5, 8).map(lambda power: 10.0**power),
)
def test_gaussian_delta_errs_upwards_everywhere(epsilon: float, multiplier: float) -> None:
    bound, exact = mpmath.mpf(gaussian_delta(epsilon, multiplier)), exact_delta(epsilon, multiplier)
    assert exact <= bound
    assert bound <= max(mpmath.mpf(1e-280), exact * (1 + mpmath.mpf(2e-11)))


@pytest.mark.parametrize(
    ("epsilon", "delta", "analytic", "classical"),
    [
        (0.3, 1e-3, 7.071, 12.588),
        (1.0, 1e-6, 4.225, 5.299),
        (0.1, 1e-6, 36.305, 52.988),
        (3.0, 1e-6, 1.544, 1.766),
        (1.0, 1e-9, 5.495, 6.472),
        (8.0, 1e-6, 0.653, 0.662),
    ],
)
def test_reference_table(epsilon: float, delta: float, analytic: float, classical: float) -> None:
    assert noise_multiplier(epsilon, delta) == pytest.approx(analytic, abs=5.1e-4)
    assert classical_noise_multiplier(epsilon, delta) == pytest.approx(classical, abs=5.1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    dp_accounting = pytest.importorskip("dp_accounting")
    theirs = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert noise_multiplier(epsilon, delta) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("epsilon", [e for e in EPSILONS if e < 1])
@pytest.mark.parametrize("delta", DELTAS)
def test_classical_is_sufficient_below_one(epsilon: float, delta: float) -> None:
    multiplier = classical_noise_multiplier(epsilon, delta)
    assert exact_delta(epsilon, multiplier) <= mpmath.mpf(delta)
    with mpmath.workdps(60):
        formula = mpmath.sqrt(2 * mpmath.log(mpmath.mpf(1.25) / mpmath.mpf(delta)))
        assert formula / mpmath.mpf(epsilon) <= mpmath.mpf(multiplier)


def test_classical_is_not_sufficient_for_every_epsilon() -> None:
    # Sketches refuse it for epsilon >= 1 because it can be far too small.
    multiplier = classical_noise_multiplier(50.0, 1e-3)
    assert gaussian_delta(50.0, multiplier) > 0.01
    assert classical_noise_multiplier(1e6, 1e-3) > 0  # computed for any epsilon


epsilons = st.floats(1e-4, 100.0)
deltas = st.floats(-15, -0.05).map(lambda power: 10.0**power)


@settings(max_examples=150, deadline=None)
@given(epsilons, epsilons, deltas)
def test_more_epsilon_needs_no_more_noise(first: float, second: float, delta: float) -> None:
    low, high = sorted((first, second))
    assert noise_multiplier(high, delta) <= noise_multiplier(low, delta) * (1 + 1e-12)


@settings(max_examples=150, deadline=None)
@given(epsilons, deltas, deltas)
def test_more_delta_needs_no_more_noise(epsilon: float, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert noise_multiplier(epsilon, high) <= noise_multiplier(epsilon, low) * (1 + 1e-12)


@settings(max_examples=150, deadline=None)
@given(epsilons, deltas)
def test_round_trip(epsilon: float, delta: float) -> None:
    reached = gaussian_delta(epsilon, noise_multiplier(epsilon, delta))
    assert delta * (1 - 1e-9) <= reached <= delta


kind_of = attrgetter("__class__.__name__")  # Python refuses to print very large integers
NOT_REAL = [None, "1", b"1", True, np.bool_(True), 1j, [1.0], np.array([0.5]), object()]
NEVER = [math.nan, math.inf, -math.inf, -1.0, 0.0, 0, -1, 10**400, np.float64("nan")]


@pytest.mark.parametrize("function", [noise_multiplier, classical_noise_multiplier])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("bad", NOT_REAL + NEVER, ids=kind_of)
def test_bad_epsilon_and_delta(function: Any, position: int, bad: object) -> None:
    arguments: list[Any] = [0.5, 0.5]
    arguments[position] = bad
    wanted = ArgumentTypeError if any(bad is x for x in NOT_REAL) else ArgumentValueError
    with pytest.raises(wanted, match=f"^{('epsilon', 'delta')[position]}: expected .*, got "):
        function(*arguments)


@pytest.mark.parametrize("bad", NOT_REAL + NEVER, ids=kind_of)
def test_bad_multiplier(bad: Any) -> None:
    with pytest.raises(LazySketchError, match="^noise_multiplier: expected .*, got "):
        gaussian_delta(1.0, bad)


@pytest.mark.parametrize("bad", [1.0, 1.5, 1, 1e300, 1e-281, 5e-324])
def test_delta_outside_its_range(bad: float) -> None:
    for function in (noise_multiplier, classical_noise_multiplier):
        with pytest.raises(ArgumentValueError, match="^delta: "):
            function(1.0, bad)


@pytest.mark.parametrize("bad", [100.00000001, 101, 1e300])
def test_epsilon_outside_its_range(bad: float) -> None:
    for function in (noise_multiplier, gaussian_delta):
        with pytest.raises(ArgumentValueError, match="^epsilon: expected at most 100, got "):
            function(bad, 1e-6)


def test_classical_refuses_an_epsilon_without_a_finite_answer() -> None:
    with pytest.raises(ArgumentValueError, match="^epsilon: "):
        classical_noise_multiplier(5e-324, 1e-6)


def test_numpy_scalars_are_numbers() -> None:
    result = noise_multiplier(np.float64(1.0), np.float64(1e-6))
    assert type(result) is float
    assert result == noise_multiplier(1, 1e-6)


# ---- the whole calibration, with the numeric account --------------------------------------

BASE: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "calibration": "analytic",
    "table_sensitivity2": 6,
    "mechanism_sensitivity2": 49,
    "mechanism_nodes": 11,
    "changed_cells": 6,
    "draws": 3 * 1024 * 1024,
    "max_weight": 1,
    "max_events_per_user": 1,
    "depth": 3,
}


def made(**changes: Any) -> NoiseCalibration:
    return calibrate(**{**BASE, **changes})


def changed_draws(settings_: dict[str, Any]) -> int:
    draws: int = settings_["mechanism_nodes"] * settings_["changed_cells"]
    return draws * int(settings_["max_events_per_user"])


CASES: list[dict[str, Any]] = [
    {},
    {"epsilon": 0.01},
    {"epsilon": 10.0, "delta": 1e-9},
    {"epsilon": 15.0, "delta": 1e-8},
    {"delta": 0.5},
    {"depth": 1},
    {"epsilon": 8.0, "depth": 64},
    {"draws": 2**45, "delta": 1e-5, "max_weight": 10**4},
    {"delta": 0.999},
    {"max_weight": 10**8},
    {"max_events_per_user": 1000},
    {"mechanism_nodes": 767, "changed_cells": 128, "max_weight": 50_000},
    {"table_sensitivity2": 1, "mechanism_sensitivity2": 1, "mechanism_nodes": 1},
    {"epsilon": 0.3, "delta": 1e-3, "calibration": "classical"},
    {"epsilon": 0.3, "delta": 1e-3, "calibration": "classical", "max_weight": 10**7},
]


@pytest.mark.parametrize("changes", CASES)
def test_noise_covers_what_numerics_leave(changes: dict[str, Any]) -> None:
    noise = made(**changes)
    epsilon = noise.epsilon - noise.epsilon_numeric
    delta = noise.delta - noise.delta_numeric
    depth = {**BASE, **changes}["depth"]
    assert adaptive_delta(epsilon, noise.sigma / noise.l2_sensitivity, depth=depth) <= delta
    assert adaptive_delta(epsilon, noise.noise_multiplier, depth=depth) <= delta
    assert exact_delta(epsilon, noise.noise_multiplier) < mpmath.mpf(delta)
    assert noise.noise_multiplier <= noise.sigma / noise.l2_sensitivity


@pytest.mark.parametrize("changes", CASES)
def test_numeric_parts_are_those_of_sigma(changes: dict[str, Any]) -> None:
    noise, asked = made(**changes), {**BASE, **changes}
    m = changed_draws(asked)
    eta = 2.0**-47 * max(noise.sigma, 8.0)
    # pytest.approx would allow 1e-12 at least, which is more than these numbers.
    assert math.isclose(noise.epsilon_numeric, 2 * m * eta, rel_tol=1e-12)
    aimed = asked["draws"] * (3.9e-28 + 2.1e-21 * 2.0**-37 * max(noise.sigma, 8.0))
    switching = asked["draws"] ** 2 * 2.0**-129
    tails = (1 + math.exp(noise.epsilon)) * (m * 2.1e-21 + aimed + switching)
    by_formula = math.expm1(m * eta) * noise.delta + tails
    assert math.isclose(noise.delta_numeric, by_formula, rel_tol=1e-9)
    assert noise.epsilon_numeric <= 0.01 * noise.epsilon
    assert noise.delta_numeric <= 0.01 * noise.delta


@pytest.mark.parametrize("changes", CASES)
def test_sigma_is_no_larger_than_needed(changes: dict[str, Any]) -> None:
    noise = made(**changes)
    left = noise.epsilon - noise.epsilon_numeric, noise.delta - noise.delta_numeric
    if noise.calibration == "classical":
        wanted = classical_noise_multiplier(*left)
    else:
        wanted = adaptive_noise_multiplier(*left, depth={**BASE, **changes}["depth"])
    assert noise.sigma == pytest.approx(wanted * noise.l2_sensitivity, rel=1e-6)


def test_numerics_are_negligible_in_ordinary_use() -> None:
    noise = made()
    ideal = adaptive_noise_multiplier(1.0, 1e-6, depth=3) * noise.l2_sensitivity
    assert ideal <= noise.sigma <= ideal * (1 + 1e-10)


@pytest.mark.parametrize("weight", [1, 3, 10**4])
@pytest.mark.parametrize("events", [1, 7])
@pytest.mark.parametrize("product", [(1, 1), (6, 49), (8, 57), (2**28, 11)])
def test_sensitivity_is_rounded_up(weight: int, events: int, product: tuple[int, int]) -> None:
    noise = made(
        table_sensitivity2=product[0],
        mechanism_sensitivity2=product[1],
        max_weight=weight,
        max_events_per_user=events,
        delta=1e-3,
        epsilon=10.0,
    )
    square = product[0] * product[1] * (weight * events) ** 2
    numerator, denominator = noise.l2_sensitivity.as_integer_ratio()
    assert numerator**2 >= square * denominator**2
    assert noise.l2_sensitivity == pytest.approx(math.sqrt(square), rel=1e-15)


def one_percent(changes: dict[str, Any], name: str, low: int, high: int) -> tuple[int, str]:
    """Return the largest accepted value of an argument, and the error just above it."""
    while high - low > 1:
        middle = (low + high) // 2
        try:
            made(**{**changes, name: middle})
            low = middle
        except ArgumentValueError:
            high = middle
    with pytest.raises(ArgumentValueError) as caught:
        made(**{**changes, name: high})
    return low, str(caught.value)


@pytest.mark.parametrize(
    "changes", [{}, {"epsilon": 0.1}, {"epsilon": 0.3, "calibration": "classical"}]
)
def test_both_sides_of_one_percent_of_epsilon(changes: dict[str, Any]) -> None:
    accepted, message = one_percent(changes, "max_weight", 1, 2**50)
    noise = made(**changes, max_weight=accepted)
    assert 0.00999 * noise.epsilon <= noise.epsilon_numeric <= 0.01 * noise.epsilon
    assert message.startswith("epsilon: expected ")
    assert "max_weight" in message


def test_both_sides_of_one_percent_of_delta() -> None:
    accepted, message = one_percent({"delta": 1e-12}, "draws", 1, 2**80)
    noise = made(delta=1e-12, draws=accepted)
    assert 0.00999 * noise.delta <= noise.delta_numeric <= 0.01 * noise.delta
    assert message.startswith("delta: expected at least 1.01e-12, ")


def test_an_excess_of_delta_that_depends_on_sigma_names_epsilon() -> None:
    _, message = one_percent({"epsilon": 10.0, "delta": 1e-3}, "max_weight", 1, 2**50)
    assert message.startswith("epsilon: expected ")


def test_large_epsilon_is_beyond_the_reach_of_the_draws() -> None:
    # At epsilon = 100 the tails of one stream's noise lie in the middle of the other's.
    with pytest.raises(ArgumentValueError, match="^epsilon: .*lower epsilon"):
        made(epsilon=100.0, delta=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 100.0])
def test_classical_needs_epsilon_below_one(epsilon: float) -> None:
    with pytest.raises(ArgumentValueError, match='^epsilon: expected below 1 for .*"classical"'):
        made(epsilon=epsilon, calibration="classical")
    assert made(epsilon=math.nextafter(1.0, 0.0), calibration="classical").sigma > 0


INTEGERS = [name for name in BASE if isinstance(BASE[name], int)]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("bad", [None, "3", 3.0, True, np.bool_(True), math.nan, [1]])
def test_integers_of_the_wrong_type(name: str, bad: object) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{name}: expected an integer .*, got "):
        made(**{name: bad})


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("bad", [0, -1, 10**5000], ids=["zero", "negative", "huge"])
def test_integers_outside_their_range(name: str, bad: int) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{name}: expected an integer .*, got "):
        made(**{name: bad})


@pytest.mark.parametrize("name", INTEGERS)
def test_numpy_integers_are_integers(name: str) -> None:
    assert made(**{name: np.int64(BASE[name])}) == made()


def test_bad_calibration_epsilon_and_delta() -> None:
    with pytest.raises(ArgumentValueError, match="^calibration: "):
        made(calibration="renyi")
    with pytest.raises(ArgumentTypeError, match="^calibration: "):
        made(calibration=None)
    with pytest.raises(ArgumentValueError, match="^epsilon: "):
        made(epsilon=math.nan)
    with pytest.raises(ArgumentTypeError, match="^delta: "):
        made(delta=True)


def test_a_sensitivity_beyond_floats_is_refused() -> None:
    huge = 2**63 - 1
    with pytest.raises(ArgumentValueError):
        made(table_sensitivity2=huge, max_weight=huge, max_events_per_user=huge)


def test_the_result_is_frozen() -> None:
    with pytest.raises(AttributeError):
        made().sigma = 0.0  # type: ignore[misc]


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 12.0), deltas, *[st.integers(1, most) for most in (256, 65, 10**6, 50)])
def test_every_accepted_calibration_is_sufficient(
    epsilon: float, delta: float, table2: int, mechanism2: int, weight: int, events: int
) -> None:
    try:
        noise = made(
            epsilon=epsilon,
            delta=delta,
            table_sensitivity2=table2,
            mechanism_sensitivity2=mechanism2,
            max_weight=weight,
            max_events_per_user=events,
        )
    except ArgumentValueError:
        assume(False)
    left = noise.epsilon - noise.epsilon_numeric
    allowed = noise.delta - noise.delta_numeric
    assert exact_delta(left, noise.noise_multiplier) <= mpmath.mpf(allowed)
    assert adaptive_delta(left, noise.noise_multiplier, depth=3) <= allowed


def test_delta_is_a_probability_for_the_least_noise() -> None:
    for multiplier in (1e-9, 1.0001e-3, 1.1e-3, 2e-3, 5e-3):
        assert gaussian_delta(1e-6, multiplier) == 1.0
