"""Performance goals: each is a ratio or a limit within one run.

They are judged by the fastest of the native rounds, and by processor time in Python: other work on
the machine only adds to the other measurements.
"""

from __future__ import annotations

from functools import partial

from . import (
    distinct,
    distribution,
    file_formats,
    hierarchies,
    known_names,
    ranges,
    sums,
    wide_tables,
)
from .goal import Goal, at_least, at_most, value
from .goals_of_calls import GOALS_OF_CALLS
from .measuring import Results


def native(results: Results, above: str, below: str) -> list[float]:
    """Return the ratios of two times, in each setting that the goals refer to."""
    settings = {
        (row["skew"], row["depth"], row["width"])
        for row in results
        if row["group"] == "ingest" and row["depth"] == 3 and 1000 <= row["width"] <= 1 << 16
    }
    ratios = []
    for skew, depth, width in sorted(settings):
        facts = {"skew": skew, "depth": depth, "width": width}
        one, other = (
            value(results, "least_ns", name=name, group="ingest", **facts)
            for name in (above, below)
        )
        ratios.append(one / other)
    return ratios


def lazy_ns(results: Results) -> list[float]:
    return [
        row["least_ns"]
        for row in results
        if row["group"] == "ingest"
        and row["name"].startswith("LazyCountMin")
        and row["depth"] == 3
        and 1000 <= row["width"] <= 1 << 16
    ]


def single(results: Results, name: str, peer: str) -> list[float]:
    group = "single calls"
    return [
        value(results, "cpu_ns", name=name, items=items, group=group)
        / value(results, "cpu_ns", name=peer, items=items, group=group)
        for items in ("int", "str")
    ]


def release_after(results: Results, pushes: int) -> float:
    name = f"release after {pushes} pushes of every cell, per cell"
    return value(results, "cpu_ns", group="reads", name=name)


def hierarchy_ns(results: Results, name: str, items: str) -> float:
    return value(results, "cpu_ns", group="hierarchies", name=name, items=items)


def over_ready_columns(results: Results, items: str) -> float:
    together = hierarchy_ns(results, hierarchies.HIERARCHY, items)
    return together / hierarchy_ns(results, hierarchies.ALONE, items)


def wide_over(results: Results, *, parts: tuple[str, ...]) -> list[float]:
    """Return what a batch no larger than the table costs, over these together, each run alone."""
    facts = {"group": "wide tables"}
    return [
        value(results, "cpu_ns", name=name, width=width, **facts)
        / sum(value(results, "cpu_ns", name=part, width=width, **facts) for part in parts)
        for name in (wide_tables.ROBIN, wide_tables.GEOMETRIC)
        for width in wide_tables.WIDTHS
        if width >= wide_tables.BATCH
    ]


def released_over_first(results: Results, name: str) -> float:
    first = value(results, "cpu_ns", group="wide tables", name=wide_tables.FIRST)
    return value(results, "cpu_ns", group="wide tables", name=name) / first


def top_ms(results: Results, *, name: str, names: int) -> list[float]:
    return [
        value(
            results,
            "cpu_ns",
            group="known names",
            name=name,
            items=f"{names:,} names",
            width=width,
        )
        / 1e6
        for width in known_names.WIDTHS
    ]


def row_ns(results: Results, *, file: str) -> list[float]:
    name = file_formats.SOURCE
    return [value(results, "cpu_ns", group="file formats", name=name, items=file)]


def relative_to_exact(kind: str, schedule: str, limit: float) -> Goal:
    return at_least(
        f"speed of Lazy{kind}, {schedule}, over that of {kind}",
        limit,
        lambda results: native(results, kind, f"Lazy{kind}, {schedule}"),
    )


def of_service(results: Results, kind: str, batch: int, name: str) -> float:
    """Return processor nanoseconds per event of the service, with many senders."""
    return min(
        row["cpu_ns"]
        for row in results
        if row["group"] == "service"
        and (row["name"], row["items"], row["batch"]) == (name, kind, batch)
        and row["senders"] > 1
    )


def served(kind: str, batch: int, limit: float) -> Goal:
    return at_least(
        f"million events per processor second of the service, {kind}, {batch:,} a request",
        limit,
        lambda results: (
            [1e3 / of_service(results, kind, batch, "lazysketch serve")]
            if any(row["group"] == "service" for row in results)
            else []
        ),
    )


def lost_to_durability(results: Results) -> list[float]:
    """Return the part of its throughput that the service loses to its log."""
    if not any(row["group"] == "service" for row in results):
        return []
    loads = [("JSON lines", 100), ("JSON lines", 10_000), ("Arrow", 10_000), ("Arrow", 100_000)]
    return [
        1
        - of_service(results, kind, batch, "the same without a log")
        / of_service(results, kind, batch, "lazysketch serve")
        for kind, batch in loads
    ]


