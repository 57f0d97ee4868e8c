"""tools/mutants: identities, state, the list of accepted survivors, the report; runs no mutant."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from tests.locations import ROOT
from tools.mutants import kept, scope, stages
from tools.mutants.__main__ import BEGIN, END
from tools.mutants.listed import Listed, read
from tools.mutants.mutant import Mutant, Outcome, State, numbered
from tools.mutants.passed import Passed
from tools.mutants.reached import Reached
from tools.mutants.report import errors
from tools.mutants.rust import Rust, is_planting, mutants_of
from tools.mutants.slow_tests import SLOW
from tools.mutants.stages import CoreTest, Run
from tools.mutants.switches import Change, Span, change_of, switched

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


def test_code_that_plants_a_bug_has_no_mutants() -> None:
    text = """\
    if planted!("a") && x > 0 {
        if y > 1 { a(1) }
        b(2 + 3)
    } else { b(4 + 5) }
    let z = c() - planted!("b", 0, 1);
    let is_low = planted!("c") && z > 0;
    if planted!("d") || z > 0 { d() }
    if !planted!("e") { e(1 + 1) }
"""
    lines = text.splitlines()
    marks = {(1, ">"): 1, (1, "&&"): 0, (2, ">"): 1, (3, "+"): 1, (4, "+"): 0, (5, "-"): 0}
    marks |= {(6, ">"): 1, (6, "&&"): 0, (7, ">"): 0, (7, "d("): 0, (8, "+"): 0}
    for (number, mark), planting in marks.items():
        column = lines[number - 1].index(mark) + 1
        assert is_planting(text, number, column) == bool(planting), (number, mark)


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
        later = None if outcome == "survived" else outcome
        assert again.outcome(one, code="code", tests="more") == later
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


# --- scope ---------------------------------------------------------------------------------------


def test_every_file_of_the_core_is_in_the_scope_once() -> None:
    folder = ROOT / scope.CORE
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.rs")}
    code = "".join(path.read_text(encoding="utf-8") for path in files.values())
    tests = set(re.findall(r"#\[cfg\(test\)\]\s+mod (\w+);", code))

    def is_code(path: Path) -> bool:
        return path.stem not in tests and path.parent.name not in tests

    found = [
        path.relative_to(folder).as_posix()
        for pattern in (*scope.RUST, *scope.OUTSIDE)
        for path in folder.glob(pattern)
    ]
    wanted = [name for name, path in files.items() if is_code(path)]
    assert sorted(name for name in found if is_code(Path(name))) == sorted(wanted)


def test_the_sample_has_its_rate() -> None:
    """Five standard deviations of 16,000 draws."""
    for part, rate in scope.PYTHON.items():
        ones = (Mutant(f"{part}/x.py", "a", str(number)) for number in range(16_000))
        expected = 16_000 / rate
        assert abs(sum(map(scope.in_sample, ones)) - expected) < 5 * math.sqrt(expected)


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


# --- Rust ----------------------------------------------------------------------------------------

CORE = """\
/// With {braces} in the comment.
#[inline]
fn sum(a: u32, b: u32) -> u32 {
    a + b
}

