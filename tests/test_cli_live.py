"""The command as a process: a live pipe, Ctrl-C, a reader that goes away, a terminal."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazysketch import Release
from lazysketch.cli.live import pace

pty = pytest.importorskip("pty", reason="terminals of this kind are POSIX")

COMMAND = [sys.executable, "-m", "lazysketch"]
PATIENCE = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items.txt").write_text("".join(f"item {i}\n" for i in range(2_000)))
    (tmp_path / "rows.txt").write_text("item 1\nitem 2\nitem 1\n" * 5_000)
    return tmp_path


class Terminal:
    """A terminal to give to a process as its standard error; all it shows is read at once."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self.seen = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")().decode
        # Linux reports the end of a terminal as an error, others as the end of a file.
        with contextlib.suppress(OSError):
            while data := os.read(self._ours, 1 << 16):
                self.seen += decode(data)

    def wait_for(self, pattern: str) -> str:
        """Wait until the pattern has been shown; fail if it never is."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.seen):
            assert time.monotonic() < end, f"waited for {pattern!r}, saw {self.seen!r}"
            time.sleep(0.02)
        return self.seen

    def close(self) -> None:
        os.close(self.theirs)
        self._reader.join(PATIENCE)
        os.close(self._ours)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def start(folder: Path, *arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
    )


def test_ctrl_c_on_a_live_pipe_shows_what_was_published(folder: Path, terminal: Terminal) -> None:
    asked = ["top", "-", "--domain", "items.txt", "--width", "16", "-k", "3"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        assert process.stdin is not None
        process.stdin.write("item 1\n" * 1_000 + "half a")
        process.stdin.flush()
        terminal.wait_for(r"standard input: 1,000 steps, [\d,]+/s; Ctrl-C ends")
        process.stdin.write(" row\n")
        process.stdin.flush()
        terminal.wait_for("1,001 steps")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "1,001 steps of standard input (lines)" in out
    assert len(re.findall(r"^ +[123]   item \d", out, re.MULTILINE)) == 3
    assert "interrupted after 1,001 rows" in terminal.wait_for("outside the guarantee")
    assert "Traceback" not in terminal.seen + out


def test_ctrl_c_keeps_the_release(folder: Path, terminal: Terminal) -> None:
    asked = ["top", "-", "--domain", "items.txt", "--width", "16", "--save-release", "r.lzs"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        assert process.stdin is not None
        process.stdin.write("item 1\n" * 1_000)
        process.stdin.flush()
        terminal.wait_for("1,000 steps")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "release saved to r.lzs" in terminal.seen
    kept = Release.load(folder / "r.lzs")
    assert kept.step == 1_000
    shown = round(kept.interval("item 1", at="now").estimate, 1)
    assert re.search(rf"item 1 +{shown:,.0f} ", out)


def test_sigterm_ends_like_ctrl_c(folder: Path, terminal: Terminal) -> None:
    asked = ["top", "-", "--domain", "items.txt", "--width", "4096", "--save-release", "r.lzs"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        assert process.stdin is not None
        process.stdin.write("item 1\n" * 1_000)
        process.stdin.flush()
        terminal.wait_for("3,096 of 4,096 columns wait for their first publication")
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert "1,000 steps of standard input (lines)" in out
    assert Release.load(folder / "r.lzs").step == 1_000
    assert "Traceback" not in terminal.seen + out


def test_the_part_read_of_a_file_is_shown(folder: Path, terminal: Terminal) -> None:
    with (folder / "rows.txt").open("a") as rows:
        rows.writelines("item 1\nitem 2\nitem 1\n" for _ in range(3_000_000))
    asked = ["top", "rows.txt", "--domain", "items.txt"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        terminal.wait_for(r"rows.txt: [\d,]+ steps, [\d,]+/s, \d+ %(, \d+ s left)?; Ctrl-C ends")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 130)


@pytest.mark.parametrize(
    ("part", "seconds", "line"),
    [
        (None, 10.0, "500 steps, 50/s"),
        (0.5, 1.0, "500 steps, 500/s, 50 %"),
        (0.1, 10.0, "500 steps, 50/s, 10 %, 1 min 30 s left"),
        (0.001, 10.0, "500 steps, 50/s, 0 %, 2 h 46 min left"),
        (1.0, 10.0, "500 steps, 50/s, 100 %, 0 s left"),
    ],
)
def test_the_pace(part: float | None, seconds: float, line: str) -> None:
    assert pace(steps=500, seconds=seconds, part=part) == line


def test_ctrl_c_before_the_first_row_is_clean(folder: Path, terminal: Terminal) -> None:
    asked = ["top", "-", "--domain", "items.txt"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        terminal.wait_for("reading standard input")
        process.send_signal(signal.SIGINT)
        terminal.wait_for("interrupted: no row read")
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""


def test_the_live_table_is_gone_when_the_final_one_is_written(
    folder: Path, terminal: Terminal
) -> None:
    with start(folder, "demo", stderr=terminal.theirs) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "generated traffic" in terminal.wait_for("generated traffic")
    assert "generated traffic ..." not in out
    assert "\x1b" not in out


def test_without_a_terminal_standard_error_is_silent(folder: Path) -> None:
    with start(folder, "top", "rows.txt", "--domain", "items.txt") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert err == ""
    assert "15,000 steps of rows.txt (lines)" in out


@pytest.mark.parametrize("output", ["table", "csv", "json", "jsonl"])
def test_a_reader_that_goes_away_is_no_failure_to_talk_about(folder: Path, output: str) -> None:
    asked = ["estimate", "rows.txt", "--items", "items.txt", "--output", output]
    with start(folder, *asked) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=PATIENCE)
    assert process.returncode == 141
    assert "Traceback" not in err
    assert "Error" not in err


def test_a_full_disk_is_one_line(folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "top", "rows.txt", "--domain", "items.txt"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == "lazysketch: standard output: expected to write, got No space left on device\n"
    )


def test_an_encoding_without_block_characters(folder: Path) -> None:
    (folder / "items.txt").write_text("item 1\nitem é\n", encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "top", "rows.txt", "--domain", "items.txt"],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert rb"item \xe9" in done.stdout
