"""Releases after they were made: single reads, merging one by one, files, memory of an interval."""

from __future__ import annotations

import zlib
from collections import Counter
from functools import partial, reduce
from pathlib import Path

import lazysketch as ls

from .footprint import output_of
from .measuring import Contender, Results, integers, medians

EVENTS, READ, CELLS, MANY = 300_000, 200, 4 << 20, 100_000
MERGED = (100, 400)
EXACT, ESTIMATE, INTERVAL = "a dictionary of exact counts", "estimate, minimum", "interval"
LIVE_MANY, MANY_OF_RELEASE = "estimate_many, live", "estimate_many of a release"
WRITTEN, READ_BACK, READ_BY_ZLIB = "to_bytes", "from_bytes", "cells, decompressed by zlib"
ONE_BY_ONE, AT_ONCE = "merged one by one", "merged at once"
FILE, BY_ZLIB, INTERVALS = "file", "cells, compressed by zlib", "memory of an interval"
MEMORY = f"""
import json, resource, lazysketch
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def private(width):
    return lazysketch.LazyCountMin(depth=4, width=width, epsilon=1.0, delta=1e-8)
small = private(64)
small.update_many(range(1000))
small.release().interval(1)
sketch = private({CELLS} // 4)
sketch.update_many(range(100_000))
sketch.tick({CELLS})
release = sketch.release()
release.table
before = most()
release.interval(1)
print(json.dumps((most() - before) / {CELLS}))
"""


def kept_releases(*, rounds: int, cells: int = CELLS) -> Results:
    """Measure what users do with releases that they keep."""
    return [
        *reads(rounds=rounds),
        *merges(rounds=rounds),
        *files(cells, rounds=rounds),
        *memory(),
    ]


def reads(*, rounds: int) -> Results:
    """Measure single reads of a release, and of exact counts in a dictionary."""
    items = integers(EVENTS, skew=1.1).tolist()
    sketch = private(4096)
    sketch.update_many(items)
    release, exact, asked = sketch.release(), Counter(items), items[:READ]
    many = integers(MANY, skew=0.5)
    release.interval(asked[0])  # what the first one computes is kept
    contenders = [
        Contender(name=EXACT, events=READ, run=lambda: [exact[item] for item in asked]),
        Contender(
            name=ESTIMATE,
            events=READ,
            run=lambda: [release.estimate(item, estimator="minimum") for item in asked],
        ),
        Contender(
            name=INTERVAL, events=READ, run=lambda: [release.interval(item) for item in asked]
        ),
        Contender(name=LIVE_MANY, events=MANY, run=partial(sketch.estimate_many, many)),
        Contender(name=MANY_OF_RELEASE, events=MANY, run=partial(release.estimate_many, many)),
    ]
    return medians("kept releases", contenders, rounds=rounds)


def merges(*, rounds: int) -> Results:
    """Measure sums of releases, by the release: one after the other, and in one call."""
    contenders = []
    for number in MERGED:
        releases = [private(256, hash_seed=1).release() for _ in range(number)]
        for name, run in (
            (ONE_BY_ONE, partial(reduce, ls.Release.merge, releases)),
            (AT_ONCE, partial(ls.Release.merge, *releases)),
        ):
            contenders.append(Contender(name=name, events=number, run=run, facts={"batch": number}))
    return medians("kept releases", contenders, rounds=rounds)


def files(cells: int, *, rounds: int) -> Results:
    """Measure the file of a table that a few events reached: bytes per cell, and the time."""
    sketch = private(cells // 4)
    sketch.update_many(integers(100_000, skew=1.1))
    sketch.tick(cells)  # every column is published, hence has noise
    release = sketch.release()
    saved, by_zlib = release.to_bytes(), zlib.compress(release.table.tobytes(), 1)
    sizes: Results = [
        {"group": "kept releases", "name": name, "bytes": size / cells}
        for name, size in ((FILE, len(saved)), (BY_ZLIB, len(by_zlib)))
    ]
    contenders = [
        Contender(name=name, events=1, run=run)
        for name, run in (
            (WRITTEN, release.to_bytes),
            (READ_BACK, partial(ls.Release.from_bytes, saved)),
            (READ_BY_ZLIB, partial(zlib.decompress, by_zlib)),
        )
    ]
    return sizes + medians("kept releases", contenders, rounds=rounds)


def memory() -> Results:
    """Return the bytes per cell that the first interval of a release needs beside it."""
    if not Path("/proc/self/status").exists():
        return []
    return [{"group": "kept releases", "name": INTERVALS, "bytes": output_of(MEMORY)}]


def private(width: int, *, hash_seed: int | None = None) -> ls.LazyCountMin:
    return ls.LazyCountMin(depth=4, width=width, epsilon=1.0, delta=1e-8, hash_seed=hash_seed)
