"""Survivors without a reason, and reasons without a survivor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.mutants.listed import Listed
from tools.mutants.mutant import Mutant, Outcome

__all__ = ["errors"]

Known = Callable[[Mutant], "Outcome | None"]


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
        listed = any(entry.covers(mutant) for entry in entries)
        if known(mutant) == "survived" and not listed:
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
