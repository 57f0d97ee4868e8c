"""The paper's algorithms written plainly in Rust, for their times: nodes stored, a draw per update.

They are in ``benches/`` and reached through the program ``paper_algorithms``: where the environment
variable PAPER_ALGORITHMS says, or built by cargo if it is at hand. Ours cannot stand in for them,
because a batch of ours does no work per step and cell.
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
    """Return the program, or None where there is none.

    Args:
        build: whether to let cargo build it, half a minute for the first time.

    Returns:
        An executable.

    Raises:
        FileNotFoundError: the environment names a file that is not there.
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
    """One of the six sketches, written plainly.

    Args:
        sketch: its name in the paper.
        depth: rows.
        width: columns.
        horizon: steps that the trees have levels for.
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
        """Return the time of one event, and the levels of a cell's tree.

        Args:
            events: how many to take, a prefix of a stream of ``horizon`` steps.
            skew: of their Zipf law.
            seed: of the stream.

        Returns:
            Nanoseconds, and 0 levels for exact sketches.

        Raises:
            FileNotFoundError: the program is not there, and cannot be built.
        """
        found = program(build=True)
        if found is None:
            raise FileNotFoundError(f"{_NAME}: expected cargo to build it, got none")
        options = {**self._arguments, "events": events, "skew": skew, "seed": seed}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        done = subprocess.run([found, *words], capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        return float(answer["nanoseconds_per_event"]), int(answer["levels"])
