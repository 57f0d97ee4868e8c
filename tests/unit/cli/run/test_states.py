"""Runs with a state: each goes on where the last one stopped, however that one ended."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.child_process import ChildProcess

from lazysketch import Key, Release, open_store
from lazysketch.cli import main
from lazysketch.cli.run.state_definition import DISCOVERED, Definition
from lazysketch.store import anchor_of

COMMAND = [sys.executable, "-m", "lazysketch"]
PATIENCE = 60.0
CANARY = "canary-51c9e0"
SMALL = ["--width", "64", "--depth", "2", "--epsilon", "4", "--delta", "1e-6"]


class Runs:
    """Runs of the command in a folder, with states whose key and anchor lie in it."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capfd = capfd
        self.log = folder / "log"
        self.items = folder / "items.txt"
        self.items.write_text("".join(f"item {n}\n" for n in range(6)))
        self.said = ""

    def add(self, rows: range, *, path: Path | None = None) -> None:
        with (path or self.log).open("a") as file:
            file.writelines(f"item {n % 6}\n" for n in rows)

    def place(self, state: str) -> list[str]:
        return ["--state", state, "--anchor", f"{state}.anchor", "--key-file", "key"]

    def run(self, *words: str | Path, status: int = 0) -> str:
        self._capfd.readouterr()
        assert main([str(word) for word in words]) == status, self._capfd.readouterr().err
        found = self._capfd.readouterr()
        self.said = found.err
        return found.out

    def estimate(self, state: str, *words: str | Path, status: int = 0) -> Any:
        """Return the rows and steps of a run."""
        options = ["--items", "items.txt", "--output", "json", *self.place(state)]
        out = self.run("estimate", "log", *options, *words, status=status)
        if status:
            return None
        found = json.loads(out)
        return found["items"], found["steps"]

    def copy(self, state: str, to: str) -> None:
        """Copy a state and its anchor, so that two runs have the same noise."""
        shutil.copytree(self.folder / state, self.folder / to)
        shutil.copy(self.folder / f"{state}.anchor", self.folder / f"{to}.anchor")


@pytest.fixture
def runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Runs]:
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return Runs(tmp_path, capfd)  # type: ignore[return-value]


def test_a_run_goes_on_where_the_last_one_stopped(runs: Runs) -> None:
    runs.add(range(700))
    first = runs.estimate("a", *SMALL)
    assert "a is in key" in runs.said
    runs.copy("a", "b")
    assert runs.estimate("a") == first
    assert "nothing new; its 700 rows were counted before" in runs.said
    for begin in range(700, 1_000, 100):  # a: in three runs, b: in one
        runs.add(range(begin, begin + 100))
        pieces = runs.estimate("a")
    assert runs.estimate("b") == pieces
    assert pieces[1] == 1_000
    assert pieces[0] != first[0]


def test_discovered_items_and_empty_rows_go_on(runs: Runs) -> None:
    def top(state: str) -> Any:
        out = runs.run("top", "log", "--output", "json", *runs.place(state), *options)
        found = json.loads(out)
        return found["items"], found["steps"], found["names"]

    options = ["--share", "20%", "--names-every", "300", *SMALL, "--epsilon", "8"]
    runs.add(range(400))
    top("a")
    runs.copy("a", "b")
    options = []
    for begin in range(400, 1_000, 150):
        runs.add(range(begin, begin + 150))
        with runs.log.open("a") as file:
            file.write("\n")
        found = top("a")
    assert top("b") == found
    assert found[1] == 1_004
    assert found[2]["every"] == 300


