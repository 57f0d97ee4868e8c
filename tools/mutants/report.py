"""The table of outcomes per module; survivors without a reason, and stale reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tools.mutants.listed import Listed
from tools.mutants.mutant import Mutant, Outcome
from tools.mutants.scope import module_of

__all__ = ["errors", "table"]

Known = Callable[[Mutant], "Outcome | None"]
HEAD = ("module", "made", "killed", "timed out", "listed", "survived", "not run")


def _column(mutant: Mutant, outcome: Outcome | None, entries: Sequence[Listed]) -> str:
    if outcome == "survived" and any(entry.covers(mutant) for entry in entries):
        return "listed"
    return {None: "not run", "timeout": "timed out"}.get(outcome, str(outcome))


def table(mutants: Iterable[Mutant], known: Known, entries: Sequence[Listed]) -> str:
    """Return one row per module, as Markdown. Mutants that do not compile are not counted."""
    counts: dict[str, dict[str, int]] = {}
    for mutant in mutants:
        column = _column(mutant, known(mutant), entries)
        if column == "unviable":
            continue
        for module in (module_of(mutant.file), "**all**"):
            row = counts.setdefault(module, dict.fromkeys(HEAD[1:], 0))
            row["made"] += 1
            row[column] += 1
    total = counts.pop("**all**", None)
    lines = [f"| {' | '.join(HEAD)} |", f"| --- |{' ---: |' * (len(HEAD) - 1)}"]
    for module, row in [*counts.items(), *([("**all**", total)] if total else [])]:
        lines.append(f"| {module} | {' | '.join(str(row[name]) for name in HEAD[1:])} |")
    return "\n".join(lines)


def errors(
    mutants: Sequence[Mutant],
    known: Known,
    entries: Sequence[Listed],
    *,
    existing: Sequence[Mutant] | None,
) -> list[str]:
    """Return what has to be repaired.

    Args:
        mutants: those looked at.
        known: outcome of each.
        entries: the accepted survivors.
        existing: all mutants of the files, also those outside the sample, against which entries are
            checked; ``None`` if only a part of them is known.

    Returns:
        One line per unlisted survivor, per entry without a mutant, and per entry whose mutants
        are all killed.
    """
    found = []
    for mutant in mutants:
        if _column(mutant, known(mutant), entries) == "survived":
            place = f"{mutant.file}:{mutant.number}"
            found.append(f"{place}: no test fails with: {mutant.mutation}\n    {mutant.line}")
    if existing is None:
        return found
    files = {mutant.file for mutant in existing}
    for entry in entries:
        what = f"{entry.file}: {entry.mutation}\n    {entry.line}"
        covered = [mutant for mutant in existing if entry.covers(mutant)]
        if entry.file in files and not covered:
            found.append(f"listed, but there is no such mutant: {what}")
        elif covered and all(known(mutant) == "killed" for mutant in covered):
            found.append(f"listed, but killed: {what}")
    return found
