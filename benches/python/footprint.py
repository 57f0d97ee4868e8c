"""Memory per cell, import time, and error of the heaviest items."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import lazysketch

from .measuring import ITEMS, Results

MEMORY = """
import json, numpy, lazysketch
from pathlib import Path
def resident():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) * 1024
events = numpy.random.default_rng(1).integers(0, 1 << 62, 1 << 22)
small = lazysketch.LazyCountMin(depth=4, width=8, epsilon=1.0, delta=1e-8)
small.update_many(events)
before = resident()
sketch = lazysketch.LazyCountMin(depth=4, width=1 << 20, epsilon=1.0, delta=1e-8)
for _ in range(4):
    sketch.update_many(events)
print(json.dumps((resident() - before) / (4 << 20)))
"""
IMPORT = """
import time, numpy
begin = time.perf_counter()
import lazysketch
print(time.perf_counter() - begin)
"""
IMPORT_WITH_NUMPY = IMPORT.replace("import time, numpy", "import time")


def output_of(script: str) -> float:
    """Run a script in a new process and return the number it prints."""
    return float(json.loads(subprocess.check_output([sys.executable, "-c", script], text=True)))


def memory_per_cell() -> Results:
    """Return bytes of resident memory per cell, of a table with 2^22 cells, all of them used."""
    if not Path("/proc/self/status").exists():
        return []
    return [{"group": "memory", "name": "LazyCountMin", "bytes": output_of(MEMORY)}]


def import_seconds(*, rounds: int) -> Results:
    """Return seconds to import the package, with and without NumPy; median over new processes."""
    return [
        {
            "group": "import",
            "name": name,
            "seconds": statistics.median(output_of(script) for _ in range(rounds)),
        }
        for name, script in (
            ("lazysketch and NumPy", IMPORT_WITH_NUMPY),
            ("lazysketch after NumPy", IMPORT),
        )
    ]


def error_of_the_top(*, seeds: int, top: int = 15, skew: float = 1.3) -> Results:
    """Return the mean relative error of the most frequent items in 24 KB of counters.

    T = 2^20, (0.3, 1e-3), round robin; and of the exact sketch of the same memory.
    """
    cumulative = np.cumsum(np.arange(1, ITEMS + 1, dtype=np.float64) ** -skew)
    errors: dict[str, list[float]] = {"LazyCountMin, width 1000": [], "CountMin, width 2000": []}
    for seed in range(seeds):
        uniform = np.random.default_rng(seed).random(ITEMS) * cumulative[-1]
        stream = np.searchsorted(cumulative, uniform).astype(np.int64)
        counts = np.bincount(stream, minlength=top)
        most = np.argsort(-counts)[:top]
        sketches: tuple[lazysketch.LazyCountMin | lazysketch.CountMin, ...] = (
            lazysketch.LazyCountMin(depth=3, width=1000, epsilon=0.3, delta=1e-3, horizon=ITEMS),
            lazysketch.CountMin(depth=3, width=2000),
        )
        for sketch, found in zip(sketches, errors.values(), strict=True):
            sketch.update_many(stream)
            estimates = sketch.estimate_many(most)
            found.append(float(np.mean(np.abs(estimates - counts[most]) / counts[most])))
    return [
        {"group": "error", "name": name, "are": statistics.fmean(found)}
        for name, found in errors.items()
    ]


def timed(name: str, run: Callable[[], Results]) -> Results:
    """Run one part, and print its duration on standard error."""
    begin = time.perf_counter()
    result = run()
    print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return result
