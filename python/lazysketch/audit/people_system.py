"""Tables that bound people, under test: the installed library, or a model with a planted bug.

The model adds the counts of its own rule to the releases of an empty table under the same key. That
is a release of those counts, bit for bit, because noise is rounded independently of the count.
Without a bug the model equals the library. NOT PRIVATE.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol

import numpy as np

from lazysketch.audit.case import Case, places
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.people_rule import Rule, Stream, columns_of
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Table, sketch_of
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.testing import seeded_key

__all__ = [
    "LivePeople",
    "PeopleBug",
    "PeopleLibrary",
    "PeopleModel",
    "PeopleSystem",
]

_EPOCH: Final = 100  # steps of a discovery epoch
_ANY_ITEM: Final = PersonBound(cells=4096, events=65_535)


class LivePeople(Protocol):
    """A table of people's events, with names or without."""

    @property
    def mechanism(self) -> str:
        """The stated mechanism."""

    @property
    def sigma(self) -> float:
        """The stated standard deviation of a draw."""

    @property
    def l2_sensitivity(self) -> float:
        """The stated distance by which a person moves all noisy queries."""

    def feed(self, stream: Stream) -> None:
        """Take one step per entry, with its events or empty."""

    def finish(self) -> None:
        """Publish everything, as the last step."""

    def read(self) -> Table:
        """Return the public table."""

    def names(self) -> list[object]:
        """Return the published names in their order; none of a table without discovery."""


class PeopleSystem(Protocol):
    """A maker of tables that bound people."""

    @property
    def name(self) -> str:
        """The name in findings."""

    def open(self, case: Case, *, hash_seed: int, seed: int | None = None) -> LivePeople:
        """Return a table: under a fresh secret key, or under the key of a seed and one id."""

    def open_hitters(self, case: Case, *, hash_seed: int, seed: int) -> LivePeople:
        """Return heavy hitters with the shape, the schedule and the bound of a case."""


def _hitters(case: Case, hash_seed: int, key: Key) -> HeavyHitters:
    """Return heavy hitters with so little noise that names of few events are published."""
    spec = HeavyHittersSpec.of(
        schedule=case.spec.schedule,
        depth=case.spec.depth,
        width=case.spec.width,
        hash_seed=hash_seed,
        share=0.2,
        epsilon=10.0,
        delta=1e-3,
        discovery_epsilon=8.0,
        relation=case.spec.relation,
        discovery_epoch=_EPOCH,
        person_bound=case.spec.person_bound,
    )
    return HeavyHitters.from_spec(spec, key=key)


@dataclass(frozen=True)
class _LibraryPeople:
    """A table or heavy hitters of the library."""

    made: PrivateTable | HeavyHitters
    weight: int = 1

    @property
    def mechanism(self) -> str:
        """The stated mechanism."""
        part = self.made.release().parts[0].mechanism
        return part.name if part else ""

    @property
    def sigma(self) -> float:
        """The stated standard deviation of a draw."""
        return self.made.release().parts[0].privacy.sigma

    @property
    def l2_sensitivity(self) -> float:
        """The stated distance by which a person moves all noisy queries."""
        return self.made.release().parts[0].privacy.l2_sensitivity

    def feed(self, stream: Stream) -> None:
        """Take one step per entry: a batch, or runs of events and of empty steps in turn."""
        if isinstance(self.made, PrivateTable) and self.made.schedule.name == "batch":
            for step in stream:
                people, items = [person for person, _ in step], [item for _, item in step]
                self.made.update_batch(items, [self.weight] * len(items), user=people)
            return
        for is_empty, run in itertools.groupby(stream, key=lambda step: not step):
            steps = list(run)
            if is_empty:
                self.made.tick(len(steps))
                continue
            people, items = [step[0][0] for step in steps], [step[0][1] for step in steps]
            if self.weight == 1:
                self.made.update_many(items, user=people)
            else:
                self.made.update_many(items, [self.weight] * len(items), user=people)

    def finish(self) -> None:
        """Publish everything, as the last step."""
        self.made.finish()

    def read(self) -> Table:
        """Return the public table."""
        if isinstance(self.made, PrivateTable):
            return self.made._release().table
        return self.made.release().table

    def names(self) -> list[object]:
        """Return the published names in their order."""
        if isinstance(self.made, PrivateTable):
            return []
        return [found.item for found in self.made.top(1000)]


class PeopleLibrary:
    """The installed library."""

    name = "lazysketch"

    def open(self, case: Case, *, hash_seed: int, seed: int | None = None) -> _LibraryPeople:
        """Return a table of the public class."""
        key = Key.generate() if seed is None else seeded_key(seed)
        return _LibraryPeople(sketch_of(case, hash_seed, key), case.spec.max_weight)

    def open_hitters(self, case: Case, *, hash_seed: int, seed: int) -> _LibraryPeople:
        """Return heavy hitters of the public class."""
        return _LibraryPeople(_hitters(case, hash_seed, seeded_key(seed)))


class PeopleBug(Enum):
    """A planted bug of bounds of people; the value is its description."""

    ITEMS = "people bounded by items instead of cells"
    ROWS = "people bounded in each row on its own"
    REFUSED = "refused events of people counted"
    NAMES = "refused events of people offered to discovery"
    EXTRA = "one event of a person too many"
    STOP = "a limit of people that is a stop"
    ONE_CELL = "noise for one cell of a person"
    MORE_CELLS = "noise for one cell of a person more"
    NO_LIMIT = "noise without the person whom a limit lets in"


class _StoppingRule(Rule):
    """Counts nothing any more once a person came after the limit."""

    _stopped = False

    def counts(self, person: int, item: int) -> bool:
        """Return whether an event is counted."""
        self._stopped = self._stopped or self.is_stranger(person)
        return not self._stopped and super().counts(person, item)


