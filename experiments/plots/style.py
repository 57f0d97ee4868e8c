"""Colours, markers and axes: a sketch looks the same in every figure.

Okabe and Ito's palette, distinguishable with any colour vision, with one marker each; exact
sketches are dashed, ours thick. One version of matplotlib makes the same bytes from the same
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from experiments.contenders import contenders
from experiments.definition import Value
from experiments.summary import Estimate, Result

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "Look",
    "backend",
    "few_ticks",
    "frame",
    "legend",
    "line",
    "look",
    "percent",
    "plain_ticks",
    "present",
    "save",
    "shrink",
]

_SETTINGS = {
    "svg.hashsalt": "lazysketch",
    "svg.fonttype": "none",
    "font.size": 12.0,
    "axes.titlesize": 12.0,
    "legend.fontsize": 11.0,
    "lines.markersize": 6.0,
}


class Look(NamedTuple):
    """Style of a series."""

    colour: str
    marker: str
    style: str
    width: float
    label: str


_LOOKS = {
    "CMS": ("#000000", "o", "--", 1.2),
    "CS": ("#777777", "s", "--", 1.2),
    "LazyCMS": ("#0072B2", "o", "-", 1.6),
    "LazyCS": ("#56B4E9", "s", "-", 1.6),
    "PunctualCMS": ("#D55E00", "^", "-", 1.6),
    "PunctualCS": ("#E69F00", "v", "-", 1.6),
    "ours": ("#009E73", "D", "-", 2.6),
    "ours-once": ("#CC79A7", "*", "-", 2.6),
    "ours-minimum": ("#009E73", "v", ":", 2.2),
    "ours-cs": ("#009E73", "X", ":", 2.2),
    "horizon": ("#009E73", "P", ":", 1.6),
    "horizon-joint": ("#CC79A7", "P", ":", 1.6),
    "cells": ("#0072B2", "d", ":", 1.6),
    "analytic": ("#0072B2", "p", "-.", 1.6),
    "discovery": ("#E69F00", "h", "-", 2.6),
    "binary": ("#D55E00", "^", "-", 1.6),
    "haar": ("#E69F00", "v", "-", 1.6),
    "square-root": ("#56B4E9", "s", "-", 1.6),
    "tree": ("#009E73", "D", "-", 2.6),
    "lower bound": ("#000000", "", "--", 1.2),
    "2 d": ("#D55E00", "^", "-", 1.6),
    "4 d": ("#009E73", "D", "-", 2.6),
}
_HOLLOW = ("ours-cs",)
_LABELS = {
    "discovery": "discovery (ours),\nno item list",
    "binary": "binary (paper)",
    "square-root": "square root",
    "tree": "tree (ours)",
    "2 d": "calibrated for 2 d (paper)",
    "4 d": "calibrated for 4 d (ours)",
    "horizon": "LazyCountMin, horizon\ngiven (ours)",
    "cells": "LazyCMS in 8-byte cells",
}


def look(series: str) -> Look:
    """Return the style of a series, the same in every figure."""
    known = contenders()
    label = _LABELS.get(series) or (known[series].label if series in known else series)
    return Look(*_LOOKS.get(series, ("#000000", ".", "-", 1.2)), label)


@contextmanager
def backend() -> Iterator[Figure]:
    """Yield an empty figure.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "matplotlib: expected it for the plots, got none; pip install 'lazysketch[plot]'"
        ) from None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def frame(
    axes: Axes, *, x: str, y: str, title: str = "", log_x: bool = True, log_y: bool = True
) -> None:
    """Give axes their names, scales and grid.

    Args:
        axes: axes of matplotlib.
        x: name and unit.
        y: name and unit.
        title: title above the axes.
        log_x: True for a logarithmic axis.
        log_y: True for a logarithmic axis.
    """
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if title:
        axes.set_title(title, loc="left")
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.7)
    axes.spines[["top", "right"]].set_visible(False)


def line(
    axes: Axes,
    series: str,
    numbers: Mapping[Value, Estimate],
    *,
    along: Mapping[Value, Estimate] | None = None,
    median: bool = False,
    shift: float = 0.0,
) -> None:
    """Draw a series with error bars: standard errors around means, or quartiles around medians.

    Args:
        axes: axes of matplotlib.
        series: name of the series.
        numbers: numbers by value; if empty, nothing is drawn.
        along: position of each value on the axis; the value itself when None.
        median: True to draw medians.
        shift: shift to the right, for overlapping lines.
    """
    if not numbers:
        return
    how = look(series)
    xs = [(along[x].mean if along else float(x)) + shift for x in numbers]
    each = numbers.values()
    if median:
        heights = [one.median for one in each]
        bars = [
            [one.median - one.low for one in each],
            [one.high - one.median for one in each],
        ]
    else:
        heights = [one.mean for one in each]
        # A logarithmic axis cannot show a bar that reaches below 0.
        bars = [[min(one.error, 0.9 * abs(one.mean)) for one in each], [one.error for one in each]]
    axes.errorbar(
        xs,
        heights,
        yerr=bars,
        color=how.colour,
        marker=how.marker,
        linestyle=how.style,
        linewidth=how.width,
        markersize=10 if how.marker == "*" else None,
        markerfacecolor="white" if series in _HOLLOW else how.colour,
        elinewidth=1.0,
        capsize=2.0,
        label=how.label,
    )


def plain_ticks(axis: Axis, at: Sequence[float]) -> None:
    """Label a logarithmic axis at the given values, with plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(list(at)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())


def few_ticks(axis: Axis) -> None:
    """Label a short logarithmic axis at 1, 2 and 5 times powers of ten, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def percent(axis: Axis) -> None:
    """Show shares as per cent."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:,.4g} %"))


def legend(figure: Figure, *, columns: int = 4) -> None:
    """Draw one legend below all axes of a figure."""
    known: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(
        known.values(), known.keys(), loc="outside lower center", ncols=columns, frameon=False
    )


def save(figure: Figure, title: str, targets: Sequence[Path]) -> None:
    """Write a figure with its title.

    Args:
        figure: figure of matplotlib.
        title: the finding.
        targets: files.
    """
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None, "Creator": None} if target.suffix == ".svg" else None
        figure.savefig(target, dpi=110, metadata=metadata)


def present(result: Result, metric: str) -> list[str]:
    """Return the series that have a metric."""
    return [series for series in result.series if result.line(series, metric)]


def shrink(path: Path) -> None:
    """Reduce a PNG to 48 colours, a fifth of its size; matplotlib depends on Pillow."""
    from PIL import Image

    with Image.open(path) as image:
        few = image.convert("RGB").quantize(48, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
