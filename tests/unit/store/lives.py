"""Stores of tests, with an object of every kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import lazysketch as ls
from lazysketch.store import Store, open_store
from lazysketch.sums.sums_spec import SumsSpec, sums_spec

KEY = ls.Key.generate()
NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
CANARY = "canary-7f3a"


def table(kind: Any = "count-min", schedule: Any = None, **options: Any) -> ls.TableSpec:
    depth = options.pop("depth", 1 if kind == "counters" else 2)
    seed = 0 if kind == "counters" else None
    return ls.TableSpec(
        kind=kind,
        depth=depth,
        width=8,
        schedule=schedule or ls.Geometric(),
        hash_seed=seed,
        **(NOISE | options),
    )


def distinct(schedule: Any) -> ls.TableSpec:
    return table("distinct", schedule, depth=1, bits=64, max_weight=16)


def values(schedule: Any) -> ls.TableSpec:
    bins = ls.Bins.linear(0, 9, number=9)
    return ls.Distribution(bins=bins, schedule=schedule, **NOISE).spec


def ranges(schedule: Any, max_weight: int = 1) -> ls.TableSpec:
    return table("ranges", schedule, depth=6, max_weight=max_weight)


def sums(schedule: Any, **options: Any) -> SumsSpec:
    bounds = {"low": -2.0, "high": 12.0, "depth": 2, "width": 8}
    return sums_spec(**(bounds | NOISE | options), schedule=schedule)


def hitters(schedule: Any = None, **options: Any) -> ls.HeavyHittersSpec:
    return ls.HeavyHittersSpec.of(
        schedule=schedule or ls.Geometric(),
        share=0.2,
        width=16,
        depth=2,
        discovery_epoch=options.pop("discovery_epoch", 60),
        epsilon=20.0,
        delta=1e-2,
        **options,
    )


@dataclass(frozen=True)
class Kind:
    """How an object of a store is opened, and what can happen to it."""

    open: Callable[[Store], Any]
    item: Callable[[Random], Any]
    batches: bool = False
    vectors: bool = False


def text(chance: Random) -> Any:
    number = chance.randrange(6)
    return chance.choice([f"item {number}", number, -number, f"{number}".encode(), "x" * 70])


def value(chance: Random) -> float:
    return chance.choice([chance.uniform(-2, 12), chance.randrange(10), float("inf")])


def events_of(live: Any, items: list[Any]) -> tuple[list[Any], ...]:
    """Return the columns of a batch of events: of sums each item has a value too."""
    if isinstance(live, ls.Ranges) and live.spec.max_weight > 1:
        return items, [key % 10 for key in items]
    if not isinstance(live, ls.Sums):
        return (items,)
    return items, [len(str(item)) - 2.5 for item in items]


def address(chance: Random) -> str:
    return f"10.0.{chance.randrange(3)}.{chance.randrange(4)}"


KINDS = {
    "count-min": Kind(lambda store: store.sketch("a", table()), text),
    "round robin": Kind(
        lambda store: store.sketch("a", table(schedule=ls.RoundRobin(horizon=9_000))), text
    ),
    "punctual": Kind(
        lambda store: store.sketch("a", table("count-sketch", ls.Punctual(horizon=9_000))), text
    ),
    "single": Kind(lambda store: store.sketch("a", table(schedule=ls.Single())), text),
    "batches": Kind(
        lambda store: store.sketch("a", table(schedule=ls.Batch(horizon=9_000))), text, batches=True
    ),
    "counters": Kind(
        lambda store: store.counters("a", table("counters", ls.RoundRobin(horizon=9_000))),
        lambda chance: chance.randrange(8),
        vectors=True,
    ),
    "distinct": Kind(lambda store: store.distinct("a", distinct(ls.Punctual(horizon=9_000))), text),
    "distinct of rounds": Kind(lambda store: store.distinct("a", distinct(ls.Geometric())), text),
    "distinct of batches": Kind(
        lambda store: store.distinct("a", distinct(ls.Batch(horizon=9_000))), text, batches=True
    ),
    "values": Kind(
        lambda store: store.distribution("a", values(ls.Punctual(horizon=9_000))), value
    ),
    "values of one push": Kind(
        lambda store: store.distribution("a", values(ls.Single(horizon=9_000))), value
    ),
    "values of batches": Kind(
        lambda store: store.distribution("a", values(ls.Batch(horizon=9_000))), value, batches=True
    ),
    "ranges": Kind(
        lambda store: store.ranges("a", ranges(ls.Punctual(horizon=9_000))),
        lambda chance: chance.randrange(64),
    ),
    "ranges of batches": Kind(
        lambda store: store.ranges("a", ranges(ls.Batch(horizon=9_000))),
        lambda chance: chance.randrange(64),
        batches=True,
    ),
    "ranges with weights": Kind(
        lambda store: store.ranges("a", ranges(ls.Batch(horizon=9_000), max_weight=9)),
        lambda chance: chance.randrange(64),
        batches=True,
    ),
    "sums": Kind(lambda store: store.sums("a", sums(ls.Punctual(horizon=9_000))), text),
    "sums of one push": Kind(lambda store: store.sums("a", sums(ls.Single(horizon=9_000))), text),
    "sums of batches": Kind(
        lambda store: store.sums("a", sums(ls.Batch(horizon=9_000))), text, batches=True
    ),
    "heavy hitters": Kind(lambda store: store.heavy_hitters("a", hitters()), text),
    "hitters of batches": Kind(
        lambda store: store.heavy_hitters("a", hitters(ls.Batch(horizon=9_000), discovery_epoch=5)),
        text,
        batches=True,
    ),
    "listed": Kind(
        lambda store: store.heavy_hitters(
            "a", ls.HeavyHittersSpec.of(schedule=ls.Geometric(), domain=["a", 1], width=8, **NOISE)
        ),
        text,
    ),
    "hierarchy": Kind(
        lambda store: store.hierarchy(
            "a",
            ls.ipv4_prefixes((8, 32)),
            share=0.2,
            width=16,
            depth=2,
            epsilon=20.0,
            delta=1e-2,
            discovery_epoch=60,
        ),
        address,
    ),
}


class Lives:
    """The lives of one store in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.anchor = folder / "store", folder / "outside" / "anchor"

    def open(self, **options: Any) -> Store:
        return open_store(self.folder, key=KEY, anchor=self.anchor, **options)

    def copied_to(self, folder: Path) -> Lives:
        other = Lives(folder)
        shutil.copytree(self.folder, other.folder)
        other.anchor.parent.mkdir()
        shutil.copy(self.anchor, other.anchor)
        return other


