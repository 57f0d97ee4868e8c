"""The order in which the events of an epoch arrive decides no name, wherever counts are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.heavy_hitters.test_discovery import expected, make, names

EPOCH = 400
# Noise decides about most names, and many names begin with the same byte of their identities.
SETTING = {"epoch": EPOCH, "epsilon": 2.0, "delta": 0.2}
VARIANTS = {"dictionary": EPOCH, "misra-gries": EPOCH - 1}


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_any_order_gives_the_same_names(variant: str, seed: int) -> None:
    """In Misra-Gries as long as every item has a slot; also by the oracle."""
    generator = np.random.default_rng(seed)
    counted = generator.permutation(np.arange(EPOCH) // 2 % 170)  # counts of 2 and 4
    found = []
    for order in (counted, np.sort(counted), generator.permutation(counted)):
        sketch = make(capacity=VARIANTS[variant], **SETTING)
        assert sketch._discovery_facts["variant"] == variant
        sketch.update_many(order)
        found.append(names(sketch))
        assert found[-1] == expected(sketch, order.tolist(), epoch=EPOCH)
    assert 10 < len(found[0]) < 160
    assert found[0] == found[1] == found[2]


def test_misra_gries_that_took_counts_off_depends_on_the_order() -> None:
    """With one counter, the items that arrive last take the place of those before."""
    found = []
    for order in ([1] * 30 + [2] * 30 + [3] * 40, [3] * 40 + [2] * 30 + [1] * 30):
        sketch = make(capacity=1, epoch=100, epsilon=20.0, delta=1e-6)
        sketch.update_many(order)
        found.append(set(names(sketch)))
    assert found == [{3}, {1}]
