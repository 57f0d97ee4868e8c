"""Mutants of the Rust core: cargo-mutants names them, one build holds them all (``switches``).

Three stages, each for the mutants that the one before left. ``own`` runs the tests of the mutated
file, ``fast`` those of all files without the slowest, ``slow`` the slowest. Tests of time
(``mechanism/timing.rs``) are left out: they need a quiet machine, and a wrong number does not fail
them. A mutant that needs six times the usual time of the processor counts as timed out, and no
other stage tests it.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Final

from tools.mutants.builds import Build
from tools.mutants.mutant import Mutant, Outcome, State, digest, numbered
from tools.mutants.scope import CORE, ROOT
from tools.mutants.stages import STAGES, Run, Stage, own_tests
from tools.mutants.switches import Change, change_of

__all__ = ["Rust", "mutants_of"]

BUILD: Final = ROOT / "build/mutants"
TOOL: Final = ROOT / ".tools/bin/cargo-mutants"
TEST_MODULE: Final = "\n#[cfg(test)]\nmod tests {"
# Functions of rust/core/src/planted.rs and its users: no released build runs them.
PLANTING: Final = re.compile(r"\b(?:is_planted|plant(?:ed)?_\w+)\b")
POSITION: Final = re.compile(r"^[^:]+:\d+:\d+: ")
PROFILE: Final = "--profile=mutants"
SAVED_EVERY: Final = 20  # outcomes


def mutants_of(listing: str, sources: dict[str, str]) -> list[Mutant]:
    """Return the mutants of ``cargo mutants --list --json``.

    Args:
        listing: its output.
        sources: text of each file.
    """
    found = []
    for entry in json.loads(listing):
        number = int(entry["span"]["start"]["line"])
        line = sources[entry["file"]].splitlines()[number - 1].strip()
        mutation = POSITION.sub("", entry["name"])
        if PLANTING.search(mutation):
            continue
        found.append(Mutant(entry["file"], mutation, line, name=entry["name"], number=number))
    return numbered(found)


class Rust:
    """The core's mutants and their outcomes."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._saving = Lock()
        self._limits: dict[Run, int] = {}
        self._recorded = 0
        self._changes: dict[Mutant, Change] = {}
        trees = [BUILD / name for name in ("together", "alone")]
        self.sources = [self._copy(tree) for tree in trees][0]  # noqa: RUF015 - both are made
        self.texts = {name: text for name, text in self.sources.items() if name.startswith(CORE)}
        self._together, self._one = (Build(it, BUILD / "target", self.texts) for it in trees)
        self.code = {name: digest(text.split(TEST_MODULE)[0]) for name, text in self.texts.items()}
        core = (name for name in self.sources if name.startswith("rust/core/"))
        self.tests = digest(*(self.sources[name] for name in sorted(core)))

    @staticmethod
    def _copy(tree: Path) -> dict[str, str]:
        """Bring a copy up to date; unchanged files keep their times, so cargo builds little."""
        parts = ["Cargo.toml", "Cargo.lock", "rust", "benches/rust"]
        command = ["git", "ls-files", "-co", "--exclude-standard", "--", *parts]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
        for old in tree.rglob("*"):
            if old.is_file() and old.relative_to(tree).as_posix() not in names:
                old.unlink()
        for name in names:
            content, copy = (ROOT / name).read_bytes(), tree / name
            if not copy.exists() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
        texts = [name for name in names if name.endswith((".rs", ".toml"))]
        return {name: (ROOT / name).read_text(encoding="utf-8") for name in texts}

    def listed(self, patterns: Sequence[str], diff: Path | None = None) -> list[Mutant]:
        """Return the mutants of files of the core; of the lines of a diff, if there is one.

        Args:
            patterns: of paths below the sources of the core; their order is that of the mutants.
            diff: a file with a diff.
        """
        command: list[str | Path] = [TOOL, "mutants", "--list", "-d", self._one.tree]
        command += [f"--file={CORE}/{pattern}" for pattern in patterns]
        listing = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
        found = mutants_of(listing.stdout, self.texts)
        entries = {entry["name"]: entry for entry in json.loads(listing.stdout)}
        self._changes |= {it: change_of(entries[it.name], self.texts[it.file]) for it in found}
        paths = [f"{CORE}/{pattern}" for pattern in patterns]
        found.sort(key=lambda it: next(i for i, path in enumerate(paths) if matches(it.file, path)))
        if diff is None:
            return found
        command.append(f"--in-diff={diff}")
        # An empty diff is not an error here.
        named = subprocess.run(command, capture_output=True, text=True, check=False)
        names = set(named.stdout.splitlines())
        return [mutant for mutant in found if mutant.name in names]

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """Return what is known of a mutant."""
        return self.state.outcome(mutant, code=self.code[mutant.file], tests=self.tests)

    def test(
        self, mutants: Sequence[Mutant], deadline: float, *, stages: int = len(STAGES), jobs: int
    ) -> None:
        """Test the mutants of which nothing final is known, until the deadline.

        Args:
            mutants: the mutants.
            deadline: of ``time.monotonic()``.
            stages: how many of the stages run, from the first.
            jobs: mutants that are tested at a time.
        """
        waits = any(self._stage(mutant) in STAGES[:stages] for mutant in mutants)
        if not waits or time.monotonic() >= deadline:
            return
        numbers = self._compile({it: self._changes[it] for it in mutants if self._changes[it].fits})
        for stage in STAGES[:stages]:
            waiting = [mutant for mutant in mutants if self._stage(mutant) is stage]

            def tested(mutant: Mutant, stage: Stage = stage) -> None:
                if time.monotonic() < deadline:
                    self._record(stage, mutant, self._run(stage, mutant, numbers[mutant]))

            with ThreadPoolExecutor(jobs) as workers:
                list(workers.map(tested, [it for it in waiting if it in numbers]))
            for mutant in waiting:
                if mutant not in numbers and time.monotonic() < deadline:
                    self._record(stage, mutant, self._alone(stage, mutant))
            self.state.save()

    def _compile(self, changes: Mapping[Mutant, Change]) -> dict[Mutant, int]:
        """Compile mutants together and return their numbers."""
        # The numbers are those of all: a later run compiles nothing.
        numbers = {it: at for at, it in enumerate(changes, 1)}
        known = {it: changes[it] for it in changes if self.outcome(it) != "unviable"}
        for mutant in self._together.compile(known, numbers, PROFILE, "--tests"):
            self._record(STAGES[0], mutant, "unviable")
        self.state.save()
        return numbers

    def _alone(self, stage: Stage, mutant: Mutant) -> Outcome:
        """Compile one mutant and test it."""
        targets = stage.targets(own_tests(mutant.file, self.texts[mutant.file]))
        if not self._one.compile_one(mutant, self._changes[mutant], PROFILE, *targets):
            return "unviable"
        return self._run(stage, mutant, 0, self._one)

    def _run(
        self, stage: Stage, mutant: Mutant, number: int, build: Build | None = None
    ) -> Outcome:
        own = own_tests(mutant.file, self.texts[mutant.file])
        for run in stage.runs(tuple(self._together.programs), own):
            seconds = self._limit(run)
            outcome, _ = (build or self._together).outcome(run, number, seconds)
            if outcome != "survived":
                return outcome
        return "survived"

    def _limit(self, run: Run) -> int:
        """Return how many seconds of the processor a run may take; it passes without a mutant."""
        if run not in self._limits:
            outcome, cpu = self._together.outcome(run, 0, 3600)
            if outcome != "survived":
                raise RuntimeError(f"{run.program}: expected tests that pass without a mutant")
            self._limits[run] = int(3 + 6 * cpu)
        return self._limits[run]

    def _record(self, stage: Stage, mutant: Mutant, outcome: Outcome) -> None:
        with self._saving:
            final = stage is STAGES[-1] or outcome == "timeout"
            tests = self.tests if final else f"{stage.name}/{self.tests}"
            self.state.record(mutant, outcome, code=self.code[mutant.file], tests=tests)
            self._recorded += 1
            if self._recorded % SAVED_EVERY == 0:
                self.state.save()

    def left(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """Return those that one stage has left and another one still has to test."""
        return [mutant for mutant in mutants if self._stage(mutant) not in (None, STAGES[0])]

    def _stage(self, mutant: Mutant) -> Stage | None:
        """Return the stage that a mutant waits for: with other code or tests, the first."""
        if self.outcome(mutant) is not None:
            return None
        kept = self.state.outcomes.get(mutant.identity)
        if kept is None or kept["code"] != self.code[mutant.file]:
            return STAGES[0]
        done = [f"{stage.name}/{self.tests}" for stage in STAGES]
        return STAGES[done.index(kept["tests"]) + 1] if kept["tests"] in done else STAGES[0]


def matches(file: str, pattern: str) -> bool:
    """Return whether a path has the form of a pattern, with ``*`` within one part only."""
    return Path(file).match(pattern) and file.count("/") == pattern.count("/")
