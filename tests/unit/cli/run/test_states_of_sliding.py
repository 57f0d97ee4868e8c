"""States of sliding windows: each run goes on in the slice where the last one stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.cli.run.killed_runs import end_while_following
from tests.unit.cli.run.test_states import COMMAND, PATIENCE, Runs, runs
from tests.unit.sure_intervals import nearly_covers

import lazysketch as ls
from lazysketch.cli.run.state import State
from lazysketch.cli.settings import StateSettings

__all__ = ["runs"]  # the fixture

CLEAR = ["--epsilon", "8", "--width", "64"]
SLIDING = ["--window", "50", "--span", "200"]
OPTIONS = {"found": [*CLEAR, "--share", "20%"], "listed": CLEAR}
KINDS = pytest.mark.parametrize("kind", list(OPTIONS))


def words(kind: str) -> list[str]:
    listed = ["--domain", "numbers.txt"] if kind == "listed" else []
    return ["top", "log", "--format", "lines", *listed]


def shown(runs: Runs, kind: str, state: str, *more: str) -> tuple[Any, Any, Any]:
    """Return the rows, the window and the changes of a run."""
    Path("numbers.txt").write_text("".join(f"{n}\n" for n in range(9)))
    found = json.loads(runs.run(*words(kind), *runs.place(state), "--output", "json", *more))
    return found["items"], found["window"], found["changes"]


def add(runs: Runs, numbers: range) -> None:
    with runs.log.open("a") as file:
        file.writelines(f"{number % 4}\n" if number % 10 else "\n" for number in numbers)


def published(state: str) -> list[bytes]:
    """Return what a state keeps of the ends of slices."""
    place = StateSettings(
        state, f"{state}.anchor", "key", reread=False, finish=False, new_era=False
    )
    opened = State.open(place)
    assert opened is not None
    with opened:
        slides = opened.kept()
        assert isinstance(slides, ls.Sliding)
        return [end.release.to_bytes() for end in slides.ends]


@KINDS
def test_a_run_goes_on_in_the_slice_where_the_last_one_stopped(runs: Runs, kind: str) -> None:
    add(runs, range(730))
    first = shown(runs, kind, "a", *SLIDING, *OPTIONS[kind])
    assert (first[1]["begin"], first[1]["end"]) == ("step 500", "step 700")
    runs.copy("a", "b")
    assert shown(runs, kind, "a") == first  # without its options
    assert "nothing new; its 730 rows were counted before" in runs.said
    before = published("a")
    for begin in range(730, 1_030, 100):  # a: in three runs, b: in one
        add(runs, range(begin, begin + 100))
        pieces = shown(runs, kind, "a")
    assert shown(runs, kind, "b") == pieces
    assert published("a") == published("b")
    assert published("a")[0] in before, "what was published stays"
    assert pieces[1]["end"] == "step 1,000"
    end = shown(runs, kind, "a", "--finish")
    assert (end[1]["end"], end[1]["whole"]) == ("step 1,030", False)
    assert shown(runs, kind, "a") == end
    assert "the stream was ended by --finish" in runs.said


@KINDS
def test_killed_runs_count_each_row_once(runs: Runs, kind: str) -> None:
    """The log grows while runs that follow it are killed; one run reads all of it as the twin."""
    chance = Random(7)
    add(runs, range(100))
    shown(runs, kind, "a", "--window", "40", "--span", "160", *OPTIONS[kind])
    runs.copy("a", "b")
    rows = 100

    def grow() -> None:
        nonlocal rows
        more = chance.randrange(1, 20)
        add(runs, range(rows, rows + more))
        rows += more

    command = [*COMMAND, *words(kind), *runs.place("a"), "--follow", "--output", "json"]
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        end_while_following(command, number, state=Path("a"), grow=grow, chance=chance)
    assert shown(runs, kind, "a") == shown(runs, kind, "b")
    assert published("a") == published("b")


def test_a_run_before_the_first_slice_has_ended(runs: Runs) -> None:
    """Nothing is published yet: there is no result, and the next run ends the slice."""
    add(runs, range(30))
    Path("numbers.txt").write_text("".join(f"{n}\n" for n in range(9)))
    first = [*words("listed"), *runs.place("a"), *SLIDING, *CLEAR, "--output", "json"]
    assert runs.run(*first) == ""
    assert "nothing is published yet: no slice of 50 steps has ended" in runs.said
    add(runs, range(30, 60))
    rows, window, _ = shown(runs, "listed", "a")
    assert rows
    assert (window["begin"], window["end"]) == ("step 0", "step 50")


def test_slices_of_a_pipe_end_by_the_clock_in_any_run(runs: Runs) -> None:
    """What a killed run left in an open slice is in the window of the next one."""
    options = ["--window", "1s", "--span", "1000s", "--epsilon", "8", "--domain", "numbers.txt"]
    Path("numbers.txt").write_text("7\n8\n")
    command = [*COMMAND, "top", "-", *runs.place("a"), *options, "--output", "json"]
    counted = 0
    for number, how in enumerate((signal.SIGKILL, None, None)):
        process = subprocess.Popen(
            command if number == 0 else [*COMMAND, "top", "-", *runs.place("a"), *command[-2:],
                                         "--domain", "numbers.txt"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write("7\n" * 1_000)
        process.stdin.flush()
        if how is not None:
            time.sleep(5.0)  # rows of a pipe are durable within a second
            os.kill(process.pid, how)
            process.communicate()
        else:
            time.sleep(2.5)
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
        counted += 1_000
    found = {row["item"]: row for row in json.loads(out)["items"]}
    # The open slice of the last run may have the rows of that run.
    low, high = found["7"]["low"], found["7"]["high"]
    assert any(nearly_covers(low, truth, high) for truth in (counted, 2_000))


def test_a_range_is_refused_and_states_say_what_they_keep(runs: Runs) -> None:
    Path("numbers.txt").write_text("1\n")
    runs.log.write_text("when,n\n2026-05-17T01:00:00Z,1\n")
    day = ["--window", "1h", "--span", "2h", "--from", "2026-05-17", "--to", "2026-05-18"]
    csv = ["--format", "csv", "--by", "n", "--time", "when", "--domain", "numbers.txt"]
    runs.run("top", "log", *csv, *runs.place("b"), *day, *CLEAR, status=2)
    assert "--span: expected no --from and --to with --state, got a range" in runs.said
    runs.log.write_text("")
    add(runs, range(130))
    shown(runs, "listed", "a", *SLIDING, *CLEAR)
    runs.run(*words("listed"), *runs.place("a"), "--window", "50", "--span", "100", status=2)
    assert "--span: expected" in runs.said
    told = runs.run("state", "a", *runs.place("a")[2:])
    assert "2 windows of 50 steps kept" in told + runs.said


def test_alerts_of_a_state_tell_what_ends_in_their_run(runs: Runs) -> None:
    """Slices that ended in an earlier run are not told again."""
    runs.log.write_text("3\n" * 400)
    first = shown(runs, "listed", "a", *SLIDING, *CLEAR, "--alert", "3 > 100")
    assert runs.said.count("alert: 3 above 100: ") == 1
    assert first[1]["end"] == "step 400"
    with runs.log.open("a") as file:
        file.write("1\n" * 200 + "3\n" * 200)
    shown(runs, "listed", "a", "--alert", "3 > 100")
    assert "alert: 3 above 100: " in runs.said
    assert " to step 400" not in runs.said
