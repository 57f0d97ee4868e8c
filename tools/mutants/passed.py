"""Tests that a mutant has passed, so that a change of other tests does not run them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tools.mutants.mutant import Mutant, digest
from tools.mutants.stages import Run

__all__ = ["Passed"]


class Passed:
    """Digests of a mutant, tests, and all that these tests depend on."""

    def __init__(self, path: Path, codes: Mapping[str, str]) -> None:
        """Read what earlier runs have kept.

        Args:
            path: of the file.
            codes: a digest per program, of all that its tests depend on.
        """
        self._path, self._codes = path, codes
        self._known = set(json.loads(path.read_text("utf-8"))) if path.exists() else set[str]()

    def has(self, mutant: Mutant, run: Run) -> bool:
        """Return whether the mutant has passed these tests."""
        return self._key(mutant, run) in self._known

    def add(self, mutant: Mutant, run: Run) -> None:
        """Remember that the mutant has passed these tests."""
        self._known.add(self._key(mutant, run))

    def save(self) -> None:
        """Write the file."""
        self._path.write_text(json.dumps(sorted(self._known), indent=0), encoding="utf-8")

    def _key(self, mutant: Mutant, run: Run) -> str:
        return digest(mutant.identity, self._codes[run.program], *run.tests)
