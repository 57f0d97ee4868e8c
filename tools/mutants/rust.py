"""Mutants of the Rust core: cargo-mutants names them, one build holds them all (``switches``).

A mutant meets the tests that reach its function (``reached``), in three stages: the short tests,
those of a second, and the long ones, each for the mutants that the one before left. The first
failure ends it. A mutant that needs four times the usual time of the processor, and half a
second, counts as timed out, and no other stage tests it. An accepted survivor does not meet the
long tests: its reason is an argument, and they take a minute.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Final

from tools.mutants.builds import FEWEST_CASES, Build
from tools.mutants.listed import Listed
from tools.mutants.mutant import Mutant, Outcome, State, digest, numbered
from tools.mutants.passed import Passed
from tools.mutants.reached import Reached
from tools.mutants.scope import CORE, ROOT
from tools.mutants.stages import STAGES, Stage
from tools.mutants.switches import Change, change_of

__all__ = ["Rust", "mutants_of"]

BUILD: Final = ROOT / "build/mutants"
TOOL: Final = ROOT / ".tools/bin/cargo-mutants"
TEST_MODULE: Final = "\n#[cfg(test)]\nmod tests {"
# Functions of rust/core/src/planted.rs and its users: no released build runs them.
PLANTING: Final = re.compile(r"\b(?:is_planted|plant(?:ed)?_\w+)\b")
# From here to the end of the block, code says when and how a bug is planted.
PLANTED_IF: Final = re.compile(r"\bif planted!\(\"[^\"]*\"\)(?: && [^{|]+)? \{")
PLANTED_AND: Final = re.compile(r"\bplanted!\(\"[^\"]*\"\) && ")
POSITION: Final = re.compile(r"^[^:]+:\d+:\d+: ")
UNIT: Final = "lazysketch_core"  # the program of the unit tests
PROFILE: Final = "--profile=mutants"
CASES: Final = re.compile(rb"\bwith_cases\((\d+)\)")
SAVED_EVERY: Final = 20  # outcomes


def fewer(cases: re.Match[bytes]) -> bytes:
    """Return the configuration of a property test with an eighth of its cases."""
    return b"with_cases(%d)" % max(FEWEST_CASES, int(cases[1]) // 8)


def mutants_of(listing: str, sources: dict[str, str]) -> list[Mutant]:
    """Return the mutants of ``cargo mutants --list --json``.

    Args:
        listing: its output.
        sources: text of each file.
    """
    found = []
    for entry in json.loads(listing):
        number, column = (int(entry["span"]["start"][at]) for at in ("line", "column"))
        text = sources[entry["file"]]
        mutation = POSITION.sub("", entry["name"])
        if PLANTING.search(mutation) or is_planting(text, number, column):
            continue
        line = text.splitlines()[number - 1].strip()
        found.append(Mutant(entry["file"], mutation, line, name=entry["name"], number=number))
    return numbered(found)


def is_planting(text: str, number: int, column: int) -> bool:
    """Return whether code runs only if a bug is planted.

    Args:
        text: of a file.
        number: of a line, from 1.
        column: in it, from 1.
    """
    lines = text.splitlines(keepends=True)
    if any(column > found.end() for found in PLANTED_AND.finditer(lines[number - 1])):
        return True
    place = sum(len(line) for line in lines[: number - 1]) + column - 1
    for found in PLANTED_IF.finditer(text):
        end, depth = found.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if found.end() <= place < end:
            return True
    return False


class Rust:
    """The core's mutants and their outcomes."""

    def __init__(self, state: State, entries: Sequence[Listed] = ()) -> None:
        self.state = state
        self._entries = entries
        self._passed: Passed | None = None
        self._saving = Lock()
        self._reached = Reached({})
        self._recorded = 0
        self._changes: dict[Mutant, Change] = {}
        trees = [BUILD / name for name in ("together", "alone")]
        self.sources = [self._copy(tree) for tree in trees][0]  # noqa: RUF015 - both are made
        self.texts = {name: text for name, text in self.sources.items() if name.startswith(CORE)}
        # Cargo gives the programs of both the same names.
        targets = (BUILD / "target", BUILD / "target-alone")
        self._together, self._one = map(Build, trees, targets, (self.texts, self.texts))
        self.code = {name: digest(text.split(TEST_MODULE)[0]) for name, text in self.texts.items()}
        core = (name for name in self.sources if name.startswith("rust/core/"))
        self.tests = digest(*(self.sources[name] for name in sorted(core)))

    @staticmethod
    def _copy(tree: Path) -> dict[str, str]:
        """Bring a copy up to date; unchanged files keep their times, so cargo builds little."""
        # The releases are read by tests.
        parts = ["Cargo.toml", "Cargo.lock", "rust", "benches/rust", "tests/golden/releases"]
        command = ["git", "ls-files", "-co", "--exclude-standard", "--", *parts]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
        for old in tree.rglob("*"):
            if old.is_file() and old.relative_to(tree).as_posix() not in names:
                old.unlink()
        for name in names:
            content, copy = (ROOT / name).read_bytes(), tree / name
            if name.endswith(".rs"):
                content = CASES.sub(fewer, content)
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
        found = self.state.outcome(mutant, code=self.code[mutant.file], tests=self.tests)
        if found is None and self._stage(mutant) is None:
            return "survived"
        return found

    def _is_listed(self, mutant: Mutant) -> bool:
        return any(entry.covers(mutant) for entry in self._entries)

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
        if all(self._stage(it) is None for it in mutants) or time.monotonic() >= deadline:
            return
        numbers = self._compile(STAGES[stages - 1].below, jobs)
        for stage in STAGES[:stages]:
            waiting = [mutant for mutant in mutants if self._stage(mutant) is stage]

            def tested(mutant: Mutant, stage: Stage = stage) -> None:
                if time.monotonic() < deadline:
                    found = self._run(stage, mutant, numbers[mutant], self._together)
                    self._record(stage, mutant, found)

            with ThreadPoolExecutor(jobs) as workers:
                list(workers.map(tested, [it for it in waiting if self._changes[it].fits]))
            self._save()
        # Each of these costs a build.
        for mutant in mutants:
            if not self._changes[mutant].fits:
                for stage in STAGES[:stages]:
                    if self._stage(mutant) is stage and time.monotonic() < deadline:
                        self._record(stage, mutant, self._alone(stage, mutant))
        self._save()

    def _compile(self, below: float, jobs: int) -> dict[Mutant, int]:
        """Compile all mutants together, measure the tests and return the numbers."""
        fitting = {mutant: change for mutant, change in self._changes.items() if change.fits}
        numbers = {mutant: at for at, mutant in enumerate(fitting, 1)}
        known = {it: change for it, change in fitting.items() if self.outcome(it) != "unviable"}
        for mutant in self._together.compile(known, numbers, PROFILE, "--tests"):
            self._record(STAGES[0], mutant, "unviable")
        self.state.save()
        codes = self._codes()
        self._passed = Passed(BUILD / "passed.json", codes)
        self._reached = Reached.measured(
            self._together, codes, BUILD / "reached.json", below=below, jobs=jobs
        )
        return numbers

    def _codes(self) -> dict[str, str]:
        """Return a digest per program, of all that its tests depend on."""
        switched = {name: (self._together.tree / name).read_text("utf-8") for name in self.texts}
        core = (name for name in sorted(switched) if not name.endswith("/tests.rs"))
        plain = (switched[name].split(TEST_MODULE)[0] for name in core)
        code = digest(*plain)
        rest = {name: text for name, text in self.sources.items() if name not in self.texts}
        found = {}
        for program in self._together.programs:
            if program == UNIT:
                found[program] = digest(*(switched[name] for name in sorted(switched)))
            else:
                others = {f"rust/core/tests/{other}.rs" for other in self._together.programs}
                others.remove(f"rust/core/tests/{program}.rs")
                found[program] = digest(code, *(rest[it] for it in sorted(rest.keys() - others)))
        return found

    def _alone(self, stage: Stage, mutant: Mutant) -> Outcome:
        """Compile one mutant and test it: first by the unit tests, which are built sooner."""
        for targets in ("--lib", "--tests"):
            if not self._one.compile_one(mutant, self._changes[mutant], PROFILE, targets):
                return "unviable"
            outcome = self._run(stage, mutant, 0, self._one)
            if outcome != "survived":
                break
        return outcome

    def _run(self, stage: Stage, mutant: Mutant, number: int, build: Build) -> Outcome:
        assert self._passed is not None
        for run in stage.runs(self._reached.tests(self._together.functions.get(mutant))):
            if run.program in build.programs and not self._passed.has(mutant, run):
                outcome, _ = build.outcome(run, number, run.limit)
                if outcome != "survived":
                    return outcome
                with self._saving:
                    self._passed.add(mutant, run)
        return "survived"

    def _record(self, stage: Stage, mutant: Mutant, outcome: Outcome) -> None:
        with self._saving:
            final = stage is STAGES[-1] or outcome == "timeout"
            tests = self.tests if final else f"{stage.name}/{self.tests}"
            self.state.record(mutant, outcome, code=self.code[mutant.file], tests=tests)
            self._recorded += 1
            if self._recorded % SAVED_EVERY == 0:
                self._save()

    def _save(self) -> None:
        self.state.save()
        if self._passed is not None:
            self._passed.save()

    def left(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """Return those that one stage has left and another one still has to test."""
        return [mutant for mutant in mutants if self._stage(mutant) not in (None, STAGES[0])]

    def _stage(self, mutant: Mutant) -> Stage | None:
        """Return the stage that a mutant waits for: with other code or tests, the first."""
        code = self.code[mutant.file]
        if self.state.outcome(mutant, code=code, tests=self.tests) is not None:
            return None
        kept = self.state.outcomes.get(mutant.identity)
        if kept is None or kept["code"] != code:
            return STAGES[0]
        done = [f"{stage.name}/{self.tests}" for stage in STAGES]
        following = STAGES[done.index(kept["tests"]) + 1] if kept["tests"] in done else STAGES[0]
        return None if following is STAGES[-1] and self._is_listed(mutant) else following


def matches(file: str, pattern: str) -> bool:
    """Return whether a path has the form of a pattern, with ``*`` within one part only."""
    return Path(file).match(pattern) and file.count("/") == pattern.count("/")
