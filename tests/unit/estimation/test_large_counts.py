"""Intervals of tables with large errors, whose squares must not overflow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lazysketch as ls


@pytest.mark.parametrize("make", [ls.LazyCountMin, ls.LazyCountSketch])
def test_large_collisions_do_not_overflow(
    make: type[ls.LazyCountMin] | type[ls.LazyCountSketch],
) -> None:
    # Cells of some ten thousand counts: their mean square is beyond 1e308 / 1e300.
    with make(depth=3, width=16, epsilon=1.0, delta=1e-8, horizon=400_000) as sketch:
        sketch.update_many(np.arange(400_000) % 8)
        release = sketch.release()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = release.interval_many([0, 1, 2, 99])
    assert np.all(answer.low <= answer.high)
