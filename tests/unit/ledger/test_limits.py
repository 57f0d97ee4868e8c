"""What a ledger says of the limit that refuses a run, and which limit that is."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from tests.unit.ledger.ledgers import Place

import lazysketch as ls
from lazysketch.errors import CapError
from lazysketch.privacy.charges import pure_mu


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_refusal_names_the_limit_that_binds(place: Place) -> None:
    with place.create(epsilon=1.0, period="1y") as ledger:
        ledger.charge((0.1, 1e-9))
        with pytest.raises(CapError) as by_mu:
            ledger.charge((0.9, 1e-9))
    said = str(by_mu.value)
    assert said.startswith("cap: refused, nothing was read: ")
    assert "the limit that binds is the sum of mu squared: " in said
    assert "would fit; the period ends on 2027-01-01;" in said


def test_an_epsilon_that_would_fit_is_rounded_down(place: Place) -> None:
    """To two digits: rounded to the nearest, it would not always fit."""
    with place.create(epsilon=1.0) as ledger:
        ledger.charge((0.1, 0.0))
        spent = ledger.spent().total.mu_squared
        left = ledger.terms.bounds.mu_squared - spent
        for asked in (0.85, 0.9, 1.0, 1.1, 1.3, 1.7, 2.2, 3.1):
            with pytest.raises(CapError) as refused:
                ledger.charge((asked, 0.0))
            (known,) = re.findall(r"with epsilon of about ([0-9.]+) would fit", str(refused.value))
            unrounded = 0.98 * math.sqrt(left / pure_mu(asked) ** 2) ** 1.06 * asked
            assert 0.9 * unrounded < float(known) <= unrounded


def test_a_sum_that_no_epsilon_helps_is_named_without_one(place: Place) -> None:
    with place.create(epsilon=1.0) as ledger:
        ledger.charge((0.1, 1e-9))
        with pytest.raises(CapError) as by_delta:
            ledger.charge((0.1, 9e-7))
    said = str(by_delta.value)
    assert "the limit that binds is the sum of delta, half of the cap: 4.99e-07 is left" in said
    assert "would fit" not in said


def test_mu_binds_about_as_soon_as_numerics_for_daily_runs_with_discovery(place: Place) -> None:
    """A year of live runs over people fits; no small term ends it long before mu does."""
    bound = ls.PersonBound(cells=10)
    run = ls.HeavyHitters(share=0.01, epsilon=0.1, delta=1e-10, person_bound=bound)
    with place.create(unit="person", epsilon=4.0, period="1y") as ledger:
        ledger.charge(run)
        fit = ledger.rest(run)
        mu_squared = ledger.spent().total.mu_squared
        assert fit > 365
        assert fit >= 0.9 * (ledger.terms.bounds.mu_squared / mu_squared - 1)


def test_the_share_is_that_of_the_cap(place: Place) -> None:
    """A pair of the whole cap is all of it, half a pair half of it."""
    with place.create(epsilon=2.0, delta=1e-6) as ledger:
        ledger.charge((1.0, 5e-7))
        assert ledger.spent().by_sums
        assert ledger.spent().share == pytest.approx(0.5)
        ledger.charge((1.0, 5e-7))
        assert ledger.spent().share == pytest.approx(1.0)
