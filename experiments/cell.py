"""Cells (one trial of an experiment at one value) and the journal that keeps finished ones.

The journal is a file of JSON lines, one per cell; a stopped run resumes after the last complete
line. A cell's seed is derived from its name, so that any cell can be run again alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from experiments.definition import Definition, Value

__all__ = ["Cell", "Finished", "Journal", "Observation", "cells_of"]


class Observation(NamedTuple):
    """One measured number.

    Args:
        series: the line of the plot, usually a contender.
        x: position on the axis.
        metric: the quantity.
        value: the number.
    """

    series: str
    x: Value
    metric: str
    value: float


class Entry(TypedDict):
    """One line of a journal."""

    experiment: str
    digest: str
    value: Value
    trial: int
    quick: bool
    seed: int
    seconds: float
    observations: Sequence[tuple[str, Value, str, float]]


@dataclass(frozen=True)
class Cell:
    """One trial at one value.

    Args:
        experiment: name of the experiment.
        digest: digest of its definition.
        value: value of the axis.
        trial: 0, 1, ...
        quick: True for a quick run, which has other seeds: its results are compared with the
            recorded trials and must be independent of them.
    """

    experiment: str
    digest: str
    value: Value
    trial: int
    quick: bool

    @property
    def key(self) -> tuple[str, str, str, int, bool]:
        """Identity in a journal."""
        return (self.experiment, self.digest, repr(self.value), self.trial, self.quick)

    @property
    def seed(self) -> int:
        """64 bits derived from experiment, value, trial and kind of run."""
        kind = "quick" if self.quick else "full"
        text = f"lazysketch experiment 1|{self.experiment}|{self.value!r}|{self.trial}|{kind}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def generator(self) -> np.random.Generator:
        """Return the source of all randomness of this cell."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Finished:
    """The observations of a cell.

    Args:
        cell: the cell.
        seconds: duration.
        observations: all numbers.
    """

    cell: Cell
    seconds: float
    observations: Sequence[Observation]

    def line(self) -> str:
        """Return the line of a journal."""
        entry: Entry = {
            "experiment": self.cell.experiment,
            "digest": self.cell.digest,
            "value": self.cell.value,
            "trial": self.cell.trial,
            "quick": self.cell.quick,
            "seed": self.cell.seed,
            "seconds": round(self.seconds, 3),
            "observations": self.observations,
        }
        return json.dumps(entry) + "\n"

    @classmethod
    def of(cls, entry: Entry) -> Finished:
        """Read one line of a journal."""
        cell = Cell(
            experiment=entry["experiment"],
            digest=entry["digest"],
            value=entry["value"],
            trial=entry["trial"],
            quick=entry["quick"],
        )
        return cls(cell, entry["seconds"], [Observation(*each) for each in entry["observations"]])


def cells_of(definition: Definition, *, trials: int, quick: bool) -> list[Cell]:
    """Return all cells of an experiment: all values of the first trial, then of the next.

    Args:
        definition: the experiment.
        trials: trials of every value.
        quick: True for a quick run.

    Returns:
        Interleaved cells, so that a busy period of the machine affects all values.
    """
    return [
        Cell(definition.name, definition.digest, value, trial, quick)
        for trial in range(definition.trials(trials, quick=quick))
        for value in definition.values
    ]


class Journal:
    """Finished cells in a folder.

    Args:
        folder: created if missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "cells.jsonl"
        if self._path.exists() and not self._path.read_bytes().endswith(b"\n"):
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n")  # ends a truncated line

    def read(self) -> Iterator[Finished]:
        """Yield finished cells; a truncated line is skipped."""
        if not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            yield Finished.of(entry)

    def add(self, finished: Finished) -> None:
        """Append a cell."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(finished.line())
