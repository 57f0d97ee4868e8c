"""Residuals of streams with events: the noise is independent of the counts.

The true published counts are computed without the sketch: the public hash functions are read from
an exact sketch of the same seed, and the oracle's schedule gives the events up to the last push of
each column. One stream, many sketches: every sketch adds one sample per cell.

Each case runs twice: under fresh secret keys, and under many fixed seeded ids, so that this result
is reproducible. False-alarm rates: `declared`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracle.schedules import Schedule
from tests.statistical import declared
from tests.statistical.noise import MECHANISMS, Case, every_case

import lazysketch
import lazysketch.testing
from lazysketch.audit import p_values
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable

BUDGET = declared.budget("streams")

SKETCHES = 32
CELLS = 256
UNIVERSE = 40
HASH_SEED = 11
ITEMS = [f"item {i}" for i in range(UNIVERSE)]

Integers = NDArray[np.int64]


def steps_of(case: Case) -> int:
    """A late step inside a round, so that the columns have two different push numbers."""
    return 45 if case.schedule == "punctual" else int(46.3 * case.width)


def stream(steps: int) -> Integers:
    """Item numbers with Zipf-like shares, -1 for a step without an event; equal in every call."""
    generator = np.random.default_rng(2)
    shares = 1 / np.arange(1, UNIVERSE + 1) ** 1.3
    numbers = generator.choice(UNIVERSE, size=steps, p=shares / shares.sum())
    return np.where(generator.random(steps) < 0.2, -1, numbers)


def feed(sketch: PrivateTable, case: Case, numbers: Integers) -> None:
    """Runs of events and runs of ticks, in turn."""
    edges = np.flatnonzero(np.diff(numbers < 0)) + 1
    for run in np.split(numbers, edges):
        if run[0] < 0:
            sketch.tick(run.size)
        elif case.kind == "counters":
            sketch.update_many(run)
        else:
            sketch.update_many([ITEMS[i] for i in run])


@cache
def last_pushes(schedule: Schedule, width: int, steps: int) -> tuple[Integers, Integers]:
    """The last push step of each column and its number of pushes, in one pass over the oracle."""
    last, pushes = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    for step in range(1, steps + 1):
        for column in schedule.columns(step):
            last[column] = step
            pushes[column] += 1
    return last, pushes


def places(case: Case) -> Iterator[tuple[int, int, int, int]]:
    """(item number, row, column, sign) of every cell that an item falls in."""
    if case.kind == "counters":
        yield from ((i, 0, i, 1) for i in range(UNIVERSE))
        return
    make = lazysketch.CountMin if case.kind == "count-min" else lazysketch.CountSketch
    for i, item in enumerate(ITEMS):
        exact = make(depth=case.depth, width=case.width, hash_seed=HASH_SEED)
        exact.update(item)
        for row, column in np.argwhere(exact.table):
            yield i, int(row), int(column), int(exact.table[row, column])


def published(case: Case, numbers: Integers, last: Integers) -> Integers:
    """Exact counts of the events up to each column's last push."""
    table = np.zeros((case.depth, case.width), dtype=np.int64)
    for item, row, column, sign in places(case):
        table[row, column] += sign * np.count_nonzero(numbers[: last[column]] == item)
    return table


def keys(source: str, count: int) -> Iterator[Key | None]:
    if source == "fresh keys":
        yield from (None for _ in range(count))
        return
    for number in range(count):
        yield lazysketch.testing.seeded_key(3, sketch_id=number.to_bytes(16, "big"))


@pytest.mark.parametrize("source", ["fresh keys", "seeded ids"])
@pytest.mark.parametrize("case", every_case(cells=CELLS, depth=8, mechanisms=MECHANISMS), ids=str)
def test_residuals_of_a_stream(case: Case, source: str) -> None:
    """32 sketches x 256 cells: mean, variance and shape per push number.

    The variance is the same where the count is 0 and where it is not; the residual is not
    correlated with the count.
    """
    numbers = stream(steps_of(case))
    last, pushes = last_pushes(case.described, case.width, numbers.size)
    truth = published(case, numbers, last)
    assert 0 < np.count_nonzero(truth) < truth.size
    tables = []
    for key in keys(source, SKETCHES):
        with case.make(key=key, hash_seed=HASH_SEED) as sketch:
            assert sketch.private == (source == "fresh keys")
            feed(sketch, case, numbers)
            release = sketch.release()
        np.testing.assert_array_equal(release.pushes, pushes)
        tables.append(np.array(release.table) - truth)
    residuals = np.array(tables)

    standardised = np.empty(residuals.shape)
    for push in np.unique(pushes):
        what, at = f"{case}, {source}, push {push}", pushes == push
        values = residuals[:, :, at].reshape(-1)
        standardised[:, :, at] = case.standardised(residuals[:, :, at], int(push))
        x = standardised[:, :, at].reshape(-1)
        BUDGET.check(p_values.mean(x), f"mean: {what}")
        BUDGET.check(p_values.variance(x), f"variance: {what}")
        BUDGET.check(p_values.shape(values, case.deviation(int(push))), f"shape: {what}")
    for zero in (True, False):
        x = standardised[:, (truth == 0) == zero].reshape(-1)
        BUDGET.check(p_values.variance(x), f"count 0 is {zero}: {case}, {source}")
    direction = np.broadcast_to(truth, residuals.shape).reshape(-1)
    p_value = p_values.mean(standardised.reshape(-1), direction)
    BUDGET.check(p_value, f"correlation with the count: {case}, {source}")
