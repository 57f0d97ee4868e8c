"""Precision, recall and errors of heavy hitters with discovery, on real streams.

The items above 1/256 of a stream, found without a list, after 10 %, 50 % and all of it. ``above()``
is compared with the true items; items whose count is within the noise of the threshold are found or
missed by chance. Each row shows the smallest share that one discovery epoch finds with 95 %
probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from experiments.streams import named, weights

import lazysketch as ls

__all__ = ["EPSILONS", "STREAMS", "Found", "measure", "table"]

STREAMS = ("scarab_recs", "web12", "orm-busy", "zeek-dns", "gutenberg_words", "netflow")
EPSILONS = (0.1, 0.3, 1.0, 3.0)
_PARTS = (0.1, 0.5, 1.0)
_K, _DELTA = 256, 1e-6
_LARGEST_WEIGHT = 100

Counts = npt.NDArray[np.int64]


@dataclass
class Found:
    """Items found after one part of a stream with one epsilon, one entry per seed."""

    stream: str
    epsilon: float
    part: float
    steps: int
    heavy: int
    window: int
    smallest_share: float
    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    relative: list[float] = field(default_factory=list)

    def add(self, found: dict[int, float], counts: Counts, wanted: set[int]) -> None:
        """Compare the items that one seed found, with their estimates, with the true counts."""
        right = wanted & found.keys()
        self.recall.append(len(right) / len(wanted))
        if found:
            self.precision.append(len(right) / len(found))
        if right:
            off = [abs(found[item] - counts[item]) / counts[item] for item in right]
            self.relative.append(float(np.mean(off)))


def measure(name: str, *, data: Path, seeds: int) -> Iterator[Found]:
    """Yield the items found in a stream with every epsilon, after every part."""
    events, weighing = named(name, data), weights(name, data)
    each = np.ones(len(events), dtype=np.int64) if weighing is None else weighing
    ends = [int(part * len(events)) for part in _PARTS]
    truth = [np.bincount(events[:end], weights=each[:end]).astype(np.int64) for end in ends]
    wanted = [set(np.flatnonzero(counts > counts.sum() / _K).tolist()) for counts in truth]
    for epsilon in EPSILONS:
        cells: list[Found] = []
        for _ in range(seeds):
            heavy = _made(epsilon, horizon=len(events), weighted=weighing is not None)
            if not cells:
                setting = (heavy.discovery_epoch or 0, heavy.smallest_share)
                cells = [
                    Found(name, epsilon, part, end, len(items), *setting)
                    for part, end, items in zip(_PARTS, ends, wanted, strict=True)
                ]
            for cell, counts, items in zip(cells, truth, wanted, strict=True):
                batch = slice(heavy.step, cell.steps)
                heavy.update_many(events[batch], None if weighing is None else each[batch])
                if cell.part == 1.0:
                    heavy.finish()
                shown = {cast("int", hitter.item): hitter.estimate for hitter in heavy.above()}
                cell.add(shown, counts, items)
        yield from cells


def _made(epsilon: float, *, horizon: int, weighted: bool) -> ls.HeavyHitters:
    return ls.HeavyHitters(
        share=1 / _K,
        epsilon=epsilon,
        delta=_DELTA,
        horizon=horizon,
        max_weight=_LARGEST_WEIGHT if weighted else 1,
    )


def table(cells: list[Found]) -> str:
    """Return Markdown with a row per stream and epsilon, and per part precision, recall and ARE."""
    parts = " | ".join(f"at {part:.0%}" for part in _PARTS)
    lines = [f"| stream | epsilon | epoch | smallest share | {parts} |", "| --- " * 7 + "|"]
    for at in range(0, len(cells), len(_PARTS)):
        row = cells[at : at + len(_PARTS)]
        first = row[0]
        shown = " | ".join(_shown(cell) for cell in row)
        lines.append(
            f"| {first.stream} | {first.epsilon:g} | {first.window:,} | "
            f"{first.smallest_share:.2%} | {shown} |"
        )
    return "\n".join(lines)


def _shown(cell: Found) -> str:
    if not any(cell.precision):
        return f"none of {cell.heavy}"
    error = f"{np.mean(cell.relative):.1%}" if cell.relative else "-"
    return f"{np.mean(cell.precision):.2f}, {np.mean(cell.recall):.2f} of {cell.heavy}, {error}"
