"""``lazysketch top``: the heaviest items of a public list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lazysketch.cli.answers import heaviest
from lazysketch.cli.counting import count
from lazysketch.cli.options import (
    InputSettings,
    SketchSettings,
    input_options,
    output_option,
    save_option,
    sketch_options,
)

if TYPE_CHECKING:
    from lazysketch import Release


@click.command(short_help="The heaviest items of a public list.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@click.option(
    "--domain",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    required=True,
    help="Public list to choose from, an item per line; not taken from the stream.",
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
@input_options
@save_option
@output_option
@sketch_options
def top(
    files: tuple[str, ...],
    *,
    domain: str,
    most: int,
    reading: InputSettings,
    save_release: str | None,
    output: str,
    sketch: SketchSettings,
) -> int:
    """Count a stream privately and show the heaviest items of a public list.

    FILE is lines of text, an access log, a packet capture, ..., plain or gzip; - is
    standard input, which may be a live pipe. One row is one step. The table is live while
    it reads, if standard error is a terminal, and Ctrl-C shows what was published so far.

    \b
    Examples:
      lazysketch top access.log.gz --field host --domain hosts.txt
      tail -F access.log | lazysketch top - --format combined --domain hosts.txt
      tcpdump -U -w - | lazysketch top - --format pcap --by dst --domain hosts.txt

    All that one run publishes has one (epsilon, delta) guarantee, but N runs over one file
    compose to mu * sqrt(N), mu being sensitivity / noise: keep the release
    (--save-release) and query that. What standard error tells the operator (malformed
    rows, events/s) and the guess of a format are outside the guarantee.
    """
    source = reading.open(files)
    items = reading.read_items(domain, option="--domain", inputs=files)

    def rows(release: Release) -> list[dict[str, Any]]:
        return heaviest(release, items, most=most)

    return count(
        source,
        sketch,
        reading=reading,
        rows=rows,
        rows_while_reading=rows,
        output=output,
        save_release=save_release,
    )
