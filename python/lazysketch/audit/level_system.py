"""Hierarchies under test: the installed library, or tables of levels with a planted bug.

The model has one :class:`~lazysketch.HeavyHitters` per level, made from the descriptions that the
library's hierarchy has. NOT PRIVATE.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol

from lazysketch import testing
from lazysketch.audit.case import Case
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.people_rule import Rule, columns_of
from lazysketch.audit.schedule_model import Integers
from lazysketch.heavy_hitters import (
    HeavyHitters,
    HeavyHittersSpec,
    HierarchicalHeavyHitters,
    Levels,
    LevelsPrivacy,
)
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.privacy.person_bound import PersonBound, bounds_in_words
from lazysketch.privacy.relations import Relation
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.sketches.keys import Key
from lazysketch.specification.schedules import RoundRobin, Schedule
from lazysketch.testing import seeded_key

__all__ = [
    "HASH_SEED",
    "LevelBug",
    "LevelCase",
    "LevelLibrary",
    "LevelModel",
    "LevelSystem",
    "LiveLevels",
    "draws_of",
]

HASH_SEED: Final = 2**64 - 2  # so that the seed of the third level is 0


@dataclass(frozen=True)
class LevelCase:
    """A hierarchy to audit: names of level i are the item divided by 3^(levels - 1 - i).

    Args:
        levels: number of levels.
        weights: their parts of the budget, or None for equal parts.
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: the neighbouring relation.
        group: events of a person.
        depth: rows.
        width: columns.
        horizon: number of steps.
        bounds: what each level counts of a person; None if events are protected.
    """

    levels: int = 3
    weights: tuple[float, ...] | None = None
    epsilon: float = 1.0
    delta: float = 1e-6
    relation: Relation = "substitution"
    group: int = 1
    depth: int = 2
    width: int = 4
    horizon: int = 40
    bounds: tuple[PersonBound, ...] | None = None

    def __str__(self) -> str:
        weights = "" if self.weights is None else f" of weights {self.weights}"
        people = "" if self.bounds is None else f", {bounds_in_words(self.bounds)}"
        return (
            f"{self.levels} levels{weights}, {self.relation}, ({self.epsilon:g}, {self.delta:g}), "
            f"{self.group} events{people}"
        )

    def names(self, item: int) -> tuple[int, ...]:
        """Return the names of an item, the coarsest first."""
        return tuple(item // 3**up for up in reversed(range(self.levels)))

    def table(self, level: int) -> Case:
        """Return the counts of a level, as far as its people and its cells go."""
        bound = self.bounds and self.bounds[level]
        schedule = RoundRobin(horizon=self.horizon)
        return Case.of(
            "count-min",
            self.depth,
            self.width,
            schedule,
            relation=self.relation,
            person_bound=bound or None,
        )

    def rules(self) -> list[Rule]:
        """Return the rule of each level, which knows no one; an event counts if all admit it."""
        return [
            Rule(columns_of(self.table(level), (HASH_SEED + level) % 2**64), bound)
            for level, bound in enumerate(self.bounds or ())
        ]

    def hierarchy(
        self,
        key: Key,
        *,
        levels: int | None = None,
        schedule: Schedule | None = None,
        epoch: int | None = None,
    ) -> HierarchicalHeavyHitters:
        """Return the library's hierarchy.

        Args:
            key: master key.
            levels: another number of levels, for planted bugs.
            schedule: when counts are published; by default round robin over the horizon.
            epoch: steps or batches after which names are published; by default the horizon.

        Returns:
            A live hierarchy.
        """
        number = self.levels if levels is None else levels

        def split(item: Item) -> tuple[int, ...]:
            return self.names(int(str(item)))[-number:]

        return HierarchicalHeavyHitters(
            Levels(tuple(f"level {i}" for i in range(number)), split),
            share=0.2,
            level_weights=None if self.weights is None else self.weights[:number],
            discovery_epoch=self.horizon if epoch is None else epoch,
            schedule=RoundRobin(horizon=self.horizon) if schedule is None else schedule,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_events_per_user=self.group,
            person_bound=None if self.bounds is None else list(self.bounds[:number]),
            depth=self.depth,
            width=self.width,
            hash_seed=HASH_SEED,
            key=key,
        )


class LiveLevels(Protocol):
    """A hierarchy that takes events and can be read."""

    @property
    def privacy(self) -> LevelsPrivacy:
        """The stated guarantee."""

    @property
    def specs(self) -> list[HeavyHittersSpec]:
        """The description of every level."""

    def feed(self, items: list[int], people: list[int] | None = None) -> None:
        """Count events, one step each."""

    def tick(self, steps: int) -> None:
        """Take empty steps."""

    def releases(self) -> list[Release]:
        """Return the release of every level."""

    def tables(self) -> list[DiscoveringTable]:
        """Return the live tables, for draws under a seed."""


class LevelSystem(Protocol):
    """A maker of hierarchies."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(self, case: LevelCase, *, seed: int | None = None) -> LiveLevels:
        """Return a hierarchy: under a fresh secret key, or under the key of a seed and one id."""


