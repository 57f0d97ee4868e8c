"""The paper's table of complexities, measured: growth of cost and errors with width and horizon.

Times of Lazy and Punctual are those of the algorithms in plain Rust; memory is that of their nodes.
The errors are measured separately: noise on empty sketches, collisions on absent items of an exact
sketch, lag from the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import lazysketch as ls
from experiments.cell import Cell, Observation
from experiments.contenders import Private, contender, private
from experiments.measures.timing import plain_events
from experiments.plain import Plain
from experiments.settings import Settings
from experiments.streams import ABSENT, zipf

__all__ = ["measure"]

_ASKED = 2000
_READS = 12
_NODE_BYTES = 16  # a sum and a noisy sum, as benches/rust/src/paper.rs stores them


def measure(parameters: Settings, contenders: Sequence[str], cell: Cell) -> list[Observation]:
    """Measure all contenders at one width and horizon.

    Args:
        parameters: ``width`` and ``horizon``; ``depth``, ``epsilon``, ``delta``, ``skew`` and
            ``items``.
        contenders: private sketches of the paper.
        cell: value and seed.

    Returns:
        ``time``, ``memory``, ``noise`` and ``lag`` of each; ``collisions`` of CMS.
    """
    generator = cell.generator()
    depth, width = parameters.integer("depth"), parameters.integer("width")
    horizon = parameters.integer("horizon")
    found = [Observation("CMS", cell.value, "collisions", _collisions(generator, parameters))]
    for name in contenders:
        one = contender(name)
        made = one.make(
            generator,
            depth=depth,
            width=width,
            steps=horizon,
            epsilon=parameters.number("epsilon"),
            delta=parameters.number("delta"),
        )
        sketch = private(made)
        plain = Plain(name, depth=depth, width=width, horizon=horizon, sigma=sketch.sigma)
        events = min(plain_events(name, depth=depth, width=width), horizon)
        nanoseconds, levels = plain.nanoseconds(
            events, skew=parameters.number("skew"), seed=cell.seed % 2**32
        )
        figures = {
            "time": nanoseconds,
            "memory": depth * width * levels * _NODE_BYTES / 1000,
            "noise": _noise(sketch, generator, horizon),
            "lag": _lag(name, generator, width=width, horizon=horizon),
        }
        found += [Observation(name, cell.value, *pair) for pair in figures.items()]
    return found


def _collisions(generator: np.random.Generator, parameters: Settings) -> float:
    """Return the mean estimate of items that never occur, without noise."""
    events = zipf(
        generator,
        skew=parameters.number("skew"),
        items=parameters.integer("items"),
        events=parameters.integer("horizon"),
    )
    exact = ls.CountMin(
        depth=parameters.integer("depth"),
        width=parameters.integer("width"),
        hash_seed=int(generator.integers(2**63)),
    )
    exact.update_many(events)
    absent = ABSENT + np.arange(_ASKED, dtype=np.int64)
    return float(np.mean(exact.estimate_many(absent)))


def _noise(sketch: Private, generator: np.random.Generator, horizon: int) -> float:
    """Return the rms of an empty sketch's cells at random steps of the horizon's second half."""
    reads = np.sort(generator.integers(horizon // 2, horizon, _READS)) + 1
    squares = []
    for step in reads.tolist():
        if step > sketch.step:
            sketch.tick(step - sketch.step)
        squares.append(np.mean(np.square(sketch.release().table, dtype=np.float64)))
    return float(np.sqrt(np.mean(squares)))


def _lag(name: str, generator: np.random.Generator, *, width: int, horizon: int) -> float:
    """Return the mean lag of a column, in steps."""
    if name.startswith("Punctual"):
        return 0.0
    step = int(generator.integers(horizon // 2, horizon)) + 1
    published = ls.RoundRobin(horizon=horizon).published_steps(width, step)
    return float(np.mean(step - published))
