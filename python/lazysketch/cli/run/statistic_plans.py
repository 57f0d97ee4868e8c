"""Plans of the statistics that are not counts of items: distinct items, values, sums by item."""

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
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "DISTINCT",
    "ITEMS",
    "SUMS",
    "VALUES",
    "check_options",
    "length_of",
    "plan_of_distinct",
    "plan_of_sums",
    "plan_of_values",
]

ITEMS, DISTINCT, VALUES, SUMS = "items", "distinct", "values", "sums"
_LENGTHS: Final = {"steps", "events_per_second", "duration", "horizon", "reads"}
_GUARANTEE: Final = {"epsilon", "delta", "relation", "confidence", "output", "of", "config"}
_OPTIONS: Final = {
    ITEMS: None,  # all but those of other statistics alone
    DISTINCT: {*_LENGTHS, *_GUARANTEE, "distinct", "relative_error", "memory"},
    VALUES: {*_LENGTHS, *_GUARANTEE, "bins", "max_events_per_user"},
    SUMS: {
        *(*_LENGTHS, *_GUARANTEE, "max_events_per_user", "share", "skew", "distinct"),
        *("low", "high", "depth", "width"),
    },
}
_OF_OTHERS: Final = {"bins", "low", "high", "depth", "width"}
_FEWEST_BINS: Final = 3


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


def plan_of_distinct(
    privacy: PrivacySettings,
    *,
    items: int | None,
    steps: int | None,
    horizon: int | None,
    reads: Reads,
    relative_error: float | None,
    memory: int | None,
    confidence: float,
) -> Report:
    """Return the plan of a count of distinct items.

    Args:
        privacy: The guarantee.
        items: How many are expected.
        steps: The length of the stream.
        horizon: The largest length, if known.
        reads: When it is read.
        relative_error: The error to reach.
        memory: The memory to stay within.
        confidence: Of the interval.

    Raises:
        ArgumentTypeError: No number of items, or both an error and a memory.
        ArgumentValueError: A target that no count reaches.
    """
    from lazysketch import plan_distinct  # late: the help of the verb needs no plan
    from lazysketch.specification.schedules import Single

    if items is None:
        raise ArgumentTypeError("--distinct: expected the number of distinct items, got none")
    at_end = _at_end(reads)
    found = plan_distinct(
        items=items,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        relation=privacy.relation,
        steps=steps,
        horizon=None if at_end else horizon,
        schedule=Single() if at_end else None,
        relative_error=relative_error,
        memory=memory,
        confidence=confidence,
    )
    half = found.relative_error * found.items
    options = f"--bits {found.bits} --levels {found.levels}"
    return _report(
        rows=[
            _row("in all", half, found.relative_error),
            _row("standard error", found.standard_error, found.standard_error / found.items),
        ],
        size=f"{found.levels} levels of {found.bits:,} bits, {found.memory:,} bytes",
        error=f"half-width of the {found.confidence:.4g} interval of {found.items:,} items",
        spec=found.spec,
        steps=found.steps,
        options=f"{options} {_guarantee(privacy, None if at_end else horizon)}",
        summary={
            "bits": found.bits,
            "levels": found.levels,
            "items": found.items,
            "memory": found.memory,
            "standard_error": found.standard_error,
            "relative_error": found.relative_error,
            "confidence": found.confidence,
        },
    )


def plan_of_values(
    privacy: PrivacySettings,
    *,
    bins: int,
    steps: int | None,
    horizon: int | None,
    reads: Reads,
    confidence: float,
) -> Report:
    """Return the plan of a distribution of values, one in each step.

    Args:
        privacy: The guarantee.
        bins: The number of bins, with the first and the last.
        steps: The length of the stream.
        horizon: The largest length, if known.
        reads: When it is read.
        confidence: Of the interval.

    Raises:
        ArgumentValueError: A value outside its range.
    """
    from lazysketch import Bins, plan_distribution
    from lazysketch.specification.schedules import Single
    from lazysketch.specification.value_tree import MOST_BINS

    if not _FEWEST_BINS <= bins <= MOST_BINS:
        raise ArgumentValueError(
            f"bins: expected an integer from {_FEWEST_BINS} to {MOST_BINS:,}, got {bins:,}"
        )
    at_end = _at_end(reads)
    values = steps or horizon or 1
    found = plan_distribution(
        bins=Bins(range(bins - 1)),
        values=values,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        relation=privacy.relation,
        max_events_per_user=privacy.max_events_per_user,
        steps=steps,
        horizon=None if at_end else horizon,
        schedule=Single() if at_end else None,
        confidence=confidence,
    )
    events = privacy.max_events_per_user
    together = f" --max-events-per-user {events}" if events > 1 else ""
    options = f"--bins {bins} {_guarantee(privacy, None if at_end else horizon)}{together}"
    return _report(
        rows=[
            _row("median, in ranks", found.rank_error * values, found.rank_error),
            _row("standard error", found.standard_error, found.standard_error / values),
            _row("at the worst edge", found.largest_error, found.largest_error / values),
        ],
        size=f"{bins:,} bins, {found.memory:,} bytes",
        error=(
            f"half-width of the {found.confidence:.4g} interval of the median of {values:,} "
            "values, in ranks; the width of a bin comes on top"
        ),
        spec=found.spec,
        steps=found.steps,
        options=f"{options}, with --low and --high from public knowledge",
        summary={
            "bins": bins,
            "values": values,
            "memory": found.memory,
            "standard_error": found.standard_error,
            "largest_error": found.largest_error,
            "rank_error": found.rank_error,
            "confidence": found.confidence,
        },
    )


