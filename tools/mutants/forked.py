"""Runs of tests of the package with one mutant, and which tests reach which function."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.mutants.mutant import Outcome, digest

__all__ = ["Forked", "PackageTest", "Reaching", "portion"]

SERVER: Final = Path(__file__).with_name("fork_server.py")
IMPORTS: Final = 20.0  # seconds of the processor that a run takes for its imports, at most
LONGEST: Final = 1800
MEASURING: Final = "stats"
IN_IMPORT: Final = (
    "\nERROR tests/"  # a file of tests calls what it tests, and could not be imported
)
# pytest's statuses: all passed; one failed, or a file of tests could not be imported.
OUTCOMES: Final[dict[int, Outcome]] = {0: "survived", 1: "killed", 2: "killed", 3: "killed"}


@dataclass(frozen=True, order=True)
class PackageTest:
    """A test of the package; those of the mutant's own folder come first, then the short ones.

    Attributes:
        far: whether it is a test of another folder.
        seconds: of the processor that it takes without a mutant.
        name: as pytest names it.
    """

    far: bool
    seconds: float
    name: str


def portion(tests: Iterable[PackageTest], start: float, end: float) -> list[PackageTest]:
    """Return the tests, one after the other, that begin within some seconds of all together."""
    found, passed = [], 0.0
    for test in sorted(tests):
        if start <= passed < end:
            found.append(test)
        passed += test.seconds
    return found


class Forked:
    """A process in a tree with mutants, which forks for each run of tests."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
        self._server = subprocess.Popen(
            [sys.executable, str(SERVER)],
            cwd=tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # Of each server its own: another one would cut it short while it is read.
        self._log = tree.parent / f"tests-{self._server.pid}.log"

    def close(self) -> None:
        """End the process."""
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait()
        self._log.unlink(missing_ok=True)

    def _ask(
        self, mutant: str, tests: list[str], seconds: int, into: Path | None = None
    ) -> dict[str, float]:
        request = {"mutant": mutant, "tests": tests, "seconds": seconds}
        request |= {"into": str(into) if into else "", "log": str(self._log)}
        if self._server.stdin is None or self._server.stdout is None:
            raise RuntimeError("fork server: expected its pipes, got none")
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer: dict[str, float] = json.loads(self._server.stdout.readline())
        return answer

    def outcome(self, mutant: str, tests: Iterable[PackageTest]) -> Outcome:
        """Return what tests say of a mutant; the first failure ends the run.

        A failure counts if it comes again: one that comes now and then says nothing of the mutant.

        Args:
            mutant: as mutmut names it; empty for none.
            tests: they pass without a mutant.

        Raises:
            RuntimeError: pytest did not run the tests.
        """
        ordered = sorted(tests)
        if not ordered:
            return "survived"
        outcome = self._outcome(mutant, ordered)
        return self._outcome(mutant, ordered) if outcome == "killed" else outcome

    def _outcome(self, mutant: str, ordered: list[PackageTest]) -> Outcome:
        limit = math.ceil(IMPORTS + 4 * sum(test.seconds for test in ordered))
        answer = self._ask(mutant, [test.name for test in ordered], limit)
        status = int(answer["status"])
        if answer["late"] or status in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout"
        if status in (4, 5):
            text = self._log.read_text(encoding="utf-8", errors="replace")
            if IN_IMPORT in text:
                return "killed"
            raise RuntimeError(f"pytest: expected to find tests of {mutant}, got {text[-2000:]}")
        return OUTCOMES.get(status, "killed")

    def measured(self, file: str, without: Iterable[str]) -> dict[str, tuple[float, list[str]]]:
        """Return the seconds of each test of a file, and the functions that it reaches.

        Args:
            file: of tests.
            without: names of tests that do not run.

        Raises:
            RuntimeError: a test fails without a mutant.
        """
        into = self._tree.parent / "measured.json"
        left_out = [f"--deselect={name}" for name in without]
        answer = self._ask(MEASURING, [file, "-m", "not long", *left_out], LONGEST, into)
        if answer["status"] not in (0, 5):
            text = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"{file}: expected tests that pass without a mutant, got {text}")
        found: dict[str, tuple[float, list[str]]] = json.loads(into.read_text(encoding="utf-8"))
        return found


class Reaching:
    """Which tests reach a function; measured again when the file of the tests changes."""

    def __init__(self, path: Path, files: Mapping[str, str]) -> None:
        """Read what earlier runs measured.

        Args:
            path: of the file that keeps it.
            files: of tests, with their text.
        """
        self._path = path
        self._codes = {name: digest(text) for name, text in files.items()}
        kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
        self._files = {
            name: entry for name, entry in kept.items() if entry["code"] == self._codes.get(name)
        }

    @property
    def missing(self) -> list[str]:
        """Files that have not been measured."""
        return [name for name in self._codes if name not in self._files]

    def add(self, file: str, tests: Mapping[str, tuple[float, list[str]]]) -> None:
        """Keep what was measured of a file."""
        self._files[file] = {"code": self._codes[file], "tests": tests}
        self._path.write_text(json.dumps(self._files), encoding="utf-8")

    def tests(self, function: str, folder: str) -> list[PackageTest]:
        """Return the tests that reach a function; if none is known to, all of its folder.

        Args:
            function: as mutmut names it.
            folder: where the tests of its module are.
        """
        every = [
            (PackageTest(not file.startswith(folder), seconds, name), reached)
            for file, entry in self._files.items()
            for name, (seconds, reached) in entry["tests"].items()
        ]
        found = [test for test, reached in every if function in reached]
        return found or [test for test, _ in every if not test.far]
