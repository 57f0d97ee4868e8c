"""Nanoseconds per event of the paper's algorithms in plain Rust, and of our core in batches.

A cell is one round: every contender once, in turn, so that a busy period of the machine affects all
of them; the report takes medians over rounds. Plain Punctual takes minutes for 2^20 events at large
widths, so it is timed over a prefix, with the full tree levels of the horizon. The cost of one
event is compared, which is the same for any prefix, as the experiment ``time-prefix`` shows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from experiments.cell import Cell, Observation
from experiments.contenders import PAPER, Contender, contender
from experiments.plain import Plain
from experiments.settings import Settings
from experiments.streams import Items, zipf

__all__ = ["PLAIN", "measure", "plain_events"]

PLAIN = "ns per event, plain"
_OURS = "ns per event, ours"
_LONGEST = 200_000
_CELL_UPDATES = 12_000_000  # of a plain run: about a third of a second
_FEWEST = 512


def plain_events(name: str, *, depth: int, width: int) -> int:
    """Return the length of the prefix that a plain sketch is timed over."""
    if not name.startswith("Punctual"):
        return _LONGEST
    return min(_LONGEST, max(_FEWEST, _CELL_UPDATES // (depth * width)))


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Time all contenders once.

    Args:
        parameters: ``memory`` in KB or ``width``; ``depth``, ``epsilon``, ``delta``, ``skew``,
            ``items``, ``events``; ``prefix``, events of plain runs, if fixed; ``plain_only``;
            ``ours_only``.
        contenders: names of contenders; the paper's six are also run in plain Rust.
        cell: value and seed.

    Returns:
        Times, widths and memory.
    """
    generator = cell.generator()
    events = parameters.integer("events")
    skew = parameters.number("skew")
    stream = zipf(generator, skew=skew, items=parameters.integer("items"), events=events)
    found: list[Observation] = []
    for name in contenders:
        one = contender(name)
        depth = parameters.integer("depth")
        width = (
            parameters.integer("width")
            if "width" in parameters
            else one.width(memory=parameters.number("memory"), depth=depth)
        )
        figures = {"width": float(width)}
        for accounting in one.cell_bytes:
            kilobytes = one.kilobytes(accounting, depth=depth, width=width)
            figures[f"KB ({accounting})"] = kilobytes
        sigma, nanoseconds = _ours(one, stream, generator, parameters, (depth, width))
        if not parameters.flag("plain_only"):
            figures[_OURS] = nanoseconds
        if name in PAPER and not parameters.flag("ours_only"):
            plain = Plain(name, depth=depth, width=width, horizon=events, sigma=sigma)
            prefix = parameters.integer("prefix", plain_events(name, depth=depth, width=width))
            figures[PLAIN], _ = plain.nanoseconds(prefix, skew=skew, seed=cell.seed % 2**32)
        found += [Observation(name, cell.value, *pair) for pair in figures.items()]
    return found


def _ours(
    one: Contender,
    stream: Items,
    generator: np.random.Generator,
    parameters: Settings,
    shape: tuple[int, int],
) -> tuple[float, float]:
    """Return the standard deviation of a draw, and nanoseconds per event in one batch."""
    sketch = one.make(
        generator,
        depth=shape[0],
        width=shape[1],
        steps=len(stream),
        epsilon=parameters.number("epsilon"),
        delta=parameters.number("delta"),
    )
    start = time.perf_counter_ns()
    sketch.update_many(stream)
    nanoseconds = (time.perf_counter_ns() - start) / len(stream)
    return getattr(sketch, "sigma", 0.0), nanoseconds
