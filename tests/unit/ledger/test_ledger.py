"""Ledgers: what is admitted, what is refused and with which numbers, periods and units."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from tests.unit.ledger.ledgers import DAY, Place, instant

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, CapError, ClosedError
from lazysketch.ledger.periods import Period
from lazysketch.ledger.spending import Spending
from lazysketch.ledger.terms import Terms, Unit
from lazysketch.privacy.charges import pure_mu


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def spend_all(ledger: ls.Ledger, part: tuple[float, float]) -> int:
    """Charge equal runs until one is refused, and return their number."""
    count = 0
    while count < 100:
        try:
            ledger.charge(part)
        except CapError:
            return count
        count += 1
    raise AssertionError("no run was refused")


def test_the_sum_of_mu_squared_stays_below_the_bound(place: Place) -> None:
    with place.create() as ledger:
        count = spend_all(ledger, (0.1, 1e-12))
        bound = ledger.terms.bounds.mu_squared
        assert count == math.floor(bound / pure_mu(0.1) ** 2)
        assert count > 4.0 / 0.1 / 2
        spent = ledger.spent()
        assert spent.total.mu_squared <= bound < spent.total.mu_squared + pure_mu(0.1) ** 2
        assert 3.5 < spent.epsilon <= 4.0
        assert spent.total.delta_at(4.0) <= 1e-6


def test_the_sum_of_deltas_stays_below_the_bound(place: Place) -> None:
    with place.create() as ledger:
        assert spend_all(ledger, (0.001, 1e-7)) == 5  # half of 1e-6


def test_the_bounds_keep_the_cap() -> None:
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-6), (4.0, 1e-6), (20.0, 1e-5), (100.0, 1e-3)):
        terms = Terms(population="p", unit="event", epsilon=epsilon, delta=delta)
        bounds = terms.bounds
        # The pair of Theorem 20, without the pair that basic composition gives.
        assert bounds._bound(epsilon) <= delta
        assert bounds._bound(epsilon) >= 0.98 * delta
        assert (bounds.epsilon, bounds.pair_delta) == (epsilon, delta)


def test_a_refusal_has_its_numbers_and_records_nothing(place: Place) -> None:
    with place.create(epsilon=1.0, period="1y") as ledger:
        ledger.charge((0.1, 1e-9), note="first")
        with pytest.raises(CapError) as refused:
            ledger.charge((0.9, 1e-9))
        assert len(ledger.entries()) == 1
    figures = re.findall(
        r"(asked|spent|cap|rest) mu ([0-9.]+) and delta ([0-9.e-]+)", str(refused.value)
    )
    assert [name for name, _, _ in figures] == ["asked", "spent", "cap", "rest"]
    asked, spent, cap, rest = (float(mu) for _, mu, _ in figures)
    assert asked == pytest.approx(pure_mu(0.9), rel=1e-3)
    assert spent == pytest.approx(pure_mu(0.1), rel=1e-3)
    assert rest == pytest.approx(math.sqrt(cap**2 - spent**2), rel=1e-2)
    assert "within (1, 1e-06)-DP per event for visitors from 2026-01-01 to 2027-01-01" in str(
        refused.value
    )
    assert "by 1 run;" in str(refused.value)


@pytest.mark.parametrize("share", [0.05, None])
def test_a_refusal_states_an_epsilon_that_fits(place: Place, share: float | None) -> None:
    def run(epsilon: float) -> ls.HeavyHitters:
        domain = None if share else ["a", "b"]
        return ls.HeavyHitters(share=share, domain=domain, epsilon=epsilon, delta=1e-8)

    with place.create(epsilon=1.0) as ledger:
        for asked in (0.75, 1.5, 3.0):  # what is left falls from refusal to refusal
            ledger.charge((0.1, 0.0))
            with pytest.raises(CapError) as refused:
                ledger.charge(run(asked), run(asked))
            (known,) = re.findall(
                r"with epsilon of about ([0-9.]+) would fit; ", str(refused.value)
            )
            half = float(known) / 2  # the epsilon of both together
            assert half < asked
            assert ledger.rest(run(half), run(half)) >= 1
            assert ledger.rest(run(1.4 * half), run(1.4 * half)) == 0


def test_one_run_of_the_whole_cap_is_admitted_and_decides_how_the_rest_is_added(
    place: Place,
) -> None:
    with place.create(epsilon=4.0) as ledger:
        ledger.charge((3.0, 5e-7))
        assert ledger.spent().by_sums
        ledger.charge((1.0, 5e-7))
        with pytest.raises(CapError, match="rest epsilon 0 and delta 0"):
            ledger.charge((0.001, 1e-12))
        assert ledger.spent().epsilon == 4.0


def test_no_run_after_the_first_changes_how_runs_are_added(place: Place) -> None:
    # After small runs, one that fits by sums only: which sum counts would depend on results.
    with place.create(epsilon=4.0) as ledger:
        ledger.charge((0.1, 1e-9))
        with pytest.raises(CapError):
            ledger.charge((3.0, 1e-9))
        assert not ledger.spent().by_sums


def test_everything_that_a_run_publishes_is_charged(place: Place) -> None:
    heavy = ls.HeavyHitters(share=0.05, epsilon=0.2, delta=1e-9)
    with place.create() as ledger:
        run = ledger.charge(heavy, note="tables and names")
        counts, names = heavy.privacy.sketch, heavy.privacy.discovery_epsilon
        assert run.entry.charge.mu_squared >= counts.mu**2 + pure_mu(names) ** 2
        assert run.entry.charge.epsilon == 0.2
        assert run.entry.charge.pair_delta == pytest.approx(1e-9, rel=1e-12)
        both = ledger.charge(heavy, heavy.privacy, (0.1, 0.0))
        assert both.entry.charge.epsilon == pytest.approx(0.5, rel=1e-12)
        more = ledger.rest(heavy)
        for _ in range(more):
            ledger.charge(heavy)
        with pytest.raises(CapError):
            ledger.charge(heavy)


def test_open_runs_count_in_every_period_until_they_are_closed(place: Place) -> None:
    with place.create(period="1mo") as ledger:
        daily = ledger.charge((0.5, 1e-9), note="one run")
        endless = ledger.charge((0.3, 1e-9), note="another run")
        place.now = instant(2026, 2, 10)
        february = ledger.spent()
        assert [run.run for run in february.runs] == [1, 2]  # charged in January, open
        assert february.carried == 2
        daily.close()
        ledger.charge((0.2, 1e-9))
        place.now = instant(2026, 3, 1)
        march = ledger.spent()
        assert [run.run for run in march.runs] == [2, 3]  # the first was closed in February
        assert [run.run for run in ledger.spent(instant(2026, 2, 28)).runs] == [1, 2, 3]
        assert [run.run for run in ledger.spent(instant(2026, 1, 5)).runs] == [1, 2]
        endless.close()
        assert [run.run for run in ledger.spent(instant(2030)).runs] == [3]
        assert march.named == "from 2026-03-01 to 2026-04-01"


def test_a_period_begins_with_a_fresh_cap(place: Place) -> None:
    with place.create(epsilon=1.0, period="30d") as ledger:
        found = []
        for _ in range(3):
            open_before = len(ledger.entries())
            found.append(spend_all(ledger, (0.1, 1e-9)))
            for run in range(open_before, len(ledger.entries())):
                ledger.close_run(run + 1)
            place.now += 31 * DAY
        assert found[0] == found[1] == found[2] > 1


def test_without_a_period_closed_runs_stay_spent(place: Place) -> None:
    with place.create(epsilon=1.0) as ledger:
        ledger.charge((0.4, 1e-9)).close()
        place.now += 10 * 366 * DAY
        assert len(ledger.spent().runs) == 1


def test_a_clock_that_goes_back_opens_no_earlier_period(place: Place) -> None:
    with place.create(epsilon=1.0, period="1y") as ledger:
        ledger.charge((0.1, 1e-9)).close()
        place.now = instant(2020)
        with pytest.raises(CapError):
            ledger.charge((0.5, 1e-9))
        ledger.charge((0.01, 1e-9))
        assert ledger.entries()[-1].begun == instant(2026)


def test_a_run_with_a_state_is_charged_once(place: Place) -> None:
    with place.create() as ledger:
        first = ledger.charge((0.1, 1e-9), state="a1")
        again = ledger.charge((0.1, 1e-9), state="a1")
        assert (first.is_new, again.is_new) == (True, False)
        assert again.entry == first.entry
        assert ledger.charge((0.11, 1e-9), state="a1").is_new  # more than was charged
        assert ledger.charge((0.1, 1e-9), state="b2").is_new
        first.close()
        ledger.close_run(2)
        assert ledger.charge((0.1, 1e-9), state="a1").is_new  # it was closed, so it counts anew
        assert len(ledger.entries()) == 4


def test_a_run_for_events_is_refused_where_persons_are_protected(place: Place) -> None:
    one = ls.LazyCountMin(depth=3, width=64, epsilon=0.5, delta=1e-9)
    three = ls.LazyCountMin(depth=3, width=64, epsilon=0.5, delta=1e-9, max_events_per_user=3)
    with place.create(unit="person") as ledger:
        for part in (one, three):
            with pytest.raises(ArgumentValueError, match="got one that protects single events"):
                ledger.charge(part)
        with pytest.raises(ArgumentValueError, match="which protects single events"):
            ledger.charge(one, unit="person")
        with pytest.raises(ArgumentValueError, match="protects single events"):
            ledger.charge((0.5, 1e-9), unit="event")
        assert not ledger.entries()
        ledger.charge(three, unit="person")  # bounded elsewhere, as the caller states
        ledger.charge((0.5, 1e-9))
    with place.open() as ledger, pytest.raises(ArgumentValueError, match="relation"):
        ledger.charge(
            ls.LazyCountMin(depth=3, width=64, relation="zero-out", epsilon=0.5, delta=1e-9)
        )


def test_a_run_with_a_bound_of_people_is_charged_for_persons(tmp_path: Path) -> None:
    bound = ls.PersonBound(cells=4)
    removed, replaced = (
        ls.LazyCountMin(
            depth=3, width=64, relation=relation, epsilon=0.5, delta=1e-9, person_bound=bound
        )
        for relation in ("zero-out", "substitution")
    )
    with Place(tmp_path).create(unit="person", relation="zero-out") as ledger:
        ledger.charge(removed)
        ledger.charge(replaced, (0.1, 0.0))
        with pytest.raises(ArgumentValueError, match="protects single events"):
            ledger.charge(removed, unit="event")
    (tmp_path / "events").mkdir()
    with Place(tmp_path / "events").create(unit="event", relation="zero-out") as ledger:
        ledger.charge(replaced)  # one event more: other events of its person are counted
        with pytest.raises(ArgumentValueError, match="expected a run that protects events"):
            ledger.charge(removed)
        with pytest.raises(ArgumentValueError, match="expected one unit"):
            ledger.charge(replaced, ls.LazyCountMin(depth=3, width=64, epsilon=0.5, delta=1e-9))
    together = ls.compose(replaced, replaced)
    assert (together.protects_people, together.person_bound) == (True, bound)
    assert "per person, of whom 1 event in each of 4 cells" in str(together)


def test_windows_for_events_are_one_charge(place: Place) -> None:
    """An event is in one window, so that a charge covers any number of them."""
    windows = ls.Windows(every=100, domain=["a"], width=64, epsilon=0.5, delta=1e-9)
    one = ls.HeavyHitters(domain=["a"], width=64, epsilon=0.5, delta=1e-9)
    with place.create() as ledger:
        mu = [ledger.charge(part).entry.charge.mu_squared for part in (windows, one)]
        windows.update_many(["a"] * 350)
        mu.append(ledger.charge(windows.privacy).entry.charge.mu_squared)
    assert mu == pytest.approx([mu[1]] * 3, rel=1e-4)


def test_windows_of_people_are_refused(tmp_path: Path) -> None:
    """They protect a person within one window; a person in k windows is k changes."""
    bound = ls.PersonBound(cells=4)
    windows = ls.Windows(
        every=100, domain=["a"], width=64, epsilon=0.5, delta=1e-9, person_bound=bound
    )
    for unit in get_args(Unit):
        (tmp_path / unit).mkdir()
        with Place(tmp_path / unit).create(unit=unit) as ledger:
            for part in (windows, windows.privacy):
                with pytest.raises(ArgumentValueError, match="got one within one window"):
                    ledger.charge(part)
            with pytest.raises(ArgumentValueError, match="got one within one window"):
                ledger.charge((0.1, 0.0), windows, unit=unit)
            assert not ledger.entries()


def test_only_proven_relations_are_converted(tmp_path: Path) -> None:
    removed, replaced = (
        ls.LazyCountMin(depth=3, width=64, relation=relation, epsilon=0.5, delta=1e-9)
        for relation in ("zero-out", "substitution")
    )
    with Place(tmp_path).create(relation="zero-out") as ledger:
        ledger.charge(removed)
        ledger.charge(replaced)  # "or none there"
    (tmp_path / "other").mkdir()
    with Place(tmp_path / "other").create(relation="substitution") as ledger:
        ledger.charge(replaced)
        with pytest.raises(ArgumentValueError, match="expected 'substitution'.*got 'zero-out'"):
            ledger.charge(removed)


def test_an_adaptive_choice_of_runs_stays_within_the_cap() -> None:
    # Randomised responses whose number and epsilon follow from earlier results: the exact delta of
    # the best strategy of a family, by dynamic programming over the loss.
    terms = Terms(population="p", unit="event", epsilon=0.5, delta=0.05)
    small, large = 0.1, 0.3
    cost = {each: pure_mu(each) ** 2 for each in (small, large)}

    @cache
    def best(loss: float, spent: float) -> float:
        stopped = max(0.0, -math.expm1(min(0.0, terms.epsilon - loss)))
        found = [stopped]
        for each in (small, large):
            if spent + cost[each] <= terms.bounds.mu_squared:
                likely = 1.0 / (1.0 + math.exp(-each))
                after = (
                    best(round(loss + way * each, 9), round(spent + cost[each], 12))
                    for way in (1, -1)
                )
                found.append(sum(p * d for p, d in zip((likely, 1 - likely), after, strict=True)))
        return max(found)

    # Half of delta is for other parts, and the trade-off of a response touches one point only.
    assert 0.1 * terms.delta < best(0.0, 0.0) <= terms.delta
    spending = Spending(terms, ())
    assert spending.epsilon == 0.0
    assert not spending.by_sums


def test_wrong_uses_are_refused(place: Place) -> None:
    for terms, name in (
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.5}, "delta"),
        ({"unit": "people"}, "unit"),
        ({"period": "1 fortnight"}, "period"),
        ({"relation": "removal"}, "relation"),
    ):
        with pytest.raises(ArgumentValueError, match=f"^{name}: expected"):
            place.create(**terms)  # type: ignore[arg-type]
    assert not place.path.exists()
    with place.create() as ledger:
        with pytest.raises(ArgumentTypeError, match="got float"):
            ledger.charge(1.0)  # type: ignore[arg-type]
        with pytest.raises(ArgumentValueError, match="at least one"):
            ledger.charge()
        with pytest.raises(ArgumentValueError, match="NOT PRIVATE"):
            ledger.charge(ls.CountMin(depth=3, width=64).release().parts[0].privacy)
        with pytest.raises(ArgumentValueError, match="note: expected"):
            ledger.charge((0.1, 0.0), note="two\nlines")
        with pytest.raises(ArgumentTypeError, match="state: expected text"):
            ledger.charge((0.1, 0.0), state=b"1")  # type: ignore[arg-type]
        with pytest.raises(ArgumentValueError, match="run: expected one of 0 runs"):
            ledger.close_run(1)
    with pytest.raises(ClosedError):
        ledger.charge((0.1, 0.0))
    assert str(ledger.terms) == "visitors: at most (4, 1e-06)-DP per event (substitution)"


@pytest.mark.parametrize(
    ("period", "at", "begin", "end"),
    [
        ("1y", (2026, 7, 3), (2026, 1, 1), (2027, 1, 1)),
        ("2y", (2027, 7, 3), (2026, 1, 1), (2028, 1, 1)),
        ("1mo", (2024, 2, 29), (2024, 2, 1), (2024, 3, 1)),
        ("3mo", (2026, 12, 31), (2026, 10, 1), (2027, 1, 1)),
        ("1d", (2026, 12, 31), (2026, 12, 31), (2027, 1, 1)),
    ],
)
def test_periods_follow_each_other(
    period: str, at: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...]
) -> None:
    periods = Terms(population="p", unit="event", epsilon=1, delta=1e-6, period=period).periods
    assert periods is not None
    moment = instant(*at) + 3600.0
    assert (periods.begin(moment), periods.end(moment)) == (instant(*begin), instant(*end))
    assert periods.begin(periods.end(moment)) == periods.end(moment)


def test_a_year_of_daily_runs(place: Place) -> None:
    """The documented example: what 365 daily runs may cost, and what they do cost."""
    day = ls.HeavyHitters(share=0.01, epsilon=0.1, delta=1e-10)
    with place.create(epsilon=4.0, delta=1e-6, period="1y") as ledger:
        for number in range(365):
            place.now = instant(2026) + number * DAY
            ledger.charge(day, note=f"day {number + 1}").close()
        year = ledger.spent()
        assert (len(year.runs), year.carried) == (365, 0)
        assert year.epsilon == pytest.approx(3.2, abs=0.2)
        assert year.share < 1.0
        place.now = instant(2027)
        assert ledger.spent().runs == ()


def test_a_run_that_goes_on_can_be_closed(place: Place) -> None:
    with place.create() as ledger:
        ledger.charge((0.1, 1e-9), state="a1")
        again = ledger.charge((0.1, 1e-9), state="a1")
        again.close()
        assert [entry.closed for entry in ledger.entries()] == [place.now]


def test_a_pair_for_people_is_no_charge_for_events(place: Place) -> None:
    with place.create(unit="event") as ledger:
        with pytest.raises(ArgumentValueError, match="unit: expected a run that protects events"):
            ledger.charge((0.1, 1e-9), unit="person")
        assert ledger.entries() == ()
        assert ledger.charge((0.1, 1e-9), unit="event").is_new


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ("1d", "from 1970-01-01 to 1970-01-02"),
        ("7d", "from 1970-01-01 to 1970-01-08"),
        ("1h", "from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z"),
    ],
)
def test_periods_in_words(period: str, expected: str) -> None:
    assert Period(period).named(0.0) == expected
