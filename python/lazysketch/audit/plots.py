"""The plots of a long audit, as SVG; matplotlib is imported when one is drawn.

One version of matplotlib makes the same bytes from the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.finding import ALARM
from lazysketch.errors import MissingPackageError

__all__ = ["can_draw", "draw_courses", "draw_p_values"]

# Okabe and Ito's colours, which readers with any colour vision tell apart.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")


def can_draw() -> bool:
    """Return whether matplotlib is installed; to be told before an hour of work."""
    return find_spec("matplotlib") is not None


def _pyplot() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingPackageError(
            "matplotlib: expected it for the plots of a long audit, got none; "
            "pip install 'lazysketch[plot]'"
        ) from None
    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update(
        {"svg.hashsalt": "lazysketch", "svg.fonttype": "none", "font.size": 9.0}
    )
    return pyplot


def draw_courses(
    path: Path, courses: Mapping[str, tuple[Sequence[tuple[int, float]], float]]
) -> None:
    """Draw how the bounds on mu grew towards their claims, as shares of them.

    Args:
        path: where to.
        courses: by name, (trials, bound) in order, and the claimed mu.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")
    for colour, (name, (course, claimed)) in zip(_COLOURS, courses.items(), strict=False):
        trials, bounds = np.array(course).T
        axes.plot(trials, bounds / claimed, color=colour, label=f"{name}: claimed {claimed:.3f}")
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    axes.set(
        xscale="log",
        ylim=(0, 1.1),
        xlabel="tables per stream",
        ylabel="audited mu / claimed mu",
        title="Lower bounds (95 %) on mu, as shares of the claim",
    )
    axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_p_values(path: Path, p_values: NDArray[np.float64]) -> None:
    """Draw the p-values of the laws, already multiplied by their numbers, and the alarm.

    Args:
        path: where to.
        p_values: one per finding.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7.0, 2.8), layout="constrained")
    ordered = np.sort(np.maximum(p_values, 1e-12))
    axes.plot(np.arange(1, ordered.size + 1), ordered, "o", markersize=3, color=_COLOURS[0])
    axes.axhline(ALARM, color="black", linewidth=0.8, linestyle="--")
    axes.set(
        yscale="log",
        ylim=(1e-9, 2),
        xlabel="findings, the least likely first",
        ylabel="p-value",
        title="Laws; below the line is an alarm",
    )
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
