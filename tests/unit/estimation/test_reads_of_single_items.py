"""Reads of single items by the paper's estimators: cell by cell, then from a table that is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.testing import seeded_key

EVENTS = np.minimum(np.random.default_rng(5).zipf(1.4, 4_000), 300)
ITEMS = range(1, 60)


@pytest.mark.parametrize(
    ("make", "estimator"), [(ls.LazyCountMin, "minimum"), (ls.LazyCountSketch, "median")]
)
def test_a_table_that_is_kept_gives_the_same_estimates(make: Any, estimator: Any) -> None:
    """64 cells are kept after five reads; then events, whole rounds and finish() follow."""
    sketch = make(depth=2, width=32, epsilon=1.0, delta=1e-6, key=seeded_key(3), hash_seed=2)
    for events in np.array_split(EVENTS, [1, 2, 40, 70, 71, 1_500, 1_501]):
        sketch.update_many(events)
        assert_equal(sketch, estimator)
    sketch.finish()
    assert_equal(sketch, estimator)


def assert_equal(sketch: Any, estimator: Any) -> None:
    release = sketch.release()
    for item in ITEMS:
        expected = release.estimate(item, estimator=estimator, at="published")
        assert sketch.estimate(item, estimator=estimator) == expected
