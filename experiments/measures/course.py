"""Average relative error of the heaviest items through time, at growing numbers of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.cell import Cell, Observation
from experiments.contenders import contender
from experiments.measures.error import relative_error
from experiments.streams import heaviest, zipf

__all__ = ["measure"]


def measure(
    parameters: Mapping[str, Any], contenders: Sequence[str], cell: Cell
) -> list[Observation]:
    """Measure all contenders on one stream, at all steps.

    Args:
        parameters: as for ``error``; ``steps``, where the error is read, in place of ``reads``.
        contenders: who competes.
        cell: value and seed.

    Returns:
        ``are`` at every step.
    """
    generator = cell.generator()
    steps = [int(step) for step in parameters["steps"]]
    depth = int(parameters["depth"])
    stream = zipf(
        generator, skew=float(parameters["skew"]), items=int(parameters["items"]), events=steps[-1]
    )
    counts = [np.bincount(stream[:step]) for step in steps]
    found = []
    for name in contenders:
        one = contender(name)
        sketch = one.make(
            generator,
            depth=depth,
            width=one.width(memory=float(parameters["memory"]), depth=depth),
            steps=steps[-1],
            epsilon=float(parameters["epsilon"]),
            delta=float(parameters["delta"]),
        )
        for step, counted in zip(steps, counts, strict=True):
            sketch.update_many(stream[sketch.step : step])
            top = heaviest(counted, int(parameters["top"]))
            error = relative_error(one.read(sketch, top), counted[top])
            found.append(Observation(name, step, "are", error))
    return found
