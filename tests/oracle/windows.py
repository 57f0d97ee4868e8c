"""Windows under a seeded key, and clocks that tests set.

Noise is a function of key, id and push. Two runs under one seeded key and one fixed id have the
same noise, so the difference of their tables is exact and can be compared with an exact sketch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import lazysketch as ls
from lazysketch.testing import seeded_key
from lazysketch.windows.durations import instant_of

SECOND = 10**9
PROMISE: dict[str, object] = {"epsilon": 1.0, "delta": 1e-6, "depth": 3, "width": 64}
DAY = {"begin": "2026-01-01", "end": "2026-01-02"}


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def made(**changes: object) -> ls.Windows:
    asked = {**PROMISE, "domain": range(50), "hash_seed": 3, "key": seeded_key(7), **changes}
    return ls.Windows(**{name: value for name, value in asked.items() if value is not ...})


def tables(windows: ls.Windows) -> list[NDArray[np.int64]]:
    return [window.release.table for window in windows.windows]


def exact(items: Sequence[int], weights: Sequence[int] | None = None) -> NDArray[np.int64]:
    sketch = ls.CountMin(depth=PROMISE["depth"], width=PROMISE["width"], hash_seed=3)
    sketch.update_many(np.array(items, dtype=np.int64), weights)
    return sketch.table


def at(seconds: float) -> int:
    """Nanoseconds of an instant of the range DAY."""
    return instant_of("begin", DAY["begin"]) + int(seconds * SECOND)


def wholes(windows: ls.Windows) -> list[bool]:
    """For every ended window, whether it was open during all of its time."""
    return [window.whole for window in windows.windows]
