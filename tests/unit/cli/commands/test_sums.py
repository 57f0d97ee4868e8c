"""``lazysketch sums``: what it shows is the release, and rows without a number are steps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.cli import main

ROWS = 6_000
SENT = ["sums", "rows.csv", "--by", "shop", "--value", "price", "--items", "shops.txt"]
BOUNDS = ["--low", "-10", "--high", "90"]
RUN = [*SENT, *BOUNDS, "--epsilon", "4", "--delta", "1e-3"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(5)
    shops = chance.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1])
    prices = chance.normal(20.0, 30.0, ROWS) * (shops != "c") - 8.0 * (shops == "c")
    rows = [f"{shop},{price:.2f}" for shop, price in zip(shops, prices, strict=True)]
    Path("rows.csv").write_text("\n".join(["shop,price", *rows]) + "\n")
    Path("shops.txt").write_text("d\nc\nb\na\n")
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def true_values() -> dict[str, np.ndarray[Any, Any]]:
    found: dict[str, list[float]] = {shop: [] for shop in "abcd"}
    for row in Path("rows.csv").read_text().splitlines()[1:]:
        shop, price = row.split(",")
        found[shop].append(min(max(float(price), -10.0), 90.0))
    return {shop: np.array(values) for shop, values in found.items()}


def test_sums_of_a_file_and_of_its_release(capsys: pytest.CaptureFixture[str]) -> None:
    found = result_of(capsys, *RUN, "--save-release", "x.sums")
    rows, release = found["items"], ls.SumsRelease.load("x.sums")
    assert [(row["rank"], row["item"]) for row in rows] == [(1, "a"), (2, "b"), (3, "d"), (4, "c")]
    assert (found["kind"], found["schedule"], found["steps"]) == ("sums", "single", ROWS)
    assert found["simultaneous"]
    listed = ["d", "c", "b", "a"]
    for row in rows:
        values = true_values()[row["item"]]
        certain = release.sum(row["item"], confidence=1 - 1e-9)
        # About 5,000 wide, and 40,000 where two items share a cell, in one run of a hundred.
        assert certain.low <= values.sum() <= certain.high < certain.low + 60_000
        at = listed.index(row["item"])
        together = release.sums(listed, simultaneous=True)
        # Ends are rounded outwards, to what is far below the noise.
        width = together.high[at] - together.low[at]
        assert 0 <= together.low[at] - row["low"] < 0.05 * width
        assert 0 <= row["high"] - together.high[at] < 0.05 * width
        assert row["fewest"] <= row["count"] <= row["most"]
        if row["item"] != "d":
            assert row["mean_low"] <= row["mean"] <= row["mean_high"]
    assert [row["above_noise"] for row in rows] == [True, True, False, True]
    queried = result_of(capsys, "query", "x.sums", "a")["items"]
    assert (queried[0]["sum"], queried[0]["count"]) == (rows[0]["sum"], rows[0]["count"])
    assert len(result_of(capsys, *RUN, "-k", "2", "--live")["items"]) == 2
    assert main(RUN) == 0
    shown = capsys.readouterr().out
    assert "intervals for every listed sum, count and mean" in shown
    assert "mean_low" in shown
    assert main([*RUN, "--save-release", "x.sums"]) == 2
    assert "a release of an earlier run" in capsys.readouterr().err


def test_a_step_of_the_caller_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    result_of(capsys, *RUN, "--step", "0.5", "--width", "64", "--save-release", "x.sums")
    release = ls.SumsRelease.load("x.sums")
    assert (release.grid.steps, release.grid.is_exact, release.width) == (200, True, 64)


def test_rows_without_a_number_are_steps_without_an_event(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Path("rows.jsonl").open("w") as file:
        for _ in range(900):
            file.write('{"s": "a", "p": 2}\n{"s": "a", "p": null}\n{broken\n{"p": 2}\n')
    run = ["sums", "rows.jsonl", "--by", "s", "--value", "p", "--items", "shops.txt"]
    found = result_of(capsys, *run, *BOUNDS, "--epsilon", "4", "--save-release", "x.sums")
    assert found["steps"] == 3_600
    release = ls.SumsRelease.load("x.sums")
    assert 1_800 in release.sum("a", confidence=1 - 1e-9)
    number = release.count("a", confidence=1 - 1e-9)
    assert number.low <= 900 <= number.high < 1_800
    assert main([*run, *BOUNDS, "--strict"]) == 2
    assert not capsys.readouterr().out


def test_a_state_goes_on_with_its_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    state = ["--state", "kept", "--key-file", "key", "--anchor", "anchor"]
    whole = [*SENT, *state]
    first = result_of(capsys, *whole, *BOUNDS)
    assert result_of(capsys, *SENT, *state)["items"] == first["items"]
    with Path("rows.csv").open("a") as file:
        file.write("d,90\n" * 3_000)
    assert result_of(capsys, "sums", "rows.csv", "--items", "shops.txt", *state)["steps"] == 9_000
    shown = result_of(capsys, "state", "kept", *state[2:])
    assert (shown["counted"], shown["options"]["value"]) == ("sums", "price")
    for options, words in (
        (["--high", "91"], "--high: expected 90, as in the first run with kept"),
        (["--value", "shop"], "--value: expected 'price', as in the first run with kept"),
        (["--step", "1"], "--step: expected none, as in the first run with kept"),
    ):
        assert main([*SENT, *state, *options]) == 2
        assert words in capsys.readouterr().err
    assert main(["distinct", "rows.csv", "--by", "shop", *state]) == 2
    assert "got kept, which has sums of values by item" in capsys.readouterr().err
    piped = [sys.executable, "-m", "lazysketch", "sums", "-", "--items", "shops.txt", *state]
    for rows in ("shop,price\na,9\nb,8\n", "shop,price\na,9\n,8\n"):
        done = subprocess.run(
            [*piped, "--output", "json"], input=rows, capture_output=True, text=True, check=True
        )
    assert json.loads(done.stdout)["steps"] == 9_004


def test_a_ledger_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs fit the cap by themselves, and not together."""
    place = ["--ledger", "spent", "--ledger-key-file", "key", "--ledger-anchor", "anchor"]
    made = ["spent", "--population", "all", "--epsilon", "1.2", "--delta", "1e-6"]
    assert main(["ledger", "init", *made, "--key-file", "key", "--anchor", "anchor"]) == 0
    run = [*SENT, *BOUNDS, *place, "--population", "all"]
    assert main(run) == 0
    capsys.readouterr()
    assert main(run) == 2
    found = capsys.readouterr()
    assert "cap" in found.err
    assert not found.out


