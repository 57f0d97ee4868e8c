"""Batches of 10,000 events counted through a store, next to the same objects without one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import lazysketch
from lazysketch.specification.table_spec import TableSpec

from .measuring import Contender, Results, integers, medians, texts

BATCH, BATCHES = 10_000, 50
WITHOUT, WITH = "without a store", "in a store"
TABLE = TableSpec(
    kind="count-min",
    depth=4,
    width=16_384,
    schedule=lazysketch.Geometric(),
    epsilon=1.0,
    delta=1e-8,
)
HITTERS = lazysketch.HeavyHittersSpec.of(
    share=0.01, epsilon=1.0, delta=1e-6, schedule=lazysketch.Geometric()
)


def stores(*, rounds: int) -> Results:
    """Measure what a store adds: conversion, encryption, the digest, writing to the disk.

    The log is written and synced after every 8 MiB; a run is not followed by a commit.
    """
    results: Results = []
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        store = lazysketch.open_store(
            folder / "store",
            key=lazysketch.Key.generate(),
            anchor=folder / "anchor",
            checkpoint_bytes=1 << 40,
        )
        closing.enter_context(store)
        objects: dict[str, tuple[Any, Any]] = {
            "LazyCountMin": (
                lazysketch.LazyCountMin.from_spec(TABLE),
                store.sketch("table", TABLE),
            ),
            "HeavyHitters": (
                lazysketch.HeavyHitters.from_spec(HITTERS),
                store.heavy_hitters("hitters", HITTERS),
            ),
        }
        for kind, batches in streams().items():
            for name, (plain, stored) in objects.items():
                contenders = [
                    contender(f"{name} {place}", kind, live.update_many, batches)
                    for place, live in ((WITHOUT, plain), (WITH, stored))
                ]
                results += medians("stores", contenders, rounds=rounds)
    return results


def streams() -> dict[str, list[object]]:
    """Return batches of integers, of a column of texts and of a list of them."""
    import pyarrow as pa

    items = integers(BATCH * BATCHES, skew=1.3)
    parts = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
    lists = [texts(part) for part in parts]
    return {
        "int64": list(parts),
        "12-byte text": [pa.array(part) for part in lists],
        "12-byte text, lists": list(lists),
    }


def contender(
    name: str, items: str, count: Callable[[Any], object], batches: Sequence[object]
) -> Contender:
    """Return a run over all batches."""
    return Contender(
        name=name,
        events=BATCH * BATCHES,
        run=partial(each, count, batches),
        facts={"items": items},
    )


def each(count: Callable[[Any], object], batches: Sequence[object]) -> None:
    """Count all batches."""
    for batch in batches:
        count(batch)
