"""The public operations of every live class."""

from __future__ import annotations

from typing import Any, Final

from tests.faults.campaign import Operation
from tests.faults.operations_on_tables import bounded, counters, hitters, levels, sketch
from tests.faults.operations_on_windows import (
    queries_of_windows,
    windows_by_clock,
    windows_by_time,
    windows_of_steps,
)

import lazysketch as ls

__all__ = ["OPERATIONS"]

_SIZE: Final = {"depth": 2, "width": 16}
_DISCOVERED: Final[dict[str, Any]] = {"share": 0.2}
_LISTED: Final[dict[str, Any]] = {"domain": ["a", "b", 1]}
OPERATIONS: Final[tuple[Operation, ...]] = (
    *sketch(ls.LazyCountMin, **_SIZE),
    *sketch(ls.LazyCountSketch, **_SIZE, horizon=5000),
    *sketch(ls.PunctualCountMin, **_SIZE, horizon=5000),
    *sketch(ls.PunctualCountSketch, **_SIZE, horizon=5000),
    *sketch(ls.CountMin, exact=True),
    *sketch(ls.CountSketch, exact=True),
    *counters(),
    *hitters("HeavyHitters", **_DISCOVERED, discovery_epoch=100),
    *hitters("HeavyHitters (public list)", **_LISTED),
    *bounded(ls.LazyCountMin),
    *bounded(ls.HeavyHitters, share=0.2, discovery_epoch=100),
    *levels(),
    *windows_of_steps("Windows of steps", **_DISCOVERED),
    *windows_of_steps("Windows of steps (public list)", **_LISTED),
    *windows_by_clock("Windows by the clock", **_DISCOVERED),
    *windows_by_clock("Windows by the clock (public list)", **_LISTED),
    *windows_by_time("Windows by time", **_DISCOVERED),
    *windows_by_time("Windows by time (public list)", **_LISTED),
    *queries_of_windows(),
)
