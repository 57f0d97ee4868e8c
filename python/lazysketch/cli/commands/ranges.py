"""``lazysketch ranges``: how many keys of a stream lie in ranges, such as networks of addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lazysketch.cli.input_options import key_input_options
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import once_option, result_options, state_options
from lazysketch.cli.run.shown_statistics import ShownRanges
from lazysketch.cli.run.state_definition import RANGES
from lazysketch.cli.run.statistic_run import run_of_statistic
from lazysketch.cli.statistic_options import ranges_options
from lazysketch.cli.window_options import cut_options
from lazysketch.releases.key_questions import is_question
from lazysketch.sources.formats.keys import key_type
from lazysketch.store.opening import is_store

if TYPE_CHECKING:
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import InputSettings, LedgerSettings, ResultSettings, StateSettings
    from lazysketch.cli.statistic_options import RangesSettings


@click.command()
@click.argument(
    "arguments",
    metavar="FILE... [RANGE]...",
    nargs=-1,
    required=True,
    type=click.Path(allow_dash=True),
)
@key_input_options
@ledger_options
@once_option
@result_options
@state_options
@cut_options
@ranges_options
@click.pass_context
def ranges(
    context: click.Context,
    arguments: tuple[str, ...],
    *,
    reading: InputSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    counting: RangesSettings,
    kept: StateSettings,
    windows: WindowSettings,
) -> int:
    """Count the keys of a stream in ranges: networks of addresses, ports, ids, times.

    RANGE is a network (10.0.0.0/8, 2001:db8::/32) or two keys or addresses with a dash between
    them, the second one excluded (0-1024); a file with such a name is ./NAME. Without a RANGE
    sixteen equal parts of all keys are shown. A key is an integer below 2^bits, an IPv4 address
    with --bits 32, or the first half of an IPv6 address with --bits 64. A row without a key is a
    step without an event.

    \b
    Examples:
      lazysketch ranges access.log --by host 10.0.0.0/8 192.168.0.0/16
      lazysketch ranges flows.csv --by dport --bits 16 0-1024 1024-65536
      tail -F access.log | lazysketch ranges - --horizon 10000000 10.0.0.0/8
      tail -F access.log | lazysketch ranges - --window 1h 10.0.0.0/8

    One run has one (epsilon, delta) guarantee for everything that it publishes; ranges of any
    size and number follow from one release. N runs over one file compose to mu * sqrt(N): save
    the release (--save-release) and query it instead; --ledger adds up all runs. The guarantee
    covers neither the messages on standard error (rows without a key, events/s) nor a guessed
    format.
    """
    files = tuple(text for text in arguments if not is_question(text))
    if not files:
        raise click.UsageError("expected at least one FILE, got ranges alone")
    shown = ShownRanges(tuple(text for text in arguments if is_question(text)))
    if kept.state is None or not is_store(kept.state):
        shown.check(counting)  # before a state is made; the first run with one has chosen the bits
    return run_of_statistic(
        context,
        files,
        counting,
        counted=RANGES,
        reading=replace(reading, items_type=key_type(counting.bits)),
        charged=charged,
        result=result,
        kept=kept,
        windows=windows,
        shown=lambda _: shown,
        check=shown.check,
    )
