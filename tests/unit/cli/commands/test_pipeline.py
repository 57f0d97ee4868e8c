"""``lazysketch pipeline``: each part counts its field of every row, under one guarantee."""

from __future__ import annotations

import json
import math
import os
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
KNOWN = "top, distinct, quantiles, ranges, sums"
PARTS = """
[pages]
statistic = "top"
by = "page"
share = 0.05
rows = 3

[clients]
statistic = "distinct"
by = "client"
bits = 4096

[times]
statistic = "quantiles"
by = "ms"
low = 0
high = 100
quantiles = [0.5]
"""
RUN = ("pipeline", "rows.csv", "--parts", "site.toml", "--epsilon", "8", "--delta", "1e-3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    values = np.random.default_rng(5).gamma(2.0, 10.0, size=ROWS)
    rows = [
        f"/{min(row % 10, 4)},client {row % 3_000},{value:.2f}" for row, value in enumerate(values)
    ]
    Path("rows.csv").write_text("\n".join(["page,client,ms", *rows]) + "\n")
    Path("site.toml").write_text(PARTS)
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    assert main([*arguments, "--output", "json"]) == status
    return json.loads(capsys.readouterr().out)


def test_each_part_counts_its_field(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    shown = result_of(capsys, *RUN, "--save-releases", "out")
    assert list(shown["parts"]) == ["pages", "clients", "times"]
    assert math.isclose(sum(shown["shares"].values()), 1.0)
    for name, part in shown["parts"].items():
        assert (part["steps"], part["finished"], part["schedule"]) == (ROWS, True, "single")
        assert part["confidence"] == 0.95, name
    pages, clients, times = (shown["parts"][name]["items"] for name in shown["parts"])
    assert pages[0]["item"] == "/4"
    assert len(pages) == 3
    release = ls.Release.load("out/pages.lzs")
    for page, true in (("/4", 12_000), ("/0", 2_000), ("/3", 2_000)):
        found = release.interval(page, confidence=1 - 1e-9)
        assert found.low <= true <= found.high
    assert abs(pages[0]["estimate"] - 12_000) < 300
    certain = ls.DistinctRelease.load("out/clients.lzs").interval(confidence=1 - 1e-9)
    assert certain.low <= 3_000 <= certain.high < 4_000
    assert [row["item"] for row in clients] == ["distinct items"]
    truth = float(np.median(np.random.default_rng(5).gamma(2.0, 10.0, size=ROWS)))
    found = ls.DistributionRelease.load("out/times.lzs").quantile(0.5, confidence=1 - 1e-9)
    assert found.low <= truth <= found.high
    assert [row["quantile"] for row in times] == [0.5]


def test_the_guarantee_is_that_of_all_parts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    shown = result_of(capsys, *RUN, "--save-releases", "out")
    paths = sorted(Path("out").iterdir())
    assert [path.name for path in paths] == ["clients.lzs", "pages.lzs", "times.lzs"]
    once = ls.Single()
    alone = ls.Pipeline(
        {
            "pages": ls.Part(ls.HeavyHitters, "page", share=0.05, schedule=once),
            "clients": ls.Part(ls.DistinctCount, "client", bits=4096, schedule=once),
            "times": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 100), schedule=once),
        },
        epsilon=8,
        delta=1e-3,
    )
    assert shown["guarantee"] == str(alone.privacy)
    assert shown["shares"] == {name: one.share for name, one in alone.shares.items()}
    assert 7.9 <= float(shown["guarantee"].split(",")[0].lstrip("(")) <= 8


def test_people_see_each_part_and_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN]) == 0
    shown = capsys.readouterr()
    blocks = shown.out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks[::2]][:3] == ["pages", "clients", "times"]
    assert "20,000 steps of rows.csv (csv, field ms)" in shown.out
    assert "of the privacy of all parts: errors are" in shown.out
    assert shown.out.splitlines()[-1].startswith("all parts together: (")
    assert "other runs over the same people add" in shown.err


def test_a_row_without_a_field_is_a_step_of_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("rows.csv").read_text().splitlines()
    holed = [line if at % 4 else line.rsplit(",", 1)[0] + "," for at, line in enumerate(lines, 3)]
    Path("rows.csv").write_text("\n".join([lines[0], *holed[1:], "broken"]) + "\n")
    Path("out").mkdir()
    shown = result_of(capsys, *RUN, "--save-releases", "out")
    assert {part["steps"] for part in shown["parts"].values()} == {ROWS + 1}
    total = ls.DistributionRelease.load("out/times.lzs").total(confidence=1 - 1e-9)
    assert total.low <= ROWS - ROWS // 4 <= total.high < ROWS - 1_000
    page = ls.Release.load("out/pages.lzs").interval("/4", confidence=1 - 1e-9)
    assert page.low <= 12_000 <= page.high


def test_with_a_horizon_it_publishes_on_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    shown = result_of(capsys, *RUN, "--horizon", "1000", status=2)
    assert {part["steps"] for part in shown["parts"].values()} == {1_000}
    schedules = [part["schedule"] for part in shown["parts"].values()]
    assert "single" not in schedules
    assert {part["horizon"] for part in shown["parts"].values()} == {1_000}


