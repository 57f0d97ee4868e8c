"""Live objects under a test key: parameters are chosen by a random source."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.fuzzing.operations import Box
from tests.fuzzing.verdicts import CANARY

import lazysketch as ls
from lazysketch.testing import seeded_key

__all__ = [
    "counters_of",
    "exact_sketch",
    "heavy_hitters",
    "hierarchy",
    "private_sketch",
    "windows",
    "windows_of_distinct_items",
    "windows_of_values",
]

_PRIVATE: Final[dict[str, Any]] = {"epsilon": 1.0, "delta": 1e-6, "max_weight": 3}


def private_sketch(chance: Random) -> Callable[[], Box]:
    """Return a maker of a lazy or punctual sketch."""
    lazy: Any = chance.choice([ls.LazyCountMin, ls.LazyCountSketch])
    punctual: Any = chance.choice([ls.PunctualCountMin, ls.PunctualCountSketch])
    size = {"depth": chance.choice([1, 2, 5]), "width": chance.choice([1, 8, 33])}
    common = {**_PRIVATE, **size, "hash_seed": 5}
    horizon = chance.choice([40, 5000, 10**6])
    schedules = [
        None,
        ls.RoundRobin(horizon=horizon),
        ls.Punctual(horizon=horizon),
        ls.Batch(horizon=horizon),
        ls.Single(),
        ls.Single(horizon=horizon),
        ls.Geometric(),
    ]
    schedule = chance.choice(schedules)
    relation = chance.choice(["substitution", "zero-out"])

    def make() -> Box:
        key = seeded_key(1)
        if chance_of_punctual:
            return Box(punctual(**common, horizon=horizon, key=key))
        return Box(lazy(**common, schedule=schedule, relation=relation, key=key))

    chance_of_punctual = chance.random() < 0.2
    return make


def exact_sketch(chance: Random) -> Callable[[], Box]:
    """Return a maker of an exact sketch."""
    kind: Any = chance.choice([ls.CountMin, ls.CountSketch])
    size = {"depth": chance.choice([1, 2, 5]), "width": chance.choice([1, 8, 33])}
    return lambda: Box(kind(**size, hash_seed=5))


def counters_of(chance: Random) -> Callable[[], Box]:
    """Return a maker of counters."""
    counters, horizon = chance.choice([1, 4, 9]), chance.choice([None, 40, 5000])
    schedule = None if horizon is None else chance.choice([None, "punctual", "batch", "single"])
    return lambda: Box(
        ls.ContinualCounters(
            counters=counters,
            horizon=horizon,
            schedule=schedule,
            key=seeded_key(1),
            **_PRIVATE,
        )
    )


def distinct_items(chance: Random) -> Callable[[], Box]:
    """Return a maker of a count of distinct items."""
    schedules = [None, ls.Punctual(horizon=300), ls.Batch(horizon=90), ls.RoundRobin(horizon=5000)]
    size = {"bits": chance.choice([64, 256]), "levels": chance.choice([1, 4])}
    schedule = chance.choice(schedules)
    return lambda: Box(
        ls.DistinctCount(
            **size, schedule=schedule, hash_seed=5, key=seeded_key(1), epsilon=1.0, delta=1e-6
        )
    )


def distribution(chance: Random) -> Callable[[], Box]:
    """Return a maker of a distribution of values."""
    schedules = [None, ls.Punctual(horizon=300), ls.Batch(horizon=90), ls.Single()]
    bins = chance.choice([ls.Bins([0.0]), ls.Bins.linear(-5, 5, number=20), ls.Bins([0.5, 7.0])])
    schedule, rows = chance.choice(schedules), chance.choice([None, "haar", "tree"])
    bound = chance.choice([None, None, ls.PersonBound(events=2), ls.PersonBound(most_people=3)])
    return lambda: Box(
        ls.Distribution(
            bins=bins,
            person_bound=bound,
            schedule=schedule,
            value_rows=rows,
            key=seeded_key(1),
            epsilon=1.0,
            delta=1e-6,
        )
    )


def sums(chance: Random) -> Callable[[], Box]:
    """Return a maker of sums of values by item."""
    schedules = [None, ls.Punctual(horizon=300), ls.Batch(horizon=90), ls.Single()]
    bounds = chance.choice([(0.0, 9.0), (-5.0, 5.0), (-1e6, -1.0), (0.0, 1e-3)])
    size = {"depth": chance.choice([1, 2, 5]), "width": chance.choice([1, 8, 33])}
    schedule, exact = chance.choice(schedules), chance.random() < 0.5
    bound = chance.choice([None, None, ls.PersonBound(cells=2), ls.PersonBound(most_people=3)])
    return lambda: Box(
        ls.Sums(
            person_bound=bound,
            low=bounds[0],
            high=bounds[1],
            step=(bounds[1] - bounds[0]) / 8 if exact else None,
            schedule=schedule,
            hash_seed=5,
            key=seeded_key(1),
            epsilon=1.0,
            delta=1e-6,
            **size,
        )
    )


def heavy_hitters(chance: Random) -> Callable[[], Box]:
    """Return a maker of heavy hitters, with discovery or a domain."""
    kinds: list[dict[str, Any]] = [
        {"share": 0.2, "discovery_epoch": 60},
        {"share": 0.2, "discovery_epoch": 7, "max_item_bytes": 16, "memory": 300_000},
        {"share": 0.3, "discovery_epoch": 60, "kind": "count-sketch", "max_weight": 1},
        {"share": 0.2, "discovery_epoch": 60, "discovery_weight": 2},
        {
            "share": 0.2,
            "discovery_epoch": 3,
            "schedule": ls.Batch(horizon=90),
            "discovery_weight": 3,
        },
        {"share": 0.2, "discovery_epoch": 20, "horizon": 200},
        {"domain": [f"{CANARY} {n}" for n in range(5)]},
        {"domain": [1, b"a", "a"], "horizon": 300},
    ]
    chosen = {**_PRIVATE, "epsilon": 20.0, "hash_seed": 5, **chance.choice(kinds)}
    if "share" in chosen:
        chosen.update(width=32, depth=2)
    return lambda: Box(ls.HeavyHitters(**chosen, key=seeded_key(1)))


def _levels(chance: Random) -> ls.Levels:
    makers: list[Callable[[], ls.Levels]] = [
        lambda: ls.ipv4_prefixes((8, 32)),
        lambda: ls.ipv6_prefixes((32, 128)),
        lambda: ls.dns_names(1),
        lambda: ls.url_paths(1),
        lambda: ls.Levels(("all", "each"), lambda item: ("all", item)),
    ]
    return chance.choice(makers)()


def hierarchy(chance: Random) -> Callable[[], Box]:
    """Return a maker of a hierarchy."""
    levels = _levels(chance)
    schedule = chance.choice([None, None, ls.RoundRobin(horizon=300), ls.Batch(horizon=60)])
    return lambda: Box(
        ls.HierarchicalHeavyHitters(
            levels,
            share=0.2,
            discovery_epoch=3 if isinstance(schedule, ls.Batch) else 40,
            schedule=schedule,
            width=16,
            depth=2,
            hash_seed=5,
            key=seeded_key(1),
            **{**_PRIVATE, "epsilon": 20.0},
        )
    )


def hierarchical_windows(chance: Random) -> Callable[[], Box]:
    """Return a maker of windows of a hierarchy, which a clock cuts."""
    levels, slices = _levels(chance), chance.choice([1, 4])

    def make() -> Box:
        box = Box(None)
        box.live = ls.HierarchicalWindows(
            levels,
            every="1h",
            slices=slices,
            keep=5,
            share=0.2,
            width=16,
            depth=2,
            hash_seed=5,
            key=seeded_key(1),
            clock=lambda: box.now[0],
            **{**_PRIVATE, "epsilon": 20.0},
        )
        return box

    return make


def _cut(chance: Random) -> dict[str, Any]:
    """Return a cut by steps, by a clock or by time."""
    cuts: list[dict[str, Any]] = [
        {"every": chance.choice([1, 40, 500])},
        {"every": "1h", "slices": chance.choice([1, 4])},
        {"begin": "2026-05-17", "end": "2026-05-18", "every": "6h"},
    ]
    return chance.choice(cuts)


def windows(chance: Random) -> Callable[[], Box]:
    """Return a maker of windows by steps, by a clock or by time."""
    cut = _cut(chance)
    names: list[dict[str, Any]] = [{"share": 0.2, "width": 16, "depth": 2}]
    names.append({"domain": [f"{CANARY} {n}" for n in range(5)], "width": 16, "depth": 2})
    chosen = {**_PRIVATE, "epsilon": 20.0, **cut, **chance.choice(names)}

    def make() -> Box:
        box = Box(None)
        if "slices" in chosen:
            chosen["clock"] = lambda: box.now[0]
        box.live = ls.Windows(**chosen, keep=5, hash_seed=5, key=seeded_key(1))
        return box

    return make


def windows_of_distinct_items(chance: Random) -> Callable[[], Box]:
    """Return a maker of windows of distinct items by steps, by a clock or by time."""
    size = {"bits": chance.choice([64, 256]), "levels": chance.choice([1, 4]), "hash_seed": 5}
    return _statistic(ls.DistinctWindows, {**size, **_cut(chance)})


def windows_of_values(chance: Random) -> Callable[[], Box]:
    """Return a maker of windows of values by steps, by a clock or by time."""
    bins = chance.choice([ls.Bins([0.0]), ls.Bins.linear(-5, 5, number=20)])
    rows = chance.choice([None, "haar", "tree"])
    chosen = {"bins": bins, "value_rows": rows, **_cut(chance), **_people(chance)}
    return _statistic(ls.DistributionWindows, chosen)


def windows_of_ranges(chance: Random) -> Callable[[], Box]:
    """Return a maker of windows of ranges by steps, by a clock or by time."""
    size = {"bits": chance.choice([3, 32]), "width": chance.choice([2, 64]), "hash_seed": 5}
    weights = {"max_weight": chance.choice([1, 9])}
    return _statistic(ls.RangesWindows, {**size, **weights, **_cut(chance), **_people(chance)})


def windows_of_sums(chance: Random) -> Callable[[], Box]:
    """Return a maker of windows of sums by steps, by a clock or by time."""
    size = {"depth": chance.choice([1, 3]), "width": chance.choice([1, 16]), "hash_seed": 5}
    bounds = {"low": -1, "high": 3}
    return _statistic(ls.SumsWindows, {**bounds, **size, **_cut(chance), **_people(chance)})


def _people(chance: Random) -> dict[str, Any]:
    """Return a bound of people for some windows, which no range may have."""
    return {"person_bound": ls.PersonBound(events=2)} if chance.random() < 0.3 else {}


def _statistic(kind: Callable[..., object], chosen: dict[str, Any]) -> Callable[[], Box]:
    if "begin" in chosen:
        chosen.pop("person_bound", None)

    def make() -> Box:
        box = Box(None)
        if "slices" in chosen:
            chosen["clock"] = lambda: box.now[0]
        box.live = kind(**chosen, keep=5, key=seeded_key(1), epsilon=1.0, delta=1e-6)
        return box

    return make
