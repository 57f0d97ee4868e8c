"""What is not committed is written by a thread of the store, which changes nothing but time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.store.lives import Lives, hitters, table

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError

# More than the writer waits for.
LARGE = np.arange(1 << 18, dtype=np.int64) << 30


def log_bytes(lives: Lives) -> int:
    return sum(file.stat().st_size for file in lives.folder.glob("log-*"))


def test_large_batches_are_written_before_a_commit(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sketch("a", table())
        before = log_bytes(lives)
        for _ in range(8):
            live.update_many(LARGE)
        # More than the 8 MiB that may wait; a thread of the store writes it.
        deadline = time.monotonic() + 60.0
        while log_bytes(lives) - before < 4 << 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert log_bytes(lives) - before >= 4 << 20
    with lives.open() as store:
        assert store.sketch("a", table()).step == 8 * len(LARGE)


def test_texts_of_many_batches_are_the_same_after_a_restart(lives: Lives) -> None:
    spec = table(schedule=ls.RoundRobin(horizon=9_000_000))
    texts = [f"item {number % 977}" for number in range(300_000)]
    with lives.open() as store:
        live = store.sketch("a", spec)
        for start in range(0, len(texts), 10_000):
            live.update_many(texts[start : start + 10_000])
        before = live.release().to_bytes()
    with lives.open() as store:
        again = store.sketch("a", spec)
        assert again.release().to_bytes() == before
        assert again.step == len(texts)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_ends_as_usual(tmp_path: Path) -> None:
    """It has the store's objects, and not its thread."""
    program = """
import os, sys
import numpy, lazysketch as ls
folder = sys.argv[1]
store = ls.open_store(folder + "/s", key=ls.Key.generate(), anchor=folder + "/anchor")
spec = ls.TableSpec(kind="count-min", depth=2, width=8, schedule=ls.Geometric(), epsilon=1.0,
                    delta=1e-6)
live = store.sketch("a", spec)
for _ in range(6):
    live.update_many(numpy.arange(1 << 17) << 40)
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    live.update_many(numpy.arange(1 << 17) << 40)
    store.close()
    print("closed")
else:
    sys.exit(3)
"""
    run = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("closed\n", 0), done.stderr


def test_fingerprints_belong_to_their_sketch(lives: Lives) -> None:
    with lives.open() as store:
        sketch = store.sketch("a", table())
        pages = store.heavy_hitters("b", hitters())
        numbers = store.counters("c", table("counters"))
        events = _native.logged_fingerprints(["x", b"y"], sketch)
        assert len(events) == 2
        for refused in (pages.update_many, numbers.update_many, lambda it: it.tolist()):
            with pytest.raises(ArgumentTypeError, match="got fingerprints of a sketch"):
                refused(events)
        assert events.size == 1 + 8 + 2 * 8
        for integers in ([1, 2], np.array([1, 2])):
            assert _native.logged_fingerprints(integers, sketch).tolist() == [1, 2]
        assert (pages.step, numbers.release().step) == (0, 0)
