"""``top --window``: windows by steps, by the time of each row in a range, and by the clock."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.locations import DATA
from tests.unit.sure_intervals import nearly_covers

from lazysketch import Release
from lazysketch.cli import main

FLOWS = DATA / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz"
PATIENCE = 60.0
CLEAR = ["--epsilon", "20", "--width", "256", "--share", "10%"]
QUIET = ["a"] * 3_000 + ["b"] * 1_500 + [f"light {i}" for i in range(500)]
LOUD = ["a"] * 3_000 + ["c"] * 1_500 + [f"light {i}" for i in range(500)]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three windows of 5,000 rows, an hour each; "c" takes the place of "b" in the last."""
    monkeypatch.chdir(tmp_path)
    shuffled = random.Random(3).sample
    windows = [shuffled(part, len(part)) for part in (QUIET, QUIET, LOUD)]
    Path("rows.txt").write_text("".join(f"{item}\n" for part in windows for item in part))
    timed = [
        f"2026-05-17T{hour:02}:{n * 60 // 5_000:02}:00Z,{item}\n"
        for hour, part in enumerate(windows)
        for n, item in enumerate(part)
    ]
    late_and_early = ["2999-01-01,a\n", "1999-01-01,a\n", "no time,a\n", ",a\n"] * 500
    order = random.Random(4).sample([*timed, *late_and_early], len(timed) + 2_000)
    Path("timed.csv").write_text("when,what\n" + "".join(order))
    return Path("rows.txt")


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["top", *arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


RANGE = ["--from", "2026-05-17", "--to", "2026-05-17T03:00"]
TIMED = ["timed.csv", "--by", "what", "--time", "when", "--window", "1h", *RANGE]


@pytest.mark.parametrize("cut", [["rows.txt", "--window", "5000"], TIMED], ids=["steps", "times"])
def test_windows_are_listed_together_and_compared(
    capsys: pytest.CaptureFixture[str], rows: Path, cut: list[str]
) -> None:
    found = result_of(capsys, *cut, *CLEAR)
    assert [window["whole"] for window in found["windows"]] == [True] * 3
    truth = {"a": 9_000, "b": 3_000, "c": 1_500}
    assert {row["item"] for row in found["items"]} == set(truth)
    for row in found["items"]:
        assert row["low"] - 50 <= truth[row["item"]] <= row["high"] + 50
        assert row["share"] == pytest.approx(truth[row["item"]] / 15_000, abs=0.03)
    last = found["windows"][-1]["begin"]
    assert last == ("step 10,000" if cut[0] == "rows.txt" else "2026-05-17 02:00:00Z")
    assert {(row["window"], row["item"]) for row in found["changes"]} == {(last, "b"), (last, "c")}
    by_item = {row["item"]: row for row in found["changes"]}
    fell, rose = by_item["b"], by_item["c"]
    assert fell["change_high"] < 0 < rose["change_low"]
    for change, true in ((fell, -0.3), (rose, 0.3)):
        assert nearly_covers(change["change_low"], true, change["change_high"])
    assert found["privacy"]["epsilon"] == 20.0


def test_the_table_lists_the_changes(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    assert main(["top", *TIMED, *CLEAR]) == 0
    out = capsys.readouterr().out
    assert "3 windows of 1 h 0 min, 2026-05-17 00:00:00Z to 2026-05-17 03:00:00Z of" in out
    assert re.search(r"2026-05-17 02:00:00Z: c rose from \d\.\d% to (29|30)\.\d%", out)
    assert "2026-05-17 02:00:00Z: b fell from" in out
    assert "\n3 items discovered, 20 rows asked for\n" in out
    assert main(["top", *TIMED, *CLEAR, "--changes", "--output", "csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["item"] for row in table} == {"b", "c"}
    assert list(table[0]) == ["window", "item", "before", "after", "change_low", "change_high"]


def test_a_public_list_and_a_release_of_all_windows(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    Path("items.txt").write_text("a\nb\nabsent\n")
    cut = ["--window", "5e3", "--keep", "2", "--domain", "items.txt"]
    found = result_of(capsys, "rows.txt", *cut, *CLEAR[:4], "--save-release", "kept.lzs")
    assert len(found["windows"]) == 2
    assert {row["item"] for row in found["items"]} == {"a", "b", "absent"}
    release = Release.load("kept.lzs")
    assert len(release.parts) == 2
    assert release.estimate("a") == pytest.approx(6_000, abs=300)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.txt", "--window", "1h"], "--from, --to: expected the public range of the windows"),
        (["rows.txt", "--window", "soon"], "--window: expected a time such as 90s, 15m, 1h or 1d"),
        (["rows.txt", "--window", "0"], "--window: expected an integer from 1"),
        (["rows.txt", "--window", "1h", "--from", "2026-01-01"], "--from, --to: expected both"),
        (["rows.txt", "--window", "9", *RANGE], "--from, --to: expected none"),
        (["rows.txt", "--from", "2026-01-01"], "--from, --to, --changes: expected --window"),
        (["rows.txt", "--changes"], "--from, --to, --changes: expected --window too, got none"),
        (["rows.txt", "--window", "1h", *RANGE], "--time: expected a format whose rows have times"),
        ([*TIMED, "--horizon", "9"], "--horizon: expected none with --window, got one"),
        ([*TIMED, "--kind", "count-sketch"], "kind, mechanism: expected count-min and tree"),
        ([*TIMED, "--plot", "x.png"], "--plot: expected a page (.html) with --window, got x.png"),
        ([*TIMED, "--names-every", "9"], "--names-every: expected no --window, got one"),
        ([*TIMED[:-1], "tomorrow"], "--to: expected an instant such as 2026-01-31T12:00Z"),
        (["timed.csv", "--by", "what", *TIMED[5:]], "--time: expected the name of a field"),
    ],
)
def test_wrong_uses_are_one_line(
    capsys: pytest.CaptureFixture[str], rows: Path, arguments: list[str], message: str
) -> None:
    assert main(["top", *arguments]) == 2
    streams = capsys.readouterr()
    lines = streams.err.splitlines()
    assert lines[-1].startswith(f"lazysketch: {message}"), lines
    assert len(lines) == 1


def test_a_pipe_is_cut_by_the_clock(tmp_path: Path) -> None:
    """Feed rows until three windows have ended, which begin at full seconds since 1970."""
    command = [sys.executable, "-m", "lazysketch", "top", "-", "--format", "lines"]
    command += ["--window", "1s", "--keep", "90", "--json", "--every", "200ms", *CLEAR]
    states: list[dict[str, Any]] = []

    def read(lines: Iterable[str]) -> None:
        states.extend(json.loads(line) for line in lines)

    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        reader = threading.Thread(target=read, args=[process.stdout])
        reader.start()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not any(len(s["windows"]) >= 3 for s in states[-1:]):
            process.stdin.write("a\n" * 400 + "b\n" * 200)
            process.stdin.flush()
            time.sleep(0.05)
        process.stdin.close()
        reader.join()
    assert process.returncode == 0
    assert [state["final"] for state in states] == [False] * (len(states) - 1) + [True]
    final = states[-1]
    assert {row["item"] for row in final["items"]} == {"a", "b"}
    begins = [datetime.fromisoformat(window["begin"][:-1]) for window in final["windows"]]
    assert len(begins) >= 3
    assert all((b - a).total_seconds() == 1 for a, b in pairwise(begins))
    assert not final["windows"][-1]["whole"]
    assert any(window["whole"] for window in final["windows"])
    waits = [state["waiting"] for state in states[:-1]]
    assert any("windows of 1 s" in line for state in waits for line in state)


def test_the_attack_in_a_netflow_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """24 windows over CTU-13 scenario 11: one address takes half of all flows near the end."""
    if not FLOWS.exists():
        pytest.skip("no real streams in ../shared/data")
    cut = ["--by", "DstAddr", "--time", "StartTime", "--window", "40s", "--share", "2%"]
    cut += ["--from", "2011-08-18T15:40", "--to", "2011-08-18T15:56"]
    found = result_of(capsys, str(FLOWS), *cut)
    assert len(found["windows"]) == 24
    largest = max(found["changes"], key=lambda row: row["change_low"])
    assert largest["window"] == "2011-08-18 15:54:00Z"
    # Fresh noise and hash: mean 0.25 and standard deviation 0.04 in 17 runs, five deviations above.
    assert largest["change_low"] > 0.05
    assert largest["item"] in {row["item"] for row in found["items"][:5]}
