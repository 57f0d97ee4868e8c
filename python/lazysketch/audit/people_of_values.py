"""People of values and of keys: so many of each count, and the noise covers all that one can send.

Under a seeded key a distribution, or counts of ranges, with a bound are compared, bit for bit, with
those of a stream in which the values that do not count never were; a rule of this module decides
which. A key of a range is called a value here, and its number a bin. Neighbouring
streams differ by exactly what one person changed; mapped through U, as in
:mod:`lazysketch.audit.sensitivity`, by at most what the noise is for, and a person whose values
come together attains it.

Detects: values beyond the bound that count, in all bins or in each of them; noise for one value, or
for one of two people. Cannot detect: two identifiers taken for one person.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final, Protocol, TypeAlias, get_args

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.model_maker import ModelMaker
from lazysketch.audit.ranges_model import sums_of_keys, worst_over_keys
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.strategy import strategy
from lazysketch.audit.values_model import node_sums, worst_over_bins
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.ranges import Ranges
from lazysketch.specification.schedules import Batch
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows
from lazysketch.testing import seeded_key

__all__ = [
    "PeopleOfValues",
    "PeopleOfValuesBug",
    "PeopleOfValuesModel",
    "Run",
    "distances_of_people_of_values",
    "rule_of_people_of_values",
]

Stream: TypeAlias = Sequence[Sequence[tuple[int, int]]]
"""A person and a bin for each event of each step."""

_BINS: Final = 8
_STEPS: Final = 3
_PERSON, _OTHER, _LET_IN = 7, 8, 9
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
_BOUNDS: Final = (
    PersonBound(events=1),
    PersonBound(events=3),
    PersonBound(events=2, most_people=2),
)


class PeopleOfValues:
    """Distributions and ranges of the installed library, fed with the people of values."""

    name = "lazysketch"

    def transcript(self, case: Case, stream: Stream) -> Integers:
        """Return the releases after every step under one seeded key, shape (steps, cells)."""
        owner: type[Distribution | Ranges] = Ranges if _has_keys(case) else Distribution
        with owner.from_spec(case.spec, key=seeded_key(1)) as live:
            rows = []
            for step in stream:
                values = np.array([value for _, value in step], dtype=np.int64)
                live.update_batch(values, user=[person for person, _ in step])
                rows.append(live._table._release().table.ravel())
        found: Integers = np.array(rows).astype(np.int64)
        return found

    def stated(self, case: Case) -> tuple[float, float]:
        """Return the stated distance of neighbours, and the deviation of a draw."""
        return case.spec.noise.l2_sensitivity, case.spec.noise.sigma


class PeopleOfValuesBug(Enum):
    """A planted bug of people of values; the value is its description."""

    UNBOUNDED = "values beyond the bound of a person are counted"
    BY_BIN = "a bound of a person's values for each bin"
    ONE_VALUE = "noise for one value of a person"
    ONE_PERSON = "noise for one of the people who change"


class _System(Protocol):
    """A maker of transcripts."""

    def transcript(self, case: Case, stream: Stream) -> Integers: ...

    def stated(self, case: Case) -> tuple[float, float]: ...


Run: TypeAlias = Callable[[_System], Outcome]


class PeopleOfValuesModel(ModelMaker[PeopleOfValuesBug]):
    """A model: the node sums of its own rule, and the noise of an empty distribution. NOT PRIVATE.

    Args:
        bug: the bug, or None.
    """

    def transcript(self, case: Case, stream: Stream) -> Integers:
        """Return the releases after every step, as those of the library."""
        noise = PeopleOfValues().transcript(case, [[] for _ in stream])
        bugs = PeopleOfValuesBug
        counted: Stream = stream
        if self.bug is not bugs.UNBOUNDED:
            counted = kept(case, stream, by_bin=self.bug is bugs.BY_BIN)
        values: list[int] = []
        rows = []
        for step in counted:
            values += [value for _, value in step]
            rows.append(sums_of_keys(case, values) if _has_keys(case) else node_sums(case, values))
        found: Integers = noise + np.array(rows)
        return found

    def stated(self, case: Case) -> tuple[float, float]:
        """Return what a distribution with the bug would state."""
        l2_sensitivity, sigma = PeopleOfValues().stated(case)
        bound = _bound(case)
        less = 1
        if self.bug is PeopleOfValuesBug.ONE_VALUE:
            less = bound.events
        elif self.bug is PeopleOfValuesBug.ONE_PERSON:
            less = _people(case)
        return l2_sensitivity / less, sigma / less


def kept(case: Case, stream: Stream, *, by_bin: bool = False) -> Stream:
    """Return the stream in which all values that do not count are missing from their step.

    Args:
        case: a distribution with a bound.
        stream: all values.
        by_bin: a planted bug: so many values of a person in each bin.

    Returns:
        As many steps.
    """
    bound = _bound(case)
    held: Counter[tuple[int, int]] = Counter()
    known: set[int] = set()

    def counts(event: tuple[int, int]) -> bool:
        person, value = event
        if person not in known:
            if bound.most_people is not None and len(known) >= bound.most_people:
                return False
            known.add(person)
        place = (person, value if by_bin else 0)
        held[place] += 1
        return held[place] <= bound.events

    return [[event for event in step if counts(event)] for step in stream]


def _bound(case: Case) -> PersonBound:
    if case.spec.person_bound is None:
        raise AssertionError("case: expected a person_bound, got none")
    return case.spec.person_bound


def _has_keys(case: Case) -> bool:
    return case.spec.kind == "ranges"


def _alone(case: Case) -> int:
    """The largest squared change by one event that is there or not."""
    if _has_keys(case):
        return worst_over_keys(case.spec.depth, case.spec.width, relation="zero-out")
    return worst_over_bins(case, relation="zero-out")


def _people(case: Case) -> int:
    """People who differ between neighbours, by docs/theory.md, "People"."""
    people = 2 if case.spec.relation == "substitution" else 1
    return people if _bound(case).most_people is None else 2 * people


def _cases() -> list[Case]:
    def case(relation: Relation, rows: ValueRows, bound: PersonBound) -> Case:
        spec = TableSpec(
            kind="values",
            depth=1,
            width=_BINS,
            edges=tuple(range(1, _BINS)),
            value_rows=rows,
            schedule=Batch(horizon=_STEPS),
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            person_bound=bound,
        )
        return Case(spec)

    def keys(relation: Relation, bound: PersonBound) -> Case:
        """One depth of three has collisions."""
        spec = TableSpec(
            kind="ranges",
            depth=_BINS.bit_length() - 1,
            width=2,
            hash_seed=1,
            schedule=Batch(horizon=_STEPS),
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            person_bound=bound,
        )
        return Case(spec)

    return [
        made
        for relation in _RELATIONS
        for bound in _BOUNDS
        for made in (
            *(case(relation, rows, bound) for rows in VALUE_ROWS),
            keys(relation, bound),
        )
    ]


def distances_of_people_of_values(system: _System) -> Outcome:
    """Compare the distances of neighbouring streams with the stated sensitivity and the noise.

    Args:
        system: the system under test.

    Returns:
        Failed if two neighbours are further apart than is stated, or than Theorem 27 says; if a
        person who goes does not attain it; or if sigma is another share of it than that of events.
    """
    cases = _cases()
    largest = 0.0

    def failures() -> Iterator[str]:
        nonlocal largest
        for case in cases:
            stated, sigma = system.stated(case)
            matrices = strategy(case.spec.chosen_mechanism.name, case.leaves)
            alone = _alone(case) * matrices.sensitivity2
            one_person = _bound(case).events * math.sqrt(alone)
            most = _people(case) * one_person
            found = _largest(system, case)
            largest = max(largest, found / most)
            described = f"{case}, {case.spec.privacy.person_bound}"
            if found > min(stated, most) * (1 + 1e-9):
                yield f"distance {found:.6g}, {stated:.6g} stated, {most:.6g} claimed: {described}"
            elif found < one_person * (1 - 1e-9):
                yield f"distance {found:.6g} instead of {one_person:.6g} or more: {described}"
            elif not math.isclose(stated, most, rel_tol=1e-9):
                yield f"{stated:.6g} stated, {most:.6g} claimed: {described}"
            elif sigma < most / case.mu:
                yield f"sigma {sigma:.6g} for a distance of {most:.6g}: {described}"

    claim = "no person moves values more than is stated"
    outcome = exact_outcome(claim, failures(), cases=len(cases))
    observed = f"largest distance {largest:.4f} of that claimed"
    return replace(outcome, observed=observed) if outcome.passed else outcome


def _largest(system: _System, case: Case) -> float:
    """Return the largest distance of streams with and without a person's values, or with others."""
    matrices = strategy(case.spec.chosen_mechanism.name, case.leaves)
    background = _background(case)
    base = system.transcript(case, background)
    moved = np.array(
        [
            moved_nodes(case, matrices, system.transcript(case, variant) - base)
            for variant in _variants(background)
        ]
    )
    gram = moved @ moved.T
    squares = own = np.diag(gram)
    if case.spec.relation == "substitution":
        squares = np.maximum(own, own[:, None] + own[None, :] - 2 * gram)
    return math.sqrt(int(squares.max()))


