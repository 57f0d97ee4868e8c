"""Which tests of the core meet a mutant, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tools.mutants.scope import CORE

__all__ = ["STAGES", "Run", "Stage", "own_tests"]

UNIT: Final = "lazysketch_core"  # the program of the unit tests
TIMING: Final = ("--skip", "timing")
# Statistics of many draws and searches through all inputs.
SLOW: Final = (
    "draws_follow_the",
    "tails_follow_the",
    "a_sigma_wrong_by",
    "sensitivity_equals_its_definition",
    "any_number_of_threads",
    "batches_of_every_type",
    "rows_equal_updates",
    "no_two_pushes",
)
FAST: Final = (*TIMING, *(word for name in SLOW for word in ("--skip", name)))
# The program in rust/core/tests that is about files without unit tests.
ABOUT: Final = {
    "discovery": "discovery",
    "release": "codec",
    "schedule": "sketches",
    "sketch": "sketches",
    "table": "sketches",
}


@dataclass(frozen=True)
class Run:
    """One test program and which of its tests run."""

    program: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """Tests that run together.

    Attributes:
        name: under which outcomes are kept.
        own: only those of the mutated file.
        slow: the slow tests, instead of all others.
    """

    name: str
    own: bool = False
    slow: bool = False

    def runs(self, programs: Sequence[str], own: Run) -> list[Run]:
        """Return what runs.

        Args:
            programs: the names of all.
            own: the tests of the mutated file.
        """
        if self.own:
            return [own]
        arguments = (*SLOW, *TIMING) if self.slow else FAST
        return [Run(name, arguments) for name in sorted(programs)]

    def targets(self, own: Run) -> tuple[str, ...]:
        """Return the options with which cargo builds the programs."""
        if not self.own:
            return ("--tests",)
        return ("--lib",) if own.program == UNIT else (f"--test={own.program}",)


STAGES: Final = (Stage("own", own=True), Stage("fast"), Stage("slow", slow=True))


def own_tests(file: str, text: str) -> Run:
    """Return the fast tests of a file.

    Args:
        file: path of the mutated file.
        text: its text.

    Returns:
        The unit tests of its module; without any, the program that is about its folder.
    """
    inner = PurePosixPath(file).relative_to(CORE).with_suffix("")
    if "#[cfg(test)]\nmod tests" in text:
        return Run(UNIT, ("".join(f"{part}::" for part in inner.parts if part != "mod"), *FAST))
    program = ABOUT.get(inner.parts[0])
    return Run(program, FAST) if program else Run(UNIT, FAST)
