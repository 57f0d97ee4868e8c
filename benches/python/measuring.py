"""Streams to measure on, and interleaved measurement.

Every round runs every contender once, so that a busy period of the machine affects all of them.
Results are medians, and ratios within one run, because only ratios carry over to other machines.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

ITEMS = 1 << 20

Numbers: TypeAlias = npt.NDArray[np.int64]


class Row(TypedDict, total=False):
    """One result: what was measured, its setting, and its figures."""

    group: str
    name: str
    items: str
    skew: float
    depth: int
    width: int
    step: int
    threads: int
    batch: int
    senders: int
    ns: float
    least_ns: float
    cpu_ns: float
    call_ns: float
    baseline: str
    over: float
    bytes: float
    each_bytes: list[int]
    seconds: float
    are: float
    rank_error: float
    instructions: float


Results: TypeAlias = list[Row]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A run over ``events`` events, and the setting that its result states."""

    name: str
    events: int
    run: Callable[[], object]
    facts: Row = field(default_factory=Row)


def integers(length: int, *, skew: float, seed: int = 7) -> Numbers:
    """Return Zipf-distributed items out of 2^20, spread over 64 bits."""
    weights = np.arange(1, ITEMS + 1, dtype=np.float64) ** -skew
    cumulative = np.cumsum(weights)
    uniform = np.random.default_rng(seed).random(length) * cumulative[-1]
    ranks = np.searchsorted(cumulative, uniform).astype(np.uint64)
    spread: Numbers = (ranks * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    return spread


def texts(items: Numbers) -> list[str]:
    """Return the same items as strings of 12 characters."""
    return [f"{item % 10**12:012d}" for item in items.view(np.uint64).tolist()]


def medians(group: str, contenders: list[Contender], *, rounds: int) -> Results:
    """Return median nanoseconds per event over the rounds, after one warm-up round.

    ``ns`` is wall-clock time, ``cpu_ns`` processor time, which other work on the machine disturbs
    less.
    """
    clock: list[list[float]] = [[] for _ in contenders]
    processor: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds + 1):
        for contender, times, cpu in zip(contenders, clock, processor, strict=True):
            gc.disable()
            begin, begin_cpu = time.perf_counter_ns(), time.process_time_ns()
            contender.run()
            elapsed, elapsed_cpu = (
                time.perf_counter_ns() - begin,
                time.process_time_ns() - begin_cpu,
            )
            gc.enable()
            if number > 0:
                times.append(elapsed / contender.events)
                cpu.append(elapsed_cpu / contender.events)
    return [
        {
            "group": group,
            "name": contender.name,
            **contender.facts,
            "ns": statistics.median(times),
            "cpu_ns": statistics.median(cpu),
        }
        for contender, times, cpu in zip(contenders, clock, processor, strict=True)
    ]


def figure(row: Mapping[str, object], key: str) -> float:
    """Return one figure of a result."""
    found = row[key]
    if not isinstance(found, int | float):
        raise TypeError(f"{key}: expected a number, got {type(found).__name__}")
    return float(found)