GOALS = [
    relative_to_exact("CountMin", "round robin", 0.9),
    relative_to_exact("CountMin", "geometric", 0.7),
    relative_to_exact("CountSketch", "round robin", 0.9),
    relative_to_exact("CountSketch", "geometric", 0.7),
    at_least(
        "speed of LazyCountMin over that of the paper's LazyCMS in plain Rust",
        20,
        lambda results: native(results, "the paper's LazyCMS", "LazyCountMin, round robin"),
    ),
    at_most("ns per int64 event of LazyCountMin, batches", 4, lazy_ns),
    at_least(
        "speed of LazyCountMin over that of the paper's PunctualCMS, width 250",
        4000,
        lambda results: [
            value(results, "least_ns", group="punctual", name="the paper's PunctualCMS")
            / value(results, "least_ns", group="punctual", name="LazyCountMin, round robin")
        ],
    ),
    at_most(
        "ns per 12-byte Arrow string",
        9,
        lambda results: [
            row["cpu_ns"]
            for row in results
            if row["group"] == "batches from Python"
            and row["items"] == "12-byte text"
            and row["width"] == 1024
            and row["name"] in ("LazyCountMin, round robin", "LazyCountMin, geometric")
        ],
    ),
    at_most(
        "cost of one update call over that of datasketches, int and str",
        1.1,
        lambda results: single(
            results, "update, LazyCountMin, round robin", "update, datasketches"
        ),
    ),
    at_most(
        "ns of one estimate call, depth 3",
        1000,
        lambda results: [
            value(
                results,
                "cpu_ns",
                group="single calls",
                name="estimate, LazyCountMin, geometric",
                items=items,
            )
            for items in ("int", "str")
        ],
    ),
    at_most(
        "ms for the release of 3 x 1000 cells",
        0.5,
        lambda results: [
            value(results, "cpu_ns", group="reads", name="release of 3 x 1000 cells, per cell")
            * 3000
            / 1e6
        ],
    ),
    at_most(
        "time of a release of 3 x 1000 cells after 2^20 pushes over that after 2^10",
        2.5,
        lambda results: [
            release_after(results, 1 << 20) / release_after(results, 1 << 10),
        ],
    ),
    at_most(
        "cost of an input type over that of the closest faster path",
        2,
        lambda results: [
            row["over"] for row in results if row["group"] == "input types" and "over" in row
        ],
    ),
    served("JSON lines", 100, 0.5),
    served("JSON lines", 10_000, 1.8),
    served("Arrow", 100_000, 10.0),
    at_most("part of its throughput that the service loses to its log", 0.25, lost_to_durability),
    at_most(
        "cost of a hierarchy of 4 levels over that of 4 heavy hitters, few addresses",
        1.3,
        lambda results: [over_ready_columns(results, hierarchies.REPEATED)],
    ),
    at_most(
        "ns per event of a hierarchy of 4 levels, distinct addresses",
        500,
        lambda results: [hierarchy_ns(results, hierarchies.HIERARCHY, hierarchies.DISTINCT)],
    ),
    at_most(
        "cost of one update of windows over that of heavy hitters",
        6,
        lambda results: [
            hierarchy_ns(results, f"update, {hierarchies.WINDOWS}", hierarchies.DISTINCT)
            / hierarchy_ns(results, f"update, {hierarchies.ONE}", hierarchies.DISTINCT)
        ],
    ),
    at_most(
        "processor time of a count of distinct items over that of polars, exact",
        1,
        lambda results: [
            value(results, "cpu_ns", group="distinct", name=distinct.PRIVATE, items=items)
            / value(results, "cpu_ns", group="distinct", name=distinct.EXACT, items=items)
            for items in (distinct.NEW, distinct.REPEATED, distinct.TEXT)
        ],
    ),
    at_most(
        "processor time of a distribution of values over that of KLL",
        1,
        lambda results: [
            value(results, "cpu_ns", group="distribution", name=distribution.PRIVATE, items=items)
            / value(results, "cpu_ns", group="distribution", name=distribution.KLL, items=items)
            for items in (distribution.LATENCIES, distribution.EVEN)
        ],
    ),
    at_most(
        "largest rank error of three quantiles of a distribution, of a million values",
        0.001,
        lambda results: [
            value(
                results, "rank_error", group="distribution", name=distribution.PRIVATE, items=items
            )
            for items in (distribution.LATENCIES, distribution.EVEN)
        ],
    ),
    at_most(
        "processor time of sums by item over that of polars, exact",
        2,
        lambda results: [
            value(results, "cpu_ns", group="sums", name=sums.PRIVATE, items=items)
            / value(results, "cpu_ns", group="sums", name=sums.POLARS, items=items)
            for items in (sums.SKEWED, sums.TEXT)
        ],
    ),
    at_most(
        "ms for the number of keys in a range, with its interval",
        5,
        lambda results: [
            value(results, "cpu_ns", group="ranges", name=ranges.READ, items=items) / 1e6
            for items in (ranges.EVEN, ranges.SKEWED)
        ],
    ),
    *(
        at_most(f"processor ns per row of one column of {file}", limit, partial(row_ns, file=file))
        for file, limit in ((file_formats.CSV, 150), (file_formats.JSON, 500))
    ),
    at_most(
        "cost of a batch in a table of 2^20 columns or more over exact counting",
        1.2,
        partial(wide_over, parts=(wide_tables.EXACT,)),
    ),
    at_most(
        "cost of a batch in a table of 2^20 columns or more over exact counting and its pushes",
        1.1,
        partial(wide_over, parts=(wide_tables.EXACT, wide_tables.PUSHES)),
    ),
    at_most(
        "time of a release of 4 x 2^20 cells 1,000 events later over that of the first",
        0.05,
        lambda results: [released_over_first(results, wide_tables.AGAIN)],
    ),
    *(
        at_most(
            f"ms for the heaviest of {names:,} known names, {when}",
            limit,
            partial(top_ms, name=name, names=names),
        )
        for name, when in (
            (known_names.FIRST, "after a change"),
            (known_names.REPEATED, "again"),
        )
        for names, limit in zip(known_names.NAMES, (5, 40), strict=True)
    ),
    at_most("bytes per cell", 8.5, lambda results: [value(results, "bytes", group="memory")]),
    at_most(
        "mean relative error of the top 15 in 24 KB",
        0.008,
        lambda results: [value(results, "are", name="LazyCountMin, width 1000")],
    ),
    at_most(
        "seconds to import the package, NumPy included",
        0.15,
        lambda results: [value(results, "seconds", name="lazysketch and NumPy")],
    ),
    *GOALS_OF_CALLS,
]
