"""A slow, readable re-implementation of the release path, with one switchable bug.

Counts, schedule, weights, sum and rounding are computed here from their definitions; the raw draws
come from ``lazysketch.testing.draws``. Without a bug the model equals the library bit for bit,
which is itself a check. With a bug it is a negative control: every check has to raise an alarm on
some bug. Cost: about 1 ms per read of a small table. NOT PRIVATE.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from lazysketch import testing
from lazysketch.audit.case import NO_EVENT, Case, places
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import strategy
from lazysketch.audit.system_under_test import Table, sketch_of
from lazysketch.sketches.private_table import PrivateTable

__all__ = ["Bug", "Model"]


class Bug(Enum):
    """A planted bug; the value is its description."""

    SMALL_SIGMA = "sigma too small by 10 %"
    LARGE_SIGMA = "sigma too large by 10 %"
    HALF_SENSITIVITY = "2 d instead of 4 d"
    LEVEL = "one level too few"
    VARIANCE = "variance instead of standard deviation"
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
    OLD_LEAF = "final push on an old leaf"
    TWO_ENDS = "final push twice"
    EARLY = "single schedule published early"


class Model(ModelMaker[Bug]):
    """A maker of model tables.

    Args:
        bug: the bug of the tables, or None.
    """

    def open(
        self,
        case: Case,
        *,
        hash_seed: int,
        seed: int | None = None,
        sketch_id: bytes | None = None,
    ) -> ModelTable:
        """Return a model table: under a random seed, or under the key of a seed and an id."""
        seed = secrets.randbits(64) if seed is None else seed
        chosen = secrets.token_bytes(16) if sketch_id is None else sketch_id
        return ModelTable(case, hash_seed, seed, chosen, self.bug)


@dataclass
class ModelTable:
    """A model table."""

    case: Case
    hash_seed: int
    seed: int
    sketch_id: bytes
    bug: Bug | None
    step: int = 0
    ended: int | None = None  # the step of the end
    events: list[tuple[int, int, int]] = field(default_factory=list)  # step, item, weight

    def __post_init__(self) -> None:
        """Set sigma, wrong if that is the bug, and the sketch that the draws come from."""
        sound = self._source()
        self.mechanism = sound.mechanism.name
        self.strategy = strategy(self.mechanism, self.case.leaves)
        self.sigma = sound.sigma  # the stated one; wrong only if the bug is in the calibration
        drawn = sound.sigma * self._sigma_factor(sound.sigma)
        if self.bug in (Bug.HALF_SENSITIVITY, Bug.LEVEL):
            self.sigma = drawn
        self._drawn = drawn
        self._draws_of = sound if drawn == sound.sigma else self._source(sigma=drawn)

    def _source(self, *, sigma: float | None = None) -> PrivateTable:
        chosen = bytes(16) if self.bug is Bug.NO_ID else self.sketch_id
        key = testing.seeded_key(self.seed, sketch_id=chosen)
        return sketch_of(self.case, self.hash_seed, key, sigma=sigma)

    def _sigma_factor(self, sigma: float) -> float:
        """The factor by which the draws are too large."""
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

    def finish(self) -> None:
        """Publish everything, as the last step."""
        if self.ended is None or self.bug is Bug.TWO_ENDS:
            self.ended = self.step

    def feed(self, items: Integers, *, weight: int = 1) -> None:
        """Take one step per entry; none after the end."""
        if self.ended is not None and self.bug is not Bug.TWO_ENDS:
            return
        steps = enumerate(items.tolist(), start=self.step + 1)
        self.events += [(step, item, weight) for step, item in steps if item != NO_EVENT]
        self.step += len(items)

    def feed_batch(self, items: Integers) -> None:
        """Take one step with all of the items."""
        self.step += 1
        self.events += [(self.step, item, 1) for item in items.tolist()]

    def read(self) -> Table:
        """Return the public table at this step: published + floor(noise + 1/2) in every cell."""
        if self.bug is Bug.FRESH:
            self.sketch_id = secrets.token_bytes(16)
            self._draws_of = self._source()
        pushes, last = self._pushes()
        published = self._published(pushes, last)
        table: Table = np.zeros(published.shape, dtype=np.int64)
        if self.bug is Bug.FLOAT:
            table = np.zeros(published.shape)
        for push in np.unique(pushes[pushes > 0]):
            columns = np.flatnonzero(pushes == push)
            rows = np.arange(self.case.spec.depth)[:, None]
            cells = (rows * self.case.spec.width + columns).ravel().tolist()
            added = self._noise(cells, int(push)).reshape(len(rows), columns.size)
            table[:, columns] = published[:, columns] + added
        if self.bug is Bug.SKIPPED:
            table[published == 0] = 0
        return table

    def _pushes(self) -> tuple[Integers, Integers]:
        """The number of the last push of every column, and the step whose events it has."""
        pushes, last = self.case.progress(self.step)
        if self.bug is Bug.EARLY and self.case.spec.schedule.name == "single" and self.step:
            pushes, last = np.ones_like(pushes), np.full_like(last, self.step)
        if self.ended is None:
            return pushes, last
        final, end = self.case.finished(self.ended, self.mechanism)
        return (np.maximum(pushes, 1) if self.bug is Bug.OLD_LEAF else final), end

    def _published(self, pushes: Integers, last: Integers) -> Integers:
        if self.bug is Bug.LAG:
            ends = [self.case.end_of_round(p - 1) if p > 1 else 0 for p in pushes]
            last = np.array([self.case.progress(end)[1][j] for j, end in enumerate(ends)])
        table = np.zeros((self.case.spec.depth, self.case.spec.width), dtype=np.int64)
        if self.events:
            steps, items, weights = np.array(self.events).T
            kinds, of = np.unique(items, return_inverse=True)
            cells = np.array([places(self.case, self.hash_seed, int(i)) for i in kinds])
            for row, column, sign in np.moveaxis(cells[of], 0, -1):
                carried = steps <= last[column]
                np.add.at(table, (row[carried], column[carried]), (sign * weights)[carried])
        if self.bug is Bug.WRAPPING:
            table = table.astype(np.int32).astype(np.int64)
        return table

    def _noise(self, cells: list[int], push: int) -> Table:
        if self.strategy.rounds_every_node:
            return self._noise_of_nodes(cells, push)
        weights, den = self.strategy.weights(push), self.strategy.denominator(push)
        numerators = [int(weight * den) for weight in weights.values()]
        drawn = self.draws(cells, list(weights))
        largest = 2 * sum(map(abs, numerators)) * (13.2 * self._drawn + 1) + den
        exact = np.int64 if largest < 2**62 else object  # Python's integers do not overflow
        total = (drawn.astype(exact) * np.array(numerators, dtype=exact)).sum(axis=1)
        if self.bug is Bug.FLOAT:
            return np.asarray(total.astype(np.float64) / den, dtype=np.float64)
        if self.bug is Bug.SINGLE_PRECISION:
            single = total.astype(np.float32) / np.float32(den)
            return np.asarray(np.floor(single + np.float32(0.5)), dtype=np.float64)
        return np.asarray(self._rounded(total, den), dtype=np.int64)

    def _noise_of_nodes(self, cells: list[int], push: int) -> Table:
        """Round the noise of every node of the path before the nodes below it use it."""
        path = self.strategy.path(push)
        drawn = self.draws(cells, path)
        noise = np.zeros_like(drawn)
        for i, node in enumerate(path):
            *above, own = self.strategy.row(node)
            known = noise[:, :i] @ np.array(above, dtype=np.int64)
            noise[:, i] = self._rounded(drawn[:, i] - known, own)
        return np.asarray(noise[:, -1], dtype=np.int64)

    def _rounded(self, total: Integers, den: int) -> Integers:
        """Return floor(total / den + 1/2), or the planted rounding."""
        if self.bug is Bug.HALF_EVEN:
            down, rest = total // den, total % den
            return np.asarray(down + (2 * rest > den) + ((2 * rest == den) & (down % 2 == 1)))
        if self.bug is Bug.HALF_AWAY:
            return np.asarray(np.where(total < 0, -1, 1) * ((2 * np.abs(total) + den) // (2 * den)))
        return np.asarray((2 * total + den) // (2 * den))

    def draws(self, cells: list[int], nodes: list[int]) -> Integers:
        """Return the draws of nodes of cells, of wrong ones if that is the bug."""
        if self.bug is Bug.SHARED_CELLS:
            cells = [0 if cell == 1 else cell for cell in cells]
        if self.bug is Bug.SHARED_NODES:
            nodes = [2 if node == 3 else node for node in nodes]
        if self.bug is Bug.TRUNCATED:
            nodes = [node % 2**32 or 2**32 for node in nodes]
        return testing.draws(self._draws_of, cells, nodes)
