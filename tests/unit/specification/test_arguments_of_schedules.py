"""Arguments of schedules and mechanisms: their limits, and the names in the messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentValueError


@pytest.mark.parametrize(
    ("width", "step", "message"),
    [
        (0, 1, "width: expected"),
        (2**24 + 1, 1, "width: expected"),
        (3, 10, "step: expected"),
        (3, -1, "step: expected"),
    ],
)
def test_pushes_of_a_schedule(width: int, step: int, message: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{message}"):
        ls.RoundRobin(horizon=9).pushes(width, step)


def test_limits_of_schedules() -> None:
    with pytest.raises(ArgumentValueError, match="^width: expected"):
        ls.RoundRobin(horizon=9).leaves(2**24 + 1)
    with pytest.raises(ArgumentValueError, match="^rounds: expected"):
        ls.Geometric(rounds=2**20 + 1)


def test_rounds_are_kept_as_a_plain_integer() -> None:
    assert type(ls.Geometric(rounds=np.int64(7)).rounds) is int


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"schedule": "geometric", "horizon": 9},
            "horizon: expected None for the geometric schedule, got 9",
        ),
        ({"schedule": "x"}, "schedule: expected one of 'geometric', '"),
    ],
)
def test_schedules_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{message}"):
        ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-6, **options)


def test_mechanisms() -> None:
    with pytest.raises(ArgumentValueError, match="^pushes: expected"):
        ls.Mechanism("haar", leaves=8).final_pushes([1_000_000], nothing_pending=[False])
    unknown: Any = "x"
    with pytest.raises(ArgumentValueError, match="^mechanism: expected one of '"):
        ls.LazyCountMin(depth=2, width=8, epsilon=1.0, delta=1e-6, mechanism=unknown)
