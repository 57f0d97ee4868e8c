"""Contenders: the paper's six sketches, ours, and the steps between them.

They are described in ``contenders.toml`` and constructed here, with keys and hash seeds derived
from the seed of a trial: NOT PRIVATE, so that every number is reproducible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

import lazysketch as ls
from experiments.settings import Settings
from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import At
from lazysketch.privacy import Calibration
from lazysketch.specification.mechanisms import MechanismName, checked_mechanism
from lazysketch.testing import seeded_key

__all__ = ["PAPER", "Contender", "Private", "Sketch", "contender", "contenders", "private"]

PAPER = ("CMS", "CS", "LazyCMS", "LazyCS", "PunctualCMS", "PunctualCS")
_KB = 1000
_FILE = Path(__file__).with_suffix(".toml")

Exact = ls.CountMin | ls.CountSketch
Private = ls.LazyCountMin | ls.LazyCountSketch | ls.PunctualCountMin | ls.PunctualCountSketch
Sketch = Exact | Private
Numbers = npt.NDArray[np.float64]

_EXACT: Mapping[str, type[Exact]] = {"CountMin": ls.CountMin, "CountSketch": ls.CountSketch}
_PRIVATE: Mapping[str, type[Private]] = {
    "LazyCountMin": ls.LazyCountMin,
    "LazyCountSketch": ls.LazyCountSketch,
    "PunctualCountMin": ls.PunctualCountMin,
    "PunctualCountSketch": ls.PunctualCountSketch,
}
_CALIBRATIONS: Mapping[str, Calibration] = {"analytic": "analytic", "classical": "classical"}
_ESTIMATORS: Mapping[str, Estimator | None] = {"": None, "joint": "joint"}
_MOMENTS: Mapping[str, At] = {"published": "published", "now": "now"}


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A sketch with its parameters, and the estimator that reads it.

    Args:
        name: name in definitions.
        owner: name of a class of lazysketch.
        label: label in legends.
        cell_bytes: bytes per cell, by the paper's accounting and by ours.
        width_by: the accounting that converts a given memory into a width.
        horizon: True if the class is given the number of steps.
        once: True for a Count-Min that publishes once, at the end; read after ``finish()`` only.
        mechanism: mechanism of a private sketch.
        calibration: calibration of a private sketch.
        estimator: estimator applied to releases; None for the paper's.
        at: the count that is estimated, published or now.
    """

    name: str
    owner: str
    label: str
    cell_bytes: Mapping[str, int]
    width_by: str
    horizon: bool
    once: bool
    mechanism: MechanismName
    calibration: Calibration
    estimator: Estimator | None
    at: At

    @classmethod
    def of(cls, name: str, entry: Settings) -> Contender:
        """Return the contender of one table of ``contenders.toml``."""
        cell_bytes = entry.table("cell_bytes")
        return cls(
            name=name,
            owner=entry.text("class"),
            label=entry.text("label"),
            cell_bytes={key: cell_bytes.integer(key) for key in cell_bytes.values},
            width_by=entry.text("width_by"),
            horizon=entry.flag("horizon"),
            once=entry.text("schedule", "") == "single",
            mechanism=checked_mechanism("mechanism", entry.text("mechanism", "tree")),
            calibration=_CALIBRATIONS[entry.text("calibration", "analytic")],
            estimator=_ESTIMATORS[entry.text("estimator", "")],
            at=_MOMENTS[entry.text("at", "published")],
        )

    def width(self, *, memory: float, depth: int) -> int:
        """Return the number of columns that fit into a memory.

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
        """Return a new sketch with a key and a hash seed of this trial.

        Args:
            generator: of the trial.
            depth: rows.
            width: columns.
            steps: length of the stream, the horizon if the contender has one.
            epsilon: privacy parameter.
            delta: privacy parameter.

        Returns:
            NOT PRIVATE: its noise is reproducible.
        """
        hash_seed, seed = (int(drawn) for drawn in generator.integers(0, 2**63, 2))
        sketch_id = generator.bytes(16)
        if self.owner in _EXACT:
            return _EXACT[self.owner](depth=depth, width=width, hash_seed=hash_seed)
        key = seeded_key(seed, sketch_id=sketch_id)
        if self.once:
            once = ls.TableSpec(
                kind="count-min",
                depth=depth,
                width=width,
                schedule=ls.Single(),
                epsilon=epsilon,
                delta=delta,
                mechanism=self.mechanism,
                calibration=self.calibration,
                hash_seed=hash_seed,
            )
            return ls.LazyCountMin.from_spec(once, key=key)
        return _PRIVATE[self.owner](
            depth=depth,
            width=width,
            epsilon=epsilon,
            delta=delta,
            horizon=steps if self.horizon else None,
            mechanism=self.mechanism,
            calibration=self.calibration,
            hash_seed=hash_seed,
            key=key,
        )

    def read(self, sketch: Sketch, items: npt.NDArray[np.int64]) -> Numbers:
        """Return the estimates of some items from a release of this step.

        What is published once is published now, and counts nothing after that.
        """
        if self.once:
            private(sketch).finish()
        paper: Estimator = "median" if self.owner.endswith("CountSketch") else "minimum"
        chosen = self.estimator or paper
        return sketch.release().estimate_many(items, estimator=chosen, at=self.at)


@cache
def contenders() -> Mapping[str, Contender]:
    """Return all contenders by name."""
    read = Settings.read(_FILE)
    return {name: Contender.of(name, read.table(name)) for name in read.values}


def contender(name: str) -> Contender:
    """Return a contender.

    Args:
        name: name in ``contenders.toml``.

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
    """Return the sketch if it is private, which has noise and steps.

    Args:
        sketch: of a contender.

    Returns:
        The same sketch.

    Raises:
        ValueError: an exact sketch.
    """
    if isinstance(sketch, ls.CountMin | ls.CountSketch):
        raise ValueError(f"contender: expected a private sketch, got {type(sketch).__name__}")
    return sketch
