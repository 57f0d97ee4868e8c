"""Plots of results, one figure per experiment; matplotlib (requirements/tools.in) is imported late.

``style`` holds colours and axes, ``panels`` the figures of the paper's experiments, ``ours`` the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.definition import Definition
from experiments.plots import ours, panels
from experiments.plots.style import backend, save
from experiments.summary import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "draw"]

FIGURES: Mapping[str, Callable[[Figure, Definition, Result], None]] = {
    "time-memory": panels.time_memory,
    "time-prefix": panels.time_prefix,
    "error-width": panels.error_memory,
    "error-depth": panels.error_memory,
    "error-skew": panels.error,
    "error-epsilon-1-1": panels.error,
    "error-epsilon-2-1": panels.error,
    "growth-width": panels.growth,
    "growth-horizon": panels.growth,
    "heavy-memory": panels.heavy,
    "heavy-epsilon": panels.heavy,
    "variance": ours.variance,
    "course": ours.course,
    "ladder": ours.ladder,
    "coverage": ours.coverage,
    "sensitivity": ours.sensitivity,
}


def draw(definition: Definition, result: Result, targets: list[Path]) -> None:
    """Write the figure of an experiment.

    Args:
        definition: the experiment.
        result: its numbers.
        targets: files; the suffix selects the format.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    with backend() as figure:
        FIGURES[definition.name](figure, definition, result)
        save(figure, definition.title, targets)
