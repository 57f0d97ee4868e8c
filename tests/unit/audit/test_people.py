"""The audit's rule, streams and model of people, against slower oracles and the library."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle import people as oracle

import lazysketch as ls
from lazysketch.audit.case import Case, places
from lazysketch.audit.claimed_noise import table_sensitivity2
from lazysketch.audit.people_checks import distances_of_people, tables_of_people
from lazysketch.audit.people_rule import Event, kept
from lazysketch.audit.people_streams import families
from lazysketch.audit.people_system import LivePeople, PeopleLibrary, PeopleModel
from lazysketch.audit.spending import spent_on_counts
from lazysketch.privacy.relations import CountKind, Relation
from lazysketch.specification.schedules import Schedule

HASH_SEED = 3
SCHEDULES: tuple[Schedule, ...] = (
    ls.RoundRobin(horizon=80),
    ls.Punctual(horizon=80),
    ls.Batch(horizon=80),
)
KINDS: tuple[CountKind, ...] = ("count-min", "count-sketch", "counters")
RELATIONS: tuple[Relation, ...] = ("substitution", "zero-out")
BOUNDS = st.builds(
    ls.PersonBound,
    cells=st.integers(1, 4),
    events=st.integers(1, 3),
    most_people=st.none() | st.integers(1, 4),
)


def case_of(kind: CountKind, bound: ls.PersonBound, schedule: Schedule = SCHEDULES[2]) -> Case:
    counters = kind == "counters"
    depth, width = (1, 30) if counters else (3, 5)
    return Case.of(kind, depth, width, schedule, person_bound=bound)


@given(
    kind=st.sampled_from(KINDS),
    bound=BOUNDS,
    stream=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 29)), max_size=20), max_size=8
    ),
)
def test_the_rule_equals_the_oracle(
    kind: CountKind, bound: ls.PersonBound, stream: list[list[Event]]
) -> None:
    case = case_of(kind, bound)
    table = oracle.Table(
        lambda item: [column for _, column, _ in places(case, HASH_SEED, int(str(item)))],
        cells=bound.cells,
        events=bound.events,
    )
    flat = list(itertools.chain.from_iterable(stream))
    counted = oracle.counted(
        [table],
        [person for person, _ in flat],
        [(item,) for _, item in flat],
        most_people=bound.most_people,
    )
    found = kept(case, HASH_SEED, stream)
    assert len(found) == len(stream)
    expected = [event for event, is_counted in zip(flat, counted, strict=True) if is_counted]
    assert list(itertools.chain.from_iterable(found)) == expected


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.name)
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_equals_the_library(kind: CountKind, schedule: Schedule) -> None:
    """Bit for bit, under one key, also with weights and a limit."""
    random = np.random.default_rng(2)
    bound = ls.PersonBound(cells=2, events=2, most_people=3)
    case = case_of(kind, bound, schedule).changed(max_weight=3)
    most = 5 if schedule.name == "batch" else 1
    stream = [
        [(int(random.integers(0, 5)), int(random.integers(0, 30))) for _ in range(most)]
        for _ in range(60)
    ]
    given_, model = (
        system.open(case, hash_seed=HASH_SEED, seed=4)
        for system in (PeopleLibrary(), PeopleModel())
    )
    assert (given_.sigma, given_.mechanism) == (model.sigma, model.mechanism)
    assert given_.l2_sensitivity == model.l2_sensitivity
    empty: list[list[Event]] = [[], []]
    for part in (stream[:25], stream[25:], empty):
        given_.feed(part)
        model.feed(part)
        np.testing.assert_array_equal(given_.read(), model.read())
    given_.finish()
    model.finish()
    np.testing.assert_array_equal(given_.read(), model.read())


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("most_people", [None, 2])
def test_the_claimed_sensitivity_is_that_of_the_theorem(
    relation: Relation, most_people: int | None
) -> None:
    """sqrt(d g) c w for each of 1, 2 or 4 people; a row has no more cells than columns."""
    bound = ls.PersonBound(cells=9, events=3, most_people=most_people)
    case = case_of("count-sketch", bound).changed(relation=relation, max_weight=2)
    people = (2 if relation == "substitution" else 1) * (2 if most_people else 1)
    clipped = ls.PersonBound(cells=5, events=3, most_people=most_people)
    assert case.bound == clipped
    squared = table_sensitivity2("count-sketch", depth=3, relation=relation, bound=clipped)
    assert squared == 3 * 5 * 9 * people**2
    with case.make() as sketch:
        claimed = case.claimed_noise(sketch.mechanism.name)
        assert sketch.sigma == pytest.approx(claimed.sigma, rel=1e-4)
        stated = sketch.privacy.l2_sensitivity**2
        assert stated == pytest.approx(squared * 4 * claimed.strategy.sensitivity2)
        spent = spent_on_counts(sketch.release())
    (mu,) = spent.mus
    assert mu == pytest.approx(case.mu, rel=1e-4)


@pytest.mark.parametrize("case", tables_of_people("count-sketch", "substitution"), ids=str)
def test_streams_of_a_family_are_neighbours(case: Case) -> None:
    """Without the events of one person each variant is the stream of the others, step by step."""
    tried = 0
    for family in families(case, HASH_SEED):
        for variant in family.variants:
            added = {
                person
                for step, without in zip(variant, family.without, strict=True)
                for person, _ in step[: len(step) - len(without)]
            }
            assert len(added) == 1
            (person,) = added
            others = [[event for event in step if event[0] != person] for step in variant]
            assert [list(step) for step in family.without] == others
            tried += 1
    assert tried >= 24


class OneCell:
    """Tables that count one cell of each row of a person only, with noise for as much."""

    name = "one cell"

    def open(self, case: Case, *, hash_seed: int, seed: int | None = None) -> LivePeople:
        """Return a table with another bound than described."""
        bound = ls.PersonBound(cells=1)
        return PeopleLibrary().open(
            case.changed(person_bound=bound), hash_seed=hash_seed, seed=seed
        )

    def open_hitters(self, case: Case, *, hash_seed: int, seed: int) -> LivePeople:
        """Return heavy hitters as described."""
        return PeopleLibrary().open_hitters(case, hash_seed=hash_seed, seed=seed)


def test_what_is_attained_is_checked() -> None:
    """A table whose people change less than the theorem says would fail the check."""
    found = distances_of_people(OneCell(), tables_of_people("count-min", "zero-out")[1:2])
    assert not found.passed
    assert "squared distance 34 instead of 272" in found.observed