def check_restarts(
    lives: Lives,
    folder: Path,
    seed: str,
    *,
    opened: Callable[[Store], Any],
    change: Callable[[Any, Random], None],
    seen: Callable[[Any], Any],
    pass_time: Callable[[Random], None] = lambda _: None,
) -> Any:
    """Assert that an object is the same in a store that is killed and opened again and again.

    Two copies of a store get the same random changes, and one of them gets lives and checkpoints.
    ``pass_time`` moves the clock before each change. Returns what is seen of the object in the end.
    """
    chance = Random(seed)
    with lives.open() as store:
        opened(store)
    other_lives = lives.copied_to(folder)
    one, other = lives.open(), other_lives.open()
    live, again = opened(one), opened(other)
    for number in range(30):
        pass_time(chance)
        if number < 27:
            change(live, Random(f"{seed} {number}"))
            change(again, Random(f"{seed} {number}"))
        elif number == 27:
            live.finish()
            again.finish()
        if chance.random() < 0.4:
            if chance.random() < 0.5:
                other.checkpoint()
            if chance.random() < 0.5:
                other.close()
            else:  # as after kill -9: nothing is written after the commit
                other.commit()
                del other, again
            other = other_lives.open(checkpoint_bytes=chance.choice([1 << 10, 1 << 30]))
            again = opened(other)
        found = seen(live)
        assert found == seen(again), number
    one.close()
    other.close()
    return found
