"""What is audited: one configuration of a private table, and the streams that it is fed.

A configuration is a frozen description. It makes real sketches through the public classes, and
says what is claimed of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from lazysketch.audit import schedule_model
from lazysketch.audit.claims import Claim, multiplier
from lazysketch.audit.schedule_model import Integers
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.counters import ContinualCounters
from lazysketch.sketches.exact import CountMin, CountSketch
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.schedules import Schedule

__all__ = ["NO_EVENT", "Configuration", "places"]

NO_EVENT = -1

# (row, column, sign) of the cells that an item falls in.
Places = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Configuration:
    """Parameters of a private table.

    Args:
        kind: ``"count-min"``, ``"count-sketch"`` or ``"counters"``.
        depth: rows, 1 for counters.
        width: columns.
        schedule: when columns are published.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: ``"substitution"`` or ``"zero-out"``.
        mechanism: what the constructor is asked for.
        max_weight: largest weight of one event.
        max_events_per_user: events of one person.

    Example:
        >>> from lazysketch.specification.schedules import RoundRobin
        >>> Configuration("count-min", depth=2, width=4, schedule=RoundRobin(horizon=32)).leaves
        8
    """

    kind: str
    depth: int
    width: int
    schedule: Schedule
    epsilon: float = 1.0
    delta: float = 1e-6
    relation: str = "substitution"
    mechanism: str = "tree"
    max_weight: int = 1
    max_events_per_user: int = 1

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.depth} x {self.width}, {self.schedule.name}, {self.mechanism}, "
            f"{self.relation}, ({self.epsilon:g}, {self.delta:g})"
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.depth * self.width

    @property
    def leaves(self) -> int:
        """Largest number of pushes of a cell."""
        return schedule_model.leaves(self.schedule, self.width)

    @property
    def mu(self) -> float:
        """What (epsilon, delta) is worth for a Gaussian mechanism: 1 / multiplier."""
        return 1 / multiplier(self.epsilon, self.delta)

    def claim(self, mechanism: str) -> Claim:
        """Return what is claimed of the noise under the mechanism that a sketch states.

        Args:
            mechanism: the name in ``sketch.mechanism``.

        Returns:
            The claim, from definitions alone.
        """
        return Claim.of(
            kind=self.kind,
            depth=self.depth,
            relation=self.relation,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=mechanism,
            leaves=self.leaves,
            scale=self.max_weight * self.max_events_per_user,
        )

    def make(self, **more: Any) -> PrivateTable:
        """Return a sketch made by its public class.

        Args:
            **more: ``key`` and ``hash_seed``, as the class takes them.

        Returns:
            A live private table.
        """
        common: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": cast(Relation, self.relation),
            "mechanism": self.mechanism,
            "max_weight": self.max_weight,
            "max_events_per_user": self.max_events_per_user,
            **more,
        }
        if self.kind == "counters":
            common.pop("hash_seed", None)
            return ContinualCounters(
                counters=self.width,
                schedule=self.schedule,
                **common,
            )
        common.update(depth=self.depth, width=self.width)
        if self.schedule.name == "punctual":
            punctual = PunctualCountMin if self.kind == "count-min" else PunctualCountSketch
            made: PrivateTable = punctual(horizon=self.schedule.horizon, **common)
            return made
        lazy = LazyCountMin if self.kind == "count-min" else LazyCountSketch
        sketch: PrivateTable = lazy(schedule=self.schedule, **common)
        return sketch

    def progress(self, step: int) -> tuple[Integers, Integers]:
        """Return pushes of every column and the step of the last one."""
        return schedule_model.progress(self.schedule, self.width, step)

    def end_of_round(self, push: int) -> int:
        """Return the step at which every column has been pushed; see :mod:`pushing`."""
        return schedule_model.end_of_round(self.schedule, self.width, push)

    def published(self, items: Integers, *, hash_seed: int, step: int) -> Integers:
        """Return the exact counts that the last push of every column carries.

        Args:
            items: item number of each step, ``NO_EVENT`` for a tick.
            hash_seed: public seed of the hash.
            step: steps taken.

        Returns:
            int64 array of shape (depth, width).
        """
        _, last = self.progress(step)
        table = np.zeros((self.depth, self.width), dtype=np.int64)
        taken = items[:step]
        for item in np.unique(taken[taken != NO_EVENT]):
            at = np.flatnonzero(taken == item) + 1
            for row, column, sign in places(self, hash_seed, int(item)):
                table[row, column] += sign * np.count_nonzero(at <= last[column])
        return table


def places(configuration: Configuration, hash_seed: int, item: int | str) -> Places:
    """Return the cells of an item, learnt by looking at the table of an exact sketch.

    Args:
        configuration: kind and shape.
        hash_seed: public seed of the hash.
        item: the item; its index for counters.

    Returns:
        (row, column, sign) for every row.

    Example:
        >>> from lazysketch.specification.schedules import RoundRobin
        >>> counters = Configuration("counters", depth=1, width=8, schedule=RoundRobin(horizon=8))
        >>> places(counters, 0, 3)
        ((0, 3, 1),)
    """
    return _places(configuration.kind, configuration.depth, configuration.width, hash_seed, item)


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
