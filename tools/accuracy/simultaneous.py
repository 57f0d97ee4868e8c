"""Simultaneous intervals of known names: how often all of a list cover, and how wide they are.

For every stream, sketch and schedule, lists of the 20 and the 300 heaviest items and of all 2^20
that could occur: the part of the seeds for which all intervals of the list cover at 95 %, and half
the median width relative to the 95 % quantile, over the seeds, of the largest error in the list.
Of the list of 2^20 the 100 largest estimates are shown and checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from experiments.streams import REAL, UNTUNED, heaviest, named, zipf
from tools.accuracy.coverage import CountsAt

import lazysketch as ls
from lazysketch.estimation.intervals import At
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.testing import seeded_key

__all__ = [
    "LONG",
    "REAL_STREAMS",
    "SCHEDULES",
    "STREAMS",
    "ZIPF",
    "Case",
    "measure",
    "stream",
    "table",
]

ZIPF: Final = ("zipf-1.1", "zipf-1.3", "zipf-2.0")
REAL_STREAMS: Final = (*REAL, *UNTUNED)
STREAMS: Final = (*REAL_STREAMS, *ZIPF)
SCHEDULES: Final = ("geometric", "round robin", "batch", "single")
LONG: Final = 1 << 20
_CONFIDENCE: Final = 0.95
_EVENTS: Final = 1 << 18
_KINDS: Final = (ls.LazyCountMin, ls.LazyCountSketch)
_SHOWN: Final = 100

Items = npt.NDArray[np.int64]


@dataclass
class Case:
    """Intervals of one list, one entry per seed."""

    stream: str
    sketch: str
    schedule: str
    at: At
    names: int
    covered: list[bool] = field(default_factory=list)
    halves: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Part of the seeds for which all intervals cover."""
        return float(np.mean(self.covered))

    @property
    def least(self) -> float:
        """The confidence less three standard errors."""
        return _CONFIDENCE - 3 * math.sqrt(_CONFIDENCE * (1 - _CONFIDENCE) / len(self.covered))

    @property
    def ratio(self) -> float:
        """Half the median width, relative to the matching quantile of the largest errors."""
        largest = float(np.quantile(self.errors, _CONFIDENCE))
        return float(np.median(self.halves)) / max(largest, 1.0)


def stream(name: str, data: Path) -> Items:
    """Return the events of a stream; of Zipf streams 2^18, in a fixed order."""
    if not name.startswith("zipf-"):
        return named(name, data)
    skew = float(name.removeprefix("zipf-"))
    return zipf(np.random.default_rng(20_250_703), skew=skew, items=LONG, events=_EVENTS)


def measure(
    name: str, schedule: str, *, seeds: int, long_seeds: int, data: Path = Path("../shared/data")
) -> Iterator[Case]:
    """Yield the intervals of both sketches and all lists, with one schedule.

    Args:
        name: of the stream.
        schedule: one of `SCHEDULES`.
        seeds: of lists of 20 and 300 items.
        long_seeds: of the list of all items, the first of these seeds.
        data: folder of the real streams.
    """
    events = stream(name, data)
    true = np.bincount(events, minlength=LONG)
    lists = {names: heaviest(true, names) for names in (20, 300)}
    counts = {names: CountsAt(events, items) for names, items in lists.items()}
    moments: tuple[At, ...] = ("now",) if schedule == "single" else ("published", "now")
    for make in _KINDS:
        found = {
            (names, at): Case(name, make.__name__, schedule, at, names)
            for names in (20, 300, LONG)
            for at in moments
        }
        for seed in range(seeds):
            release = _released(make, events, schedule, seed)
            for (names, at), case in found.items():
                if names < LONG:
                    _add(case, release, lists[names], counts[names], events=len(events))
                elif seed < long_seeds and at == "now":
                    _add_long(case, release, true)
        yield from (case for case in found.values() if case.covered)


def _released(make: type[PrivateTable], events: Items, schedule: str, seed: int) -> ls.Release:
    key = seeded_key(20_251_122, sketch_id=seed.to_bytes(16, "big"))
    given: dict[str, object] = {"hash_seed": seed, "key": key}
    if schedule == "round robin":
        given["horizon"] = len(events)
    elif schedule == "batch":
        given["schedule"] = ls.Batch(horizon=128)
    elif schedule == "single":
        given["schedule"] = ls.Single()
    shape = {"depth": 4, "width": 1024, "epsilon": 1.0, "delta": 1e-6}
    with make(**shape, **given) as sketch:  # type: ignore[arg-type]
        if schedule == "batch":
            for part in np.array_split(events, 64):
                sketch.update_batch(part)
        else:
            sketch.update_many(events)
        if schedule == "single":
            sketch.finish()
        return sketch.release()


def _add(case: Case, release: ls.Release, items: Items, counts: CountsAt, *, events: int) -> None:
    found = release.interval_many(items, simultaneous=True, at=case.at, known=items)
    if case.at == "now":
        first = last = np.full(len(items), release.step)
    else:
        (part,) = release.parts
        columns, _ = release._native.cells_many(items)
        published = part.published_steps(release.width)[columns.astype(np.int64)]
        first, last = (
            each.astype(np.int64) for each in (published.min(axis=1), published.max(axis=1))
        )
    # A step is an event, or a batch of them.
    low, high = (counts.by(steps * events // release.step) for steps in (last, first))
    case.covered.append(bool(((found.low <= low) & (high <= found.high)).all()))
    case.halves.append(float(np.median(found.high - found.low)) / 2)
    case.errors.append(float(np.abs(found.estimate - (low + high) / 2).max()))


def _add_long(case: Case, release: ls.Release, true: Items) -> None:
    shown = release.top(np.arange(LONG), _SHOWN)
    items = np.array([each.item for each in shown], dtype=np.int64)
    low, high = np.array([each.low for each in shown]), np.array([each.high for each in shown])
    estimate = np.array([each.estimate for each in shown])
    case.covered.append(bool(((low <= true[items]) & (true[items] <= high)).all()))
    case.halves.append(float(np.median(high - low)) / 2)
    case.errors.append(float(np.abs(estimate - true[items]).max()))


def table(cases: list[Case]) -> str:
    """Return Markdown with a row per stream, sketch, schedule and time; a column per list.

    Each entry: seeds for which all cover, half the median width, and its ratio to the quantile.
    """
    sizes = sorted({case.names for case in cases})
    lines = [
        f"| stream | sketch | schedule | at | {' | '.join(f'{size:,}' for size in sizes)} |",
        "| --- " * (4 + len(sizes)) + "|",
    ]
    rows: dict[tuple[str, ...], dict[int, str]] = {}
    for case in cases:
        half = float(np.median(case.halves))
        text = f"{case.rate:.1%} of {len(case.covered)}, {half:,.0f}, {case.ratio:.2f}"
        key = (case.stream, case.sketch, case.schedule, case.at)
        rows.setdefault(key, {})[case.names] = text if case.rate >= case.least else f"**{text}**"
    for names, shown in rows.items():
        cells = [shown.get(size, "") for size in sizes]
        lines.append(f"| {' | '.join([*names, *cells])} |")
    return "\n".join(lines)
