"""Predicted and measured errors of every schedule, read on the way and at the end.

One table of 4 x 4096 is planned from a public sample, every tenth event, for each schedule and each
kind of read; then it counts the whole stream, once per seed. Estimates and single intervals are
those of the items with shares nearest to the planned one; intervals that cover together are for
the heaviest 300 names, without and with taking out the others (``known``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments.streams import named
from tools.accuracy.planner import marked

import lazysketch as ls
from lazysketch.planning.design import Design, Planned
from lazysketch.planning.prediction import simulated
from lazysketch.planning.reads import Reads
from lazysketch.planning.request import Request
from lazysketch.planning.simulation import known_half_width
from lazysketch.planning.workload import Workload
from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single
from lazysketch.specification.sizing import SketchKind

__all__ = ["STREAMS", "Compared", "measure", "measured_schedules", "table"]

STREAMS = ("scarab_recs", "gutenberg_words", "zipf-1.3", "log-normal", "two classes")
_DEPTH, _WIDTH = 4, 4096
_SHARE, _NEAREST, _NAMES = 0.002, 40, 300
_BATCHES = 128
_EVENTS = 600_000  # of the streams that no folder has
_KINDS: tuple[SketchKind, ...] = ("count-min", "count-sketch")

Counts = npt.NDArray[np.int64]
Numbers = tuple[float, float, float, float]


@dataclass(frozen=True)
class Compared:
    """Predicted and measured errors of one schedule, in counts.

    The numbers are typical error and half width of the items, and half widths of intervals that
    cover together, without and with known names.
    """

    stream: str
    kind: str
    schedule: str
    predicted: Numbers
    measured: Numbers


def stream_of(name: str, data: Path) -> Counts:
    """Return a stream of the folder, or one that is drawn here: of other shapes."""
    generator = np.random.default_rng(7)
    if name == "log-normal":
        shares = np.exp(2.2 * generator.standard_normal(100_000))
    elif name == "two classes":
        shares = np.where(np.arange(40_000) < 60, 500.0, 1.0)
    else:
        return named(name, data)
    return generator.choice(len(shares), _EVENTS, p=shares / shares.sum()).astype(np.int64)


def options(steps: int) -> list[tuple[Reads, Planned, int]]:
    """Return reads, schedules and the steps of a batch."""
    batch = steps // _BATCHES
    return [
        ("continually", Geometric(), 1),
        ("continually", RoundRobin(horizon=steps), 1),
        (batch, Batch(horizon=-(-steps // batch)), batch),
        ("end", Geometric(), 1),
        ("end", RoundRobin(horizon=steps), 1),
        ("end", Single(), 1),
    ]


def measure(name: str, *, data: Path, seeds: int) -> Iterator[Compared]:
    """Yield the comparisons of all schedules on a stream."""
    events = stream_of(name, data)
    counts = np.bincount(events)
    sample = np.bincount(events[::10])
    names = np.argsort(-counts, kind="stable")[:_NAMES]
    wanted = _SHARE * len(events)
    near = names[np.argsort(np.abs(np.log(counts[names] / wanted)), kind="stable")[:_NEAREST]]
    count = float(counts[near].mean())
    for kind in _KINDS:
        for reads, schedule, batch in options(len(events)):
            request = Request(
                steps=len(events),
                horizon=len(events),
                epsilon=1.0,
                delta=1e-6,
                relation="substitution",
                max_weight=1,
                mean_weight=1.0,
                max_events_per_user=1,
                kinds=(kind,),
                relative_error=None,
                share=_SHARE,
                memory=None,
                confidence=0.95,
                workload=Workload.sample(sample, events=float(len(events))),
                reads=reads,
            )
            design = Design(request, kind, _DEPTH, _WIDTH, schedule, batch)
            typical, half = simulated(design, count=count)
            together = simulated(design, count=count, among=_NAMES)[1]
            known = known_half_width(design, count=count, names=_NAMES)
            yield Compared(
                stream=name,
                kind=kind,
                schedule=f"{schedule.name}{', finished' if design.finished else ''}",
                predicted=(typical, half, together, known or together),
                measured=_measured(design, events, near, names, counts=counts, seeds=seeds),
            )


def _measured(
    design: Design, events: Counts, near: Counts, names: Counts, *, counts: Counts, seeds: int
) -> Numbers:
    found = []
    kinds = {"count-min": ls.LazyCountMin, "count-sketch": ls.LazyCountSketch}
    sketch_of: type[ls.LazyCountMin | ls.LazyCountSketch] = kinds[design.kind]
    until = len(events) // design.batch * design.batch
    for _ in range(seeds):
        with sketch_of.from_spec(design.spec) as sketch:
            if design.batch == 1:
                sketch.update_many(events)
            else:
                for begin in range(0, until, design.batch):
                    sketch.update_batch(events[begin : begin + design.batch])
                counts = np.bincount(events[:until], minlength=len(counts))
            if design.finished:
                sketch.finish()
            release = sketch.release()
        single = release.interval_many(near)
        error = float(np.abs(release.estimate_many(near) - counts[near]).mean())
        halves = [
            float((answer.high - answer.low).mean()) / 2
            for answer in (
                single,
                release.interval_many(near, among=_NAMES),
                release.interval_many(near, among=_NAMES, known=names),
            )
        ]
        found.append((error, *halves))
    typical, half, together, known = np.mean(found, axis=0).tolist()
    return typical, half, together, known


def measured_schedules(*, data: Path, seeds: int) -> list[Compared]:
    """Return the comparisons of all streams."""
    return [found for name in STREAMS for found in measure(name, data=data, seeds=seeds)]


def table(found: list[Compared]) -> str:
    """Return Markdown with a row per comparison."""
    names = ["stream", "sketch", "schedule"]
    names += ["typical error: predicted", "measured", "ratio"]
    names += ["half width: predicted", "measured", "ratio"]
    names += [f"of {_NAMES} together: ratio", f"of {_NAMES} known: measured", "ratio"]
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for one in found:
        ratios = [p / m for p, m in zip(one.predicted, one.measured, strict=True)]
        shown = [
            f"{one.predicted[at]:.1f} | {one.measured[at]:.1f} | {marked(ratios[at])}"
            for at in (0, 1)
        ]
        shown += [marked(ratios[2]), f"{one.measured[3]:.1f} | {marked(ratios[3])}"]
        lines.append(f"| {one.stream} | {one.kind} | {one.schedule} | {' | '.join(shown)} |")
    return "\n".join(lines)
