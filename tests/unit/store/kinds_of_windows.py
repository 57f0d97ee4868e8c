"""Windows of stores in tests: every kind, how it is opened, changed and read."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from tests.unit.store.lives import text, value

import lazysketch as ls
from lazysketch.store import Store

NOISE: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-2, "width": 16, "depth": 2}
FOUND: dict[str, Any] = NOISE | {"share": 0.2, "memory": 1 << 20}
COUNTED: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-2, "bits": 64, "levels": 2}
BINNED: dict[str, Any] = {"epsilon": 9.0, "delta": 1e-2, "bins": ls.Bins.linear(0, 9, number=9)}
KEYS: dict[str, Any] = {"epsilon": 9.0, "delta": 1e-2, "bits": 6, "width": 4}
SUMMED: dict[str, Any] = NOISE | {"low": 0, "high": 9, "epsilon": 9.0}
PEOPLE: dict[str, Any] = {"person_bound": ls.PersonBound(events=2, most_people=4)}
BEGIN, END = "2024-01-01T00:00", "2024-01-01T05:30"


class Clock:
    """A clock of tests."""

    def __init__(self) -> None:
        self.seconds, self.readings = 1_704_067_200.0, 0

    def __call__(self) -> float:
        self.readings += 1
        return self.seconds


KINDS: dict[str, dict[str, Any]] = {
    "steps": {"every": 25, **FOUND},
    "steps, two kept": {"every": 10, "keep": 2, "domain": ["item 1", 2], **NOISE},
    "only ends": {"every": 25, "slices": 1, **FOUND},
    "clock": {"every": "1h", "slices": 6, **FOUND},
    "clock, weights": {"every": "1h", "slices": 3, "keep": 3, "max_weight": 9, **FOUND},
    "clock, levels": {"every": "1h", "slices": 4, "keep": 3, **FOUND},
    "clock, sliding": {"every": "10min", "span": "40min", "block": 4, "keep": 9, **FOUND},
    "clock, slices": {"every": "10min", "span": "30min", "block": 1, "max_weight": 9, **FOUND},
    "steps, sliding": {"every": 7, "span": 28, "block": 3, "keep": 9, **FOUND},
    "steps, slices": {"every": 10, "span": 20, "max_weight": 9, "domain": ["item 1"], **NOISE},
    "range": {"every": "1h", "begin": BEGIN, "end": END, **FOUND, "memory": 8 << 20},
    "steps, distinct": {"every": 25, "keep": 3, **COUNTED},
    "clock, distinct": {"every": "1h", "slices": 3, "keep": 3, **COUNTED},
    "range, distinct": {"every": "1h", "begin": BEGIN, "end": END, **COUNTED},
    "only ends, values": {"every": 25, "slices": 1, **BINNED},
    "clock, values": {"every": "1h", "slices": 4, **BINNED},
    "range, values": {"every": "1h", "begin": BEGIN, "end": END, **BINNED},
    "steps, ranges": {"every": 25, "keep": 3, **KEYS},
    "clock, ranges": {"every": "1h", "slices": 4, **KEYS},
    "range, ranges": {"every": "1h", "begin": BEGIN, "end": END, **KEYS},
    "steps, sums": {"every": 25, "keep": 3, **SUMMED},
    "clock, sums": {"every": "1h", "slices": 4, **SUMMED},
    "range, sums": {"every": "1h", "begin": BEGIN, "end": END, **SUMMED},
    "only ends, people, values": {"every": 25, "slices": 1, **BINNED, **PEOPLE},
    "clock, people, ranges": {"every": "1h", "slices": 4, "max_weight": 9, **KEYS, **PEOPLE},
    "clock, people, sums": {"every": "1h", "slices": 4, **SUMMED, **PEOPLE},
    "steps, people, sums": {"every": 25, "keep": 3, **SUMMED, **PEOPLE},
    "range, people, values": {"every": "1h", "begin": BEGIN, "end": END, **BINNED, **PEOPLE},
    "range, people, ranges": {
        "every": "1h", "begin": BEGIN, "end": END, "max_weight": 9, **KEYS, **PEOPLE,
    },
    "range, people, sums": {"every": "1h", "begin": BEGIN, "end": END, **SUMMED, **PEOPLE},
    "range, listed": {"every": "1h", "begin": BEGIN, "end": END, "domain": ["item 1"], **NOISE},
}  # fmt: skip


LEVELS = ls.Levels(
    ("kind", "item"),
    lambda item: (type(item).__name__, item),
    lambda name, _: type(name).__name__,
)


def opened(store: Store, name: str, clock: Callable[[], float]) -> Any:
    options = KINDS[name]
    if "levels" in name:
        return store.hierarchical_windows("a", LEVELS, **options, clock=clock)
    if "span" in options:
        return store.sliding("a", **options | ({"clock": clock} if "clock" in name else {}))
    make: Any = store.windows
    if is_statistic(name):
        make = {
            "distinct": store.distinct_windows,
            "values": store.distribution_windows,
            "ranges": store.ranges_windows,
            "sums": store.sums_windows,
        }[name.split(", ")[-1]]
    return make("a", **options | ({"clock": clock} if "clock" in name else {}))


def is_statistic(name: str) -> bool:
    """Tell whether windows have no names."""
    return name.endswith(("distinct", "values", "ranges", "sums"))


def key(chance: Random) -> int:
    """Return a random key."""
    return chance.randrange(1 << 6)


def change(name: str, live: Any, chance: Random) -> None:
    """Make a random change."""
    item = {"values": value, "ranges": key}.get(name.split(", ")[-1], text)
    items: list[Any] = [item(chance) for _ in range(chance.choice([0, 1, 3, 40, 70]))]
    most = KINDS[name].get("max_weight", 1)
    weights = [chance.randrange(most + 1) for _ in items] if chance.random() < 0.5 else None
    times = None
    if "begin" in KINDS[name]:
        first = np.datetime64("2023-12-31T23:30", "s")
        times = first + np.array([chance.randrange(25_000) for _ in items], dtype="timedelta64[s]")
    does = chance.randrange(6)
    if does == 0:
        live.tick(chance.choice([0, 1, 30]))
    elif does == 1:
        live.advance()
    elif is_statistic(name):
        others: list[Any] = [[value(chance) for _ in items]] if name.endswith("sums") else []
        if most > 1:
            others = [[chance.randrange(most + 1) for _ in items]]
        people = {"user": [text(chance) for _ in items]} if "people" in name else {}
        if does == 2 and times is None:
            one = [value(chance)] if name.endswith("sums") else []
            live.update(item(chance), *one, **({"user": text(chance)} if people else {}))
        else:
            live.update_many(items, *others, times=times, **people)
    elif does == 2 and times is None:
        live.update(text(chance), chance.randrange(most + 1))
    else:
        live.update_many(items, weights, times=times)


def seen(live: Any) -> tuple[Any, ...]:
    """Return what can be read of windows."""
    if isinstance(live, ls.Sliding):
        ends = live.windows_after()
        seen_ends = [(it.begin, it.end, it.whole, it.names, it.release.to_bytes()) for it in ends]
        return live.step, live.finished, seen_ends, live.slices, live.candidates
    parts = [*live.windows, *([live.open] if live.open is not None else [])]
    facts = [(it.number, it.begin, it.end, it.ended, it.whole) for it in parts]
    tables = [one.release.to_bytes() for it in parts for one in it.levels]
    names = [it.names for it in parts if isinstance(it, ls.Window)]
    return live.step, live.finished, facts, tables, names, getattr(live, "candidates", None)
