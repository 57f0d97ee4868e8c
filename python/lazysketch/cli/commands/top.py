"""``lazysketch top``: the heaviest items of a stream, discovered in it or from a public list."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from lazysketch.cli.input_options import files_argument, input_options
from lazysketch.cli.late_settings import alert_settings, window_settings
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import (
    RESULT,
    discovering_sketch_options,
    gathered,
    once_option,
    option_with_default,
    rows_option,
    state_options,
)
from lazysketch.cli.quantities import BYTES, DURATION, SHARE, STEPS
from lazysketch.cli.run.signals import Signals
from lazysketch.cli.settings import (
    DiscoverySettings,
    InputSettings,
    LedgerSettings,
    ResultSettings,
    SketchSettings,
    StateSettings,
)
from lazysketch.cli.window_options import KEEP, RANGE, WINDOW, length_of_window

if TYPE_CHECKING:
    from lazysketch import Release
    from lazysketch.cli.run.alerting import AlertSettings
    from lazysketch.cli.run.targets import Target
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.view.report import RowsOf
    from lazysketch.releases.rows import ItemRow

# Options that need discovery, and options that do not apply to windows, by parameter name.
_FOR_DISCOVERY: Final = {
    "share": "--share",
    "discovery_epoch": "--names-every",
    "memory": "--memory",
    "discovery_weight": "--names-weight",
    "save_names": "--save-names",
}
_NOT_WINDOWED: Final = {
    "discovery_epoch": "--names-every",
    "save_names": "--save-names",
}


_DISCOVERY: Final = (
    option_with_default(
        "--share",
        type=SHARE,
        default="1%",
        metavar="SHARE",
        help="Without --domain: discover items above this share of the stream.",
    ),
    click.option(
        "--names-every",
        "discovery_epoch",
        type=STEPS,
        metavar="STEPS",
        help="Without --domain: length of a discovery epoch; items are published at its end.  "
        "[default: the shortest that suffices for --share]",
    ),
    option_with_default(
        "--memory",
        type=BYTES,
        default="64MB",
        metavar="BYTES",
        help="Without --domain: upper bound on the memory of sketch and discovery.",
    ),
    click.option(
        "--names-weight",
        "discovery_weight",
        type=click.IntRange(min=1),
        metavar="N",
        help="With --weight, without --domain: a row counts for the name of its item by its "
        "weight, N at most; finds items that are heavy in few of many rows.  "
        "[default: 1, the rows are counted]",
    ),
)
_WINDOWS: Final = (
    WINDOW,
    click.option(
        "--span",
        metavar="TIME|STEPS",
        callback=length_of_window,
        help="With --window: list the last span, such as 1h, at every end of a window, such as "
        "1min.  [default: the last windows]",
    ),
    KEEP,
    *RANGE,
    click.option(
        "--changes",
        is_flag=True,
        help="With --window: list the items whose share changed between windows.  "
        "[default: the top items, and the changes below]",
    ),
)
_ALERTS: Final = (
    click.option(
        "--alert",
        multiple=True,
        metavar="'ITEM > COUNT'",
        help="With --span: tell when an item's count in the last span is certainly above a number; "
        "* for any item.  [default: none]",
    ),
    click.option(
        "--alert-run",
        metavar="COMMAND",
        help="With --alert: run a command for each alert, without a shell; it reads the alert as "
        "JSON.  [default: none]",
    ),
    click.option(
        "--alert-post",
        metavar="URL",
        help="With --alert: send each alert as JSON to an address.  [default: none]",
    ),
    option_with_default(
        "--false-alarms",
        type=SHARE,
        default="1%",
        metavar="SHARE",
        help="With --alert: probability that any alert of a day is wrong, at most.",
    ),
)
_DISPLAY: Final = (
    click.option(
        "--every",
        type=DURATION,
        metavar="TIME",
        help="Time between refreshes, such as 500ms, 2s or 1min.  "
        "[default: 250ms on a terminal, 1s with --json]",
    ),
    once_option,
    click.option(
        "--json",
        "json_stream",
        is_flag=True,
        help="One JSON object per line and refresh; the last is the result.  "
        "[default: as --output]",
    ),
    click.option(
        "--plot",
        metavar="PATH",
        type=click.Path(),
        help="Plot the top items over the stream as .png or .svg, or as a page, .html.  "
        "[default: no plot]",
    ),
    click.option(
        "--save-names",
        metavar="PATH",
        type=click.Path(),
        help="Without --domain: save the discovered items, one per line.  [default: not saved]",
    ),
)


@click.command()
@files_argument
@click.option(
    "--domain",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    help="Public list of candidates, one per line; not taken from the stream.  "
    "[default: items are discovered, for a part of the privacy]",
)
@rows_option
@gathered(DiscoverySettings, "discovery", *_DISCOVERY)
@gathered(window_settings, "windows", *_WINDOWS)
@gathered(alert_settings, "alerts", *_ALERTS)
@input_options
@state_options
@ledger_options
@gathered(ResultSettings, "result", *_DISPLAY, *RESULT)
@discovering_sketch_options
@click.pass_context
def top(
    context: click.Context,
    files: tuple[str, ...],
    *,
    domain: str | None,
    rows_shown: int,
    discovery: DiscoverySettings,
    windows: WindowSettings,
    alerts: AlertSettings,
    reading: InputSettings,
    kept: StateSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    sketch: SketchSettings,
) -> int:
    """Count a stream privately and show its heaviest items, live.

    FILE is lines of text, an access log, a packet capture, ..., also compressed; - is
    standard input, possibly a live pipe, and kafka://HOST:PORT/TOPIC a topic. One row is
    one step. While reading, the table is refreshed on standard error, if that is a
    terminal. Ctrl-C ends with the result so far.

    \b
    Examples:
      lazysketch top access.log
      tail -F access.log | lazysketch top - --format combined
      tcpdump -U -w - | lazysketch top - --format pcap --by dst
      lazysketch top access.log.gz --by host --domain hosts.txt
      lazysketch top flows.csv --by dst --window 1h --from 2026-05-17 --to 2026-05-18
      tail -F access.log | lazysketch top - --by path --window 1min --span 1h

    With --user people are protected instead of events, and what counts of one person is bounded.
    Where the items are people themselves (addresses, accounts, names), a heavy person is named:
    count pages, groups or networks instead (--by path --user host).

    With --state the counts are kept in a directory, and the next run goes on from there: rows
    that were counted are not counted again, and what was published stays as it is.

    With a public list (--domain) the counts get the whole privacy budget. Without one a part
    of it is spent on discovery, which publishes items at the end of each discovery epoch.

    One run has one (epsilon, delta) guarantee for everything that it publishes. N runs over
    one file compose to mu * sqrt(N), where mu is sensitivity / noise: save the release
    (--save-release) and query it instead; --ledger adds up all runs. The guarantee covers
    neither the messages on standard error (malformed rows, events/s) nor a guessed format.
    """
    from lazysketch.cli.run.charging import Charging
    from lazysketch.cli.run.controller import count
    from lazysketch.cli.run.files import read_public_list
    from lazysketch.cli.run.people import check_people
    from lazysketch.cli.run.result_checks import check_result
    from lazysketch.cli.run.sliding import sliding_target
    from lazysketch.cli.run.starting import (
        discovered_target,
        goes_on,
        listed_target,
        open_inputs,
        opened_state,
    )

    _check_combinations(context, listed=domain is not None, result=result)
    _check_kept(context, kept, result=result)
    if not goes_on(kept):  # the first run of a state has said how the stream is cut
        windows.check_complete()
        alerts.check(in_spans=windows.span is not None)
    in_windows = windows.length is not None
    check_people(sketch, state=kept.state, windows=in_windows, ledger=charged.ledger)
    check_result(result, ends_early=not windows.by_time, goes_on=kept.state is not None)
    listed = domain is not None
    charging = Charging(charged)
    charging.check()
    with opened_state(kept) as state:
        if state is not None:
            state.check_listed(listed=listed, option="--domain")
            reading, discovery = state.defined(reading, context), state.defined(discovery, context)
            sketch, windows = state.defined(sketch, context), state.defined(windows, context)
            windows.check_kept(result)
            alerts.check(in_spans=windows.span is not None)
            check_people(sketch, windows=windows.length is not None, ledger=charged.ledger)
        in_windows = windows.length is not None
        source = open_inputs(reading, files, times=windows.by_time, user=sketch.user, state=state)
        items = None
        if domain is not None:
            items = read_public_list(domain, option="--domain", inputs=files, reading=reading)
            result = dataclasses.replace(result, save_names=None)
        windows.check_range(stored=source.part_read is not None)
        ends = state is None or state.finishes
        # The page of windows shows what is public at their ends; a plot needs the way there.
        shown_early = dataclasses.replace(result, plot=None) if in_windows else result
        sketch = sketch.published_for(source, reading, shown_early, ends=ends)
        target: Target | None = windows.target(
            sketch,
            source,
            reading,
            discovery=discovery,
            domain=items,
            most=rows_shown,
            state=state,
        )
        target = target or sliding_target(
            windows,
            alerts,
            sketch,
            discovery=discovery,
            domain=items,
            source=source,
            reading=reading,
            most=rows_shown,
            state=state,
        )
        if target is None and items is not None:
            target = listed_target(
                sketch,
                source,
                reading,
                rows=_heaviest_of(items, most=rows_shown),
                candidates=len(items),
                state=state,
            )
        if target is None:
            target = discovered_target(
                sketch, discovery, source, reading, most=rows_shown, state=state
            )
        return count(
            source,
            target,
            signals=context.ensure_object(Signals),
            reading=reading,
            horizon=sketch.horizon,
            result=result,
            state=state,
            names=not listed,
            charging=charging,
        )


def _heaviest_of(items: list[str] | list[int], *, most: int) -> RowsOf:
    from lazysketch.cli.view.report import heaviest

    def rows(release: Release) -> list[ItemRow]:
        return [{**row, "complete": True} for row in heaviest(release, items, most=most)]

    return rows


def _check_combinations(context: click.Context, *, listed: bool, result: ResultSettings) -> None:
    """Raise for options on the command line that exclude each other."""
    from lazysketch.cli.run.result_checks import check_interval
    from lazysketch.cli.view.plot import is_page

    def typed(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    unused = [option for name, option in _FOR_DISCOVERY.items() if listed and typed(name)]
    if unused and typed("domain"):
        raise click.UsageError(
            f"{unused[0]}: expected no --domain, with which nothing is discovered, got one",
            context,
        )
    if result.json_stream and result.once:
        raise click.UsageError("--once: expected no --json, got one", context)
    if result.json_stream and typed("json_stream") and typed("output"):
        raise click.UsageError("--json: expected no --output, got one", context)
    if typed("length"):
        unused = [option for name, option in _NOT_WINDOWED.items() if typed(name)]
        if unused:
            raise click.UsageError(f"{unused[0]}: expected no --window, got one", context)
        if result.plot is not None and typed("span"):
            raise click.UsageError("--plot: expected no --span, got one", context)
        if typed("keep") and typed("span"):
            raise click.UsageError("--keep: expected no --span, got one", context)
        if result.plot is not None and not is_page(result.plot):
            raise click.UsageError(
                f"--plot: expected a page (.html) with --window, got {result.plot}", context
            )
    if result.every is not None:
        check_interval("every", result.every)


def _check_kept(
    context: click.Context,
    kept: StateSettings,
    *,
    result: ResultSettings,
) -> None:
    """Raise for options that a state cannot keep."""
    if kept.state is None:
        return
    if result.plot is not None:
        raise click.UsageError("--plot: expected no --state, got one", context)
