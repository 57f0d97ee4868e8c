"""A day of 10^12 events, simulated with measured constants: workers, bytes, the store, the delay.

    python tools/scale_plan.py [--events N] [--tick SECONDS] [--tasks-per-core N]

Events arrive with a daily wave of twice the mean at its peak. Each tick, the events that have
arrived are divided among tasks, tasks run on cores as these become free, and the store opens what
they have sealed one after the other, takes the step, commits and makes the release. A tick whose
input is not counted when the next one begins waits for it. The constants are those of
docs/scale.md; the simulation says whether a plan on paper with means holds at the peak.
"""

from __future__ import annotations

import argparse
import heapq
import math
import sys
from dataclasses import dataclass
from random import Random

DAY = 86_400
INPUTS = {  # nanoseconds of a core per event, reading and counting
    "Parquet, int64": 13.0,
    "JSON lines": 320.0,
    "Kafka, lines, 1,000 per message": 87.0,
    "Kafka, one event per message": 4_700.0,
}


@dataclass(frozen=True)
class Shape:
    """A table, and what it costs.

    Args:
        name: depth x width.
        sealed: bytes of sealed counts.
        seal: seconds to make a worker and to seal it.
        open: seconds of the store per sealed counts.
        step: seconds of the store per tick: step, commit, release.
        slower: how much longer an event takes than in the smallest table, in nanoseconds.
    """

    name: str
    sealed: int
    seal: float
    open: float
    step: float
    slower: float


SHAPES = (
    Shape("4 x 4096", 65_721, 0.00015, 0.001, 0.0022, 0.0),
    Shape("4 x 2^20", 16_777_401, 0.011, 0.19, 0.49, 9.4),
)


@dataclass(frozen=True)
class Day:
    """What a day looked like.

    Args:
        busy: part of the time of all cores, at the peak hour.
        store: part of the time of the store.
        latest: seconds from the end of a tick to its release, the largest of the day.
        missed: ticks whose release came after the end of the next one.
    """

    busy: float
    store: float
    latest: float
    missed: int


def arrivals(events: float, second: float) -> float:
    """Return events per second: a wave with its peak of twice the mean at noon."""
    return events / DAY * (1.0 - math.cos(2 * math.pi * second / DAY))


def simulate(
    shape: Shape, per_event: float, *, events: float, tick: int, cores: int, tasks: int, seed: int
) -> Day:
    """Run one day.

    Args:
        shape: Of the table.
        per_event: Seconds of a core per event.
        events: Of the day.
        tick: Seconds.
        cores: That count.
        tasks: Of a tick.
        seed: Of how long each task takes: up to a half longer or shorter than the mean.
    """
    chance = Random(seed)
    free = [0.0] * cores
    store_free = store_used = latest = 0.0
    busy_at_peak = 0.0
    missed = 0
    for begin in range(0, DAY, tick):
        end = float(begin + tick)
        count = arrivals(events, begin + tick / 2) * tick
        done: list[float] = []
        for _ in range(tasks):
            start = max(heapq.heappop(free), end)
            took = count / tasks * per_event * (0.5 + chance.random()) + shape.seal
            heapq.heappush(free, start + took)
            done.append(start + took)
            if abs(begin - DAY / 2) < 1800:
                busy_at_peak += took / (3600.0 * cores)
        for ready in sorted(done):
            store_free = max(store_free, ready) + shape.open
        store_free += shape.step
        store_used += tasks * shape.open + shape.step
        latest = max(latest, store_free - end)
        missed += store_free - end > tick
    return Day(busy_at_peak, store_used / DAY, latest, missed)


def cores_for(shape: Shape, per_event: float, *, events: float, tick: int, tasks: int) -> int:
    """Return the plan on paper: twice the mean, at 70 percent of each core."""
    at_peak = 2 * events / DAY * per_event + tasks * shape.seal / tick
    return max(1, math.ceil(at_peak / 0.7))


def main() -> int:
    """Print the plan for each input and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=float, default=1e12)
    parser.add_argument("--tick", type=int, default=60)
    parser.add_argument("--tasks-per-core", type=int, default=4)
    options = parser.parse_args()
    columns = "cores | to the store, MB/s | cores at noon | store | latest, s | late"
    print(f"| input | table | {columns} |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    failed = 0
    for shape in SHAPES:
        for name, nanoseconds in INPUTS.items():
            per_event = (nanoseconds + shape.slower) * 1e-9
            cores, tasks = 1, 0
            while tasks != cores * options.tasks_per_core:  # each task has its seal to pay for
                tasks = cores * options.tasks_per_core
                cores = cores_for(
                    shape, per_event, events=options.events, tick=options.tick, tasks=tasks
                )
            day = simulate(
                shape,
                per_event,
                events=options.events,
                tick=options.tick,
                cores=cores,
                tasks=tasks,
                seed=7,
            )
            rate = tasks * shape.sealed / options.tick / 1e6
            print(
                f"| {name} | {shape.name} | {cores:,} | {rate:.2f} | {day.busy:.0%} | "
                f"{day.store:.1%} | {day.latest:.1f} | {day.missed} |"
            )
            failed += day.missed
    print("\nlate: ticks that were published after the end of the next one")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
