"""A slow, readable re-implementation of the release path, with one switchable bug.

Counts, schedule, weights, sum and rounding are computed here from their definitions; the raw draws
come from ``lazysketch.testing.draws``. Without a bug it equals the library bit for bit, which is
one of the checks. With a bug it is a negative control: a check that lets it pass is worth
nothing. Costs about 1 ms per read of a small table; NOT PRIVATE.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from lazysketch import testing
from lazysketch.audit.configuration import NO_EVENT, Configuration, places
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import strategy
from lazysketch.audit.system_under_test import Table, again
from lazysketch.sketches.private_table import PrivateTable

__all__ = ["Bug", "Model"]


class Bug(Enum):
    """A planted bug; the value says what is wrong."""

    SMALL_SIGMA = "sigma too small by 10 %"
    LARGE_SIGMA = "sigma too large by 10 %"
    HALF_SENSITIVITY = "2 d for 4 d"
    LEVEL = "one level fewer"
    VARIANCE = "variance for standard deviation"
    SHARED_NODES = "noise shared by two nodes"
    SHARED_CELLS = "noise shared by two cells"
    SKIPPED = "noise skipped where a count is zero"
    TRUNCATED = "32-bit truncation of an index"
    WRAPPING = "counter that wraps"
    FLOAT = "float release, not rounded"
    SINGLE_PRECISION = "float release, summed in 32 bits"
    FRESH = "fresh noise on replay"
    LAG = "lag of one push"
    HALF_EVEN = "half-even rounding"
    HALF_AWAY = "half-away rounding"
    NO_ID = "working key without the sketch id"


@dataclass(frozen=True)
class Model:
    """Makes model tables.

    Args:
        bug: what is wrong with them, or None.
    """

    bug: Bug | None = None

    @property
    def name(self) -> str:
        """What is audited."""
        return f"planted: {self.bug.value}" if self.bug else "model without a bug"

    def open(
        self,
        configuration: Configuration,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> ModelMachine:
        """Return a model table: under a random seed, or under a seed and an id of its own."""
        seed = secrets.randbits(64) if seed is None else seed
        chosen = secrets.token_bytes(16) if sketch_id is None else sketch_id
        return ModelMachine(configuration, hash_seed, seed, chosen, self.bug)


@dataclass
class ModelMachine:
    """A model table."""

    configuration: Configuration
    hash_seed: int
    seed: int
    sketch_id: bytes
    bug: Bug | None
    step: int = 0
    events: list[tuple[int, int, int]] = field(default_factory=list)  # step, item, weight

    def __post_init__(self) -> None:
        """Fix sigma, wrong where that is the bug, and the source of the draws."""
        sound = self._source()
        self.mechanism = sound.mechanism.name
        self.strategy = strategy(self.mechanism, self.configuration.leaves)
        self.sigma = sound.sigma  # stated; wrong only where the calibration is
        drawn = sound.sigma * self._sigma_factor(sound.sigma)
        if self.bug in (Bug.HALF_SENSITIVITY, Bug.LEVEL):
            self.sigma = drawn
        self._drawn = drawn
        self._draws_of = sound if drawn == sound.sigma else self._source(sigma=drawn)

    def _source(self, sigma: float | None = None) -> PrivateTable:
        chosen = bytes(16) if self.bug is Bug.NO_ID else self.sketch_id
        key = testing.seeded_key(self.seed, sketch_id=chosen)
        return again(self.configuration, self.hash_seed, key, sigma=sigma)

    def _sigma_factor(self, sigma: float) -> float:
        """How much too large the draws are."""
        if self.bug is Bug.LEVEL:
            fewer = strategy(self.mechanism, max(1, self.strategy.nodes // 2))
            return math.sqrt(fewer.sensitivity2 / self.strategy.sensitivity2)
        factors = {
            Bug.SMALL_SIGMA: 0.9,
            Bug.LARGE_SIGMA: 1.1,
            Bug.HALF_SENSITIVITY: math.sqrt(0.5),
            Bug.VARIANCE: 1 / math.sqrt(sigma),
        }
        return factors.get(self.bug, 1.0) if self.bug else 1.0

    def feed(self, items: Integers, *, weight: int = 1) -> None:
        """Take one step per entry."""
        steps = enumerate(items.tolist(), start=self.step + 1)
        self.events += [(step, item, weight) for step, item in steps if item != NO_EVENT]
        self.step += len(items)

    def together(self, items: Integers) -> None:
        """Take one step with all of the items."""
        self.step += 1
        self.events += [(self.step, item, 1) for item in items.tolist()]

    def read(self) -> Table:
        """Return the public table now: published + floor(noise + 1/2), cell by cell."""
        if self.bug is Bug.FRESH:
            self.sketch_id = secrets.token_bytes(16)
            self._draws_of = self._source()
        pushes, last = self.configuration.progress(self.step)
        published = self._published(pushes, last)
        table = np.zeros(published.shape, dtype=np.float64 if self.bug is Bug.FLOAT else np.int64)
        for push in np.unique(pushes[pushes > 0]):
            columns = np.flatnonzero(pushes == push)
            rows = np.arange(self.configuration.depth)[:, None]
            cells = (rows * self.configuration.width + columns).ravel().tolist()
            noise = self._noise(cells, int(push)).reshape(len(rows), columns.size)
            table[:, columns] = published[:, columns] + noise
        if self.bug is Bug.SKIPPED:
            table = np.where(published == 0, 0, table)
        return table

    def _published(self, pushes: Integers, last: Integers) -> Integers:
        if self.bug is Bug.LAG:
            ends = [self.configuration.end_of_round(p - 1) if p > 1 else 0 for p in pushes]
            last = np.array([self.configuration.progress(end)[1][j] for j, end in enumerate(ends)])
        table = np.zeros((self.configuration.depth, self.configuration.width), dtype=np.int64)
        if self.events:
            steps, items, weights = np.array(self.events).T
            kinds, of = np.unique(items, return_inverse=True)
            cells = np.array([places(self.configuration, self.hash_seed, int(i)) for i in kinds])
            for row, column, sign in np.moveaxis(cells[of], 0, -1):
                carried = steps <= last[column]
                np.add.at(table, (row[carried], column[carried]), (sign * weights)[carried])
        if self.bug is Bug.WRAPPING:
            table = table.astype(np.int32).astype(np.int64)
        return table

    def _noise(self, cells: list[int], push: int) -> Any:
        weights, den = self.strategy.weights(push), self.strategy.denominator(push)
        numerators = [int(weight * den) for weight in weights.values()]
        drawn = self.draws(cells, list(weights))
        room = 2 * sum(map(abs, numerators)) * (13.2 * self._drawn + 1) + den
        exact: Any = np.int64 if room < 2**62 else object
        total = (drawn.astype(exact) * np.array(numerators, dtype=exact)).sum(axis=1)
        if self.bug is Bug.FLOAT:
            return total.astype(np.float64) / den
        if self.bug is Bug.SINGLE_PRECISION:
            return np.floor(total.astype(np.float32) / np.float32(den) + np.float32(0.5))
        if self.bug is Bug.HALF_EVEN:
            down, rest = total // den, total % den
            return down + (2 * rest > den) + ((2 * rest == den) & (down % 2 == 1))
        if self.bug is Bug.HALF_AWAY:
            return np.where(total < 0, -1, 1) * ((2 * np.abs(total) + den) // (2 * den))
        return (2 * total + den) // (2 * den)

    def draws(self, cells: list[int], nodes: list[int]) -> Integers:
        """Return the draws of nodes of cells, mixed up where that is the bug."""
        if self.bug is Bug.SHARED_CELLS:
            cells = [0 if cell == 1 else cell for cell in cells]
        if self.bug is Bug.SHARED_NODES:
            nodes = [2 if node == 3 else node for node in nodes]
        if self.bug is Bug.TRUNCATED:
            nodes = [node % 2**32 or 2**32 for node in nodes]
        return testing.draws(self._draws_of, cells, nodes)
