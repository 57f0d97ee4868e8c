"""A cell: one trial of an experiment at one value; and the journal that keeps finished ones.

The journal is a file of JSON lines, one per cell, written whole line by line: a run that was
stopped goes on behind the last whole line. A cell's seed follows from its name, so that any of
them can be run again alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.definition import Definition, Value

__all__ = ["Cell", "Finished", "Journal", "Observation", "cells_of"]


class Observation(NamedTuple):
    """One measured number.

    Args:
        series: which line of the plot, usually a contender.
        x: where on the axis.
        metric: what was measured.
        value: the number.
    """

    series: str
    x: Value
    metric: str
    value: float


@dataclass(frozen=True)
class Cell:
    """One trial at one value.

    Args:
        experiment: its name.
        digest: of its definition.
        value: of what varies.
        trial: 0, 1, ...
        quick: whether for a quick run, which has seeds of its own: what it finds is compared with
            the recorded trials, and must not be one of them.
    """

    experiment: str
    digest: str
    value: Value
    trial: int
    quick: bool

    @property
    def key(self) -> tuple[str, str, str, int, bool]:
        """What names it in a journal."""
        return (self.experiment, self.digest, repr(self.value), self.trial, self.quick)

    @property
    def seed(self) -> int:
        """64 bits that follow from experiment, value, trial and kind of run."""
        kind = "quick" if self.quick else "full"
        text = f"lazysketch experiment 1|{self.experiment}|{self.value!r}|{self.trial}|{kind}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def generator(self) -> np.random.Generator:
        """All chance of this cell."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Finished:
    """What a cell found.

    Args:
        cell: which.
        seconds: how long it took.
        observations: all numbers.
    """

    cell: Cell
    seconds: float
    observations: Sequence[Observation]

    def line(self) -> str:
        """One line of a journal."""
        entry = {**vars(self.cell), "seed": self.cell.seed, "seconds": round(self.seconds, 3)}
        return json.dumps({**entry, "observations": self.observations}) + "\n"

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Finished:
        """Read one line of a journal."""
        names = ("experiment", "digest", "value", "trial", "quick")
        cell = Cell(**{name: entry[name] for name in names})
        return cls(cell, entry["seconds"], [Observation(*each) for each in entry["observations"]])


def cells_of(definition: Definition, *, trials: int, quick: bool) -> list[Cell]:
    """Return all cells of an experiment, one trial of all values after the other.

    Args:
        definition: the experiment.
        trials: of every value.
        quick: whether of a quick run.

    Returns:
        Interleaved, so that a noisy spell of the machine hits all values.
    """
    return [
        Cell(definition.name, definition.digest, value, trial, quick)
        for trial in range(definition.trials(trials, quick=quick))
        for value in definition.values
    ]


class Journal:
    """Finished cells in a folder.

    Args:
        folder: made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "cells.jsonl"
        if self._path.exists() and not self._path.read_bytes().endswith(b"\n"):
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n")  # behind a line that was cut off

    def read(self) -> Iterator[Finished]:
        """Yield finished cells; a line that was cut off does not count."""
        if not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            yield Finished.of(entry)

    def add(self, finished: Finished) -> None:
        """Keep a cell."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(finished.line())
