"""Residuals under the optimised tables: releases agree with the rows and the calibration.

Fresh secret keys. The claimed distribution comes from the bytes of the table files, by
`tests.oracle.tree` in exact fractions, and from the tests' own multiplier, not from the sketch.
False-alarm rates: `declared`; power: docs/testing.md.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracle.tree import Tree
from tests.statistical import claimed, declared

import lazysketch as ls
from lazysketch.audit import p_values
from lazysketch.specification.schedules import Geometric, Schedule

BUDGET = declared.budget("tree")
DEPTH, WIDTH, EPSILON, DELTA = 2, 4096, 1.0, 1e-6


def sensitivity_and_variances(file: str, pushes: list[int]) -> tuple[float, dict[int, float]]:
    """The squared sensitivity of the rows, and the variance of each push in squared draws."""
    tree = Tree.from_bytes((claimed.TABLES / file).read_bytes())
    squares, _ = tree.changes()
    variances = {p: float(sum(x * x for x in tree.weights(p).values())) for p in pushes}
    return float(max(squares)), variances


def residuals(schedule: Schedule, pushes: list[int]) -> dict[int, NDArray[np.float64]]:
    """Releases of a stream of ticks, which are the noise: the published counts are zero."""
    length = WIDTH  # of the first rounds of both schedules
    found = {}
    with ls.LazyCountMin(
        depth=DEPTH, width=WIDTH, epsilon=EPSILON, delta=DELTA, schedule=schedule
    ) as sketch:
        assert sketch.private
        for push in pushes:
            sketch.tick(push * length - sketch.step)
            release = sketch.release()
            assert (release.pushes == push).all()
            found[push] = release.table.ravel().astype(float)
    return found


@pytest.mark.parametrize(
    ("mechanism", "file", "schedule", "pushes"),
    [
        ("tree", "tree_k5.i16", ls.RoundRobin(horizon=32 * WIDTH), [1, 2, 7, 16, 17, 31, 32]),
        ("tree", "tree_k7.i16", ls.RoundRobin(horizon=100 * WIDTH), [1, 50, 63, 64, 65, 100]),
        ("tree-log", "tree_k10_log.i16", Geometric(rounds=1000), [1, 2, 3, 10, 40, 99]),
    ],
    ids=["k5", "k7", "k10 log"],
)
def test_each_push_agrees_with_its_rows(
    mechanism: str, file: str, schedule: Schedule, pushes: list[int]
) -> None:
    """8192 cells: mean, variance and shape of every push."""
    sensitivity2, variances = sensitivity_and_variances(file, pushes)
    table2 = claimed.table_sensitivity2("count-min", depth=DEPTH, relation="substitution")
    sigma = claimed.multiplier(EPSILON, DELTA, DEPTH) * math.sqrt(table2 * sensitivity2)
    for push, values in residuals(schedule, pushes).items():
        # Rounding to integers adds 1/12 at these deviations.
        deviation = math.sqrt(sigma**2 * variances[push] + 1 / 12)
        what = f"{mechanism} {file}, push {push}"
        x = values / deviation
        BUDGET.check(p_values.mean(x), f"mean: {what}")
        BUDGET.check(p_values.variance(x), f"variance: {what}")
        BUDGET.check(p_values.shape(values.astype(np.int64), deviation), f"shape: {what}")
