"""The catalogue of planted bugs agrees with the code, and no build that users get has a switch."""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path

import pytest
from tests.planted import runs
from tests.planted.bugs_of_the_binding import BUGS_OF_THE_BINDING
from tests.planted.bugs_of_the_core import BUGS_OF_THE_CORE
from tests.planted.bugs_of_the_package import BUGS_OF_THE_PACKAGE
from tests.planted.bugs_of_the_store import BUGS_OF_THE_STORE
from tests.planted.catalogue import BUGS
from tests.planted.planted_bug import SWITCH, PlantedBug

import lazysketch._native

SWITCHES = re.compile(r'planted!\(\s*"([^"]+)"')
CRATES = {
    "core": BUGS_OF_THE_CORE,
    "store": BUGS_OF_THE_STORE,
    "binding": BUGS_OF_THE_BINDING,
}
# One bug in eight, a minute in all; `make planted` runs all of them.
# A browser may be missing, and takes seconds to start.
SAMPLE = [bug for bug in BUGS_OF_THE_PACKAGE if "/browser/" not in bug.caught_by][::8]


@pytest.mark.parametrize("crate", CRATES)
def test_every_switch_of_a_crate_is_listed_and_every_listed_one_exists(crate: str) -> None:
    files = (runs.ROOT / "rust" / crate / "src").rglob("*.rs")
    switches = {name for file in files for name in SWITCHES.findall(file.read_text("utf-8"))}
    assert switches == {bug.name for bug in CRATES[crate]}
    assert all(bug.in_core for bug in CRATES[crate])
    assert not any(bug.in_core for bug in BUGS_OF_THE_PACKAGE)


def test_names_and_claims_are_distinct_and_there_are_enough() -> None:
    assert len(BUGS) >= 60
    assert len({bug.name for bug in BUGS}) == len({bug.claim for bug in BUGS}) == len(BUGS)
    assert {bug.subject for bug in BUGS} == {
        *("reuse of draws", "distribution", "sensitivity"),
        *("schedule", "discovery", "accounting", "durable state", "estimates", "page"),
    }


def test_every_named_test_of_the_package_exists_and_is_one() -> None:
    """A test with parameters is named with one case: else all run, and `make planted` stops."""
    named = {bug.caught_by for bug in BUGS if not bug.is_caught_by_core}
    for file, tests in groupby(sorted(named), key=lambda name: name.split("::")[0]):
        module = ast.parse((runs.ROOT / file).read_text("utf-8"))
        functions = {it.name: it for it in module.body if isinstance(it, ast.FunctionDef)}
        marks = [it for it in module.body if isinstance(it, ast.Assign)]
        named_marks = {ast.unparse(it.targets[0]): ast.unparse(it.value) for it in marks}
        for test in tests:
            name, bracket, _ = test.split("::")[1].partition("[")
            decorators = [ast.unparse(it) for it in functions[name].decorator_list]
            has_cases = any(".parametrize(" in named_marks.get(it, it) for it in decorators)
            assert bracket or not has_cases, test


def test_every_named_test_of_a_crate_exists() -> None:
    """In the file of its module, or within that of the module around it."""
    for test in {bug.caught_by for bug in BUGS if bug.is_caught_by_core}:
        *crates, target, path = test.split()
        crate = runs.ROOT / "rust" / (crates or ["core"])[0].removeprefix("lazysketch-")
        *modules, name = path.split("::")
        inner, outer = ("/".join(modules[:end]) for end in (len(modules), -1))
        folder = crate / ("src" if target == "lib" else "tests")
        names = [f"{inner}.rs", f"{outer}.rs", f"{outer}/mod.rs"]
        if target != "lib":
            names = [f"{target}/{inner}.rs" if inner else f"{target}.rs", f"{target}/main.rs"]
        files = [folder / name for name in names]
        texts = [file.read_text("utf-8") for file in files if file.is_file()]
        assert any(f"fn {name}(" in text for text in texts), test


def test_the_installed_core_has_no_switch() -> None:
    native = Path(lazysketch._native.__file__).read_bytes()
    assert b"lazysketch" in native  # strings are found at all
    assert SWITCH.encode() not in native
    compiled_in = (bug for bugs in CRATES.values() for bug in bugs)
    assert not [bug.name for bug in compiled_in if bug.name.encode() in native]


@pytest.mark.parametrize("bug", SAMPLE, ids=lambda bug: bug.name)
def test_a_bug_of_the_package_is_caught(bug: PlantedBug) -> None:
    found = runs.run(bug, on_imported_package=True)
    assert found.is_caught, found.output
