"""Command of this package; see its docstring."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.mutants import kept
from tools.mutants.listed import Listed, read
from tools.mutants.mutant import Mutant, State
from tools.mutants.python import Python
from tools.mutants.report import errors
from tools.mutants.rust import Rust
from tools.mutants.scope import (
    ROOT,
    RUST,
    changed_lines,
    diff_of_change,
    in_sample,
)
from tools.mutants.stages import STAGES

BUILD: Final = ROOT / "build/mutants"
LIST: Final = ROOT / "tests/mutants_listed.toml"
KEPT: Final = ROOT / "tests/mutants_outcomes.json"
DOCUMENT: Final = ROOT / "docs/testing.md"
# The table between these lines is generated.
BEGIN: Final = "<!-- python -m tools.mutants -->\n"
END: Final = "<!-- end of the mutants -->"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    parser.add_argument("--changed", action="store_true", help="lines of the current change only")
    parser.add_argument("--only", choices=("rust", "python"), help="one of the two tools")
    parser.add_argument("--file", action="append", help="only files whose path ends like this")
    parser.add_argument("--stages", type=int, default=len(STAGES), help="the first stages only")
    parser.add_argument("--jobs", type=int, default=2, help="mutants that are tested at a time")
    parser.add_argument("--report", action="store_true", help="test nothing")
    return parser


def _wanted(given: argparse.Namespace, file: str) -> bool:
    return given.file is None or file.endswith(tuple(given.file))


def _rust(
    state: State,
    deadline: float,
    diff: Path | None,
    entries: Sequence[Listed],
    given: argparse.Namespace,
) -> tuple[Rust, list[Mutant], list[Mutant]]:
    rust = Rust(state, entries)
    existing = rust.listed(RUST)
    kept.restore(state, existing, kept.read(KEPT))
    mutants = existing if diff is None else rust.listed(RUST, diff)
    wanted = [mutant for mutant in mutants if _wanted(given, mutant.file)]
    # The accepted survivors meet the most tests, so they come last.
    wanted.sort(key=lambda mutant: any(entry.covers(mutant) for entry in entries))
    rust.test(wanted, deadline, stages=given.stages, jobs=given.jobs)
    for mutant in rust.left(wanted):
        print(f"{mutant.file}:{mutant.number}: not killed so far: {mutant.mutation}")
    return rust, mutants, existing


def _python(
    state: State, deadline: float, lines: dict[str, set[int]] | None, given: argparse.Namespace
) -> tuple[Python, list[Mutant], list[Mutant]]:
    python = Python(state)
    files = [name for name in python.files() if _wanted(given, name)]
    if lines is not None:
        files = [name for name in files if name in lines]
    existing = python.generate(files) if files else []
    kept.restore(state, existing, kept.read(KEPT))
    if lines is None:
        mutants = [mutant for mutant in existing if in_sample(mutant)]
    else:
        mutants = [it for it in existing if it.number in lines[it.file]]
    python.test(mutants, deadline, stages=given.stages, jobs=given.jobs)
    return python, mutants, existing


def _document(table: str) -> None:
    """Put the table of all outcomes into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest[rest.index(END) :]
    DOCUMENT.write_text(f"{before}{BEGIN}{table}\n{after}", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Test mutants, print the report and return 1 if something has to be repaired."""
    given = _parser().parse_args(arguments)
    deadline = time.monotonic() + (0.0 if given.report else 60.0 * given.minutes)
    entries = read(LIST)
    diff, lines = None, None
    BUILD.mkdir(parents=True, exist_ok=True)
    if given.changed:
        text = diff_of_change()
        diff, lines = BUILD / "change.diff", changed_lines(text)
        diff.write_text(text, encoding="utf-8")
    wrong: list[str] = []
    for name in ("rust", "python"):
        if given.only in (None, name):
            state = State.load(BUILD / f"{name}.json")
            tool, mutants, existing = (
                _rust(state, deadline, diff, entries, given)
                if name == "rust"
                else _python(state, deadline, lines, given)
            )
            whole = None if given.changed else existing
            found = kept.kept_of(whole or mutants, mutants, tool, entries)
            print(f"\n{name}\n\n{kept.table(found)}\n")
            if whole is not None:
                kept.write(KEPT, found)
                _document(kept.table(kept.read(KEPT)))
            wrong += errors(mutants, tool.outcome, entries, existing=whole)
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
