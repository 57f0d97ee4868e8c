"""Heavy hitters on real streams: precision, recall and error, by memory and by epsilon.

An item is heavy if it makes up more than 1/k of the stream. A sketch cannot list items: it is
queried for every item of the domain (all that occur, taken as public). Discovery gets no list; it
publishes once, at the end. The error is that of the heavy items that were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

import lazysketch as ls
from experiments.cell import Cell, Observation
from experiments.contenders import contender
from experiments.settings import Settings
from experiments.streams import Items, named
from lazysketch.testing import seeded_key

__all__ = ["DISCOVERY", "measure"]

DISCOVERY = "discovery"
_LEAST_MEMORY = 65.6  # KB: the minimum of HeavyHitters

Estimates = dict[int, float]


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Measure all contenders on every stream.

    Args:
        parameters: ``streams``, ``data``, ``k``, ``memory`` in KB, ``depth``, ``epsilon``,
            ``delta``.
        contenders: names of contenders, and ``discovery``.
        cell: value and seed.

    Returns:
        ``STREAM: precision`` and so on.
    """
    generator = cell.generator()
    found: list[Observation] = []
    for stream in parameters.texts("streams"):
        events = named(stream, Path(parameters.text("data")))
        counts = np.bincount(events)
        wanted = set(np.flatnonzero(counts > len(events) / parameters.integer("k")).tolist())
        for name in contenders:
            if name == DISCOVERY:
                if parameters.number("memory") < _LEAST_MEMORY:
                    continue
                answers = _discovered(events, parameters, generator)
            else:
                answers = _known(name, events, parameters, generator)
            for metric, value in _scores(answers, counts, wanted).items():
                found.append(Observation(name, cell.value, f"{label(stream)}: {metric}", value))
    return found


def label(stream: str) -> str:
    """Return the name of a stream in plots: the file name, for a file."""
    return Path(stream.partition(":")[0]).name


def _scores(answers: Estimates, counts: Items, wanted: set[int]) -> dict[str, float]:
    right = wanted & answers.keys()
    scores = {"recall": len(right) / len(wanted) if wanted else 1.0}
    # An empty answer contains no wrong item.
    scores["precision"] = len(right) / len(answers) if answers else 1.0
    if right:
        off = [abs(answers[item] - counts[item]) / counts[item] for item in right]
        scores["are"] = float(np.mean(off))
    return scores


def _known(
    name: str, events: Items, parameters: Settings, generator: np.random.Generator
) -> Estimates:
    """Return the items of the domain with an estimate above 1/k of the stream."""
    one, depth = contender(name), parameters.integer("depth")
    sketch = one.make(
        generator,
        depth=depth,
        width=one.width(memory=parameters.number("memory"), depth=depth),
        steps=len(events),
        epsilon=parameters.number("epsilon"),
        delta=parameters.number("delta"),
    )
    sketch.update_many(events)
    line = len(events) / parameters.integer("k")
    domain = np.arange(int(events.max()) + 1)
    estimates = one.read(sketch, domain)
    above = np.flatnonzero(estimates > line)
    return {int(domain[each]): float(estimates[each]) for each in above}


def _discovered(events: Items, parameters: Settings, generator: np.random.Generator) -> Estimates:
    heavy = ls.HeavyHitters(
        share=1.0 / parameters.integer("k"),
        epsilon=parameters.number("epsilon"),
        delta=parameters.number("delta"),
        memory=int(parameters.number("memory") * 1000),
        schedule="single",
        hash_seed=int(generator.integers(2**63)),
        key=seeded_key(int(generator.integers(2**63)), sketch_id=generator.bytes(16)),
    )
    heavy.update_many(events)
    heavy.finish()
    return {cast("int", hitter.item): hitter.estimate for hitter in heavy.above()}
