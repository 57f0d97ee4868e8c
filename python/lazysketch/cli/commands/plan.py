"""``lazysketch plan``: which sketch to make, and the errors to expect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from lazysketch.cli.options import (
    InputSettings,
    output_option,
    promise_options,
    sample_options,
)
from lazysketch.cli.quantities import BYTES, DURATION, RATE, SHARE, STEPS
from lazysketch.cli.view.output import Report, write
from lazysketch.errors import ArgumentTypeError
from lazysketch.planning import plan as make_plan

if TYPE_CHECKING:
    from lazysketch.cli.options import PromiseSettings
    from lazysketch.planning import Plan


@click.command(name="plan", short_help="Which sketch to make, and the errors to expect.")
@click.option(
    "--steps",
    type=STEPS,
    metavar="STEPS",
    help="Length of the stream in events, such as 1e8.  [default: --rate times --for]",
)
@click.option(
    "--rate",
    "events_per_second",
    type=RATE,
    metavar="RATE",
    help="Events per time, such as 5000/s; with --for.  [default: none]",
)
@click.option(
    "--for",
    "duration",
    type=DURATION,
    metavar="TIME",
    help="How long the stream lasts, such as 12h or 30d; with --rate.  [default: none]",
)
@click.option(
    "--horizon",
    type=STEPS,
    metavar="STEPS",
    help="Longest stream, if known; stands for --steps too.  [default: unlimited]",
)
@promise_options
@click.option(
    "--kind",
    type=click.Choice(["count-min", "count-sketch"]),
    help="Kind of sketch.  [default: the better one]",
)
@click.option(
    "--error",
    "relative_error",
    type=SHARE,
    metavar="PART",
    help="Largest error of an item's count, such as 1%: half of its interval.  [default: none]",
)
@click.option(
    "--share",
    type=SHARE,
    metavar="PART",
    default="1%",
    show_default=True,
    help="Share of that item in the stream.",
)
@click.option(
    "--memory",
    type=BYTES,
    metavar="BYTES",
    help="Largest sketch, such as 64KB; instead of --error.  [default: what helps]",
)
@click.option("--confidence", type=SHARE, default="95%", show_default=True, help="Of the interval.")
@click.option(
    "--skew",
    type=float,
    help="Skew of the stream, as of a Zipf distribution.  [default: 1.1]",
)
@click.option(
    "--distinct",
    type=STEPS,
    metavar="ITEMS",
    help="Number of distinct items.  [default: 1048576, or the steps]",
)
@click.option(
    "--sample",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A PUBLIC sample of the stream, instead of --skew.  [default: none]",
)
@click.option(
    "--mean-weight",
    type=float,
    metavar="WEIGHT",
    help="Mean weight of an event; with --max-weight.  [default: that of the sample]",
)
@sample_options
@click.option(
    "--explain",
    is_flag=True,
    help="Say in words what dominates and what would change it.  [default: not]",
)
@click.option(
    "--plot",
    metavar="PATH",
    type=click.Path(),
    help="Draw error over memory into this .png, .svg or .pdf.  [default: not drawn]",
)
@output_option
def plan(
    *,
    steps: int | None,
    events_per_second: float | None,
    duration: float | None,
    horizon: int | None,
    promise: PromiseSettings,
    kind: Any,
    relative_error: float | None,
    share: float,
    memory: int | None,
    confidence: float,
    skew: float | None,
    distinct: int | None,
    sample: str | None,
    mean_weight: float | None,
    reading: InputSettings,
    explain: bool,
    plot: str | None,
    output: str,
) -> None:
    """Choose depth, width and schedule of a sketch, and predict its errors.

    Gives the smallest sketch that reaches --error for an item of --share, or the best
    one within --memory, and the options to make it with. Nothing private is read: a
    sample has to be public, or parameters chosen by it void the guarantee.

    \b
    Examples:
      lazysketch plan --steps 1e8 --error 1% --share 0.1%
      lazysketch plan --rate 5000/s --for 30d --memory 64KB --skew 1.2 --explain
    """
    counts = None if sample is None else _counted(sample, reading)
    weight = mean_weight
    if counts is not None and weight is None and reading.weight is not None:
        weight = counts[1]
    found = make_plan(
        steps=steps,
        events_per_second=events_per_second,
        duration=duration,
        horizon=horizon,
        epsilon=promise.epsilon,
        delta=promise.delta,
        relation=promise.relation,
        max_weight=reading.max_weight or 1,
        mean_weight=weight,
        max_events_per_user=promise.max_events_per_user,
        kind=kind,
        relative_error=relative_error,
        share=share,
        memory=memory,
        confidence=confidence,
        skew=skew,
        distinct=distinct,
        sample=None if counts is None else counts[0],
    )
    if plot is not None:
        found.plot(plot)
    write(_report(found, explain=explain), output=output)


def _counted(path: str, reading: InputSettings) -> tuple[Counter[Any], float]:
    """Return the weights of the items of a sample, and the mean weight of an event."""
    source = reading.open((path,))
    counts: Counter[Any] = Counter()
    events = total = 0
    for batch in source:
        items = batch.item_list
        events += len(items)
        total += batch.total_weight
        if batch.weights is None:
            counts.update(items)
            continue
        for item, weight in zip(items, batch.weights, strict=True):
            counts[item] += int(weight)
    if not total:
        raise ArgumentTypeError(f"sample: expected at least one event, got none in {path}")
    return counts, total / events


def _report(found: Plan, *, explain: bool) -> Report:
    predicted = found.predicted
    rows = [
        _row("in all", predicted.interval_half_width, predicted.count),
        _row("collisions alone", predicted.collisions, predicted.count),
        _row("noise alone", predicted.noise, predicted.count),
        _row("lag", predicted.lag, predicted.count),
        _row("typical error", predicted.typical_error, predicted.count),
    ]
    lines = [
        (
            f"{found.kind} {found.depth} x {found.width:,}, {found.memory:,} bytes; "
            f"{found.schedule.name} schedule, {found.mechanism} mechanism"
        ),
        (
            f"error of an item of {found.share:.3g} of {found.steps:,} steps: half of its "
            f"{found.confidence:.3g} interval; for {found.workload}"
        ),
        *_sentences(found, explain=explain),
        f"options: {found.command()}",
    ]
    summary = found.to_dict()
    if explain:
        summary["explanation"] = found.explain().splitlines()
    return Report(rows=rows, summary=summary, lines=lines, name="errors")


def _sentences(found: Plan, *, explain: bool) -> list[str]:
    lines = found.explain().splitlines()
    # That a sample must be public is said in any case.
    return lines if explain else lines[-1:] if found.sampled else []


def _row(part: str, error: float, count: float) -> dict[str, Any]:
    return {"part": part, "counts": round(error, 1), "relative_error": error / count}
