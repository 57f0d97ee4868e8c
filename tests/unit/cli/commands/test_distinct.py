"""``lazysketch distinct``, and the verbs that read releases of distinct items and of values."""

from __future__ import annotations

import json
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

PEOPLE, EVENTS = 3_000, 20_000
_SAVED = ("--save-release", "kept.lzs", "--save-every", "200ms")
TRUE = min(PEOPLE, EVENTS)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"user{number % PEOPLE},{number}" for number in range(EVENTS)]
    Path("rows.csv").write_text("\n".join(["user,size", *rows]) + "\n")
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_file_is_published_once_and_a_pipe_on_the_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    once = result_of(capsys, "distinct", "rows.csv", "--by", "user", "--epsilon", "10")
    (row,) = once["items"]
    assert row["item"] == "distinct items"
    assert row["low"] < row["estimate"] < row["high"]
    assert abs(row["estimate"] - TRUE) < 0.1 * TRUE
    assert (once["schedule"], once["finished"], once["steps"]) == ("single", True, EVENTS)
    assert once["guarantee"] == ["(10, 1e-08)-DP per item, all of its events (substitution)"]
    assert (once["field"], once["confidence"]) == ("user", 0.95)
    early = result_of(capsys, "distinct", "rows.csv", "--by", "user", "--live", "--epsilon", "10")
    assert early["schedule"] == "punctual"
    horizon = ("--horizon", str(EVENTS), "--epsilon", "10", "--relation", "zero-out")
    known = result_of(capsys, "distinct", "rows.csv", "--by", "user", *horizon)
    assert (known["schedule"], known["horizon"]) == ("punctual", EVENTS)
    assert "zero-out" in known["guarantee"][0]


