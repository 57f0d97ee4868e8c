"""``lazysketch top``: the heaviest items of a stream, found on the way or from a public list."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from lazysketch.cli.options import (
    InputSettings,
    SketchSettings,
    discovering_sketch_options,
    input_options,
    output_option,
    save_option,
)
from lazysketch.cli.quantities import BYTES, DURATION, SHARE, STEPS
from lazysketch.cli.run.counting import ResultSettings, count
from lazysketch.cli.run.targets import Found, Listed
from lazysketch.cli.run.windows import InWindows, WindowSettings
from lazysketch.cli.view.report import heaviest
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from lazysketch import Release
    from lazysketch.cli.run.targets import Subject
    from lazysketch.sources import Source

_SOONEST: Final = 0.05  # seconds between refreshes
# What only names that are found need, by the parameter's name.
_FOR_NAMES: Final = {
    "share": "--share",
    "window": "--names-every",
    "memory": "--memory",
    "save_names": "--save-names",
}
# What speaks of one stream, not of windows.
_NOT_WINDOWED: Final = {"window": "--names-every", "save_names": "--save-names", "plot": "--plot"}


@click.command(short_help="The heaviest items of a stream, live.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@click.option(
    "--domain",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    help="Public list to choose from, an item per line; not taken from the stream.  "
    "[default: names are found, for a part of the privacy]",
)
@click.option(
    "-k",
    "most",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Items to show.",
)
@click.option(
    "--share",
    type=SHARE,
    default="1%",
    show_default=True,
    metavar="PART",
    help="Without --domain: find items above this part of the stream.",
)
@click.option(
    "--names-every",
    "window",
    type=STEPS,
    metavar="STEPS",
    help="Without --domain: publish names every so many steps.  "
    "[default: the fewest that find items of the share]",
)
@click.option(
    "--memory",
    type=BYTES,
    default="64MB",
    show_default=True,
    metavar="BYTES",
    help="Without --domain: most memory for sketch and names.",
)
@click.option(
    "--every",
    type=DURATION,
    metavar="TIME",
    help="Time between refreshes, such as 500ms, 2s or 1min.  "
    "[default: 250ms on a terminal, 1s with --json]",
)
@click.option(
    "--json",
    "ticking",
    is_flag=True,
    help="An object per refresh, a line each; the last is the result.  [default: as --output]",
)
@click.option(
    "--plot",
    metavar="PATH",
    type=click.Path(),
    help="Draw the top items over the stream into this .png, .svg or .html.  [default: not drawn]",
)
@click.option(
    "--window",
    "windowed",
    metavar="TIME|STEPS",
    help="Count in windows, such as 1h or 100000 steps: of a pipe by the clock, of files by the "
    "time of each row, with --from and --to.  [default: the whole stream]",
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=24,
    show_default=True,
    metavar="N",
    help="With --window: windows to list together; of a range all are.",
)
@click.option(
    "--from",
    "begin",
    metavar="INSTANT",
    help="With --window, for files: where a public range begins, such as 2026-05-17T12:00.  "
    "[default: none]",
)
@click.option("--to", "end", metavar="INSTANT", help="Where it ends.  [default: none]")
@click.option(
    "--changes",
    is_flag=True,
    help="With --window: list what rose or fell from one window to the next.  "
    "[default: the top, and changes below]",
)
@input_options
@save_option
@click.option(
    "--save-names",
    metavar="PATH",
    type=click.Path(),
    help="Without --domain: keep the names that were found here, a line each.  [default: not kept]",
)
@output_option
@discovering_sketch_options
@click.pass_context
def top(
    context: click.Context,
    files: tuple[str, ...],
    *,
    domain: str | None,
    most: int,
    share: float,
    window: int | None,
    memory: int,
    every: float | None,
    ticking: bool,
    plot: str | None,
    windowed: str | None,
    keep: int,
    begin: str | None,
    end: str | None,
    changes: bool,
    reading: InputSettings,
    save_release: str | None,
    save_names: str | None,
    output: str,
    sketch: SketchSettings,
) -> int:
    """Count a stream privately and show its heaviest items, live.

    FILE is lines of text, an access log, a packet capture, ..., plain or gzip; - is
    standard input, which may be a live pipe. One row is one step. The table is live while
    it reads, if standard error is a terminal, and Ctrl-C shows what was published so far.

    \b
    Examples:
      tail -F access.log | lazysketch top - --format combined
      tcpdump -U -w - | lazysketch top - --format pcap --by dst
      lazysketch top access.log.gz --field host --domain hosts.txt
      lazysketch top flows.csv --by dst --window 1h --from 2026-05-17 --to 2026-05-18

    With a public list (--domain) all privacy goes to the counts. Without one the names are
    found too, at the end of every so many steps, for a part of it.

    All that one run publishes has one (epsilon, delta) guarantee, but N runs over one file
    compose to mu * sqrt(N), mu being sensitivity / noise: keep the release
    (--save-release) and query that. What standard error tells the operator (malformed
    rows, events/s) and the guess of a format are outside the guarantee.
    """
    _refuse_mixtures(context, listed=domain is not None, ticking=ticking, every=every)
    result = ResultSettings(
        output=output,
        save_release=save_release,
        save_names=save_names if domain is None else None,
        plot=plot,
        ticking=ticking,
        every=every,
    )
    cut = _windows(windowed, keep=keep, begin=begin, end=end, changes=changes)
    source = reading.open(files, times=cut is not None and cut.by_time)
    items = None
    if domain is not None:
        items = reading.read_items(domain, option="--domain", inputs=files)
    result.check()
    subject: Subject
    if cut is not None:
        cut.check(stored=source.part_read is not None)
        windows = cut.create(
            sketch, share=share, domain=items, memory=memory, max_weight=source.max_weight
        )
        subject = InWindows(windows, cut, most=most, epsilon=sketch.epsilon, delta=sketch.delta)
    elif items is None:
        subject = Found(
            sketch.discover(
                share=share, window=window, memory=memory, max_weight=source.max_weight
            ),
            most=most,
            epsilon=sketch.epsilon,
            delta=sketch.delta,
        )
    else:
        subject = _listed(source, sketch, items=items, most=most)
    return count(source, subject, reading=reading, horizon=sketch.horizon, result=result)


def _windows(
    windowed: str | None, *, keep: int, begin: str | None, end: str | None, changes: bool
) -> WindowSettings | None:
    """Return how to cut the stream into windows, None if it is not cut."""
    if windowed is None:
        if begin is not None or end is not None or changes:
            raise ArgumentTypeError("--from, --to, --changes: expected --window beside them")
        return None
    every: timedelta | int
    try:
        every = int(STEPS.convert(windowed, None, None))
    except click.BadParameter:
        try:
            every = timedelta(seconds=DURATION.convert(windowed, None, None))
        except (click.BadParameter, OverflowError):
            raise ArgumentValueError(
                "--window: expected a time such as 90s, 15m, 1h or 1d, or a number of steps, "
                f"got {windowed[:40]!r}"
            ) from None
    return WindowSettings(every=every, keep=keep, begin=begin, end=end, changes=changes)


def _listed(source: Source, sketch: SketchSettings, *, items: Any, most: int) -> Listed:
    def rows(release: Release) -> list[dict[str, Any]]:
        return [{**row, "complete": True} for row in heaviest(release, items, most=most)]

    return Listed(sketch.create(max_weight=source.max_weight), rows, choice=len(items))


def _refuse_mixtures(
    context: click.Context, *, listed: bool, ticking: bool, every: float | None
) -> None:
    """Raise for options on one command line that contradict each other."""

    def typed(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    beside = [option for name, option in _FOR_NAMES.items() if listed and typed(name)]
    if beside and typed("domain"):
        raise click.UsageError(
            f"{beside[0]}: expected no --domain beside it, which lists all names, got one", context
        )
    if ticking and typed("ticking") and typed("output"):
        raise click.UsageError("--json: expected no --output beside it, got one", context)
    if typed("windowed"):
        beside = [option for name, option in _NOT_WINDOWED.items() if typed(name)]
        if beside:
            raise click.UsageError(f"{beside[0]}: expected no --window beside it, got one", context)
    if every is not None and every < _SOONEST:
        raise ArgumentValueError(
            f"every: expected a time of at least {_SOONEST * 1000:.0f}ms, got {every * 1000:g}ms"
        )
