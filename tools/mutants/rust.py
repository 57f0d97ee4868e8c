"""Mutants of the Rust core, by cargo-mutants, on a copy of the workspace.

Three stages, each for the mutants that the one before left. ``unit`` runs the unit tests,
unoptimised and without the slowest: a few seconds per mutant. ``core`` adds the tests in
rust/core/tests, again without the slowest. ``all`` runs every test of the core, optimised as in
``make test``: a minute. Tests of time (``mechanism/timing.rs``) are left out: they need a quiet
machine, and a wrong number does not fail them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.mutants.mutant import Mutant, Outcome, State, digest, numbered
from tools.mutants.scope import CORE, ROOT

__all__ = ["Rust", "Stage", "mutants_of", "outcomes_of"]

BUILD: Final = ROOT / "build/mutants"
TOOL: Final = ROOT / ".tools/bin/cargo-mutants"
TEST_MODULE: Final = "\n#[cfg(test)]\nmod tests {"
# Functions of rust/core/src/planted.rs and its users: no released build runs them.
PLANTING: Final = re.compile(r"\b(?:is_planted|plant(?:ed)?_\w+)\b")
POSITION: Final = re.compile(r"^[^:]+:\d+:\d+: ")
FILES: Final[dict[str, Outcome]] = {
    "caught.txt": "killed",
    "missed.txt": "survived",
    "timeout.txt": "timeout",
    "unviable.txt": "unviable",
}


@dataclass(frozen=True)
class Stage:
    """Which tests run, how they are built, and how long they may take for one mutant."""

    name: str
    cargo: tuple[str, ...]
    skipped: tuple[str, ...]
    seconds: int
    profile: str = ""


SLOW: Final = (
    "timing",
    "draws_follow_the",
    "tails_follow_the",
    "a_sigma_wrong_by",
    "sensitivity_equals_its_definition",
)
SLOWER: Final = (
    *SLOW,
    "any_number_of_threads",
    "batches_of_every_type",
    "rows_equal_updates",
    "no_two_pushes",
)
STAGES: Final = (
    Stage("unit", ("--locked", "--lib"), SLOW, 120, "mutants"),
    Stage("core", ("--locked", "--tests"), SLOWER, 600, "mutants"),
    Stage("all", ("--locked", "--tests"), ("timing",), 900),
)


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


def outcomes_of(folder: Path, mutants: Iterable[Mutant]) -> dict[Mutant, Outcome]:
    """Read a folder ``mutants.out``, also of a run that was stopped."""
    names = {mutant.name: mutant for mutant in mutants}
    found: dict[Mutant, Outcome] = {}
    for file, outcome in FILES.items():
        path = folder / file
        for name in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            if name in names:
                found[names[name]] = outcome
    return found


class Rust:
    """The core's mutants and their outcomes."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.tree = BUILD / "tree"
        self._checked: set[str] = set()
        self.sources = self._copy()
        code = {name: text for name, text in self.sources.items() if name.startswith(CORE)}
        self._code = {name: digest(text.split(TEST_MODULE)[0]) for name, text in code.items()}
        core = (name for name in self.sources if name.startswith("rust/core/"))
        self._tests = digest(*(self.sources[name] for name in sorted(core)))

    def _copy(self) -> dict[str, str]:
        """Bring the copy up to date; unchanged files keep their times, so cargo builds little."""
        parts = ["Cargo.toml", "Cargo.lock", "rust", "benches/rust"]
        command = ["git", "ls-files", "-co", "--exclude-standard", "--", *parts]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
        for old in self.tree.rglob("*"):
            if old.is_file() and old.relative_to(self.tree).as_posix() not in names:
                old.unlink()
        for name in names:
            content, copy = (ROOT / name).read_bytes(), self.tree / name
            if not copy.exists() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
        texts = [name for name in names if name.endswith((".rs", ".toml"))]
        return {name: (ROOT / name).read_text(encoding="utf-8") for name in texts}

    def listed(self, patterns: Sequence[str], diff: Path | None = None) -> list[Mutant]:
        """Return the mutants of files of the core; of the lines of a diff, if there is one."""
        files = [f"--file={CORE}/{pattern}" for pattern in patterns]
        done = subprocess.run(
            [TOOL, "mutants", "--list", "--json", "-d", self.tree, "-p", "lazysketch-core", *files],
            capture_output=True,
            text=True,
            check=True,
        )
        mutants = mutants_of(done.stdout, self.sources)
        if diff is None:
            return mutants
        done = subprocess.run(
            [TOOL, "mutants", "--list", "-d", self.tree, *files, f"--in-diff={diff}"],
            capture_output=True,
            text=True,
            check=False,  # an empty diff is not an error here
        )
        names = set(done.stdout.splitlines())
        return [mutant for mutant in mutants if mutant.name in names]

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """Return what is known of a mutant."""
        return self.state.outcome(mutant, code=self._code[mutant.file], tests=self._tests)

    def test(self, mutants: Sequence[Mutant], deadline: float, *, quick: bool = False) -> None:
        """Test the mutants of which nothing final is known, until the deadline.

        Args:
            mutants: the mutants.
            deadline: of ``time.monotonic()``.
            quick: run the first stage only.
        """
        for stage in STAGES[: 1 if quick else None]:
            waiting = [mutant for mutant in mutants if self._stage(mutant) is stage]
            if waiting and time.monotonic() < deadline:
                tests = self._tests if stage is STAGES[-1] else f"{stage.name}/{self._tests}"
                for mutant, outcome in self._run(stage, waiting, deadline).items():
                    code = self._code[mutant.file]
                    self.state.record(mutant, outcome, code=code, tests=tests)
                self.state.save()

    def left(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """Return those that one stage has left and another one still has to test."""
        return [mutant for mutant in mutants if self._stage(mutant) not in (None, STAGES[0])]

    def _stage(self, mutant: Mutant) -> Stage | None:
        """Return the stage that a mutant waits for: with other code or tests, the first."""
        if self.outcome(mutant) is not None:
            return None
        kept = self.state.outcomes.get(mutant.identity)
        if kept is None or kept["code"] != self._code[mutant.file]:
            return STAGES[0]
        done = [f"{stage.name}/{self._tests}" for stage in STAGES]
        return STAGES[done.index(kept["tests"]) + 1] if kept["tests"] in done else STAGES[0]

    def _run(
        self, stage: Stage, mutants: Sequence[Mutant], deadline: float
    ) -> dict[Mutant, Outcome]:
        output = BUILD / "output" / stage.name
        output.mkdir(parents=True, exist_ok=True)
        config = output / "selected.toml"
        config.write_text(_config(stage, mutants), encoding="utf-8")
        first = stage.name not in self._checked
        self._checked.add(stage.name)
        command = [str(TOOL), "mutants", "--in-place", f"--dir={self.tree}"]
        command += [f"--config={config}", f"--output={output}", f"--timeout={stage.seconds}"]
        command += [
            "--package=lazysketch-core",
            "--colors=never",
            f"--baseline={'run' if first else 'skip'}",
        ]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD / "target")}
        stopped, log = False, output / "errors.log"
        with (
            log.open("w", encoding="utf-8") as errors,
            subprocess.Popen(command, env=environment, stderr=errors) as running,
        ):
            try:
                running.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                stopped = True
                running.send_signal(signal.SIGINT)  # it restores the file that it had changed
        if running.returncode not in (0, 2, 3) and not stopped:
            raise RuntimeError(
                f"cargo-mutants: expected tests that pass without a mutant, got status "
                f"{running.returncode}; see {log.relative_to(ROOT)}"
            )
        return outcomes_of(output / "mutants.out", mutants)


def _config(stage: Stage, mutants: Sequence[Mutant]) -> str:
    """Return the settings of one run: exactly these mutants, and the tests of the stage."""
    names = [f"^{re.escape(mutant.name)}$" for mutant in mutants]
    tests = ["--"]
    for name in stage.skipped:
        tests += ["--skip", name]
    lines = [
        # Deleted fields of structs are mutants whatever examine_re says.
        f"examine_globs = {json.dumps(sorted({mutant.file for mutant in mutants}))}",
        f"examine_re = {json.dumps(names)}",
        f"additional_cargo_args = {json.dumps(list(stage.cargo))}",
        f"additional_cargo_test_args = {json.dumps(tests)}",
    ]
    if stage.profile:
        lines.append(f"profile = {json.dumps(stage.profile)}")
    return "\n".join(lines) + "\n"
