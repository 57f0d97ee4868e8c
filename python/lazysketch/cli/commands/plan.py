"""``lazysketch plan``: a sketch for an error or a memory, and the errors to expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.input_options import sample_options
from lazysketch.cli.options import gathered, option_with_default, output_option, privacy_options
from lazysketch.cli.plan_size_options import SizeSettings, size_options
from lazysketch.cli.quantities import BYTES, DURATION, RATE, SHARE, STEPS
from lazysketch.cli.run.plan_parts import (
    DISTINCT,
    ITEMS,
    RANGES,
    SUMS,
    VALUES,
    check_options,
    length_of,
)
from lazysketch.cli.run.public_samples import PublicSample, sample_of
from lazysketch.cli.run.statistic_plans import (
    plan_of_distinct,
    plan_of_ranges,
    plan_of_sums,
    plan_of_values,
)
from lazysketch.cli.settings import KINDS, InputSettings, PrivacySettings
from lazysketch.cli.view.output import Report, write
from lazysketch.cli.view.plan_report import report_of_plan
from lazysketch.errors import ArgumentTypeError

if TYPE_CHECKING:
    from lazysketch.planning import Plan, Reads
    from lazysketch.specification.sizing import SketchKind


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The length of the stream and the distribution of its items."""

    steps: int | None
    events_per_second: float | None
    duration: float | None
    horizon: int | None
    skew: float | None
    distinct: int | None
    sample: str | None
    user: str | None
    mean_weight: float | None
    reads: Reads


@dataclass(frozen=True, slots=True)
class GoalSettings:
    """The error or memory to reach, and the item whose error counts."""

    kind: SketchKind | None
    relative_error: float | None
    share: float
    memory: int | None
    confidence: float


def _reads(_context: click.Context, _option: click.Parameter, text: str) -> Reads:
    """Return when the sketch is read; a number may be written as in other options."""
    from lazysketch.planning.reads import checked_reads  # late, as all that only a run needs

    if text in ("continually", "end"):
        return checked_reads(text)
    return checked_reads(int(STEPS.convert(text, None, None)))


_STREAM: Final = (
    click.option(
        "--steps",
        type=STEPS,
        metavar="STEPS",
        help="Length of the stream in events, such as 1e8.  [default: --rate times --for]",
    ),
    click.option(
        "--rate",
        "events_per_second",
        type=RATE,
        metavar="RATE",
        help="Events per time, such as 5000/s; with --for.  [default: none]",
    ),
    click.option(
        "--for",
        "duration",
        type=DURATION,
        metavar="TIME",
        help="Duration of the stream, such as 12h or 30d; with --rate.  [default: none]",
    ),
    click.option(
        "--horizon",
        type=STEPS,
        metavar="STEPS",
        help="Longest possible stream, if known; replaces --steps.  [default: unlimited]",
    ),
    click.option(
        "--skew",
        type=float,
        help="Skew of the stream, as of a Zipf distribution.  [default: 1.1]",
    ),
    click.option(
        "--distinct",
        type=STEPS,
        metavar="ITEMS",
        help="Number of distinct items.  [default: 1048576, or the steps]",
    ),
    click.option(
        "--sample",
        metavar="FILE",
        type=click.Path(allow_dash=True),
        help="A PUBLIC sample of the stream, instead of --skew.  [default: none]",
    ),
    click.option(
        "--user",
        metavar="FIELD",
        help="With --sample: field of the sample with the person of a row. People are protected "
        "then, and --cells and --per-cell are chosen; the sample has to be PUBLIC with its people, "
        "never the private data.  [default: none]",
    ),
    click.option(
        "--mean-weight",
        type=float,
        metavar="WEIGHT",
        help="Mean weight of an event; with --max-weight.  [default: that of the sample]",
    ),
    option_with_default(
        "--reads",
        default="continually",
        metavar="continually|end|STEPS",
        callback=_reads,
        help="When the sketch is read: at any time, as of a pipe; at the end, as of a file; or "
        "every STEPS steps.",
    ),
)
_WIDTH_OF_SUMS: Final = 1024
_WIDTH_OF_RANGES: Final = 4096
_GOAL: Final = (
    click.option(
        "--kind",
        type=click.Choice(list(KINDS)),
        help="Kind of sketch.  [default: the better one]",
    ),
    click.option(
        "--error",
        "relative_error",
        type=SHARE,
        metavar="FRACTION",
        help="Largest relative error of a count, such as 1%: half-width of its interval.  "
        "[default: none]",
    ),
    option_with_default(
        "--share",
        type=SHARE,
        metavar="SHARE",
        default="1%",
        help="Share of the stream of the item whose error is predicted.",
    ),
    click.option(
        "--memory",
        type=BYTES,
        metavar="BYTES",
        help="Largest sketch, such as 64KB; instead of --error.  [default: as far as it helps]",
    ),
    option_with_default(
        "--confidence",
        type=SHARE,
        metavar="FRACTION",
        default="95%",
        help="Confidence of the interval.",
    ),
)


