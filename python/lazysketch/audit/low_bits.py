"""Precision attack: what the low bits of a release tell about the count.

Three looks. (1) Noise so small that every probability of the released value can be computed,
at the pushes where exact halves occur, and for neighbouring counts: the law must be the same,
shifted by one. (2) Parity at usual noise, for even and odd counts. (3) The last four bits where
the noise is so large that a float would have lost them. A release that is not an integer fails
at once.

Sees: half-even and half-away rounding (no variance does), a "-0" drawn again, floats in the sum.
Source: Mironov 2012 (the attack); docs/theory.md for the rounding that commutes with counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.configuration import NO_EVENT, Configuration
from lazysketch.audit.finding import Outcome, worst
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Subject, Table
from lazysketch.specification.schedules import Batch

__all__ = ["law_of_small_noise", "low_bits_of_large_noise", "parity_at_usual_noise"]

CELLS = 2**16
# The one mechanism with exact halves at a public push: n/2, one draw in twelve.
SMALL = Configuration(
    "counters",
    depth=1,
    width=CELLS,
    schedule=Batch(horizon=2),
    epsilon=8.0,
    relation="zero-out",
    mechanism="haar",
)
USUAL = replace(SMALL, epsilon=0.1, relation="substitution")
LARGE = Configuration(
    "counters",
    depth=1,
    width=2**13,
    schedule=Batch(horizon=64),
    epsilon=0.5,
    mechanism="haar",
    max_weight=2**22,
)
_BITS = 16  # the last four


def _read(subject: Subject, configuration: Configuration, *, push: int) -> tuple[Table, Integers]:
    """A read at a push, and the exact counts: 0, 1, 0, 1, ..."""
    machine = subject.open(configuration, hash_seed=0)
    machine.together(np.arange(1, configuration.width, 2))
    machine.feed(np.full(push - 1, NO_EVENT))
    return machine.read().ravel(), np.arange(configuration.width) % 2


def law_of_small_noise(subject: Subject) -> Outcome:
    """Check every probability of the released value, for even and for odd counts.

    Args:
        subject: what makes the table.

    Returns:
        Four histograms against the exact law: two counts, two pushes.
    """

    def tested() -> Iterator[tuple[str, float]]:
        for push in (1, 2):
            table, counts = _read(subject, SMALL, push=push)
            smallest, law = SMALL.claim("haar").probabilities(push)
            for count in (0, 1):
                values = table[counts == count] - count
                yield f"count {count}, push {push}", histogram(values, smallest, law)

    claim = "count + noise of the exact law, whatever the count"
    return worst(claim, tested(), samples=2 * CELLS)


def parity_at_usual_noise(subject: Subject) -> Outcome:
    """Check that even and odd releases are equally frequent, for even and for odd counts.

    Args:
        subject: what makes the table.

    Returns:
        Two coins.
    """

    def tested() -> Iterator[tuple[str, float]]:
        table, counts = _read(subject, USUAL, push=1)
        yield "integers", float(np.array_equal(table, np.rint(table)))
        for count in (0, 1):
            odd = int((np.mod(table[counts == count], 2) == 1).sum())
            yield f"count {count}", p_values.counts([odd, CELLS // 2 - odd], [0.5, 0.5])

    claim = "even and odd releases are equally frequent"
    return worst(claim, tested(), samples=CELLS)


def low_bits_of_large_noise(subject: Subject) -> Outcome:
    """Check that the last four bits are uniform where sigma is about 10^9.

    Args:
        subject: what makes the table.

    Returns:
        Histograms of the release modulo 16 at several pushes.
    """

    def tested() -> Iterator[tuple[str, float]]:
        for push in (31, 32, 64):
            table, counts = _read(subject, LARGE, push=push)
            yield "integers", float(np.array_equal(table, np.rint(table)))
            for count in (0, 1):
                last = np.mod(table[counts == count].astype(np.int64), _BITS)
                seen = np.bincount(last, minlength=_BITS)
                yield (
                    f"count {count}, push {push}",
                    p_values.counts(seen, np.full(_BITS, 1 / _BITS)),
                )

    claim = "the last four bits of a release are uniform"
    return worst(claim, tested(), samples=3 * LARGE.width)


def histogram(values: Table, smallest: int, law: NDArray[np.float64]) -> float:
    """Return the p-value of integers under exact probabilities.

    Args:
        values: what was released.
        smallest: the value of the first probability.
        law: the probabilities.

    Returns:
        See :func:`lazysketch.audit.p_values.counts`. Values rarer than 1e-12 are one class; those
        that are not integers have probability 0.
    """
    if not np.array_equal(values, np.rint(values)):
        return 0.0
    likely = law > 1e-12
    low, high = int(likely.argmax()), law.size - int(likely[::-1].argmax())
    at = values.astype(np.int64) - smallest
    inside = at[(at >= low) & (at < high)]
    seen = np.bincount(inside - low, minlength=high - low)
    rest = max(1e-15, 1.0 - law[low:high].sum())
    return p_values.counts(
        np.append(seen, values.size - inside.size), np.append(law[low:high], rest)
    )
