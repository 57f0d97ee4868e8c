"""Composition: the closed form in mu, the side on which epsilon errs, and its refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy import Privacy, composed, gaussian_delta


def promise(epsilon: float, delta: float = 1e-8, relation: str = "substitution") -> Privacy:
    sketch = ls.LazyCountMin(depth=2, width=8, epsilon=epsilon, delta=delta, relation=relation)
    return sketch.privacy


def test_one_part_is_what_it_was() -> None:
    part = promise(1.0)
    whole = composed([part])
    assert whole.mu == pytest.approx(part.mu)
    assert whole.epsilon == pytest.approx(1.0, rel=1e-6)
    assert (whole.delta, whole.relation) == (1e-8, "substitution")


@pytest.mark.parametrize("epsilons", [(1.0, 1.0), (0.3, 2.0, 0.7), (0.01,) * 50])
def test_mu_adds_in_squares_and_epsilon_is_solved_from_above(epsilons: tuple[float, ...]) -> None:
    parts = [promise(epsilon) for epsilon in epsilons]
    whole = composed(parts)
    assert whole.mu == pytest.approx(math.hypot(*(part.mu for part in parts)))
    multiplier = 1 / whole.mu
    assert gaussian_delta(whole.epsilon, multiplier) <= whole.delta
    assert gaussian_delta(whole.epsilon * (1 - 1e-9), multiplier) > whole.delta
    assert max(epsilons) < whole.epsilon < sum(epsilons)


def test_the_relation_is_the_one_that_all_parts_cover() -> None:
    assert composed([promise(1.0), promise(1.0, relation="zero-out")]).relation == "zero-out"


def test_the_largest_delta_is_taken() -> None:
    assert composed([promise(1.0, 1e-9), promise(1.0, 1e-6)]).delta == 1e-6


def test_beyond_epsilon_100_there_is_no_bound() -> None:
    assert composed([promise(12.0)] * 200).epsilon == math.inf


def test_what_promises_nothing_cannot_be_composed() -> None:
    with pytest.raises(ArgumentValueError, match="expected private ones, got NOT PRIVATE"):
        composed([promise(1.0), ls.CountMin(depth=1, width=1).release().privacy])
    with pytest.raises(ArgumentValueError, match="at least one, got none"):
        composed([])
    wrong: Any = [1.0]
    with pytest.raises(ArgumentTypeError, match="expected Privacy, got float"):
        composed(wrong)