@click.command()
@option_with_default(
    "--of",
    type=click.Choice([ITEMS, DISTINCT, VALUES, SUMS, RANGES]),
    default=ITEMS,
    help="What is planned: counts of items, as of top and estimate; the number of distinct items; "
    "a distribution of values, as of quantiles; sums of values by item, as of sums; "
    "ranges of keys, as of ranges.",
)
@option_with_default(
    "--bins",
    type=int,
    default=1024,
    metavar="N",
    help="With --of values: bins, with the one below and the one above.",
)
@size_options
@gathered(StreamSettings, "stream", *_STREAM)
@privacy_options
@gathered(GoalSettings, "goal", *_GOAL)
@sample_options
@click.option(
    "--explain",
    is_flag=True,
    help="Explain which error dominates and what would change it.  [default: off]",
)
@click.option(
    "--plot",
    metavar="PATH",
    type=click.Path(),
    help="Plot the error over the memory as .png, .svg or .pdf.  [default: no plot]",
)
@output_option
@click.pass_context
def plan(
    context: click.Context,
    *,
    of: str,
    bins: int,
    size: SizeSettings,
    stream: StreamSettings,
    privacy: PrivacySettings,
    goal: GoalSettings,
    reading: InputSettings,
    explain: bool,
    plot: str | None,
    output: str,
) -> None:
    """Choose the size of a sketch, or of another statistic, and predict its errors.

    Prints the smallest sketch that reaches --error for an item of --share, or the best
    one within --memory, and the options to create it. No private data are read: a sample
    must be public, because parameters that depend on private data void the guarantee.

    With --user the events of people in the sample tell how much of a person to count:
    what a bound drops of the top items is weighed against the noise that it needs.

    \b
    Examples:
      lazysketch plan --steps 1e8 --error 1% --share 0.1%
      lazysketch plan --rate 5000/s --for 30d --memory 64KB --skew 1.2 --explain
      lazysketch plan --steps 1e6 --sample public.csv --by page --user client
      lazysketch plan --of distinct --distinct 1e6 --steps 1e8 --error 2%
      lazysketch plan --of values --steps 1e6 --bins 256
      lazysketch plan --of sums --steps 1e6 --low 0 --high 1500
      lazysketch plan --of ranges --horizon 1e7 --bits 32 --prefix 24
    """
    check_options(context, of)
    if of != ITEMS:
        found_of = _of_statistic(of, stream, privacy, goal, bins=bins, size=size, reading=reading)
        write(found_of, output=output)
        return
    found = _planned(stream, privacy, goal, reading=reading)
    if plot is not None:
        found.plot(plot)
    write(report_of_plan(found, explain=explain), output=output)


def _of_statistic(
    of: str,
    stream: StreamSettings,
    privacy: PrivacySettings,
    goal: GoalSettings,
    *,
    bins: int,
    size: SizeSettings,
    reading: InputSettings,
) -> Report:
    steps = length_of(
        steps=stream.steps,
        rate=stream.events_per_second,
        duration=stream.duration,
        horizon=stream.horizon,
    )
    if of == VALUES:
        return plan_of_values(
            privacy,
            bins=bins,
            person_bound=size.person_bound(privacy.max_events_per_user),
            steps=steps,
            horizon=stream.horizon,
            reads=stream.reads,
            confidence=goal.confidence,
        )
    if of == SUMS:
        return plan_of_sums(
            privacy,
            bounds=(size.low, size.high),
            size=(size.depth, size.width or _WIDTH_OF_SUMS),
            person_bound=size.bound_of_cells(privacy.max_events_per_user),
            steps=steps,
            horizon=stream.horizon,
            reads=stream.reads,
            share=goal.share,
            skew=stream.skew,
            distinct=stream.distinct,
            confidence=goal.confidence,
        )
    if of == RANGES:
        return plan_of_ranges(
            privacy,
            bits=size.bits,
            width=size.width or _WIDTH_OF_RANGES,
            prefix=size.prefix,
            max_weight=reading.max_weight,
            mean_weight=stream.mean_weight,
            person_bound=size.person_bound(privacy.max_events_per_user),
            steps=steps,
            horizon=stream.horizon,
            reads=stream.reads,
            confidence=goal.confidence,
        )
    return plan_of_distinct(
        privacy,
        items=stream.distinct,
        steps=steps,
        horizon=stream.horizon,
        reads=stream.reads,
        relative_error=goal.relative_error,
        memory=goal.memory,
        confidence=goal.confidence,
    )


def _planned(
    stream: StreamSettings,
    privacy: PrivacySettings,
    goal: GoalSettings,
    *,
    reading: InputSettings,
) -> Plan:
    from lazysketch.planning import plan as make_plan

    lengths = (stream.steps, stream.events_per_second, stream.duration, stream.horizon)
    if lengths == (None,) * len(lengths):
        raise ArgumentTypeError(
            "steps: expected the length of the stream (--steps 1e8, or --rate and --for, or "
            "--horizon), got none"
        )
    sample = PublicSample()
    if stream.sample is not None:
        sample = sample_of(stream.sample, reading, user=stream.user)
    elif stream.user is not None:
        raise ArgumentTypeError(
            "user: expected --sample too, a public one with this field, got none"
        )
    return make_plan(
        steps=stream.steps,
        events_per_second=stream.events_per_second,
        duration=stream.duration,
        horizon=stream.horizon,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        relation=privacy.relation,
        max_weight=reading.max_weight or 1,
        mean_weight=sample.mean_weight if stream.mean_weight is None else stream.mean_weight,
        max_events_per_user=privacy.max_events_per_user,
        kind=goal.kind,
        relative_error=goal.relative_error,
        share=goal.share,
        memory=goal.memory,
        confidence=goal.confidence,
        skew=stream.skew,
        distinct=stream.distinct,
        sample=sample.items,
        user=sample.user,
        weights=sample.weights,
        reads=stream.reads,
    )
