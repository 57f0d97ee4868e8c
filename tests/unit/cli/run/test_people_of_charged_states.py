"""``--user --state`` with ``--ledger``: a person pays once for a state, and anew for each era."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.run.test_people_of_states import PEOPLE, people, visit, visits
from tests.unit.cli.run.test_states import SMALL, Runs, runs

__all__ = ["runs"]  # the fixture

SPENDS = ["--epsilon", "1", "--delta", "1e-8"]


def charged(runs: Runs, ledger: str = "ledger") -> list[str]:
    """Make a ledger, unless there is one, and return the options of a run that is charged."""
    if not (runs.folder / ledger).exists():
        init(runs, ledger)
    place = ["--ledger-key-file", f"{ledger}.key", "--ledger-anchor", f"{ledger}.anchor"]
    return ["--ledger", ledger, "--population", "visitors", *place]


def init(runs: Runs, ledger: str, *, unit: str = "person", epsilon: str = "4") -> None:
    terms = ["--population", "visitors", "--unit", unit, "--epsilon", epsilon, "--delta", "1e-6"]
    place = ["--key-file", f"{ledger}.key", "--anchor", f"{ledger}.anchor"]
    runs.run("ledger", "init", ledger, *terms, *place)


def entries(runs: Runs, ledger: str = "ledger") -> list[dict[str, Any]]:
    place = ["--key-file", f"{ledger}.key", "--anchor", f"{ledger}.anchor"]
    found: list[dict[str, Any]] = json.loads(runs.run("ledger", "show", ledger, *place, "--json"))[
        "runs"
    ]
    return found


def test_all_runs_of_a_state_are_charged_once(runs: Runs) -> None:
    visit(runs, *visits(0, 50))
    asked = charged(runs)
    runs.estimate("a", *SMALL, *SPENDS, *PEOPLE, *asked)
    assert "run 1 charged" in runs.said
    for begin in (50, 100):
        visit(runs, *visits(begin, begin + 50))
        runs.estimate("a", *asked)
        assert "run 1 goes on, charged before" in runs.said
    (entry,) = entries(runs)
    assert (entry["epsilon"], entry["closed"]) == (1.0, None)
    runs.estimate("a", *asked, "--finish")
    assert entries(runs)[0]["closed"] is not None


def test_a_ledger_of_people_refuses_a_state_of_events(runs: Runs) -> None:
    """Also in a later run; one with people fits a ledger of events under substitution alone."""
    visit(runs, *visits(0, 50))
    asked = charged(runs)
    runs.estimate("events", *SMALL, *SPENDS, "--by", "page", *asked, status=2)
    assert "unit: expected a run that protects a person" in runs.said
    runs.estimate("events", *SMALL, *SPENDS, "--by", "page")
    runs.estimate("events", *asked, status=2)
    assert "unit: expected a run that protects a person" in runs.said
    assert entries(runs) == []
    init(runs, "of events", unit="event")
    runs.estimate("a", *SMALL, *SPENDS, *PEOPLE, *charged(runs, "of events"))
    assert len(entries(runs, "of events")) == 1


def test_a_refused_charge_counts_nothing(runs: Runs) -> None:
    """Neither events nor what people have contributed."""
    init(runs, "small", epsilon="0.5")
    visit(runs, *((person, "/a") for person in range(30)))
    runs.estimate("a", *SMALL, *SPENDS, *PEOPLE, *charged(runs, "small"), status=2)
    assert (
        "refused, nothing was read: expected a run within (0.5, 1e-06)-DP per person for visitors"
        in runs.said
    )
    _, steps = runs.estimate("a", *SMALL, *SPENDS, *PEOPLE)
    assert steps == 30
    assert "beyond the bound" not in runs.said


def test_a_new_era_lets_people_contribute_again_and_is_charged(runs: Runs) -> None:
    """As an older copy does not know who has contributed what."""
    everyone = [(person, "/a") for person in range(30)]
    visit(runs, *everyone)
    asked = charged(runs)
    runs.estimate("a", *SMALL, *SPENDS, *PEOPLE, *asked)
    shutil.copytree(runs.folder / "a", runs.folder / "older")
    visit(runs, *everyone)
    runs.estimate("a", *asked)
    assert "30 events were beyond the bound and not counted; 30 people" in people(runs.said)
    shutil.rmtree(runs.folder / "a")
    shutil.move(runs.folder / "older", runs.folder / "a")
    runs.estimate("a", *asked, status=2)
    assert len(entries(runs)) == 1
    runs.estimate("a", *asked, "--new-era")
    assert "run 2 charged" in runs.said
    assert "beyond the bound" not in runs.said
    assert "2 eras, which spend" in runs.said
    assert [entry["epsilon"] for entry in entries(runs)] == [1.0, 1.0]
    visit(runs, *everyone)  # within the era the bound holds again
    runs.estimate("a", *asked)
    assert "run 2 goes on, charged before" in runs.said
    assert "30 people" in people(runs.said)
    assert len(entries(runs)) == 2


def test_a_new_era_beyond_the_cap_is_refused(runs: Runs) -> None:
    init(runs, "small", epsilon="1.2")
    asked = charged(runs, "small")
    visit(runs, *visits(0, 50))
    runs.estimate("a", *SMALL, *SPENDS, *PEOPLE, *asked)
    Path("a.anchor").unlink()
    runs.estimate("a", *asked, "--new-era", status=2)
    assert (
        "cap: refused, nothing was read: expected a run within (1.2, 1e-06)-DP per person"
        in runs.said
    )
    assert len(entries(runs, "small")) == 1
    # What was not charged counts nothing; the next run is refused as well.
    runs.estimate("a", *asked, status=2)
    assert "cap: refused, nothing was read: expected a run within" in runs.said


@pytest.mark.parametrize("options", [["--cells", "4"], ["--user", "page"]])
def test_another_bound_is_refused_before_it_is_charged(runs: Runs, options: list[str]) -> None:
    visit(runs, *visits(0, 50))
    runs.estimate("a", *SMALL, *SPENDS, *PEOPLE)
    runs.estimate("a", *options, *charged(runs), status=2)
    assert "as in the first run with a" in runs.said
    assert entries(runs) == []
