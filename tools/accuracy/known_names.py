"""Misses and widths of intervals whose list of names is known, on real streams and Zipf streams.

For every stream and sketch, the 40 heaviest items of a finished sketch: the part of the intervals
that miss at 95 %, one by one, below and above; and the median width, without and with the list, one
by one and simultaneously for the list and for all items of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments.streams import REAL, named

import lazysketch as ls

__all__ = ["STREAMS", "Widths", "measure", "table"]

STREAMS = (*REAL, "zipf-1.1", "zipf-1.3")
_ASKED = 40
_SKETCHES = ((ls.LazyCountMin, 4, 1024), (ls.LazyCountSketch, 4, 1024))


@dataclass
class Widths:
    """Intervals of one list, one entry per seed: without and with the names."""

    stream: str
    sketch: str
    names: str
    below: list[float] = field(default_factory=list)
    above: list[float] = field(default_factory=list)
    single: list[tuple[float, float]] = field(default_factory=list)
    together: list[tuple[float, float]] = field(default_factory=list)


def measure(name: str, *, data: Path, seeds: int) -> Iterator[Widths]:
    """Yield the intervals of every sketch and list of a stream."""
    events = named(name, data)
    true = np.bincount(events)
    heaviest = np.argsort(-true, kind="stable")
    lists = {"300": heaviest[:300], "1000": heaviest[:1000], "all": np.arange(len(true))}
    for make, depth, width in _SKETCHES:
        label = f"{make.__name__} {depth} x {width}"
        found = {size: Widths(name, label, size) for size in lists}
        for _ in range(seeds):
            sketch = make(depth=depth, width=width, epsilon=1.0, delta=1e-6)
            sketch.update_many(events)
            sketch.finish()
            release = sketch.release()
            for size, names in lists.items():
                _add(found[size], release, heaviest[:_ASKED], true, names)
        yield from found.values()


def _add(
    widths: Widths,
    release: ls.Release,
    items: npt.NDArray[np.int64],
    true: npt.NDArray[np.int64],
    names: npt.NDArray[np.int64],
) -> None:
    known = release.interval_many(items, known=names)
    widths.below.append(float(np.mean(true[items] < known.low)))
    widths.above.append(float(np.mean(true[items] > known.high)))
    widths.single.append((_median(release.interval_many(items)), _median(known)))
    plain, peeled = (
        release.interval_many(items, among=max(len(names), _ASKED), known=one)
        for one in (None, names)
    )
    widths.together.append((_median(plain), _median(peeled)))


def _median(found: ls.Intervals) -> float:
    return float(np.median(found.high - found.low))


def table(cells: list[Widths]) -> str:
    """Return Markdown with a row per stream, sketch and list."""
    lines = [
        "| stream | sketch | names | misses below, above | width, one by one | simultaneous |",
        "| --- " * 6 + "|",
    ]
    for row in cells:
        single, together = (np.mean(each, axis=0) for each in (row.single, row.together))
        lines.append(
            f"| {row.stream} | {row.sketch} | {row.names} "
            f"| {np.mean(row.below):.1%}, {np.mean(row.above):.1%} "
            f"| {single[0]:,.0f} to {single[1]:,.0f} | {together[0]:,.0f} to {together[1]:,.0f} |"
        )
    return "\n".join(lines)
