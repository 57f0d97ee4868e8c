"""A case of the audit: the parameters of one private table, and what the audit derives from them.

A case makes real sketches through the public classes. It computes the exact published counts and
the claimed noise itself, from definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from lazysketch.audit import schedule_model
from lazysketch.audit.claimed_noise import ClaimedNoise, multiplier
from lazysketch.audit.schedule_model import Integers
from lazysketch.privacy.relations import CountKind, Relation
from lazysketch.sketches.counters import ContinualCounters
from lazysketch.sketches.exact import CountMin, CountSketch
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Schedule

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["NO_EVENT", "Case", "Changes", "Parameters", "places"]

NO_EVENT = -1

# (row, column, sign) of the cells of an item.
Places = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters of a private table.

    Args:
        kind: ``"count-min"``, ``"count-sketch"`` or ``"counters"``.
        depth: rows, 1 for counters.
        width: columns.
        schedule: when columns are pushed.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: ``"substitution"`` or ``"zero-out"``.
        mechanism: the mechanism that the constructor is asked for.
        max_weight: largest weight of one event.
        max_events_per_user: events of one person.
    """

    kind: CountKind
    depth: int
    width: int
    schedule: Schedule
    epsilon: float = 1.0
    delta: float = 1e-6
    relation: Relation = "substitution"
    mechanism: str = "tree"
    max_weight: int = 1
    max_events_per_user: int = 1


class Options(TypedDict, total=False):
    """The parameters that have a default."""

    epsilon: float
    delta: float
    relation: Relation
    mechanism: str
    max_weight: int
    max_events_per_user: int


class Changes(Options, total=False):
    """Every parameter, each of them optional."""

    kind: CountKind
    depth: int
    width: int
    schedule: Schedule


