"""People of sums: the same events of each count in both tables, and the noise covers them all.

Under a seeded key sums with a bound are compared, bit for bit, with those of a stream in which the
events that do not count never were; a rule of the audit decides which. Neighbouring streams differ
by exactly what one person changed in each table; mapped through U, as in
:mod:`lazysketch.audit.sensitivity`, by at most what its noise is for, and a person whose values go
from one bound to the other attains it in the table of values.

Detects: events beyond the bound that count, in both tables or in one; noise for one event of a
cell, or for one of two people. Cannot detect: two identifiers taken for one person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, Protocol, TypeAlias, get_args

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.people_rule import Rule, columns_of
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes, patterns
from lazysketch.audit.strategy import strategy
from lazysketch.audit.sums_model import Tables, exact_tables
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.specification.schedules import Batch
from lazysketch.specification.table_spec import TableSpec
from lazysketch.sums.sums import Sums
from lazysketch.sums.sums_spec import SumsSpec, sums_spec
from lazysketch.testing import seeded_key

__all__ = [
    "PeopleOfSums",
    "PeopleOfSumsBug",
    "PeopleOfSumsModel",
    "Run",
    "distances_of_people_of_sums",
    "rule_of_people_of_sums",
]

Event: TypeAlias = tuple[int, int, float]
"""A person, an item and a value."""

Stream: TypeAlias = Sequence[Sequence[Event]]
"""The events of each step."""

_SEED: Final = 5
_STEPS: Final = 3
_PERSON, _OTHER, _LET_IN = 7, 8, 9
_LOW, _HIGH = -1.0, 2.0
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
_BOUNDS: Final = (
    PersonBound(events=2),
    PersonBound(cells=2),
    PersonBound(events=2, most_people=2),
)


class PeopleOfSums:
    """Sums of the installed library, fed with the people of events."""

    name = "lazysketch"

    def transcript(self, spec: SumsSpec, stream: Stream) -> Tables:
        """Return the releases after every step under one seeded key, each (steps, cells)."""
        rows: tuple[list[Integers], list[Integers]] = ([], [])
        with Sums.from_spec(spec, key=seeded_key(1)) as live:
            for step in stream:
                live.update_batch(
                    [item for _, item, _ in step],
                    np.array([value for _, _, value in step], dtype=np.float64),
                    user=[person for person, _, _ in step],
                )
                for of_table, table in zip(rows, live.release().tables, strict=True):
                    of_table.append(table.table.ravel().astype(np.int64))
        return Tables(np.array(rows[0]), np.array(rows[1]))

    def stated(self, table: TableSpec) -> tuple[float, float]:
        """Return the stated distance of neighbours in a table, and the deviation of a draw."""
        return table.noise.l2_sensitivity, table.noise.sigma


class PeopleOfSumsBug(Enum):
    """A planted bug of people of sums; the value is its description."""

    UNBOUNDED = "events of sums beyond the bound of a person are counted"
    ONE_TABLE = "a bound of people in the table of values alone"
    ONE_EVENT = "noise of sums for one event or cell of a person"
    ONE_PERSON = "noise of sums for one of the people who change"


class _System(Protocol):
    """A maker of transcripts."""

    def transcript(self, spec: SumsSpec, stream: Stream) -> Tables: ...

    def stated(self, table: TableSpec) -> tuple[float, float]: ...


Run: TypeAlias = Callable[[_System], Outcome]


class PeopleOfSumsModel(ModelMaker[PeopleOfSumsBug]):
    """A model: both tables by its own rule, and the noise of empty sums. NOT PRIVATE.

    Args:
        bug: the bug, or None.
    """

    def transcript(self, spec: SumsSpec, stream: Stream) -> Tables:
        """Return the releases after every step, as those of the library."""
        noise = PeopleOfSums().transcript(spec, [[] for _ in stream])
        bugs = PeopleOfSumsBug
        counted = [kept(spec, stream)] * 2
        if self.bug in (bugs.UNBOUNDED, bugs.ONE_TABLE):
            counted[0] = stream
        if self.bug is bugs.UNBOUNDED:
            counted[1] = stream
        found = []
        for at in (0, 1):
            events: list[tuple[int, float] | None] = []
            rows = []
            for step in counted[at]:
                events += [(item, value) for _, item, value in step]
                rows.append(exact_tables(spec, events)[at])
            found.append(noise[at] + np.array(rows))
        return Tables(found[0], found[1])

    def stated(self, table: TableSpec) -> tuple[float, float]:
        """Return what sums with the bug would state."""
        l2_sensitivity, sigma = PeopleOfSums().stated(table)
        bound, less = _bound(table), 1.0
        if self.bug is PeopleOfSumsBug.ONE_EVENT:
            less = bound.events * math.sqrt(bound.cells)
        elif self.bug is PeopleOfSumsBug.ONE_PERSON:
            less = _people(table)
        return l2_sensitivity / less, sigma / less


def kept(spec: SumsSpec, stream: Stream) -> Stream:
    """Return the stream in which all events that do not count are missing from their step.

    Args:
        spec: sums with a bound.
        stream: all events.

    Returns:
        As many steps.
    """
    rule = Rule(columns_of(Case(spec.counts), _SEED), _bound(spec.counts))
    return [[event for event in step if rule.counts(event[0], event[1])] for step in stream]


def _bound(table: TableSpec) -> PersonBound:
    if table.person_bound is None:
        raise AssertionError("table: expected a person_bound, got none")
    return table.person_bound


def _people(table: TableSpec) -> int:
    """People who differ between neighbours, by docs/theory.md, "People"."""
    people = 2 if table.relation == "substitution" else 1
    return people if _bound(table).most_people is None else 2 * people


def _specs() -> list[SumsSpec]:
    return [
        sums_spec(
            low=_LOW,
            high=_HIGH,
            step=0.5,
            epsilon=1.0,
            delta=1e-6,
            depth=2,
            width=2,
            relation=relation,
            schedule=Batch(horizon=_STEPS),
            person_bound=bound,
            hash_seed=_SEED,
        )
        for relation in _RELATIONS
        for bound in _BOUNDS
    ]


def distances_of_people_of_sums(system: _System) -> Outcome:
    """Compare the distances of neighbouring streams with the stated sensitivity and the noise.

    Args:
        system: the system under test.

    Returns:
        Failed if two neighbours are further apart in a table than is stated, or than Theorem 28
        says; if a person who goes does not attain it; or if sigma is a smaller share of it.
    """
    specs = _specs()
    largest = 0.0

    def failures() -> Iterator[str]:
        nonlocal largest
        for spec in specs:
            found = _largest(system, spec)
            for at, table in enumerate((spec.counts, spec.values)):
                stated, sigma = system.stated(table)
                bound = _bound(table)
                scale = strategy(table.chosen_mechanism.name, Case(table).leaves).sensitivity2
                cells = table.depth * min(bound.cells, table.width)
                one_person = bound.events * table.max_weight * math.sqrt(cells * scale)
                most = _people(table) * one_person
                attained = most if at == 1 and bound.most_people is None else one_person
                largest = max(largest, found[at] / most)
                described = f"{'values' if at else 'events'}, {table.relation}, {bound}"
                if found[at] > min(stated, most) * (1 + 1e-9):
                    yield f"distance {found[at]:.6g}, {stated:.6g} stated: {described}"
                elif found[at] < attained * (1 - 1e-9):
                    yield f"distance {found[at]:.6g} instead of {attained:.6g}: {described}"
                elif not math.isclose(stated, most, rel_tol=1e-9):
                    yield f"{stated:.6g} stated, {most:.6g} claimed: {described}"
                elif sigma < most / Case(table).mu:
                    yield f"sigma {sigma:.6g} for a distance of {most:.6g}: {described}"

    claim = "no person moves the tables of sums more than is stated"
    outcome = exact_outcome(claim, failures(), cases=2 * len(specs))
    observed = f"largest distance {largest:.4f} of that claimed"
    return replace(outcome, observed=observed) if outcome.passed else outcome


def _largest(system: _System, spec: SumsSpec) -> tuple[float, float]:
    """Return the largest distances of streams with and without a person's events, or others."""
    case = Case(spec.counts)
    matrices = strategy(spec.counts.chosen_mechanism.name, case.leaves)
    background = _background(_bound(spec.counts))
    base = system.transcript(spec, background)
    moved: tuple[list[Integers], list[Integers]] = ([], [])
    for variant in _variants(case, background):
        found = system.transcript(spec, variant)
        for at in (0, 1):
            moved[at].append(moved_nodes(case, matrices, found[at] - base[at]))
    worst = []
    for of_table in moved:
        vectors = np.array(of_table)
        gram = vectors @ vectors.T
        squares = own = np.diag(gram)
        if spec.counts.relation == "substitution":
            squares = np.maximum(own, own[:, None] + own[None, :] - 2 * gram)
        worst.append(math.sqrt(int(squares.max())))
    return worst[0], worst[1]


