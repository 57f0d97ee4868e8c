"""Tests of the core, and in which order they meet a mutant: the short ones first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["STAGES", "CoreTest", "Run", "Stage"]


@dataclass(frozen=True, order=True)
class CoreTest:
    """A test of the core.

    Attributes:
        program: the test program that contains it.
        name: its path within the program.
        seconds: of the processor that it takes without a mutant.
    """

    program: str
    name: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """Tests of one program that run in one process.

    Attributes:
        program: its name.
        tests: the names of the tests.
        seconds: of the processor that they take without a mutant.
    """

    program: str
    tests: tuple[str, ...]
    seconds: float

    @property
    def limit(self) -> int:
        """After how many seconds of the processor a mutant has timed out."""
        return math.ceil(0.5 + 4 * self.seconds)


@dataclass(frozen=True)
class Stage:
    """Tests by their time.

    Attributes:
        name: under which outcomes are kept.
        least: seconds of the processor that each test of the stage takes at least.
        below: they take less than this.
    """

    name: str
    least: float
    below: float

    def runs(self, tests: Iterable[CoreTest]) -> list[Run]:
        """Return what runs, the shortest first.

        Args:
            tests: those that can see the mutant.
        """
        programs: dict[str, list[CoreTest]] = {}
        for test in sorted(tests):
            if self.least <= test.seconds < self.below:
                programs.setdefault(test.program, []).append(test)
        found = [
            Run(program, tuple(test.name for test in ours), sum(test.seconds for test in ours))
            for program, ours in programs.items()
        ]
        return sorted(found, key=lambda run: run.seconds)


STAGES: Final = (
    Stage("short", 0.0, 0.1),
    Stage("medium", 0.1, 1.0),
    Stage("long", 1.0, float("inf")),
)
