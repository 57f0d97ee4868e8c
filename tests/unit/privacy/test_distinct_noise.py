"""Noise of a count of distinct items: docs/theory.md, Theorem 23."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.adaptive import adaptive_delta
from lazysketch.privacy.gaussian import gaussian_delta
from lazysketch.specification.distinct import BIT_WEIGHT
from lazysketch.specification.mechanisms import MechanismName

Stream = Sequence[str]
STEPS = 4
# u and o share a bit; v has one of its own in the same counter, w one in another counter.
BITS = {"u": (0, 0), "o": (0, 0), "v": (0, 1), "w": (1, 0)}


def spec(
    relation: ls.Privacy | str, *, leaves: int = STEPS, mechanism: str = "haar"
) -> ls.TableSpec:
    return ls.TableSpec(
        kind="distinct",
        depth=1,
        width=2,
        bits=64,
        schedule=ls.Punctual(horizon=leaves),
        epsilon=1.0,
        delta=1e-6,
        relation=relation,  # type: ignore[arg-type]
        mechanism=mechanism,  # type: ignore[arg-type]
        max_weight=BIT_WEIGHT,
    )


def first_set(stream: Stream) -> dict[tuple[int, int], int]:
    """The leaf at which each bit is set."""
    found: dict[tuple[int, int], int] = {}
    for leaf, item in enumerate(stream, start=1):
        if item:
            found.setdefault(BITS[item], leaf)
    return found


def distance2(one: Stream, other: Stream, mechanism: MechanismName) -> int:
    """Squared distance of all noisy queries of the two counters."""
    rows = strategy(mechanism, len(one))
    shifts = np.zeros((2, len(rows.shift(1))), dtype=np.int64)
    for stream, sign in ((one, 1), (other, -1)):
        for (counter, _), leaf in first_set(stream).items():
            shifts[counter] += sign * BIT_WEIGHT * rows.shift(leaf)
    return int((shifts**2).sum())


def without(stream: Stream, item: str) -> Stream:
    return tuple("" if one == item else one for one in stream)


STREAMS = list(itertools.product(["", *BITS], repeat=STEPS))


@pytest.mark.parametrize("mechanism", ["haar", "tree"])
def test_no_person_moves_the_query_further_than_calibrated(mechanism: MechanismName) -> None:
    """All streams of four steps, with and without all events of a person."""
    bound = spec("zero-out", mechanism=mechanism).noise.l2_sensitivity ** 2
    largest = 0
    for stream in STREAMS:
        for item in BITS:
            if item in stream:
                largest = max(largest, distance2(stream, without(stream, item), mechanism))
    assert largest <= bound
    # A move is worth more than an event that goes: the factor is needed.
    plain = max(int((strategy(mechanism, STEPS).shift(leaf) ** 2).sum()) for leaf in range(1, 5))
    assert largest > plain * BIT_WEIGHT**2


@pytest.mark.parametrize("mechanism", ["haar", "tree"])
def test_no_substitute_moves_the_query_further_than_calibrated(mechanism: MechanismName) -> None:
    """All pairs of streams of which one has u where and the other has v or w anywhere."""
    bound = spec("substitution", mechanism=mechanism).noise.l2_sensitivity ** 2
    largest = 0
    for rest in itertools.product(["", "o"], repeat=STEPS):
        own = {leaf for leaf, item in enumerate(rest) if not item}
        places = [
            set(chosen)
            for size in range(len(own) + 1)
            for chosen in itertools.combinations(own, size)
        ]
        for ours, theirs in itertools.product(places, repeat=2):
            for other in ("v", "w"):
                one = tuple("u" if leaf in ours else item for leaf, item in enumerate(rest))
                two = tuple(other if leaf in theirs else item for leaf, item in enumerate(rest))
                largest = max(largest, distance2(one, two, mechanism))
    zero_out = spec("zero-out", mechanism=mechanism).noise.l2_sensitivity ** 2
    assert zero_out < largest <= bound


@pytest.mark.parametrize("change", ["one event", "all events"])
def test_one_event_of_an_item_is_covered(change: str) -> None:
    """An item may be no person: one event that goes moves its bit, or nothing."""
    bound = spec("zero-out").noise.l2_sensitivity ** 2
    for stream in STREAMS:
        for step, item in enumerate(stream):
            if item:
                shorter = without(stream, item) if change == "all events" else None
                other = shorter or (*stream[:step], "", *stream[step + 1 :])
                assert distance2(stream, other, "haar") <= bound


def worst_delta(sigma: float, epsilon: float, *, weight: int) -> float:
    """Delta of an observer who decides by the first release whether the bit is set later.

    Two pushes of haar rows: N_1 = z_1 / 4 + z_2 / 6 and N_2 = z_2 / 3. The bit is set at the first
    push in one world; in the other not, unless another person with the same bit is sent.
    """
    reach = math.ceil(7.5 * sigma)
    z = np.arange(-reach, reach + 1)
    erf = np.vectorize(math.erf)
    mass = np.diff(0.5 * erf(np.append(z - 0.5, reach + 0.5) / (sigma * math.sqrt(2))))
    first = np.floor_divide(3 * z[:, None] + 2 * z[None] + 6, 12)
    second = np.broadcast_to(np.floor_divide(2 * z + 3, 6), first.shape)
    low, high = first.min(), first.max() + 2 * weight
    width = int(high - low) + 1 + weight
    height = int(second.max() - second.min()) + 1 + 2 * weight
    joint = np.zeros((width, height))
    np.add.at(
        joint,
        (first - low + weight, second - second.min() + weight),
        np.broadcast_to(mass[:, None] * mass[None], first.shape),
    )
    with_bit = np.roll(joint, (weight, weight), axis=(0, 1))
    factor = math.exp(epsilon)
    both = []
    for later in (0, weight):
        without_bit = np.roll(joint, later, axis=1)
        both.append(
            (
                np.maximum(with_bit - factor * without_bit, 0.0).sum(axis=1),
                np.maximum(without_bit - factor * with_bit, 0.0).sum(axis=1),
            )
        )
    # Whether the bit comes may depend on the first release.
    return max(float(np.maximum(both[0][world], both[1][world]).sum()) for world in (0, 1))


def test_no_observer_who_sends_another_person_later_exceeds_delta() -> None:
    """By all transcripts of two pushes, and the best decision after each first release."""
    epsilon, delta = 1.0, 1e-3
    noise = ls.TableSpec(
        kind="distinct",
        depth=1,
        width=1,
        bits=64,
        schedule=ls.Punctual(horizon=2),
        epsilon=epsilon,
        delta=delta,
        relation="zero-out",
        mechanism="haar",
        max_weight=BIT_WEIGHT,
    ).noise
    assert worst_delta(noise.sigma, epsilon, weight=BIT_WEIGHT) <= delta
    # Noise for a bit that goes, but never comes later, is not enough.
    plain = noise.sigma / 1.5
    assert worst_delta(plain, epsilon, weight=BIT_WEIGHT) > delta


def theta(variance: float) -> float:
    return 2.0 * sum(math.exp(-2 * math.pi**2 * variance * j * j) for j in range(1, 6))


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 3.0, 8.0, 20.0, 100.0])
@pytest.mark.parametrize("multiplier", [0.3, 0.5, 1.0, 4.0, 10.0, 40.0, 1e4])
def test_the_bound_of_theorem_15_covers_that_of_theorem_23(
    epsilon: float, multiplier: float
) -> None:
    """Sigma is calibrated by the first; the second has the larger multiplier, and a factor of 1."""
    smoothing = 3.5
    share = Fraction(smoothing) / (Fraction(9, 4) * BIT_WEIGHT**2)
    pushes = 2.0**52  # more than the account of the block cipher admits
    logarithm = 3.0 * pushes * theta(smoothing)
    left = math.sqrt(multiplier**2 - float(share))
    bound = math.exp(logarithm) * gaussian_delta(epsilon - 2.0 * logarithm, left)
    calibrated = adaptive_delta(epsilon, multiplier)
    assert bound <= calibrated or calibrated <= 1e-279


@pytest.mark.parametrize("mechanism", ["binary", "square-root", "tree-endless"])
def test_mechanisms_without_the_bound_are_refused(mechanism: str) -> None:
    with pytest.raises(ArgumentValueError, match="mechanism: expected one of 'tree'"):
        spec("zero-out", mechanism=mechanism)
