"""``lazysketch sums --user``: one person moves no sum further than the bound, in all runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.unit.cli.run.test_states import Runs, runs

import lazysketch as ls

__all__ = ["runs"]  # the fixture

VERB = ["sums", "log", "--format", "csv", "--by", "shop", "--value", "price", "--items", "shops"]
BOUNDS = ["--low", "0", "--high", "10"]
# Little noise, so that an answer tells what was counted.
CLEAR = [*BOUNDS, "--relation", "zero-out", "--epsilon", "15", "--delta", "1e-3"]
PEOPLE = ["--user", "client", "--cells", "2", "--per-cell", "3"]
Row = tuple[object, str, object]


def rows_of(people: int, *, robot: int) -> list[Row]:
    """A purchase each of many people in shop a, and many of one person in shop b."""
    chance = np.random.default_rng(5)
    rows: list[Row] = [(person, "a", 5.0) for person in range(people)]
    rows += [("robot", "b", 10.0)] * robot
    return [rows[at] for at in chance.permutation(len(rows))]


def write(runs: Runs, rows: list[Row]) -> None:
    if not runs.log.exists():
        runs.log.write_text("client,shop,price\n")
    (runs.log.parent / "shops").write_text("a\nb\n")
    with runs.log.open("a") as file:
        file.writelines(f"{client},{shop},{price}\n" for client, shop, price in rows)


def shown(runs: Runs, *words: str) -> Any:
    return json.loads(runs.run(*VERB, "--output", "json", *words))


def test_one_person_does_not_move_the_sums(runs: Runs) -> None:
    write(runs, rows_of(2_000, robot=5_000))
    by_event = shown(runs, *CLEAR)
    by_person = shown(runs, *CLEAR, *PEOPLE, "--save-release", "of.lzs")
    assert [row["item"] for row in by_event["items"]] == ["b", "a"]
    assert [row["item"] for row in by_person["items"]] == ["a", "b"]
    assert (by_person["steps"], by_person["user"]) == (7_000, "client")
    assert "4,997 events were beyond the bound and not counted; 2,001 people" in runs.said
    release = ls.SumsRelease.load("of.lzs")
    sure = 1 - 1e-6
    assert 30 in release.sum("b", confidence=sure)
    assert 3 in release.count("b", confidence=sure)
    assert 10_000 in release.sum("a", confidence=sure)
    assert "of whom 3 events in each of 2 cells of every sketch row are counted" in str(
        release.tables[0].privacy
    )


def test_the_guarantee_is_that_of_the_options(runs: Runs) -> None:
    write(runs, rows_of(50, robot=9))
    for words, bound in (
        (["--user", "client"], "of whom 1 event in each of 10 cells of every sketch row"),
        (PEOPLE, "of whom 3 events in each of 2 cells of every sketch row"),
        ([*PEOPLE, "--most-people", "20"], "counted, of the first 20 people"),
    ):
        assert bound in " ".join(runs.run(*VERB, *BOUNDS, *words).split())
    assert "20 people in the stream" in runs.said


def test_a_row_without_a_person_or_a_number_is_malformed(runs: Runs) -> None:
    write(runs, [("a", "a", 3.0), ("", "a", 4.0), ("b", "a", "n/a"), ("c", "b", 5.0)])
    found = shown(runs, *BOUNDS, *PEOPLE)
    assert found["steps"] == 4
    assert "malformed" in runs.said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cells", "3"], "--cells: expected --user too, the field of the person"),
        (["--per-cell", "3"], "--per-cell: expected --user too, the field of the person"),
        (["--user", "client", "--per-cell", "0"], "--per-cell: expected an integer from 1"),
        (["--user", "client", "--cells", "0"], "--cells: expected an integer from 1"),
        (["--user", "client", "--max-events-per-user", "2"], "--max-events-per-user: expected"),
        (["--user", "shop"], "--user: expected another field than the one that is counted"),
    ],
)
def test_options_that_do_not_go_together(runs: Runs, words: list[str], message: str) -> None:
    write(runs, [("a", "a", 3.0)])
    runs.run(*VERB, *BOUNDS, *words, status=2)
    assert message in runs.said


def test_all_runs_of_a_state_have_one_bound(runs: Runs) -> None:
    """The second run names no option; what a person has left is what earlier runs left."""
    state = runs.place("a")
    write(runs, rows_of(300, robot=2))
    shown(runs, *CLEAR, *PEOPLE, *state)
    assert "beyond the bound" not in runs.said
    write(runs, [("robot", "b", 10.0)] * 50)
    found = shown(runs, *state, "--save-release", "of.lzs")
    assert "49 events were beyond the bound and not counted; 301 people" in runs.said
    assert found["steps"] == 352
    assert 3 in ls.SumsRelease.load("of.lzs").count("b", confidence=1 - 1e-6)
    runs.run(*VERB, *state, "--per-cell", "4", status=2)
    assert "--per-cell: expected 3, as in the first run with a, got 4" in runs.said
