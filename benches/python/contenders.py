"""Comparison of the Python interface with other libraries, on one stream.

Libraries that are not installed are left out, and the record states it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

import lazysketch

from .measuring import Contender, Numbers, Results, Row, integers, medians, texts

EVENTS = 1_000_000
SINGLE = 100_000
READS = 10_000
RELEASES = 20
LONG = 200_000  # events with long names
NEW_TEXT, ZIPF_TEXT, NEW_INTEGERS = (
    "12-byte text, all distinct",
    "12-byte text",
    "int64, all distinct",
)
LONG_TEXTS = {length: f"{length}-byte text, all distinct" for length in (39, 195)}
WITH_NAMES, GROUPED = "HeavyHitters", "polars group_by, exact"
PUSHES = (1 << 10, 1 << 20)  # of every cell, where the cost of releases is compared
HORIZON = 1 << 40
DEPTH = 3
WIDTH = 1024


_Table = TypeVar("_Table")
_Item = TypeVar("_Item")
Runs = dict[str, Callable[[], object]]


def private(cls: Callable[..., _Table], *, width: int = WIDTH, **options: float) -> _Table:
    return cls(depth=DEPTH, width=width, epsilon=1.0, delta=1e-8, **options)


def round_robin(*, width: int = WIDTH) -> lazysketch.LazyCountMin:
    return private(lazysketch.LazyCountMin, width=width, horizon=HORIZON)


def one_by_one(method: Callable[[_Item], object], items: Sequence[_Item]) -> Callable[[], None]:
    def run() -> None:
        for item in items:
            method(item)

    return run


def counted_by_numpy(fingerprints: npt.NDArray[np.uint64], width: int) -> None:
    """Count with a multiply-shift Count-Min in NumPy: a hash and a bincount per row."""
    for row in range(DEPTH):
        hashed = fingerprints * np.uint64(0x9E3779B97F4A7C15 + 2 * row)
        np.bincount((hashed >> np.uint64(40)) % np.uint64(width), minlength=width)


def of_integers(items: Numbers, width: int) -> Runs:
    exact = lazysketch.CountMin(depth=DEPTH, width=width)
    unsigned = items.view(np.uint64)
    return {
        "CountMin": partial(exact.update_many, items),
        "LazyCountMin, round robin": partial(round_robin(width=width).update_many, items),
        "LazyCountMin, geometric": partial(
            private(lazysketch.LazyCountMin, width=width).update_many, items
        ),
        "LazyCountSketch, geometric": partial(
            private(lazysketch.LazyCountSketch, width=width).update_many, items
        ),
        "LazyCountMin, 2 threads": partial(round_robin(width=width).update_many, items, threads=2),
        "NumPy hash + bincount": lambda: counted_by_numpy(unsigned, width),
    }


def of_texts(strings: list[str], width: int) -> Runs:
    import pyarrow as pa

    column = pa.array(strings)
    geometric = private(lazysketch.LazyCountMin, width=width)
    runs: Runs = {
        "CountMin": partial(lazysketch.CountMin(depth=DEPTH, width=width).update_many, column),
        "LazyCountMin, round robin": partial(round_robin(width=width).update_many, column),
        "LazyCountMin, geometric": partial(geometric.update_many, column),
        "LazyCountMin, 2 threads": partial(round_robin(width=width).update_many, column, threads=2),
    }
    try:
        import polars
    except ImportError:
        return runs
    series = polars.Series(strings)
    runs["polars hash + NumPy bincount"] = lambda: counted_by_numpy(series.hash().to_numpy(), width)
    runs["LazyCountMin, from polars"] = partial(round_robin(width=width).update_many, series)
    return runs


def batch_ingest(*, quick: bool, rounds: int) -> Results:
    results: Results = []
    for skew in (1.3,) if quick else (1.3, 0.8):
        items = integers(EVENTS, skew=skew)
        strings = texts(items)
        for width in (1 << 10,) if quick else (1 << 10, 1 << 16):
            for kind, runs in (
                ("int64", of_integers(items, width)),
                ("12-byte text", of_texts(strings, width)),
            ):
                facts: Row = {"items": kind, "skew": skew, "depth": DEPTH, "width": width}
                contenders = [
                    Contender(name=name, events=EVENTS, run=run, facts=facts)
                    for name, run in runs.items()
                ]
                results += medians("batches from Python", contenders, rounds=rounds)
    return results


def discovery(*, rounds: int) -> Results:
    """Measure a sketch with discovery of heavy items, the same without, and exact counts."""
    import pyarrow as pa

    items, distinct = integers(EVENTS, skew=1.3), np.arange(EVENTS)
    streams = {
        "int64": pa.array(items),
        NEW_INTEGERS: pa.array(distinct),
        ZIPF_TEXT: pa.array(texts(items)),
        NEW_TEXT: pa.array(texts(distinct)),
        "28-byte text": pa.array([f"/a/longer/path/{text}" for text in texts(items)]),
    }
    for length, name in LONG_TEXTS.items():
        streams[name] = pa.array([text.rjust(length, "/") for text in texts(distinct[:LONG])])
    results: Results = []
    for kind, stream in streams.items():
        sketches: dict[str, lazysketch.LazyCountMin | lazysketch.HeavyHitters] = {
            "LazyCountMin": private(lazysketch.LazyCountMin, width=4096),
            WITH_NAMES: private(lazysketch.HeavyHitters, width=4096, share=0.01),
            "HeavyHitters, windows of 10^5": private(
                lazysketch.HeavyHitters, width=4096, share=0.01, discovery_epoch=100_000
            ),
        }
        runs: Runs = {
            name: partial(sketch.update_many, stream) for name, sketch in sketches.items()
        }
        contenders = [
            Contender(name=name, events=len(stream), run=run, facts={"items": kind})
            for name, run in (runs | grouped_by_polars(stream)).items()
        ]
        results += medians("discovery", contenders, rounds=rounds)
    return results


def grouped_by_polars(stream: object) -> Runs:
    """Return the run that counts every item exactly, if polars is installed."""
    try:
        import polars as pl
    except ImportError:
        return {}
    frame = pl.DataFrame({"item": stream})
    return {GROUPED: lambda: frame.group_by("item").len()}


def single_calls(*, rounds: int) -> Results:
    """Measure one update or estimate per call, also of datasketches, which is not private."""
    items = integers(SINGLE, skew=1.3)
    streams = {"int": items.tolist(), "str": texts(items)}
    results = []
    for kind, stream in streams.items():
        lazy, geometric = round_robin(), private(lazysketch.LazyCountMin)
        exact = lazysketch.CountMin(depth=DEPTH, width=WIDTH)
        runs = {
            "update, LazyCountMin, round robin": one_by_one(lazy.update, stream),
            "update, LazyCountMin, geometric": one_by_one(geometric.update, stream),
            "update, CountMin": one_by_one(exact.update, stream),
        }
        reads = {
            "estimate, LazyCountMin, geometric": one_by_one(geometric.estimate, stream[:READS]),
            "estimate, CountMin": one_by_one(exact.estimate, stream[:READS]),
        }
        try:
            import datasketches
        except ImportError:
            pass
        else:
            peer = datasketches.count_min_sketch(DEPTH, WIDTH)
            runs["update, datasketches"] = one_by_one(peer.update, stream)
            reads["estimate, datasketches"] = one_by_one(peer.get_estimate, stream[:READS])
        contenders = [
            Contender(name=name, events=events, run=run, facts={"items": kind})
            for group, events in ((runs, SINGLE), (reads, READS))
            for name, run in group.items()
        ]
        results += medians("single calls", contenders, rounds=rounds)
    return results


def reads_of_tables(*, rounds: int) -> Results:
    """Measure releases of 3 x 1000 cells, many estimates, and OpenDP's noise for one vector."""
    sketch = private(lazysketch.LazyCountMin, width=1000)
    sketch.update_many(integers(EVENTS, skew=1.3))
    asked = integers(SINGLE, skew=0.8)
    whole = partial(first_releases_of, unreleased(geometric_after, EVENTS, rounds=rounds))
    runs: dict[str, tuple[int, Callable[[], object]]] = {
        "release of 3 x 1000 cells, per cell": (RELEASES * 3000, whole),
        "estimate_many, per item": (SINGLE, lambda: sketch.estimate_many(asked)),
    }
    for pushes in PUSHES:
        name = f"release after {pushes} pushes of every cell, per cell"
        pushed = unreleased(punctual_before, pushes, rounds=rounds)
        runs[name] = (RELEASES * 3000, partial(first_releases_of, pushed))
    noise = noise_of_opendp(6000)
    if noise is not None:
        runs["OpenDP noise for a vector of 6000, per entry"] = (6000, noise)
    contenders = [
        Contender(name=name, events=events, run=run) for name, (events, run) in runs.items()
    ]
    return medians("reads", contenders, rounds=rounds)


Unreleased: TypeAlias = list[lazysketch.LazyCountMin] | list[lazysketch.PunctualCountMin]


def geometric_after(steps: int) -> lazysketch.LazyCountMin:
    sketch = private(lazysketch.LazyCountMin, width=1000)
    sketch.tick(steps)
    return sketch


def punctual_before(pushes: int) -> lazysketch.PunctualCountMin:
    """Return a table of 3 x 1000 before the last push of its horizon."""
    sketch = private(lazysketch.PunctualCountMin, width=1000, horizon=pushes)
    sketch.tick(pushes - 1)
    return sketch


def unreleased(make: Callable[[int], _Table], steps: int, *, rounds: int) -> list[_Table]:
    """Return a table for each release of all rounds: a second one draws only what was pushed."""
    return [make(steps) for _ in range(RELEASES * (rounds + 1))]


def first_releases_of(tables: Unreleased) -> None:
    for _ in range(RELEASES):
        tables.pop().release()


def noise_of_opendp(length: int) -> Callable[[], object] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=60.0)
    vector = [0] * length
    return lambda: gaussian(vector)
