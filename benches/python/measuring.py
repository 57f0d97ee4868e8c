"""Interleaved measurement.

Every round runs every contender once, so that a noisy spell of the machine hits all of them;
medians, and ratios within one run, because only ratios travel.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A run over ``events`` events, and what its result carries along."""

    name: str
    events: int
    run: Callable[[], object]
    facts: dict[str, Any]


def medians(group: str, contenders: list[Contender], *, rounds: int) -> list[dict[str, Any]]:
    """Median nanoseconds per event over the rounds, after one to warm up.

    On the clock, and of the processor, which other work on the machine disturbs less.
    """
    samples: list[list[float]] = [[] for _ in contenders]
    processor: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds + 1):
        for contender, times, cpu in zip(contenders, samples, processor, strict=True):
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
        for contender, times, cpu in zip(contenders, samples, processor, strict=True)
    ]
