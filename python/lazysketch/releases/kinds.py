"""The kinds of tables that releases hold, in words.

A new kind of release needs an entry here, a subclass of
:class:`~lazysketch.releases.release_of_kind.ReleaseOfKind`, and a place among the modules of
``any_release``. Everything that reads any release, such as the command line, follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lazysketch.specification.distinct import BIT_WEIGHT

__all__ = ["KINDS", "Kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a reader is told of releases of one kind.

    Attributes:
        counted: What is counted, in the plural.
        release: The name of the class of its releases.
        cell: What a number of the table is, with its article.
        ends: The keys of the ends of an interval in its rows.
        each: What has an interval of its own; empty if there is one number only.
        not_added: Why releases of several streams do not add up; empty if they do.
    """

    counted: str
    release: str
    cell: str = "a cell"
    ends: tuple[str, str] = ("low", "high")
    each: str = "item"
    not_added: str = ""


_ITEMS: Final = Kind(counted="items", release="Release")

KINDS: Final[dict[str, Kind]] = {
    "count-min": _ITEMS,
    "count-sketch": _ITEMS,
    "counters": _ITEMS,
    "distinct": Kind(
        counted="distinct items",
        release="DistinctRelease",
        cell=f"{BIT_WEIGHT} times the set bits of a level",
        each="",
        not_added="items that are in several streams would count several times",
    ),
    "values": Kind(
        counted="values",
        release="DistributionRelease",
        cell="a sum of a tree over bins",
        ends=("from", "to"),
        each="quantile",
    ),
    "ranges": Kind(
        counted="keys",
        release="RangesRelease",
        cell="a difference between the halves of a node",
        each="range",
    ),
    "sums": Kind(
        counted="sums of values",
        release="SumsRelease",
        cell="a sum of values",
        each="sum",
    ),
}
"""The kinds by the name that a release carries."""
