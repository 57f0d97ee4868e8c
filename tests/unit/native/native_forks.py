"""Forks by native code, each in an interpreter of its own.

No hook of Python runs in such a fork. The child of a process with other threads of Python may wait
for ever for what one of them held; an interpreter that has just begun has none.

    python -m tests.unit.native.native_forks [BATCH] CALL

prints the name of the error that the child got.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import lazysketch as ls

__all__ = ["BATCHES", "CALLS", "READS", "outcome_of"]

CALLS: Final[dict[str, Callable[[Any], object]]] = {
    "estimate": lambda sketch: sketch.estimate(1),
    "estimate_many": lambda sketch: sketch.estimate_many([1]),
    "release": lambda sketch: sketch.release(),
    "update_many": lambda sketch: sketch.update_many(range(1000)),
    "tick": lambda sketch: sketch.tick(),
}
READS: Final[dict[str, Callable[[Any], object]]] = {
    **{name: CALLS[name] for name in ("estimate", "estimate_many", "release")},
    "interval": lambda sketch: sketch.interval(1),
    "top": lambda heavy: heavy.top(1),
}
BATCHES: Final[dict[str, Any]] = {"int": [1], "str": ["a"], "array": np.arange(256)}

_ROOT: Final = Path(__file__).parents[3]
_PATIENCE: Final = 60.0
_PRIVACY: Final[dict[str, Any]] = {"epsilon": 1.0, "delta": 1e-6}


def outcome_of(*names: str) -> str:
    """Return the name of the error that a forked child gets, or 'nothing'."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, *names],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=4 * _PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _run(names: list[str]) -> None:
    """Print what a child gets, and see that its parent goes on."""
    *batch, call = names
    sketch: Any = (
        ls.HeavyHitters(share=0.2, discovery_epoch=4, width=8, **_PRIVACY)
        if call == "top"
        else ls.LazyCountMin(depth=2, width=8, **_PRIVACY)
    )

    def action() -> None:
        for name in batch:
            sketch.update(1)
            sketch.update_many(BATCHES[name])
        ({**CALLS, **READS})[call](sketch)

    sys.stdout.write(_in_child(action))
    action()


def _in_child(action: Callable[[], object]) -> str:
    reader, writer = os.pipe()
    child = ctypes.PyDLL(None).fork()
    if child == 0:
        try:
            action()
            outcome = "nothing"
        except BaseException as error:
            outcome = type(error).__name__
        os.write(writer, outcome.encode())
        os._exit(0)
    os.close(writer)
    end = time.monotonic() + _PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.01)
    with os.fdopen(reader) as pipe:
        return pipe.read() or "no end"


if __name__ == "__main__":
    _run(sys.argv[1:])
