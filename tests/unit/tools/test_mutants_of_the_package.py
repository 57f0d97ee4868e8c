"""tools/mutants: mutants of the package and which tests they meet; runs no mutant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutants import python, scope
from tools.mutants.forked import Forked, PackageTest, Reaching, portion
from tools.mutants.mutant import State, digest
from tools.mutants.python import Python, mutants_of

SOURCE = '''\
"""A module."""


def half(x: float) -> float:
    if x < 0:
        raise ValueError("x: expected more")
    return 0.5 * x


class Box:
    def size(self) -> int:
        return 1
'''
MUTATED = """\
def half(x): ...
def x_half__mutmut_orig(x: float) -> float:
    if x < 0:
        raise ValueError("x: expected more")
    return 0.5 * x
def x_half__mutmut_1(x: float) -> float:
    if x <= 0:
        raise ValueError("x: expected more")
    return 0.5 * x
def x_half__mutmut_2(x: float) -> float:
    if x < 0:
        raise ValueError("XXx: expected moreXX")
    return 0.5 * x
def x_half__mutmut_3(x: float) -> float:
    if x < 0:
        raise ValueError("x: expected more")
    return 0.5 / x
class Box:
    def size(self): ...
    def xǁBoxǁsize__mutmut_orig(self) -> int:
        return 1
    def xǁBoxǁsize__mutmut_1(self) -> int:
        return 2
"""


def test_mutants_of_python_have_lines_of_the_source_and_messages_do_not_count() -> None:
    found = mutants_of("python/lazysketch/privacy/x.py", SOURCE, MUTATED)
    assert [(one.mutation, one.line, one.number) for one in found] == [
        ("half: if x <= 0:", "if x < 0:", 5),
        ("half: return 0.5 / x", "return 0.5 * x", 7),
        ("Box.size: return 2", "return 1", 12),
    ]
    assert found[0].name == "lazysketch.privacy.x.x_half__mutmut_1"
    assert scope.module_of(found[0].file) == "lazysketch/privacy"


def package_test(name: str, seconds: float, *, far: bool = False) -> PackageTest:
    return PackageTest(far, seconds, name)


def test_the_tests_of_the_own_folder_and_the_short_ones_come_first() -> None:
    tests = [
        package_test("far", 0.1, far=True),
        package_test("long", 9.0),
        package_test("short", 2.0),
        package_test("longest", 20.0),
    ]
    names = [test.name for test in portion(tests, 0.0, 10.0)]
    assert names == ["short", "long"]
    # The next stage has the others, none twice.
    assert [test.name for test in portion(tests, 10.0, 70.0)] == ["longest", "far"]
    assert portion(tests, 70.0, 90.0) == []


def test_tests_are_measured_again_when_their_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "reached.json"
    near, other = "tests/unit/privacy/test_a.py", "tests/unit/windows/test_b.py"
    reaching = Reaching(path, {near: "one", other: "two"})
    assert reaching.missing == [near, other]
    reaching.add(near, {f"{near}::test_x": (0.5, ["lazysketch.privacy.a.x_f"])})
    reaching.add(other, {f"{other}::test_y": (0.1, ["lazysketch.privacy.a.x_f"])})
    again = Reaching(path, {near: "one", other: "changed"})
    assert again.missing == [other]
    found = Reaching(path, {near: "one", other: "two"})
    assert found.missing == []
    folder = "tests/unit/privacy/"
    assert sorted(found.tests("lazysketch.privacy.a.x_f", folder)) == [
        package_test(f"{near}::test_x", 0.5),
        package_test(f"{other}::test_y", 0.1, far=True),
    ]
    # Of a function that no test is known to reach, all tests of its folder.
    assert [it.name for it in found.tests("lazysketch.privacy.a.x_g", folder)] == [
        f"{near}::test_x"
    ]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_survivor_of_one_stage_waits_for_the_next(tmp_path: Path, stages: int) -> None:
    file = f"{next(iter(scope.PYTHON))}/x.py"
    (one,) = mutants_of(file, SOURCE, MUTATED)[:1]
    tool = Python.__new__(Python)  # without the copy of the package
    tool.state, tool.tests, tool.code = State(tmp_path / "state"), "tests", {file: digest(SOURCE)}
    met = []
    while stages and (stage := tool._stage(one)) is not None:
        met.append(stage)
        under = tool.tests if stage == python.STAGES[-1] else f"{stage}/{tool.tests}"
        tool.state.record(one, "survived", code=tool.code[file], tests=under)
        stages -= 1
    assert met == list(python.STAGES[: len(met)])
    assert (tool.outcome(one) == "survived") == (len(met) == len(python.STAGES))


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [([0], "survived"), ([1, 1], "killed"), ([1, 0], "survived"), ([-24], "timeout")],
)
def test_a_failure_that_does_not_come_again_kills_no_mutant(
    statuses: list[int], outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = list(statuses)
    monkeypatch.setattr(Forked, "_ask", lambda *_: {"status": left.pop(0), "late": False})
    forked = object.__new__(Forked)  # without its process
    assert forked.outcome("x_half__mutmut_1", [PackageTest(False, 1.0, "test")]) == outcome
    assert not left
