"""``lazysketch estimate``: the counts of a public list."""

from __future__ import annotations

from typing import Final

import click

from lazysketch.cli.input_options import files_argument, input_options
from lazysketch.cli.ledger_options import ledger_options
from lazysketch.cli.options import listed_sketch_options, result_options, state_options
from lazysketch.cli.run.signals import Signals
from lazysketch.cli.settings import (
    InputSettings,
    LedgerSettings,
    ResultSettings,
    SketchSettings,
    StateSettings,
)

_LIVE_ROWS: Final = 20


@click.command()
@files_argument
@click.option(
    "--items",
    "list_of_items",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    required=True,
    help="Public list of the items to count, one per line; not taken from the stream.",
)
@input_options
@state_options
@ledger_options
@result_options
@listed_sketch_options
@click.pass_context
def estimate(
    context: click.Context,
    files: tuple[str, ...],
    *,
    list_of_items: str,
    reading: InputSettings,
    kept: StateSettings,
    charged: LedgerSettings,
    result: ResultSettings,
    sketch: SketchSettings,
) -> int:
    """Count a stream privately and show the estimate of every item of a public list.

    Reads the same inputs as top; the result keeps the order of the list. With --state the
    next run goes on from there.

    \b
    Example:
      lazysketch estimate events.txt --items items.txt --output csv > counts.csv

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
    from lazysketch.cli.run.starting import listed_target, open_inputs, opened_state
    from lazysketch.cli.view.report import counts, heaviest

    check_people(sketch, state=kept.state)
    check_result(result, goes_on=kept.state is not None)
    charging = Charging(charged)
    charging.check()
    with opened_state(kept) as state:
        if state is not None:
            state.check_listed(listed=True, option="--items")
            reading, sketch = state.defined(reading, context), state.defined(sketch, context)
        source = open_inputs(reading, files, times=False, user=sketch.user, state=state)
        items = read_public_list(list_of_items, option="--items", inputs=files, reading=reading)
        sketch = sketch.published_for(source, reading, result, ends=state is None or state.finishes)
        target = listed_target(
            sketch,
            source,
            reading,
            rows=lambda release: counts(release, items),
            candidates=len(items),
            rows_while_reading=lambda release: heaviest(release, items, most=_LIVE_ROWS),
            state=state,
        )
        return count(
            source,
            target,
            signals=context.ensure_object(Signals),
            reading=reading,
            horizon=sketch.horizon,
            result=result,
            state=state,
            charging=charging,
        )