@dataclass(frozen=True)
class _LibraryLevels:
    """A hierarchy of the library."""

    heavy: HierarchicalHeavyHitters
    case: LevelCase

    @property
    def privacy(self) -> LevelsPrivacy:
        """The stated guarantee."""
        return self.heavy.privacy

    @property
    def specs(self) -> list[HeavyHittersSpec]:
        """The description of every level."""
        return [self.heavy.level(level).spec for level in range(self.case.levels)]

    def feed(self, items: list[int], people: list[int] | None = None) -> None:
        """Count events."""
        self.heavy.update_many(items, user=people)

    def tick(self, steps: int) -> None:
        """Take empty steps."""
        self.heavy.tick(steps)

    def releases(self) -> list[Release]:
        """Return the release of every level."""
        return [self.heavy.release(level) for level in range(self.case.levels)]

    def tables(self) -> list[DiscoveringTable]:
        """Return the live tables."""
        return self.heavy._tables


class LevelLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(self, case: LevelCase, *, seed: int | None = None) -> _LibraryLevels:
        """Return a hierarchy of the public class."""
        key = Key.generate() if seed is None else seeded_key(seed)
        return _LibraryLevels(case.hierarchy(key), case)


class LevelBug(Enum):
    """A planted bug of hierarchies; the value is its description."""

    LEFT_OUT = "the budget of a level left out"
    SHARED_KEY = "levels that share a key"
    TWICE = "an event counted twice at a level"
    ALONE = "levels that bound people one by one"
    COARSEST = "people bounded at the coarsest level alone"
    ONE_NOISE = "the noise of the finest level at all"


class LevelModel(ModelMaker[LevelBug]):
    """A maker of hierarchies from one table per level.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: LevelCase, *, seed: int | None = None) -> _ModelLevels:
        """Return a hierarchy."""
        fresh = Key.generate()
        if self.bug is LevelBug.SHARED_KEY:
            fresh = testing.fixed_id(fresh, bytes(16))
        return _ModelLevels(case, fresh if seed is None else seeded_key(seed), self.bug)


class _ModelLevels:
    """One table per level."""

    def __init__(self, case: LevelCase, key: Key, bug: LevelBug | None) -> None:
        """Make the tables, from the descriptions of a hierarchy with too few levels if planted."""
        with case.hierarchy(Key.generate()) as source:
            self.privacy = source.privacy
        left_out = case.levels - (bug is LevelBug.LEFT_OUT)
        with case.hierarchy(Key.generate(), levels=left_out) as source:
            found = [source.level(level).spec for level in range(left_out)]
        found += found[-1:] * (case.levels - left_out)
        if case.bounds is not None and bug is LevelBug.ONE_NOISE:
            found = [
                replace(spec, table=replace(spec.table, person_bound=case.bounds[-1]))
                for spec in found
            ]
        shared = bug is LevelBug.SHARED_KEY
        seeds = [(HASH_SEED + (0 if shared else level)) % 2**64 for level in range(case.levels)]
        self.specs = [
            replace(spec, table=spec.table.with_hash_seed(seed))
            for spec, seed in zip(found, seeds, strict=True)
        ]
        self._heavy = [HeavyHitters.from_spec(spec, key=key) for spec in self.specs]
        self._case, self._bug = case, bug
        self._rules, self._someone = case.rules(), itertools.count()

    def _feed_people(self, items: list[int], people: list[int]) -> None:
        """Count what is admitted, each as an event of a person of its own."""
        for item, person in zip(items, people, strict=True):
            names = self._case.names(item)
            pairs = list(zip(self._rules, names, strict=True))
            admitted = [rule.admits(person, name) for rule, name in pairs]
            if self._bug is LevelBug.COARSEST:
                admitted = admitted[:1] * len(admitted)
            elif self._bug is not LevelBug.ALONE:
                admitted = [all(admitted)] * len(admitted)
            someone = next(self._someone)
            for is_counted, (rule, name), heavy in zip(admitted, pairs, self._heavy, strict=True):
                if is_counted:
                    rule.add(person, name)
                    heavy.update(name, user=someone)
                else:
                    heavy.tick()

    def feed(self, items: list[int], people: list[int] | None = None) -> None:
        """Count events."""
        if people is not None:
            self._feed_people(items, people)
            return
        for item in items:
            for level, name in enumerate(self._case.names(item)):
                self._heavy[level].update(name)
        if self._bug is LevelBug.TWICE:
            self._heavy[1].update(self._case.names(items[0])[1])

    def tick(self, steps: int) -> None:
        """Take empty steps."""
        for heavy in self._heavy:
            heavy.tick(steps if heavy.step + steps <= self._case.horizon else steps - 1)

    def releases(self) -> list[Release]:
        """Return the release of every level."""
        return [heavy.release() for heavy in self._heavy]

    def tables(self) -> list[DiscoveringTable]:
        """Return the live tables."""
        return [
            table
            for table in (heavy._table for heavy in self._heavy)
            if isinstance(table, DiscoveringTable)
        ]


def draws_of(table: DiscoveringTable, cells: int, nodes: int) -> Integers:
    """Return the draws of the first cells and nodes of a table.

    Args:
        table: a table under a seeded key.
        cells: number of cells.
        nodes: number of nodes.

    Returns:
        int64 array of shape (cells, nodes).
    """
    return testing.draws(table, list(range(cells)), list(range(1, nodes + 1)))