def test_what_is_released_is_released_again(runs: Runs) -> None:
    runs.add(range(500))
    runs.estimate("a", *SMALL, "--save-release", "first.lzs")
    runs.estimate("a", "--save-release", "second.lzs")
    first, second = (Release.load(f"{name}.lzs") for name in ("first", "second"))
    assert first.to_bytes() == second.to_bytes()
    assert first.step == 500
    runs.add(range(500))
    runs.estimate("a", "--save-release", "first.lzs")  # of the same stream: nothing is spent
    assert Release.load("first.lzs").step == 1_000
    runs.estimate("b", *SMALL, "--save-release", "first.lzs", status=2)
    assert "--save-release: expected a new file, got first.lzs" in runs.said
    runs.estimate("b", "--save-release", "first.lzs", "--overwrite")
    assert "replaces first.lzs, a release of an earlier run" in runs.said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "2"], "--epsilon: expected 4, as in the first run with a, got 2"),
        (["--width", "65"], "--width: expected 64, as in the first run with a, got 65"),
        (["--horizon", "9"], "--horizon: expected none, as in the first run with a, got 9"),
        (["--field", "n"], "--field: expected none, as in the first run with a, got 'n'"),
        (["--items-type", "int"], "--items-type: expected 'str', as in the first run"),
        (["--weight", "n", "--max-weight", "2"], "--weight: expected none, as in the first run"),
        (["--key-file", "a/key"], "--key-file: expected a file outside of a"),
        (["--key-file", "none"], "--key-file: expected the key of a, none, got none"),
        (["--anchor", "none"], "--anchor: expected the anchor of this store"),
        (["--anchor", "a/anchor"], "--anchor: expected a file outside of the store"),
    ],
    ids=[
        *("epsilon", "width", "horizon", "field", "items", "weight"),
        *("key inside", "no key", "no anchor", "anchor inside"),
    ],
)
def test_other_options_are_refused(runs: Runs, options: list[str], words: str) -> None:
    runs.add(range(50))
    first = runs.estimate("a", *SMALL)
    runs.estimate("a", *options, status=2)
    assert words in runs.said
    assert len(runs.said.splitlines()) == 1
    assert runs.estimate("a", *SMALL) == first  # the same ones may be repeated


def test_options_that_do_not_fit_a_state(runs: Runs) -> None:
    runs.add(range(50))
    runs.estimate("a", *SMALL)
    runs.run("top", "log", *runs.place("a"), status=2)
    assert "--domain: expected a public list, as in the first run with a, got none" in runs.said
    runs.run("top", "log", *runs.place("b"), "--epsilon", "9")
    runs.run("top", "log", *runs.place("b"), "--domain", runs.items, status=2)
    assert "--domain: expected none, since b discovers items, got one" in runs.said
    runs.run("top", "log", *runs.place("a"), "--plot", "x.svg", status=2)
    assert "--plot: expected no --state, got one" in runs.said
    for option in (
        ["--finish"],
        ["--reread"],
        ["--new-era"],
        ["--anchor", "x"],
        ["--key-file", "x"],
    ):
        runs.run("top", "log", *option, status=2)
        assert f"{option[0]}: expected --state too, got none" in runs.said
    with open_store("c", key=Key.from_file("key"), anchor="c.anchor") as store:
        store.keep_note("of", "another program")
    runs.estimate("c", *SMALL)  # no object yet
    runs.run("state", "log", status=2)
    assert "DIR: expected a state, got log" in runs.said


def test_a_file_that_changed_is_refused(runs: Runs) -> None:
    runs.add(range(90))
    runs.estimate("a", *SMALL)
    os.truncate(runs.log, 14)
    runs.estimate("a", status=2)
    assert "log: expected the file that was counted" in runs.said
    assert "got a shorter one; with --reread" in runs.said
    assert runs.estimate("a", "--reread")[1] == 92
    runs.log.rename(runs.folder / "log.1")
    runs.add(range(2), path=runs.folder / "log.1")
    runs.add(range(5))
    assert runs.estimate("a")[1] == 97
    assert "log.1 was counted before, and has grown since" in runs.said
    assert runs.estimate("a", "log.1")[1] == 99