def _background(bound: PersonBound) -> list[list[Event]]:
    """One other person; with a limit of people one more, who is let in if the person is missing."""
    steps: list[list[Event]] = [[(_OTHER, 2, 1.0)], [], []]
    if bound.most_people is not None:
        steps[-1] += [(_LET_IN, item, _HIGH) for item in (0, 0, 1, 1)]
    return steps


def _variants(case: Case, background: Stream) -> Iterator[Stream]:
    """Streams with more events of a person than count: of one item or two, at one step or all."""
    items = patterns(case, 1)
    for value in (_LOW, _HIGH + 5.0):
        for step in range(_STEPS):
            for other in items:
                own = [(_PERSON, item, value) for item in (items[0], other) * 3]
                stream = [[*events] for events in background]
                stream[step] = own + stream[step]
                yield stream
        for item in items:
            yield [[(_PERSON, item, value)] * 2 + [*events] for events in background]


def rule_of_people_of_sums(system: _System) -> Outcome:
    """Compare both tables with those of streams without the events that do not count.

    Args:
        system: the system under test.

    Returns:
        Failed if a release differs in a bit.
    """
    specs = _specs()
    random = np.random.default_rng(12)

    def stream() -> Stream:
        """Five people; one of them sends half of the events."""
        return [
            [
                (
                    max(0, int(random.integers(-5, 5))),
                    int(random.integers(0, 9)),
                    float(random.choice([_LOW, 0.5, _HIGH])),
                )
                for _ in range(int(random.integers(0, 12)))
            ]
            for _ in range(_STEPS)
        ]

    def failures() -> Iterator[str]:
        for spec in specs:
            for events in (stream() for _ in range(4)):
                found = system.transcript(spec, events)
                expected = system.transcript(spec, kept(spec, events))
                if not all(np.array_equal(*pair) for pair in zip(found, expected, strict=True)):
                    yield f"{spec.counts.relation}, {_bound(spec.counts)}"
                    break

    claim = "events of sums beyond the bound are empty steps of both tables"
    return exact_outcome(claim, failures(), cases=4 * len(specs))