def test_what_is_shown_and_saved_is_one_release(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--bits", "4096", "--levels", "6", "--hash-seed", "7", "--save-release", "people.lzs"]
    shown = result_of(capsys, "distinct", "rows.csv", "--by", "user", *wanted)
    release = ls.DistinctRelease.load("people.lzs")
    assert (release.bits, release.levels, release.hash_seed) == (4096, 6, 7)
    assert round(release.estimate(), 1) == shown["items"][0]["estimate"]
    assert main(["distinct", "rows.csv", "--save-release", "people.lzs"]) == 2
    assert "a release of an earlier run" in capsys.readouterr().err
    assert main(["query", "people.lzs"]) == 0
    out = capsys.readouterr().out
    assert "distinct items" in out
    assert "6 levels of 4,096 bits" in out
    assert main(["distinct", "rows.csv", "--by", "user", "--output", "csv"]) == 0
    assert capsys.readouterr().out.startswith("item,estimate,low,high,above_noise\ndistinct items,")


def test_malformed_rows_are_steps_without_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text('{"user": "a"}\n{broken\n{"user": "b"}\n{"other": 1}\n' * 50)
    found = result_of(capsys, "distinct", "rows.jsonl", "--by", "user")
    assert found["steps"] == 200
    assert main(["distinct", "rows.jsonl", "--by", "user", "--strict"]) == 2
    assert not capsys.readouterr().out


def test_a_ledger_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs fit the cap by themselves, and not together."""
    place = ["--ledger", "spent", "--ledger-key-file", "key", "--ledger-anchor", "anchor"]
    made = ["spent", "--population", "visitors", "--epsilon", "1.2", "--delta", "1e-6"]
    assert main(["ledger", "init", *made, "--key-file", "key", "--anchor", "anchor"]) == 0
    run = ["distinct", "rows.csv", "--by", "user", *place, "--population", "visitors"]
    assert main(run) == 0
    capsys.readouterr()
    assert main(run) == 2
    found = capsys.readouterr()
    assert "cap" in found.err
    assert not found.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_shows_and_saves_what_is_public(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "lazysketch", "distinct", "-", "--format", "lines"]
    process = subprocess.Popen(
        [*command, "--output", "json", *_SAVED, "--epsilon", "10"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("".join(f"user {n % 500}\n" for n in range(5_000)))
    process.stdin.flush()
    for _ in range(600):  # until it has read something, and saved it
        if Path("kept.lzs").exists() and ls.DistinctRelease.load("kept.lzs").step:
            break
        time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    shown = json.loads(out)
    release = ls.DistinctRelease.load("kept.lzs")
    assert release.finished
    assert shown["steps"] == release.step > 0
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bits", "100"], "--bits: expected a power of two, got 100"),
        (["--levels", "17"], "--levels: expected an integer from 1 to 16, got 17"),
        (["--epsilon", "0"], "--epsilon: expected"),
        (["--by", "nobody"], "nobody"),
        (["--weight", "size"], "No such option '--weight'"),
        (["--save-every", "1s"], "--save-every: expected --save-release too"),
    ],
)
def test_wrong_options_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["distinct", "rows.csv", *arguments]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert not found.out


def saved_values(path: str, *, shift: float = 0.0) -> ls.DistributionRelease:
    bins = ls.Bins.linear(0, 100)
    with ls.Distribution(bins=bins, epsilon=1.0, delta=1e-6, horizon=10_000) as counted:
        counted.update_many(np.arange(10_000) % 100 + shift)
        release = counted.release()
    release.save(path)
    return release


def test_quantiles_are_queried(capsys: pytest.CaptureFixture[str]) -> None:
    release = saved_values("sizes.lzs")
    found = result_of(capsys, "query", "sizes.lzs")
    assert [row["quantile"] for row in found["items"]] == [0.5, 0.9, 0.99]
    median = release.quantile(0.5)
    assert found["items"][0] == {
        "quantile": 0.5,
        "value": median.estimate,
        "from": median.low,
        "to": median.high,
    }
    (row,) = result_of(capsys, "query", "sizes.lzs", "0.25")["items"]
    assert 20 < row["value"] < 30
    assert main(["query", "sizes.lzs"]) == 0
    assert "from-to: 95% confidence interval of each quantile" in capsys.readouterr().out


def test_values_are_merged_inspected_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    saved_values("one.lzs")
    saved_values("two.lzs", shift=0.5)
    assert main(["merge", "one.lzs", "two.lzs", "-o", "both.lzs"]) == 0
    assert len(ls.DistributionRelease.load("both.lzs").parts) == 2
    for verb in ("inspect", "explain"):
        capsys.readouterr()
        assert main([verb, "both.lzs"]) == 0
        assert "DP" in capsys.readouterr().out
    assert main(["inspect", "one.lzs", "both.lzs"]) == 0
    assert "1,024 bins" in result_lines(capsys, "inspect", "one.lzs")


def result_lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_what_has_no_answer_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    saved_values("sizes.lzs")
    with ls.DistinctCount(epsilon=1.0, delta=1e-6) as people:
        people.update_many(range(100))
        people.release().save("people.lzs")
    with ls.LazyCountMin(depth=1, width=4, epsilon=1.0, delta=1e-6) as sketch:
        sketch.release().save("items.lzs")
    for arguments, message in (
        (["query", "sizes.lzs", "median"], "expected a share above 0 and below 1"),
        (["query", "sizes.lzs", "1"], "expected a share above 0 and below 1"),
        (["query", "people.lzs", "ann"], "expected none for a release of distinct items"),
        (["query", "people.lzs", "--items-type", "int"], "--items-type: expected none"),
        (["merge", "people.lzs", "people.lzs", "-o", "x"], "got counts of distinct items"),
        (["merge", "sizes.lzs", "items.lzs", "-o", "x"], "expected releases of one kind"),
        (["merge", "sizes.lzs", "sizes.lzs", "-o", "x"], "one sketch id twice"),
    ):
        assert main(arguments) == 2, arguments
        assert message in capsys.readouterr().err
    assert not Path("x").exists()
    for verb in ("inspect", "explain", "query"):
        assert main([verb, "people.lzs"]) == 0
