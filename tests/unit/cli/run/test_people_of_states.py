"""States with people: all runs together have one bound of each person, as one run has."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from tests.unit.cli.run.test_states import CANARY, PATIENCE, SMALL, Runs, runs, started

from lazysketch import Key, Release, open_store

__all__ = ["runs"]  # the fixture

PEOPLE = ["--by", "page", "--user", "client", "--cells", "3", "--format", "csv"]
# Little noise, far below the 200 between two bounds.
CLEAR = ["--width", "64", "--depth", "2", "--epsilon", "15", "--delta", "1e-3"]
SOURCE_OF_OPTIONS = "command line"


def visit(runs: Runs, *rows: tuple[object, str]) -> None:
    """Add rows of a person and a page."""
    if not runs.log.exists():
        runs.items.write_text("/a\n/b\n/c\n")
        runs.log.write_text("client,page\n")
    with runs.log.open("a") as file:
        file.writelines(f"{client},{page}\n" for client, page in rows)


def visits(begin: int, end: int) -> list[tuple[object, str]]:
    """Rows of 40 people with 5 pages, some without a person or a page."""
    found: list[tuple[object, str]] = []
    for n in range(begin, end):
        person = "" if n % 11 == 0 else n * 7 % 40
        found.append((person, "" if n % 13 == 0 else "/" + "abcde"[n * n % 5]))
    return found


def people(said: str) -> str:
    return next(line for line in said.splitlines() if "people in the stream" in line)


def test_interrupted_runs_release_what_one_run_releases(runs: Runs) -> None:
    """Also after kill: contributions are those of the rows that were counted."""
    visit(runs)
    verb = ["estimate", "log", "--items", "items.txt"]
    runs.run(*verb, *runs.place("a"), *SMALL, *PEOPLE)
    runs.copy("a", "b")
    for piece in range(4):
        visit(runs, *visits(piece * 300, piece * 300 + 150))
        runs.estimate("a")
        process = started(runs, "a", "--follow", "--json")
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["steps"] >= 150
        visit(runs, *visits(piece * 300 + 150, piece * 300 + 300))
        time.sleep(0.5 * piece)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    pieces = runs.estimate("a", "--save-release", "a.lzs")
    refused = people(runs.said)
    assert runs.estimate("b", "--save-release", "b.lzs") == pieces
    assert people(runs.said) == refused
    assert pieces[1] == 1_200
    one, other = (Release.load(f"{state}.lzs") for state in "ab")
    assert one.to_bytes() == other.to_bytes()
    assert "of whom 1 event in each of 3 cells of every sketch row" in str(one.privacy)


def test_discovery_bounds_people_over_runs(runs: Runs) -> None:
    def top(state: str, *options: str) -> object:
        out = runs.run("top", "log", "--output", "json", *runs.place(state), *options)
        found = json.loads(out)
        return found["items"], found["steps"], found["user"], people(runs.said)

    visit(runs, *visits(0, 400))
    first = ["--share", "20%", "--names-every", "300", *SMALL, "--epsilon", "8", *PEOPLE]
    top("a", *first)
    runs.copy("a", "b")
    for begin in range(400, 1_000, 200):
        visit(runs, *visits(begin, begin + 200))
        found = top("a")
    assert top("b") == found
    assert found[1:3] == (1_000, "client")  # type: ignore[index]


def test_a_bound_that_was_reached_in_an_earlier_run_is_reached(runs: Runs) -> None:
    everyone = [(person, "/a") for person in range(200)]
    visit(runs, *everyone)
    runs.estimate("a", *CLEAR, *PEOPLE)
    assert "beyond the bound" not in runs.said
    visit(runs, *everyone, *((person, "/a") for person in range(200, 400)))
    counts, steps = runs.estimate("a", "--finish")
    assert "200 events were beyond the bound and not counted; 400 people" in runs.said
    assert steps == 600
    assert abs({row["item"]: row["estimate"] for row in counts}["/a"] - 400) < 100


def test_most_people_are_those_of_all_runs(runs: Runs) -> None:
    visit(runs, *((person, "/a") for person in range(30)))
    runs.estimate("a", *SMALL, *PEOPLE, "--most-people", "40")
    visit(runs, *((person, "/a") for person in range(30, 60)))
    runs.estimate("a")
    assert "20 events were beyond the bound and not counted; 40 people" in runs.said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--user", "page"], "--user: expected 'client', as in the first run with a, got 'page'"),
        (["--cells", "4"], "--cells: expected 3, as in the first run with a, got 4"),
        (["--per-cell", "2"], "--per-cell: expected 1, as in the first run with a, got 2"),
        (["--most-people", "9"], "--most-people: expected none, as in the first run with a, got 9"),
        (["--max-events-per-user", "2"], "--max-events-per-user: expected 1, as in the first run"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_another_bound_is_refused(runs: Runs, options: list[str], words: str) -> None:
    visit(runs, *visits(0, 50))
    first = runs.estimate("a", *SMALL, *PEOPLE)
    runs.estimate("a", *options, status=2)
    assert words in runs.said
    assert len(runs.said.splitlines()) == 1
    assert runs.estimate("a", *PEOPLE, "--per-cell", "1") == first  # the same ones may be repeated
    assert runs.estimate("a", "--cells", "3") == first


def test_the_bound_is_shown_and_the_default_may_be_named(runs: Runs) -> None:
    visit(runs, *visits(0, 50))
    first = runs.estimate("a", *SMALL, "--by", "page", "--user", "client")
    assert runs.estimate("a", "--cells", "10") == first
    shown = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    assert (shown["options"]["user"], shown["options"]["cells"]) == ("client", 10)
    assert shown["privacy"]["person_bound"] == {"cells": 10, "events": 1, "most_people": None}


def test_a_bound_needs_people(runs: Runs) -> None:
    visit(runs, *visits(0, 50))
    runs.estimate("a", *SMALL, "--cells", "3", status=2)
    assert "--cells: expected --user too" in runs.said
    assert not Path("a").exists()
    first = runs.estimate("a", *SMALL, "--by", "page")
    for options, words in {
        ("--user", "client"): "--user: expected none, as in the first run with a, got 'client'",
        ("--cells", "3"): "--cells: expected none, as in the first run with a, got 3",
    }.items():
        runs.estimate("a", *options, status=2)
        assert words in runs.said
    assert runs.estimate("a") == first


def test_a_state_of_an_earlier_version_has_no_people(runs: Runs) -> None:
    visit(runs, *visits(0, 50))
    first = runs.estimate("a", *SMALL, "--by", "page")
    with open_store("a", key=Key.from_file("key"), anchor="a.anchor") as store:
        known = json.loads(store.note(SOURCE_OF_OPTIONS))
        for name in ("user", "cells", "per_cell", "most_people"):
            assert known["options"].pop(name) is None
        store.keep_note(SOURCE_OF_OPTIONS, json.dumps(known))
    assert runs.estimate("a") == first
    runs.estimate("a", "--user", "client", status=2)
    assert "--user: expected none, as in the first run with a, got 'client'" in runs.said
    assert "50 steps" in runs.run("state", "a", *runs.place("a")[2:])


def test_nothing_of_a_state_tells_a_person(runs: Runs) -> None:
    told = []
    for _ in range(2):
        visit(runs, *((f"{CANARY} {person}", "/a") for person in range(300)))
        told += [json.dumps(runs.estimate("a", *SMALL, *PEOPLE)), runs.said]
    told += [runs.run("state", "a", *runs.place("a")[2:]), runs.said]
    files = [path for path in runs.folder.rglob("*") if path.is_file() and path != runs.log]
    assert len(files) > 5
    for content in [path.read_bytes() for path in files] + [text.encode() for text in told]:
        assert CANARY.encode() not in content
        assert CANARY.encode().hex().encode() not in content
