"""Counts of distinct items, of values and of ranges of keys, under test: the installed library.

All publish a table whose cells are not those of items: levels of bits, nodes over bins, or halves
of nodes over keys. Models with planted bugs are in :mod:`lazysketch.audit.distinct_model`,
:mod:`lazysketch.audit.values_model` and :mod:`lazysketch.audit.ranges_model`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Table
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.keys import Key
from lazysketch.sketches.ranges import Ranges
from lazysketch.testing import seeded_key

__all__ = ["CountsLibrary", "CountsSystem", "LiveCounts", "transcript"]


class LiveCounts(Protocol):
    """Counts that take events and can be read."""

    @property
    def mechanism(self) -> str:
        """The stated mechanism."""

    @property
    def sigma(self) -> float:
        """The stated standard deviation of a draw."""

    @property
    def l2_sensitivity(self) -> float:
        """The stated distance of neighbours in all noisy queries."""

    def feed(self, events: Sequence[int]) -> None:
        """Take one step per entry: an item, a value or a key, or ``NO_EVENT``."""

    def read(self) -> Table:
        """Return the public table of shape (cells,)."""


class CountsSystem(Protocol):
    """A maker of counts."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(self, case: Case, *, seed: int | None = None) -> LiveCounts:
        """Return counts: under a fresh secret key, or under the key of a seed and one id."""


_OWNERS: Final[Mapping[str, type[DistinctCount | Distribution | Ranges]]] = {
    "distinct": DistinctCount,
    "values": Distribution,
    "ranges": Ranges,
}


class LibraryCounts:
    """Counts of the library.

    Args:
        case: of kind ``"distinct"``, ``"values"`` or ``"ranges"``.
        key: the key.
        sigma: a wrong standard deviation of the draws, for planted bugs.
    """

    def __init__(self, case: Case, key: Key, *, sigma: float | None = None) -> None:
        """Make the counts with the calibration that their description already has."""
        spec = replace(case.spec)  # planted bugs change this one only
        if sigma is not None:  # a value that TableSpec itself would not compute
            object.__setattr__(spec, "noise", replace(spec.noise, sigma=sigma))
        self._live = _OWNERS[spec.kind].from_spec(spec, key=key)
        privacy = self._live.privacy
        self.mechanism, self.sigma = self._live.mechanism.name, privacy.sigma
        self.l2_sensitivity = privacy.l2_sensitivity

    def feed(self, events: Sequence[int]) -> None:
        """Take one step per entry: runs of events and runs of empty steps, in turn."""
        for is_empty, run in itertools.groupby(events, key=lambda event: event == NO_EVENT):
            steps = list(run)
            if is_empty:
                self._live.tick(len(steps))
            else:
                self._live.update_many(steps)

    def read(self) -> Table:
        """Return the public table."""
        return self._live._table._release().table.ravel()


class CountsLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(self, case: Case, *, seed: int | None = None) -> LibraryCounts:
        """Return counts of the public class."""
        return LibraryCounts(case, Key.generate() if seed is None else seeded_key(seed))


def transcript(system: CountsSystem, case: Case, events: Sequence[int]) -> Integers:
    """Return the releases after every step under one seeded key.

    Args:
        system: the system under test.
        case: the counts.
        events: an item or a value of each step, or ``NO_EVENT``.

    Returns:
        Shape (steps, cells). Two of them differ by exactly the difference of the counts.
    """
    live = system.open(case, seed=1)
    rows = []
    for event in events:
        live.feed([event])
        rows.append(np.asarray(live.read()))
    found: Integers = np.array(rows).astype(np.int64)
    return found
