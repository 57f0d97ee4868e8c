"""Measures that need a process of their own, or a question of their own: memory, import, error."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import lazysketch

from .streams import ITEMS

CELLS = 4 << 20
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
WHOLE_IMPORT = IMPORT.replace("import time, numpy", "import time")


def output_of(script: str) -> float:
    return float(json.loads(subprocess.check_output([sys.executable, "-c", script], text=True)))


def memory_per_cell() -> list[dict[str, Any]]:
    """Bytes of resident memory per cell of a table of 2^22 cells, all of them touched."""
    if not Path("/proc/self/status").exists():
        return []
    return [{"group": "memory", "name": "LazyCountMin", "bytes": output_of(MEMORY)}]


def import_seconds(*, rounds: int) -> list[dict[str, Any]]:
    """Seconds to import the package, NumPy included and not; the median of fresh processes."""
    return [
        {
            "group": "import",
            "name": name,
            "seconds": statistics.median(output_of(script) for _ in range(rounds)),
        }
        for name, script in (
            ("lazysketch and NumPy", WHOLE_IMPORT),
            ("lazysketch after NumPy", IMPORT),
        )
    ]


def error_of_the_top(*, seeds: int, top: int = 15, skew: float = 1.3) -> list[dict[str, Any]]:
    """Mean relative error of the most frequent items in 24 KB of counters.

    T = 2^20, (0.3, 1e-3), round robin; beside it the exact sketch of that memory.
    """
    cumulative = np.cumsum(np.arange(1, ITEMS + 1, dtype=np.float64) ** -skew)
    errors: dict[str, list[float]] = {"LazyCountMin, width 1000": [], "CountMin, width 2000": []}
    for seed in range(seeds):
        uniform = np.random.default_rng(seed).random(ITEMS) * cumulative[-1]
        stream = np.searchsorted(cumulative, uniform).astype(np.int64)
        counts = np.bincount(stream, minlength=top)
        most = np.argsort(-counts)[:top]
        sketches: tuple[Any, ...] = (
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


def timed(name: str, run: Any) -> Any:
    """The result of a part of the run; says on standard error how long it took."""
    begin = time.perf_counter()
    result = run()
    print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return result
