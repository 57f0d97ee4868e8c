"""``--user`` with ``--window``: each window bounds people on its own, and the result says so."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from lazysketch import Release
from lazysketch.cli import main

PEOPLE, WINDOWS = 400, 3
# Little noise, so that a count tells what was counted; no two pages share a cell.
CLEAR = ["--epsilon", "15", "--delta", "1e-3", "--relation", "zero-out", "--width", "256"]
ASKED = ["--by", "page", "--user", "client", "--cells", "3", "--hash-seed", "1", *CLEAR]
LISTED = [*ASKED, "--domain", "pages.txt"]
ROWS = 3 * PEOPLE
"""Rows of a window: of each person two with /a and one with /b or without a page."""


def rows_of_window(number: int) -> list[str]:
    """Every person twice with /a; of the others one with /b, one without a page."""
    chosen = random.Random(number)
    rows = []
    for person in range(PEOPLE):
        rows += [f"p{person},/a", f"p{person},/a", f"p{person},{'/b' if person % 2 else ''}"]
    chosen.shuffle(rows)
    return rows


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same people in each of three windows, of an hour or of as many rows."""
    monkeypatch.chdir(tmp_path)
    Path("pages.txt").write_text("/a\n/b\n")
    windows = [rows_of_window(number) for number in range(WINDOWS)]
    path = Path("visits.csv")
    path.write_text("client,page\n" + "".join(f"{row}\n" for rows in windows for row in rows))
    timed = [
        f"{row},2026-05-17T{hour:02}:{n % 60:02}:00Z\n"
        for hour, rows in enumerate(windows)
        for n, row in enumerate(rows)
    ]
    random.Random(7).shuffle(timed)
    Path("timed.csv").write_text("client,page,when\n" + "".join(timed))
    return path


def result_of(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[dict[str, Any], dict[str, float], str]:
    assert main(["top", *arguments, "--output", "json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    return found, {row["item"]: row["estimate"] for row in found["items"]}, captured.err


WORDS = (
    "per person within one window, of whom 1 event in each of 3 cells"
    " of every sketch row are counted (zero-out)"
)
HOURS = ["--time", "when", "--window", "1h", "--from", "2026-05-17", "--to", "2026-05-17T03:00"]
CUTS = {"steps": ["visits.csv", "--window", str(ROWS)], "range": ["timed.csv", *HOURS]}


@pytest.mark.parametrize("cut", CUTS)
def test_a_person_counts_in_each_window(
    cut: str, capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    """Once for each page: neither once in all windows, nor for every event."""
    assert visits.exists()
    found, counts, err = result_of(capsys, *CUTS[cut], *LISTED)
    assert len(found["windows"]) == WINDOWS
    assert abs(counts["/a"] - WINDOWS * PEOPLE) < 100
    assert abs(counts["/b"] - WINDOWS * PEOPLE / 2) < 100
    assert found["guarantee"][0].endswith(WORDS)
    assert found["privacy"]["within"] == "one window"
    assert found["privacy"]["person_bound"] == {"cells": 3, "events": 1, "most_people": None}
    assert found["user"] == "client"
    assert "1,200 events were beyond the bound of a window and not counted (for the oper" in err
    assert "people in the stream" not in err
    assert "600 of them malformed" in err
    assert not any(word in json.dumps(found) for word in ("beyond", "p399"))


def test_windows_of_the_clock_bound_people(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    """A pipe within one window: every person counts once for each page."""
    reading, writing = os.pipe()
    os.write(writing, "\n".join(["client,page", *rows_of_window(1), ""]).encode())
    os.close(writing)
    assert visits.exists()
    try:
        command = [f"/dev/fd/{reading}", "--window", "366d", *LISTED]
        found, counts, err = result_of(capsys, *command, "--format", "csv")
    finally:
        os.close(reading)
    assert abs(counts["/a"] - PEOPLE) < 100
    assert "400 events were beyond the bound of a window" in err
    assert found["guarantee"][0].endswith(WORDS)


def test_names_are_found_in_windows_of_people(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    command = [str(visits), "--window", str(ROWS), *ASKED, "--share", "20%"]
    found, counts, _ = result_of(capsys, *command)
    assert abs(counts["/a"] - WINDOWS * PEOPLE) < 100
    assert found["guarantee"][0].startswith("(15, 0.001)-DP per person within one window")


@pytest.mark.parametrize("output", ["table", "csv", "jsonl"])
def test_the_unit_is_in_every_output(
    output: str, capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    command = ["top", str(visits), "--window", str(ROWS), *LISTED, "--output", output]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert WORDS in (captured.out if output == "table" else captured.err)


def test_without_people_nothing_is_said_of_windows(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    command = [str(visits), "--by", "page", "--domain", "pages.txt", "--window", str(ROWS)]
    found, counts, err = result_of(capsys, *command, *CLEAR)
    assert found["privacy"]["within"] is None
    assert "within" not in found["guarantee"][0]
    assert abs(counts["/a"] - 2 * WINDOWS * PEOPLE) < 100
    assert "beyond the bound" not in err


def test_a_saved_release_adds_up_the_windows(
    capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    """For a person in all of them, who is not protected as in one."""
    asked = [*LISTED, "--epsilon", "1", "--delta", "1e-6"]
    result_of(capsys, *CUTS["steps"], *asked, "--save-release", "visits.lzs")
    release = Release.load("visits.lzs")
    assert len(release.parts) == WINDOWS
    assert main(["inspect", "visits.lzs", "--output", "json"]) == 0
    joint = json.loads(capsys.readouterr().out)["composition"]
    assert joint["mu"] > 1.7 * release.parts[0].privacy.mu
    assert joint["epsilon"] > 1.7
    assert visits.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ledger", "l", "--population", "p"], "--ledger: expected no --window with --user"),
        (["--plot", "p.svg"], "--plot: expected a page (.html) with --window, got p.svg"),
        (["--max-events-per-user", "2"], "--max-events-per-user: expected none with --user"),
        (["--user", "page"], "--user: expected another field than the one that is counted"),
    ],
)
def test_what_does_not_go_together_is_named(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], visits: Path
) -> None:
    assert main(["top", *CUTS["steps"], *LISTED, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert not Path("kept").exists()
    assert visits.exists()
