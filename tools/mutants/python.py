"""Mutants of the Python modules that compute noise and guarantees, by mutmut, on a copy.

mutmut puts all mutants of a function into one module and forks a process for each, which runs the
tests that reach the function: a second or less. The process that forks has only imported, so no
cache holds what the code without a mutant computed. The slow tests (``slow_tests``) meet only the
mutants that the others leave, in a process each. mutmut knows two layouts of packages, so the
copy has the package under src/. What changes the message of an error only is not counted.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tools.mutants.mutant import Mutant, Outcome, State, digest, numbered
from tools.mutants.scope import PYTHON, ROOT
from tools.mutants.slow_tests import SLOW

__all__ = ["Python", "functions_of", "mutants_of"]

TREE: Final = ROOT / "build/mutants/python"
TESTS: Final = ("privacy", "specification", "releases", "heavy_hitters", "windows")
OUTCOMES: Final[dict[int, Outcome]] = {0: "survived", 1: "killed", 3: "killed", 33: "survived"}
LONGEST: Final = 1800.0  # seconds of a clock that the slow tests may take
PORTION: Final = 150  # mutants of one run of mutmut
TIMEOUTS: Final = {24, 36, 152, 255, -24}
# Writes the mutants into TREE/mutants, as a run does before its tests; a file that has not changed
# is left alone.
GENERATE: Final = """\
from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants, setup_source_paths
from pathlib import Path
Path("mutants").mkdir(exist_ok=True)
copy_src_dir()
copy_also_copy_files()
setup_source_paths()
create_mutants(2)
"""
SETTINGS: Final = """\
[tool.mutmut]
source_paths = ["src/lazysketch"]
only_mutate = {files}
also_copy = {copied}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = {slow}
use_git_change_detection = false
use_setproctitle = false
process_isolation = "forkserver"
timeout_constant = 5.0

[tool.pytest.ini_options]
pythonpath = ["."]
addopts = ["--import-mode=importlib", "--hypothesis-profile=short", "-p", "no:cacheprovider"]
"""


def functions_of(code: str) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module and the methods of its classes, as mutmut names them."""
    found = {}
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef):
            found[f"x_{node.name}"] = node
        elif isinstance(node, ast.ClassDef):
            methods = (part for part in node.body if isinstance(part, ast.FunctionDef))
            found.update({f"xǁ{node.name}ǁ{method.name}": method for method in methods})
    return found


def slow_tests_of(folder: str) -> list[str]:
    """Return the slow tests whose path begins with a folder."""
    return [
        f"{file}::{name}" for file, ones in SLOW.items() if file.startswith(folder) for name in ones
    ]


class _WithoutMessages(ast.NodeTransformer):
    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            return ast.Raise(exc=node.exc.func, cause=node.cause)
        return node


def _without_messages(node: ast.FunctionDef) -> str:
    """Return what a function does, without its name and the messages of its errors."""
    plain = _WithoutMessages().visit(copy.deepcopy(node))
    return ast.dump(plain.args) + ast.dump(ast.Module(body=plain.body, type_ignores=[]))


def mutants_of(file: str, source: str, mutated: str) -> list[Mutant]:
    """Return the mutants of a module.

    Args:
        file: path from the root of the repository.
        source: its text.
        mutated: the text that mutmut made of it, with all mutants of every function.
    """
    functions = functions_of(source)
    lines = mutated.splitlines()
    nodes = {
        node.name: node
        for node in ast.walk(ast.parse(mutated))
        if isinstance(node, ast.FunctionDef)
    }
    plain: dict[str, str] = {}
    module = file.removeprefix("python/").removesuffix(".py").removesuffix("/__init__")

    def text(node: ast.FunctionDef) -> list[str]:
        return lines[node.lineno - 1 : node.end_lineno]

    def changes() -> Iterator[Mutant]:
        for name, node in nodes.items():
            original, mark, number = name.partition("__mutmut_")
            if not mark or number == "orig" or original not in functions:
                continue
            before = nodes[f"{original}__mutmut_orig"]
            if original not in plain:
                plain[original] = _without_messages(before)
            if _without_messages(node) == plain[original]:
                continue
            pairs = enumerate(zip_longest(text(before)[1:], text(node)[1:], fillvalue=""), 1)
            at, (old, new) = next(
                ((at, pair) for at, pair in pairs if pair[0] != pair[1]), (0, ("", ""))
            )
            shown = original.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
            yield Mutant(
                file,
                f"{shown}: {new.strip() or 'nothing'}",
                old.strip(),
                name=f"{module.replace('/', '.')}.{name}",
                number=functions[original].lineno + at,
            )

    return numbered(changes())


