"""The command as a process: a live pipe, Ctrl-C, a closed output, a terminal."""

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
from tests.child_process import ChildProcess
from tests.unit.cli.reminder import REMINDER

from lazysketch import Release
from lazysketch.cli.view.pace import pace

pty = pytest.importorskip("pty", reason="terminals of this kind are POSIX")

COMMAND = [sys.executable, "-m", "lazysketch"]
PATIENCE = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items.txt").write_text("".join(f"item {i}\n" for i in range(2_000)))
    (tmp_path / "rows.txt").write_text("item 1\nitem 2\nitem 1\n" * 5_000)
    return tmp_path


class Terminal:
    """A terminal for the standard error of a process; a thread reads its output."""

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

    @property
    def plain(self) -> str:
        """The output without controls, each run of blanks as one."""
        return re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.seen))

    def wait_for(self, pattern: str) -> str:
        """Wait until the pattern is in the output; fail after a timeout."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.plain):
            assert time.monotonic() < end, f"waited for {pattern!r}, saw {self.plain[-2_000:]!r}"
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


def start(
    folder: Path, *arguments: str, stderr: int = subprocess.PIPE, **variables: str
) -> subprocess.Popen[str]:
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", **variables}
    return ChildProcess(
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
        terminal.wait_for(r"standard input: 1,000 steps in \d s, [\d,]+/s; Ctrl-C ends")
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
    listed = (folder / "items.txt").read_text(encoding="utf-8").splitlines()
    shown = round(kept.decode(listed)[1], 1)
    assert re.search(rf"item 1 +{shown:,.0f} ", out)


def test_sigterm_ends_like_ctrl_c(folder: Path, terminal: Terminal) -> None:
    asked = ["top", "-", "--domain", "items.txt", "--width", "4096", "--save-release", "r.lzs"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        assert process.stdin is not None
        process.stdin.write("item 1\n" * 1_000)
        process.stdin.flush()
        terminal.wait_for("3,096 of 4,096 columns are not published yet and count as 0")
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert "1,000 steps of standard input (lines)" in out
    assert Release.load(folder / "r.lzs").step == 1_000
    assert "Traceback" not in terminal.seen + out


def test_the_part_read_of_a_file_is_shown(folder: Path, terminal: Terminal) -> None:
    with (folder / "rows.txt").open("a") as rows:
        # Well-formed rows alone would be read before anything is shown.
        rows.writelines("item 1\n\nitem 2\n\n" for _ in range(2_000_000))
    asked = ["top", "rows.txt", "--domain", "items.txt"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        terminal.wait_for(r"rows.txt: [\d,]+ steps in \d+ s, [\d,]+/s, \d+ %")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 130)


NAMES = ["--epsilon", "20", "--names-every", "2000", "--width", "64"]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (50, "item estimate low high share ─"),
        (80, "item estimate low high share trend ─"),
        (140, "item estimate low high share trend course ─"),
    ],
)
def test_discovered_items_in_terminals_of_any_width(
    folder: Path, terminal: Terminal, width: int, columns: str
) -> None:
    asked = ["top", "-", *NAMES]
    with start(folder, *asked, stderr=terminal.theirs, COLUMNS=str(width)) as process:
        assert process.stdin is not None
        process.stdin.write("203.0.113.129\n198.51.100.7\n" * 500)
        process.stdin.flush()
        terminal.wait_for("items are published every 2,000 steps, next in 1,000; detection thr")
        process.stdin.write("203.0.113.129\n203.0.113.129\n198.51.100.7\n" * 600)
        process.stdin.flush()
        terminal.wait_for("2 items discovered, next in 1,200")
        terminal.wait_for(columns)
        terminal.wait_for("1 203.0.113.129 1,[67]")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "2,800 steps of standard input (lines)" in out
    assert "\x1b" not in out
    # A frame begins at the top, and what follows the last one is elsewhere.
    frames = re.sub(r"\x1b\[(?:H|\?1049[hl])", "\n", terminal.seen)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frames)
    lines = [line for line in re.split(r"[\r\n]+", drawn) if not line.startswith("lazysketch: ")]
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize(
    ("variables", "shown", "coloured"),
    [
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colours_and_controls_depend_on_the_terminal(
    folder: Path, terminal: Terminal, variables: dict[str, str], *, shown: bool, coloured: bool
) -> None:
    asked = ["top", "-", *NAMES]
    with start(folder, *asked, stderr=terminal.theirs, **variables) as process:
        assert process.stdin is not None
        process.stdin.write("item 1\nitem 2\nitem 1\n" * 1_000)
        process.stdin.flush()
        if shown:
            terminal.wait_for("1 item 1 [12],")
        else:
            time.sleep(1.5)
        process.stdin.close()
        process.wait(timeout=PATIENCE)
    colours = re.findall(r"\x1b\[[0-9;]*3[0-9][0-9;]*m", terminal.seen)
    assert bool(colours) == coloured
    assert ("\x1b" in terminal.seen) == shown
    assert ("reading" in terminal.plain) == shown


@pytest.mark.parametrize(
    ("part", "seconds", "line"),
    [
        (None, 10.0, "500 steps in 10 s, 70/s"),
        (0.5, 1.0, "500 steps in 1 s, 70/s, 50 %"),
        (0.1, 10.0, "500 steps in 10 s, 70/s, 10 %, 1 min 30 s left"),
        (0.001, 10.0, "500 steps in 10 s, 70/s, 0 %, 2 h 46 min left"),
        (1.0, 10.0, "500 steps in 10 s, 70/s, 100 %, 0 s left"),
    ],
)
def test_the_pace(part: float | None, seconds: float, line: str) -> None:
    assert pace(steps=500, seconds=seconds, rate=70.0, part=part) == line


def test_a_slow_pace_is_not_rounded_to_zero() -> None:
    assert pace(steps=3, seconds=30.0, rate=0.1, part=None) == "3 steps in 30 s, 0.10/s"
    assert pace(steps=3, seconds=30.0, rate=0.0, part=None) == "3 steps in 30 s, 0/s"


def test_ctrl_c_before_the_first_row_is_clean(folder: Path, terminal: Terminal) -> None:
    asked = ["top", "-", "--domain", "items.txt"]
    with start(folder, *asked, stderr=terminal.theirs) as process:
        terminal.wait_for("reading standard input")
        process.send_signal(signal.SIGINT)
        terminal.wait_for("interrupted before the first row")
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""


def test_the_live_table_is_erased_before_the_result(folder: Path, terminal: Terminal) -> None:
    with start(folder, "demo", stderr=terminal.theirs) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "generated traffic" in terminal.wait_for("generated traffic")
    assert "generated traffic ..." not in out
    assert "\x1b" not in out


def test_without_a_terminal_nothing_is_drawn(folder: Path) -> None:
    with start(folder, "top", "rows.txt", "--domain", "items.txt") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert err == REMINDER
    assert "15,000 steps of rows.txt (lines)" in out


@pytest.mark.parametrize("output", ["table", "csv", "json", "jsonl"])
def test_a_closed_output_is_silent(folder: Path, output: str) -> None:
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
