"""Plans of the statistics that are not counts of items: distinct items, values, sums, ranges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lazysketch.cli.run.plan_parts import (
    at_end_of,
    error_row,
    guarantee_options,
    plan_report,
)
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from lazysketch.cli.settings import PrivacySettings
    from lazysketch.cli.view.output import Report, Row
    from lazysketch.planning import Reads
    from lazysketch.privacy.person_bound import PersonBound

__all__ = ["plan_of_distinct", "plan_of_ranges", "plan_of_sums", "plan_of_values"]

_FEWEST_BINS: Final = 3


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
    at_end = at_end_of(reads)
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
    return plan_report(
        rows=[
            error_row("in all", half, found.relative_error),
            error_row("standard error", found.standard_error, found.standard_error / found.items),
        ],
        size=f"{found.levels} levels of {found.bits:,} bits, {found.memory:,} bytes",
        error=f"half-width of the {found.confidence:.4g} interval of {found.items:,} items",
        spec=found.spec,
        steps=found.steps,
        options=f"{options} {guarantee_options(privacy, None if at_end else horizon)}",
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
    person_bound: PersonBound | None,
    steps: int | None,
    horizon: int | None,
    reads: Reads,
    confidence: float,
) -> Report:
    """Return the plan of a distribution of values, one in each step.

    Args:
        privacy: The guarantee.
        bins: The number of bins, with the first and the last.
        person_bound: What is counted of a person, if people are protected.
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
    at_end = at_end_of(reads)
    values = steps or horizon or 1
    found = plan_distribution(
        bins=Bins(range(bins - 1)),
        values=values,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        relation=privacy.relation,
        max_events_per_user=privacy.max_events_per_user,
        person_bound=person_bound,
        steps=steps,
        horizon=None if at_end else horizon,
        schedule=Single() if at_end else None,
        confidence=confidence,
    )
    events = privacy.max_events_per_user
    together = f" --max-events-per-user {events}" if events > 1 else ""
    length = None if at_end else horizon
    guarantee = guarantee_options(privacy, length, person_bound=person_bound)
    options = f"--bins {bins} {guarantee}{together}"
    return plan_report(
        rows=[
            error_row("median, in ranks", found.rank_error * values, found.rank_error),
            error_row("standard error", found.standard_error, found.standard_error / values),
            error_row("at the worst edge", found.largest_error, found.largest_error / values),
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
    person_bound: PersonBound | None,
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
        person_bound: What is counted of a person, if people are protected.
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
    at_end = at_end_of(reads)
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
        person_bound=person_bound,
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
    guarantee = guarantee_options(privacy, length, person_bound=person_bound, of_cells=True)
    mean = found.spec.grid.middle
    total = abs(found.events * mean)
    return plan_report(
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
        options=f"{bounded} {guarantee}{together}",
        summary={
            "events": found.events,
            "memory": found.memory,
            "sum_error": found.sum_error,
            "count_error": found.count_error,
            "mean_error": found.mean_error,
            "confidence": found.confidence,
        },
    )


def plan_of_ranges(
    privacy: PrivacySettings,
    *,
    bits: int,
    width: int,
    prefix: int | None,
    max_weight: int | None,
    mean_weight: float | None,
    person_bound: PersonBound | None,
    steps: int | None,
    horizon: int | None,
    reads: Reads,
    confidence: float,
) -> Report:
    """Return the plan of counts of ranges of keys, one key in each step, spread evenly.

    Args:
        privacy: The guarantee.
        bits: Of a key.
        width: The number of columns.
        prefix: Bits of the networks whose error is predicted; half of those of a key if None.
        max_weight: The largest weight of a key; None if keys have none.
        mean_weight: The mean weight of a key; the largest if None.
        person_bound: What is counted of a person, if people are protected.
        steps: The length of the stream.
        horizon: The largest length, if known.
        reads: When it is read.
        confidence: Of the interval.

    Raises:
        ArgumentTypeError: A mean of weights that no key has.
        ArgumentValueError: A value outside its range.
    """
    from lazysketch import plan_ranges
    from lazysketch.specification.schedules import Single

    if mean_weight is not None and max_weight is None:
        raise ArgumentTypeError("--mean-weight: expected --max-weight too, got none")
    at_end = at_end_of(reads)
    keys = steps or horizon or 1
    found = plan_ranges(
        keys=keys,
        bits=bits,
        width=width,
        prefix=prefix,
        max_weight=max_weight or 1,
        mean_weight=mean_weight,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        relation=privacy.relation,
        max_events_per_user=privacy.max_events_per_user,
        person_bound=person_bound,
        steps=steps,
        horizon=None if at_end else horizon,
        schedule=Single() if at_end else None,
        confidence=confidence,
    )
    events = privacy.max_events_per_user
    together = f" --max-events-per-user {events}" if events > 1 else ""
    length = None if at_end else horizon
    guarantee = guarantee_options(privacy, length, person_bound=person_bound)
    weighted = "" if max_weight is None else f"--weight FIELD --max-weight {max_weight} "
    options = f"--bits {bits} --width {width} {weighted}{guarantee}"
    total = keys * (found.spec.max_weight if mean_weight is None else mean_weight)
    in_units = "" if max_weight is None else f", in weights of {total:,.0f} in all"
    return plan_report(
        rows=[
            error_row("range, interval", found.half_width, found.half_width / total),
            error_row("range", found.standard_error, found.standard_error / total),
            error_row(f"network /{found.prefix}", found.prefix_error, found.prefix_error / total),
            error_row("all keys", found.total_error, found.total_error / total),
        ],
        size=f"{bits} bits x {width:,} columns, {found.memory:,} bytes",
        error=(
            f"half-width of the {found.confidence:.4g} interval of a range between two of "
            f"{keys:,} keys that are spread evenly, and root mean square errors{in_units}"
        ),
        spec=found.spec,
        steps=found.steps,
        options=options + together,
        summary={
            "bits": bits,
            "width": width,
            "keys": keys,
            "max_weight": found.spec.max_weight,
            "prefix": found.prefix,
            "memory": found.memory,
            "standard_error": found.standard_error,
            "prefix_error": found.prefix_error,
            "total_error": found.total_error,
            "half_width": found.half_width,
            "confidence": found.confidence,
        },
    )


def _sums_row(part: str, error: float, of: float) -> Row:
    """Return a row with at least three digits of an error in units of the values."""
    digits = max(1, 2 - math.floor(math.log10(error))) if error > 0.0 else 1
    return {
        "part": part,
        "error": round(error, digits),
        "relative_error": error / of if of else None,
    }
