"""Who competes: the paper's six sketches, ours, and the steps between them.

They are described in ``contenders.toml`` and made here, under keys and hash seeds that follow from
the seed of a trial: NOT PRIVATE, so that every number can be had again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import lazysketch as ls
from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import At
from lazysketch.testing import seeded_key

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PAPER", "Contender", "Private", "Sketch", "contender", "contenders", "private"]

PAPER = ("CMS", "CS", "LazyCMS", "LazyCS", "PunctualCMS", "PunctualCS")
_KB = 1000
_FILE = Path(__file__).with_suffix(".toml")
_EXACT = ("CountMin", "CountSketch")

Private = ls.LazyCountMin | ls.LazyCountSketch | ls.PunctualCountMin | ls.PunctualCountSketch
Sketch = ls.CountMin | ls.CountSketch | Private
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Contender:
    """A way to count, and to read what was counted.

    Args:
        name: as definitions call it.
        owner: name of a class of lazysketch.
        label: for legends.
        cell_bytes: of a cell, by the paper's accounting and by ours.
        width_by: which of these a given memory is spent by.
        horizon: whether the class is told the number of steps.
        arguments: more of its arguments.
        estimator: how a release is read; None for the paper's way.
        at: which count is asked for.
    """

    name: str
    owner: str
    label: str
    cell_bytes: Mapping[str, int]
    width_by: str
    horizon: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    estimator: Estimator | None = None
    at: At = "published"

    def width(self, *, memory: float, depth: int) -> int:
        """Return the columns that a memory has room for.

        Args:
            memory: in KB of 1000 bytes.
            depth: rows.

        Returns:
            At least 1.
        """
        return max(1, int(memory * _KB / (depth * self.cell_bytes[self.width_by])))

    def kilobytes(self, accounting: str, *, depth: int, width: int) -> float:
        """Return the memory of a table by one of the accountings, in KB."""
        return depth * width * self.cell_bytes[accounting] / _KB

    @property
    def exact(self) -> bool:
        """Whether it counts without noise."""
        return self.owner in _EXACT

    def make(
        self,
        generator: np.random.Generator,
        *,
        depth: int,
        width: int,
        steps: int,
        epsilon: float,
        delta: float,
    ) -> Sketch:
        """Return a new sketch under a key and a hash seed of this trial.

        Args:
            generator: of the trial.
            depth: rows.
            width: columns.
            steps: length of the stream, told to those that need it.
            epsilon: privacy parameter.
            delta: privacy parameter.

        Returns:
            NOT PRIVATE: it can be had again.
        """
        hash_seed, seed = (int(drawn) for drawn in generator.integers(0, 2**63, 2))
        sketch_id = generator.bytes(16)
        common: dict[str, Any] = {"depth": depth, "width": width, "hash_seed": hash_seed}
        if not self.exact:
            key = seeded_key(seed, sketch_id=sketch_id)
            common.update(epsilon=epsilon, delta=delta, key=key, **self.arguments)
        if self.horizon:
            common["horizon"] = steps
        made: Sketch = getattr(ls, self.owner)(**common)
        return made

    def read(self, sketch: Sketch, items: npt.NDArray[np.int64]) -> Numbers:
        """Return the estimates of some items from a release of this step."""
        return sketch.release().estimate_many(items, estimator=self.estimator, at=self.at)


@cache
def contenders() -> Mapping[str, Contender]:
    """All contenders by name."""
    with _FILE.open("rb") as file:
        read = tomllib.load(file)
    found = {}
    for name, entry in read.items():
        owner = entry.pop("class")
        found[name] = Contender(name=name, owner=owner, **entry)
    return found


def contender(name: str) -> Contender:
    """Return a contender.

    Args:
        name: as ``contenders.toml`` has it.

    Returns:
        The contender.

    Raises:
        ValueError: no such name.
    """
    known = contenders()
    if name not in known:
        raise ValueError(f"contender: expected one of {', '.join(known)}, got {name}")
    return known[name]


def private(sketch: Sketch) -> Private:
    """Return a sketch that has noise and steps.

    Args:
        sketch: of a contender.

    Returns:
        The same.

    Raises:
        ValueError: an exact one.
    """
    if isinstance(sketch, ls.CountMin | ls.CountSketch):
        raise ValueError(f"contender: expected a private sketch, got {type(sketch).__name__}")
    return sketch
