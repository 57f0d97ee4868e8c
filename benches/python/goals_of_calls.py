"""Goals of single calls, of two threads, and of releases that are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from . import commands, contenders, hierarchies, input_types, kept_releases, two_threads
from .goal import Goal, at_least, at_most, value
from .measuring import Results

__all__ = ["GOALS_OF_CALLS"]


def update_over_sketch(results: Results, *, name: str) -> list[float]:
    facts = {"group": "hierarchies", "items": hierarchies.DISTINCT}
    one, other = (
        value(results, "cpu_ns", name=f"update, {each}", **facts)
        for each in (name, hierarchies.SKETCH)
    )
    return [one / other]


def faster_in_two_threads(results: Results, *, name: str) -> list[float]:
    """Return elapsed time of one thread over that of two."""
    facts = {"group": "two threads", "name": name}
    return [
        value(results, "ns", width=width, threads=1, **facts)
        / value(results, "ns", width=width, threads=2, **facts)
        for width in two_threads.WIDTHS_OF[name]
    ]


def of_two_tables(results: Results, *, name: str) -> list[float]:
    """Return elapsed time of two tables that share nothing over that of two threads."""
    apart, together = (
        [
            value(results, "ns", group="two threads", name=each, width=width, threads=2)
            for width in two_threads.WIDTHS_OF[name]
        ]
        for each in (name + two_threads.APART, name)
    )
    return [alone / shared for alone, shared in zip(apart, together, strict=True)]


def of_kept(results: Results, name: str, field: str = "cpu_ns", **facts: float) -> float:
    return value(results, field, group="kept releases", name=name, **facts)


def of_discovery(results: Results, name: str, items: str) -> float:
    return value(results, "cpu_ns", group="discovery", name=name, items=items)


def over_grouping(results: Results) -> list[float]:
    """Return what heavy hitters cost over exact counts of polars."""
    return [
        of_discovery(results, contenders.WITH_NAMES, items)
        / of_discovery(results, contenders.GROUPED, items)
        for items in (contenders.ZIPF_TEXT, contenders.NEW_INTEGERS)
    ]


def long_over_short_names(results: Results) -> list[float]:
    """Return what new names of 39 and 195 bytes cost over short ones."""
    short = of_discovery(results, contenders.WITH_NAMES, contenders.NEW_TEXT)
    return [
        of_discovery(results, contenders.WITH_NAMES, items) / short
        for items in contenders.LONG_TEXTS.values()
    ]


def of_commands(results: Results, name: str) -> float:
    return value(results, "cpu_ns", group="commands", name=name)


def growth_of_merging(results: Results) -> list[float]:
    few, many = (
        of_kept(results, kept_releases.ONE_BY_ONE, batch=number) for number in kept_releases.MERGED
    )
    return [many / few]


def kept(text: str, limit: float, found: Callable[[Results], float]) -> Goal:
    return at_most(text, limit, lambda results: [found(results)])


GOALS_OF_CALLS: Final = (
    *(
        at_most(
            f"cost of one update call of {name} over that of a sketch",
            limit,
            partial(update_over_sketch, name=name),
        )
        for name, limit in (
            (hierarchies.HIERARCHY, 17),
            (hierarchies.WINDOWS, 2.5),
            (hierarchies.ONE, 2),
        )
    ),
    *(
        at_least(
            f"speed of {name} in two threads over one, at every width",
            1.9,
            partial(faster_in_two_threads, name=name),
        )
        for name in two_threads.WIDTHS_OF
    ),
    *(
        at_least(
            f"speed of {name} in two threads over that of two tables at once, at every width",
            0.9,
            partial(of_two_tables, name=name),
        )
        for name in two_threads.WIDTHS_OF
    ),
    at_most(
        "ns per text of 12 bytes in arrays of NumPy",
        15,
        lambda results: [
            value(results, "cpu_ns", group="input types", name=name)
            for name in input_types.FIXED_TEXT
        ],
    ),
    kept(
        "cost of an estimate (minimum) of a release over a look-up in a dictionary",
        6,
        lambda results: (
            of_kept(results, kept_releases.ESTIMATE) / of_kept(results, kept_releases.EXACT)
        ),
    ),
    kept(
        "ms for an interval of a release that is kept",
        0.3,
        lambda results: of_kept(results, kept_releases.INTERVAL) / 1e6,
    ),
    kept(
        "cost of live estimates of 100,000 items over those of a release",
        1.2,
        lambda results: (
            of_kept(results, kept_releases.LIVE_MANY)
            / of_kept(results, kept_releases.MANY_OF_RELEASE)
        ),
    ),
    kept(
        "ms to read a file of 4 x 2^20 cells",
        30,
        lambda results: of_kept(results, kept_releases.READ_BACK) / 1e6,
    ),
    at_most("cost of heavy hitters over group_by of polars", 1, over_grouping),
    at_most("cost of new names of 39 and 195 bytes over those of 12", 2, long_over_short_names),
    kept(
        "processor seconds of a command on a small file",
        0.23,
        lambda results: of_commands(results, commands.START) / 1e9,
    ),
    kept(
        "processor time of 1,000 estimates shown as a table over CSV",
        1.2,
        lambda results: of_commands(results, commands.TABLE) / of_commands(results, commands.CSV),
    ),
    at_most("cost of merging 400 releases one by one over 100, each", 1.5, growth_of_merging),
    kept(
        "bytes of a file of 4 x 2^20 cells over those that zlib makes of the cells",
        1,
        lambda results: (
            of_kept(results, kept_releases.FILE, "bytes")
            / of_kept(results, kept_releases.BY_ZLIB, "bytes")
        ),
    ),
    kept(
        "bytes per cell that an interval of 4 x 2^20 cells needs beside the release",
        8,
        lambda results: of_kept(results, kept_releases.INTERVALS, "bytes"),
    ),
)
