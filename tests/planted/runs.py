"""Runs of tests with one bug planted: the build that has the switches, and one run per bug.

The build is a copy of the package with a native module of its own, in ``build/planted``; tests find
it through ``PYTHONPATH``, so the installed wheel stays as it is. Bugs that need no build are
planted in the package that this process has imported, which may not be the installed one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from tests import native_build
from tests.planted.planted_bug import SWITCH, PlantedBug

import lazysketch

ROOT = Path(__file__).parents[2]
_BUILT = native_build.package_with("planted")
_IMPORTED = Path(lazysketch.__file__).parents[1]
_FAILED = re.compile(r"\d+ failed\b")


@dataclass(frozen=True)
class Run:
    """What one run of a test with a bug planted showed.

    Args:
        bug: the planted bug.
        is_caught: True if the test ran and failed.
        seconds: duration, including the start of the interpreter.
        output: what the run printed.
    """

    bug: PlantedBug
    is_caught: bool
    seconds: float
    output: str


def build() -> None:
    """Compile the native module with all switches, and put it next to a copy of the package.

    Raises:
        CalledProcessError: the build failed.
    """
    native_build.build("planted")


def run(bug: PlantedBug, *, on_imported_package: bool = False) -> Run:
    """Run the test that must fail.

    Args:
        bug: the bug to plant.
        on_imported_package: no build is needed; for bugs of the package, which are patched in.

    Returns:
        What it showed.
    """
    started = time.monotonic()
    if bug.is_caught_by_core:
        done = _run(_cargo_command(bug.caught_by), planted=bug.name)
        is_caught = "test result: FAILED" in done.stdout
    else:
        package = _IMPORTED if on_imported_package else _BUILT
        done = _run(_pytest_command([bug.caught_by]), planted=bug.name, package=package)
        # Status 1 means that tests ran and failed; every other one, that none ran.
        is_caught = done.returncode == 1 and _FAILED.search(done.stdout) is not None
    output = done.stdout + done.stderr
    return Run(bug, is_caught, time.monotonic() - started, output)


def passes_without_bugs(bugs: Iterable[PlantedBug]) -> str | None:
    """Run all named tests with nothing planted.

    Args:
        bugs: their tests are run.

    Returns:
        None if all passed, otherwise what they printed.
    """
    in_core = {bug.caught_by for bug in bugs if bug.is_caught_by_core}
    in_python = {bug.caught_by for bug in bugs if not bug.is_caught_by_core}
    commands = [(_cargo_command(test), "1 passed") for test in sorted(in_core)]
    if in_python:
        commands.append((_pytest_command(sorted(in_python)), f"{len(in_python)} passed"))
    for command, wanted in commands:
        done = _run(command, planted="")
        if done.returncode != 0 or wanted not in done.stdout:
            return f"expected {wanted}, got\n{done.stdout}{done.stderr}"
    return None


def _cargo_command(test: str) -> list[str]:
    *crates, target, path = test.split()
    options = ["--package", *(crates or ["lazysketch-core"]), "--features", "planted"]
    options += ["--lib"] if target == "lib" else ["--test", target]
    return ["cargo", "test", "--locked", "--quiet", *options, "--", "--exact", path]


def _pytest_command(tests: list[str]) -> list[str]:
    options = ["-q", "-x", "--no-header", "-p", "tests.planted.plugin", "-p", "no:cacheprovider"]
    # That it fails is enough: comparing long lists for a message can take minutes.
    options += ["--hypothesis-profile=any-failure", "--assert=plain"]
    return [sys.executable, "-m", "pytest", *options, *tests]


def _run(command: list[str], *, planted: str, package: Path = _BUILT) -> CompletedProcess[str]:
    # ROOT first: a folder of installed packages may have one named tests.
    paths = os.pathsep.join(str(path) for path in (ROOT, package))
    environment = os.environ | {SWITCH: planted, "PYTHONPATH": paths}
    environment.pop("PYTEST_ADDOPTS", None)
    # A property that fails with a bug planted leaves no case for the tests without it.
    environment["PROPTEST_DISABLE_FAILURE_PERSISTENCE"] = "1"
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
