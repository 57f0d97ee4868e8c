"""Runs that follow a growing log until they are ended."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.unit.cli.run.test_states import PATIENCE

__all__ = ["end_while_following"]


def end_while_following(
    command: list[str],
    number: signal.Signals,
    *,
    state: Path,
    grow: Callable[[], None],
    chance: Random,
) -> None:
    """Start a run, let its log grow while it counts, and end it at a random moment.

    Args:
        command: the run, with ``--follow``.
        number: of the signal that ends it.
        state: folder of its state. Once a file in it has changed, the run counts.
        grow: adds rows to the log.
        chance: chooses when the run ends after that, at most a little more than a second later:
            what is counted is durable within a second.
    """
    before = _files(state)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    patience = time.monotonic() + PATIENCE
    while _files(state) == before and process.poll() is None:
        assert time.monotonic() < patience
        grow()
        time.sleep(0.02)
    end = time.monotonic() + chance.uniform(0.1, 1.3)
    while time.monotonic() < end:
        grow()
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if number == signal.SIGINT else -number), err


def _files(folder: Path) -> list[tuple[str, int, int]]:
    """Return the name, the size and the time of each file that is still there."""
    found = []
    for path in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):  # the run renames and removes files
            facts = path.stat()
            found.append((str(path), facts.st_size, facts.st_mtime_ns))
    return found
