"""A model of counts of distinct items, with planted bugs. NOT PRIVATE.

The model adds the counts of its own rule to the releases of empty counts under the same key. That
is a release of those counts, bit for bit, because noise is rounded independently of the count.
Without a bug the model equals the library. Which items share a bit is read off the library.

Source: docs/theory.md, Theorem 23.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Final

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.counts_system import CountsLibrary, LibraryCounts, transcript
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Table
from lazysketch.specification.distinct import BIT_WEIGHT
from lazysketch.specification.schedules import Punctual
from lazysketch.testing import seeded_key

__all__ = ["DistinctBug", "DistinctModel", "bits_of", "set_bits"]

TRIED: Final = 40
"""Items whose bits are known; several of them share one."""


class DistinctBug(Enum):
    """A planted bug of counts of distinct items; the value is its description."""

    NO_MOVE = "noise for a bit that goes, not for one that moves"
    ONE_CHANGE = "noise for one change of a person who takes the place of another"
    EVENTS = "every event of a person counted"
    SHARED = "noise shared by two levels"
    SKIPPED = "noise skipped where no bit is set"


def bits_of(case: Case) -> tuple[tuple[int, int], ...]:
    """Return the level of each item, and the first item that has the same bit.

    Args:
        case: counts of distinct items, published at every step.

    Returns:
        For the items 0 to :data:`TRIED` - 1.
    """
    schedule = Punctual(horizon=TRIED)  # bits do not depend on what the noise is for
    return _bits_of(
        Case(replace(case.spec, schedule=schedule, mechanism="tree", relation="zero-out"))
    )


@cache
def _bits_of(case: Case) -> tuple[tuple[int, int], ...]:
    """Look whether an item adds to the counts when it comes after all earlier ones, and alone."""
    library = CountsLibrary()
    empty = transcript(library, case, [NO_EVENT] * TRIED)

    def counts(*items: int) -> Integers:
        found: Integers = transcript(library, case, items) - empty[: len(items)]
        return found

    adds = np.diff(counts(*range(TRIED)), axis=0, prepend=0)
    known: list[tuple[int, int]] = []
    for item in range(TRIED):
        is_first = bool(np.any(adds[item]))
        alone = counts(item)[0]
        level = int(np.flatnonzero(alone)[0])
        firsts = [first for at, first in set(known) if at == level and not is_first]
        known.append((level, next((one for one in firsts if _alike(counts(one, item))), item)))
    return tuple(known)


def _alike(counts: Integers) -> bool:
    """Whether a second item adds nothing."""
    return bool((counts[1] == counts[0]).all())


def set_bits(case: Case, events: Sequence[int]) -> Integers:
    """Return what the counts of all levels are after some events.

    Args:
        case: counts of distinct items.
        events: an item of each step, or ``NO_EVENT``.

    Returns:
        Shape (levels,); what a set bit adds, times their number.
    """
    known = bits_of(case)
    found = np.zeros(case.cells, dtype=np.int64)
    for level, _ in {known[item] for item in events if item != NO_EVENT}:
        found[level] += BIT_WEIGHT
    return found


class DistinctModel(ModelMaker[DistinctBug]):
    """A maker of model counts.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: Case, *, seed: int | None = None) -> _ModelCounts:
        """Return model counts: under a random seed, or under the key of a seed and one id."""
        return _ModelCounts(case, secrets.randbits(64) if seed is None else seed, self.bug)


class _ModelCounts:
    """Model counts, published at every step."""

    def __init__(self, case: Case, seed: int, bug: DistinctBug | None) -> None:
        """Make the empty counts that the noise comes from."""
        sigma = case.spec.noise.sigma
        if bug is DistinctBug.NO_MOVE:
            sigma /= 1.5
        elif bug is DistinctBug.ONE_CHANGE and case.spec.relation == "substitution":
            sigma /= 2
        self._case, self._bug = case, bug
        self._empty = LibraryCounts(case, seeded_key(seed), sigma=sigma)
        self.mechanism, self.sigma = self._empty.mechanism, sigma
        self.l2_sensitivity = self._empty.l2_sensitivity
        self._events: list[int] = []

    def feed(self, events: Sequence[int]) -> None:
        """Take one step per entry."""
        self._events += events
        self._empty.feed([NO_EVENT] * len(events))

    def read(self) -> Table:
        """Return the noise of the empty counts plus the model's own."""
        noise = np.array(self._empty.read(), dtype=np.int64)
        counts = set_bits(self._case, self._events)
        if self._bug is DistinctBug.EVENTS:
            known = bits_of(self._case)
            levels = [known[event][0] for event in self._events if event != NO_EVENT]
            counts = BIT_WEIGHT * np.bincount(np.array(levels, int), minlength=self._case.cells)
        elif self._bug is DistinctBug.SHARED:
            noise[1] = noise[0]
        elif self._bug is DistinctBug.SKIPPED:
            noise[counts == 0] = 0
        read: Integers = noise + counts
        return read