def test_a_stream_ends_once(runs: Runs) -> None:
    runs.add(range(300))
    runs.estimate("a", *SMALL)
    end = runs.estimate("a", "--finish")
    runs.add(range(7))
    assert runs.estimate("a") == runs.estimate("a", "--finish") == end
    assert "the stream was ended by --finish; nothing is read" in runs.said
    # Known to be the end from the first run on: one publication, and nothing before.
    runs.estimate("b", *SMALL, "--finish")
    assert "once, at the end" in runs.run(
        "estimate", "log", "--items", "items.txt", *runs.place("b")
    )


def test_a_horizon_holds_for_all_runs(runs: Runs) -> None:
    runs.add(range(60))
    runs.estimate("a", *SMALL, "--horizon", "100")
    runs.add(range(60))
    runs.estimate("a", status=2)
    assert "got a longer stream" in runs.said
    runs.run("state", "a", *runs.place("a")[2:])
    assert "100 steps" in runs.said or "100 steps" in runs.run(
        "state", "a", *runs.place("a")[2:], "--output", "json"
    ).replace('"steps": 100', "100 steps")


def test_weights_are_those_of_the_first_run(runs: Runs) -> None:
    runs.log.write_text("src,n\nitem 1,5\nitem 2,900\n")
    options = ["--format", "csv", "--field", "src"]
    runs.estimate("a", *SMALL, *options, "--weight", "n", "--max-weight", "10")
    with runs.log.open("a") as file:
        file.write("item 1,900\n")
    assert runs.estimate("a", *options)[1] == 3
    assert "1 weights clipped" in runs.said


def test_weights_of_names_are_those_of_the_first_run(runs: Runs) -> None:
    """Later runs need no option, and another value is refused; an older state has none."""
    rows = "".join(f"item {number % 7},5\n" for number in range(60))
    runs.log.write_text("src,n\n" + rows)
    asked = ["top", "log", "--format", "csv", "--field", "src", "--output", "json"]
    own = ["--weight", "n", "--max-weight", "10", "--names-weight", "4", "--names-every", "60"]
    runs.run(*asked, *runs.place("a"), *SMALL, *own)
    with runs.log.open("a") as file:
        file.write(rows)
    assert json.loads(runs.run(*asked, *runs.place("a")))["steps"] == 120
    runs.run(*asked, *runs.place("a"), "--names-weight", "5", status=2)
    assert "--names-weight: expected 4, as in the first run with a, got 5" in runs.said
    defined = Definition(DISCOVERED, {"share": 0.1, "discovery_weight": 4}, ("single",), b"")
    plain = json.loads(defined.to_text())
    assert plain["options"].pop("discovery_weight") == 4
    assert Definition.from_text(json.dumps(plain)).options["discovery_weight"] is None


