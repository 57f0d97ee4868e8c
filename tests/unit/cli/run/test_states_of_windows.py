"""States of windows: each run goes on where the last one stopped, and no window is made twice."""

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
from lazysketch.cli.run.state import State
from lazysketch.cli.settings import StateSettings

__all__ = ["runs"]  # the fixture

CLEAR = ["--epsilon", "8", "--width", "64"]
OPTIONS = {
    "top": [*CLEAR, "--share", "20%"],
    "listed": CLEAR,
    "distinct": ["--bits", "64", "--levels", "2", "--epsilon", "4", "--delta", "1e-6"],
    "ranges": ["--bits", "3", "--width", "8", "--epsilon", "4"],
    "quantiles": ["--low", "0", "--high", "100", "--bins", "16", "--epsilon", "4"],
    "sums": ["--low", "0", "--high", "6", "--step", "1", "--width", "8", "--epsilon", "4"],
}
KINDS = pytest.mark.parametrize("kind", list(OPTIONS))
DAY = ["--from", "2026-05-17", "--to", "2026-05-18"]


def verb(kind: str) -> list[str]:
    if kind == "listed":
        return ["top", "log", "--format", "lines", "--domain", "numbers.txt"]
    if kind == "sums":
        return SUMS
    return [kind, "log", "--format", "lines"]


def shown(runs: Runs, kind: str, state: str, *words: str) -> tuple[Any, Any]:
    """Return the rows and windows of a run."""
    Path("numbers.txt").write_text("".join(f"{n}\n" for n in range(9)))
    found = json.loads(runs.run(*verb(kind), *runs.place(state), "--output", "json", *words))
    return found["items"], found["windows"]


def add(runs: Runs, numbers: range, kind: str = "top") -> None:
    with runs.log.open("a") as file:
        file.writelines(row_of(kind, number, items=4) for number in numbers)


@KINDS
def test_a_run_goes_on_where_the_last_one_stopped(runs: Runs, kind: str) -> None:
    add(runs, range(730), kind)
    first = shown(runs, kind, "a", "--window", "200", *OPTIONS[kind])
    assert [window["begin"] for window in first[1]] == ["step 0", "step 200", "step 400"]
    runs.copy("a", "b")
    assert shown(runs, kind, "a") == first  # without its options
    assert "nothing new; its 730 rows were counted before" in runs.said
    for begin in range(730, 1_030, 100):  # a: in three runs, b: in one
        add(runs, range(begin, begin + 100), kind)
        pieces = shown(runs, kind, "a")
    assert shown(runs, kind, "b") == pieces
    assert len(pieces[1]) == 5
    end = shown(runs, kind, "a", "--finish")
    assert [window["whole"] for window in end[1]] == [True] * 5 + [False]
    assert shown(runs, kind, "a") == end
    assert "the stream was ended by --finish" in runs.said


@KINDS
def test_killed_runs_count_each_row_once(runs: Runs, kind: str) -> None:
    """The log grows while runs that follow it are killed; one run reads all of it as the twin."""
    chance = Random(7)
    add(runs, range(100), kind)
    shown(runs, kind, "a", "--window", "150", "--keep", "50", *OPTIONS[kind])
    runs.copy("a", "b")
    rows = 100

    def grow() -> None:
        nonlocal rows
        more = chance.randrange(1, 20)
        add(runs, range(rows, rows + more), kind)
        rows += more

    command = [*COMMAND, *verb(kind), *runs.place("a"), "--follow", "--output", "json"]
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        end_while_following(command, number, state=Path("a"), grow=grow, chance=chance)
    assert shown(runs, kind, "a") == shown(runs, kind, "b")


def published(state: str) -> list[bytes]:
    """Return the releases of the windows that a state keeps."""
    place = StateSettings(
        state, f"{state}.anchor", "key", reread=False, finish=False, new_era=False
    )
    opened = State.open(place)
    assert opened is not None
    with opened:
        windows = opened.kept()
        assert isinstance(windows, ls.Windows)
        return [window.release.to_bytes() for window in windows.windows]


def test_a_window_is_published_once_however_often_it_is_saved(runs: Runs) -> None:
    """A saved release that is deleted comes back as it was: nothing is drawn anew."""
    add(runs, range(450))
    shown(runs, "top", "a", "--window", "200", *OPTIONS["top"], "--save-release", "first.lzs")
    first = published("a")
    assert len(first) == 2
    ids = {part.sketch_id for part in ls.Release.load("first.lzs").parts}
    assert len(ids) == 2
    Path("first.lzs").unlink()
    add(runs, range(450, 1_000))
    for path in ("first.lzs", "second.lzs", "first.lzs"):  # the last replaces one of this state
        shown(runs, "top", "a", "--save-release", path)
        assert ids < {part.sketch_id for part in ls.Release.load(path).parts}
        assert published("a")[:2] == first
    assert len(published("a")) == 5
    options = ["--window", "200", *OPTIONS["top"], "--save-release", "first.lzs"]
    runs.run(*verb("top"), *runs.place("b"), *options, status=2)
    assert "--save-release: expected a new file, got first.lzs" in runs.said


def timed(begin: int, end: int) -> str:
    """Return rows of a day, one a minute, of which each tenth has no item."""
    rows = (
        f"2026-05-17T{n // 60:02d}:{n % 60:02d}:00Z,{'' if n % 10 == 9 else n % 4}\n"
        for n in range(begin, end)
    )
    return "".join(rows)


