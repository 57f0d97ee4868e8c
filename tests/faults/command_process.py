"""A run of the command as a process: rows on a pipe, signals, and what is left at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.child_process import ChildProcess

from lazysketch import Release

ROWS = 3_000
# Seconds: the pause between two saves is nine times the time of one, which waits for the disk.
PATIENCE = 300.0
RELEASE = "r.lzs"
_SAVING = ["--save-release", RELEASE, "--save-every", "50ms"]
NAMES = ["--epsilon", "20", "--names-every", "1000", "--width", "64"]
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@dataclass(frozen=True)
class Ended:
    """What a run left.

    Args:
        status: Its exit status.
        out: Its standard output.
        err: Its standard error.
        folder: Where it ran.
    """

    status: int
    out: str
    err: str
    folder: Path

    def lost(self, *saved: str) -> list[str]:
        """Return what is missing of the result: the table, each file, and what is left over."""
        missing = [] if f"{ROWS:,} steps" in self.out else ["table"]
        for name in saved:
            path = self.folder / name
            if not path.exists() or (name.endswith(".lzs") and Release.load(path).step != ROWS):
                missing.append(name)
        missing += [entry.name for entry in self.folder.rglob("*.partial")]
        return missing + (["traceback"] if "Traceback" in self.err else [])


def hear_signals() -> None:
    """In a child: the tests may run under nohup, or in the background of a script."""
    for number in STATUS:
        signal.signal(number, signal.SIG_DFL)


class CountingProcess:
    """``lazysketch top -`` that has counted all rows of an open pipe and waits for more."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        before: Callable[[], None] | None = None,
    ) -> None:
        def prepare() -> None:
            hear_signals()
            if before is not None:
                before()

        self.folder = folder
        process = ChildProcess(
            [sys.executable, "-m", "lazysketch", "top", "-", *_SAVING, *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            preexec_fn=prepare,
        )
        self.process = process
        assert process.stdin is not None
        process.stdin.write("a\nb\na\n" * (ROWS // 3))
        process.stdin.flush()

        self._wait_until_counted()

    def _wait_until_counted(self) -> None:
        """Wait until a release of all rows was saved on the way, and remove it."""
        path = self.folder / RELEASE
        end = time.monotonic() + PATIENCE
        while not (path.exists() and Release.load(path).step == ROWS):
            assert time.monotonic() < end
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)
        path.unlink()

    def send(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def ended(self) -> Ended:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return Ended(self.process.returncode, out or "", err or "", self.folder)
