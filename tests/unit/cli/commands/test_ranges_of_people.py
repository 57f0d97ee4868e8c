"""``lazysketch ranges --user``: so many keys of each person, in all runs of a state."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from tests.unit.cli.run.test_states import Runs, runs

import lazysketch as ls

__all__ = ["runs"]  # the fixture

VERB = ["ranges", "log", "--format", "csv", "--by", "port", "--bits", "8", "--width", "32"]
HALVES = ["0-128", "128-256"]
# Little noise, so that an answer tells what was counted.
CLEAR = ["--relation", "zero-out", "--epsilon", "15", "--delta", "1e-3"]
PEOPLE = ["--user", "client", "--per-person", "3"]
Row = tuple[object, int]


def rows_of(people: int, *, robot: int) -> list[Row]:
    """One key each of many people in the lower half, and many of one person in the upper one."""
    chance = np.random.default_rng(5)
    rows: list[Row] = [(person, int(chance.integers(0, 128))) for person in range(people)]
    rows += [("robot", 200)] * robot
    return [rows[at] for at in chance.permutation(len(rows))]


def write(runs: Runs, rows: list[Row]) -> None:
    if not runs.log.exists():
        runs.log.write_text("client,port\n")
    with runs.log.open("a") as file:
        file.writelines(f"{client},{key}\n" for client, key in rows)


def shown(runs: Runs, *words: str) -> Any:
    return json.loads(runs.run(*VERB, *HALVES, "--output", "json", *words))


def test_one_person_does_not_move_a_range(runs: Runs) -> None:
    write(runs, rows_of(1_000, robot=4_000))
    by_event = shown(runs, *CLEAR)
    by_person = shown(runs, *CLEAR, *PEOPLE, "--save-release", "of.lzs")
    assert abs(by_event["items"][1]["estimate"] - 4_000) < 200
    assert abs(by_person["items"][1]["estimate"] - 3) < 200
    assert abs(by_person["items"][0]["estimate"] - 1_000) < 200
    assert (by_person["steps"], by_person["user"]) == (5_000, "client")
    assert "3,997 events were beyond the bound and not counted; 1,001 people" in runs.said
    release = ls.RangesRelease.load("of.lzs")
    assert "per person, of whom 3 events are counted (zero-out)" in str(release.privacy)


def test_the_guarantee_is_that_of_the_options(runs: Runs) -> None:
    write(runs, rows_of(50, robot=9))
    for words, bound in (
        (["--user", "client"], "of whom 1 event is counted"),
        (["--user", "client", "--per-person", "7"], "of whom 7 events are counted"),
        ([*PEOPLE, "--most-people", "20"], "3 events are counted, of the first 20 people"),
    ):
        assert bound in runs.run(*VERB, *words)
    assert "20 people in the stream" in runs.said


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
        (["--user", "port"], "--user: expected another field than the one that is counted"),
    ],
)
def test_options_that_do_not_go_together(runs: Runs, words: list[str], message: str) -> None:
    write(runs, [("a", 3)])
    runs.run(*VERB, *words, status=2)
    assert message in runs.said


def test_all_runs_of_a_state_have_one_bound(runs: Runs) -> None:
    """The second run names no option; what a person has left is what earlier runs left."""
    state = runs.place("a")
    write(runs, rows_of(300, robot=2))
    shown(runs, *CLEAR, *PEOPLE, *state)
    assert "beyond the bound" not in runs.said
    write(runs, rows_of(0, robot=50))
    found = shown(runs, *state)
    assert "49 events were beyond the bound and not counted; 301 people" in runs.said
    assert found["steps"] == 352
    runs.run(*VERB, *state, "--per-person", "4", status=2)
    assert "--per-person: expected 3, as in the first run with a, got 4" in runs.said


def test_people_of_a_pipe_with_a_state(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a pipe have no place in a file: they are counted one batch after the other."""
    write(runs, rows_of(100, robot=40))
    with runs.log.open("rb") as pipe:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe))
        piped = ["ranges", "-", *VERB[2:], "--horizon", "1000"]
        runs.run(*piped, *CLEAR, *PEOPLE, *runs.place("a"))
    assert "37 events were beyond the bound and not counted; 101 people" in runs.said
