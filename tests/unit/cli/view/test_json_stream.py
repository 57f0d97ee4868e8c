"""``top --json``: one JSON object per refresh on a pipe, at regular times."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.reminder import REMINDER
from tests.waiting import wait_until

from lazysketch import Release
from lazysketch.cli.view.json_stream import JsonStream

COMMAND = [sys.executable, "-m", "lazysketch", "top"]
NAMES = ["--epsilon", "20", "--names-every", "1000", "--width", "64"]
PATIENCE = 60.0

posix = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are POSIX")


def start(folder: Path, *arguments: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **settings,
    )


def test_a_slow_pipe_gives_a_line_per_refresh(tmp_path: Path) -> None:
    with start(tmp_path, "-", "--json", "--every", "100ms", *NAMES) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        states: list[dict[str, Any]] = []
        for fed in range(300, 2_401, 300):
            process.stdin.write("a\nb\na\n" * 100)
            process.stdin.flush()
            while not states or states[-1]["steps"] < fed:
                states.append(json.loads(process.stdout.readline()))
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert err == ""
    states += map(json.loads, out.splitlines())
    steps = [state["steps"] for state in states]
    assert steps == sorted(steps)
    assert set(steps) == set(range(300, 2_401, 300))
    assert [state["final"] for state in states] == [False] * (len(states) - 1) + [True]
    for state in states:
        assert state["privacy"]["epsilon"] == 20.0
        assert [row["rank"] for row in state["items"]] == list(range(1, len(state["items"]) + 1))
        assert bool(state["waiting"]) is not state["final"]
        # Items are published at the ends of epochs only: none before the first.
        assert (state["steps"] < 1_000 and not state["final"]) <= (state["items"] == [])
    assert [row["item"] for row in states[-1]["items"]] == ["a", "b"]
    assert abs(states[-1]["items"][0]["estimate"] - 1_600) < 200


def test_lines_come_while_the_input_is_silent(tmp_path: Path) -> None:
    with start(tmp_path, "-", "--json", "--every", "50ms", *NAMES) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("a\n" * 500)
        process.stdin.flush()
        states = [json.loads(process.stdout.readline()) for _ in range(4)]
        assert [state["steps"] for state in states] == [500] * 4
        process.send_signal(signal.SIGINT)
        # The input stays open until the process ends: its end is no reason to end.
        process.wait(timeout=PATIENCE)
        out = process.stdout.read()
    assert process.returncode == 130
    last = json.loads(out.splitlines()[-1])
    assert last["final"] is True
    assert last["items"][0]["item"] == "a"


def test_the_last_line_is_the_result_of_a_public_list(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("a\nb\na\n" * 1_000)
    (tmp_path / "items.txt").write_text("a\nb\n")
    with start(tmp_path, "rows.txt", "--json", "--domain", "items.txt", "--width", "8") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert err == REMINDER
    last = json.loads(out.splitlines()[-1])
    assert (last["final"], last["steps"], last["items"][0]["item"]) == (True, 3_000, "a")


@posix
@pytest.mark.parametrize("background", [False, True])
def test_a_closed_output_ends_the_run_and_loses_nothing(
    tmp_path: Path, *, background: bool
) -> None:
    """The same holds for a background job of a shell, which ignores Ctrl-C."""
    asked = ["-", "--json", "--every", "50ms", "--save-release", "r.lzs", *NAMES]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if background else None
    try:
        process = start(tmp_path, *asked)
    finally:
        if background:
            signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("a\n" * 500)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()  # its input stays open, and silent
        process.wait(timeout=PATIENCE)
        err = process.stderr.read()
    assert process.returncode == 141
    assert "Traceback" not in err
    assert Release.load(tmp_path / "r.lzs").step == 500


def test_a_slow_reader_does_not_stop_the_counting(tmp_path: Path) -> None:
    asked = ["rows.txt", "--json", "--every", "50ms", "--save-release", "r.lzs", *NAMES]
    (tmp_path / "rows.txt").write_text("a\nb\na\n" * 200_000)
    with start(tmp_path, *asked) as process:
        assert process.stdout is not None
        time.sleep(1.0)
        out = process.stdout.read()
    assert json.loads(out.splitlines()[-1])["steps"] == 600_000


def test_a_failure_in_the_thread_ends_the_run() -> None:
    """In a process that handles no signal at all, too: it needs none."""
    ended = threading.Event()

    def state() -> dict[str, Any]:
        raise MemoryError("no room")

    with JsonStream(state, every=0.01, end=ended.set) as json_stream:
        assert ended.wait(PATIENCE)
    assert isinstance(json_stream.failure, MemoryError)


def test_a_closed_output_ends_a_run_in_another_thread() -> None:
    """Of a program that calls the command; no handler of signals is set there."""
    program = (
        "import sys, threading; from lazysketch.cli import main; status = []\n"
        "def run(): status.append(main(['top', '-', '--json', '--every', '50ms', *sys.argv[1:]]))\n"
        "thread = threading.Thread(target=run); thread.start(); thread.join()\n"
        "sys.stderr.write(f'status {status[0]}')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, *NAMES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"a\n" * 500)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()  # its input stays open, and silent
        assert process.stderr.read().endswith(b"status 141")
        process.wait(timeout=PATIENCE)


def test_a_slow_state_is_computed_less_often() -> None:
    begins: list[float] = []

    def state() -> None:
        begins.append(time.monotonic())
        time.sleep(0.02)

    with JsonStream(state, every=0.01, end=lambda: None):
        wait_until(lambda: len(begins) > 3)
    # Every 0.2 s, not every 0.03.
    assert 0.19 < min(later - earlier for earlier, later in pairwise(begins)) < 2.0


def test_the_thread_ends_with_the_block() -> None:
    before = threading.enumerate()
    with JsonStream(lambda: None, every=0.01, end=lambda: None):
        (own,) = [thread for thread in threading.enumerate() if thread not in before]
        assert own.is_alive()
    assert not own.is_alive()


def test_an_empty_input_writes_no_object(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "-", "--json"],
        cwd=tmp_path,
        input=b"",
        capture_output=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert re.search(rb"expected at least one row", done.stderr)
