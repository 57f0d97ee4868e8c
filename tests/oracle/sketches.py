"""Count-Min and Count Sketch: exact, punctual and lazy, and the query on what they release.

Algorithms of arXiv 2507.03361: the two sketches, "Punctual" (every cell's mechanism is
fed at every step), "Lazy" (one instance of n-counters per row, one counter per bucket)
and "CO Sketch Query" (minimum or median over the rows of the last release).

The hash functions are an argument: `hashes(item)` returns one (column, sign) per row; for
Count-Min every sign is +1. Cell = row * width + column.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from tests.oracle.counters import ContinualCounters, MechanismOfCell

if TYPE_CHECKING:
    from tests.oracle.schedules import Schedule

Table = list[list[int]]
Places = Sequence[tuple[int, int]]
HashFunctions = Callable[[Hashable], Places]


def co_sketch_query(kind: str, table: Table, places: Places) -> float:
    """The point estimate: minimum (Count-Min) or median (Count Sketch) over the rows.

    Neither clipped nor corrected: a private estimate may be negative.
    """
    values = [sign * table[row][column] for row, (column, sign) in enumerate(places)]
    if kind == "count-min":
        return float(min(values))
    if kind == "count-sketch":
        return float(median(values))
    raise ValueError(f'kind: expected "count-min" or "count-sketch", got {kind!r}')


class Sketch(Protocol):
    """The interface of all sketches here. An item of None is a step without an event."""

    kind: str

    def update(self, item: Hashable | None, weight: int = 1) -> None:
        """Take one step."""

    def estimate(self, item: Hashable) -> float:
        """The point estimate of the item's total weight."""

    @property
    def table(self) -> Table:
        """The readable table after this step, one list per row."""


class ExactSketch:
    """The linear sketch itself: each event adds sign * weight to one cell per row."""

    def __init__(self, kind: str, *, depth: int, width: int, hashes: HashFunctions) -> None:
        self.kind = kind
        self.hashes = hashes
        self.table: Table = [[0] * width for _ in range(depth)]

    def update(self, item: Hashable | None, weight: int = 1) -> None:
        if item is None:
            return
        for row, (column, sign) in enumerate(self.hashes(item)):
            self.table[row][column] += sign * weight

    def estimate(self, item: Hashable) -> float:
        return co_sketch_query(self.kind, self.table, self.hashes(item))


class PunctualSketch:
    """Every step feeds every cell's mechanism, almost always with 0.

    Implemented without a schedule, so that it checks the lazy sketch under `Punctual`.
    """

    def __init__(
        self,
        kind: str,
        *,
        depth: int,
        width: int,
        hashes: HashFunctions,
        mechanism: MechanismOfCell,
    ) -> None:
        self.kind = kind
        self.hashes = hashes
        self.mechanisms = [
            [mechanism(row * width + column) for column in range(width)] for row in range(depth)
        ]
        self.table: Table = [[0] * width for _ in range(depth)]
        self.step = 0

    def update(self, item: Hashable | None, weight: int = 1) -> None:
        self.step += 1
        places = [] if item is None else list(self.hashes(item))
        for row, mechanisms in enumerate(self.mechanisms):
            for column, mechanism in enumerate(mechanisms):
                hit = bool(places) and places[row][0] == column
                amount = places[row][1] * weight if hit else 0
                self.table[row][column] = mechanism.feed(amount)

    def estimate(self, item: Hashable) -> float:
        return co_sketch_query(self.kind, self.table, self.hashes(item))

    @property
    def pushes(self) -> list[int]:
        return [self.step] * len(self.table[0])


class LazySketch:
    """One lazy n-counters instance per row; each event touches one counter per row."""

    def __init__(
        self,
        kind: str,
        *,
        depth: int,
        width: int,
        hashes: HashFunctions,
        schedule: Schedule,
        mechanism: MechanismOfCell,
    ) -> None:
        self.kind = kind
        self.hashes = hashes
        self.rows = [
            ContinualCounters(
                counters=width, schedule=schedule, mechanism=mechanism, first_cell=row * width
            )
            for row in range(depth)
        ]

    def update(self, item: Hashable | None, weight: int = 1) -> None:
        if item is None:
            for counters in self.rows:
                counters.tick()
            return
        for counters, (column, sign) in zip(self.rows, self.hashes(item), strict=True):
            counters.update(column, sign * weight)

    @property
    def table(self) -> Table:
        return [list(counters.released) for counters in self.rows]

    def estimate(self, item: Hashable) -> float:
        return co_sketch_query(self.kind, self.table, self.hashes(item))

    @property
    def step(self) -> int:
        return self.rows[0].steps

    @property
    def pushes(self) -> list[int]:
        return list(self.rows[0].pushes)


class CanCountOne(Protocol):
    """An exact sketch, of the library or of this module."""

    def update(self, item: Hashable) -> None:
        """Count the item once."""

    @property
    def table(self) -> Sequence[Sequence[int]] | NDArray[np.int64]:
        """The counts, one row after the other."""


class HashesReadOff:
    """The public hash functions of an exact sketch, read from its table.

    `make_exact()` returns an empty exact sketch with `update(item)` and `table`. One event
    sets one cell per row to +1 or -1: the bucket and the sign of the item in this row.
    """

    def __init__(self, make_exact: Callable[[], CanCountOne]) -> None:
        self.make_exact = make_exact
        self.known: dict[Hashable, Places] = {}

    def __call__(self, item: Hashable) -> Places:
        if item not in self.known:
            sketch = self.make_exact()
            sketch.update(item)
            self.known[item] = [self.place(list(row)) for row in sketch.table]
        return self.known[item]

    @staticmethod
    def place(row: Sequence[int]) -> tuple[int, int]:
        """(column, sign) of the only cell of the row that is not 0."""
        ((column, value),) = [(j, int(x)) for j, x in enumerate(row) if x != 0]
        if value not in (1, -1):
            raise ValueError("cell after an event of weight 1: expected 1 or -1, got another value")
        return column, value
