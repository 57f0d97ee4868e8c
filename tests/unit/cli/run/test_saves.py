"""``--save-every`` and ``--overwrite``: what is saved while a run reads, and over what."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lazysketch import Release
from lazysketch.cli import main

COMMAND = [sys.executable, "-m", "lazysketch"]
PATIENCE = 60.0
LIST = ["--domain", "items.txt", "--width", "8"]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("a\nb\n")
    path = Path("rows.txt")
    path.write_text("a\nb\na\n" * 100)
    return path


def test_the_release_of_an_earlier_run_is_not_replaced_unasked(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    asked = ["top", str(rows), *LIST, "--save-release", "r.lzs"]
    assert main(asked) == 0
    before = Path("r.lzs").read_bytes()
    capsys.readouterr()
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "lazysketch: --save-release: expected a new file, got r.lzs, a release of an earlier run. "
        "Another run over the same people adds to the privacy that the earlier one has spent: "
        "query that release instead, or replace it by --overwrite\n"
    )
    assert Path("r.lzs").read_bytes() == before
    assert main([*asked, "--overwrite"]) == 0
    assert "replaces r.lzs, a release of an earlier run. Another run" in capsys.readouterr().err
    assert Path("r.lzs").read_bytes() != before


def test_no_other_file_is_replaced_even_if_asked(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    asked = ["estimate", str(rows), "--items", "items.txt", "--save-release", str(rows)]
    assert main([*asked, "--overwrite"]) == 2
    assert "another kind of file" in capsys.readouterr().err
    assert rows.read_text().startswith("a\nb\n")


@pytest.mark.parametrize("option", [["--names-every", "100", "--epsilon", "20"], LIST])
def test_the_file_follows_a_live_pipe(rows: Path, option: list[str]) -> None:
    asked = ["top", "-", *option, "--save-release", "r.lzs", "--save-every", "50ms"]
    with subprocess.Popen(
        [*COMMAND, *asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for step in (300, 600):
            process.stdin.write(rows.read_bytes())
            process.stdin.flush()
            end = time.monotonic() + PATIENCE
            while not (Path("r.lzs").exists() and Release.load("r.lzs").step == step):
                assert time.monotonic() < end
                time.sleep(0.01)
            assert Release.load("r.lzs").names == (() if option is LIST else ("a", "b"))
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_windows_are_saved_while_they_are_open(rows: Path) -> None:
    asked = ["top", "-", *LIST, "--window", "1000", "--save-release", "r.lzs"]
    with subprocess.Popen(
        [*COMMAND, *asked, "--save-every", "50ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(rows.read_bytes())
        process.stdin.flush()
        end = time.monotonic() + PATIENCE
        while not (Path("r.lzs").exists() and Release.load("r.lzs").step == 300):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert Release.load("r.lzs").names == ("a", "b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--save-every", "60s"], "--save-every: expected --save-release too, got none"),
        (
            ["--save-every", "10ms", "--save-release", "r.lzs"],
            "--save-every: expected a time of at least 50ms, got 10ms",
        ),
    ],
)
def test_combinations_are_checked(
    capsys: pytest.CaptureFixture[str], rows: Path, options: list[str], message: str
) -> None:
    assert main(["top", str(rows), *LIST, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_range_has_nothing_to_save_before_its_end(
    capsys: pytest.CaptureFixture[str], rows: Path
) -> None:
    del rows
    Path("t.csv").write_text("at,x\n2026-05-17T00:00:01,a\n")
    asked = ["top", "t.csv", "--by", "x", "--time", "at", "--window", "1h"]
    span = ["--from", "2026-05-17", "--to", "2026-05-18"]
    assert main([*asked, *span, "--save-release", "r.lzs", "--save-every", "1s"]) == 2
    assert "--save-every: expected no --from and --to" in capsys.readouterr().err


def test_a_failed_save_on_the_way_is_told_once_and_does_not_end_the_run(rows: Path) -> None:
    Path("later").mkdir()
    asked = ["top", "-", *LIST, "--json", "--every", "50ms"]
    with subprocess.Popen(
        [*COMMAND, *asked, "--save-release", "later/r.lzs", "--save-every", "50ms"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("a\n")
        process.stdin.flush()
        process.stdout.readline()  # the options are checked by now
        Path("later").rename("moved")
        process.stdin.write(rows.read_text())
        process.stdin.flush()
        line = process.stderr.readline()
        for _ in range(5):
            process.stdout.readline()
        Path("later").mkdir()
        out, err = process.communicate(timeout=PATIENCE)
    assert "--save-every: expected to write the release, got 'No such file" in line
    assert "--save-every" not in err
    assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["final"] is True
    assert Release.load("later/r.lzs").step == 301
