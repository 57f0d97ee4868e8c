"""Sums of values by item under test: the installed library, and a model with planted bugs.

The model computes both tables by definition, from the places of items in an exact sketch, and adds
them to the releases of empty sums under the same key. Without a bug it equals the library bit for
bit. NOT PRIVATE.

Source: docs/theory.md, Theorem 25.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from lazysketch.audit.case import Case, places
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.schedule_model import Integers
from lazysketch.sketches.keys import Key
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_grid import ValueGrid
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import SumsSpec
from lazysketch.testing import seeded_key

__all__ = [
    "Event",
    "SumsBug",
    "SumsLibrary",
    "SumsModel",
    "SumsSystem",
    "Tables",
    "exact_tables",
    "scaled",
]

# An item and its value; None for an empty step.
Event: TypeAlias = tuple[int, float] | None


class Tables(NamedTuple):
    """The table of events and that of values, each of shape (cells,)."""

    counts: Integers
    values: Integers


class LiveSums(Protocol):
    """Sums that take events and can be read."""

    @property
    def mechanism(self) -> str:
        """The stated mechanism."""

    @property
    def sigmas(self) -> tuple[float, float]:
        """The stated standard deviations of a draw of both tables."""

    @property
    def stated(self) -> tuple[float, float]:
        """The stated (epsilon, delta) of both tables together."""

    def feed(self, events: Sequence[Event]) -> None:
        """Take one step per entry."""

    def read(self) -> Tables:
        """Return the public tables."""


class SumsSystem(Protocol):
    """A maker of sums."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(self, spec: SumsSpec, *, seed: int | None = None) -> LiveSums:
        """Return sums: under a fresh secret key, or under the key of a seed and one id."""


class _LibrarySums:
    """Sums of the library, with the calibration that their description has."""

    def __init__(self, spec: SumsSpec, key: Key) -> None:
        self._live = Sums.from_spec(spec, key=key)
        privacy = self._live.privacy
        self.mechanism = self._live._counts.mechanism.name
        self.sigmas = privacy.counts.sigma, privacy.values.sigma
        self.stated = privacy.epsilon, privacy.delta

    def feed(self, events: Sequence[Event]) -> None:
        """Take one step per entry."""
        for event in events:
            if event is None:
                self._live.tick()
            else:
                self._live.update(*event)

    def read(self) -> Tables:
        """Return the public tables."""
        counts, values = (table.table.ravel() for table in self._live.release().tables)
        return Tables(counts.astype(np.int64), values.astype(np.int64))


class SumsLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(self, spec: SumsSpec, *, seed: int | None = None) -> _LibrarySums:
        """Return sums of the public class."""
        return _LibrarySums(spec, Key.generate() if seed is None else seeded_key(seed))


class SumsBug(Enum):
    """A planted bug of sums; the value is its description."""

    NO_SUBSTITUTE = "noise of sums without the substitute"
    HALF = "noise of values for half of the range"
    WHOLE_BUDGET = "each table of sums with the whole budget"
    FROM_LOW = "values counted from the lower bound"
    UNCLIPPED = "values beyond the bounds not clipped"
    STATED = "sums that state the guarantee of their counts"
    SHARED = "one draw for both tables of sums"
    SKIPPED = "noise of values skipped in cells without events"


def exact_tables(
    spec: SumsSpec, events: Sequence[Event], bug: SumsBug | None = None
) -> tuple[Integers, Integers]:
    """Return the exact tables of events and values.

    Args:
        spec: the sums, with their hash seed.
        events: an item and its value, or None, of each step.
        bug: a planted bug, or None.

    Returns:
        Two arrays of shape (cells,).
    """
    case, seed = Case(spec.counts), spec.counts.hash_seed
    if seed is None:
        raise AssertionError("spec: expected a hash seed, got none")
    counts = np.zeros(case.cells, dtype=np.int64)
    values = counts.copy()
    for event in events:
        if event is None:
            continue
        integer = _integer(spec.grid, event[1], bug)
        for row, column, sign in places(case, seed, event[0]):
            counts[row * spec.counts.width + column] += sign
            values[row * spec.counts.width + column] += sign * integer
    return counts, values


def _integer(grid: ValueGrid, value: float, bug: SumsBug | None) -> int:
    """Return the integer of a value: its place among the grid points, from the middle."""
    clipped = value if bug is SumsBug.UNCLIPPED else min(max(value, grid.low), grid.high)
    place = round((clipped - grid.low) / (grid.high - grid.low) * grid.steps)
    return 2 * place if bug is SumsBug.FROM_LOW else 2 * place - grid.steps


class SumsModel(ModelMaker[SumsBug]):
    """A maker of model sums.

    Args:
        bug: the bug, or None.
    """

    def open(self, spec: SumsSpec, *, seed: int | None = None) -> _ModelSums:
        """Return a model: under a random seed, or under the key of a seed and one id."""
        return _ModelSums(spec, secrets.randbits(64) if seed is None else seed, self.bug)


class _ModelSums:
    """Model sums, published at every step."""

    def __init__(self, spec: SumsSpec, seed: int, bug: SumsBug | None) -> None:
        """Make the empty sums that the noise comes from."""
        self._spec, self._bug = spec, bug
        counts, values = spec.counts, spec.values
        if bug is SumsBug.WHOLE_BUDGET:
            counts = counts.with_privacy(spec.epsilon, spec.delta)
            values = values.with_privacy(spec.epsilon, spec.delta)
        elif bug is SumsBug.NO_SUBSTITUTE:
            counts, values = scaled(counts, 0.5), scaled(values, 0.5)
        elif bug is SumsBug.HALF:
            values = scaled(values, 0.5)
        self._empty = _LibrarySums(replace(spec, counts=counts, values=values), seeded_key(seed))
        self.mechanism, self.sigmas = self._empty.mechanism, self._empty.sigmas
        self.stated = self._empty.stated
        if bug is SumsBug.STATED:
            self.stated = counts.epsilon, counts.delta
        self._events: list[Event] = []

    def feed(self, events: Sequence[Event]) -> None:
        """Take one step per entry."""
        self._events += events
        self._empty.feed([None] * len(events))

    def read(self) -> Tables:
        """Return the noise of the empty sums plus the model's own tables."""
        noise = self._empty.read()
        counts, values = exact_tables(self._spec, self._events, self._bug)
        of_values = noise.values.copy()
        if self._bug is SumsBug.SHARED:
            ratio = self.sigmas[1] / self.sigmas[0]
            of_values = np.rint(noise.counts * ratio).astype(np.int64)
        elif self._bug is SumsBug.SKIPPED:
            of_values[counts == 0] = 0
        return Tables(noise.counts + counts, of_values + values)


def scaled(spec: TableSpec, factor: float) -> TableSpec:
    """Return a table with wrong noise, which TableSpec itself would not compute.

    Args:
        spec: a table.
        factor: of the deviation of its draws.
    """
    found = replace(spec)
    object.__setattr__(found, "noise", replace(spec.noise, sigma=factor * spec.noise.sigma))
    return found