def test_once_ends_at_the_first_sums() -> None:
    """A pipe that never ends."""
    guarantee = ["--epsilon", "4", "--delta", "1e-3", "--format", "csv"]
    command = [sys.executable, "-m", "lazysketch", "sums", "-", *SENT[2:], *BOUNDS, "--once"]
    endless = subprocess.Popen(
        ["sh", "-c", "echo shop,price; while echo a,9; do :; done"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        done = subprocess.run(
            [*command, *guarantee],
            stdin=endless.stdout,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    finally:
        endless.kill()
        endless.communicate()
    assert " a " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SENT, "--low: expected the smallest value that counts as it is, from public knowledge"),
        ([*SENT, "--low", "0"], "--high: expected the largest value"),
        ([*SENT, "--low", "9", "--high", "0"], "--high: expected a number above low"),
        ([*SENT[:4], *SENT[6:], *BOUNDS], "--value: expected the field of the number, got none"),
        ([*SENT, *BOUNDS, "--step", "7"], "--step: expected a part of high - low"),
        ([*SENT[:-1], "rows.csv", *BOUNDS], "--items: expected a public list, got one of"),
        ([*RUN, "--value", "no"], "expected a column of the header for value, got 'no'"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert len(found.err.splitlines()) == 1
    assert not found.out
