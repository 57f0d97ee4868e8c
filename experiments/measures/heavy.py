"""Heavy hitters on real streams: precision, recall and error, by memory and by epsilon.

Heavy is what makes up more than 1/k of the stream. A sketch cannot list items: it is asked for
every item of the domain (all that occur, taken as public); discovery is not told any. The error is
that of the heavy items that were found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lazysketch as ls
from experiments.cell import Cell, Observation
from experiments.contenders import contender
from experiments.streams import Items, named
from lazysketch.testing import seeded_key

__all__ = ["DISCOVERY", "measure"]

DISCOVERY = "discovery"
_LEAST_MEMORY = 65.6  # KB: the least that HeavyHitters takes

Estimates = dict[int, float]


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
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
    for stream in parameters["streams"]:
        events = named(stream, Path(parameters["data"]))
        counts = np.bincount(events)
        wanted = set(np.flatnonzero(counts > len(events) / int(parameters["k"])).tolist())
        for name in contenders:
            if name == DISCOVERY:
                if float(parameters["memory"]) < _LEAST_MEMORY:
                    continue
                answers = _discovered(events, parameters, generator)
            else:
                answers = _known(name, events, parameters, generator)
            for metric, value in _scores(answers, counts, wanted).items():
                found.append(Observation(name, cell.value, f"{label(stream)}: {metric}", value))
    return found


def label(stream: str) -> str:
    """Return the name of a stream in plots: of a file its own name."""
    return Path(stream.partition(":")[0]).name


def _scores(answers: Estimates, counts: Items, wanted: set[int]) -> dict[str, float]:
    right = wanted & answers.keys()
    scores = {"recall": len(right) / len(wanted) if wanted else 1.0}
    # Nothing shown, nothing wrong.
    scores["precision"] = len(right) / len(answers) if answers else 1.0
    if right:
        off = [abs(answers[item] - counts[item]) / counts[item] for item in right]
        scores["are"] = float(np.mean(off))
    return scores


def _known(
    name: str, events: Items, parameters: Mapping[str, Any], generator: np.random.Generator
) -> Estimates:
    """The items of the domain whose estimate is above the line."""
    one, depth = contender(name), int(parameters["depth"])
    sketch = one.make(
        generator,
        depth=depth,
        width=one.width(memory=float(parameters["memory"]), depth=depth),
        steps=len(events),
        epsilon=float(parameters["epsilon"]),
        delta=float(parameters["delta"]),
    )
    sketch.update_many(events)
    line = len(events) / int(parameters["k"])
    domain = np.arange(int(events.max()) + 1)
    estimates = sketch.release().estimate_many(domain)
    if one.estimator is not None:
        # Slow over a whole domain, and no correction doubles an estimate.
        domain = domain[estimates > line / 2]
        estimates = one.read(sketch, domain)
    above = np.flatnonzero(estimates > line)
    return {int(domain[each]): float(estimates[each]) for each in above}


def _discovered(
    events: Items, parameters: Mapping[str, Any], generator: np.random.Generator
) -> Estimates:
    heavy = ls.HeavyHitters(
        share=1.0 / int(parameters["k"]),
        epsilon=float(parameters["epsilon"]),
        delta=float(parameters["delta"]),
        memory=int(float(parameters["memory"]) * 1000),
        horizon=len(events),
        hash_seed=int(generator.integers(2**63)),
        key=seeded_key(int(generator.integers(2**63)), sketch_id=generator.bytes(16)),
    )
    heavy.update_many(events)
    heavy.end_discovery_epoch()
    return {int(hitter.item): hitter.estimate for hitter in heavy.above()}
