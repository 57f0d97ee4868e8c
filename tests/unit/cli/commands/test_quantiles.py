"""``lazysketch quantiles``: what it shows is the release, and rows without a number are steps."""

from __future__ import annotations

import itertools
import json
import math
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.cli import main

ROWS = 20_000
RANGE = ("--low", "0", "--high", "100")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(5).gamma(2.0, 10.0, size=ROWS)
    rows = [f"/page,{value:.3f}" for value in values]
    Path("rows.csv").write_text("\n".join(["path,ms", *rows]) + "\n")
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def true_values() -> np.ndarray[Any, Any]:
    rows = Path("rows.csv").read_text().splitlines()[1:]
    return np.array([float(row.split(",")[1]) for row in rows])


def test_quantiles_of_a_file_and_of_its_release(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["quantiles", "rows.csv", "--by", "ms", *RANGE, "--epsilon", "4"]
    shown = result_of(capsys, *run, "--save-release", "ms.lzs")
    assert [row["quantile"] for row in shown["items"]] == [0.5, 0.9, 0.99]
    release = ls.DistributionRelease.load("ms.lzs")
    for row in shown["items"]:
        truth = np.quantile(true_values(), row["quantile"])
        certain = release.quantile(row["quantile"], confidence=1 - 1e-9)
        assert certain.low <= truth <= certain.high < 100
        usual = release.quantile(row["quantile"])
        assert (row["value"], row["from"], row["to"]) == (usual.estimate, usual.low, usual.high)
    assert (shown["schedule"], shown["finished"], shown["steps"]) == ("single", True, ROWS)
    assert (shown["field"], shown["confidence"]) == ("ms", 0.95)
    queried = result_of(capsys, "query", "ms.lzs")
    assert queried["items"] == shown["items"]
    assert ls.DistributionRelease.load("ms.lzs").bins == ls.Bins.linear(0, 100)
    assert main([*run, "--save-release", "ms.lzs"]) == 2
    assert "a release of an earlier run" in capsys.readouterr().err
    chosen = result_of(capsys, *run, "--quantiles", "0.25,0.75", "--live")
    assert [row["quantile"] for row in chosen["items"]] == [0.25, 0.75]
    assert chosen["schedule"] == "punctual"


def test_a_histogram_and_shares_cover_the_range(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["quantiles", "rows.csv", "--by", "ms", *RANGE, "--epsilon", "4", "--delta", "1e-3"]
    rows = result_of(capsys, *run, "--show", "histogram", "--rows", "12")["items"]
    assert len(rows) == 12
    values = true_values()
    assert rows[0]["from"] is None and rows[-1]["to"] is None  # noqa: PT018 -- of one row each
    for before, after in itertools.pairwise(rows):
        assert before["to"] == after["from"]
    for row in rows:
        first = -math.inf if row["from"] is None else row["from"]
        last = math.inf if row["to"] is None else row["to"]
        truth = int(((values >= first) & (values < last)).sum())
        assert abs(row["estimate"] - truth) < 40
    shares = result_of(capsys, *run, "--show", "cdf", "--rows", "5")["items"]
    assert [row["value"] for row in shares][:: len(shares) - 1] == [0.0, 100.0]
    for row in shares:
        assert abs(row["below"] - float((values < row["value"]).mean())) < 0.01
    assert main([*run, "--show", "histogram", "--output", "csv"]) == 0
    assert capsys.readouterr().out.startswith("from,to,estimate,low,high,above_noise\n,0.0,")
    assert main([*run, "--show", "cdf"]) == 0
    assert "95% confidence interval of each share" in capsys.readouterr().out


def test_bins_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["quantiles", "rows.csv", "--by", "ms", "--overwrite", "--save-release", "x.lzs"]
    for options, bins in (
        (["--low", "1", "--high", "100", "--scale", "log"], ls.Bins.logarithmic(1, 100)),
        ([*RANGE, "--bins", "12"], ls.Bins.linear(0, 100, number=10)),
        (["--edges", "0.5,1,50"], ls.Bins([0.5, 1, 50])),
    ):
        result_of(capsys, *run, *options)
        assert ls.DistributionRelease.load("x.lzs").bins == bins


def test_rows_without_a_number_are_steps_without_a_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    numbers = [1.0, 2.0, 3.0] * 300
    with Path("rows.jsonl").open("w") as file:
        for number in numbers:
            file.write(f'{{"ms": {number}}}\n{{"ms": null}}\n{{broken\n{{"ms": "NaN"}}\n')
    run = ["quantiles", "rows.jsonl", "--by", "ms", "--low", "0", "--high", "4"]
    found = result_of(capsys, *run, "--epsilon", "4", "--save-release", "x.lzs")
    assert found["steps"] == 4 * len(numbers)
    total = ls.DistributionRelease.load("x.lzs").total(confidence=1 - 1e-9)
    assert total.low <= len(numbers) <= total.high < 2 * len(numbers)
    assert main([*run, "--strict"]) == 2
    assert not capsys.readouterr().out
    Path("none.csv").write_text("ms\n" + "x\n" * 10)
    assert main(["quantiles", "none.csv", "--by", "ms", *RANGE]) == 2
    assert "every row was malformed" in capsys.readouterr().err


def test_a_ledger_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs fit the cap by themselves, and not together."""
    place = ["--ledger", "spent", "--ledger-key-file", "key", "--ledger-anchor", "anchor"]
    made = ["spent", "--population", "all", "--epsilon", "1.2", "--delta", "1e-6"]
    assert main(["ledger", "init", *made, "--key-file", "key", "--anchor", "anchor"]) == 0
    run = ["quantiles", "rows.csv", "--by", "ms", *RANGE, *place, "--population", "all"]
    assert main(run) == 0
    capsys.readouterr()
    assert main(run) == 2
    found = capsys.readouterr()
    assert "cap" in found.err
    assert not found.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--low: expected the lowest value to tell apart, from public knowledge"),
        (["--low", "0"], "--high: expected the highest value"),
        (["--low", "0", "--high", "9", "--scale", "log"], "--low: expected a number above 0 with"),
        (["--low", "9", "--high", "0"], "--high: expected a number above low"),
        ([*RANGE, "--bins", "2"], "--bins: expected an integer from 3 to 16,384, got 2"),
        ([*RANGE, "--edges", "1,2"], "--edges: expected no --low and --high"),
        (["--edges", "1,x"], "--edges: expected numbers between commas"),
        (["--edges", "2,1"], "--edges: expected"),
        ([*RANGE, "--quantiles", "50"], "above 0 and below 1, got 50; for 50 % write 0.5"),
        ([*RANGE, "--rows", "2"], "--rows"),
        ([*RANGE, "--by", "nothing"], "nothing"),
        ([*RANGE, "--by", "ms", "--weight", "x"], "No such option '--weight'"),
        ([*RANGE, "--by", "ms", "--items-type", "int"], "No such option '--items-type'"),
        ([*RANGE, "--by", "ms", "--save-every", "1s"], "--save-every: expected --save-release too"),
    ],
)
def test_wrong_options_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["quantiles", "rows.csv", *arguments]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert not found.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_shows_and_saves_what_is_public(number: signal.Signals) -> None:
    saved = ("--save-release", "kept.lzs", "--save-every", "200ms", "--output", "json")
    command = [sys.executable, "-m", "lazysketch", "quantiles", "-", "--format", "lines"]
    process = subprocess.Popen(
        [*command, *RANGE, *saved],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("".join(f"{n % 100}.5\n" for n in range(5_000)))
    process.stdin.flush()
    for _ in range(600):  # until it has read something, and saved it
        if Path("kept.lzs").exists() and ls.DistributionRelease.load("kept.lzs").step:
            break
        time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    release = ls.DistributionRelease.load("kept.lzs")
    assert release.finished
    assert json.loads(out)["steps"] == release.step > 0
    assert "Traceback" not in err


def test_once_ends_a_pipe_that_goes_on() -> None:
    command = [sys.executable, "-m", "lazysketch", "quantiles", "-", "--format", "lines"]
    process = subprocess.Popen(
        [*command, *RANGE, "--epsilon", "4", "--once", "--output", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("50\n" * 20_000)
    process.stdin.flush()  # and not closed
    assert process.wait(timeout=60) == 0
    assert process.stdout is not None
    assert json.loads(process.stdout.read())["items"]
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("show", ["quantiles", "histogram", "cdf"])
def test_the_live_view_of_a_terminal_shows_the_rows(show: str) -> None:
    """On a pseudo terminal, with keys that sort and filter items, of which there are none."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "lazysketch", "quantiles", "-", "--format", "lines"]
    main_end, terminal = pty.openpty()
    process = subprocess.Popen(
        [*command, *RANGE, "--show", show, "--epsilon", "4"],
        stdin=reading,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "COLUMNS": "100", "LINES": "30", "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(reading)
    os.close(terminal)
    os.write(writing, b"50\n" * 10_000)
    heading = {"quantiles": b"quantile", "histogram": b"estimate", "cdf": b"at least"}[show]
    shown = _until(main_end, lambda text: heading in text and b"reading standard input" in text)
    os.close(writing)
    shown += _until(main_end, lambda _: False)
    assert process.wait(timeout=60) == 0
    os.close(main_end)
    assert b"Traceback" not in shown
    assert b"sorts" not in shown
    assert shown.count(heading) >= 2  # live, and the result


def _until(descriptor: int, found: Any) -> bytes:
    """Read from a terminal until something was found, its end or a minute."""
    text = b""
    end = time.monotonic() + 60
    while time.monotonic() < end and not found(text):
        if select.select([descriptor], [], [], 0.2)[0]:
            try:
                text += os.read(descriptor, 1 << 16)
            except OSError:  # the end of a terminal
                break
    return text
