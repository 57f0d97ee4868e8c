"""Discovery: Misra-Gries and the exact dictionary, thresholds, and the published names.

Algorithms 1 and 2 of C. Lebeda and J. Tetek, "Better Differentially Private Approximate Histograms
and Heavy Hitters using the Misra-Gries Sketch" (PODS 2023), line by line, and the thresholded
histogram of Korolova et al. (WWW 2009) with the probabilities of Desfontaines et al. (PETS 2022).
Names are published, never counts.

Bugs can be planted by name, to show that the tests detect them:

=========================  ==========================================================
``forget zeros``           a key whose count falls to zero is removed; no dummies
``no shared noise``        Misra-Gries with individual noise only
``sign bit``               noise as a sign and a magnitude, so that zero has two forms
``fingerprint``            items are distinguished by a hash that collides
``ask the sketch``         an item is also published if its cell in the sketch is heavy
``not cut``                the whole weight of an event counts, also above the largest that may
``a weight is a unit``     the law of exact counts takes each weight of 1 for an event
=========================  ==========================================================
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import mpmath

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

Key = Hashable
Row = tuple[Key, int]
Stream = tuple[Key | None, ...]
Real: TypeAlias = Any  # mpmath, which makes them, is untyped
mpmath.mp.dps = 60


@dataclass(frozen=True)
class Dummy:
    """A dummy key that no item can have; it is never published."""

    number: int


def misra_gries(
    stream: Iterable[Key],
    *,
    counters: int,
    order: Callable[[Key], SupportsRichComparison],
    bug: str | None = None,
) -> list[Row]:
    """Algorithm 1: the table after a stream."""
    # T <- k dummy keys, c <- 0
    keys: list[Key] = sorted((Dummy(i) for i in range(counters)), key=order)
    counts: list[int] = [0] * counters
    for x in stream:
        if x in keys:
            # x in T: c_x <- c_x + 1
            counts[keys.index(x)] += 1
        elif min(counts, default=1) >= 1 and len(keys) == counters:
            # all c_i >= 1: decrement all
            counts = [c - 1 for c in counts]
            if bug == "forget zeros":
                kept = [(key, c) for key, c in zip(keys, counts, strict=True) if c > 0]
                keys, counts = [key for key, _ in kept], [c for _, c in kept]
        elif bug == "forget zeros" and len(keys) < counters:
            keys.append(x)
            counts.append(1)
        else:
            # y <- the smallest key of T with c_y = 0; replace it by x, c_x <- 1
            zeros = [i for i, c in enumerate(counts) if c == 0]
            i = min(zeros, key=lambda i: order(keys[i]))
            keys[i], counts[i] = x, 1
    return list(zip(keys, counts, strict=True))


def dictionary(
    stream: Iterable[Key], *, fingerprint: Callable[[Key], Key] | None = None
) -> list[Row]:
    """Exact counts, by a hash of the items if one is given."""
    names: dict[Key, Key] = {}
    counts: dict[Key, int] = {}
    for x in stream:
        identity = x if fingerprint is None else fingerprint(x)
        names.setdefault(identity, x)
        counts[identity] = counts.get(identity, 0) + 1
    return [(names[identity], count) for identity, count in counts.items()]


def counted_weights(
    stream: Iterable[tuple[Key, int] | None], *, most: int, bug: str | None = None
) -> list[Key]:
    """Events with weights as single events: each as often as its weight, `most` times at most."""
    return [
        key
        for event in stream
        if event is not None
        for key, weight in [event]
        for _ in range(weight if bug == "not cut" else min(weight, most))
    ]


def in_units(rows: Iterable[Row], *, unit: int, bug: str | None = None) -> list[Row]:
    """Sums of weights in units of the law of exact counts, rounded up."""
    if bug == "a weight is a unit":
        return list(rows)
    return [(key, -(-count // unit)) for key, count in rows]


class Distribution:
    """A symmetric distribution of integer noise with finite support: probabilities and tails."""

    def __init__(self, probabilities: Sequence[Real]) -> None:
        """Take P(Z = z) for z = 0, 1, ..."""
        self.reach = len(probabilities) - 1
        self._at = [mpmath.mpf(p) for p in probabilities]
        tails, total = [], mpmath.mpf(0)
        for p in reversed(self._at):
            total += p
            tails.append(total)
        self._tails = tails[::-1]  # P(Z >= z) for z >= 0

    def at(self, z: int) -> Real:
        return self._at[abs(z)] if abs(z) <= self.reach else mpmath.mpf(0)

    def tail(self, x: int) -> Real:
        """P(Z >= x)."""
        if x > self.reach:
            return mpmath.mpf(0)
        if x >= 0:
            return self._tails[x]
        return 1 - self.tail(1 - x)


def drawn(digits: Sequence[int], *, bug: str | None = None) -> Distribution:
    """The exact distribution of the core's draws, from the thresholds of their binary digits.

    Digit i of a geometric variable is one with probability digits[i] / 2^128; the noise is the
    difference of two such variables. All sums are of integers, over the common denominator.
    """
    weights = [1]
    for threshold in digits:
        weights = [w * ((1 << 128) - threshold) for w in weights] + [w * threshold for w in weights]
    denominator = 1 << (256 * len(digits))
    last = len(weights) - 1
    if bug == "sign bit":
        one = mpmath.mpf(1) / (1 << (128 * len(digits)))
        return Distribution([weights[0] * one] + [w * one / 2 for w in weights[1:]])
    convolved = [
        sum(weights[j] * weights[j + z] for j in range(last - z + 1)) for z in range(last + 1)
    ]
    return Distribution([mpmath.mpf(c) / denominator for c in convolved])


Published = dict[frozenset[Key], Real]


def published(
    table: Sequence[Row], noise: Distribution, *, threshold: int, shared: bool
) -> Published:
    """Algorithm 2 with names only: the probability of every set of names."""
    rows = [(key, count) for key, count in table if not isinstance(key, Dummy)]
    sets: Published = {}
    levels = range(-noise.reach, noise.reach + 1) if shared else range(1)
    for level in levels:
        weight = noise.at(level) if shared else mpmath.mpf(1)
        passes = [noise.tail(threshold - count - level) for _, count in rows]
        _add_sets(sets, rows, passes, weight)
    return sets


def selected(table: Sequence[Row], probabilities: Sequence[int]) -> Published:
    """The probability of every set of names, by those of counts 0, 1, ... times 2^128."""
    sets: Published = {}
    last = len(probabilities) - 1
    passes = [mpmath.mpf(probabilities[min(count, last)]) / (1 << 128) for _, count in table]
    _add_sets(sets, table, passes, mpmath.mpf(1))
    return sets


def _add_sets(sets: Published, rows: Sequence[Row], passes: Sequence[Real], weight: Real) -> None:
    """Add the sets of names that are published independently."""
    for chosen in itertools.product((False, True), repeat=len(rows)):
        p = weight
        for passed, probability in zip(chosen, passes, strict=True):
            p = p * (probability if passed else 1 - probability)
        names = frozenset(key for (key, _), c in zip(rows, chosen, strict=True) if c)
        sets[names] = sets.get(names, mpmath.mpf(0)) + p


def hockey_stick(one: Published, other: Published, epsilon: float) -> Real:
    """The smallest delta for which (epsilon, delta)-privacy holds from `one` to `other`."""
    grown = mpmath.exp(epsilon)
    excess = (p - grown * other.get(names, 0) for names, p in one.items())
    return sum((e for e in excess if e > 0), mpmath.mpf(0))


def neighbours(
    length: int, universe: Sequence[Key], *, relation: str
) -> Iterable[tuple[Stream, Stream]]:
    """All pairs of streams of this length (None is an empty step) that differ in one step."""
    symbols = [*universe, None]
    for stream in itertools.product(symbols, repeat=length):
        for step, event in enumerate(stream):
            others = [None] if relation == "zero-out" else symbols
            for other in others:
                if other != event and event is not None:
                    yield stream, (*stream[:step], other, *stream[step + 1 :])
