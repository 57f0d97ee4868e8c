"""``lazysketch query``: estimates from a release."""

from __future__ import annotations

import re

import click

from lazysketch.cli.options import output_option
from lazysketch.cli.run.files import load, read_list
from lazysketch.cli.view.output import write
from lazysketch.cli.view.report import counts, report
from lazysketch.errors import ItemError
from lazysketch.sources import ITEM_TYPES
from lazysketch.sources.io.naming import STANDARD_INPUT

_COUNTERS = "counters"
_NUMBER = re.compile("[+-]?[0-9]{1,20}")  # 2^64 has 20 digits


@click.command()
@click.argument("release", metavar="RELEASE", type=click.Path())
@click.argument("items", metavar="[ITEM]...", nargs=-1)
@click.option(
    "--items",
    "list_of_items",
    metavar="ITEMS.txt",
    type=click.Path(allow_dash=True),
    help="File with one item per line; - is standard input.  [default: none]",
)
@click.option(
    "--items-type",
    type=click.Choice(ITEM_TYPES),
    help="Type of the items when they were counted.  [default: str; int for counters]",
)
@output_option
def query(
    release: str,
    *,
    items: tuple[str, ...],
    list_of_items: str | None,
    items_type: str | None,
    output: str,
) -> None:
    """Show the estimates of some items in a release.

    ITEM is an item as it was counted; - reads items from standard input, one per line.
    A release is public: any number of queries costs no privacy.

    \b
    Examples:
      lazysketch query hosts.lzs 203.0.113.9 198.51.100.7
      cut -f 1 watchlist.tsv | lazysketch query hosts.lzs - --output csv
    """
    found = load(release)
    wanted: list[str] = []
    for item in items:
        wanted += read_list(item, option="ITEM") if item == STANDARD_INPUT else [item]
    if list_of_items is not None:
        wanted += read_list(list_of_items, option="--items")
    if not wanted:
        raise click.UsageError("expected at least one ITEM or --items ITEMS.txt, got none")
    distinct = list(dict.fromkeys(wanted))
    kind_of_item = items_type or ("int" if found.kind == _COUNTERS else "str")
    asked = _numbers(distinct) if kind_of_item == "int" else distinct
    write(report(found, counts(found, asked), of=release), output=output)


def _numbers(items: list[str]) -> list[int]:
    for place, item in enumerate(items, start=1):
        if not _NUMBER.fullmatch(item):
            raise ItemError(f"ITEM: expected whole numbers, got {item!r} at place {place}")
    return [int(item) for item in items]
