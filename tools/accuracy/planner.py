"""Predicted errors of planned sketches, and the errors measured on real streams.

A sketch is planned from the whole stream, from every tenth event, from its first tenth, and from
the Zipf distribution that fits it best; then it counts the stream, once per seed. It is queried for
the items with shares nearest to the planned one, and for items that never occur.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import numpy.typing as npt
from experiments.streams import ABSENT, REAL, named

import lazysketch as ls
from lazysketch.planning.prediction import simulated
from lazysketch.specification.sizing import SketchKind
from lazysketch.testing import seeded_key

__all__ = ["Comparison", "best_skew", "compared", "marked", "measure", "table"]

_SHARE = 0.001
_MEMORY = 1 << 16
_NEAREST = 50
_ABSENT = 1000
_TOLERANCE = 0.15
_KINDS: tuple[SketchKind, ...] = ("count-min", "count-sketch")

Counts = npt.NDArray[np.int64]


class _Workload(TypedDict, total=False):
    """Description of a stream, as arguments of ``plan``."""

    sample: Counts
    skew: float
    distinct: int


@dataclass(frozen=True)
class Comparison:
    """Predicted and measured errors of one group of items, in counts."""

    stream: str
    source: str
    kind: str
    schedule: str
    depth: int
    width: int
    group: str
    typical: tuple[float, float]
    half_width: tuple[float, float]

    @property
    def ratios(self) -> tuple[float, float]:
        """Predicted / measured, of the typical error and of the half width."""
        return self.typical[0] / self.typical[1], self.half_width[0] / self.half_width[1]


def best_skew(counts: Counts) -> float:
    """Return the maximum-likelihood skew of a Zipf distribution over as many items."""
    ordered = np.sort(counts[counts > 0])[::-1]
    ranks = np.log(np.arange(1, len(ordered) + 1))
    skews = np.arange(0.0, 3.001, 0.01)
    log_ranks = float(ordered @ ranks)
    likelihoods = [
        -skew * log_ranks - ordered.sum() * np.log(np.exp(-skew * ranks).sum()) for skew in skews
    ]
    return float(skews[int(np.argmax(likelihoods))])


def measure(name: str, *, data: Path, seeds: int) -> Iterator[Comparison]:
    """Yield the comparisons of every way to plan for a stream."""
    events = named(name, data)
    counts = np.bincount(events)
    occurring = int(np.count_nonzero(counts))
    skew = best_skew(counts)
    sources: dict[str, _Workload] = {
        "whole": {"sample": events},
        "every tenth event": {"sample": events[::10]},
        "first tenth": {"sample": events[: len(events) // 10]},
        f"Zipf {skew:.2f}": {"skew": skew, "distinct": occurring},
    }
    for source, workload in sources.items():
        for kind in _KINDS:
            for horizon in (None, len(events)):
                plan = ls.plan(
                    **workload,
                    steps=len(events),
                    horizon=horizon,
                    kind=kind,
                    epsilon=1.0,
                    delta=1e-6,
                    share=_SHARE,
                    memory=_MEMORY,
                )
                yield from compared(name, source, plan, events, counts, seeds)


def compared(
    name: str, source: str, plan: ls.Plan, events: Counts, counts: Counts, seeds: int
) -> Iterator[Comparison]:
    """Yield the comparisons of one plan, one per group of items."""
    design = plan._design
    near = np.argsort(np.abs(np.log(np.maximum(counts, 0.5) / plan.predicted.count)))[:_NEAREST]
    groups = {
        f"share {_SHARE:.1%}": (near.astype(np.int64), counts[near]),
        "absent": (ABSENT + np.arange(_ABSENT), np.zeros(_ABSENT, dtype=np.int64)),
    }
    predicted = {
        group: simulated(design, count=float(true.mean())) for group, (_, true) in groups.items()
    }
    errors: dict[str, list[float]] = {group: [] for group in groups}
    halves: dict[str, list[float]] = {group: [] for group in groups}
    for seed in range(seeds):
        with plan.sketch(key=seeded_key(seed, sketch_id=bytes([seed] * 16))) as sketch:
            sketch.update_many(events)
            release = sketch.release()
        for group, (items, true) in groups.items():
            answer = release.interval_many(items, at="now")
            errors[group].append(float(np.abs(answer.estimate - true).mean()))
            halves[group].append(float((answer.high - answer.low).mean()) / 2)
    for group in groups:
        typical, half = predicted[group]
        yield Comparison(
            stream=name,
            source=source,
            kind=plan.kind,
            schedule=plan.schedule.name,
            depth=plan.depth,
            width=plan.width,
            group=group,
            typical=(typical, float(np.mean(errors[group]))),
            half_width=(half, float(np.mean(halves[group]))),
        )


def measured_streams(*, data: Path, seeds: int) -> list[Comparison]:
    """Return the comparisons of all real streams."""
    return [found for name in REAL for found in measure(name, data=data, seeds=seeds)]


def table(found: list[Comparison]) -> str:
    """Return Markdown with a row per comparison."""
    names = ["stream", "planned from", "sketch", "schedule", "items", "typical error: predicted"]
    names += ["measured", "ratio", "half width: predicted", "measured", "ratio"]
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for c in found:
        shown = [
            f"{predicted:.1f} | {measured:.1f} | {marked(predicted / measured)}"
            for predicted, measured in (c.typical, c.half_width)
        ]
        lines.append(
            f"| {c.stream} | {c.source} | {c.kind} {c.depth} x {c.width} | {c.schedule} "
            f"| {c.group} | {' | '.join(shown)} |"
        )
    return "\n".join(lines)


def marked(ratio: float) -> str:
    """Return a ratio, bold if it is not near 1."""
    near = 1 / (1 + _TOLERANCE) <= ratio <= 1 + _TOLERANCE
    return f"{ratio:.2f}" if near else f"**{ratio:.2f}**"
