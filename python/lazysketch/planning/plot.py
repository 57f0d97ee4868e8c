"""Plot of the error and its parts over memory, with the plan marked.

Needs matplotlib (the extra ``plot``), which is imported when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Point", "draw"]

_FORMATS: Final = (".png", ".svg", ".pdf")
_LARGEST: Final = 10.0  # upper limit of the plot: larger relative errors are all useless
# Okabe and Ito's colours, distinguishable with any colour vision.
_TOTAL, _COLLISIONS, _NOISE, _PLAN = "#000000", "#E69F00", "#0072B2", "#D55E00"


@dataclass(frozen=True)
class Point:
    """The best sketch of a size; half widths are relative to the item's count.

    Attributes:
        memory: in bytes.
        total: half width of the interval.
        collisions: half width from collisions alone.
        noise: half width from noise alone.
    """

    memory: int
    total: float
    collisions: float
    noise: float


def draw(
    path: str | PathLike[str],
    points: Sequence[Point],
    plan: tuple[float, float],
    *,
    title: str,
    confidence: float,
) -> None:
    """Write the plot to a file.

    Args:
        path: path of the file; its suffix (.png, .svg, .pdf) selects the format.
        points: from small to large.
        plan: memory and half width of the plan.
        title: title of the plot.
        confidence: confidence of the intervals.

    Raises:
        MissingPackageError: matplotlib is not installed.
        ArgumentTypeError: not a path.
        ArgumentValueError: an unknown suffix.
    """
    target = _checked(path)
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingPackageError(
            "plot: expected matplotlib (pip install 'lazysketch[plot]'), got none"
        ) from None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    with matplotlib.rc_context({"svg.hashsalt": "lazysketch", "font.size": 9.0}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        memory = [point.memory for point in points]
        lines = (
            ("total", _TOTAL, "-", "in all"),
            ("collisions", _COLLISIONS, "--", "collisions alone"),
            ("noise", _NOISE, ":", "noise alone"),
        )
        for name, colour, style, label in lines:
            heights = [getattr(point, name) for point in points]
            axes.plot(memory, heights, color=colour, linestyle=style, label=label)
        axes.plot(*plan, marker="o", linestyle="", color=_PLAN, label="the plan")
        axes.set(xscale="log", yscale="log", xlabel="memory of the counters, bytes")
        axes.set_ylabel(f"half width of the {confidence:.3g} interval / count")
        axes.set_title(title, loc="left", fontsize=9)
        axes.xaxis.set_major_formatter(FuncFormatter(_bytes))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_locator(LogLocator(base=4, numticks=12))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height * 100:,.4g} %"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True, which="both", linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        _limit(axes, points, plan[1])
        metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
        figure.savefig(target, dpi=160, metadata=metadata)


def _limit(axes: Axes, points: Sequence[Point], plan: float) -> None:
    """Limit the vertical axis, so that very small parts do not compress the rest."""
    least = min([plan, *(point.total for point in points)])
    most = max([plan, *(point.total for point in points)])
    axes.set_ylim(least / 10, min(most, _LARGEST) * 1.5)


def _bytes(size: float, _: object) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GB"


def _checked(path: object) -> Path:
    if not isinstance(path, str | PathLike):
        raise ArgumentTypeError(f"plot: expected a path, got {type(path).__name__}")
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise ArgumentValueError(f"plot: expected a file ending in one of {known}, got {target}")
    return target
