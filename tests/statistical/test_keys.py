"""Keys, sketch ids and hash seeds from the operating system: every bit is a fair coin.

Two-sided and by each bit, also for every pair of neighbouring bits, and no value occurs twice. This
detects a bit that is stuck or that repeats its neighbour, not a weak generator. Fresh randomness;
false-alarm rates: `declared`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical import declared

import lazysketch as ls
from lazysketch.audit import p_values

VALUES = 4000
BUDGET = declared.budget("keys")
SPEC = ls.TableSpec(
    kind="count-min", depth=1, width=2, schedule=ls.Geometric(), epsilon=1.0, delta=1e-6
)


def of_sketches() -> dict[str, list[bytes]]:
    key = ls.Key.generate()
    found: dict[str, list[bytes]] = {"ids": [], "seeds of one key": [], "seeds of exact tables": []}
    for _ in range(VALUES):
        with ls.LazyCountMin.from_spec(SPEC, key=key) as sketch:
            found["ids"].append(sketch.sketch_id)
            found["seeds of one key"].append(sketch.hash_seed.to_bytes(8, "big"))
        exact = ls.CountMin(depth=1, width=2)
        found["seeds of exact tables"].append(exact.hash_seed.to_bytes(8, "big"))
    return found


def p_value(values: list[bytes] | NDArray[np.uint8]) -> float:
    """The smallest of all bits and neighbouring pairs, times their number."""
    rows = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), -1)
    bits = np.unpackbits(rows, axis=1)
    ones = np.concatenate([bits.sum(axis=0), (bits[:, 1:] ^ bits[:, :-1]).sum(axis=0)])
    found = min(p_values.counts([n, len(rows) - n], [0.5, 0.5]) for n in set(ones.tolist()))
    return min(1.0, found * ones.size)


def test_every_bit_is_a_fair_coin() -> None:
    found = {"keys": [ls.Key.generate().to_bytes() for _ in range(VALUES)], **of_sketches()}
    for name, values in found.items():
        BUDGET.check(p_value(values), name)
        assert len(set(values)) == VALUES, name  # of 64 bits: twice with probability 4e-13


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_a_biased_bit_is_rejected(share: float) -> None:
    """Also one that equals its neighbour; seeded data."""
    generator = np.random.default_rng(3)
    bits = generator.random((VALUES, 64)) < 0.5
    assert p_value([row.tobytes() for row in np.packbits(bits, axis=1)]) > BUDGET.alpha
    biased, copied = bits.copy(), bits.copy()
    biased[:, 17] = generator.random(VALUES) < share
    copied[:, 5] = copied[:, 6]
    for planted in (biased, copied):
        assert p_value([row.tobytes() for row in np.packbits(planted, axis=1)]) <= BUDGET.alpha
