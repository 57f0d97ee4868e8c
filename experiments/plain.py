"""The paper's algorithms in plain Rust, for timing: stored nodes, one draw per update.

They are compiled from ``benches/`` into the program ``paper_algorithms``, which is taken from the
environment variable PAPER_ALGORITHMS or built by cargo if that is installed. The library's own
sketches cannot replace them, because a batch does no work per step and cell.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["VARIABLE", "Plain", "program"]

VARIABLE = "PAPER_ALGORITHMS"
_ROOT = Path(__file__).parents[1]
_NAME = "paper_algorithms"
_CARGO = ("cargo", "build", "--release", "--locked", "--quiet", "--package", "lazysketch-benches")


@cache
def program(*, build: bool) -> Path | None:
    """Return the program, or None if it does not exist.

    Args:
        build: True to let cargo build it, which takes half a minute the first time.

    Returns:
        An executable.

    Raises:
        FileNotFoundError: the environment names a file that does not exist.
        subprocess.CalledProcessError: cargo failed.
    """
    if given := os.environ.get(VARIABLE):
        if not Path(given).is_file():
            raise FileNotFoundError(f"{VARIABLE}: expected an existing file, got none")
        return Path(given)
    target = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target"))
    built = target / "release" / _NAME
    if build and shutil.which("cargo"):
        subprocess.run([*_CARGO, "--bin", _NAME], cwd=_ROOT, check=True)
    return built if built.is_file() else None


class Plain:
    """One of the six sketches in plain Rust.

    Args:
        sketch: its name in the paper.
        depth: rows.
        width: columns.
        horizon: number of steps that the trees have levels for.
        sigma: standard deviation of a node's noise.
    """

    def __init__(self, sketch: str, *, depth: int, width: int, horizon: int, sigma: float) -> None:
        self._arguments = {
            "sketch": sketch,
            "depth": depth,
            "width": width,
            "horizon": horizon,
            "sigma": sigma,
        }

    def nanoseconds(self, events: int, *, skew: float, seed: int) -> tuple[float, int]:
        """Return the time of one event, and the number of levels of a cell's tree.

        Args:
            events: length of the prefix that is run, of a stream of ``horizon`` steps.
            skew: exponent of its Zipf distribution.
            seed: of the stream.

        Returns:
            Nanoseconds and levels; exact sketches have 0 levels.

        Raises:
            FileNotFoundError: the program does not exist and cannot be built.
        """
        found = program(build=True)
        if found is None:
            raise FileNotFoundError(f"{_NAME}: expected cargo to build it, got none")
        options = {**self._arguments, "events": events, "skew": skew, "seed": seed}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        done = subprocess.run([found, *words], capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        return float(answer["nanoseconds_per_event"]), int(answer["levels"])
