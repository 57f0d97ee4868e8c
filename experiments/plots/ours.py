"""Figures of our experiments: variance, course, steps from the paper to ours, coverage, audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.contenders import contender
from experiments.definition import Definition
from experiments.measures.variance import BOUND
from experiments.plots.style import frame, legend, line, look, percent, plain_ticks
from experiments.summary import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["course", "coverage", "ladder", "sensitivity", "variance"]


def variance(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw the mean variance of a release by number of pushes."""
    figure.set_size_inches(8.5, 5.4)
    axes = figure.subplots()
    for series in (*definition.contenders, BOUND):
        line(axes, series, result.line(series, "mean"))
    frame(axes, x="pushes n", y="mean variance at sensitivity 1")
    plain_ticks(axes.xaxis, [4, 16, 64, 256, 1024, 4096, 16384, 1048576])
    plain_ticks(axes.yaxis, [2, 5, 10, 20, 50, 100, 200])
    axes.tick_params(axis="x", rotation=30)
    legend(figure, columns=3)


def course(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw the error by number of steps."""
    figure.set_size_inches(9.0, 5.8)
    axes = figure.subplots()
    for series in definition.contenders:
        line(axes, series, result.line(series, "are"))
    frame(axes, x="steps", y="average relative error of the top 15")
    percent(axes.yaxis)
    legend(figure, columns=3)


def ladder(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw a row per contender and axes per skew."""
    figure.set_size_inches(11.0, 4.6)
    names = list(definition.contenders)
    several = figure.subplots(1, len(definition.values), sharey=True)
    for axes, value in zip(several, definition.values, strict=True):
        for row, name in enumerate(names):
            found = result.line(name, "are")[value]
            how = look(name)
            label = f" {100 * found.mean:.3g} %"
            axes.errorbar(
                found.mean, -row, xerr=found.error, color=how.colour, marker=how.marker, capsize=2
            )
            axes.annotate(
                label, (found.mean, -row), xytext=(6, 5), textcoords="offset points", fontsize=10
            )
        frame(
            axes,
            x="error (ARE) of the top 15",
            y="",
            title=f"skew {value}",
            log_y=False,
        )
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * 4)
        percent(axes.xaxis)
    labels = [contender(name).label for name in names]
    several[0].set_yticks([-row for row in range(len(names))], labels)


def coverage(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw axes per moment and group of items."""
    figure.set_size_inches(10.5, 6.6)
    groups = ["top 100", "random 1000", "absent 1000"]
    rows = figure.subplots(2, 3, sharex=True, sharey=True)
    for row, moment in zip(rows, ("published", "now"), strict=True):
        for axes, group in zip(row, groups, strict=True):
            for at, series in enumerate(definition.contenders):
                shift = 0.03 * (at - 1)
                line(axes, series, result.line(series, f"{moment}, {group}"), shift=shift)
            axes.axhline(0.95, color="black", linewidth=1.0, linestyle="--")
            frame(
                axes,
                x="Zipf exponent" if moment == "now" else "",
                y=f"covered, at={moment!r}" if group == groups[0] else "",
                title=f"{group} items" if moment == "published" else "",
                log_x=False,
                log_y=False,
            )
            percent(axes.yaxis)
            axes.set_ylim(0.93, 0.99)
    legend(figure)


def sensitivity(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw audited by claimed epsilon, and the true epsilon of the paper's calibration."""
    figure.set_size_inches(10.5, 5.6)
    left, right = figure.subplots(1, 2)
    for series in definition.contenders:
        claimed = result.line(series, "epsilon claimed")
        line(left, series, result.line(series, "epsilon audited"), along=claimed)
    ends = [2.0, 25.0]
    left.plot(ends, ends, color="black", linestyle="--", linewidth=1.0, label="the claim")
    frame(
        left,
        x="claimed epsilon at delta = 1e-6",
        y="audited lower bound on epsilon (95 %, by mu)",
        title="audited: analytic calibration",
    )
    for axis in (left.xaxis, left.yaxis):
        plain_ticks(axis, [2, 5, 10, 20, 30])
    looks = (("#0072B2", "o"), ("#56B4E9", "s"), ("#CC79A7", "p"))
    for series in result.series:
        if not series.startswith("paper, delta"):
            continue
        colour, marker = looks[len(right.lines) % 3]
        found = result.line(series, "epsilon true")
        right.plot(
            [float(x) for x in found],
            [each.mean / float(x) for x, each in found.items()],
            color=colour,
            marker=marker,
            label=f"2 d, classical, {series.removeprefix('paper, ')}",
        )
    right.axhline(1.0, color="black", linestyle="--", linewidth=1.0)
    frame(
        right,
        x="claimed epsilon",
        y="true epsilon / claimed epsilon",
        title="computed: the paper's calibration",
        log_x=False,
        log_y=False,
    )
    legend(figure, columns=3)