def plan_of_sums(
    privacy: PrivacySettings,
    *,
    bounds: tuple[float | None, float | None],
    size: tuple[int, int],
    steps: int | None,
    horizon: int | None,
    reads: Reads,
    share: float,
    skew: float | None,
    distinct: int | None,
    confidence: float,
) -> Report:
    """Return the plan of sums by item, one event in each step.

    Args:
        privacy: The guarantee.
        bounds: The lowest and the highest value.
        size: Rows and columns.
        steps: The length of the stream.
        horizon: The largest length, if known.
        reads: When it is read.
        share: Of the item whose errors are predicted.
        skew: Of the items.
        distinct: How many items there are.
        confidence: Of the intervals.

    Raises:
        ArgumentTypeError: No bounds.
        ArgumentValueError: A value outside its range.
    """
    from lazysketch import plan_sums
    from lazysketch.planning.sums_plan import SKEW
    from lazysketch.specification.schedules import Single

    low, high = bounds
    if low is None or high is None:
        option = "--low" if low is None else "--high"
        raise ArgumentTypeError(
            f"{option}: expected a bound of the values with --of sums, got none"
        )
    at_end = _at_end(reads)
    length = None if at_end else horizon
    found = plan_sums(
        low=low,
        high=high,
        depth=size[0],
        width=size[1],
        steps=steps or horizon or 1,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        relation=privacy.relation,
        max_events_per_user=privacy.max_events_per_user,
        horizon=length,
        schedule=Single() if at_end else None,
        share=share,
        skew=SKEW if skew is None else skew,
        distinct=distinct,
        confidence=confidence,
    )
    events = privacy.max_events_per_user
    together = f" --max-events-per-user {events}" if events > 1 else ""
    bounded = f"--low {low:g} --high {high:g} --depth {size[0]} --width {size[1]}"
    mean = found.spec.grid.middle
    total = abs(found.events * mean)
    return _report(
        rows=[
            _sums_row("sum", found.sum_error, total),
            _sums_row("number of events", found.count_error, found.events),
            _sums_row("mean", found.mean_error, abs(mean)),
        ],
        size=f"count-sketch {size[0]} x {size[1]:,}, twice, {found.memory:,} bytes",
        error=(
            f"half-widths of the {found.confidence:.4g} intervals of an item with "
            f"{found.events:,.0f} events, whose values are spread evenly between the bounds"
        ),
        spec=found.spec.counts,
        steps=found.steps,
        options=f"{bounded} {_guarantee(privacy, length)}{together}",
        summary={
            "events": found.events,
            "memory": found.memory,
            "sum_error": found.sum_error,
            "count_error": found.count_error,
            "mean_error": found.mean_error,
            "confidence": found.confidence,
        },
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


def _at_end(reads: Reads) -> bool:
    if isinstance(reads, int):
        raise ArgumentValueError(
            "--reads: expected continually or end with --of distinct, values and sums, got a number"
        )
    return reads == "end"


def _guarantee(privacy: PrivacySettings, horizon: int | None) -> str:
    """Return the options of the guarantee."""
    relation = "" if privacy.relation == "substitution" else f" --relation {privacy.relation}"
    length = "" if horizon is None else f" --horizon {horizon}"
    return f"--epsilon {privacy.epsilon:g} --delta {privacy.delta:g}{relation}{length}"


def _row(part: str, error: float, relative: float) -> Row:
    return {"part": part, "counts": round(error, 1), "relative_error": relative}


def _sums_row(part: str, error: float, of: float) -> Row:
    return {"part": part, "error": error, "relative_error": error / of if of else None}


def _report(
    *,
    rows: list[Row],
    size: str,
    error: str,
    spec: TableSpec,
    steps: int,
    options: str,
    summary: dict[str, object],
) -> Report:
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
