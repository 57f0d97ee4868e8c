"""Mutants of the Python modules that compute noise and guarantees, by mutmut, on a copy.

mutmut puts all mutants of a function into one module. A mutant meets the tests that reach its
function (``forked``), in three stages: tests of ten seconds together, those of its own folder
first; tests of another minute; the slow tests of its folder (``slow_tests``). Times are of the
processor. mutmut knows two layouts of packages, so the copy has the package under src/. What
changes the message of an error only is not counted.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Final

from tools.mutants.forked import Forked, PackageTest, Reaching, portion
from tools.mutants.mutant import Mutant, Outcome, State, digest, numbered
from tools.mutants.scope import PYTHON, ROOT
from tools.mutants.slow_tests import SLOW

__all__ = ["Python", "functions_of", "mutants_of"]

TREE: Final = ROOT / "build/mutants/python"
TESTS: Final = ("privacy", "specification", "releases", "ledger", "heavy_hitters", "windows")
STAGES: Final = ("quick", "more", "slow")
# Seconds of the tests of the first two stages, all tests in their order.
BETWEEN: Final = {"quick": (0.0, 10.0), "more": (10.0, 70.0)}
SLOWEST: Final = 100.0  # seconds of the processor of a slow test, roughly
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
use_git_change_detection = false

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

        files = tuple(f"tests/unit/{name}/test_" for name in TESTS)
        self._reaching = Reaching(
            TREE.with_name("reached_python.json"),
            {name: (ROOT / name).read_text("utf-8") for name in tests if name.startswith(files)},
        )
        self._saving = Lock()
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
        )
        (TREE / "pyproject.toml").write_text(settings, encoding="utf-8")

    def generate(self, files: Sequence[str]) -> list[Mutant]:
        """Return the mutants of some of the files, in the order of the files."""
        # mutmut makes all of them: it does not look again at a file that it has once left alone.
        self._copy(self.files())
        command = [sys.executable, "-c", GENERATE]
        subprocess.run(command, cwd=TREE, check=True, stdout=subprocess.DEVNULL)
        return [mutant for name in files for mutant in self._read(name)]

    def test(
        self, mutants: Sequence[Mutant], deadline: float, *, stages: int = 3, jobs: int
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
        servers: SimpleQueue[Forked] = SimpleQueue()
        for _ in range(jobs):
            servers.put(Forked(TREE / "mutants"))
        try:
            self._measure(servers)
            for stage in STAGES[:stages]:
                waiting = [it for it in mutants if self._stage(it) == stage]
                with ThreadPoolExecutor(jobs) as workers:

                    def tested(mutant: Mutant, stage: str = stage) -> None:
                        if time.monotonic() < deadline:
                            self._test(mutant, stage, servers)

                    list(workers.map(tested, waiting))
        finally:
            for _ in range(jobs):
                servers.get().close()

    def _measure(self, servers: SimpleQueue[Forked]) -> None:
        """Measure the files of tests that are new."""
        for file in self._reaching.missing:
            server = servers.get()
            try:
                slow = [f"{file}::{name}" for name in SLOW.get(file, ())]
                self._reaching.add(file, server.measured(file, slow))
            finally:
                servers.put(server)

    def _test(self, mutant: Mutant, stage: str, servers: SimpleQueue[Forked]) -> None:
        folder = f"tests/unit/{Path(mutant.file).parts[2]}/"
        reaching = self._reaching.tests(mutant.name.partition("__mutmut_")[0], folder)
        slow = [PackageTest(far=False, seconds=SLOWEST, name=it) for it in slow_tests_of(folder)]
        tests = slow if stage == STAGES[-1] else portion(reaching, *BETWEEN[stage])
        server = servers.get()
        try:
            outcome = server.outcome(mutant.name, tests)
        finally:
            servers.put(server)
        final = stage == STAGES[-1] or outcome == "timeout"
        under = self.tests if final else f"{stage}/{self.tests}"
        with self._saving:
            self.state.record(mutant, outcome, code=self.code[mutant.file], tests=under)
            self.state.save()

    def _stage(self, mutant: Mutant) -> str | None:
        """Return the stage that a mutant waits for: with other code or tests, the first."""
        if self.outcome(mutant) is not None:
            return None
        kept = self.state.outcomes.get(mutant.identity)
        done = [f"{stage}/{self.tests}" for stage in STAGES]
        if kept is None or kept["code"] != self.code[mutant.file] or kept["tests"] not in done:
            return STAGES[0]
        return STAGES[done.index(kept["tests"]) + 1]

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


def _rank(name: str) -> int:
    return next(rank for rank, part in enumerate(PYTHON) if name.startswith(part))
