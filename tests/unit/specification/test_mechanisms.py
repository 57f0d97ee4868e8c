"""Which mechanism a sketch takes when it is asked for the least noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.privacy import adaptive_noise_multiplier
from lazysketch.specification.mechanisms import mechanisms_for


def largest_variance(name: str, leaves: int) -> float:
    """Largest variance of a push at sensitivity 1."""
    mechanism = ls.Mechanism(name, leaves=leaves)
    return float(mechanism.sensitivity2 * mechanism.variances(np.arange(1, leaves + 1)).max())


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 5, 31, 100, 1000, 4096, 10_000, 2**14, 2**14 + 1])
def test_no_exact_mechanism_has_less_noise(leaves: int) -> None:
    chosen = mechanisms_for("tree", leaves=leaves, growing=False)[0]
    others = ["haar", "binary", "tree" if leaves <= 2**14 else "tree-deep"]
    least = min(largest_variance(name, leaves) for name in others)
    assert largest_variance(chosen.name, leaves) == pytest.approx(least)


def test_growing_streams_take_the_early_table_where_it_is_not_too_large() -> None:
    names = [
        mechanisms_for("tree", leaves=n, growing=True)[0].name for n in (100, 512, 513, 4096, 5000)
    ]
    assert names == ["tree", "tree", "tree-log", "tree-log", "tree"]


def test_a_single_release_has_the_noise_of_one_gaussian_mechanism() -> None:
    """sqrt(2 depth) times the multiplier: nothing is paid for a continual release."""
    sketch = ls.LazyCountMin(
        depth=3, width=64, epsilon=1.0, delta=1e-6, schedule=ls.Single(horizon=1000)
    )
    sketch.tick(1000)
    expected = math.sqrt(6) * adaptive_noise_multiplier(1.0, 1e-6, depth=3)
    assert sketch.release().noise_deviation.max() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("wanted", [{"max_weight": 2**20}, {"max_events_per_user": 2**7}])
def test_weights_too_large_for_the_tables_fall_back_to_the_closed_form(
    wanted: dict[str, Any],
) -> None:
    sketch = ls.LazyCountMin(depth=3, width=1024, epsilon=0.1, delta=1e-6, **wanted)
    assert (sketch.mechanism.name, sketch.private) == ("haar", True)


def test_shared_rows_begin_where_their_tables_have_less_noise() -> None:
    names = [
        [it.name for it in mechanisms_for("tree", leaves=leaves, growing=False)]
        for leaves in (511, 512, 513)
    ]
    assert names == [["tree", "haar"], ["tree", "haar"], ["tree", "tree-deep", "haar"]]
