"""tools/mutants: identities, state, the list of accepted survivors, the report; runs no mutant."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.locations import ROOT
from tools.mutants import scope
from tools.mutants.listed import Listed, read
from tools.mutants.mutant import Mutant, Outcome, State, numbered
from tools.mutants.python import mutants_of as python_mutants
from tools.mutants.report import errors, table
from tools.mutants.rust import mutants_of, outcomes_of

FILE = "rust/core/src/noise/prf.rs"
ENTRY = Listed(FILE, "replace + with - in add", "a + b", "harmless, as b is zero")


def mutant(line: str = "a + b", *, mutation: str = ENTRY.mutation, name: str = "") -> Mutant:
    return Mutant(FILE, mutation, line, name=name, number=3)


# --- identity and state -------------------------------------------------------------------------


def listing(*positions: tuple[int, int]) -> str:
    """As cargo-mutants writes it, with the fields that are read."""
    return json.dumps(
        [
            {
                "name": f"{FILE}:{line}:{column}: replace + with - in add",
                "file": FILE,
                "span": {"start": {"line": line, "column": column}},
            }
            for line, column in positions
        ]
    )


def test_an_identity_does_not_depend_on_the_position() -> None:
    before = mutants_of(listing((1, 5), (1, 9), (2, 5)), {FILE: "a + b + c\n  a + b\n"})
    after = mutants_of(listing((4, 5), (4, 9), (6, 5)), {FILE: "\n\n\na + b + c\n\na + b\n"})
    assert [one.identity for one in before] == [one.identity for one in after]
    assert len({one.identity for one in before}) == 3
    assert [one.number for one in after] == [4, 4, 6]
    assert before[0].mutation == "replace + with - in add"


def test_outcomes_are_read_by_the_name_of_today(tmp_path: Path) -> None:
    first, second, third = mutants_of(listing((1, 5), (1, 9), (2, 5)), {FILE: "a + b + c\na + b\n"})
    (tmp_path / "caught.txt").write_text(f"{first.name}\nanother\n", encoding="utf-8")
    (tmp_path / "missed.txt").write_text(f"{third.name}\n", encoding="utf-8")
    found = outcomes_of(tmp_path, [first, second, third])
    assert found == {first: "killed", third: "survived"}


def test_state_survives_a_restart_and_forgets_changed_code(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    kinds: list[Outcome] = ["killed", "survived", "timeout", "unviable"]
    ones = dict(zip(kinds, numbered([mutant() for _ in kinds]), strict=True))
    for outcome, one in ones.items():
        state.record(one, outcome, code="code", tests="tests")
    state.save()
    again = State.load(tmp_path / "state.json")
    for outcome, one in ones.items():
        assert again.outcome(one, code="code", tests="tests") == outcome
        assert again.outcome(one, code="other", tests="tests") is None
        # A better test may kill what survived; it does not revive what was killed.
        kept = outcome if outcome in ("killed", "unviable") else None
        assert again.outcome(one, code="code", tests="more") == kept
    assert State.load(tmp_path / "nothing.json").outcomes == {}


# --- the list and the report --------------------------------------------------------------------


def test_the_list_of_this_repository_is_read() -> None:
    entries = read(ROOT / "tests/mutants_listed.toml")
    keys = [(entry.file, entry.mutation, entry.line) for entry in entries]
    assert len(set(keys)) == len(keys)
    for entry in entries:
        lines = [text.strip() for text in (ROOT / entry.file).read_text("utf-8").splitlines()]
        assert entry.line in lines, entry


@pytest.mark.parametrize(
    "entry",
    [
        'file = "a"\nmutation = "b"\nline = "c"',
        'file = "a"\nmutation = "b"\nline = "c"\nreason = " "',
    ],
)
def test_an_entry_without_a_reason_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "listed.toml"
    path.write_text(f"[[mutant]]\n{entry}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"listed\.toml: expected"):
        read(path)


def outcomes(**known: Outcome) -> dict[str, Outcome]:
    return {line.replace("_", " "): outcome for line, outcome in known.items()}


@pytest.mark.parametrize(
    ("outcome", "entries", "message"),
    [
        ("survived", [], "rs:3: no test fails with: replace"),
        ("survived", [ENTRY], ""),
        ("killed", [ENTRY], "listed, but killed"),
        ("killed", [], ""),
        ("timeout", [], ""),
        ("timeout", [ENTRY], ""),
        (None, [ENTRY], ""),
        ("killed", [Listed(FILE, ENTRY.mutation, "b + c", "why")], "there is no such mutant"),
        ("killed", [Listed("another.rs", ENTRY.mutation, "b + c", "why")], ""),
    ],
)
def test_survivors_and_entries_must_match(
    outcome: Outcome | None, entries: list[Listed], message: str
) -> None:
    ones = [mutant()]
    found = errors(ones, lambda _: outcome, entries, existing=ones)
    assert len(found) == bool(message)
    assert all(message in one for one in found)
    # Among the mutants of some lines an entry may lack its mutant.
    part = errors(ones, lambda _: outcome, entries, existing=None)
    assert part == [one for one in found if "no test fails" in one]
    # An entry may be about a mutant outside the sample.
    outside = [Listed(FILE, ENTRY.mutation, "b + c", "why")]
    assert not errors([], lambda _: None, outside, existing=[mutant("b + c")])


def test_the_table_counts_every_mutant_once() -> None:
    known = outcomes(a="killed", b="survived", c="timeout", d="unviable", e="killed")
    ones = [mutant(line) for line in "abcdefg"]
    entry = Listed(FILE, ENTRY.mutation, "b", "why")
    rows = table(ones, lambda one: known.get(one.line), [entry]).splitlines()
    assert rows[0] == "| module | made | killed | timed out | listed | survived | not run |"
    assert rows[2:] == ["| noise | 6 | 2 | 1 | 1 | 0 | 2 |", "| **all** | 6 | 2 | 1 | 1 | 0 | 2 |"]


# --- scope ---------------------------------------------------------------------------------------


def test_every_file_of_the_core_is_in_the_scope_once() -> None:
    folder = ROOT / scope.CORE
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.rs")}
    code = "".join(path.read_text(encoding="utf-8") for path in files.values())
    outside = {f"{name}.rs" for name in re.findall(r"#\[cfg\(test\)\]\s+mod (\w+);", code)}
    outside |= {"lib.rs", "error.rs", "planted.rs"}
    patterns = [pattern for group in (*scope.RUST, *scope.SAMPLED) for pattern in group]
    found = [
        path.relative_to(folder).as_posix() for pattern in patterns for path in folder.glob(pattern)
    ]
    wanted = [name for name, path in files.items() if path.name not in outside]
    assert sorted(name for name in found if Path(name).name not in outside) == sorted(wanted)


def test_the_sample_is_one_in_eight() -> None:
    """8,000 draws at 1/8: five standard deviations are 148."""
    chosen = sum(scope.in_sample(mutant(str(number))) for number in range(8_000))
    assert abs(chosen - 1_000) < 148


def test_lines_of_a_diff() -> None:
    diff = "\n".join(
        [
            "--- a/x.py",
            "+++ b/x.py",
            "@@ -1,3 +1,4 @@",
            " one",
            "-two",
            "+2",
            "+3",
            " four",
            "@@ -10 +11,2 @@ def f():",
            " ten",
            "+eleven",
            "--- a/y.py",
            "+++ b/y.py",
            "@@ -5,2 +4,0 @@",
            "-gone",
            "-gone",
        ]
    )
    assert scope.changed_lines(diff) == {"x.py": {2, 3, 12}}


# --- Python --------------------------------------------------------------------------------------

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
    found = python_mutants("python/lazysketch/privacy/x.py", SOURCE, MUTATED)
    assert [(one.mutation, one.line, one.number) for one in found] == [
        ("half: if x <= 0:", "if x < 0:", 5),
        ("half: return 0.5 / x", "return 0.5 * x", 7),
        ("Box.size: return 2", "return 1", 12),
    ]
    assert found[0].name == "lazysketch.privacy.x.x_half__mutmut_1"
    assert scope.module_of(found[0].file) == "lazysketch/privacy"
