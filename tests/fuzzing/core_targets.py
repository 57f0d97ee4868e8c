"""The fuzz targets of the crates: ``rust/*/tests/fuzz.rs``, run with many cases by cargo."""

from __future__ import annotations

import os
import re
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Final

from tests.fuzzing.verdicts import Finding
from tests.fuzzing.watched import Slice
from tests.locations import ROOT

__all__ = ["core_slice", "core_targets"]

_CASES: Final = 20_000  # per property and run of the program
_PATIENCE: Final = 600.0  # seconds of one run of it


def core_targets() -> list[str]:
    """Return the names of the campaigns, one per crate with a target."""
    return [f"crate {path.parents[1].name}" for path in sorted(ROOT.glob("rust/*/tests/fuzz.rs"))]


@cache
def _program(campaign: str) -> str:
    """Compile the target of a crate, optimised, and return the program."""
    package = f"lazysketch-{campaign.removeprefix('crate ')}"
    command = [
        "cargo",
        "test",
        "--release",
        "--locked",
        "-p",
        package,
        "--test",
        "fuzz",
        "--no-run",
    ]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = re.findall(r"Executable .*\((.+)\)", built.stderr)
    return str(ROOT / found[0])


def core_slice(campaign: str, *, seed: str, first: int, seconds: float, folder: Path) -> Slice:
    """Run the properties of a crate for some seconds; ``first`` is the seed of the first run."""
    program = _program(campaign)
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    properties = listed.stdout.count(": test")
    done, end = Slice(first), time.monotonic() + seconds
    while done.following == first or time.monotonic() < end:
        found = _run(campaign, program, seed=seed, number=done.following, folder=folder)
        done.findings += [] if found is None else [found]
        done.cases += properties * _CASES
        done.following += 1
        if found is not None:
            break
    return done


def _run(campaign: str, program: str, *, seed: str, number: int, folder: Path) -> Finding | None:
    name = f"{seed}.{number}"
    variables = {"PROPTEST_CASES": str(_CASES), "PROPTEST_RNG_SEED": str(_number(seed) + number)}
    try:
        run = subprocess.run(
            [program, "--test-threads", "1"],
            env={**os.environ, **variables, "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return Finding(campaign, name, 0, "hang", "no end")
    if run.returncode == 0:
        return None
    return Finding(campaign, name, 0, "crash", (run.stdout + run.stderr)[-3000:])


def _number(seed: str) -> int:
    """Return a number that differs between seeds."""
    return int.from_bytes(seed.encode(), "little") % (1 << 40) << 20
