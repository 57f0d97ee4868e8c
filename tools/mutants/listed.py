"""The accepted survivors: mutants that no test has to kill, each with its reason."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.mutant import Mutant

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Listed", "read"]

_FIELDS = {"file", "mutation", "line", "reason"}


@dataclass(frozen=True)
class Listed:
    """An entry of the list: it covers all mutants with this file, mutation and line."""

    file: str
    mutation: str
    line: str
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        """Return whether this entry is about the mutant."""
        ours = (self.file, self.mutation, self.line)
        return ours == (mutant.file, mutant.mutation, mutant.line)

    def exists(self, mutants: Iterable[Mutant]) -> bool:
        """Return whether any of the mutants is covered."""
        return any(self.covers(mutant) for mutant in mutants)


def read(path: Path) -> list[Listed]:
    """Read the list.

    Args:
        path: a TOML file with tables ``[[mutant]]``.

    Returns:
        Its entries.

    Raises:
        ValueError: an entry lacks a field, has another one, or gives no reason.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    for entry in entries:
        if set(entry) != _FIELDS or not all(str(value).strip() for value in entry.values()):
            raise ValueError(f"{path.name}: expected {sorted(_FIELDS)}, all filled, got {entry}")
    return [Listed(**entry) for entry in entries]
