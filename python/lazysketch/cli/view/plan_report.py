"""The plan of a sketch, as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.cli.view.output import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.cli.view.output import Row
    from lazysketch.planning import Bounded, Plan

__all__ = ["report_of_plan"]


def report_of_plan(found: Plan, *, explain: bool) -> Report:
    """Return the parts of the error of a plan, and the options to create its sketch.

    Args:
        found: The plan.
        explain: Whether to say which error dominates.
    """
    predicted = found.predicted
    rows = [
        _row("in all", predicted.interval_half_width, predicted.count),
        _row("collisions alone", predicted.collisions, predicted.count),
        _row("noise alone", predicted.noise, predicted.count),
        _row("lag", predicted.lag, predicted.count),
        _row("typical error", predicted.typical_error, predicted.count),
    ]
    if found.bounds:
        rows[:1] = [
            _row("in all", predicted.interval_half_width + predicted.bias, predicted.count),
            _row("dropped of people", predicted.bias, predicted.count),
            _row("interval", predicted.interval_half_width, predicted.count),
        ]
    explanation = found.explain().splitlines()
    # The last line says that a sample must be public; it is never left out.
    shown = explanation if explain else explanation[-1:] if found.sampled else []
    if found.bounds:
        why = [] if explain else found.explain_bound().splitlines()
        shown = [*_bounds_table(found.bounds), *why, *shown]
    lines = [
        (
            f"{found.kind} {found.depth} x {found.width:,}, {found.memory:,} bytes; "
            f"{found.schedule.name} schedule, {found.mechanism} mechanism"
        ),
        (
            f"error: half-width of the {found.confidence:.4g} interval of an item with share "
            f"{found.share:.3g} of {found.steps:,} steps; for {found.workload}"
        ),
        *shown,
        f"options: {found.command() or 'none, as top and estimate have no batches'}",
    ]
    summary = found.to_dict()
    if explain:
        summary["explanation"] = explanation
    return Report(rows=rows, summary=summary, lines=lines, name="errors")


def _row(part: str, error: float, count: float) -> Row:
    return {"part": part, "counts": round(error, 1), "relative_error": error / count}


def _bounds_table(bounds: Sequence[Bounded]) -> list[str]:
    """Return the chosen bound among its neighbours, as lines of text."""
    head = ("", "cells", "per cell", "dropped", "of a top item", "at worst", "noise", "error")
    table = [
        (
            "->" if each.is_chosen else "",
            f"{each.cells:,}",
            f"{each.events:,}",
            f"{each.dropped:.1%}",
            f"{each.dropped_of_top:.1%}",
            f"{each.worst_of_top:.1%}",
            f"{each.noise_deviation:,.1f}",
            f"{each.error:,.0f}",
        )
        for each in bounds
    ]
    widths = [max(map(len, column)) for column in zip(head, *table, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (head, *table)
    ]
