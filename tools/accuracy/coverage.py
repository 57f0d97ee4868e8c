"""Coverage and width of intervals against true counts.

The width is compared with that of an interval built from the true errors: the central 95 % of
estimate - count, pooled over the items of the group and all seeds. It requires the true counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments.streams import REAL, asked_items, named

import lazysketch as ls
from lazysketch.estimation.intervals import At

__all__ = ["STREAMS", "CountsAt", "Coverage", "measure", "table"]

STREAMS = (*REAL, "zipf-1.1")
_PARTS = (0.1, 0.5, 1.0)
_CONFIDENCE = 0.95
_DEPTH, _WIDTH = 4, 1024
_KINDS = {"count-min": ls.LazyCountMin, "count-sketch": ls.LazyCountSketch}

Counts = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass
class Coverage:
    """Intervals of one group of items after one part of a stream, over all seeds."""

    stream: str
    kind: str
    schedule: str
    group: str
    part: float
    at: At
    covered: int = 0
    covered_first: int = 0
    asked: int = 0
    widths: list[Values] = field(default_factory=list)
    errors: list[Values] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Share of counts inside their intervals."""
        return self.covered / self.asked

    @property
    def least(self) -> float:
        """The confidence less three standard errors."""
        return _CONFIDENCE - 3 * math.sqrt(_CONFIDENCE * (1 - _CONFIDENCE) / self.asked)

    @property
    def width(self) -> float:
        """Median width of the intervals."""
        return float(np.median(np.concatenate(self.widths)))

    @property
    def true_width(self) -> float:
        """Width of the interval built from the true errors."""
        errors = np.concatenate(self.errors)
        low, high = np.quantile(errors, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
        return float(high - low)


class CountsAt:
    """Counts of given items after any step."""

    def __init__(self, events: Counts, items: Counts) -> None:
        order = np.argsort(events, kind="stable")
        known = events[order]
        starts = np.searchsorted(known, items, side="left")
        ends = np.searchsorted(known, items, side="right")
        self._steps = [order[a:b] for a, b in zip(starts, ends, strict=True)]

    def by(self, steps: Counts) -> Counts:
        """Return the count of every item after its own number of steps."""
        pairs = zip(self._steps, steps, strict=True)
        return np.array([np.searchsorted(own, step) for own, step in pairs], dtype=np.int64)


def measure(name: str, kind: str, schedule: str, *, data: Path, seeds: int) -> Iterator[Coverage]:
    """Yield the coverage of every group after every part of a stream."""
    events = named(name, data)
    groups = asked_items(events)
    counts = {group: CountsAt(events, items) for group, items in groups.items()}
    moments: tuple[At, At] = ("published", "now")
    found: dict[tuple[str, float, At], Coverage] = {}
    for _ in range(seeds):
        horizon = len(events) if schedule == "round robin" else None
        sketch = _KINDS[kind](depth=_DEPTH, width=_WIDTH, epsilon=1.0, delta=1e-6, horizon=horizon)
        for part in _PARTS:
            sketch.update_many(events[sketch.step : int(part * len(events))])
            release = sketch.release()
            for group, items in groups.items():
                for at in moments:
                    key = (group, part, at)
                    cell = found.setdefault(key, Coverage(name, kind, schedule, *key))
                    _add(cell, release, items, counts[group])
    yield from found.values()


def _add(cell: Coverage, release: ls.Release, items: Counts, counts: CountsAt) -> None:
    answer = release.interval_many(items, confidence=_CONFIDENCE, at=cell.at)
    (part,) = release.parts
    columns, _ = release._native.cells_many(items)
    published = part.published_steps(release.width)[columns.astype(np.int64)]
    if cell.at == "now":
        first = last = np.full(len(items), release.step)
    else:
        first, last = published.min(axis=1), published.max(axis=1)
    low, high = counts.by(last), counts.by(first)
    cell.covered += int(np.sum((answer.low <= low) & (high <= answer.high)))
    cell.covered_first += int(np.sum((answer.low <= high) & (high <= answer.high)))
    cell.asked += len(items)
    cell.widths.append(answer.high - answer.low)
    cell.errors.append(answer.estimate - (low + high) / 2)


def table(cells: list[Coverage]) -> str:
    """Return Markdown with a row per stream, sketch, part and time, a column per group of items.

    Each entry: coverage of the guarantee, coverage of the count at the earliest push, and the
    median width divided by that of the interval from the true errors.
    """
    groups = list(dict.fromkeys(cell.group for cell in cells))
    names = ["stream", "sketch", "schedule", "part", "at", *groups]
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for c in cells:
        key: tuple[str, ...] = (c.stream, c.kind, c.schedule, f"{c.part:.0%}", c.at)
        rows.setdefault(key, {})[c.group] = _shown(c)
    for names_of, shown in rows.items():
        lines.append(f"| {' | '.join([*names_of, *(shown[group] for group in groups)])} |")
    return "\n".join(lines)


def _shown(cell: Coverage) -> str:
    rate, first = cell.rate, cell.covered_first / cell.asked
    ratio = cell.width / cell.true_width if cell.true_width > 0 else math.nan
    text = f"{rate:.2%}, {first:.2%}, {ratio:.2f}"
    return text if min(rate, first) >= cell.least and ratio <= 1.5 else f"**{text}**"
