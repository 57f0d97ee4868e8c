"""Runs that read ahead end promptly and silently, for any ending and any kind of wait."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of Unix")

PATIENCE = 60.0  # seconds, for a busy machine
PROMPT = 10.0
TOP = [sys.executable, "-m", "lazysketch", "top"]
ASKED = ["--json", "--every", "100ms", "--domain", "items.txt", "--width", "16"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.txt").write_text("a\nb\n")
    return tmp_path


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that is killed after PATIENCE seconds, which fails the test."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        guard = threading.Timer(PATIENCE, process.kill)
        guard.start()
        yield process
        guard.cancel()


def write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()


def wait_for_steps(process: subprocess.Popen[bytes], steps: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["steps"] == steps:
            return
    pytest.fail("ended before")


def end(process: subprocess.Popen[bytes], number: int) -> tuple[float, bytes, str]:
    """Send a signal; return the seconds until the end, and the output after the signal."""
    assert process.stdout is not None
    assert process.stderr is not None
    begin = time.monotonic()
    process.send_signal(number)
    out, err = process.stdout.read(), process.stderr.read()
    process.wait()
    return time.monotonic() - begin, out, err.decode()


SIGNALS = pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)


@SIGNALS
@pytest.mark.parametrize("kind", ["pipe", "gzip", "fifo", "follow", "csv"])
def test_a_signal_while_the_input_is_silent(kind: str, number: int, status: int) -> None:
    rows = b"a\nb\n" * 500
    options = ["--format", "lines"]
    if kind == "fifo":
        os.mkfifo("fifo")
    Path("log").write_bytes(rows)
    if kind == "csv":
        rows, options = b"k,n\n" + b"a,1\n" * 1000, ["--format", "csv", "--field", "k"]
    path = {"fifo": ["fifo"], "follow": ["log", "--follow"]}.get(kind, ["-"])
    with running(*TOP, *path, *ASKED, *options) as process:
        fifo = os.open("fifo", os.O_WRONLY) if kind == "fifo" else None
        if fifo is not None:
            os.write(fifo, rows)
        elif kind == "gzip":
            # Without its end, so more data are expected.
            write(process, gzip.compress(rows)[:-8])
        elif kind != "follow":
            write(process, rows)
        wait_for_steps(process, 1000)
        took, out, err = end(process, number)
        if fifo is not None:
            os.close(fifo)
    assert process.returncode == status
    assert took < PROMPT
    assert json.loads(out.splitlines()[-1])["steps"] == 1000
    assert json.loads(out.splitlines()[-1])["final"] is True
    assert err == "lazysketch: interrupted after 1,000 rows\n"


@SIGNALS
def test_a_signal_while_a_fifo_has_no_writer(number: int, status: int) -> None:
    """Opening a FIFO cannot be ended: the thread is abandoned and must not block the process."""
    os.mkfifo("fifo")
    with running(*TOP, "fifo", *ASKED, "--format", "lines") as process:
        time.sleep(1.0 if _waits_in_open(process.pid) is None else 0.0)
        deadline = time.monotonic() + PATIENCE
        while _waits_in_open(process.pid) is False and time.monotonic() < deadline:
            time.sleep(0.01)
        took, out, err = end(process, number)
    assert process.returncode == status
    assert took < PROMPT
    assert out == b""
    assert err == "lazysketch: interrupted before the first row\n"


def _waits_in_open(process: int) -> bool | None:
    """Tell whether a thread waits in opening a FIFO; None if the system does not reveal it."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        return any("wait_for_partner" in (thread / "wchan").read_text() for thread in threads)
    except OSError:
        return None


def test_a_signal_during_fast_input(folder: Path) -> None:
    """The reader is busy, also in native code, so the end waits for it."""
    Path("rows.csv").write_bytes(b"k,n\n" + b"a,1\nb,2\nbroken\n" * 2_000_000)
    for delay in (0.0, 0.02, 0.1):
        with running(*TOP, "rows.csv", "--field", "k", *ASKED) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay)
            took, out, err = end(process, signal.SIGINT)
        assert took < PROMPT
        found = re.search(r"^lazysketch: interrupted after ([\d,]+) rows$", err, re.MULTILINE)
        assert found, err
        assert process.returncode == 130
        steps = json.loads(out.splitlines()[-1])["steps"]
        # The count equals the reported one, except for the interrupted batch.
        assert 0 <= int(found[1].replace(",", "")) - steps <= 2 << 17
        assert "Traceback" not in err


def test_a_stream_longer_than_its_horizon_ends_before_its_pipe_does() -> None:
    with running(*TOP, "-", *ASKED, "--horizon", "100", "--format", "lines") as process:
        write(process, b"a\n" * 1000)
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()
        assert process.wait() == 2
        assert process.stdin is not None
        assert not process.stdin.closed
    assert json.loads(out.splitlines()[-1])["steps"] == 100
    assert err.startswith(b"lazysketch: --horizon: expected an upper bound on the steps")


def test_strict_mode_ends_before_its_pipe_does() -> None:
    with running(*TOP, "-", *ASKED, "--strict", "--format", "lines") as process:
        write(process, b"a\n\na\n")
        assert process.stderr is not None
        err = process.stderr.read()
        assert process.wait() == 2
    assert err == (
        b"lazysketch: standard input: expected no malformed row in strict mode, got one in row 2\n"
    )


SCRIPT = """
import atexit, sys, threading
# Called last: a thread still running now would run during interpreter shutdown.
atexit.register(lambda: sys.stdout.write("left over" if left() else ""))
from lazysketch import CountMin, LazyCountMin
from lazysketch.sources import feed, open_source

def left():
    return [thread for thread in threading.enumerate() if "reads ahead" in thread.name]

source = open_source(sys.argv[1], format="lines", ahead=True)
batches = iter(source)
"""
ENDINGS: dict[str, tuple[str, int]] = {
    "a generator that is never closed": ("print(len(next(batches).items))", 0),
    "one that is closed": (
        "print(len(next(batches).items)); batches.close(); assert not left()",
        0,
    ),
    "an exit": ("print(len(next(batches).items)); sys.exit(3)", 3),
    "an exit within a loop": ("for batch in source: print(len(batch.items)); sys.exit(3)", 3),
    "a cycle": ("held = [batches]; held.append(held); print(len(next(batches).items))", 0),
    "another thread": (
        """
thread = threading.Thread(target=lambda: print(len(next(batches).items)))
thread.start()
thread.join()
""",
        0,
    ),
    "a sketch that has enough": (
        """
from lazysketch.errors import HorizonError
sketch = LazyCountMin(depth=1, width=4, epsilon=1.0, delta=1e-6, horizon=1)
try:
    feed(sketch, source)
except HorizonError:
    assert not left()
    print(2)
""",
        0,
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_that_ends_while_its_input_is_silent(ending: str) -> None:
    code, status = ENDINGS[ending]
    with running(sys.executable, "-X", "dev", "-c", SCRIPT + code, "-") as process:
        write(process, b"a\nb\n")
        begin = time.monotonic()
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()
        assert process.wait() == status
        assert time.monotonic() - begin < PROMPT
    assert out == b"2\n"
    assert err == b""


def test_rows_are_counted_as_they_arrive() -> None:
    """A row does not wait for the next one to arrive."""
    with running(*TOP, "-", *ASKED, "--format", "lines") as process:
        for steps in range(1, 6):
            write(process, b"a\n")
            wait_for_steps(process, steps)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0
