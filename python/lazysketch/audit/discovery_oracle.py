"""Discovery by its definition: tables, noise, thresholds and probabilities of publication.

Nothing here is taken from the core. Exact counting and Misra-Gries are written line by line; the
probabilities of exact counts are a recursion in doubles; the noise of Misra-Gries is discrete
Laplace in closed form; thresholds are found by trying 1, 2, 3, ... The core draws at an epsilon
that is smaller by 2^-42, and its noise ends beyond e^-60: neither can be observed.

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

__all__ = ["Noise", "Selected", "Unit", "counted", "law_of", "summary", "unit_of"]

Sample = NDArray[np.float64]
_LARGEST: Final = 8.0  # epsilon of the noise is at most this


_RISING: Final = 1.25  # of exact counts, in halves of the epsilon of a substitution


@dataclass(frozen=True)
class Unit:
    """What one event more or less may cost, so that a person's events cost what is stated.

    Args:
        rising: epsilon by which a name may be published more often for one event more; in
            Misra-Gries, of the noise.
        falling: epsilon by which it may be missing more often for one event less; likewise.
        delta: largest probability that the name of a single event is published.
        steps: such events that one person changes.
        both: True if a step is one event less and another one more.
    """

    rising: float
    falling: float
    delta: float
    steps: int
    both: bool

    def total(self, delta: float) -> tuple[float, float]:
        """Return the guarantee for a person.

        Args:
            delta: probability that the name of a single event is published.

        Returns:
            The epsilon of all steps, and delta (1 + e^rising + ... + e^((steps - 1) rising)).
        """
        step = self.rising + self.falling if self.both else max(self.rising, self.falling)
        return step * self.steps, delta * sum(math.exp(i * self.rising) for i in range(self.steps))


def unit_of(epsilon: float, delta: float, *, relation: str, exact: bool, group: int) -> Unit:
    """Return the guarantee of one event that gives a person the stated one.

    Args:
        epsilon: privacy parameter of discovery.
        delta: privacy parameter of discovery.
        relation: the neighbouring relation.
        exact: True for exact counting, False for Misra-Gries.
        group: events of one person; in Misra-Gries, times the largest weight that is counted.

    Returns:
        The unit, as the table in docs/guarantees.md.

    Example:
        >>> unit = unit_of(1.0, 1e-6, relation="substitution", exact=True, group=1)
        >>> unit.rising, unit.falling, unit.delta
        (0.625, 0.375, 1e-06)
    """
    substitution = relation == "substitution"
    steps = group * (2 if substitution and not exact else 1)
    both = substitution and exact
    half = min(epsilon / (steps * (2 if both else 1)), _LARGEST)
    rising = min(half * (_RISING if both else 1.0), _LARGEST)
    falling = min(half * (2.0 - _RISING if both else 1.0), _LARGEST)
    grown = sum(math.exp(i * rising) for i in range(steps))
    return Unit(rising, falling, delta / grown, steps, both)


def _number(probabilities: Iterable[float]) -> Sample:
    """Return the distribution of the number of heads of independent coins."""
    found = np.ones(1)
    for p in probabilities:
        found = np.convolve(found, [1 - p, p])
    return found


class Selected:
    """The probability that a name is published, by its exact count.

    p(n + 1) is the smaller of e^rising p(n) + delta and 1 - e^-falling (1 - p(n)).

    Args:
        rising: epsilon of the first.
        falling: epsilon of the second.
        delta: the probability of a single event, at most.
    """

    def __init__(self, rising: float, falling: float, delta: float) -> None:
        """Compute all probabilities up to 1 - 1e-12."""
        self._of_counts = [0.0]
        while (p := self._of_counts[-1]) < 1 - 1e-12:
            grown = math.exp(rising) * p + delta
            self._of_counts.append(min(grown, 1 - math.exp(-falling) * (1 - p)))

    @property
    def threshold(self) -> int:
        """The smallest count that is published half of the time or more."""
        return next(count for count, p in enumerate(self._of_counts) if p >= 0.5)

    def published(self, count: int) -> float:
        """Return the probability that an item with this count is published."""
        return self._of_counts[min(count, len(self._of_counts) - 1)]

    def number_published(self, counts: Iterable[int]) -> Sample:
        """Return the distribution of the number of published names of an epoch.

        Args:
            counts: the counts of all items in the table.

        Returns:
            Probabilities of 0, 1, ... names.
        """
        return _number(self.published(count) for count in counts)


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

    def of_single(self, excess: int) -> float:
        """Return P(shared + max(Z, Z') >= excess), at most delta at the threshold less 1.

        Args:
            excess: what the noise has to reach.

        Returns:
            The probability.
        """
        terms = (self.probability(s) * (1 - (1 - self.tail(excess - s)) ** 2) for s in self.levels)
        return math.fsum(terms)


@dataclass(frozen=True)
class Shared:
    """How often names are published in Misra-Gries: each count has noise, and all share some.

    Args:
        noise: of every count, and shared.
        threshold: what a noisy count has to reach.
    """

    noise: Noise
    threshold: int

    def published(self, count: int) -> float:
        """Return the probability that an item with this count in the table is published."""
        noise, missing = self.noise, self.threshold - count
        return math.fsum(noise.probability(s) * noise.tail(missing - s) for s in noise.levels)

    def number_published(self, counts: Iterable[int]) -> Sample:
        """Return the distribution of the number of published names of an epoch.

        Args:
            counts: the counts of all items in the table.

        Returns:
            Probabilities of 0, 1, ... names.
        """
        missing = [self.threshold - count for count in counts]
        total = np.zeros(len(missing) + 1)
        for s in self.noise.levels:
            own = _number(self.noise.tail(each - s) for each in missing)
            total += own * self.noise.probability(s)
        result: Sample = total / total.sum()
        return result


def law_of(unit: Unit, *, exact: bool) -> Selected | Shared:
    """Return how often names are published, with the smallest threshold that serves a unit.

    Args:
        unit: guarantee of one event.
        exact: True for exact counting, False for Misra-Gries.

    Returns:
        The law.

    Example:
        >>> unit = unit_of(1.0, 1e-6, relation="substitution", exact=True, group=1)
        >>> law_of(unit, exact=True).threshold
        21
    """
    if exact:
        return Selected(unit.rising, unit.falling, unit.delta)
    noise, threshold = Noise(unit.rising), 1
    while noise.of_single(threshold - 1) > unit.delta:
        threshold += 1
    return Shared(noise, threshold)


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