def test_a_pipe_may_have_one_field() -> None:
    Path("site.toml").write_text('[values]\nstatistic = "quantiles"\nlow = 0\nhigh = 10\n')
    command = [sys.executable, "-m", "lazysketch", "pipeline", "-", "--parts", "site.toml"]
    done = subprocess.run(
        [*command, "--format", "lines", "--output", "json", "--epsilon", "5", "--delta", "0.01"],
        input="1\n2\n3\n" * 500,
        capture_output=True,
        text=True,
        check=True,
    )
    (part,) = json.loads(done.stdout)["parts"].values()
    assert (part["steps"], part["schedule"], part["field"]) == (1_500, "punctual", None)
    Path("site.toml").write_text(PARTS)
    done = subprocess.run(
        [*command, "--format", "csv"], input="x", capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "expected regular files for several fields" in done.stderr


def test_a_signal_ends_the_reading_and_not_the_result() -> None:
    Path("site.toml").write_text('[pages]\nstatistic = "top"\nshare = 0.1\n')
    command = [sys.executable, "-m", "lazysketch", "pipeline", "-", "--parts", "site.toml"]
    run = subprocess.Popen(
        [*command, "--format", "lines", "--output", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    )
    assert run.stdin is not None
    run.stdin.write("a\n" * 100_000)  # more than a pipe holds: returns while the run counts
    run.stdin.flush()
    time.sleep(1.0)  # so that the last rows are counted, on a busy machine too
    run.send_signal(signal.SIGTERM)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGTERM, err
    if "before the first row" not in err:
        assert json.loads(out)["parts"]["pages"]["steps"] == 100_000


def test_a_strict_reading_that_fails_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("rows.csv").open("a") as file:
        file.write("broken\n")
    Path("out").mkdir()
    assert main([*RUN, "--strict", "--save-releases", "out"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "strict mode" in shown.err
    assert list(Path("out").iterdir()) == []


def test_a_ledger_is_charged_for_all_parts_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terms = ["--population", "clients", "--unit", "event", "--delta", "1e-3"]
    assert main(["ledger", "init", "spent", *terms, "--epsilon", "12"]) == 0
    charged = ["--ledger", "spent", "--population", "clients"]
    assert main([*RUN, *charged]) == 0
    capsys.readouterr()
    assert main([*RUN, *charged]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "cap" in shown.err


def test_releases_of_an_earlier_run_stay(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    saving = [*RUN, "--save-releases", "out"]
    assert main(saving) == 0
    before = Path("out/pages.lzs").read_bytes()
    assert main(saving) == 2
    assert "out/pages.lzs, a release of an earlier run" in capsys.readouterr().err
    assert Path("out/pages.lzs").read_bytes() == before
    assert main([*saving, "--overwrite"]) == 0
    assert Path("out/pages.lzs").read_bytes() != before
    assert main([*RUN, "--save-releases", "none"]) == 2
    assert "--save-releases: expected an existing directory, got none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("", "--parts: expected a table for each statistic"),
        ("x = 1", "site.toml: x: expected a table, got an integer"),
        (
            "[a]\nby = 'page'",
            f"[a] statistic: expected one of {KNOWN}, got none",
        ),
        (
            "[a]\nstatistic = 'sum'",
            f"[a] statistic: expected one of {KNOWN}, got",
        ),
        ("['a/b']\nstatistic = 'top'", "expected a name of letters, digits"),
        (
            "[a]\nstatistic = 'top'\nshares = 1",
            "an option of top, got 'shares'; did you mean share",
        ),
        ("[a]\nstatistic = 'top'\nshare = 'x'", "[a] share: expected a number, got a string"),
        ("[a]\nstatistic = 'top'\nrows = 0", "[a] rows: expected an integer of at least 1, got 0"),
        ("[a]\nstatistic = 'top'\nshare = 2", "share: expected"),
        ("[a]\nstatistic = 'distinct'\nbits = 100", "bits: expected"),
        ("[a]\nstatistic = 'quantiles'\nlow = 1", "[a] high: expected the highest value"),
        (
            "[a]\nstatistic = 'quantiles'\nedges = [1, 'x']",
            "[a] edges: expected an array of numbers, got an array or a date",
        ),
        (
            "[a]\nstatistic = 'quantiles'\nedges = [1, 2]\nquantiles = [50]",
            "[a] quantiles: expected shares above 0 and below 1, got others",
        ),
        ("[a]\nstatistic = 'top'\nimportance = -1", "[a] importance: expected"),
        (
            "[a]\nstatistic = 'top'\nitems-type = 'float'",
            "[a] items-type: expected one of str, int",
        ),
        ("[a", "site.toml: expected TOML, got an error"),
    ],
)
def test_a_wrong_file_of_parts_is_refused(
    capsys: pytest.CaptureFixture[str], parts: str, message: str
) -> None:
    Path("site.toml").write_text(parts + "\n")
    assert main([*RUN]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


def test_a_topic_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "kafka://host:9092/visits", "--parts", "site.toml"]) == 2
    assert "files: expected files or a pipe, got a topic of Kafka" in capsys.readouterr().err