def _background(case: Case) -> list[list[tuple[int, int]]]:
    """One other person; with a limit of people one more, who is let in if the person is missing."""
    steps: list[list[tuple[int, int]]] = [[(_OTHER, 2)], [], []]
    if _bound(case).most_people is not None:
        steps[-1] += [(_LET_IN, value) for value in (7, 7, 0, 0)]
    return steps


def _variants(background: Stream) -> Iterator[Stream]:
    """Streams with more values of a person than count: in one bin or all, at one step or all."""
    for first in range(_BINS):
        for step in range(_STEPS):
            for values in ([first] * 5, [(first + more) % _BINS for more in range(_BINS)]):
                stream = [[*events] for events in background]
                stream[step] = [(_PERSON, value) for value in values] + stream[step]
                yield stream
        yield [[(_PERSON, first)] * 2 + [*events] for events in background]


def rule_of_people_of_values(system: _System) -> Outcome:
    """Compare distributions with those of streams without the values that do not count.

    Args:
        system: the system under test.

    Returns:
        Failed if a release differs in a bit.
    """
    cases = _cases()
    random = np.random.default_rng(12)

    def stream() -> Stream:
        """Five people; one of them sends half of the values."""
        return [
            [
                (max(0, int(random.integers(-5, 5))), int(random.integers(0, _BINS)))
                for _ in range(int(random.integers(0, 12)))
            ]
            for _ in range(_STEPS)
        ]

    def failures() -> Iterator[str]:
        for case in cases:
            for events in (stream() for _ in range(4)):
                found = system.transcript(case, events)
                if not np.array_equal(found, system.transcript(case, kept(case, events))):
                    yield f"{case}, {case.spec.privacy.person_bound}"
                    break

    claim = "values beyond the bound are empty steps"
    return exact_outcome(claim, failures(), cases=4 * len(cases))
