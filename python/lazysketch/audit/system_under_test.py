"""Whatever makes tables to be audited: the installed library, or a model with a planted bug.

A check sees a subject only through this face: open a table under a key, feed it, read it. The
library's tables are made by the public classes; those of a run with thousands of tables repeat the
calibration of the first, which depends on public parameters only.
"""

from __future__ import annotations

import secrets
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lazysketch import testing
from lazysketch.audit.configuration import NO_EVENT, Configuration
from lazysketch.audit.schedule_model import Integers
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.table_spec import TableSpec

__all__ = ["Library", "Machine", "SketchMachine", "Subject"]

Table = NDArray[Any]


class Machine(Protocol):
    """One table."""

    @property
    def mechanism(self) -> str:
        """The mechanism that it states."""

    @property
    def sigma(self) -> float:
        """The standard deviation of a draw that it states."""

    def feed(self, items: Integers, *, weight: int = 1) -> None:
        """Take one step per entry: an item, or ``NO_EVENT``."""

    def together(self, items: Integers) -> None:
        """Take one step with all of the items, under the batch schedule."""

    def read(self) -> Table:
        """Return the public table now; integers, or it is wrong."""

    def draws(self, cells: list[int], nodes: list[int]) -> Integers:
        """Return the draws of nodes of cells; under a seeded key only."""


class Subject(Protocol):
    """Makes tables."""

    @property
    def name(self) -> str:
        """What is audited."""

    def open(
        self,
        configuration: Configuration,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> Machine:
        """Return a table: under a fresh secret key, or under a seed and an id of its own."""


@dataclass(frozen=True)
class SketchMachine:
    """A live private table of the library."""

    sketch: PrivateTable

    @property
    def mechanism(self) -> str:
        """The mechanism that it states."""
        return self.sketch.mechanism.name

    @property
    def sigma(self) -> float:
        """The standard deviation that it states."""
        return self.sketch.sigma

    def feed(self, items: Integers, *, weight: int = 1) -> None:
        """Take one step per entry: runs of events and runs of ticks, in turn."""
        edges = np.flatnonzero(np.diff(items == NO_EVENT)) + 1
        batches = self.sketch.schedule.name == "batch"
        for run in np.split(items, edges) if items.size else []:
            if run[0] == NO_EVENT:
                self.sketch.tick(int(run.size))
            elif batches:
                for item in run:
                    self.sketch.update_batch([int(item)], [weight])
            elif weight == 1:
                self.sketch.update_many(run)
            else:
                self.sketch.update_many(run, np.full(run.size, weight))

    def together(self, items: Integers) -> None:
        """Take one step with all of the items, under the batch schedule."""
        self.sketch.update_batch(items)

    def read(self) -> Table:
        """Return the public table now."""
        return self.sketch._release().table

    def draws(self, cells: list[int], nodes: list[int]) -> Integers:
        """Return the draws of nodes of cells."""
        return testing.draws(self.sketch, cells, nodes)


class Library:
    """The installed library."""

    name = "lazysketch"

    def open(
        self,
        configuration: Configuration,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> SketchMachine:
        """Return a table made as the public class makes it."""
        if seed is None:
            return SketchMachine(again(configuration, hash_seed, Key.generate()))
        chosen = secrets.token_bytes(16) if sketch_id is None else sketch_id
        key = testing.seeded_key(seed, sketch_id=chosen)
        return SketchMachine(again(configuration, hash_seed, key))


def again(
    configuration: Configuration, hash_seed: int, key: Key, *, sigma: float | None = None
) -> PrivateTable:
    """Return one more sketch of a configuration, without calibrating again.

    Args:
        configuration: what was calibrated.
        hash_seed: public seed of the hash.
        key: the key of this one.
        sigma: standard deviation of the draws of a planted bug; None for the right one.

    Returns:
        The same class, made of the same values.
    """
    owner, spec = _described(configuration)
    seed = 0 if configuration.kind == "counters" else hash_seed
    # Not dataclasses.replace, which would calibrate again.
    described = copy(spec)
    object.__setattr__(described, "hash_seed", seed)
    if sigma is not None:
        object.__setattr__(described, "noise", replace(spec.noise, sigma=sigma))
    return owner.from_spec(described, key=key)


@cache
def _described(configuration: Configuration) -> tuple[type[PrivateTable], TableSpec]:
    """Return the class of a configuration, and its description."""
    with configuration.make() as sketch:
        return type(sketch), sketch.spec
