"""How long columns wait, by following every push: the lags that docs/theory.md states."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lazysketch import Geometric, Punctual, RoundRobin

STEPS = 3000


@pytest.mark.parametrize("width", [1, 3, 16, 100])
@pytest.mark.parametrize(
    "schedule",
    [Geometric(), Geometric(growth=(1, 7)), RoundRobin(STEPS), RoundRobin(STEPS, period=5)],
    ids=str,
)
def test_no_column_waits_longer_than_stated(schedule: Geometric | RoundRobin, width: int) -> None:
    before = np.zeros(width, dtype=np.int64)
    last = np.zeros(width, dtype=np.int64)
    for step in range(1, STEPS + 1):
        pushes = schedule.pushes(width, step)
        assert set(pushes - before) <= {0, 1}
        last[pushes > before] = step
        before = pushes
        if isinstance(schedule, RoundRobin):
            bound = schedule.period * width - 1
        else:
            numerator, denominator = schedule.growth
            bound = max(width, math.ceil(step * numerator / denominator))
        # Before its first push a column waits since the beginning.
        assert (step - last).max() <= bound
    assert before.max() <= schedule.leaves(width)


def test_nothing_waits_under_punctual() -> None:
    assert Punctual(50).pushes(4, 17).tolist() == [17] * 4
