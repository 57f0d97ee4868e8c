"""Which functions each test of the core reaches, and how long it takes.

The build with all mutants writes down the functions that run, if it is asked to. A mutant meets the
tests that reach its function; one of a constant meets all.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutants.builds import Build
from tools.mutants.scope import READING
from tools.mutants.stages import CoreTest, Run

__all__ = ["Reached"]

TIMING = "timing"  # tests of time: they need a quiet machine, and no wrong number fails them
LONGEST = 3600  # seconds of the processor


def _is_wanted(program: str, name: str) -> bool:
    return TIMING not in name and program not in READING and name.split("::")[0] not in READING


@dataclass(frozen=True)
class _Measured:
    """One test: the digest of what it depends on, its seconds, the functions that it reaches."""

    code: str
    seconds: float
    functions: list[int]


@dataclass(frozen=True)
class Reached:
    """What was measured.

    Attributes:
        functions: of each test, the numbers of the functions that it reaches.
    """

    functions: Mapping[CoreTest, Collection[int]]

    def tests(self, function: int | None) -> list[CoreTest]:
        """Return the tests that reach a function; all of them for a constant."""
        if function is None:
            return list(self.functions)
        return [test for test, reached in self.functions.items() if function in reached]

    @classmethod
    def measured(
        cls, build: Build, codes: Mapping[str, str], kept: Path, *, below: float, jobs: int
    ) -> Reached:
        """Measure the tests of a build, except those that were measured with the same code.

        Args:
            build: with all mutants.
            codes: a digest per program, of all that its tests depend on.
            kept: the file with earlier measurements.
            below: seconds; tests that took as long or longer are not wanted.
            jobs: tests that run at a time.

        Raises:
            RuntimeError: a test fails without a mutant.
        """
        entries = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        known = {name: _Measured(**entry) for name, entry in entries.items()}
        names = [(program, name) for program in codes for name in build.tests(program)]
        names = [one for one in names if _is_wanted(*one)]
        # A test that has changed may have become shorter, but not by much.
        late = {
            name
            for name, it in known.items()
            if it.seconds >= 2 * below
            or (it.seconds >= below and it.code == codes.get(name.split()[0]))
        }
        names = [(program, name) for program, name in names if f"{program} {name}" not in late]

        def measure(one: tuple[str, str]) -> _Measured:
            program, name = one
            found = known.get(f"{program} {name}")
            if found and found.code == codes[program]:
                return found
            with TemporaryDirectory() as folder:
                path = Path(folder) / "reached"
                path.touch()
                run = Run(program, (name,), LONGEST)
                outcome, seconds = build.outcome(run, 0, LONGEST, reached=path)
                if outcome != "survived":
                    raise RuntimeError(f"{program}, {name}: expected to pass without a mutant")
                functions = sorted({int(line) for line in path.read_text("utf-8").split()})
            return _Measured(codes[program], seconds, functions)

        with ThreadPoolExecutor(jobs) as workers:
            measured = dict(zip(names, workers.map(measure, names), strict=True))
        known |= {f"{program} {name}": it for (program, name), it in measured.items()}
        entries = {name: asdict(it) for name, it in known.items()}
        kept.write_text(json.dumps(entries), encoding="utf-8")
        return cls(
            {
                CoreTest(program, name, it.seconds): frozenset(it.functions)
                for (program, name), it in measured.items()
            }
        )
