"""Recall of names by weight: what ``discovery_weight`` finds, and what it costs.

Two streams of weights from 1 to 100: one of three million events in which 12 items have 1.4 % of
the weight each, in 500 events each, and flows of a network, whose sources are weighted by packets.
The items above 1/256 of the weight are to be found without a list; ``above()`` at the end is
compared with them, for several ``discovery_weight``: with the default epoch of a given horizon,
which is counted exactly, and published once, where the whole stream is one epoch of Misra-Gries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import numpy as np
import numpy.typing as npt
from experiments.streams import named, weights, zipf

import lazysketch as ls

__all__ = ["COUNTED", "STREAMS", "Names", "measure", "table"]

STREAMS: Final = ("few events", "netflow")
COUNTED: Final = (1, 10, 100)
_EPSILONS: Final = (1.0, 3.0)
_K, _DELTA = 256, 1e-6
_LARGEST_WEIGHT: Final = 100
_LIGHT, _HEAVY, _TIMES = 3_000_000, 12, 500  # events of weight 1; items, and events of each

Integers = npt.NDArray[np.int64]


@dataclass
class Names:
    """Items found in a stream with one epsilon, epoch and ``discovery_weight``, an entry per seed.

    Args:
        stream: name of the stream.
        epsilon: privacy parameter of names and counts together.
        once: True if the whole stream is one epoch.
        counted: largest weight of an event that counts for its name.
        heavy: number of items above the share, by weight.
        threshold: sum of weights, each cut, that is published half of the time.
        precision: share of the found items that are heavy.
        recall: share of the heavy items that are found.
        names: names that are published.
    """

    stream: str
    epsilon: float
    once: bool
    counted: int
    heavy: int
    threshold: int = 0
    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    names: list[int] = field(default_factory=list)


def few_events() -> tuple[Integers, Integers]:
    """Return events of weight 1, and items that are heavy in 500 events of weight 100."""
    generator = np.random.default_rng(11)
    light = zipf(generator, skew=1.0, items=1_000_000, events=_LIGHT) + _HEAVY
    items = np.concatenate([np.repeat(np.arange(_HEAVY), _TIMES), light])
    each = np.where(items < _HEAVY, _LARGEST_WEIGHT, 1)
    order = generator.permutation(items.size)
    return items[order], each[order]


def measure(name: str, *, data: Path, seeds: int) -> Iterator[Names]:
    """Yield what is found in a stream."""
    if name == "few events":
        items, each = few_events()
    else:
        found = weights(name, data)
        assert found is not None, "this stream has weights"
        items, each = named(name, data), found
    truth = np.bincount(items, weights=each)
    wanted = set(np.flatnonzero(truth > truth.sum() / _K).tolist())
    for epsilon in _EPSILONS:
        for once in (False, True):
            for counted in COUNTED:
                cell = Names(name, epsilon, once, counted, len(wanted))
                for _ in range(seeds):
                    heavy = _made(epsilon, counted, steps=len(items), once=once)
                    heavy.update_many(items, each)
                    heavy.finish()
                    shown = {cast("int", hitter.item) for hitter in heavy.above()}
                    cell.threshold = heavy.threshold or 0
                    cell.recall.append(len(shown & wanted) / len(wanted))
                    cell.precision.append(len(shown & wanted) / max(len(shown), 1))
                    cell.names.append(len(heavy.candidates))
                yield cell


def _made(epsilon: float, counted: int, *, steps: int, once: bool) -> ls.HeavyHitters:
    return ls.HeavyHitters(
        share=1 / _K,
        epsilon=epsilon,
        delta=_DELTA,
        schedule=ls.Single() if once else ls.RoundRobin(horizon=steps),
        max_weight=_LARGEST_WEIGHT,
        discovery_weight=counted,
    )


def table(cells: list[Names]) -> str:
    """Return Markdown with a row per stream, epoch and epsilon, of what each weight finds."""
    columns = " | ".join(f"discovery_weight {counted}" for counted in COUNTED)
    lines = [f"| stream | epochs | epsilon | {columns} |", "| --- " * (3 + len(COUNTED)) + "|"]
    for at in range(0, len(cells), len(COUNTED)):
        row = cells[at : at + len(COUNTED)]
        shown = " | ".join(
            f"{cell.threshold:,}: {np.mean(cell.precision):.2f}, {np.mean(cell.recall):.2f} "
            f"({np.mean(cell.names):.0f})"
            for cell in row
        )
        first = row[0]
        lines.append(
            f"| {first.stream}, {first.heavy} items | {'one' if first.once else 'default'} | "
            f"{first.epsilon:g} | {shown} |"
        )
    return "\n".join(lines)