def _rules(case: Case, hash_seed: int, bug: PeopleBug | None) -> list[Rule]:
    """Return the rule of the whole table, or one for each row."""
    bound = case.spec.person_bound
    if bound is None:
        raise AssertionError("case: expected a person_bound, got none")
    columns = columns_of(case, hash_seed)
    if bug is PeopleBug.ITEMS:
        return [Rule(lambda item: [item], bound)]
    if bug is PeopleBug.REFUSED:
        return [Rule(columns, _ANY_ITEM)]
    if bug is PeopleBug.EXTRA:
        return [Rule(columns, replace(bound, events=bound.events + 1))]
    if bug is PeopleBug.STOP:
        return [_StoppingRule(columns, bound)]
    if bug is PeopleBug.ROWS:

        def one_row(row: int) -> Rule:
            return Rule(lambda item: [columns(item)[row]], bound)

        return [one_row(row) for row in range(case.spec.depth)]
    return [Rule(columns, bound)]


def _calibrated(case: Case, bug: PeopleBug | None) -> Case:
    """Return the case with the noise of a bug."""
    bound = case.spec.person_bound
    if bound is not None and bug is PeopleBug.ONE_CELL:
        return case.changed(person_bound=replace(bound, cells=1))
    if bound is not None and bug is PeopleBug.MORE_CELLS:
        return case.changed(person_bound=replace(bound, cells=bound.cells + 1))
    if bound is not None and bug is PeopleBug.NO_LIMIT:
        return case.changed(person_bound=replace(bound, most_people=None))
    return case


class PeopleModel(ModelMaker[PeopleBug]):
    """A maker of model tables.

    Args:
        bug: the bug, or None.
    """

    def open(self, case: Case, *, hash_seed: int, seed: int | None = None) -> _ModelPeople:
        """Return a model table: under a random seed, or under the key of a seed and one id."""
        key = seeded_key(secrets.randbits(64) if seed is None else seed)
        return _ModelPeople(case, hash_seed, key, self.bug)

    def open_hitters(self, case: Case, *, hash_seed: int, seed: int) -> _ModelHitters:
        """Return model hitters."""
        return _ModelHitters(case, hash_seed, seeded_key(seed), self.bug)


class _ModelPeople:
    """A model table."""

    def __init__(self, case: Case, hash_seed: int, key: Key, bug: PeopleBug | None) -> None:
        """Make the empty table that the noise comes from."""
        self._case, self._hash_seed = case, hash_seed
        self._rules = _rules(case, hash_seed, bug)
        self._empty = sketch_of(_calibrated(case, bug), hash_seed, key)
        self.mechanism, self.sigma = self._empty.mechanism.name, self._empty.sigma
        self.l2_sensitivity = self._empty.privacy.l2_sensitivity
        self._step, self._ended = 0, False
        self._added: list[tuple[int, int, int, int]] = []  # step, row, column, change

    def feed(self, stream: Stream) -> None:
        """Take one step per entry."""
        weight, depth = self._case.spec.max_weight, self._case.spec.depth
        for step in stream:
            self._step += 1
            for person, item in step:
                decided = [rule.counts(person, item) for rule in self._rules]
                rows = decided if len(decided) == depth else decided * depth
                for row, column, sign in places(self._case, self._hash_seed, item):
                    if rows[row]:
                        self._added.append((self._step, row, column, sign * weight))
        self._empty.tick(len(stream))

    def finish(self) -> None:
        """Publish everything, as the last step."""
        self._empty.finish()
        self._ended = True

    def read(self) -> Table:
        """Return the noise of the empty table plus the published counts."""
        _, last = self._case.progress(self._step)
        if self._ended:
            last = np.full_like(last, self._step)
        counts: Integers = np.array(self._empty._release().table, dtype=np.int64)
        for step, row, column, change in self._added:
            if step <= last[column]:
                counts[row, column] += change
        return counts

    def names(self) -> list[object]:
        """No names."""
        return []


class _ModelHitters:
    """Heavy hitters of the library that count an event as one of a person of its own, or not."""

    def __init__(self, case: Case, hash_seed: int, key: Key, bug: PeopleBug | None) -> None:
        """Make hitters without a limit of people."""
        bound = case.spec.person_bound
        self._rules = _rules(case, hash_seed, bug)
        unlimited = case.changed(person_bound=bound and replace(bound, most_people=None))
        self._made = _LibraryPeople(_hitters(unlimited, hash_seed, key))
        everything = bug is PeopleBug.NAMES
        self._named = _LibraryPeople(_hitters(unlimited, hash_seed, key)) if everything else None
        self._people = itertools.count()
        self.mechanism, self.sigma = self._made.mechanism, self._made.sigma
        self.l2_sensitivity = self._made.l2_sensitivity

    def feed(self, stream: Stream) -> None:
        """Take one step per entry."""

        def counted(person: int, item: int) -> bool:
            decided = [rule.counts(person, item) for rule in self._rules]
            return any(decided)

        alone = [[(next(self._people), *event) for event in step] for step in stream]
        self._made.feed(
            [[(one, item) for one, person, item in step if counted(person, item)] for step in alone]
        )
        if self._named is not None:
            self._named.feed([[(one, item) for one, _, item in step] for step in alone])

    def finish(self) -> None:
        """Publish everything, as the last step."""
        self._made.finish()
        if self._named is not None:
            self._named.finish()

    def read(self) -> Table:
        """Return the public table."""
        return self._made.read()

    def names(self) -> list[object]:
        """Return the published names in their order."""
        return (self._named or self._made).names()
