"""Objects that take partial counts, and workers, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from tests.unit.store.lives import NOISE, distinct, hitters, ranges, sums, table, values

import lazysketch as ls
from lazysketch.store import Store

BATCHES = ls.Batch(horizon=9_000)


def listed(store: Store) -> Any:
    spec = ls.HeavyHittersSpec.of(schedule=BATCHES, domain=["a", 1], width=8, depth=2, **NOISE)
    return store.heavy_hitters("a", spec)


def named(store: Store, capacity: int = 64, *, counted: int = 1, max_weight: int = 1) -> Any:
    """Return heavy hitters whose names are published after every second batch."""
    spec = hitters(BATCHES, discovery_epoch=2, max_weight=max_weight)
    assert spec.discovery is not None
    discovery = replace(spec.discovery, capacity=capacity, counted_weight=counted)
    return store.heavy_hitters("a", replace(spec, discovery=discovery))


def leveled(store: Store, levels: ls.Levels | None = None, **options: Any) -> Any:
    """Return a hierarchy whose names are published after every second batch."""
    wanted: dict[str, Any] = {
        "share": 0.1, "depth": 2, "width": 16, "epsilon": 20.0, "delta": 1e-2, "discovery_epoch": 2,
    }  # fmt: skip
    return store.hierarchy("a", levels or ls.dns_names(2), schedule=BATCHES, **(wanted | options))


def bytes_of(published: ls.Release | tuple[ls.Release, ...]) -> list[bytes]:
    """Return the bytes of what ``add_partials`` returns, one release per level."""
    releases = published if isinstance(published, tuple) else (published,)
    return [release.to_bytes() for release in releases]


OPENED: dict[str, Callable[[Store], Any]] = {
    "count-min": lambda store: store.sketch("a", table(schedule=BATCHES)),
    "count-sketch": lambda store: store.sketch("a", table("count-sketch", BATCHES, max_weight=5)),
    "counters": lambda store: store.counters("a", table("counters", BATCHES, max_weight=5)),
    "distinct": lambda store: store.distinct("a", distinct(BATCHES)),
    "values": lambda store: store.distribution("a", values(BATCHES)),
    "ranges": lambda store: store.ranges("a", ranges(BATCHES)),
    "ranges of weights": lambda store: store.ranges("a", ranges(BATCHES, max_weight=5)),
    "sums": lambda store: store.sums("a", sums(BATCHES)),
    "sums of integers": lambda store: store.sums("a", sums(BATCHES, step=2.0)),
    "listed": listed,
    "names": named,
    "names of weights": partial(named, max_weight=5, counted=5),
    "names of cut weights": partial(named, max_weight=5, counted=2),
    "names of weighted events": partial(named, max_weight=5),
}

WEIGHTS: dict[str, list[Any]] = {
    "sums": [-3, -2.0, 0, 0.7, 4.999, 12, float("inf")],
    "sums of integers": [-2, 0, 1, 3.0, 11.2, 400],
}
"""The values of events that all have one."""

CHOICES: dict[str, list[Any]] = {
    "counters": [*range(8)],
    "values": [-3, 0.5, 1, 7.25, float("inf")],
    "ranges": [0, 5, 31, 32, 63],
    "ranges of weights": [0, 5, 31, 32, 63],
}
"""Items of the objects that do not take any."""


def sealed(spec: bytes, *parts: object, weights: Sequence[object] | None = None) -> bytes:
    """Return the sealed counts of one worker, which counts some batches."""
    worker = ls.PartialCounts(spec)
    for at, items in enumerate(parts):
        worker.update_many(items, None if weights is None else weights[at])
    return worker.seal()


def of_workers(
    spec: bytes, items: Sequence[object], weights: Sequence[Any] | None, chance: Random
) -> list[bytes]:
    """Return what a random number of workers seal, each of which counts random events."""
    workers = [ls.PartialCounts(spec) for _ in range(chance.randrange(1, 6))]
    places = [chance.randrange(len(workers)) for _ in items]
    for number, worker in enumerate(workers):
        own = [at for at, place in enumerate(places) if place == number]
        cut = chance.randrange(len(own) + 1)
        for part in (own[:cut], own[cut:]):
            worker.update_many(
                [items[at] for at in part],
                None if weights is None else [weights[at] for at in part],
            )
    chance.shuffle(workers)
    while len(workers) > 1 and chance.random() < 0.4:
        last = workers.pop()
        workers[0].merge(last)
    return [worker.seal() for worker in workers]


class WatchedStore:
    """The native part of a store, which reports appends and the commits after the first one."""

    def __init__(self, native: Any, report: Callable[[str], None]) -> None:
        self.appended = False
        self._native, self._report = native, report

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._native, name)

        def call(*arguments: Any) -> Any:
            if name == "append" or self.appended:
                self._report(f"before {name}")
            result = found(*arguments)
            self.appended = self.appended or name == "append"
            if self.appended:
                self._report(f"after {name}")
            return result

        return call if name in ("append", "commit") else found
