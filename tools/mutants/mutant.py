"""One mutant, what became of it, and the file that keeps this between runs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

__all__ = ["OUTCOMES", "Mutant", "Outcome", "State", "digest", "numbered"]

Outcome = Literal["killed", "survived", "timeout", "unviable"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one line.

    Its identity has no line number, so that an edit elsewhere in the file does not change it.

    Attributes:
        file: path from the root of the repository.
        mutation: what changes, as the tool says it, without a position.
        line: the changed line, without leading and trailing blanks.
        occurrence: number among mutants that are otherwise equal, from 1.
        name: what the tool calls it today; may contain line numbers.
        number: line number today.
    """

    file: str
    mutation: str
    line: str
    occurrence: int = 1
    name: str = field(default="", compare=False)
    number: int = field(default=0, compare=False)

    @property
    def identity(self) -> str:
        """The key under which its outcome is kept."""
        return f"{self.file} | {self.mutation} | {self.line} | {self.occurrence}"


def numbered(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Number mutants that are otherwise equal, in the order given."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for mutant in mutants:
        key = (mutant.file, mutant.mutation, mutant.line)
        seen[key] += 1
        found.append(Mutant(*key, occurrence=seen[key], name=mutant.name, number=mutant.number))
    return found


def digest(*texts: str) -> str:
    """Return a short hash of texts, each preceded by its length."""
    hasher = hashlib.blake2b(digest_size=12)
    for text in texts:
        data = text.encode("utf-8")
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()


@dataclass
class State:
    """Outcomes by identity, valid for one text of the mutated code.

    Only a survivor is tested again when only tests change: a better test may kill it.
    """

    path: Path
    outcomes: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> State:
        """Read the file, or begin empty."""
        if not path.exists():
            return cls(path)
        return cls(path, json.loads(path.read_text(encoding="utf-8")))

    def save(self) -> None:
        """Write the file in one step, so that an interrupted run keeps what it had."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.outcomes, indent=1, sort_keys=True), encoding="utf-8")
        new.replace(self.path)

    def outcome(self, mutant: Mutant, *, code: str, tests: str) -> Outcome | None:
        """Return what became of a mutant of this code under these tests, if it is known.

        Args:
            mutant: the mutant.
            code: digest of the code that it changes.
            tests: digest of the tests.

        Returns:
            The outcome; ``None`` if it has to be tested.
        """
        kept = self.outcomes.get(mutant.identity)
        if kept is None or kept["code"] != code:
            return None
        for outcome in OUTCOMES:
            final = outcome != "survived" or kept["tests"] == tests
            if kept["outcome"] == outcome and final:
                return outcome
        return None

    def record(self, mutant: Mutant, outcome: Outcome, *, code: str, tests: str) -> None:
        """Keep an outcome; ``tests`` is not the digest while only a part of the tests has run."""
        self.outcomes[mutant.identity] = {"outcome": outcome, "code": code, "tests": tests}
