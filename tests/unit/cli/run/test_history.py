"""History of a run: releases at multiples of a spacing, for any split of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lazysketch.cli.run.history import History

pieces = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), max_size=30)


@dataclass
class Table:
    step: int
    table: Any


@dataclass
class Counted:
    """A target that records its rows; a tick is None."""

    width: int = 64
    rows: list[Any] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)

    people: list[Any] = field(default_factory=list)

    def update_many(self, items: Any, weights: Any = None, *, user: Any = None) -> None:
        assert len(items)
        self.rows += list(items)
        self.people += [] if user is None else list(user)
        self.weights += [1] * len(items) if weights is None else list(weights)

    def tick(self, steps: int) -> None:
        assert steps > 0
        self.rows += [None] * steps

    def release(self) -> Table:
        return Table(len(self.rows), np.zeros((4, self.width)))


def fed(given: list[tuple[int, int]], *, width: int = 64) -> tuple[History, Counted, list[Any]]:
    target = Counted(width)
    history = History(target)  # type: ignore[arg-type]
    rows: list[Any] = []
    for items, ticks in given:
        numbers = np.arange(len(rows), len(rows) + items)
        if items:
            history.update_many(numbers, numbers)
        if ticks:
            history.tick(ticks)
        rows += [*numbers.tolist(), *[None] * ticks]
    return history, target, rows


@given(pieces)
def test_every_row_is_fed_once_in_order(given: list[tuple[int, int]]) -> None:
    _, target, rows = fed(given)
    assert target.rows == rows
    assert target.weights == [row for row in rows if row is not None]


@given(pieces)
def test_releases_are_at_multiples_however_rows_come(given: list[tuple[int, int]]) -> None:
    history, _, rows = fed(given)
    steps = [kept.step for kept in history.releases]
    one_by_one, _, _ = fed([(0, len(rows))])
    assert steps == [kept.step for kept in one_by_one.releases]
    spacing = steps[0] if steps else 16
    assert steps == list(range(spacing, len(rows) + 1, spacing))
    assert len(steps) >= len(rows) // 16 or len(steps) >= 64


def test_a_long_stream_keeps_a_bounded_number() -> None:
    history, _, _ = fed([(100_000, 0)])
    assert 64 <= len(history.releases) <= 128
    wide, _, _ = fed([(20_000, 0)], width=1 << 20)
    assert 8 <= len(wide.releases) <= 16


def test_without_weights_none_are_made_up() -> None:
    target = Counted()
    History(target).update_many(["a"] * 40)  # type: ignore[arg-type]
    assert target.weights == [1] * 40
