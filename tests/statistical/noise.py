"""Residuals of real sketches: the release minus the true published counts.

Steps without events leave every published count at 0, so that the release itself is the
residual; that is what this module collects. Tables are wide, because every cell is one
independent sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.oracle.schedules import Geometric, Punctual, RoundRobin, Schedule
from tests.statistical import claimed

import lazysketch

Integers = NDArray[np.int64]

KINDS = ("count-min", "count-sketch", "counters")
MECHANISMS = ("binary", "haar")
SCHEDULES = ("round robin", "geometric", "punctual")


@dataclass(frozen=True)
class Case:
    """One configuration, with the law that is claimed for it."""

    kind: str
    mechanism: str
    schedule: str
    depth: int = 4
    width: int = 2048
    leaves: int = 64
    epsilon: float = 1.0
    delta: float = 1e-6
    relation: str = "substitution"

    def __str__(self) -> str:
        return f"{self.kind}, {self.mechanism}, {self.schedule}"

    @property
    def horizon(self) -> int | None:
        per_leaf = {"round robin": self.width, "punctual": 1}
        return per_leaf[self.schedule] * self.leaves if self.schedule in per_leaf else None

    @property
    def described(self) -> Schedule:
        """The oracle's schedule."""
        if self.schedule == "geometric":
            return Geometric(width=self.width)
        made: Any = RoundRobin if self.schedule == "round robin" else Punctual
        return made(width=self.width, horizon=self.horizon)

    @property
    def law_leaves(self) -> int:
        """What the mechanism is made for: 4096 under the geometric schedule."""
        return self.described.leaves

    @property
    def sigma(self) -> float:
        """The claim, not what the sketch says of itself."""
        return claimed.sigma(
            kind=self.kind,
            depth=self.depth,
            mechanism=self.mechanism,
            leaves=self.law_leaves,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
        )

    def make(self, *, key: Any = None, hash_seed: int | None = None) -> Any:
        """A sketch; without a key, under a fresh one from the operating system."""
        common: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "horizon": self.horizon,
            "mechanism": self.mechanism,
            "relation": self.relation,
            "key": key,
        }
        if self.kind == "counters":
            return lazysketch.ContinualCounters(
                counters=self.width, schedule=self.schedule, **common
            )
        prefix = "Punctual" if self.schedule == "punctual" else "Lazy"
        suffix = "CountMin" if self.kind == "count-min" else "CountSketch"
        return getattr(lazysketch, prefix + suffix)(
            depth=self.depth, width=self.width, hash_seed=hash_seed, **common
        )

    def step_of(self, push: int) -> int:
        """The step at which every column has been pushed exactly `push` times."""
        if self.schedule == "punctual":
            return push
        end = 0
        for _ in range(push):
            grown = -(-end // 100) if self.schedule == "geometric" else 0
            end += max(self.width, grown)
        return end

    def deviation(self, push: int) -> float:
        return claimed.deviation(self.mechanism, self.law_leaves, push, self.sigma)

    def standardised(self, residuals: Any, push: int) -> NDArray[np.float64]:
        """Residuals in claimed deviations from their claimed mean."""
        shift = claimed.rounding(self.mechanism, self.law_leaves, push)[0]
        result: NDArray[np.float64] = (residuals - shift) / self.deviation(push)
        return result


def residuals(sketch: Any, case: Case, pushes: list[int]) -> dict[int, Integers]:
    """The noise of all cells at each of some push numbers, in ascending order."""
    found: dict[int, Integers] = {}
    taken = 0
    for push in pushes:
        step = case.step_of(push)
        sketch.tick(step - taken)
        taken = step
        release = sketch.release()
        assert (release.pushes == push).all()
        found[push] = np.array(release.table).reshape(-1)
    return found


def every_case(*, cells: int = 8192, depth: int = 4, **changes: Any) -> list[Case]:
    """All kinds, mechanisms and schedules, with equally many cells."""
    return [
        Case(
            kind,
            mechanism,
            schedule,
            depth=1 if kind == "counters" else depth,
            width=cells if kind == "counters" else cells // depth,
            **changes,
        )
        for kind in KINDS
        for mechanism in MECHANISMS
        for schedule in SCHEDULES
    ]
