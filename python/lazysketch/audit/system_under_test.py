"""The makers of tables to audit: the installed library, or a model with a planted bug.

A check uses a system only through this interface: open a table under a key, feed it, read it. The
library's tables are those of the public classes; thousands of tables share one calibration, which
depends on public parameters only.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lazysketch import testing
from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.schedule_model import Integers
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable

__all__ = ["Library", "LibraryTable", "LiveTable", "SystemUnderTest", "Table", "sketch_of"]

# What is read from a table: integers, or the floats of a planted bug.
Table = NDArray[np.int64] | NDArray[np.float64]


class LiveTable(Protocol):
    """One table that takes events and can be read."""

    @property
    def mechanism(self) -> str:
        """The stated mechanism."""

    @property
    def sigma(self) -> float:
        """The stated standard deviation of a draw."""

    def feed(self, items: Integers, *, weight: int = 1) -> None:
        """Take one step per entry: an item, or ``NO_EVENT``."""

    def feed_batch(self, items: Integers) -> None:
        """Take one step with all of the items, under the batch schedule."""

    def finish(self) -> None:
        """Publish everything, as the last step."""

    def read(self) -> Table:
        """Return the public table at this step; a table that is not of integers is a bug."""

    def draws(self, cells: list[int], nodes: list[int]) -> Integers:
        """Return the draws of nodes of cells; under a seeded key only."""


class SystemUnderTest(Protocol):
    """A maker of tables."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(
        self,
        case: Case,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> LiveTable:
        """Return a table: under a fresh secret key, or under the key of a seed and an id."""


@dataclass(frozen=True)
class LibraryTable:
    """A live private table of the library."""

    sketch: PrivateTable

    @property
    def mechanism(self) -> str:
        """The stated mechanism."""
        return self.sketch.mechanism.name

    @property
    def sigma(self) -> float:
        """The stated standard deviation of a draw."""
        return self.sketch.sigma

    def feed(self, items: Integers, *, weight: int = 1) -> None:
        """Take one step per entry: runs of events and runs of ticks, in turn."""
        if not items.size:
            return
        idle = items == NO_EVENT
        edges = np.flatnonzero(idle[1:] != idle[:-1]) + 1
        batches = self.sketch.schedule.name == "batch"
        for start, end in pairwise([0, *edges.tolist(), items.size]):
            run = items[start:end]
            if run[0] == NO_EVENT:
                self.sketch.tick(int(run.size))
            elif batches:
                for item in run:
                    self.sketch.update_batch([int(item)], [weight])
            elif weight == 1:
                self.sketch.update_many(run)
            else:
                self.sketch.update_many(run, np.full(run.size, weight))

    def feed_batch(self, items: Integers) -> None:
        """Take one step with all of the items, under the batch schedule."""
        self.sketch.update_batch(items)

    def finish(self) -> None:
        """Publish everything, as the last step."""
        self.sketch.finish()

    def read(self) -> Table:
        """Return the public table at this step."""
        return self.sketch._release().table

    def draws(self, cells: list[int], nodes: list[int]) -> Integers:
        """Return the draws of nodes of cells."""
        return testing.draws(self.sketch, cells, nodes)


class Library:
    """The installed library."""

    name = "lazysketch"

    def open(
        self,
        case: Case,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> LibraryTable:
        """Return a table with the arguments of the public class."""
        if seed is None:
            return LibraryTable(sketch_of(case, hash_seed, Key.generate()))
        chosen = secrets.token_bytes(16) if sketch_id is None else sketch_id
        key = testing.seeded_key(seed, sketch_id=chosen)
        return LibraryTable(sketch_of(case, hash_seed, key))


def sketch_of(case: Case, hash_seed: int, key: Key, *, sigma: float | None = None) -> PrivateTable:
    """Return a sketch of a case, with the calibration that its description already has.

    Args:
        case: the description of the sketch.
        hash_seed: public seed of the hash.
        key: the key of the sketch.
        sigma: a wrong standard deviation of the draws, for planted bugs.

    Returns:
        The sketch of ``case.make``, without the millisecond of another calibration.
    """
    spec = case.spec.with_hash_seed(0 if case.spec.kind == "counters" else hash_seed)
    if sigma is not None:  # a value that TableSpec itself would not compute
        object.__setattr__(spec, "noise", replace(spec.noise, sigma=sigma))
    return case.owner.from_spec(spec, key=key)
