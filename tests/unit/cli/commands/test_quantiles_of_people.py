"""``lazysketch quantiles --user``: so many values of each person, in all runs of a state."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.unit.cli.run.test_states import Runs, runs

import lazysketch as ls

__all__ = ["runs"]  # the fixture

VERB = ["quantiles", "log", "--format", "csv", "--by", "ms"]
PLACE = ["--low", "0", "--high", "100", "--bins", "32"]
# Little noise, so that an answer tells what was counted.
CLEAR = [*PLACE, "--relation", "zero-out", "--epsilon", "15", "--delta", "1e-3"]
PEOPLE = ["--user", "client", "--per-person", "3"]
Row = tuple[object, float]


def rows_of(people: int, *, robot: int) -> list[Row]:
    """One value each of many people below 40, and many of one person above 80."""
    chance = np.random.default_rng(5)
    rows: list[Row] = [(person, chance.uniform(0, 40)) for person in range(people)]
    rows += [("robot", 90.0)] * robot
    return [rows[at] for at in chance.permutation(len(rows))]


def write(runs: Runs, rows: list[Row]) -> None:
    if not runs.log.exists():
        runs.log.write_text("client,ms\n")
    with runs.log.open("a") as file:
        file.writelines(f"{client},{value}\n" for client, value in rows)


def shown(runs: Runs, *words: str) -> Any:
    return json.loads(runs.run(*VERB, "--output", "json", *words))


def test_one_person_does_not_move_the_quantiles(runs: Runs) -> None:
    write(runs, rows_of(1_000, robot=4_000))
    by_event = shown(runs, *CLEAR)
    by_person = shown(runs, *CLEAR, *PEOPLE, "--save-release", "of.lzs")
    assert by_event["items"][0]["value"] > 80  # the median is that of the robot
    assert by_person["items"][0]["value"] < 40
    assert (by_person["steps"], by_person["user"]) == (5_000, "client")
    assert "3,997 events were beyond the bound and not counted; 1,001 people" in runs.said
    release = ls.DistributionRelease.load("of.lzs")
    assert "per person, of whom 3 events are counted (zero-out)" in str(release.privacy)
    assert abs(release.total().estimate - 1_003) < 100


def test_the_guarantee_is_that_of_the_options(runs: Runs) -> None:
    write(runs, rows_of(50, robot=9))
    for words, bound in (
        (["--user", "client"], "of whom 1 event is counted"),
        (["--user", "client", "--per-person", "7"], "of whom 7 events are counted"),
        ([*PEOPLE, "--most-people", "20"], "3 events are counted, of the first 20 people"),
    ):
        assert bound in runs.run(*VERB, *PLACE, *words)
    assert "20 people in the stream" in runs.said


def test_a_row_without_a_person_is_malformed(runs: Runs) -> None:
    write(runs, [("a", 3.0), ("", 4.0), ("b", 5.0)])
    found = shown(runs, *PLACE, *PEOPLE)
    assert found["steps"] == 3
    assert "1 malformed for want of a person" in runs.said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--per-person", "3"], "--per-person: expected --user too, the field of the person"),
        (["--most-people", "3"], "--most-people: expected --user too, the field of the person"),
        (["--user", "client", "--per-person", "0"], "--per-person: expected an integer from 1"),
        (["--user", "client", "--most-people", "0"], "--most-people: expected an integer from 1"),
        (
            ["--user", "client", "--max-events-per-user", "2"],
            "--max-events-per-user: expected none",
        ),
        (["--user", "ms"], "--user: expected another field than the one that is counted"),
        (
            ["--user", "client", "--window", "10", "--ledger", "l", "--population", "p"],
            "--ledger: expected no --window with --user",
        ),
        (["--per-person", "3", "--window", "10"], "--per-person: expected --user too"),
    ],
)
def test_options_that_do_not_go_together(runs: Runs, words: list[str], message: str) -> None:
    write(runs, [("a", 3.0)])
    runs.run(*VERB, *PLACE, *words, status=2)
    assert message in runs.said


def test_each_window_bounds_people_on_its_own(runs: Runs) -> None:
    """The robot has three values in each window, in whatever run they come."""
    write(runs, rows_of(300, robot=100))
    words = ["--window", "500", "--save-release", "w.lzs", *runs.place("a")]
    found = json.loads(runs.run(*VERB, *CLEAR, *PEOPLE, *words, "--output", "json"))
    assert found["privacy"]["within"] == "one window"
    assert "97 events were beyond the bound of a window and not counted" in runs.said
    write(runs, rows_of(300, robot=300))
    again = json.loads(runs.run(*VERB, *runs.place("a"), "--output", "json"))
    assert [window["begin"] for window in again["windows"]] == ["step 0", "step 500"]
    assert "394 events were beyond the bound of a window" in runs.said
    in_all = ls.DistributionRelease.load("w.lzs").count_between(80, 100, confidence=1 - 1e-6)
    assert in_all.high < 60  # of 100


def test_each_window_of_a_range_bounds_people_on_its_own(runs: Runs) -> None:
    """The robot has three values in each hour, in whatever order rows and runs come."""
    rows = [(client, value, place % 120) for place, (client, value) in enumerate(of_two_hours())]
    hours = ["--window", "1h", "--from", "2026-01-01T00:00", "--to", "2026-01-01T02:00"]
    counted = sum(
        min(3, number)
        for number in Counter((client, minute // 60) for client, _, minute in rows).values()
    )
    write_timed(runs, rows[:600])
    state = runs.place("a")
    runs.run(*VERB, *CLEAR, *PEOPLE, "--time", "at", *hours, *state, "--output", "json")
    write_timed(runs, rows[600:])
    words = ["--finish", "--save-release", "w.lzs", "--output", "json"]
    found = json.loads(runs.run(*VERB, *state, *words))
    assert found["privacy"]["within"] == "one window"
    refused = len(rows) - counted
    assert f"{refused} events were beyond the bound of a window" in runs.said
    release = ls.DistributionRelease.load("w.lzs")
    assert abs(release.total().estimate - counted) < 200
    assert release.count_between(80, 100, confidence=1 - 1e-6).high < 100  # of 600


def of_two_hours() -> list[Row]:
    rows = rows_of(600, robot=600)
    assert len(rows) == 1_200
    return rows


def write_timed(runs: Runs, rows: list[tuple[object, float, int]]) -> None:
    if not runs.log.exists():
        runs.log.write_text("client,ms,at\n")
    with runs.log.open("a") as file:
        for client, value, minute in rows:
            file.write(f"{client},{value},2026-01-01T{minute // 60:02}:{minute % 60:02}:00\n")


def test_all_runs_of_a_state_have_one_bound(runs: Runs) -> None:
    """The second run names no option; what a person has left is what earlier runs left."""
    state = runs.place("a")
    first, second = rows_of(300, robot=2), rows_of(300, robot=50)
    write(runs, first)
    shown(runs, *CLEAR, *PEOPLE, *state)
    assert "beyond the bound" not in runs.said
    write(runs, second)
    found = shown(runs, *state, "--save-release", "of.lzs")
    sent = Counter(client for client, _ in first + second)
    refused = sum(max(0, number - 3) for number in sent.values())
    assert f"{refused} events were beyond the bound and not counted; 301 people" in runs.said
    assert found["steps"] == 652
    counted = len(first + second) - refused
    assert abs(ls.DistributionRelease.load("of.lzs").total().estimate - counted) < 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--per-person", "4"], "--per-person: expected 3, as in the first run with a, got 4"),
        (["--user", "ms"], "--user: expected 'client', as in the first run with a, got 'ms'"),
        (["--most-people", "4"], "--most-people: expected none, as in the first run with a, got 4"),
    ],
)
def test_another_bound_is_refused(runs: Runs, words: list[str], message: str) -> None:
    write(runs, rows_of(20, robot=2))
    shown(runs, *PLACE, *PEOPLE, *runs.place("a"))
    runs.run(*VERB, *runs.place("a"), *words, status=2)
    assert message in runs.said
