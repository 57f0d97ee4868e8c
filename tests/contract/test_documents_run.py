"""The documents are executed: Python blocks, docstring examples, commands and links."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.locations import ROOT

import lazysketch
from lazysketch.cli import main

ENGINES = {
    "lazysketch.kafka": "confluent_kafka",
    "lazysketch.service.topics": "confluent_kafka",
    "lazysketch.spark": "pyspark",
}
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The README is also the page of a package index, so its links into the repository are whole.
REPOSITORY = "https://github.com/lazysketch/lazysketch/blob/main/"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
EXAMPLE_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    line: int
    language: str
    code: str


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for found in FENCE.finditer(text)
    ]


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if any(block.language == "python" for block in blocks(path))],
    ids=name_of,
)
def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one document run in order and share one namespace."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(document):
        if block.language == "python":
            # Leading blank lines make tracebacks show the line numbers of the document.
            source = "\n" * (block.line - 1) + block.code
            exec(compile(source, str(document), "exec"), names)


def test_readme_and_quickstart_have_examples() -> None:
    """Fail if the test above no longer recognises code fences."""
    for name in ("README.md", "docs/quickstart.md"):
        assert any(block.language == "python" for block in blocks(ROOT / name)), name


def modules() -> Iterator[str]:
    """Yield all modules; those of engines that are not installed are imported by tests/engines."""
    yield "lazysketch"
    for module in pkgutil.walk_packages(lazysketch.__path__, "lazysketch.", onerror=engine_only):
        if not module.name.endswith("__main__") and not is_missing_engine(module.name):
            yield module.name


def is_missing_engine(name: str) -> bool:
    engines = (engine for part, engine in ENGINES.items() if f"{name}.".startswith(f"{part}."))
    return any(importlib.util.find_spec(engine) is None for engine in engines)


def engine_only(name: str) -> None:
    """Raise for a package that cannot be imported, unless its engine is not installed."""
    if not is_missing_engine(name):
        raise ImportError(name)


def docstring_examples() -> Iterator[doctest.DocTest]:
    """Yield every docstring with an example, including those of native members.

    doctest's finder skips members that native code defines, so the members of exported classes
    are also enumerated here.
    """
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules():
        if f"{name}.".startswith("lazysketch.spark."):
            continue  # tests/engines runs them in its session
        for found in finder.find(importlib.import_module(name), name):
            if found.examples:
                yield found
    parser = doctest.DocTestParser()
    for name in lazysketch.__all__:
        exported = getattr(lazysketch, name)
        for owner in (base for base in getattr(exported, "__mro__", ()) if base is not object):
            if owner.__module__ not in ("lazysketch._native", "builtins"):
                continue
            for member, value in {"": owner, **vars(owner)}.items():
                text = getattr(value, "__doc__", None)
                if isinstance(text, str) and ">>>" in text:
                    label = f"{owner.__name__}.{member}".rstrip(".")
                    yield parser.get_doctest(text, {}, label, None, None)


EXAMPLES = {found.name: found for found in docstring_examples()}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_docstring_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=EXAMPLE_FLAGS)
    result = runner.run(EXAMPLES[name], out=report.append)
    assert result.failed == 0, "".join(report)


def test_there_are_docstring_examples() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_relative_links_resolve(document: Path) -> None:
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        here = ROOT if target.startswith(REPOSITORY) else document.parent
        inside = target.removeprefix(REPOSITORY)
        if re.match(r"[a-z]+:", inside):
            continue
        path, _, anchor = inside.partition("#")
        goal = (here / path).resolve() if path else document
        assert goal.exists(), f"{name_of(document)}: {target}"
        if anchor:
            assert anchor in anchors(goal), f"{name_of(document)}: no heading for {target}"


def test_paths_named_in_the_architecture_exist() -> None:
    text = FENCE.sub("", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    paths = [path for path in re.findall(r"`([\w./-]+)`", text) if "/" in path]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def anchors(document: Path) -> set[str]:
    """The anchors of headings on code hosting sites: lower case, hyphens, no punctuation."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in HEADING.findall(text)
    }


def commands(program: str) -> list[tuple[str, str]]:
    """Each use of ``program`` in a console block as (where, command), continued lines joined."""
    uses = []
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.language not in ("console", "sh", "bash"):
                continue
            for line in block.code.replace("\\\n", " ").splitlines():
                command = line.strip().removeprefix("$ ")
                if command.split(" ")[0] == program:
                    uses.append((f"{name_of(document)}:{block.line}", command.split("#")[0]))
    return uses


def test_make_targets_named_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    uses = commands("make")
    assert uses
    for where, command in uses:
        goals = {word for word in command.split()[1:] if "=" not in word}
        assert goals <= targets, f"{where}: {command}"


@cache
def help_of(*verb: str) -> str:
    """The help of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main([*verb, "--help"]) == 0
    return shown.getvalue()


def test_the_installed_command_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process of the program; all other commands are asked in this one."""
    monkeypatch.setenv("COLUMNS", "80")
    program = Path(sys.executable).with_name("lazysketch")
    shown = subprocess.run(
        [program, "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert shown == help_of.__wrapped__()


@pytest.mark.parametrize(("where", "command"), commands("lazysketch"))
def test_commands_named_in_documents_exist(where: str, command: str) -> None:
    """A documented command exists, and its help lists every documented option."""
    verb, *rest = command.split()[1:]
    shown = help_of(verb)
    if rest and " COMMAND " in shown.splitlines()[0]:
        shown = help_of(verb, rest[0])
    for word in rest:
        if re.fullmatch(r"--?[a-z][a-z-]*", word):
            assert re.search(rf"(?<![\w-]){word}(?![\w-])", shown), f"{where}: {word}"
