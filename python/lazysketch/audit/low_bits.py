"""Precision attacks: information about the count in the low bits of a release.

Three checks. (1) Noise so small that every probability of the released value can be computed,
at the pushes where exact halves occur, for neighbouring counts: the distribution must be the same,
shifted by one. (2) Parity at usual noise, for even and odd counts. (3) The last four bits at noise
so large that a float would have lost them. A release that is not of integers fails immediately.

Detects: half-even and half-away rounding (which no variance shows), a "-0" that is drawn again,
floats in the sum.
Source: Mironov 2012 (the attack); docs/theory.md for the rounding that commutes with counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.finding import Outcome, statistical_outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import SystemUnderTest, Table
from lazysketch.specification.schedules import Batch

__all__ = ["distribution_of_small_noise", "low_bits_of_large_noise", "parity_at_usual_noise"]

CELLS = 2**16
# The only mechanism with exact halves at a public push: n/2, in one draw of twelve.
SMALL = Case.of(
    "counters",
    depth=1,
    width=CELLS,
    schedule=Batch(horizon=2),
    epsilon=8.0,
    relation="zero-out",
    mechanism="haar",
)
USUAL = SMALL.changed(epsilon=0.1, relation="substitution")
LARGE = Case.of(
    "counters",
    depth=1,
    width=2**13,
    schedule=Batch(horizon=64),
    epsilon=0.5,
    mechanism="haar",
    max_weight=2**22,
)
_RESIDUES = 16  # of the last four bits


def _read(system: SystemUnderTest, case: Case, *, push: int) -> tuple[Table, Integers]:
    """Return the table after a push, and the exact counts 0, 1, 0, 1, ..."""
    live = system.open(case, hash_seed=0)
    live.feed_batch(np.arange(1, case.spec.width, 2))
    live.feed(np.full(push - 1, NO_EVENT))
    return live.read().ravel(), np.arange(case.spec.width) % 2


def distribution_of_small_noise(system: SystemUnderTest) -> Outcome:
    """Check every probability of the released value, for even and for odd counts.

    Args:
        system: the system under test.

    Returns:
        Four histograms against the exact distribution: two counts, two pushes.
    """

    def tested() -> Iterator[tuple[str, float]]:
        for push in (1, 2):
            table, counts = _read(system, SMALL, push=push)
            smallest, probabilities = SMALL.claimed_noise("haar").probabilities(push)
            for count in (0, 1):
                values = table[counts == count] - count
                yield f"count {count}, push {push}", histogram(values, smallest, probabilities)

    claim = "released - count has the exact distribution, for even and for odd counts"
    return statistical_outcome(claim, tested(), samples=2 * CELLS)


def parity_at_usual_noise(system: SystemUnderTest) -> Outcome:
    """Check that even and odd releases are equally frequent, for even and for odd counts.

    Args:
        system: the system under test.

    Returns:
        Two tests of a fair coin.
    """

    def tested() -> Iterator[tuple[str, float]]:
        table, counts = _read(system, USUAL, push=1)
        yield "integers", float(np.array_equal(table, np.rint(table)))
        for count in (0, 1):
            odd = int((np.mod(table[counts == count], 2) == 1).sum())
            yield f"count {count}", p_values.counts([odd, CELLS // 2 - odd], [0.5, 0.5])

    claim = "even and odd releases are equally frequent"
    return statistical_outcome(claim, tested(), samples=CELLS)


def low_bits_of_large_noise(system: SystemUnderTest) -> Outcome:
    """Check that the last four bits are uniform where sigma is about 10^9.

    Args:
        system: the system under test.

    Returns:
        Histograms of the release modulo 16 at several pushes.
    """

    def tested() -> Iterator[tuple[str, float]]:
        for push in (31, 32, 64):
            table, counts = _read(system, LARGE, push=push)
            yield "integers", float(np.array_equal(table, np.rint(table)))
            for count in (0, 1):
                last = np.mod(table[counts == count].astype(np.int64), _RESIDUES)
                seen = np.bincount(last, minlength=_RESIDUES)
                yield (
                    f"count {count}, push {push}",
                    p_values.counts(seen, np.full(_RESIDUES, 1 / _RESIDUES)),
                )

    claim = "the last four bits of a release are uniform"
    return statistical_outcome(claim, tested(), samples=3 * LARGE.spec.width)


def histogram(values: Table, smallest: int, probabilities: NDArray[np.float64]) -> float:
    """Return the p-value of integers under exact probabilities.

    Args:
        values: released values minus the count.
        smallest: the value of the first probability.
        probabilities: of the smallest value and those above it.

    Returns:
        See :func:`lazysketch.audit.p_values.counts`. Values rarer than 1e-12 form one
        class; values that are not integers have probability 0.
    """
    if not np.array_equal(values, np.rint(values)):
        return 0.0
    likely = probabilities > 1e-12
    low, high = int(likely.argmax()), likely.size - int(likely[::-1].argmax())
    at = values.astype(np.int64) - smallest
    inside = at[(at >= low) & (at < high)]
    seen = np.bincount(inside - low, minlength=high - low)
    rest = max(1e-15, 1.0 - probabilities[low:high].sum())
    return p_values.counts(
        np.append(seen, values.size - inside.size), np.append(probabilities[low:high], rest)
    )
