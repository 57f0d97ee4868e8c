"""States of distinct items and of distributions: each run goes on where the last one stopped."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.cli.run.killed_runs import end_while_following
from tests.unit.cli.run.rows import SUMS, row_of
from tests.unit.cli.run.test_states import COMMAND, Runs, runs

import lazysketch as ls

__all__ = ["runs"]  # the fixture

DISTINCT = ["distinct", "log", "--format", "lines"]
VALUES = ["quantiles", "log", "--format", "lines"]
RANGES = ["ranges", "log", "--format", "lines"]
OPTIONS = {
    "distinct": ["--bits", "64", "--levels", "2", "--epsilon", "4", "--delta", "1e-6"],
    "quantiles": [*("--low", "0", "--high", "100", "--bins", "16"), *("--epsilon", "4")],
    "ranges": ["--bits", "7", "--width", "8", "--epsilon", "4"],
    "sums": ["--low", "0", "--high", "6", "--step", "1", "--width", "8", "--epsilon", "4"],
}
VERBS = pytest.mark.parametrize("verb", [DISTINCT, VALUES, RANGES, SUMS], ids=[*OPTIONS])


def shown(runs: Runs, verb: list[str], state: str, *words: str) -> Any:
    """Return the rows and steps of a run."""
    found = json.loads(runs.run(*verb, *runs.place(state), "--output", "json", *words))
    return found["items"], found["steps"]


def add(runs: Runs, numbers: range, verb: str = "distinct") -> None:
    with runs.log.open("a") as file:
        file.writelines(row_of(verb, number, items=90) for number in numbers)


@VERBS
def test_a_run_goes_on_where_the_last_one_stopped(runs: Runs, verb: list[str]) -> None:
    add(runs, range(700), verb[0])
    first = shown(runs, verb, "a", *OPTIONS[verb[0]])
    runs.copy("a", "b")
    assert shown(runs, verb, "a") == first  # without its options
    assert "nothing new; its 700 rows were counted before" in runs.said
    for begin in range(700, 1_000, 100):  # a: in three runs, b: in one
        add(runs, range(begin, begin + 100), verb[0])
        pieces = shown(runs, verb, "a")
    assert shown(runs, verb, "b") == pieces
    assert pieces[1] == 1_000
    assert pieces[0] != first[0]


@VERBS
def test_killed_runs_count_each_row_once(runs: Runs, verb: list[str]) -> None:
    """The log grows while runs that follow it are killed; one run reads all of it as the twin."""
    chance = Random(7)
    add(runs, range(100), verb[0])
    shown(runs, verb, "a", *OPTIONS[verb[0]])
    runs.copy("a", "b")
    rows = 100

    def grow() -> None:
        nonlocal rows
        more = chance.randrange(1, 60)
        add(runs, range(rows, rows + more), verb[0])
        rows += more

    command = [*COMMAND, *verb, *runs.place("a"), "--follow", "--output", "json"]
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        end_while_following(command, number, state=Path("a"), grow=grow, chance=chance)
    assert shown(runs, verb, "a") == shown(runs, verb, "b")
    assert shown(runs, verb, "a")[1] == rows


@VERBS
def test_a_pipe_goes_on_too(runs: Runs, verb: list[str]) -> None:
    add(runs, range(300), verb[0])
    command = [*COMMAND, verb[0], "-", *verb[2:], *runs.place("a")]
    for options in (OPTIONS[verb[0]], []):
        with runs.log.open() as log:
            done = subprocess.run(
                [*command, *options, "--output", "json"],
                stdin=log,
                capture_output=True,
                text=True,
                check=True,
            )
    assert json.loads(done.stdout)["steps"] == 600
    assert "every row counts, since a pipe has no position" in done.stderr


@VERBS
def test_the_stream_ends_with_finish(runs: Runs, verb: list[str]) -> None:
    add(runs, range(300), verb[0])
    shown(runs, verb, "a", *OPTIONS[verb[0]], "--save-release", "first.lzs")
    ended = shown(runs, verb, "a", "--finish", "--save-release", "first.lzs")
    assert ended[1] == 300
    add(runs, range(300), verb[0])
    assert shown(runs, verb, "a")[1] == 300
    assert "the stream was ended by --finish" in runs.said
    kinds: dict[str, Any] = {
        "distinct": ls.DistinctRelease,
        "quantiles": ls.DistributionRelease,
        "ranges": ls.RangesRelease,
        "sums": ls.SumsRelease,
    }
    assert kinds[verb[0]].load("first.lzs").finished


def test_options_are_those_of_the_first_run(runs: Runs) -> None:
    add(runs, range(200))
    shown(runs, DISTINCT, "a", *OPTIONS["distinct"])
    shown(runs, VALUES, "b", *OPTIONS["quantiles"])
    for verb, state, options, words in (
        (DISTINCT, "a", ["--bits", "128"], "--bits: expected 64, as in the first run with a"),
        (DISTINCT, "a", ["--epsilon", "1"], "--epsilon: expected 4, as in the first run with a"),
        (VALUES, "b", ["--high", "50"], "--high: expected 100, as in the first run with b"),
        (VALUES, "b", ["--scale", "log"], "--scale: expected 'linear', as in the first run"),
        (VALUES, "a", [], "got a, which has a number of distinct items"),
        (DISTINCT, "b", [], "got b, which has a distribution of values"),
        (["top", "log"], "a", [], "got a, which has a number of distinct items"),
        (["estimate", "log", "--items", "items.txt"], "b", [], "got b, which has a distribution"),
        (VALUES, "c", [], "--low: expected the lowest value to tell apart"),
    ):
        runs.run(*verb, *runs.place(state), *options, status=2)
        assert words in runs.said
        assert len(runs.said.splitlines()) == 1
    assert not (runs.folder / "c").exists()
    runs.run("distinct", "log", "--finish", status=2)
    assert "--finish: expected --state too, got none" in runs.said
    runs.estimate("d", "--width", "64", "--epsilon", "4")
    runs.run(*VALUES, *runs.place("d"), *OPTIONS["quantiles"], status=2)
    assert "expected one with a distribution of values, got d, which has items of a" in runs.said


def test_what_a_state_has_is_shown(runs: Runs) -> None:
    add(runs, range(200))
    shown(runs, VALUES, "b", *OPTIONS["quantiles"], "--quantiles", "0.5")
    found = json.loads(runs.run("state", "b", *runs.place("b")[2:], "--output", "json"))
    assert found["counted"] == "values"
    assert (found["listed"], found["steps"], found["finished"]) == (False, 200, False)
    assert (found["options"]["high"], found["options"]["items_type"]) == (100.0, "float")
    assert "200 steps, a distribution of values; the stream goes on" in runs.run(
        "state", "b", *runs.place("b")[2:]
    )
