"""Mutants of the Python modules that compute noise and guarantees, by mutmut, on a copy.

mutmut puts all mutants of a function into one module and forks a process for each, which runs the
tests that reach the function: a second or less. It knows two layouts of packages, so the copy has
the package under src/. What changes the message of an error only is not counted. Hypothesis runs
with its profile "ci", without deadlines: a busy machine must not seem to kill a mutant.
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
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tools.mutants.mutant import Mutant, Outcome, State, digest, numbered
from tools.mutants.scope import PYTHON, ROOT

__all__ = ["Python", "functions_of", "mutants_of"]

TREE: Final = ROOT / "build/mutants/python"
TESTS: Final = ("privacy", "specification", "releases", "heavy_hitters", "windows")
OUTCOMES: Final[dict[int, Outcome]] = {0: "survived", 1: "killed", 3: "killed", 33: "survived"}
TIMEOUTS: Final = {24, 36, 152, 255, -24}
SETTINGS: Final = """\
[tool.mutmut]
source_paths = ["src/lazysketch"]
only_mutate = {files}
also_copy = {copied}
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
use_setproctitle = false

[tool.pytest.ini_options]
pythonpath = ["."]
addopts = ["--import-mode=importlib", "--hypothesis-profile=ci", "-p", "no:cacheprovider"]
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


class _WithoutMessages(ast.NodeTransformer):
    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            return ast.Raise(exc=node.exc.func, cause=node.cause)
        return node


def _said_only(one: ast.FunctionDef, other: ast.FunctionDef) -> bool:
    """Return whether two functions differ in the messages of their errors only."""
    plain = [_WithoutMessages().visit(copy.deepcopy(node)) for node in (one, other)]
    bodies = [ast.dump(ast.Module(body=node.body, type_ignores=[])) for node in plain]
    return bodies[0] == bodies[1] and ast.dump(one.args) == ast.dump(other.args)


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
    module = file.removeprefix("python/").removesuffix(".py").removesuffix("/__init__")

    def text(node: ast.FunctionDef) -> list[str]:
        return lines[node.lineno - 1 : node.end_lineno]

    def changes() -> Iterator[Mutant]:
        for name, node in nodes.items():
            original, mark, number = name.partition("__mutmut_")
            if not mark or number == "orig" or original not in functions:
                continue
            before = nodes[f"{original}__mutmut_orig"]
            if _said_only(before, node):
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
        wanted = (name for name in self._names if name.startswith(PYTHON) and name.endswith(".py"))
        self._code = {name: (ROOT / name).read_text(encoding="utf-8") for name in wanted}
        tests = sorted(name for name in self._names if name.startswith("tests/"))
        texts = (name for name in tests if name.endswith(".py"))
        self._tests = digest(*((ROOT / name).read_text(encoding="utf-8") for name in texts))

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
        )
        (TREE / "pyproject.toml").write_text(settings, encoding="utf-8")

    def test(self, files: Iterable[str], deadline: float) -> None:
        """Run mutmut on some of the files until the deadline; it goes on where it stopped."""
        self._copy(files)
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
        environment = {**os.environ, "PYTHONPATH": ""}
        with subprocess.Popen(command, cwd=TREE, env=environment) as running:
            try:
                running.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)
        for mutant, code in self._exits():
            outcome = "timeout" if code in TIMEOUTS else OUTCOMES.get(code)
            if outcome is not None:
                own = digest(self._code[mutant.file])
                self.state.record(mutant, outcome, code=own, tests=self._tests)
        self.state.save()

    def _exits(self) -> Iterator[tuple[Mutant, int]]:
        for mutant in self.listed():
            path = TREE / "mutants" / mutant.file.replace("python/", "src/", 1)
            codes = json.loads(path.with_name(path.name + ".meta").read_text(encoding="utf-8"))
            code = codes["exit_code_by_key"].get(mutant.name)
            if code is not None:
                yield mutant, code

    def files(self) -> list[str]:
        """Return the files that are mutated, in their order."""
        return sorted(self._code, key=lambda name: (_rank(name), name))

    def listed(self) -> list[Mutant]:
        """Return the mutants of the files that mutmut has read so far."""
        found = []
        for name in self.files():
            mutated = TREE / "mutants" / name.replace("python/", "src/", 1)
            if mutated.with_name(mutated.name + ".meta").exists():
                found += mutants_of(name, self._code[name], mutated.read_text(encoding="utf-8"))
        return found

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """Return what is known of a mutant."""
        code = digest(self._code[mutant.file])
        return self.state.outcome(mutant, code=code, tests=self._tests)


def _rank(name: str) -> int:
    return next(rank for rank, part in enumerate(PYTHON) if name.startswith(part))
