"""``lazysketch distinct``, ``quantiles`` and ``ranges`` with ``--window``: rows for each window."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sure_intervals import nearly_covers

import lazysketch as ls
from lazysketch.cli import main

EVENTS = 8_000
CLOSE = ("--epsilon", "15")
DAY = ("--from", "2026-05-17", "--to", "2026-05-18")
VALUES = ("--by", "ms", "--low", "0", "--high", "100", "--bins", "102")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A day in which the second half has three times the people, and larger values."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for number in range(EVENTS):
        minute, late = divmod(number * 1_440 // EVENTS, 60), number >= EVENTS // 2
        when = f"2026-05-17T{minute[0]:02d}:{minute[1]:02d}:00Z"
        rows.append(f"{when},u{number % (3_000 if late else 1_000)},{number % 50 + 50 * late}")
    Path("rows.csv").write_text("\n".join(["time,user,ms", *rows]) + "\n")
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_distinct_items_by_the_time_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    windowed = ("distinct", "rows.csv", "--by", "user", "--time", "time", "--window", "12h", *DAY)
    found = result_of(capsys, *windowed, *CLOSE, "--save-release", "last.lzs")
    assert [row["window"] for row in found["items"]] == [
        "2026-05-17 00:00:00Z",
        "2026-05-17 12:00:00Z",
    ]
    for row, people in zip(found["items"], (1_000, 3_000), strict=True):
        assert abs(row["estimate"] - people) < 0.15 * people
        assert row["low"] < row["estimate"] < row["high"]
    assert [window["whole"] for window in found["windows"]] == [True, True]
    assert found["privacy"]["within"] == "one window"
    assert found["guarantee"] == [
        "(15, 1e-08)-DP per item within one window, all of its events (substitution)"
    ]
    # Distinct items of windows do not add up: the last window is saved.
    last = ls.DistinctRelease.load("last.lzs")
    assert round(last.estimate(), 1) == found["items"][1]["estimate"]


@pytest.mark.parametrize("live", [(), ("--live",)])
def test_values_by_steps(capsys: pytest.CaptureFixture[str], live: tuple[str, ...]) -> None:
    steps = ("quantiles", "rows.csv", *VALUES, "--window", str(EVENTS // 2), *live)
    found = result_of(capsys, *steps, *CLOSE, "--save-release", "both.lzs")
    medians = [row for row in found["items"] if row["quantile"] == 0.5]
    for row, begin, median in zip(medians, (0, EVENTS // 2), (24, 74), strict=True):
        assert row["window"] == f"step {begin:,}"
        assert abs(row["value"] - median) < 4
    both = ls.DistributionRelease.load("both.lzs")
    assert len(both.parts) == 2
    schedule = both.parts[0].schedule
    assert schedule is not None
    assert schedule.name == ("punctual" if live else "single")


def test_ranges_by_the_time_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    keys = ("ranges", "rows.csv", "0-50", "--by", "ms", "--bits", "7", "--width", "8")
    windowed = ("--time", "time", "--window", "12h", *DAY)
    found = result_of(capsys, *keys, *windowed, *CLOSE, "--save-release", "both.lzs")
    for row, number in zip(found["items"], (EVENTS // 2, 0), strict=True):
        assert row["range"] == "0-50"
        assert row["low"] - 100 <= number <= row["high"] + 100  # an interval may miss
    both = ls.RangesRelease.load("both.lzs")
    assert len(both.parts) == 2
    assert both.total(confidence=1 - 1e-9).high >= EVENTS


def test_sums_by_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """Also in two runs with a state, of which the second ends the stream."""
    Path("items.txt").write_text("10\n60\n")
    command = ("sums", "rows.csv", "--by", "ms", "--value", "ms", "--items", "items.txt")
    asked = ("--low", "0", "--high", "100", "--width", "256", "--epsilon", "8")
    windowed = ("--window", str(EVENTS // 2))
    kept = ("--state", "kept", "--anchor", "anchor", "--key-file", "key")
    sums = {("0", "10"): 800, ("4,000", "60"): 4_800}
    for more in (("--save-release", "both.lzs"), kept, (*kept, "--finish")):
        mine = () if "--finish" in more else (*asked, *windowed)
        found = result_of(capsys, *command, *mine, *more)
        assert len(found["items"]) == 4
        for row in found["items"]:
            true = sums.get((row["window"].removeprefix("step "), row["item"]), 0)
            assert nearly_covers(row["low"], true, row["high"])
        assert set(found["privacy"]) == {"epsilon", "delta", "counts", "values", "within"}
    assert len(ls.SumsRelease.load("both.lzs").parts) == 2


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_sums_by_the_time_of_rows(capsys: pytest.CaptureFixture[str], form: str) -> None:
    """In any order of the times; rows without a time, a number or an item are in no window."""
    rows = [line.split(",") for line in Path("rows.csv").read_text().splitlines()[1:]]
    rows += [["?", "u1", "60"], ["2026-05-17T13:00:00Z", "u1", "?"], ["2026-05-18", "u1", "60"]]
    if form == "csv":
        lines = ["time,user,ms", *(",".join(row) for row in rows[::-1])]
    else:
        lines = [json.dumps({"time": a, "user": b, "ms": c}) for a, b, c in rows[::-1]]
    Path(f"back.{form}").write_text("\n".join(lines) + "\n")
    Path("items.txt").write_text("10\n60\n")
    found = result_of(
        capsys, "sums", f"back.{form}", "--by", "ms", "--value", "ms", "--items", "items.txt",
        "--low", "0", "--high", "100", "--width", "256", "--epsilon", "8",
        "--time", "time", "--window", "12h", *DAY, "--save-release", "both.lzs",
    )  # fmt: skip
    sums = {("2026-05-17 00:00:00Z", "10"): 800, ("2026-05-17 12:00:00Z", "60"): 4_800}
    assert len(found["items"]) == 4
    for row in found["items"]:
        true = sums.get((row["window"], row["item"]), 0)
        assert nearly_covers(row["low"], true, row["high"])
    assert [window["whole"] for window in found["windows"]] == [True, True]
    assert len(ls.SumsRelease.load("both.lzs").parts) == 2


def test_windows_by_the_clock_of_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    os.write(write, b"5\n" * 4_000)
    os.close(write)
    with os.fdopen(read) as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        found = result_of(
            capsys, "quantiles", f"/dev/fd/{read}", "--format", "lines", *VALUES[2:], *CLOSE,
            "--window", "1h", "--show", "cdf", "--rows", "4",
        )  # fmt: skip
    assert {row["window"][-7:] for row in found["items"]} == {":00:00Z"}
    assert not any(window["whole"] for window in found["windows"][-1:])


def test_a_ledger_has_no_account_of_items_within_windows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    window = ("--window", "5000", "--ledger", "none", "--population", "p")
    assert main(["distinct", "rows.csv", "--by", "user", *window]) == 2
    assert "--ledger: expected no --window of distinct items" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--window", "soon"), "--window: expected a time such as"),
        (("--window", "1h"), "--from, --to: expected the public range"),
        (("--from", "2026-05-17"), "--from, --to, --changes: expected --window too"),
        (("--window", "10", "--horizon", "100"), "horizon: expected none with --window"),
        (("--window", "10", *DAY), "--from, --to: expected none for windows of steps"),
        (("--window", "1h", "--from", "2026-05-18", "--to", "2026-05-17"), "--to: expected"),
    ],
)
@pytest.mark.parametrize("verb", ["distinct", "quantiles", "ranges"])
def test_what_does_not_fit_is_named(
    capsys: pytest.CaptureFixture[str], verb: str, arguments: tuple[str, ...], message: str
) -> None:
    own = {"distinct": ("--by", "user"), "quantiles": VALUES, "ranges": ("--by", "ms")}[verb]
    assert main([verb, "rows.csv", *own, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("kept").exists()
