"""What the plans of all statistics share: the options that apply, the length, the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from lazysketch.cli.view.output import Report
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from lazysketch.cli.settings import PrivacySettings
    from lazysketch.cli.view.output import Row
    from lazysketch.planning import Reads
    from lazysketch.privacy.person_bound import PersonBound
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "DISTINCT",
    "ITEMS",
    "RANGES",
    "SUMS",
    "VALUES",
    "at_end_of",
    "check_options",
    "error_row",
    "guarantee_options",
    "length_of",
    "plan_report",
]

ITEMS, DISTINCT, VALUES, SUMS, RANGES = "items", "distinct", "values", "sums", "ranges"
_LENGTHS: Final = {"steps", "events_per_second", "duration", "horizon", "reads"}
_GUARANTEE: Final = {"epsilon", "delta", "relation", "confidence", "output", "of", "config"}
_PEOPLE: Final = {"max_events_per_user", "per_person", "most_people"}
_OPTIONS: Final = {
    ITEMS: None,  # all but those of other statistics alone
    DISTINCT: {*_LENGTHS, *_GUARANTEE, "distinct", "relative_error", "memory"},
    VALUES: {*_LENGTHS, *_GUARANTEE, *_PEOPLE, "bins"},
    SUMS: {
        *(*_LENGTHS, *_GUARANTEE, "max_events_per_user", "share", "skew", "distinct"),
        *("low", "high", "depth", "width", "cells", "per_cell", "most_people"),
    },
    RANGES: {
        *(*_LENGTHS, *_GUARANTEE, *_PEOPLE, "bits", "width", "prefix"),
        *("max_weight", "mean_weight"),
    },
}
_OF_OTHERS: Final = {
    *("bins", "bits", "prefix", "low", "high", "depth", "width"),
    *("per_person", "cells", "per_cell", "most_people"),
}


def check_options(context: click.Context, of: str) -> None:
    """Raise ArgumentTypeError for an option that does not apply to what is planned.

    Args:
        context: Of the verb.
        of: What is planned.
    """
    known = _OPTIONS[of]
    for parameter in context.command.params:
        name = parameter.name or ""
        applies = name not in _OF_OTHERS if known is None else name in known
        source = context.get_parameter_source(name)
        if not applies and source not in (None, ParameterSource.DEFAULT):
            raise ArgumentTypeError(
                f"{max(parameter.opts, key=len)}: expected none with --of {of}, got one"
            )


def length_of(
    *, steps: int | None, rate: float | None, duration: float | None, horizon: int | None
) -> int | None:
    """Return the number of steps, None if the horizon tells it.

    Args:
        steps: The number itself.
        rate: Events per second.
        duration: Seconds.
        horizon: The largest number.

    Raises:
        ArgumentTypeError: No length, or half of one.
    """
    if (rate is None) != (duration is None):
        option = "--for" if duration is None else "--rate"
        raise ArgumentTypeError(f"{option}: expected --rate and --for together, got one")
    if steps is None and rate is not None and duration is not None:
        return max(math.ceil(rate * duration), 1)
    if steps is None and horizon is None:
        raise ArgumentTypeError(
            "steps: expected the length of the stream (--steps 1e8, or --rate and --for, or "
            "--horizon), got none"
        )
    return steps


def at_end_of(reads: Reads) -> bool:
    """Return whether a statistic is read once, at the end of the stream.

    Args:
        reads: When it is read.

    Raises:
        ArgumentValueError: A number of times.
    """
    if isinstance(reads, int):
        raise ArgumentValueError(
            f"--reads: expected continually or end with --of {DISTINCT}, {VALUES}, {SUMS} and "
            f"{RANGES}, got a number"
        )
    return reads == "end"


def guarantee_options(
    privacy: PrivacySettings,
    horizon: int | None,
    *,
    person_bound: PersonBound | None = None,
    of_cells: bool = False,
) -> str:
    """Return the options of the guarantee.

    Args:
        privacy: The guarantee.
        horizon: The largest length, if it is an option.
        person_bound: What is counted of a person, if people are protected.
        of_cells: Whether it is one of cells, in a table of items.
    """
    relation = "" if privacy.relation == "substitution" else f" --relation {privacy.relation}"
    length = "" if horizon is None else f" --horizon {horizon}"
    people = ""
    if person_bound is not None:
        most = person_bound.most_people
        events = person_bound.events
        counted = f"--per-person {events}"
        if of_cells:
            counted = f"--cells {person_bound.cells}"
            counted += f" --per-cell {events}" if events > 1 else ""
        people = f" --user FIELD {counted}"
        people += "" if most is None else f" --most-people {most}"
    return f"--epsilon {privacy.epsilon:g} --delta {privacy.delta:g}{relation}{length}{people}"


def error_row(part: str, error: float, relative: float) -> Row:
    """Return a row of a plan.

    Args:
        part: What has the error.
        error: In counts.
        relative: As a share.
    """
    return {"part": part, "counts": round(error, 1), "relative_error": relative}


def plan_report(
    *,
    rows: list[Row],
    size: str,
    error: str,
    spec: TableSpec,
    steps: int,
    options: str,
    summary: dict[str, object],
) -> Report:
    """Return a plan in words and for programs.

    Args:
        rows: The errors.
        size: Of the statistic.
        error: What the errors are.
        spec: The description of the table.
        steps: The length of the stream.
        options: Which options of the verb count so.
        summary: The numbers.
    """
    schedule, mechanism = spec.schedule.name, spec.chosen_mechanism.name
    return Report(
        rows=rows,
        summary={**summary, "steps": steps, "schedule": schedule, "options": options},
        lines=[
            f"{size}; {schedule} schedule, {mechanism} mechanism",
            f"error: {error}, in the mean of {steps:,} steps",
            f"options: {options}",
        ],
        name="errors",
    )
