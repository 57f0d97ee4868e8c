"""Nanoseconds per event: the paper's algorithms written plainly, and our core in batches.

A cell is one round: every contender once, in turn, so that a busy moment of the machine hits all of
them; the report takes medians over rounds. Plain Punctual costs minutes for 2^20 events at large
widths, so it is run over a prefix, with trees of all levels of the horizon: what is compared is the
cost of one event, which the experiment ``time-prefix`` shows to be the same for any prefix.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.cell import Cell, Observation
from experiments.contenders import PAPER, Contender, contender
from experiments.plain import Plain
from experiments.streams import Items, zipf

__all__ = ["PLAIN", "measure", "plain_events"]

PLAIN = "ns per event, plain"
_OURS = "ns per event, ours"
_LONGEST = 200_000
_CELL_UPDATES = 12_000_000  # of a plain run, about a third of a second
_FEWEST = 512


def plain_events(name: str, *, depth: int, width: int) -> int:
    """Return how long a prefix a plain sketch is run over."""
    if not name.startswith("Punctual"):
        return _LONGEST
    return min(_LONGEST, max(_FEWEST, _CELL_UPDATES // (depth * width)))


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Time all contenders once.

    Args:
        parameters: ``memory`` in KB or ``width``; ``depth``, ``epsilon``, ``delta``, ``skew``,
            ``items``, ``events``; ``prefix``, events of plain runs, if fixed; ``plain_only``.
        contenders: who competes; the paper's six are also run plainly.
        cell: value and seed.

    Returns:
        Times, widths and memory.
    """
    generator = cell.generator()
    events = int(parameters["events"])
    skew = float(parameters["skew"])
    stream = zipf(generator, skew=skew, items=int(parameters["items"]), events=events)
    found: list[Observation] = []
    for name in contenders:
        one = contender(name)
        depth = int(parameters["depth"])
        width = (
            int(parameters["width"])
            if "width" in parameters
            else one.width(memory=float(parameters["memory"]), depth=depth)
        )
        figures = {"width": float(width)}
        for accounting in one.cell_bytes:
            kilobytes = one.kilobytes(accounting, depth=depth, width=width)
            figures[f"KB ({accounting})"] = kilobytes
        sigma, nanoseconds = _ours(one, stream, generator, parameters, (depth, width))
        if not parameters.get("plain_only", False):
            figures[_OURS] = nanoseconds
        if name in PAPER and not parameters.get("ours_only", False):
            plain = Plain(name, depth=depth, width=width, horizon=events, sigma=sigma)
            prefix = int(parameters.get("prefix", plain_events(name, depth=depth, width=width)))
            figures[PLAIN], _ = plain.nanoseconds(prefix, skew=skew, seed=cell.seed % 2**32)
        found += [Observation(name, cell.value, *pair) for pair in figures.items()]
    return found


def _ours(
    one: Contender,
    stream: Items,
    generator: np.random.Generator,
    parameters: Mapping[str, Any],
    shape: tuple[int, int],
) -> tuple[float, float]:
    """The standard deviation of a draw, and nanoseconds per event in one batch."""
    sketch = one.make(
        generator,
        depth=shape[0],
        width=shape[1],
        steps=len(stream),
        epsilon=float(parameters["epsilon"]),
        delta=float(parameters["delta"]),
    )
    start = time.perf_counter_ns()
    sketch.update_many(stream)
    nanoseconds = (time.perf_counter_ns() - start) / len(stream)
    return getattr(sketch, "sigma", 0.0), nanoseconds
