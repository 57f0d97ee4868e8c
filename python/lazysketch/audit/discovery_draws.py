"""The draws of discovery: no two slots, epochs, sketches or parameters share noise.

Two independent draws are equal in absolute value with a probability of at most 2 tanh(epsilon / 2),
which is small at the smallest epsilon, and shared draws are obvious. Given all earlier draws this
bound holds for the next, so a number of coincidences is at most a sum of such coins.

Detects: noise that repeats after any number of slots or epochs, or in one pair of slots; a key
without the id or a parameter; correlated signs; a wrong distribution. Cannot detect: a weakness of
AES or BLAKE3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TypedDict

import numpy as np

from lazysketch.audit import p_values
from lazysketch.audit.discovery_checks import described_items
from lazysketch.audit.discovery_oracle import Noise
from lazysketch.audit.discovery_system import DiscoverySystem
from lazysketch.audit.finding import Outcome, statistical_outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.heavy_hitters import DiscoverySpec
from lazysketch.privacy.relations import Relation

__all__ = ["draws_of_epochs", "parameters_change_names"]

_EPOCHS = (*range(10), 63, 64, 2**32, 2**32 + 1)
_SLOTS = 1101  # the shared one, and 1,100 of items
_IDS = bytes(15) + b"\x01", bytes(15) + b"\x02"
_FINE = described_items(epoch=2000, capacity=1500, epsilon=2**-9, delta=1e-6)
_BASE = replace(_FINE, epsilon=2**-7)  # room for a person with more events


def draws_of_epochs(system: DiscoverySystem) -> Outcome:
    """Test that the draws of 14 epochs of 1,101 slots are distinct, independent and as stated.

    Args:
        system: the system under test.

    Returns:
        Tests of coincidences at every distance of slots, between all pairs of epochs and of slots;
        of signs; of the distribution.
    """
    live = system.open(_FINE, seed=11, sketch_id=bytes(16))
    slots = list(range(_SLOTS))
    drawn = np.array([live.draws(epoch, slots) for epoch in _EPOCHS])
    noise = Noise(live.rates[0])  # of Misra-Gries
    coincide = 2 * math.tanh(noise.epsilon / 2)

    def tested() -> Iterator[tuple[str, float]]:
        size = np.abs(drawn)
        for one, other in itertools.combinations_with_replacement(range(len(drawn)), 2):
            for distance in range(one == other, _SLOTS):
                equal = int((size[one, distance:] == size[other, : _SLOTS - distance]).sum())
                mean = (_SLOTS - distance) * coincide
                name = f"epochs {_EPOCHS[one]} and {_EPOCHS[other]}, slots {distance} apart"
                yield name, poisson_tail(equal, mean)
        matrix = np.zeros((_SLOTS, _SLOTS), dtype=np.int64)
        for row in size:
            matrix += row[:, None] == row
        np.fill_diagonal(matrix, 0)
        most = int(matrix.max())
        pairs = _SLOTS * (_SLOTS - 1) // 2
        yield "any two slots", min(1.0, pairs * poisson_tail(most, len(drawn) * coincide))
        yield from _of_signs(drawn, noise)
        yield "distribution", _of_distribution(drawn, noise)

    claim = "draws of slots and epochs are distinct, independent and discrete Laplace"
    return statistical_outcome(claim, tested(), samples=drawn.size)


def poisson_tail(count: int, mean: float) -> float:
    """Return Chernoff's bound of P(X >= count) for a sum of coins with this mean.

    Args:
        count: observed number.
        mean: an upper bound of the expected number, whatever happened before.

    Returns:
        At most 1.
    """
    if count <= mean:
        return 1.0
    return math.exp(count - mean - count * math.log(count / mean))


def _of_signs(drawn: Integers, noise: Noise) -> Iterator[tuple[str, float]]:
    """Test that signs (0 counts as positive) agree as often as those of independent draws."""
    positive = drawn >= 0
    agree = noise.tail(0) ** 2 + (1 - noise.tail(0)) ** 2

    def coins(same: np.ndarray) -> float:
        hits = int(same.sum())
        return p_values.counts([hits, same.size - hits], [agree, 1 - agree])

    for one, other in itertools.combinations(range(len(drawn)), 2):
        yield f"signs of two epochs {one}, {other}", coins(positive[one] == positive[other])
    pairs = positive[:, 1 : _SLOTS // 2 * 2 + 1].reshape(len(drawn), -1, 2)
    yield "signs of neighbours", coins(pairs[:, :, 0] == pairs[:, :, 1])


def _of_distribution(drawn: Integers, noise: Noise) -> float:
    """Compare all draws with the closed form, in 16 cells of similar probability."""
    levels = np.linspace(1 / 16, 15 / 16, 15)
    side = np.where(levels < 0.5, levels, 1 - levels)
    edges = np.unique(np.rint(-np.sign(levels - 0.5) * np.log(2 * side) / -noise.epsilon)).astype(
        int
    )
    above = [noise.tail(int(edge)) for edge in edges]
    probabilities = -np.diff([1.0, *above, 0.0])
    return p_values.counts(
        np.bincount(np.searchsorted(edges, drawn.ravel(), side="right"), minlength=len(edges) + 1),
        probabilities,
    )


class _Changes(TypedDict, total=False):
    epsilon: float
    delta: float
    relation: Relation
    max_events_per_user: int
    epoch: int
    capacity: int
    max_item_bytes: int
    max_weight: int
    counted_weight: int


_CHANGED: dict[str, _Changes] = {
    "epsilon by one bit": {"epsilon": math.nextafter(2**-7, 1)},
    "delta by one bit": {"delta": math.nextafter(1e-6, 1)},
    "epoch": {"epoch": 2001},
    "capacity": {"capacity": 1501},
    "max_item_bytes": {"max_item_bytes": 65},
    "max_weight": {"max_weight": 2},
    "exact counting": {"capacity": 2000},
    "max_events_per_user": {"max_events_per_user": 2},
    "weights": {"max_weight": 2, "counted_weight": 2},
    "relation": {"relation": "substitution"},
}


def parameters_change_names(system: DiscoverySystem) -> Outcome:
    """Test that another id, key or parameter changes all draws of discovery.

    Args:
        system: the system under test.

    Returns:
        A test of coincidences of every pair, slot by slot.
    """

    def drawn(spec: DiscoverySpec, *, seed: int = 7, sketch_id: bytes = _IDS[0]) -> Integers:
        live = system.open(spec, seed=seed, sketch_id=sketch_id)
        return np.concatenate([live.draws(epoch, list(range(200))) for epoch in (0, 1)])

    found = {
        "base": drawn(_BASE),
        "sketch id": drawn(_BASE, sketch_id=_IDS[1]),
        "key": drawn(_BASE, seed=8),
        "key, a high bit": drawn(_BASE, seed=7 + 2**63),
    }
    for name, changes in _CHANGED.items():
        found[name] = drawn(replace(_BASE, **changes))

    def tested() -> Iterator[tuple[str, float]]:
        again = drawn(_BASE)
        yield "equal key, id and parameters", float(np.array_equal(found["base"], again))
        for (one, x), (other, y) in itertools.combinations(found.items(), 2):
            equal = int((np.abs(x) == np.abs(y)).sum())
            # Two events of a person halve epsilon, which makes coincidences rarer.
            mean = x.size * 2 * math.tanh(_BASE.epsilon / 2)
            yield f"{one} and {other}", poisson_tail(equal, mean)

    claim = "another id, key or parameter changes all draws of discovery"
    return statistical_outcome(claim, tested(), samples=400 * len(found))
