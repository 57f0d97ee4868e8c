"""``lazysketch query``: estimates from a release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from lazysketch.cli.options import output_option
from lazysketch.cli.run.files import load, read_list
from lazysketch.cli.view.output import write
from lazysketch.cli.view.report import CONFIDENCE, report
from lazysketch.errors import ArgumentValueError, ItemError
from lazysketch.releases.release import Release
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.sources import ITEM_TYPES
from lazysketch.sources.io.naming import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.releases.any_release import AnyRelease
    from lazysketch.releases.rows import Row

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

    Of a release of sums each item has its sum, its number of events and its mean. Of a
    release of distinct items the number is shown, without an ITEM. Of a release of
    values ITEM is a share, such as 0.5 for the median; by default 0.5, 0.9 and 0.99.

    \b
    Examples:
      lazysketch query hosts.lzs 203.0.113.9 198.51.100.7
      cut -f 1 watchlist.tsv | lazysketch query hosts.lzs - --output csv
      lazysketch query visitors.lzs
      lazysketch query latency.lzs 0.5 0.999
    """
    found = load(release)
    rows: Sequence[Row]
    if isinstance(found, Release | SumsRelease):
        asked = _items_asked(found, items, list_of_items=list_of_items, items_type=items_type)
        rows = found._rows(asked, confidence=CONFIDENCE)
    elif list_of_items is None and items_type is None:
        rows = _rows(found, items)
    else:
        option = "--items" if list_of_items is not None else "--items-type"
        raise click.UsageError(f"{option}: expected none for a release without items, got one")
    write(report(found, rows, of=release), output=output)


def _rows(release: AnyRelease, questions: Sequence[str]) -> Sequence[Row]:
    """Return the answers of a release without items to what was typed as ITEM."""
    try:
        return release._rows(questions, confidence=CONFIDENCE)
    except ArgumentValueError as error:
        raise click.UsageError(str(error)) from None


def _items_asked(
    release: AnyRelease,
    items: tuple[str, ...],
    *,
    list_of_items: str | None,
    items_type: str | None,
) -> list[str] | list[int]:
    """Return the items of the command line, of standard input and of the list, each once."""
    wanted: list[str] = []
    for item in items:
        wanted += read_list(item, option="ITEM") if item == STANDARD_INPUT else [item]
    if list_of_items is not None:
        wanted += read_list(list_of_items, option="--items")
    if not wanted:
        raise click.UsageError("expected at least one ITEM or --items ITEMS.txt, got none")
    distinct = list(dict.fromkeys(wanted))
    kind_of_item = items_type or ("int" if release.kind == _COUNTERS else "str")
    return _numbers(distinct) if kind_of_item == "int" else distinct


def _numbers(items: list[str]) -> list[int]:
    for place, item in enumerate(items, start=1):
        if not _NUMBER.fullmatch(item):
            raise ItemError(f"ITEM: expected whole numbers, got {item!r} at place {place}")
    return [int(item) for item in items]