def test_a_pipe_has_no_position(runs: Runs) -> None:
    runs.add(range(40))
    line = " ".join([*COMMAND, "estimate", "-", "--items", "items.txt", *runs.place("a"), *SMALL])
    for steps in (40, 80):
        done = subprocess.run(
            ["/bin/sh", "-c", f"cat log | {line} --output json"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["steps"] == steps
        assert "standard input: every row counts, since a pipe has no position" in done.stderr


def test_the_cost_of_a_new_era_is_said(runs: Runs) -> None:
    runs.add(range(40))
    runs.estimate("a", *SMALL)
    one = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    (runs.folder / "a.anchor").unlink()
    key = Key.from_file("key")
    open_store("a", key=key, anchor="a.anchor", on_doubt="new-era").close()
    runs.add(range(30))
    assert runs.estimate("a")[1] == 30  # what an earlier era counted is not counted again
    assert "a: 2 eras, which spend" in runs.said
    both = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    assert (one["eras"], both["eras"]) == (1, 2)
    assert both["epsilon"] > one["epsilon"]


def test_one_process_has_a_state(runs: Runs) -> None:
    runs.add(range(40))
    runs.estimate("a", *SMALL)
    with open_store("a", key=Key.from_file("key"), anchor="a.anchor"):
        runs.estimate("a", status=2)
        assert "expected" in runs.said
        assert len(runs.said.splitlines()) == 1
    assert runs.estimate("a")[1] == 40


def test_a_folder_that_cannot_be_used_is_refused(runs: Runs) -> None:
    runs.add(range(40))
    (runs.folder / "file").write_text("x")
    runs.estimate("file", *SMALL, status=2)
    assert "--state: expected a directory" in runs.said
    if os.geteuid():
        (runs.folder / "a").mkdir(mode=0o500)
        runs.estimate("a", *SMALL, status=2)
        assert len(runs.said.splitlines()) == 1


def test_by_default_key_and_anchor_are_elsewhere(runs: Runs) -> None:
    runs.add(range(40))
    runs.run("estimate", "log", "--items", "items.txt", "--state", "a", *SMALL)
    (key,) = (runs.folder / "XDG_CONFIG_HOME" / "lazysketch").iterdir()
    assert str(key) in runs.said
    assert key.stat().st_mode & 0o777 == 0o600
    assert anchor_of("a").exists()
    runs.run("state", "a")
    runs.run("state", "a", "--new-key", "a/new", status=2)
    assert "--new-key: expected a file outside of a" in runs.said
    runs.run("state", "a", "--new-key", "new")
    runs.run("state", "a", status=2)
    runs.run("state", "a", "--new-key", "new", "--key-file", "new", status=2)
    assert "File exists" in runs.said
    runs.run("estimate", "log", "--items", "items.txt", "--state", "a", "--key-file", "new")
    key.chmod(0o644)
    runs.run("state", "a", status=2)
    assert "--key-file: expected a file that its owner alone can use" in runs.said


def test_nothing_of_a_state_tells_an_item(runs: Runs) -> None:
    runs.log.write_text(f"{CANARY}\n" * 300)
    runs.estimate("a", *SMALL)
    with runs.log.open("a") as file:
        file.write(f"{CANARY}\n" * 300)
    runs.estimate("a")
    told = [runs.said, runs.run("state", "a", *runs.place("a")[2:]), runs.said]
    files = [path for path in runs.folder.rglob("*") if path.is_file() and path != runs.log]
    assert len(files) > 5
    for content in [path.read_bytes() for path in files] + [text.encode() for text in told]:
        assert CANARY.encode() not in content
        assert CANARY.encode().hex().encode() not in content


def started(runs: Runs, state: str, *words: str, **how: Any) -> subprocess.Popen[str]:
    verb = ["estimate", "--items", "items.txt", "--output", "json"]
    if "--json" in words:
        verb = ["top", "--domain", "items.txt"]
    return ChildProcess(
        [*COMMAND, *verb, "log", *runs.place(state), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )


def test_killed_runs_count_each_row_once(runs: Runs) -> None:
    """The log grows while runs that follow it are killed; one run reads all of it as the twin."""
    chance = Random(7)
    runs.add(range(100))
    runs.estimate("a", *SMALL)
    runs.copy("a", "b")
    for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        process = started(runs, "a", "--follow", "--json")
        assert process.stdout is not None
        if number == signal.SIGINT:  # a run that does not count yet would print nothing
            assert json.loads(process.stdout.readline())["steps"] >= 100
        end = time.monotonic() + chance.uniform(1.0, 2.2)
        while time.monotonic() < end:
            runs.add(range(chance.randrange(1, 60)))
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        if number == signal.SIGINT:
            assert process.returncode == 130, err
            assert json.loads(out.splitlines()[-1])["steps"] >= 100
    assert runs.estimate("a") == runs.estimate("b")


def test_a_full_disk_stops_a_run_and_loses_nothing(runs: Runs) -> None:
    runs.add(range(100))
    runs.estimate("a", *SMALL)
    runs.copy("a", "b")
    runs.add(range(200_000))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    process = started(runs, "a", preexec_fn=limited)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert out == ""
    assert "File too large" in err
    assert len(err.splitlines()) == 1
    assert runs.estimate("a") == runs.estimate("b")
