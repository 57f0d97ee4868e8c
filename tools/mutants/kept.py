"""The outcomes that the repository keeps, so that a new checkout does not begin again.

``tests/mutants_outcomes.json`` has one letter per mutant of a file, in the order of the tool. A
file whose code has changed is tested again. The table of docs/testing.md is made of the letters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol

from tools.mutants.listed import Listed
from tools.mutants.mutant import Mutant, Outcome, State
from tools.mutants.scope import module_of

__all__ = ["Kept", "Tool", "kept_of", "read", "restore", "table", "write"]

LETTERS: Final[dict[str, Outcome]] = {
    "k": "killed",
    "t": "timeout",
    "u": "unviable",
    "s": "survived",
    "l": "survived",
}
LISTED: Final = "l"
OUTSIDE: Final = "-"
NOT_RUN: Final = "?"
COLUMNS: Final = {
    "killed": "k",
    "timed out": "t",
    "listed": LISTED,
    "survived": "s",
    "not run": NOT_RUN,
}


class Tool(Protocol):
    """What tests mutants of one language."""

    code: dict[str, str]
    tests: str

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """Return what is known of a mutant of this code under these tests."""
        ...


@dataclass(frozen=True)
class Kept:
    """What became of the mutants of one file.

    Attributes:
        code: digest of the code.
        tests: digest of the tests.
        outcomes: ``k`` killed, ``t`` timed out, ``u`` does not compile, ``l`` survived and listed,
            ``s`` survived, ``?`` not run, ``-`` outside the sample.
    """

    code: str
    tests: str
    outcomes: str


def kept_of(
    mutants: Iterable[Mutant],
    sample: Iterable[Mutant],
    tool: Tool,
    entries: Sequence[Listed],
) -> dict[str, Kept]:
    """Return what is to be kept.

    Args:
        mutants: all, in the order of the tool.
        sample: those that are tested.
        tool: what is known of them.
        entries: the accepted survivors.
    """
    chosen = set(sample)
    by_outcome = {outcome: letter for letter, outcome in LETTERS.items() if letter != LISTED}
    letters: dict[str, str] = {}
    for mutant in mutants:
        outcome = tool.outcome(mutant) if mutant in chosen else None
        letter = by_outcome[outcome] if outcome else NOT_RUN if mutant in chosen else OUTSIDE
        if outcome == "survived" and any(entry.covers(mutant) for entry in entries):
            letter = LISTED
        letters[mutant.file] = letters.get(mutant.file, "") + letter
    return {file: Kept(tool.code[file], tool.tests, text) for file, text in letters.items()}


def read(path: Path) -> dict[str, Kept]:
    """Read the file; empty if the file is absent."""
    if not path.exists():
        return {}
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {file: Kept(**entry) for file, entry in entries.items()}


def write(path: Path, kept: Mapping[str, Kept]) -> None:
    """Write the file; entries of other files stay."""
    both = {**read(path), **kept}
    entries = {file: asdict(both[file]) for file in sorted(both)}
    path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def restore(state: State, mutants: Sequence[Mutant], kept: Mapping[str, Kept]) -> None:
    """Add what the repository keeps to a state that does not know it.

    Args:
        state: what is known here.
        mutants: all of the files, in the order of the tool.
        kept: from the repository.
    """
    by_file: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    for file, ones in by_file.items():
        entry = kept.get(file)
        if entry is None or len(entry.outcomes) != len(ones):
            continue
        for mutant, letter in zip(ones, entry.outcomes, strict=True):
            if letter in LETTERS and mutant.identity not in state.outcomes:
                state.record(mutant, LETTERS[letter], code=entry.code, tests=entry.tests)


def table(kept: Mapping[str, Kept]) -> str:
    """Return one row per module, as Markdown. Mutants that do not compile are not counted."""
    counts: dict[str, dict[str, int]] = {}
    for file, entry in sorted(kept.items()):
        made = len(entry.outcomes) - entry.outcomes.count("u")
        for module in (module_of(file), "**all**"):
            row = counts.setdefault(module, dict.fromkeys(("made", "chosen", *COLUMNS), 0))
            row["made"] += made
            row["chosen"] += made - entry.outcomes.count(OUTSIDE)
            for column, letter in COLUMNS.items():
                row[column] += entry.outcomes.count(letter)
    total = counts.pop("**all**", None)
    head = ("module", "made", "chosen", *COLUMNS)
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for module, row in [*sorted(counts.items()), *([("**all**", total)] if total else [])]:
        lines.append(f"| {module} | {' | '.join(f'{row[name]:,}' for name in head[1:])} |")
    return "\n".join(lines)
