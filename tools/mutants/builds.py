"""Builds of the core with mutants, and runs of its tests with one of them active."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tools.mutants.mutant import Mutant, Outcome
from tools.mutants.stages import Run
from tools.mutants.switches import ACTIVE, REACHED, SWITCH, Body, Change, switched

__all__ = ["FEWEST_CASES", "Build"]

ROUNDS: Final = 12  # the compiler reports errors of types first, then of borrows
MEMORY: Final = 8 << 30  # bytes per process: a mutant that allocates without end stops
FEWEST_CASES: Final = 32  # of a property test
ENVIRONMENT: Final = {
    "RUSTFLAGS": "--cap-lints=allow",
    "RUST_MIN_STACK": str(64 << 20),  # bodies side by side need more of it, unoptimised
    "PROPTEST_CASES": str(FEWEST_CASES),
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
}


class Build:
    """The core with mutants, in a copy of the workspace."""

    def __init__(self, tree: Path, target: Path, texts: Mapping[str, str]) -> None:
        self.tree, self.target, self.texts = tree, target, texts
        self.programs: dict[str, Path] = {}
        self.functions: dict[Mutant, int] = {}

    def compile(
        self, changes: Mapping[Mutant, Change], numbers: Mapping[Mutant, int], *options: str
    ) -> set[Mutant]:
        """Compile mutants into one library.

        Args:
            changes: the mutants, all within functions.
            numbers: what makes each active.
            options: of ``cargo test``.

        Returns:
            The mutants that do not compile.

        Raises:
            RuntimeError: the tests do not compile for another reason.
        """
        left = dict(changes)
        for _ in range(ROUNDS):
            bodies = self._write(left, numbers)
            places = self._cargo(options)
            wrong = {
                mutant
                for mutant, body in bodies.items()
                if any(
                    mutant.file == file and body.first <= line <= body.last for file, line in places
                )
            }
            if not places:
                self.functions = {mutant: body.function for mutant, body in bodies.items()}
                return set(changes) - set(left)
            if not wrong:
                raise RuntimeError(f"core with its mutants: expected it to compile, got {places}")
            left = {mutant: change for mutant, change in left.items() if mutant not in wrong}
        raise RuntimeError(f"core with its mutants: expected it to compile in {ROUNDS} rounds")

    def compile_one(self, mutant: Mutant, change: Change, *options: str) -> bool:
        """Compile the library with one mutant; return whether it compiles."""
        for file, text in self.texts.items():
            mutated = text[: change.span.start] + change.replacement + text[change.span.end :]
            self._put(file, mutated if file == mutant.file else text)
        return not self._cargo(options)

    def tests(self, program: str) -> list[str]:
        """Return the names of the tests of a program."""
        command = [str(self.programs[program]), "--list", "--format=terse"]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = (line.rpartition(": ") for line in listing.splitlines())
        return [name for name, _, kind in lines if kind == "test"]

    def outcome(
        self, run: Run, number: int, seconds: int, *, reached: Path | None = None
    ) -> tuple[Outcome, float]:
        """Return what tests say of a mutant, and the seconds of the processor that they took.

        The first failure ends the run. Zero is the library as it was compiled.

        Args:
            run: the tests.
            number: of the mutant.
            seconds: of the processor, after which a mutant counts as timed out.
            reached: a file that receives the functions that run.
        """

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        variables = {ACTIVE: str(number)} | ({REACHED: str(reached)} if reached else {})
        with subprocess.Popen(
            [self.programs[run.program], "--test-threads=1", "--exact", *run.tests],
            env={**os.environ, **ENVIRONMENT, **variables},
            cwd=self.tree / "rust/core",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=limit,
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                if line.startswith("test ") and line.rstrip().endswith("FAILED"):
                    os.kill(running.pid, signal.SIGKILL)  # Popen.kill would wait for it
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        cpu = used.ru_utime + used.ru_stime
        if running.returncode == 0:
            return "survived", cpu
        late = running.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and cpu >= seconds
        return ("timeout" if late else "killed"), cpu

    def _write(
        self, changes: Mapping[Mutant, Change], numbers: Mapping[Mutant, int]
    ) -> dict[Mutant, Body]:
        found = {}
        for file, text in self.texts.items():
            ours = {numbers[it]: it for it in changes if it.file == file}
            new, bodies = switched(text, {at: changes[it] for at, it in ours.items()})
            found.update({ours[at]: body for at, body in bodies.items()})
            self._put(file, new + (SWITCH if file.endswith("src/lib.rs") else ""))
        return found

    def _put(self, file: str, text: str) -> None:
        path = self.tree / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def _cargo(self, options: tuple[str, ...]) -> list[tuple[str, int]]:
        """Build tests; return the places of errors, or none and keep the programs."""
        command = ["cargo", "test", "--no-run", "--locked", "--package=lazysketch-core"]
        command += ["--message-format=json", *options]
        environment = {**os.environ, **ENVIRONMENT, "CARGO_TARGET_DIR": str(self.target)}
        done = subprocess.run(
            command, cwd=self.tree, env=environment, capture_output=True, text=True, check=False
        )
        places: list[tuple[str, int]] = []
        programs: dict[str, Path] = {}
        for line in done.stdout.splitlines():
            entry = json.loads(line)
            if entry["reason"] == "compiler-artifact" and entry["executable"]:
                programs[entry["target"]["name"]] = Path(entry["executable"])
            elif entry["reason"] == "compiler-message" and entry["message"]["level"] == "error":
                places += _places(entry["message"])
        if done.returncode and not places:
            raise RuntimeError(f"cargo: expected a build, got {done.stderr[-2000:]}")
        if not places:
            self.programs = programs
        return places


def _places(message: dict[str, list[dict[str, object]]]) -> list[tuple[str, int]]:
    """Return the file and line of an error, and of the macros around it."""
    found = []
    for outer in message["spans"]:
        span: dict[str, object] | None = outer if outer["is_primary"] else None
        while span is not None:
            found.append((str(span["file_name"]), int(str(span["line_start"]))))
            expansion = span["expansion"]
            span = expansion["span"] if isinstance(expansion, dict) else None
    return found