@pytest.mark.parametrize("kind", ["top", "distinct", "quantiles", "ranges"])
def test_windows_of_a_range_end_with_the_stream(runs: Runs, kind: str) -> None:
    """Batches that end with rows without an item, which count for the position alone."""
    csv = ["--format", "csv", "--by", "n", "--time", "when", "--window", "12h", *DAY]
    first = [*csv, *OPTIONS[kind], "--output", "json"]
    runs.log.write_text("when,n\n" + timed(0, 700))
    assert runs.run(kind, "log", *runs.place("a"), *first) == ""
    assert "a: nothing is published before the end of the stream, with --finish" in runs.said
    runs.copy("a", "b")
    with runs.log.open("a") as file:
        file.write(timed(700, 1_000))
    assert runs.run(kind, "log", *runs.place("a")) == ""
    with runs.log.open("a") as file:
        file.write(timed(1_000, 1_440))
    both = [
        json.loads(runs.run(kind, "log", *runs.place(state), "--finish", "--output", "json"))
        for state in ("a", "b")
    ]
    assert both[0]["items"] == both[1]["items"]
    assert [window["whole"] for window in both[0]["windows"]] == [True, True]
    runs.run(kind, "log", *runs.place("a"), "--time", "n", status=2)
    assert "--time: expected 'when', as in the first run with a" in runs.said


@KINDS
def test_windows_by_the_clock_go_on(runs: Runs, kind: str) -> None:
    add(runs, range(300), kind)
    command = [*COMMAND, *verb(kind), *runs.place("a"), "--output", "json"]
    command[command.index("log")] = "-"
    Path("numbers.txt").write_text("1\n2\n")
    for options in (["--window", "1d", *OPTIONS[kind]], []):
        with runs.log.open() as log:
            done = subprocess.run(
                [*command, *options], stdin=log, capture_output=True, text=True, check=True
            )
        assert "every row counts, since a pipe has no position" in done.stderr
    runs.run("state", "a", *runs.place("a")[2:], "--output", "json")


def test_other_cuts_are_refused(runs: Runs) -> None:
    add(runs, range(300))
    shown(runs, "distinct", "a", "--window", "200", *OPTIONS["distinct"])
    for option, words in (
        (["--window", "100"], "--window: expected 200, as in the first run with a, got 100"),
        (["--window", "1h"], "--window: expected 200, as in the first run with a, got '3600s'"),
        (["--keep", "3"], "--keep: expected 24, as in the first run with a, got 3"),
        (["--from", "2026-01-01"], "--from: expected none, as in the first run with a"),
    ):
        runs.run(*verb("distinct"), *runs.place("a"), *option, status=2)
        assert words in runs.said
    shown(runs, "distinct", "a", "--window", "200", "--keep", "24")
    runs.run(*verb("distinct"), *runs.place("b"), *OPTIONS["distinct"])
    runs.run(*verb("distinct"), *runs.place("b"), "--window", "200", status=2)
    assert "--window: expected none, as in the first run with b, got 200" in runs.said
    shown(runs, "listed", "c", "--window", "200", *OPTIONS["listed"])
    runs.run("estimate", "log", "--items", "numbers.txt", *runs.place("c"), status=2)
    assert "--state: expected one without windows, got c" in runs.said
    shown(runs, "listed", "c")
    runs.run("state", "c", *runs.place("c")[2:])


@KINDS
def test_a_state_tells_its_windows(runs: Runs, kind: str) -> None:
    add(runs, range(450), kind)
    shown(runs, kind, "a", "--window", "200", *OPTIONS[kind])
    found = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    assert (found["windows"], found["steps"], found["finished"]) == (2, 450, False)
    assert found["options"]["length"] == 200
    assert found["eras"] == 1
    assert "2 windows of 200 steps kept" in runs.run("state", "a", *runs.place("a")[2:]) + runs.said


def test_a_person_has_one_bound_within_a_window(runs: Runs) -> None:
    """Also where several runs count into the window."""
    people = ["--by", "n", "--user", "u", "--cells", "1", "--domain", "numbers.txt"]
    asked = ["--window", "1000", "--epsilon", "15", "--delta", "1e-3", "--width", "64"]
    Path("numbers.txt").write_text("1\n")
    runs.log.write_text("n,u\n" + "".join(f"1,person {n}\n" for n in range(300)))
    for options in ([*people, *asked], ["--domain", "numbers.txt"]):
        out = runs.run("top", "log", "--output", "json", *runs.place("a"), *options)
        with runs.log.open("a") as log:
            log.write("".join(f"1,person {n}\n" for n in range(300)))
    assert "300 events were beyond the bound of a window" in runs.said
    assert abs(json.loads(out)["items"][0]["estimate"] - 300) < 100


def test_a_ledger_is_charged_once(runs: Runs) -> None:
    place = ["--key-file", "ledger.key", "--anchor", "ledger.anchor"]
    cap = ["--population", "p", "--epsilon", "10", "--delta", "1e-3"]
    runs.run("ledger", "init", "spent", *cap, *place)
    charged = ["--ledger", "spent", "--population", "p", "--ledger-key-file", "ledger.key"]
    charged += ["--ledger-anchor", "ledger.anchor"]
    add(runs, range(300))
    shown(runs, "quantiles", "a", "--window", "200", *OPTIONS["quantiles"], *charged)
    assert "spent: run 1 charged" in runs.said
    add(runs, range(300))
    shown(runs, "quantiles", "a", *charged)
    assert "spent: run 1 goes on, charged before" in runs.said
    shown(runs, "quantiles", "a", "--finish", *charged)
    ledger = json.loads(runs.run("ledger", "show", "spent", *place, "--output", "json"))
    assert len(ledger["runs"]) == 1
