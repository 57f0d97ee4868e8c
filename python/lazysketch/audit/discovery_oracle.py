"""Discovery by its definition: tables, noise, thresholds and probabilities of publication.

Nothing here is taken from the core. Exact counting and Misra-Gries are written line by line; the
noise is discrete Laplace in closed form; thresholds are found by trying 1, 2, 3, ... The core draws
at an epsilon that is smaller by 2^-42, and its noise ends beyond e^-60: neither can be observed.

Sources: docs/guarantees.md, "Item discovery"; docs/theory.md, Theorems 9 to 11; C. Lebeda and
J. Tetek, PODS 2023, Algorithms 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Noise", "Unit", "counted", "summary", "threshold_of", "unit_of"]

Sample = NDArray[np.float64]
_LARGEST: Final = 8.0  # epsilon of the noise is at most this


@dataclass(frozen=True)
class Unit:
    """What one event more or less may cost, so that a person's events cost what is stated.

    Args:
        epsilon: epsilon of the noise.
        delta: largest probability that the name of a single event is published.
        steps: such events that one person changes.
        halves: 2 if a substitution is one step at twice the epsilon.
    """

    epsilon: float
    delta: float
    steps: int
    halves: int

    def total(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the guarantee for a person, if one step has this epsilon and delta.

        Args:
            epsilon: epsilon of the noise.
            delta: probability that the name of a single event is published.

        Returns:
            steps of (e, d) are (steps e, d (1 + e^e + ... + e^((steps - 1) e))).
        """
        step = epsilon * self.halves
        return step * self.steps, delta * sum(math.exp(i * step) for i in range(self.steps))


def unit_of(epsilon: float, delta: float, *, relation: str, exact: bool, group: int) -> Unit:
    """Return the guarantee of one event that gives a person the stated one.

    Args:
        epsilon: privacy parameter of discovery.
        delta: privacy parameter of discovery.
        relation: the neighbouring relation.
        exact: True for exact counting, False for Misra-Gries.
        group: events of one person, times the largest weight if weights are counted.

    Returns:
        The unit, as the table in docs/guarantees.md.

    Example:
        >>> unit = unit_of(1.0, 1e-6, relation="substitution", exact=True, group=1)
        >>> unit.epsilon, unit.delta
        (0.5, 1e-06)
    """
    substitution = relation == "substitution"
    steps = group * (2 if substitution and not exact else 1)
    halves = 2 if substitution and exact else 1
    noise = min(epsilon / (steps * halves), _LARGEST)
    grown = sum(math.exp(i * noise * halves) for i in range(steps))
    return Unit(noise, delta / grown, steps, halves)


@dataclass(frozen=True)
class Noise:
    """Discrete Laplace noise: P(Z = z) proportional to e^(-epsilon |z|).

    Args:
        epsilon: its parameter.
    """

    epsilon: float

    def tail(self, x: int) -> float:
        """Return P(Z >= x)."""
        ratio = math.exp(-self.epsilon)
        return ratio**x / (1 + ratio) if x >= 0 else 1 - ratio ** (1 - x) / (1 + ratio)

    def probability(self, x: int) -> float:
        """Return P(Z = x)."""
        ratio = math.exp(-self.epsilon)
        return (1 - ratio) / (1 + ratio) * ratio ** abs(x)

    @property
    def levels(self) -> range:
        """The values of the shared noise; others have a probability below e^-45."""
        reach = math.ceil(45 / self.epsilon)
        return range(-reach, reach + 1)

    def of_single(self, excess: int, *, exact: bool) -> float:
        """Return the probability that is at most delta at ``excess`` = threshold - 1.

        Args:
            excess: what the noise has to reach.
            exact: True for P(Z >= excess), False for P(shared + max(Z, Z') >= excess).

        Returns:
            The probability.
        """
        if exact:
            return self.tail(excess)
        terms = (self.probability(s) * (1 - (1 - self.tail(excess - s)) ** 2) for s in self.levels)
        return math.fsum(terms)

    def published(self, count: int, threshold: int, *, exact: bool) -> float:
        """Return the probability that an item with this count is published.

        Args:
            count: its count in the table at the end of the epoch, above 0.
            threshold: what the noisy count has to reach.
            exact: False if all counts share a draw in addition to their own.

        Returns:
            The probability.
        """
        if exact:
            return self.tail(threshold - count)
        return math.fsum(
            self.probability(s) * self.tail(threshold - count - s) for s in self.levels
        )

    def number_published(self, counts: Iterable[int], threshold: int, *, exact: bool) -> Sample:
        """Return the distribution of the number of published names of an epoch.

        Args:
            counts: the counts of all items in the table.
            threshold: what a noisy count has to reach.
            exact: False if all counts share a draw in addition to their own.

        Returns:
            Probabilities of 0, 1, ... names.
        """
        rows = list(counts)
        total = np.zeros(len(rows) + 1)
        for shared in (0,) if exact else self.levels:
            found = np.ones(1)
            for count in rows:
                p = self.tail(threshold - count - shared)
                found = np.convolve(found, [1 - p, p])
            total += found * (1.0 if exact else self.probability(shared))
        result: Sample = total / total.sum()
        return result


def threshold_of(epsilon: float, delta: float, *, exact: bool) -> int:
    """Return the smallest threshold that serves a unit.

    Args:
        epsilon: epsilon of the noise.
        delta: largest probability that the name of a single event is published.
        exact: True for exact counting, False for Misra-Gries.

    Returns:
        At least 1.

    Example:
        >>> threshold_of(0.5, 1e-6, exact=True)
        28
    """
    noise, threshold = Noise(epsilon), 1
    while noise.of_single(threshold - 1, exact=exact) > delta:
        threshold += 1
    return threshold


Row = tuple[Hashable, int]


def counted(events: Iterable[Hashable]) -> list[Row]:
    """Return exact counts.

    Args:
        events: keys of items.

    Returns:
        Keys and counts.
    """
    counts: dict[Hashable, int] = {}
    for key in events:
        counts[key] = counts.get(key, 0) + 1
    return list(counts.items())


def summary(
    events: Iterable[Hashable],
    *,
    dummies: Iterable[Hashable],
    order: Callable[[Hashable], int],
    forget_zeros: bool = False,
) -> list[Row]:
    """Return the table of Misra-Gries (Lebeda and Tetek, Algorithm 1).

    Args:
        events: keys of items.
        dummies: as many keys as there are slots, none of them of an item.
        order: the fixed total order by which keys at zero are replaced.
        forget_zeros: planted: keys whose count falls to zero become dummies of count zero at once.

    Returns:
        Keys and counts of all slots.
    """
    keys = sorted(dummies, key=order)
    fresh = list(keys)
    counts = [0] * len(keys)
    slots = {key: slot for slot, key in enumerate(keys)}
    for key in events:
        slot = slots.get(key)
        if slot is not None:
            counts[slot] += 1
        elif min(counts) >= 1:
            counts = [count - 1 for count in counts]
            if forget_zeros:
                for slot in (at for at, count in enumerate(counts) if count == 0):
                    del slots[keys[slot]]
                    keys[slot] = fresh[slot]
                    slots[fresh[slot]] = slot
        else:
            zeros = (at for at, count in enumerate(counts) if count == 0)
            slot = min(zeros, key=lambda at: order(keys[at]))
            del slots[keys[slot]]
            keys[slot], counts[slot], slots[key] = key, 1, slot
    return list(zip(keys, counts, strict=True))
