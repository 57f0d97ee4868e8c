"""Errors of lists that are decoded, by their length and by how many of their names are absent.

For every stream and sketch: the mean absolute error, in counts, of the names of a list, by joint
estimates and decoded. True counts are those at the end of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments.streams import ABSENT, REAL, Items, heaviest, named

import lazysketch as ls

__all__ = ["STREAMS", "DecodedLists", "measure", "table"]

_EVENTS = 1 << 20
_SEED = 20_261_128  # of the synthetic streams
_SKETCHES = ((ls.LazyCountMin, "Count-Min"), (ls.LazyCountSketch, "Count Sketch"))
_LENGTHS = (100, 300, 1000, 4096)
_ABSENT = 900


def _equal_shares(generator: np.random.Generator) -> Items:
    return generator.integers(0, 4096, _EVENTS)


def _lognormal(generator: np.random.Generator) -> Items:
    shares = np.exp(2.0 * generator.standard_normal(1 << 16))
    return generator.choice(len(shares), _EVENTS, p=shares / shares.sum()).astype(np.int64)


def _bursts(generator: np.random.Generator) -> Items:
    """Order Zipf events so that those of each item are within an eighth of the stream."""
    events = named("zipf-1.1", Path())
    begins = generator.random(events.max() + 1) * 7 / 8
    return events[np.argsort(begins[events] + generator.random(len(events)) / 8)]


_SYNTHETIC: dict[str, Callable[[np.random.Generator], Items]] = {
    "equal shares": _equal_shares,
    "lognormal": _lognormal,
    "bursts": _bursts,
}
STREAMS = ("zipf-1.1", "zipf-1.3", *_SYNTHETIC, *REAL)


@dataclass
class DecodedLists:
    """Errors of the lists of one stream in one sketch: by list, joint and decoded of each seed."""

    stream: str
    sketch: str
    errors: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


def measure(name: str, *, data: Path, seeds: int) -> Iterator[DecodedLists]:
    """Yield the errors of every list in both kinds of sketches of a stream."""
    make_stream = _SYNTHETIC.get(name)
    events = make_stream(np.random.default_rng(_SEED)) if make_stream else named(name, data)
    true = np.bincount(events)
    lists = _lists(true)
    for make, label in _SKETCHES:
        found = DecodedLists(name, label)
        for _ in range(seeds):
            sketch = make(depth=4, width=1024, epsilon=1.0, delta=1e-6)
            sketch.update_many(events)
            release = sketch.release()
            for size, (names, counts) in lists.items():
                answers = release.estimate_many(names), release.decode(names)
                joint, decoded = (float(np.mean(np.abs(each - counts))) for each in answers)
                found.errors.setdefault(size, []).append((joint, decoded))
        yield found


def _lists(true: Items) -> dict[str, tuple[Items, npt.NDArray[np.int64]]]:
    """Return the lists with the true counts of their names."""
    by_count = {length: heaviest(true, length) for length in _LENGTHS}
    lists = {f"{length}": (names, true[names]) for length, names in by_count.items()}
    absent = ABSENT + np.arange(_ABSENT, dtype=np.int64)
    shortest = by_count[_LENGTHS[0]]
    counts = np.concatenate([true[shortest], np.zeros(_ABSENT, dtype=np.int64)])
    lists[f"{_LENGTHS[0]} and {_ABSENT} absent"] = np.concatenate([shortest, absent]), counts
    return lists


def table(cells: list[DecodedLists]) -> str:
    """Return Markdown with a row per stream and sketch, a column per list."""
    sizes = list(cells[0].errors)
    lines = [f"| stream | sketch | {' | '.join(sizes)} |", "| --- " * (len(sizes) + 2) + "|"]
    for row in cells:
        means = (np.mean(row.errors[size], axis=0) for size in sizes)
        shown = [f"{joint:.0f} to {decoded:.0f}" for joint, decoded in means]
        lines.append(f"| {row.stream} | {row.sketch} | {' | '.join(shown)} |")
    return "\n".join(lines)
