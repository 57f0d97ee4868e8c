"""``lazysketch distinct``: the number of different items, or people, of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lazysketch.cli.distinct_options import distinct_options
from lazysketch.cli.input_options import files_argument, unweighted_input_options
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import result_options, state_options
from lazysketch.cli.run.state_definition import DISTINCT
from lazysketch.cli.run.statistic_run import run_of_statistic
from lazysketch.cli.window_options import cut_options

if TYPE_CHECKING:
    from lazysketch.cli.distinct_options import DistinctSettings
    from lazysketch.cli.run.windows import WindowSettings
    from lazysketch.cli.settings import (
        InputSettings,
        LedgerSettings,
        ResultSettings,
        StateSettings,
    )


@click.command()
@files_argument
@unweighted_input_options
@ledger_options
@result_options
@state_options
@cut_options
@distinct_options
@click.pass_context
def distinct(
    context: click.Context,
    files: tuple[str, ...],
    *,
    reading: InputSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    counting: DistinctSettings,
    kept: StateSettings,
    windows: WindowSettings,
) -> int:
    """Count how many different items a stream has: addresses, users, products.

    An item counts once, however many events it has, and all of its events are protected
    together. Where items are people, such as users, that is the guarantee of a person.

    \b
    Examples:
      lazysketch distinct access.log --format combined --by host
      tail -F access.log | lazysketch distinct - --by user --epsilon 0.5
      lazysketch distinct flows.csv --by src --window 1h --from 2026-05-17 --to 2026-05-18

    With --window the number of each window is listed, and an item is protected within one of
    them; --save-release saves the last.

    One run has one (epsilon, delta) guarantee for everything that it publishes. N runs over
    one file compose to mu * sqrt(N): save the release (--save-release) and query it instead;
    --ledger adds up all runs. The guarantee covers neither the messages on standard error
    (malformed rows, events/s) nor a guessed format.
    """
    return run_of_statistic(
        context,
        files,
        counting,
        counted=DISTINCT,
        reading=reading,
        charged=charged,
        result=result,
        kept=kept,
        windows=windows,
    )
