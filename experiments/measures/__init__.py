"""What can be measured in a cell; a definition names one of these.

===============  =================================================================
measure          what it finds
===============  =================================================================
``error``        average relative error of the heaviest items, and memory
``course``       the same through time
``timing``       nanoseconds per event, the paper's algorithms written plainly beside ours
``growth``       time, memory, noise, collisions and lag against width or horizon
``heavy``        precision, recall and error of heavy items on real streams
``coverage``     how often intervals cover
``variance``     noise of mechanisms beside what no mechanism can beat
``sensitivity``  audited privacy loss of the Count Sketch with 2 d and with 4 d
===============  =================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.cell import Cell, Observation
from experiments.definition import Definition
from experiments.measures import (
    course,
    coverage,
    error,
    growth,
    heavy,
    sensitivity,
    timing,
    variance,
)

__all__ = ["MEASURES", "measured"]

Measure = Callable[[Mapping[str, Any], Sequence[str], Cell], list[Observation]]

MEASURES: Mapping[str, Measure] = {
    "course": course.measure,
    "coverage": coverage.measure,
    "error": error.measure,
    "growth": growth.measure,
    "heavy": heavy.measure,
    "sensitivity": sensitivity.measure,
    "timing": timing.measure,
    "variance": variance.measure,
}


def measured(definition: Definition, cell: Cell) -> list[Observation]:
    """Return what a cell of an experiment finds.

    Args:
        definition: the experiment.
        cell: one of its cells.

    Returns:
        All numbers.
    """
    parameters = {**definition.parameters, definition.axis: cell.value}
    return MEASURES[definition.measure](parameters, definition.contenders, cell)