class Python:
    """The mutants of the Python modules and their outcomes."""

    def __init__(self, state: State) -> None:
        self.state = state
        listing = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        self._names = [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]
        wanted = (
            name for name in self._names if name.startswith(tuple(PYTHON)) and name.endswith(".py")
        )
        self._texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in wanted}
        tests = sorted(name for name in self._names if name.startswith("tests/"))
        texts = (name for name in tests if name.endswith(".py"))
        self.tests = digest(*((ROOT / name).read_text(encoding="utf-8") for name in texts))

        self._quick = f"quick/{self.tests}"
        self.code = {name: digest(text) for name, text in self._texts.items()}

    def _copy(self, files: Iterable[str]) -> None:
        shutil.rmtree(TREE / "src", ignore_errors=True)
        folders = ("tests", "docs", "tools", "rust", "experiments", "benches")
        for name in self._names:
            inner = name.replace("python/", "src/", 1) if name.startswith("python/") else name
            if name.startswith((*folders, "python/")):
                (TREE / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, TREE / inner)
        native = importlib.util.find_spec("lazysketch._native")
        if native is None or native.origin is None:
            raise RuntimeError("lazysketch: expected the installed wheel, got none")
        shutil.copy2(native.origin, TREE / "src/lazysketch")
        settings = SETTINGS.format(
            files=json.dumps([name.replace("python/", "src/", 1) for name in files]),
            copied=json.dumps([*folders[1:], f"src/lazysketch/{Path(native.origin).name}"]),
            tests=json.dumps([f"tests/unit/{name}" for name in TESTS]),
            slow=json.dumps([f"--deselect={test}" for test in slow_tests_of("")]),
        )
        (TREE / "pyproject.toml").write_text(settings, encoding="utf-8")

    def generate(self, files: Sequence[str]) -> list[Mutant]:
        """Return the mutants of some of the files, in the order of the files."""
        self._copy(files)
        command = [sys.executable, "-c", GENERATE]
        subprocess.run(command, cwd=TREE, check=True, stdout=subprocess.DEVNULL)
        return [mutant for name in files for mutant in self._read(name)]

    def test(
        self, mutants: Sequence[Mutant], deadline: float, *, stages: int = 2, jobs: int
    ) -> None:
        """Test the mutants of which nothing final is known, until the deadline.

        Args:
            mutants: the mutants.
            deadline: of ``time.monotonic()``.
            stages: 1 for the tests that are not slow only.
            jobs: mutants that are tested at a time.
        """
        unknown = [mutant for mutant in mutants if self.outcome(mutant) is None]
        waiting = [mutant for mutant in unknown if not self._is_left(mutant)]
        kept = TREE / "tests.digest"
        if not kept.exists() or kept.read_text(encoding="utf-8") != self.tests:
            (TREE / "mutants/mutmut-stats.json").unlink(missing_ok=True)  # which tests reach what
            kept.write_text(self.tests, encoding="utf-8")
        for first in range(0, len(waiting), PORTION):
            if time.monotonic() < deadline:
                self._run(waiting[first : first + PORTION], deadline, jobs)
        if stages > 1:
            left = [mutant for mutant in unknown if self._is_left(mutant)]
            with ThreadPoolExecutor(jobs) as workers:
                list(workers.map(lambda mutant: self._slowly(mutant, deadline), left))

    def _is_left(self, mutant: Mutant) -> bool:
        """Return whether the tests that are not slow have left a mutant."""
        kept = self.state.outcomes.get(mutant.identity)
        now = {"outcome": "survived", "code": self.code[mutant.file], "tests": self._quick}
        return kept == now

    def _slowly(self, mutant: Mutant, deadline: float) -> None:
        """Run the slow tests of the folder of a mutant."""
        slow = slow_tests_of(f"tests/unit/{Path(mutant.file).parts[2]}/")
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return
        environment = {**os.environ, "PYTHONPATH": "src", "MUTANT_UNDER_TEST": mutant.name}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--rootdir=.", *slow]
        outcome: Outcome = "survived"
        if slow:
            try:
                done = subprocess.run(
                    command,
                    cwd=TREE / "mutants",
                    env=environment,
                    capture_output=True,
                    check=False,
                    timeout=min(seconds, LONGEST),
                )
            except subprocess.TimeoutExpired:
                if seconds < LONGEST:
                    return
                outcome = "timeout"
            else:
                outcome = OUTCOMES[done.returncode]
        self.state.record(mutant, outcome, code=self.code[mutant.file], tests=self.tests)
        self.state.save()

    def _run(self, mutants: Sequence[Mutant], deadline: float, jobs: int) -> None:
        for file in {mutant.file for mutant in mutants}:
            self._forget(file, {mutant.name for mutant in mutants})
        command = [sys.executable, "-m", "mutmut", "run", f"--max-children={jobs}"]
        command += [mutant.name for mutant in mutants]
        environment = {**os.environ, "PYTHONPATH": ""}
        with (
            (TREE / "run.log").open("w", encoding="utf-8") as log,
            subprocess.Popen(command, cwd=TREE, env=environment, stdout=log, stderr=log) as running,
        ):
            stopped = False
            try:
                running.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                stopped = True
                running.send_signal(signal.SIGINT)
        if running.returncode and not stopped:
            raise RuntimeError(
                f"mutmut: expected tests that pass without a mutant, got status "
                f"{running.returncode}; see {(TREE / 'run.log').relative_to(ROOT)}"
            )
        for mutant in mutants:
            code = _exits(mutant.file).get(mutant.name)
            outcome = (
                None if code is None else "timeout" if code in TIMEOUTS else OUTCOMES.get(code)
            )
            if outcome is not None:
                own = self.code[mutant.file]
                self.state.record(mutant, outcome, code=own, tests=self._quick)
        self.state.save()

    @staticmethod
    def _forget(file: str, names: Collection[str]) -> None:
        """Remove what earlier runs found, which may be about other tests."""
        path = _meta(file)
        meta = json.loads(path.read_text(encoding="utf-8"))
        codes = meta["exit_code_by_key"]
        meta["exit_code_by_key"] = {
            name: None if name in names else code for name, code in codes.items()
        }
        path.write_text(json.dumps(meta), encoding="utf-8")

    def _read(self, file: str) -> list[Mutant]:
        mutated = _meta(file).with_suffix("")
        return mutants_of(file, self._texts[file], mutated.read_text(encoding="utf-8"))

    def files(self) -> list[str]:
        """Return the files that are mutated, in their order."""
        return sorted(self._texts, key=lambda name: (_rank(name), name))

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """Return what is known of a mutant."""
        code = self.code[mutant.file]
        return self.state.outcome(mutant, code=code, tests=self.tests)


def _meta(file: str) -> Path:
    """Return the file in which mutmut keeps what became of the mutants of a file."""
    path = TREE / "mutants" / file.replace("python/", "src/", 1)
    return path.with_name(path.name + ".meta")


def _exits(file: str) -> dict[str, int | None]:
    codes: dict[str, int | None] = json.loads(_meta(file).read_text(encoding="utf-8"))[
        "exit_code_by_key"
    ]
    return codes


def _rank(name: str) -> int:
    return next(rank for rank, part in enumerate(PYTHON) if name.startswith(part))
