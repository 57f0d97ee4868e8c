"""Measures of a cell; a definition names one of these.

===============  =================================================================
measure          result
===============  =================================================================
``error``        average relative error of the heaviest items, and memory
``course``       the same error at growing numbers of steps
``timing``       nanoseconds per event of the paper's algorithms in plain Rust and of ours
``growth``       time, memory, noise, collisions and lag against width or horizon
``heavy``        precision, recall and error of heavy hitters on real streams
``coverage``     coverage of intervals
``variance``     variances of mechanisms and their lower bound
``sensitivity``  audited privacy loss of the Count Sketch with 2 d and with 4 d
===============  =================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.cell import Cell, Observation
from experiments.definition import Definition
from experiments.measures import coverage, error, growth, heavy, sensitivity, timing, variance
from experiments.settings import Settings

__all__ = ["MEASURES", "measured"]

Measure = Callable[[Settings, Sequence[str], Cell], list[Observation]]

MEASURES: Mapping[str, Measure] = {
    "course": error.measure_course,
    "coverage": coverage.measure,
    "error": error.measure,
    "growth": growth.measure,
    "heavy": heavy.measure,
    "sensitivity": sensitivity.measure,
    "timing": timing.measure,
    "variance": variance.measure,
}


def measured(definition: Definition, cell: Cell) -> list[Observation]:
    """Return the observations of a cell.

    Args:
        definition: the experiment.
        cell: one of its cells.

    Returns:
        All numbers.
    """
    parameters = Settings({**definition.parameters, definition.axis: cell.value})
    return MEASURES[definition.measure](parameters, definition.contenders, cell)
