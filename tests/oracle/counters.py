"""The n-counters problem: n running totals under continual observation, updated lazily.

Problem "n-counters" of arXiv 2507.03361: at each step a vector arrives and is added to
n counters, all of which may be read after every step. Each counter is one continual
mechanism (GaussBM or haar). Lazily means: a counter's input is added to `pending` and
enters its mechanism only at the steps at which the schedule pushes the counter; between
two pushes the last release is returned.

Corrections: a counter that was never pushed reads 0 without noise; the k-th push of column j
carries exactly the input since the push before it, for round robin that of the steps
(kw + j - w, kw + j] (j from 1), where the paper is off by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from tests.oracle.gaussian_binary_mechanism import GaussianBinaryMechanism
from tests.oracle.haar import HaarMechanism

if TYPE_CHECKING:
    from tests.oracle.schedules import Schedule

CellNoise = Callable[[int, int], int]
"""noise(cell, node): the integer draw of one node of one cell."""


class Mechanism(Protocol):
    """A continual counter: takes the next integer and releases the running total."""

    def feed(self, amount: int) -> int:
        """Add one element of the stream; return the released running total."""


MechanismOfCell = Callable[[int], Mechanism]


def no_noise(cell: int, node: int) -> int:
    """A noise source without noise."""
    return 0


def mechanisms(name: str, *, leaves: int, noise: CellNoise) -> MechanismOfCell:
    """Return a function that makes a fresh mechanism for a cell, with the noise of this cell."""
    if name == "binary":
        return lambda cell: GaussianBinaryMechanism(lambda node: noise(cell, node))
    if name == "haar":
        return lambda cell: HaarMechanism(lambda node: noise(cell, node), leaves=leaves)
    raise ValueError(f'mechanism: expected "binary" or "haar", got {name!r}')


Draws = Sequence[Sequence[int]] | NDArray[np.int64]
Fetch = Callable[[list[int], list[int]], Draws]


class FetchedNoise:
    """A noise source that fetches the draws of one node for all cells, and caches them.

    `fetch(cells, nodes)` returns an array of shape (len(cells), len(nodes)); the tests pass
    `lazysketch.testing.draws` of the sketch under test.
    """

    def __init__(self, fetch: Fetch, *, cells: int) -> None:
        self.fetch = fetch
        self.cells = cells
        self.kept: dict[int, list[int]] = {}

    def __call__(self, cell: int, node: int) -> int:
        if node not in self.kept:
            drawn = self.fetch(list(range(self.cells)), [node])
            self.kept[node] = [int(drawn[c][0]) for c in range(self.cells)]
        return self.kept[node][cell]


class ContinualCounters:
    """n counters under one schedule; counter j is cell `first_cell + j` of its noise source."""

    def __init__(
        self,
        *,
        counters: int,
        schedule: Schedule,
        mechanism: MechanismOfCell,
        first_cell: int = 0,
    ) -> None:
        self.schedule = schedule
        self.mechanisms = [mechanism(first_cell + j) for j in range(counters)]
        self.pending = [0] * counters
        self.released = [0] * counters
        self.pushes = [0] * counters
        self.steps = 0

    def step(self, vector: Sequence[int]) -> None:
        """Add the vector; then push the columns of this step."""
        self.steps += 1
        for j, amount in enumerate(vector):
            self.pending[j] += amount
        for j in self.schedule.columns(self.steps):
            self.released[j] = self.mechanisms[j].feed(self.pending[j])
            self.pending[j] = 0
            self.pushes[j] += 1

    def update(self, index: int, weight: int = 1) -> None:
        """One step that adds `weight` to one counter."""
        vector = [0] * len(self.pending)
        vector[index] = weight
        self.step(vector)

    def tick(self) -> None:
        """One step that adds nothing."""
        self.step([0] * len(self.pending))
