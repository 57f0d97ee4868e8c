"""A case of the audit: the description of one private table, and what the audit derives from it.

A case makes real sketches through the public classes. It computes the exact published counts and
the claimed noise itself, from definitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from lazysketch.audit import schedule_model
from lazysketch.audit.claimed_noise import ClaimedNoise, multiplier
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import strategy
from lazysketch.privacy.person_bound import PersonBound
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
from lazysketch.specification.mechanisms import Mechanism, MechanismName
from lazysketch.specification.schedules import Schedule
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["NO_EVENT", "Case", "Changes", "places"]

NO_EVENT = -1

# (row, column, sign) of the cells of an item.
Places = tuple[tuple[int, int, int], ...]


class Options(TypedDict, total=False):
    """The parameters of a table that have a default in :class:`TableSpec`."""

    relation: Relation
    mechanism: MechanismName | Mechanism
    max_weight: int
    max_events_per_user: int
    person_bound: PersonBound | None


class Changes(Options, total=False):
    """The parameters of a table that cases differ in, each of them optional."""

    kind: CountKind
    depth: int
    width: int
    schedule: Schedule
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Case:
    """One table to audit.

    Args:
        spec: the description of the table.

    Example:
        >>> from lazysketch.specification.schedules import RoundRobin
        >>> Case.of("count-min", 2, 4, RoundRobin(horizon=32)).leaves
        8
    """

    spec: TableSpec

    @classmethod
    def of(
        cls,
        kind: CountKind,
        depth: int,
        width: int,
        schedule: Schedule,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        **options: Unpack[Options],
    ) -> Case:
        """Return the case of a table.

        Args:
            kind: kind of the table.
            depth: rows, 1 for counters.
            width: columns.
            schedule: when columns are pushed.
            epsilon: privacy parameter.
            delta: privacy parameter.
            **options: further parameters of :class:`TableSpec`.

        Returns:
            The case.
        """
        return cls(
            TableSpec(
                kind=kind,
                depth=depth,
                width=width,
                schedule=schedule,
                epsilon=epsilon,
                delta=delta,
                **options,
            )
        )

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
        """The mu of the claimed noise, for an event that is fixed in advance: 1 / multiplier."""
        return 1 / multiplier(self.spec.epsilon, self.spec.delta, self.spec.depth)

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
            bound=self.bound,
        )

    @property
    def bound(self) -> PersonBound | None:
        """What is counted of a person: at most all cells of a row; None if events are protected."""
        bound = self.spec.person_bound
        return bound and replace(bound, cells=min(bound.cells, self.spec.width))

    @property
    def owner(self) -> type[PrivateTable]:
        """The public class of the table."""
        count_min = self.spec.kind == "count-min"
        if self.spec.kind == "counters":
            return ContinualCounters
        if self.spec.schedule.name == "punctual":
            return PunctualCountMin if count_min else PunctualCountSketch
        return LazyCountMin if count_min else LazyCountSketch

    def make(self, *, key: Key | None = None, hash_seed: int | None = None) -> PrivateTable:
        """Return a sketch made by its public class.

        Args:
            key: the key, None for a fresh one.
            hash_seed: public seed of the hash, None for a fresh one; ignored for counters.

        Returns:
            A live private table.
        """
        seed = 0 if self.spec.kind == "counters" else hash_seed
        return self.owner.from_spec(replace(self.spec, hash_seed=seed), key=key)

    def progress(self, step: int) -> tuple[Integers, Integers]:
        """Return the number of pushes of every column and the step of the last one."""
        return schedule_model.progress(self.spec.schedule, self.spec.width, step)

    def finished(self, step: int, mechanism: str) -> tuple[Integers, Integers]:
        """Return the number of the final push of every column, and its step, which is the last.

        Args:
            step: steps taken.
            mechanism: the stated mechanism.

        Returns:
            Two int64 arrays of shape (width,).
        """
        pushes, last = self.progress(step)
        matrices = strategy(mechanism, self.leaves)
        everything = self.spec.schedule.name in ("punctual", "batch", "single")
        current = everything and bool((last == step).all())
        distinct, back = np.unique(pushes, return_inverse=True)
        final = [matrices.final_push(int(push), nothing_pending=current) for push in distinct]
        return np.array(final, dtype=np.int64)[back], np.full_like(last, step)

    def end_of_round(self, push: int) -> int:
        """Return the first step at which every column has been pushed ``push`` times."""
        return schedule_model.end_of_round(self.spec.schedule, self.spec.width, push)

    def published(
        self, items: Integers, *, hash_seed: int, step: int, last: Integers | None = None
    ) -> Integers:
        """Return the exact counts at the last push of every column.

        Args:
            items: item number of each step, ``NO_EVENT`` for a tick.
            hash_seed: public seed of the hash.
            step: steps taken.
            last: the step of the last push of every column; by default that of the schedule.

        Returns:
            int64 array of shape (depth, width).
        """
        if last is None:
            _, last = self.progress(step)
        table = np.zeros((self.spec.depth, self.spec.width), dtype=np.int64)
        taken = items[:step]
        for item in np.unique(taken[taken != NO_EVENT]):
            at = np.flatnonzero(taken == item) + 1
            for row, column, sign in places(self, hash_seed, int(item)):
                table[row, column] += sign * np.count_nonzero(at <= last[column])
        return table


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
