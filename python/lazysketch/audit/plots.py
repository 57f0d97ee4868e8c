"""The plots of a long audit, as SVG; matplotlib is imported when a plot is drawn.

The same version of matplotlib draws the same bytes from the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit.finding import ALARM
from lazysketch.errors import MissingPackageError

__all__ = ["can_draw", "draw_p_values", "draw_progress"]

# Okabe and Ito's colours, distinguishable with any colour vision.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")


def can_draw() -> bool:
    """Return whether matplotlib is installed, so that a long audit can warn before it begins."""
    return find_spec("matplotlib") is not None


def _pyplot() -> ModuleType:
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
    drawing: ModuleType = pyplot
    return drawing


def draw_progress(
    path: Path, attacks: Mapping[str, tuple[Sequence[tuple[int, float]], float]]
) -> None:
    """Draw the lower bounds on mu by number of trials, as shares of the claimed mu.

    Args:
        path: the file to write.
        attacks: by name, (trials, bound) in order, and the claimed mu.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")
    for colour, (name, (progress, claimed)) in zip(_COLOURS, attacks.items(), strict=False):
        trials, bounds = np.array(progress).T
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
    """Draw the p-values of the findings, already multiplied by their numbers of tests.

    Args:
        path: the file to write.
        p_values: one per statistical finding.

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
        xlabel="findings, smallest p-value first",
        ylabel="p-value",
        title="Statistical checks; a value below the line is an alarm",
    )
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
