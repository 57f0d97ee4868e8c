"""Residuals of real sketches: the release minus the true published counts.

Steps without events leave every published count at 0, so the release itself is the residual.
Tables are wide, because every cell is one independent sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tests.oracle.schedules import Geometric, Punctual, RoundRobin, Schedule
from tests.statistical import claimed

import lazysketch
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable

Integers = NDArray[np.int64]

KINDS = ("count-min", "count-sketch", "counters")
MECHANISMS = ("binary", "haar")
ALL_MECHANISMS = (*MECHANISMS, "tree", "square-root")
SCHEDULES = ("round robin", "geometric", "punctual")


@dataclass(frozen=True)
class Case:
    """One table, with the distribution that is claimed for its noise."""

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
        made = RoundRobin if self.schedule == "round robin" else Punctual
        return made(width=self.width, horizon=self.horizon or 0)

    @property
    def mechanism_leaves(self) -> int:
        """The leaves of the mechanism: 4096 under the geometric schedule."""
        return self.described.leaves

    @property
    def claimed_mechanism(self) -> str:
        """Under the geometric schedule the tree has other rows."""
        optimised = self.mechanism == "tree" and self.schedule == "geometric"
        return "tree-log" if optimised else self.mechanism

    @property
    def sigma(self) -> float:
        """The claimed sigma, not the one that the sketch states."""
        return claimed.sigma(
            kind=self.kind,
            depth=self.depth,
            mechanism=self.claimed_mechanism,
            leaves=self.mechanism_leaves,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
        )

    def make(self, *, key: Key | None = None, hash_seed: int | None = None) -> PrivateTable:
        """A sketch; without a key, under a fresh one from the operating system."""
        common: dict[str, object] = {
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
        made: Callable[..., PrivateTable] = getattr(lazysketch, prefix + suffix)
        return made(depth=self.depth, width=self.width, hash_seed=hash_seed, **common)

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
        return claimed.deviation(self.claimed_mechanism, self.mechanism_leaves, push, self.sigma)

    def standardised(self, residuals: ArrayLike, push: int) -> NDArray[np.float64]:
        """Residuals minus their claimed mean, in claimed deviations."""
        shift = claimed.rounding(self.claimed_mechanism, self.mechanism_leaves, push)[0]
        result: NDArray[np.float64] = (np.asarray(residuals) - shift) / self.deviation(push)
        return result


def residuals(sketch: PrivateTable, case: Case, pushes: list[int]) -> dict[int, Integers]:
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


def every_case(
    *, cells: int = 8192, depth: int = 4, mechanisms: Sequence[str] = ALL_MECHANISMS
) -> list[Case]:
    """All kinds, mechanisms and schedules, with the same number of cells."""
    return [
        Case(
            kind,
            mechanism,
            schedule,
            depth=1 if kind == "counters" else depth,
            width=cells if kind == "counters" else cells // depth,
        )
        for kind in KINDS
        for mechanism in mechanisms
        for schedule in SCHEDULES
    ]
