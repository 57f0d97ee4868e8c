"""Partial counts of workers, next to the exact sketch; sealing and adding them; with names too."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import lazysketch

from .measuring import Contender, Results, Row, integers, medians, texts

EVENTS = 1_000_000
DEPTH, WIDTHS = 4, (4096, 1 << 20)


def partial_counts(*, rounds: int) -> Results:
    """Measure what a worker and a store do, with small and large tables."""
    results: Results = []
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        store = lazysketch.open_store(
            folder / "store", key=lazysketch.Key.generate(), anchor=folder / "anchor"
        )
        closing.enter_context(store)
        for width in WIDTHS:
            spec = lazysketch.TableSpec(
                kind="count-min",
                depth=DEPTH,
                width=width,
                schedule=lazysketch.Batch(horizon=100_000),
                epsilon=1.0,
                delta=1e-8,
            )
            live = store.sketch(f"width {width}", spec)
            results += counting(live, rounds=rounds)
            results += handing_over(store, live, rounds=min(rounds, 5))
        results += names(store, rounds=min(rounds, 5))
    return results


def names(store: lazysketch.Store, *, rounds: int) -> Results:
    """Count names of a million events, few and many of them distinct, seal and add them."""
    import pyarrow as pa

    spec = lazysketch.HeavyHittersSpec.of(
        share=0.001, schedule=lazysketch.Batch(horizon=100_000), discovery_epoch=1, depth=DEPTH,
        width=WIDTHS[0], epsilon=1.0, delta=1e-8,
    )  # fmt: skip
    live = store.heavy_hitters("names", spec)
    local = lazysketch.HeavyHitters.from_spec(spec)
    results: Results = []
    sequence = itertools.count(1)
    for items, numbers in (
        ("12-byte text, Zipf", integers(EVENTS, skew=1.1)),
        ("12-byte text, distinct", np.arange(EVENTS)),
    ):
        batch = pa.array(texts(numbers))
        waiting: list[bytes] = []

        def counted(batch: Any = batch) -> lazysketch.PartialCounts:
            worker = lazysketch.PartialCounts(live.partial_spec(most_names=EVENTS))
            worker.update_many(batch)
            return worker

        def seal(worker: lazysketch.PartialCounts, waiting: list[bytes] = waiting) -> None:
            waiting[:] = [worker.seal()]

        def add(waiting: list[bytes] = waiting) -> None:
            store.add_partials("names", next(sequence), waiting, into=live)

        contenders = [
            Contender(name=name, events=EVENTS, run=run, facts={"items": items})
            for name, run in (
                ("PartialCounts of names, new", lambda counted=counted: counted()),
                ("the same, and seal", lambda counted=counted, seal=seal: seal(counted())),
                (
                    "the same, seal and add_partials",
                    lambda counted=counted, seal=seal, add=add: (seal(counted()), add()),
                ),
                ("HeavyHitters.update_batch", lambda batch=batch: local.update_batch(batch)),
            )
        ]
        rows = medians("partial counts", contenders, rounds=rounds)
        for row in rows:
            row["bytes"] = len(waiting[0])
        results += rows
    return results


def counting(live: Any, *, rounds: int) -> Results:
    """Count a million events in one call: a worker, and the exact sketch."""
    import pyarrow as pa

    results: Results = []
    numbers = integers(EVENTS, skew=1.1)
    exact = lazysketch.CountMin(depth=DEPTH, width=live.width)
    for items, batch in (("int64", numbers), ("12-byte text", pa.array(texts(numbers)))):
        worker = lazysketch.PartialCounts(live.partial_spec(most_events=1 << 30))
        facts: Row = {"items": items, "depth": DEPTH, "width": live.width}
        contenders = [
            Contender(name=name, events=EVENTS, run=run, facts=facts)
            for name, run in (
                ("PartialCounts", lambda w=worker, b=batch: w.update_many(b)),
                ("CountMin, exact", lambda b=batch: exact.update_many(b)),
            )
        ]
        results += medians("partial counts", contenders, rounds=rounds)
    return results


def handing_over(store: lazysketch.Store, live: Any, *, rounds: int) -> Results:
    """Seal the counts of a worker, and add them as a step; nanoseconds of one call."""
    sequence = itertools.count(1)
    source = f"width {live.width}"
    waiting: list[bytes] = []

    def make() -> None:
        lazysketch.PartialCounts(live.partial_spec())

    def seal() -> None:
        waiting[:] = [lazysketch.PartialCounts(live.partial_spec()).seal()]

    def add() -> None:
        store.add_partials(source, next(sequence), waiting, into=live)

    def tick() -> None:
        live.tick()
        live.release().to_bytes()

    calls: dict[str, Callable[[], None]] = {
        "make a worker": make,
        "make a worker and seal": seal,
        "add_partials": add,
        "tick and release": tick,
    }
    facts: Row = {"depth": DEPTH, "width": live.width}
    contenders = [
        Contender(name=name, events=1, run=run, facts=facts) for name, run in calls.items()
    ]
    return medians("partial counts", contenders, rounds=rounds)
