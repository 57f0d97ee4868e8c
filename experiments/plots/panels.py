"""Figures of the paper's panels (a) to (f), its table of complexities, and heavy hitters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.definition import Definition
from experiments.plots.style import few_ticks, frame, legend, line, percent, plain_ticks, present
from experiments.summary import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["error", "error_memory", "growth", "heavy", "time_memory", "time_prefix"]

_PAPER, _OURS = "KB (paper)", "KB (ours)"
_PLAIN, _CORE = "ns per event, plain", "ns per event, ours"
_ERROR = "average relative error of the top 15"


def time_memory(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw panel (a): the plain algorithms by the paper's memory, our core by ours."""
    figure.set_size_inches(10.5, 5.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for series in present(result, _PLAIN):
        along = result.line(series, _PAPER)
        line(left, series, result.line(series, _PLAIN), along=along, median=True)
    for series in present(result, _CORE):
        along = result.line(series, _OURS)
        line(right, series, result.line(series, _CORE), along=along, median=True)
    frame(left, x="memory in KB, the paper's accounting", y="time per event in ns")
    left.set_title("the paper's algorithms in plain Rust", loc="left")
    frame(right, x="memory in KB, as lazysketch uses it", y="")
    right.set_title("lazysketch, in batches", loc="left")
    plain_ticks(left.xaxis, [float(value) for value in definition.values])
    legend(figure)


def time_prefix(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw the cost of an event over prefixes of one stream."""
    figure.set_size_inches(8.0, 4.4)
    axes = figure.subplots()
    for series in present(result, _PLAIN):
        line(axes, series, result.line(series, _PLAIN), median=True)
    frame(axes, x="events in the prefix, of 2^20", y="time per event in ns")
    axes.set_ylim(bottom=10)
    plain_ticks(axes.xaxis, [float(value) for value in definition.values])
    legend(figure)


def error_memory(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw panels (b) and (c): error by memory, in both accountings."""
    figure.set_size_inches(10.5, 5.8)
    both = figure.subplots(1, 2, sharey=True)
    named = (
        (_PAPER, "memory in KB, the paper's accounting"),
        (_OURS, "memory in KB, as lazysketch uses it"),
    )
    for axes, (accounting, name) in zip(both, named, strict=True):
        for series in definition.contenders:
            along = result.line(series, accounting)
            line(axes, series, result.line(series, "are"), along=along)
        frame(axes, x=name, y=_ERROR if axes is both[0] else "")
        percent(axes.yaxis)
    by_depth = definition.axis == "depth"
    paper = [8, 16, 24, 32, 48, 64] if by_depth else [float(value) for value in definition.values]
    plain_ticks(both[0].xaxis, paper)
    plain_ticks(both[1].xaxis, [0.1, 0.3, 1, 3, 10, 30, 100])
    legend(figure)


def error(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw panels (d), (e) and (f): error at 24 KB by skew or epsilon."""
    figure.set_size_inches(9.0, 5.8)
    axes = figure.subplots()
    for series in definition.contenders:
        line(axes, series, result.line(series, "are"))
    frame(axes, x=definition.unit, y=_ERROR, log_x=definition.axis == "epsilon")
    percent(axes.yaxis)
    if definition.axis == "epsilon":
        plain_ticks(axes.xaxis, [float(value) for value in definition.values])
    legend(figure)


def growth(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw table 1: one axes per quantity."""
    figure.set_size_inches(10.5, 7.2)
    named = {
        "time": "time per event in ns",
        "memory": "tree nodes in KB",
        "noise": "noise of a cell, counts",
        "lag": "mean lag in steps (Lazy)",
    }
    for axes, (metric, name) in zip(figure.subplots(2, 2).flat, named.items(), strict=True):
        for series in present(result, metric):
            if metric != "lag" or series.startswith("Lazy"):
                line(axes, series, result.line(series, metric), median=metric == "time")
        frame(axes, x=f"{definition.axis} in {definition.unit}", y=name)
        if metric != "time":
            few_ticks(axes.yaxis)
    legend(figure)


def heavy(figure: Figure, definition: Definition, result: Result) -> None:
    """Draw precision, recall and error, a column per stream."""
    streams = list(dict.fromkeys(metric.split(": ")[0] for metric in result.metrics))
    figure.set_size_inches(max(9.0, 3.6 * len(streams) + 0.8), 8.6)
    rows = figure.subplots(3, len(streams), sharex=True, sharey="row", squeeze=False)
    for row, (metric, name) in zip(
        rows,
        {"precision": "precision", "recall": "recall", "are": "relative error"}.items(),
        strict=True,
    ):
        for axes, stream in zip(row, streams, strict=True):
            for series in definition.contenders:
                line(axes, series, result.line(series, f"{stream}: {metric}"))
            last, first = metric == "are", metric == "precision"
            frame(
                axes,
                x=definition.unit if last else "",
                y=name if stream == streams[0] else "",
                title=stream if first else "",
                log_y=last,
            )
            if last:
                percent(axes.yaxis)
            else:
                axes.set_ylim(-0.05, 1.05)
            plain_ticks(axes.xaxis, [float(value) for value in definition.values])
    legend(figure)
