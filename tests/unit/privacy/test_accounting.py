"""Privacy: its wording, its checks at construction, and the claims that it refuses."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.privacy import Privacy, adaptive_noise_multiplier, calibrate, noise_multiplier

MULTIPLIER = adaptive_noise_multiplier(1.0, 1e-6)
GOOD: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "relation": "substitution",
    "calibration": "analytic",
    "sigma": MULTIPLIER * 10.0,
    "noise_multiplier": MULTIPLIER,
    "l2_sensitivity": 10.0,
    "max_weight": 1,
    "max_events_per_user": 1,
    "private": True,
    "not_private_because": (),
    "depth": 1,
    "person_bound": None,
}


def made(**changes: Any) -> Privacy:
    return Privacy(**{**GOOD, **changes})


def test_fields_are_stored_as_plain_values() -> None:
    privacy = made(epsilon=np.float64(1), max_weight=np.int64(1), l2_sensitivity=10)
    assert dataclasses.asdict(privacy) == GOOD
    assert type(privacy.epsilon) is float
    assert type(privacy.max_weight) is int
    assert type(privacy.l2_sensitivity) is float
    assert privacy == made()
    assert hash(privacy) == hash(made())


def test_it_is_frozen_keyword_only_and_a_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().epsilon = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Privacy(1.0, 1e-6)  # type: ignore[call-arg]
    assert pickle.loads(pickle.dumps(made())) == copy.deepcopy(made()) == made()


def test_mu_is_the_inverse_multiplier_and_composes() -> None:
    mu = made().mu
    assert mu == pytest.approx(1 / MULTIPLIER)
    composed = MULTIPLIER / math.sqrt(4)
    assert 1 / composed == pytest.approx(math.sqrt(4 * mu**2))
    assert Privacy.without_noise(because=("exact",)).mu == math.inf


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "(1, 1e-06)-DP per event (substitution)"),
        (
            {"relation": "zero-out", "max_weight": 5},
            "(1, 1e-06)-DP per event (zero-out), weights up to 5",
        ),
        (
            {"max_events_per_user": 3},
            "(1, 1e-06)-DP per person with at most 3 events (substitution)",
        ),
        (
            {"private": False, "not_private_because": ("seeded key", "fixed\nsketch id")},
            "NOT PRIVATE (seeded key; fixed sketch id): promises nothing",
        ),
    ],
)
def test_the_guarantee_in_one_line(changes: dict[str, Any], text: str) -> None:
    assert str(made(**changes)) == text


def test_classical_calibration_is_marked() -> None:
    assert str(made(calibration="classical")).endswith("not this library's guarantee")


def test_a_calibration_can_always_be_described() -> None:
    noise = calibrate(
        epsilon=0.7,
        delta=1e-9,
        calibration="analytic",
        table_sensitivity2=16,
        mechanism_sensitivity2=57,
        mechanism_nodes=13,
        changed_cells=8,
        draws=2**24,
        max_weight=3,
        max_events_per_user=2,
    )
    for multiplier in (noise.noise_multiplier, noise.sigma / noise.l2_sensitivity):
        privacy = Privacy(
            epsilon=noise.epsilon,
            delta=noise.delta,
            relation="substitution",
            calibration=noise.calibration,
            sigma=noise.sigma,
            noise_multiplier=multiplier,
            l2_sensitivity=noise.l2_sensitivity,
            max_weight=3,
            max_events_per_user=2,
            private=True,
        )
        assert privacy.private
        assert str(privacy).startswith("(0.7, 1e-09)-DP per person with at most 2 events ")


def test_a_claim_beyond_the_noise_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="^noise_multiplier: expected enough for delta"):
        made(epsilon=0.99)
    with pytest.raises(ArgumentValueError, match="^noise_multiplier: "):
        made(delta=0.99e-6)
    fixed = noise_multiplier(1.0, 1e-6)  # for an event that is fixed in advance
    with pytest.raises(ArgumentValueError, match="^noise_multiplier: "):
        made(noise_multiplier=fixed, sigma=fixed * 10)
    shared = adaptive_noise_multiplier(1.0, 1e-6, depth=3)
    assert made(noise_multiplier=shared, sigma=shared * 10, depth=3).private
    with pytest.raises(ArgumentValueError, match="^noise_multiplier: "):
        made(noise_multiplier=shared, sigma=shared * 10)
    with pytest.raises(ArgumentValueError, match="^noise_multiplier: "):
        made(noise_multiplier=0.1, sigma=1.0)
    short = MULTIPLIER * (1 - 1e-6)
    with pytest.raises(ArgumentValueError, match="^noise_multiplier: "):
        made(noise_multiplier=short, sigma=short * 10)
    assert made(epsilon=1.01, delta=2e-6).private  # more noise than claimed is fine


def test_sigma_must_be_the_product() -> None:
    with pytest.raises(ArgumentValueError, match="^sigma: expected noise_multiplier"):
        made(sigma=GOOD["sigma"] * 1.000001)


def test_without_a_guarantee_the_claim_is_not_checked() -> None:
    reasons = ("seeded key",)
    privacy = made(sigma=0, noise_multiplier=0.0, private=False, not_private_because=reasons)
    assert privacy.mu == math.inf
    exact = Privacy.without_noise(because=reasons)
    assert (exact.private, exact.epsilon, exact.sigma) == (False, math.inf, 0.0)
    assert str(exact).startswith("NOT PRIVATE (seeded key)")


REALS = ["epsilon", "delta", "sigma", "noise_multiplier", "l2_sensitivity"]
INTEGERS = ["max_weight", "max_events_per_user", "depth"]


@pytest.mark.parametrize("name", REALS)
@pytest.mark.parametrize(
    "bad", [None, "1", True, np.bool_(True), 1j, math.nan, math.inf, -1.0, 0.0]
)
def test_bad_reals(name: str, bad: object) -> None:
    with pytest.raises(LazySketchError, match=f"^{name}: expected .*, got "):
        made(**{name: bad})


@pytest.mark.parametrize("name", REALS)
@pytest.mark.parametrize("bad", [None, "1", True, math.nan, -1.0, -math.inf])
def test_bad_reals_without_a_guarantee(name: str, bad: object) -> None:
    with pytest.raises(LazySketchError, match=f"^{name}: expected .*, got "):
        made(**{name: bad, "private": False, "not_private_because": ("seeded key",)})


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("bad", [None, 1.0, "1", True, 0, -1, 2**70])
def test_bad_integers(name: str, bad: object) -> None:
    with pytest.raises(LazySketchError, match=f"^{name}: expected an integer .*, got "):
        made(**{name: bad})


@pytest.mark.parametrize(("name", "bad"), [("epsilon", 101.0), ("delta", 1.0), ("delta", 1e-300)])
def test_ranges(name: str, bad: float) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{name}: "):
        made(**{name: bad})


@pytest.mark.parametrize(("name", "bad"), [("relation", "swap"), ("calibration", "none")])
def test_bad_names(name: str, bad: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{name}: "):
        made(**{name: bad})
    with pytest.raises(ArgumentTypeError, match=f"^{name}: "):
        made(**{name: None})


@pytest.mark.parametrize("bad", [None, 1, "True", np.bool_(True)])
def test_private_is_a_bool(bad: object) -> None:
    with pytest.raises(ArgumentTypeError, match="^private: expected a bool, got "):
        made(private=bad)


@pytest.mark.parametrize("bad", [None, "seeded", ["seeded"], (1,), (b"x",)])
def test_reasons_are_a_tuple_of_strings(bad: object) -> None:
    with pytest.raises(ArgumentTypeError, match="^not_private_because: expected a tuple"):
        made(private=False, not_private_because=bad)


@pytest.mark.parametrize(
    ("private", "reasons"), [(True, ("seeded",)), (False, ()), (False, ("",)), (False, (" \n",))]
)
def test_private_and_reasons_agree(private: bool, reasons: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentValueError, match="^not_private_because: expected "):
        made(private=private, not_private_because=reasons)
