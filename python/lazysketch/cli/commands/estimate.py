"""``lazysketch estimate``: the counts of a public list."""

from __future__ import annotations

import click

from lazysketch.cli.options import (
    InputSettings,
    SketchSettings,
    input_options,
    output_option,
    save_option,
    sketch_options,
)
from lazysketch.cli.run.counting import ResultSettings, count
from lazysketch.cli.run.targets import Listed
from lazysketch.cli.view.report import counts, heaviest

_SHOWN_WHILE_READING = 20


@click.command(short_help="The counts of a public list.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@click.option(
    "--items",
    "list_of_items",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    required=True,
    help="Public list of what to count, an item per line; not taken from the stream.",
)
@input_options
@save_option
@output_option
@sketch_options
def estimate(
    files: tuple[str, ...],
    *,
    list_of_items: str,
    reading: InputSettings,
    save_release: str | None,
    output: str,
    sketch: SketchSettings,
) -> int:
    """Count a stream privately and show the estimate of every item of a public list.

    Reads the same inputs as top; the result keeps the order of the list.

    \b
    Example:
      lazysketch estimate events.txt --items items.txt --output csv > counts.csv

    All that one run publishes has one (epsilon, delta) guarantee, but N runs over one file
    compose to mu * sqrt(N), mu being sensitivity / noise: keep the release
    (--save-release) and query that. What standard error tells the operator (malformed
    rows, events/s) and the guess of a format are outside the guarantee.
    """
    source = reading.open(files)
    items = reading.read_items(list_of_items, option="--items", inputs=files)
    result = ResultSettings(output=output, save_release=save_release)
    result.check()
    subject = Listed(
        sketch.create(max_weight=source.max_weight),
        lambda release: counts(release, items),
        choice=len(items),
        rows_while_reading=lambda release: heaviest(release, items, most=_SHOWN_WHILE_READING),
    )
    return count(source, subject, reading=reading, horizon=sketch.horizon, result=result)
