"""Batches: one step per row, in order, for any positions of rows without an item."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lazysketch.sources import RowBatch, Segment, Tally

ROWS = st.lists(st.sampled_from(["", "a", "b"]), max_size=30)


def steps_of(batch: RowBatch) -> list[str]:
    """Return the steps that a sketch takes when it is fed the batch."""
    steps: list[str] = []
    for items, _, empty_steps in batch.segments():
        steps.extend(items)
        steps.extend([""] * empty_steps)
    return steps


@given(ROWS)
def test_feeding_the_segments_takes_one_step_per_row_in_order(rows: list[str]) -> None:
    batch = RowBatch.from_rows(rows)
    assert steps_of(batch) == rows
    assert batch.rows == len(rows)


@given(ROWS)
def test_neighbouring_rows_without_an_item_share_a_segment(rows: list[str]) -> None:
    segments = list(RowBatch.from_rows(rows).segments())
    for (_, _, empty_steps), (items, _, _) in pairwise(segments):
        assert empty_steps
        assert items


def test_a_batch_without_empty_rows_is_one_segment_without_a_copy() -> None:
    rows = ["a", "b"]
    ((items, weights, empty_steps),) = RowBatch.from_rows(rows).segments()
    assert items is rows
    assert weights is None
    assert empty_steps == 0


def test_weights_stay_with_their_items() -> None:
    batch = RowBatch(list("abcd"), [1, 4], [1, 2, 3, 4], clipped=[2])
    assert list(batch.segments()) == [
        Segment(["a"], [1], 1),
        Segment(["b", "c"], [2, 3], 1),
        Segment(["d"], [4], 0),
    ]
    assert (batch.rows, batch.total_weight) == (6, 10)
    assert RowBatch(list("abc")).total_weight == 3


def test_rows_before_the_first_malformed_row() -> None:
    batch = RowBatch(list("abcd"), [3], [1, 9, 9, 9], clipped=[1, 3])
    assert batch.before_malformed() == RowBatch(list("abc"), (), [1, 9, 9], clipped=[1])
    assert RowBatch(["a"]).before_malformed() == RowBatch(["a"])


def test_the_first_rows_of_a_batch() -> None:
    batch = RowBatch(items=["a", "b", "c"], malformed=[1, 3], weights=[1, 2, 3], clipped=[0, 2])
    for rows, items, malformed, clipped in (
        (0, [], [], []),
        (2, ["a"], [1], [0]),
        (3, ["a", "b"], [1], [0]),
        (5, ["a", "b", "c"], [1, 3], [0, 2]),
    ):
        first = batch.first(rows)
        assert first.rows == rows
        assert (first.items, first.malformed, first.clipped) == (items, malformed, clipped)
        assert len(first.weights or ()) == len(items)


def test_absent_rows_are_empty_steps_but_not_malformed() -> None:
    times = np.arange(7) * 10
    batch = RowBatch(list("abc"), [1, 5], [1, 2, 3], clipped=[1], absent=[0, 2], times=times)
    assert batch.rows == 7
    assert list(batch.segments()) == [
        Segment([], [], 3),
        Segment(["a", "b"], [1, 2], 1),
        Segment(["c"], [3], 0),
    ]
    first = batch.first(4)
    assert (first.items, first.malformed, first.absent) == (["a"], [1], [0, 2])
    assert first.times is not None
    assert first.times.tolist() == [0, 10, 20, 30]
    kept = batch.before_malformed()
    assert (kept.items, kept.malformed, kept.absent, kept.rows) == ([], (), [0], 1)
    tally = Tally()
    tally.add(batch, name="x", rows_before=0)
    assert (tally.rows, tally.malformed, tally.absent) == (7, 2, 2)
    assert tally.first_malformed == [("x", 2), ("x", 6)]
