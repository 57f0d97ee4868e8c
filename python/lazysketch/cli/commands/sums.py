"""``lazysketch sums``: sums, numbers of events and means of a number by item of a public list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lazysketch.cli.input_options import files_argument, sums_input_options
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import once_option, result_options, rows_option, state_options
from lazysketch.cli.run.files import read_public_list
from lazysketch.cli.run.shown_statistics import ShownSums
from lazysketch.cli.run.state_definition import SUMS
from lazysketch.cli.run.statistic_run import run_of_statistic
from lazysketch.cli.sums_options import sums_options
from lazysketch.cli.window_options import cut_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.store.opening import is_store

if TYPE_CHECKING:
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import InputSettings, LedgerSettings, ResultSettings, StateSettings
    from lazysketch.cli.sums_options import SumsSettings


@click.command()
@files_argument
@click.option(
    "--items",
    "list_of_items",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    required=True,
    help="Public list of items, one per line; not taken from the stream.",
)
@rows_option
@sums_input_options
@ledger_options
@once_option
@result_options
@state_options
@cut_options
@sums_options
@click.pass_context
def sums(
    context: click.Context,
    files: tuple[str, ...],
    *,
    list_of_items: str,
    rows_shown: int,
    reading: InputSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    counting: SumsSettings,
    kept: StateSettings,
    windows: WindowSettings,
) -> int:
    """Show the items of a public list with the largest sums of a number: bytes, prices, times.

    Each row has the sum of an item, its number of events and its mean, with intervals. Values
    outside of --low and --high count as these: choose both from what is known without the data.
    A row without an item or without a number is a step without an event.

    \b
    Examples:
      lazysketch sums flows.csv --by src --value bytes --low 0 --high 1500 --items hosts.txt
      lazysketch sums trace.pcap --value size --low 0 --high 1500 --items hosts.txt -k 5
      tail -F sizes.csv | lazysketch sums - --by src --value bytes --low 0 --high 1500
          --items hosts.txt --window 1h

    One run has one (epsilon, delta) guarantee for everything that it publishes. N runs over
    one file compose to mu * sqrt(N): save the release (--save-release) and query it instead;
    --ledger adds up all runs. The guarantee covers neither the messages on standard error
    (malformed rows, events/s) nor a guessed format.
    """
    if kept.state is None or not is_store(kept.state):
        counting.check()  # before a state is made; the first run with one has chosen the bounds
        if reading.value is None:
            raise ArgumentTypeError("--value: expected the field of the number, got none")

    def shown(opened: InputSettings) -> ShownSums:
        listed = read_public_list(list_of_items, option="--items", inputs=files, reading=opened)
        return ShownSums(listed, rows_shown)

    return run_of_statistic(
        context,
        files,
        counting,
        counted=SUMS,
        reading=reading,
        charged=charged,
        result=result,
        kept=kept,
        windows=windows,
        shown=shown,
    )