@dataclass(frozen=True)
class Case:
    """One table to audit.

    Args:
        spec: the parameters of the table.

    Example:
        >>> from lazysketch.specification.schedules import RoundRobin
        >>> Case.of("count-min", 2, 4, RoundRobin(horizon=32)).leaves
        8
    """

    spec: Parameters

    @classmethod
    def of(
        cls, kind: CountKind, depth: int, width: int, schedule: Schedule, **options: Unpack[Options]
    ) -> Case:
        """Return the case of a table; (1, 1e-6)-DP under substitution unless stated otherwise.

        Args:
            kind: kind of the table.
            depth: rows, 1 for counters.
            width: columns.
            schedule: when columns are pushed.
            **options: the other parameters.

        Returns:
            The case.
        """
        return cls(Parameters(kind=kind, depth=depth, width=width, schedule=schedule, **options))

    def changed(self, **changes: Unpack[Changes]) -> Case:
        """Return the same case with some parameters changed.

        Args:
            **changes: the parameters that differ.

        Returns:
            Another case.
        """
        return Case(replace(self.spec, **changes))

    def __str__(self) -> str:
        spec = self.spec
        return (
            f"{spec.kind} {spec.depth} x {spec.width}, {spec.schedule.name}, {spec.mechanism}, "
            f"{spec.relation}, ({spec.epsilon:g}, {spec.delta:g})"
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.spec.depth * self.spec.width

    @property
    def leaves(self) -> int:
        """Largest number of pushes of a cell."""
        return schedule_model.leaves(self.spec.schedule, self.spec.width)

    @property
    def mu(self) -> float:
        """The mu of a Gaussian mechanism that is exactly (epsilon, delta)-DP: 1 / multiplier."""
        return 1 / multiplier(self.spec.epsilon, self.spec.delta)

    def claimed_noise(self, mechanism: str) -> ClaimedNoise:
        """Return the noise that is claimed under the mechanism that a sketch states.

        Args:
            mechanism: the name in ``sketch.mechanism``.

        Returns:
            The claimed noise, from definitions alone.
        """
        spec = self.spec
        return ClaimedNoise.of(
            kind=spec.kind,
            depth=spec.depth,
            relation=spec.relation,
            epsilon=spec.epsilon,
            delta=spec.delta,
            mechanism=mechanism,
            leaves=self.leaves,
            scale=spec.max_weight * spec.max_events_per_user,
        )

    def constructor(self) -> Callable[..., PrivateTable]:
        """Return the public class of the table, with every argument bound but the key and seed.

        Returns:
            Takes ``key`` and, unless the table is one of counters, ``hash_seed``.
        """
        spec = self.spec
        bound = partial(
            _class_of(spec),
            epsilon=spec.epsilon,
            delta=spec.delta,
            relation=spec.relation,
            mechanism=spec.mechanism,
            max_weight=spec.max_weight,
            max_events_per_user=spec.max_events_per_user,
        )
        horizon = spec.schedule.horizon
        if spec.kind == "counters":
            return partial(bound, counters=spec.width, schedule=spec.schedule.name, horizon=horizon)
        sized = partial(bound, depth=spec.depth, width=spec.width)
        if spec.schedule.name == "punctual":
            return partial(sized, horizon=horizon)
        return partial(sized, schedule=spec.schedule)

    def make(self, *, key: Key | None = None, hash_seed: int | None = None) -> PrivateTable:
        """Return a sketch made by its public class.

        Args:
            key: the key, None for a fresh one.
            hash_seed: public seed of the hash, None for a fresh one; counters have none.

        Returns:
            A live private table.
        """
        constructor = self.constructor()
        if self.spec.kind == "counters":
            return constructor(key=key)
        return constructor(key=key, hash_seed=hash_seed)

    def progress(self, step: int) -> tuple[Integers, Integers]:
        """Return the number of pushes of every column and the step of the last one."""
        return schedule_model.progress(self.spec.schedule, self.spec.width, step)

    def end_of_round(self, push: int) -> int:
        """Return the first step at which every column has been pushed ``push`` times."""
        return schedule_model.end_of_round(self.spec.schedule, self.spec.width, push)

    def published(self, items: Integers, *, hash_seed: int, step: int) -> Integers:
        """Return the exact counts at the last push of every column.

        Args:
            items: item number of each step, ``NO_EVENT`` for a tick.
            hash_seed: public seed of the hash.
            step: steps taken.

        Returns:
            int64 array of shape (depth, width).
        """
        _, last = self.progress(step)
        table = np.zeros((self.spec.depth, self.spec.width), dtype=np.int64)
        taken = items[:step]
        for item in np.unique(taken[taken != NO_EVENT]):
            at = np.flatnonzero(taken == item) + 1
            for row, column, sign in places(self, hash_seed, int(item)):
                table[row, column] += sign * np.count_nonzero(at <= last[column])
        return table


def _class_of(spec: Parameters) -> Callable[..., PrivateTable]:
    """The public class of a table."""
    if spec.kind == "counters":
        return ContinualCounters
    if spec.schedule.name == "punctual":
        return PunctualCountMin if spec.kind == "count-min" else PunctualCountSketch
    return LazyCountMin if spec.kind == "count-min" else LazyCountSketch


def places(case: Case, hash_seed: int, item: int | str) -> Places:
    """Return the cells of an item, read off the table of an exact sketch.

    Args:
        case: kind and shape.
        hash_seed: public seed of the hash.
        item: the item; its index for counters.

    Returns:
        (row, column, sign) for every row.

    Example:
        >>> from lazysketch.specification.schedules import RoundRobin
        >>> places(Case.of("counters", 1, 8, RoundRobin(horizon=8)), 0, 3)
        ((0, 3, 1),)
    """
    return _places(case.spec.kind, case.spec.depth, case.spec.width, hash_seed, item)


@cache
def _places(kind: str, depth: int, width: int, hash_seed: int, item: int | str) -> Places:
    if kind == "counters":
        return ((0, int(item), 1),)
    made = CountMin if kind == "count-min" else CountSketch
    exact = made(depth=depth, width=width, hash_seed=hash_seed)
    exact.update(item)
    return tuple(
        (int(row), int(column), int(exact.table[row, column]))
        for row, column in np.argwhere(exact.table)
    )