fn other() -> u32 {
    1
}
"""


def place(old: str, replacement: str, text: str = CORE) -> Change:
    start = text.index(old)
    function = Span(text.index("///"), text.index("}\n\nfn") + 1)
    return Change(Span(start, start + len(old)), replacement, function)


def test_all_mutants_are_in_one_text_and_the_function_stays() -> None:
    changes = {4: place("+", "-"), 9: place("a + b", "0")}
    text, bodies = switched(CORE, changes)
    assert "4u32 => {\n    a - b\n}" in text.replace("-  b", "- b")
    assert "9u32 => {\n    0 \n}" in text
    assert "_ => {\n    a + b\n}" in text
    assert text.startswith("/// With {braces} in the comment.\n#[inline]\nfn sum(a: u32, b: u32)")
    assert text.endswith("fn other() -> u32 {\n    1\n}\n")
    for number, body in bodies.items():
        assert text.splitlines()[body.first - 1].startswith(f"{number}u32 => ")
        assert text.splitlines()[body.last - 1] == "}"
        assert body.function == 4
        assert "match crate::mutant_switch::active(4)" in text
    assert switched(CORE, {}) == (CORE, {})


def test_a_change_is_read_and_fits_if_its_function_can_choose() -> None:
    def at(line: int, column: int) -> dict[str, int]:
        return {"line": line, "column": column}

    def of(returned: str, text: str = CORE) -> Change:
        function = {"return_type": returned, "span": {"start": at(1, 1), "end": at(5, 2)}}
        return change_of({**entry, "function": function}, text)

    entry: dict[str, object] = {
        "span": {"start": at(4, 7), "end": at(4, 8)},
        "replacement": "-",
        "function": None,
    }
    assert of("-> u32") == place("+", "-")
    assert of("-> u32").fits
    assert not change_of(entry, CORE).fits  # a constant
    for runs_when_compiled in (
        "const fn sum",
        "pub(crate) const fn sum",
        "pub const unsafe fn sum",
    ):
        assert not of("-> u32", CORE.replace("fn sum", runs_when_compiled)).fits
    assert of("-> u32", CORE.replace("With", "A const fn with")).fits
    assert of("-> impl Iterator<Item =(u32, f64)>+'_").item == "(u32, f64)"
    assert of("-> impl Iterator<Item = Option<u8>> + use<>").item == "Option<u8>"
    assert not of("-> impl Iterator<Item = Self>").fits  # threads may not share it
    assert not of("-> impl Fn(u32) -> u32").fits
    text, _ = switched(CORE, {4: of("-> impl Iterator<Item = u32>")})
    assert "4u32 => crate::mutant_switch::boxed::<u32>({\n    a -" in text
    assert "_ => crate::mutant_switch::boxed::<u32>({\n    a + b\n})," in text


def test_a_mutant_meets_the_tests_that_reach_its_function_the_short_ones_first() -> None:
    long, short, other = (
        CoreTest(name, "test", time) for name, time in (("a", 9), ("b", 0), ("c", 0))
    )
    more = CoreTest("b", "more", 0.05)
    reached = Reached({long: {1, 2}, short: {1}, other: {2}, more: {1}})
    assert set(reached.tests(1)) == {long, short, more}
    assert set(reached.tests(3)) == set()
    assert len(reached.tests(None)) == 4  # a constant
    first, second, third = (stage.runs(reached.tests(1)) for stage in stages.STAGES)
    assert first == [Run("b", ("more", "test"), 0.05)]
    assert (second, third) == ([], [Run("a", ("test",), 9)])
    assert [run.limit for run in (first[0], third[0])] == [1, 37]
    alone = stages.STAGES[0].runs(reached.tests(None))
    assert [run.program for run in alone] == ["c", "b"]  # by time
    # Every time is in one stage.
    assert [stage.least for stage in stages.STAGES[1:]] == [it.below for it in stages.STAGES[:-1]]
    assert (stages.STAGES[0].least, stages.STAGES[-1].below) == (0, float("inf"))


def test_tests_are_passed_with_their_code_only(tmp_path: Path) -> None:
    path, run = tmp_path / "passed.json", Run("batches", ("one", "two"), 0.5)
    passed = Passed(path, {"batches": "code"})
    assert not passed.has(mutant(), run)
    passed.add(mutant(), run)
    passed.save()
    again = Passed(path, {"batches": "code"})
    assert again.has(mutant(), run)
    assert not again.has(mutant("b + a"), run)
    assert not again.has(mutant(), Run("batches", ("one",), 0.5))
    assert not Passed(path, {"batches": "other"}).has(mutant(), run)


def test_an_accepted_survivor_does_not_meet_the_long_tests(tmp_path: Path) -> None:
    for entries, expected in ([ENTRY], "survived"), ([], None):
        tool = Rust.__new__(Rust)  # without the copies of the core
        tool.state, tool.code, tool.tests = State(tmp_path / "state"), {FILE: "code"}, "tests"
        tool._entries = entries
        assert tool.outcome(mutant()) is None
        tool.state.record(mutant(), "survived", code="code", tests="short/tests")
        assert tool.outcome(mutant()) is None
        tool.state.record(mutant(), "survived", code="code", tests="medium/tests")
        assert tool.outcome(mutant()) == expected
        tool.state.record(mutant(), "survived", code="code", tests="medium/others")
        assert tool.outcome(mutant()) is None


def test_the_slow_tests_of_the_package_exist() -> None:
    for file, names in SLOW.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert [name for name in names if f"def {name}(" not in text] == []


# --- what the repository keeps --------------------------------------------------------------------


class Known:
    """A tool that has run."""

    def __init__(self, known: dict[str, Outcome]) -> None:
        self.known = known
        self.code = {FILE: "code"}
        self.tests = "tests"

    def outcome(self, one: Mutant) -> Outcome | None:
        return self.known.get(one.line)


def test_outcomes_are_kept_and_restored(tmp_path: Path) -> None:
    known = outcomes(a="killed", b="survived", c="timeout", d="unviable", e="survived")
    ones = numbered(mutant(line) for line in "abcdefg")
    entry = Listed(FILE, ENTRY.mutation, "b", "why")
    kept.write(tmp_path / "kept.json", kept.kept_of(ones, ones[:-1], Known(known), [entry]))
    again = kept.read(tmp_path / "kept.json")
    assert again == {FILE: kept.Kept("code", "tests", "kltus?-")}
    state = State(tmp_path / "state.json")
    kept.restore(state, ones, again)
    for one in ones:
        assert state.outcome(one, code="code", tests="tests") == known.get(one.line)
        assert state.outcome(one, code="other", tests="tests") is None
    assert kept.table(again).splitlines()[2:] == [
        "| noise | 6 | 5 | 1 | 1 | 1 | 1 | 1 |",
        "| **all** | 6 | 5 | 1 | 1 | 1 | 1 | 1 |",
    ]
    # With another number of mutants the letters belong to other code.
    fresh = State(tmp_path / "state.json")
    kept.restore(fresh, ones[1:], again)
    assert not fresh.outcomes


def test_the_document_has_the_table_of_the_outcomes() -> None:
    entries = kept.read(ROOT / "tests/mutants_outcomes.json")
    assert {entry.outcomes.strip("kltsu?-") for entry in entries.values()} == {""}
    text = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0] == kept.table(entries) + "\n"
