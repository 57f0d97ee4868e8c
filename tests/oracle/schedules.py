"""The columns that are pushed at each step, computed from the formulas of the schedules.

A schedule is a function of the step number alone. Every result is recomputed from step 1,
which is slow and keeps no state that could be wrong.

Steps count from 1 and columns from 0. Correction to the paper: `floor(t/w) + 1` pushes
with `pos = t mod w` miscounts the last column; here step t pushes column (t-1) mod w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

GEOMETRIC_ROUNDS = 4096
STEPS_PER_STEP_OF_LAG = 100  # alpha = 1/100: a round lasts a hundredth of the stream before it


class Schedule(Protocol):
    """A schedule of the oracle."""

    def columns(self, step: int) -> list[int]:
        """The columns that are pushed at this step, in ascending order."""

    @property
    def leaves(self) -> int:
        """The largest number of pushes that any column can have."""


def ceil_div(numerator: int, denominator: int) -> int:
    """The smallest integer that is at least numerator / denominator, for positive numbers."""
    return (numerator + denominator - 1) // denominator


def pushes(schedule: Schedule, column: int, step: int) -> int:
    """Number of pushes of the column in the steps 1..step, by counting them."""
    return sum(schedule.columns(s).count(column) for s in range(1, step + 1))


def last_push(schedule: Schedule, column: int, step: int) -> int:
    """The last step <= `step` that pushed the column, 0 if there was none."""
    return max((s for s in range(1, step + 1) if column in schedule.columns(s)), default=0)


@dataclass(frozen=True)
class RoundRobin:
    """The paper's lazy schedule: one column per step, in turn."""

    width: int
    horizon: int

    def columns(self, step: int) -> list[int]:
        return [(step - 1) % self.width]

    @property
    def leaves(self) -> int:
        return ceil_div(self.horizon, self.width)


@dataclass(frozen=True)
class Geometric:
    """Rounds that grow with the stream, so that 4096 rounds suffice for any stream.

    t_0 = 0, length_k = max(w, ceil(t_k / 100)), t_{k+1} = t_k + length_k, and round k
    pushes column j at step t_k + ceil((j+1) length_k / w).
    """

    width: int

    def round_of(self, step: int) -> tuple[int, int]:
        """(t_k, length_k) of the round with t_k < step <= t_k + length_k."""
        start = 0
        for _ in range(GEOMETRIC_ROUNDS):
            length = max(self.width, ceil_div(start, STEPS_PER_STEP_OF_LAG))
            if start < step <= start + length:
                return start, length
            start += length
        raise ValueError(f"step: expected one of the first {GEOMETRIC_ROUNDS} rounds, got {step}")

    def columns(self, step: int) -> list[int]:
        start, length = self.round_of(step)
        return [
            column
            for column in range(self.width)
            if start + ceil_div((column + 1) * length, self.width) == step
        ]

    @property
    def leaves(self) -> int:
        return GEOMETRIC_ROUNDS


@dataclass(frozen=True)
class Punctual:
    """Every step pushes every column."""

    width: int
    horizon: int

    def columns(self, step: int) -> list[int]:
        return list(range(self.width))

    @property
    def leaves(self) -> int:
        return self.horizon
