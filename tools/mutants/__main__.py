"""Command of this package; see its docstring."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Final

from tools.mutants.listed import read
from tools.mutants.mutant import Mutant, State
from tools.mutants.python import Python
from tools.mutants.report import errors, table
from tools.mutants.rust import Rust
from tools.mutants.scope import (
    ROOT,
    RUST,
    SAMPLED,
    changed_lines,
    diff_of_change,
    in_sample,
)

BUILD: Final = ROOT / "build/mutants"
LIST: Final = ROOT / "tests/mutants_listed.toml"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    parser.add_argument("--changed", action="store_true", help="lines of the current change only")
    parser.add_argument("--only", choices=("rust", "python"), help="one of the two tools")
    parser.add_argument("--quick", action="store_true", help="unit tests of the core only")
    parser.add_argument("--report", action="store_true", help="test nothing")
    return parser


def _rust(
    state: State, deadline: float, diff: Path | None, *, quick: bool
) -> tuple[Rust, list[Mutant], list[Mutant]]:
    rust, found, existing = Rust(state), [], []
    for patterns in (*RUST, *SAMPLED):
        mutants = rust.listed(patterns, diff)
        existing += mutants
        if patterns in SAMPLED and diff is None:
            mutants = [mutant for mutant in mutants if in_sample(mutant)]
        if time.monotonic() < deadline:
            rust.test(mutants, deadline, quick=quick)
        found += mutants
    for mutant in rust.left(found):
        print(f"{mutant.file}:{mutant.number}: not killed so far: {mutant.mutation}")
    return rust, found, existing


def _python(
    state: State, deadline: float, lines: dict[str, set[int]] | None
) -> tuple[Python, list[Mutant], list[Mutant]]:
    python = Python(state)
    files = python.files() if lines is None else [name for name in python.files() if name in lines]
    if files and time.monotonic() < deadline:
        python.test(files, deadline)
    mutants = python.listed()
    if lines is not None:
        mutants = [it for it in mutants if it.number in lines.get(it.file, set())]
    return python, mutants, mutants


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
                _rust(state, deadline, diff, quick=given.quick)
                if name == "rust"
                else _python(state, deadline, lines)
            )
            print(f"\n{name}\n\n{table(mutants, tool.outcome, entries)}\n")
            whole = None if given.changed else existing
            wrong += errors(mutants, tool.outcome, entries, existing=whole)
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
