"""What an observer may conclude: bounds against exact ones, for finite and Gaussian outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch.privacy.gaussian import gaussian_delta
from lazysketch.privacy.observer import detection, posterior, right_guesses

NORMAL: Final = NormalDist()
PRIORS: Final = (0.001, 0.1, 0.5, 0.8, 0.99)


@dataclass(frozen=True)
class Finite:
    """The exact curve of two distributions of few outputs, in both directions."""

    one: tuple[float, ...]
    other: tuple[float, ...]

    def delta_at(self, epsilon: float) -> float:
        factor = math.exp(epsilon)
        pairs = list(zip(self.one, self.other, strict=True))
        excess = (
            math.fsum(max(0.0, p - factor * q) for p, q in pairs),
            math.fsum(max(0.0, q - factor * p) for p, q in pairs),
        )
        return max(excess) + 1e-15


@dataclass(frozen=True)
class Gaussian:
    mu: float

    def delta_at(self, epsilon: float) -> float:
        return gaussian_delta(epsilon, 1.0 / self.mu)


def normalised(weights: list[int]) -> tuple[float, ...]:
    return tuple(weight / sum(weights) for weight in weights)


def best_test(one: tuple[float, ...], other: tuple[float, ...], rate: float) -> float:
    """The power of the most powerful test, randomised at its last output (Neyman, Pearson)."""
    power = 0.0
    order = sorted(range(len(one)), key=lambda at: -one[at] / max(other[at], 1e-300))
    for at in order:
        share = 1.0 if other[at] <= rate else rate / other[at]
        power += share * one[at]
        rate -= share * other[at]
        if share < 1.0:
            break
    return power


WEIGHTS = st.integers(2, 5).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(1, 40), min_size=size, max_size=size)] * 2)
)


@given(weights=WEIGHTS, prior=st.sampled_from(PRIORS), rate=st.sampled_from((0.001, 0.05, 0.5)))
def test_no_observer_of_finite_outputs_does_better(
    weights: tuple[list[int], list[int]], prior: float, rate: float
) -> None:
    one, other = map(normalised, weights)
    curve = Finite(one, other)
    pairs = list(zip(one, other, strict=True))
    best = math.fsum(max(prior * p, (1.0 - prior) * q) for p, q in pairs)
    assert right_guesses(curve, prior=prior) >= best - 1e-12
    assert detection(curve, false_alarms=rate) >= best_test(one, other, rate) - 1e-12
    for chance in (0.001, 0.05, 0.3):
        most = posterior(curve, prior=prior, chance=chance)
        surer = math.fsum(
            p for p, q in pairs if prior * p > (most + 1e-12) * (prior * p + (1.0 - prior) * q)
        )
        assert surer <= chance


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("prior", PRIORS)
def test_randomised_response_attains_the_bounds(epsilon: float, prior: float) -> None:
    """A truthful answer with odds e^epsilon: both guesses and posteriors are exact."""
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    curve = Finite((truth, 1.0 - truth), (1.0 - truth, truth))
    best = max(prior * truth, (1 - prior) * (1 - truth)) + max(
        prior * (1 - truth), (1 - prior) * truth
    )
    assert right_guesses(curve, prior=prior) == pytest.approx(best, abs=0.002)
    odds = math.exp(epsilon) * prior / (1.0 - prior)
    # Epsilons of the curve are 5 % apart.
    assert posterior(curve, prior=prior) == pytest.approx(odds / (1.0 + odds), abs=0.03)
    assert detection(curve, false_alarms=0.01) == pytest.approx(0.01 * math.exp(epsilon), rel=0.1)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
def test_of_gaussian_noise(mu: float) -> None:
    curve = Gaussian(mu)
    assert right_guesses(curve, prior=0.5) == pytest.approx(NORMAL.cdf(mu / 2), abs=1e-3)
    for rate in (0.001, 0.01, 0.2, 0.9):
        exact = NORMAL.cdf(NORMAL.inv_cdf(rate) + mu)
        assert exact - 1e-12 <= detection(curve, false_alarms=rate) <= exact * 1.01 + 1e-4
    for chance in (1e-6, 0.01, 0.2):
        # The log of the ratio of densities has the mean mu^2 / 2 and the deviation mu.
        exact = mu * (mu / 2 + NORMAL.inv_cdf(1.0 - chance))
        found = posterior(curve, prior=0.5, chance=chance)
        level = math.log(found / (1.0 - found))
        assert exact - 1e-9 <= level <= exact * 1.25 + mu


def test_a_prior_close_to_certain_learns_nothing() -> None:
    curve = Gaussian(0.1)
    assert right_guesses(curve, prior=1e-9) <= 1.0 - 1e-9 + 1e-12
    assert posterior(curve, prior=1e-9) < 2e-9


def test_the_library_s_guarantees_are_curves() -> None:
    sketch = ls.LazyCountMin(depth=3, width=64, epsilon=1.0, delta=1e-8)
    exact = NORMAL.cdf(sketch.privacy.mu / 2)
    assert exact <= right_guesses(sketch.privacy, prior=0.5) <= exact + 0.002
    heavy = ls.HeavyHitters(share=0.05, epsilon=1.0, delta=1e-8)
    names = right_guesses(ls.compose(heavy), prior=0.5)
    assert exact < names < right_guesses(ls.compose((1.0, 1e-8)), prior=0.5) < 0.732
    assert ls.compose(heavy.release()).delta_at(0.5) == pytest.approx(
        ls.compose(heavy).delta_at(0.5)
    )


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.1, math.nan, True, "0.5", None])
def test_what_is_refused(wrong: float) -> None:
    curve = Gaussian(1.0)
    for name, call in (
        ("prior", lambda: right_guesses(curve, prior=wrong)),
        ("prior", lambda: posterior(curve, prior=wrong)),
        ("chance", lambda: posterior(curve, prior=0.5, chance=wrong)),
        ("false_alarms", lambda: detection(curve, false_alarms=wrong)),
    ):
        with pytest.raises(ls.LazySketchError, match=f"^{name}: expected "):
            call()
