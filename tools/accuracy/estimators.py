"""Errors of all estimators on real streams and Zipf streams.

For every stream and sketch: the average relative error of the 15 heaviest items, and the mean
absolute error, in counts, over the 100 heaviest and 1000 random others. True counts are those at
the end of the stream, so that lag counts as an error. These 1100 items are the list that is
decoded, on the way and after ``finish()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments.streams import REAL, UNTUNED, asked_items, named

import lazysketch as ls
from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import At

__all__ = ["STREAMS", "Errors", "measure", "table"]

STREAMS = (*REAL, *UNTUNED, "zipf-0.8", "zipf-1.1", "zipf-1.3", "zipf-1.7", "zipf-2.1")
_TOP = 15
# Class, shape and epsilon: collisions dominate in the small tables, noise in the wide ones.
_SKETCHES = (
    (ls.LazyCountMin, 4, 1024, 1.0),
    (ls.LazyCountMin, 3, 4096, 0.3),
    (ls.LazyCountSketch, 5, 1024, 1.0),
    (ls.LazyCountSketch, 3, 4096, 0.3),
)
_CORRECTED: tuple[tuple[Estimator, At], ...] = (
    ("joint", "published"),
    ("joint", "now"),
)


_DECODED = "decoded, now"
_FINISHED = "decoded, finished"
# Of these the best is bold: a finished table answers another question than one on the way.
_COMPARED = 4


@dataclass
class Errors:
    """Errors of one estimator on one sketch of one stream, one entry per seed."""

    stream: str
    sketch: str
    estimator: str
    relative: list[float] = field(default_factory=list)
    absolute: list[float] = field(default_factory=list)

    def add(self, answer: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> None:
        """Add the errors of one sketch; the heaviest items come first."""
        off = np.abs(answer - counts)
        self.relative.append(float(np.mean(off[:_TOP] / counts[:_TOP])))
        self.absolute.append(float(np.mean(off)))


def measure(name: str, *, data: Path, seeds: int) -> Iterator[Errors]:
    """Yield the errors of every estimator on every sketch of a stream."""
    events = named(name, data)
    groups = asked_items(events)
    items = np.concatenate([groups["top 100"], groups["random 1000"]])
    counts = np.bincount(events)[items]
    for make, depth, width, epsilon in _SKETCHES:
        label = f"{make.__name__} {depth} x {width}, ({epsilon:g}, 1e-6)"
        plain: Estimator = "minimum" if make is ls.LazyCountMin else "median"
        asked = ((plain, "published"), *_CORRECTED)
        found = {pair: Errors(name, label, _label(*pair)) for pair in asked}
        decoded, finished = Errors(name, label, _DECODED), Errors(name, label, _FINISHED)
        for _ in range(seeds):
            sketch = make(depth=depth, width=width, epsilon=epsilon, delta=1e-6)
            sketch.update_many(events)
            release = sketch.release()
            for (estimator, at), errors in found.items():
                errors.add(release.estimate_many(items, estimator=estimator, at=at), counts)
            decoded.add(release.decode(items), counts)
            sketch.finish()
            finished.add(sketch.decode(items), counts)
        yield from (*found.values(), decoded, finished)


def table(cells: list[Errors]) -> str:
    """Return Markdown with a row per stream and sketch, a column per estimator."""
    columns = ["minimum or median", *(_label(*pair) for pair in _CORRECTED), _DECODED, _FINISHED]
    lines = [f"| stream | sketch | {' | '.join(columns)} |", "| --- " * (len(columns) + 2) + "|"]
    for at in range(0, len(cells), len(columns)):
        row = cells[at : at + len(columns)]
        best = min(np.mean(errors.absolute) for errors in row[:_COMPARED])
        shown = []
        for errors in row:
            absolute = np.mean(errors.absolute)
            text = f"{np.mean(errors.relative):.2%}, {absolute:.1f}"
            shown.append(f"**{text}**" if absolute <= 1.02 * best else text)
        lines.append(f"| {row[0].stream} | {row[0].sketch} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _label(estimator: Estimator, at: At) -> str:
    return f"{estimator}, now" if at == "now" else estimator
