"""Sums that bound people: the same events count in both tables, and the noise covers a person.

The rule of this module decides by definition which events count. The sensitivity of Theorem 28 is
enumerated: all short streams of one person are counted under one key, so that differences of
releases are exact, and mapped through U as in the audit.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch import _native
from lazysketch.audit.case import Case, places
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError, ItemError
from lazysketch.privacy.relations import Relation, people_changed
from lazysketch.sums.sums_spec import SumsSpec, sums_spec
from lazysketch.testing import seeded_key

Event = tuple[int, int, float]  # person, item, value
SEED = 11
BOUNDS = st.builds(
    ls.PersonBound,
    cells=st.integers(1, 3),
    events=st.integers(1, 3),
    most_people=st.none() | st.integers(1, 4),
)
EVENTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 7), st.floats(-2, 3, allow_nan=False)),
    min_size=1,
    max_size=80,
)


@cache
def spec_of(bound: ls.PersonBound | None, **options: Any) -> SumsSpec:
    plain = {"low": -1.0, "high": 2.0, "epsilon": 1.0, "delta": 1e-6, "depth": 2, "width": 8}
    if "schedule" not in options:
        plain["horizon"] = 400
    return sums_spec(person_bound=bound, hash_seed=SEED, **{**plain, **options})


def made(bound: ls.PersonBound | None, **options: Any) -> ls.Sums:
    """Equal sums have equal noise."""
    return ls.Sums.from_spec(spec_of(bound, **options), key=seeded_key(3))


def rule(spec: SumsSpec, events: Iterable[Event]) -> list[bool]:
    """Docs/theory.md, "People", by definition."""
    bound, case = spec.counts.person_bound, Case(spec.counts)
    assert bound is not None
    held: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    known: set[int] = set()
    result = []
    for person, item, _ in events:
        if person not in known and len(known) == bound.most_people:
            result.append(False)
            continue
        known.add(person)
        cells = [(held[person, row], column) for row, column, _ in places(case, SEED, item)]
        fits = all(
            row[column] < bound.events and (column in row or len(row) < bound.cells)
            for row, column in cells
        )
        for row, column in cells if fits else ():
            row[column] += 1
        result.append(fits)
    return result


def columns(events: Sequence[Event]) -> tuple[list[int], list[float], list[int]]:
    """Items, values and people."""
    return [one[1] for one in events], [one[2] for one in events], [one[0] for one in events]


@given(bound=BOUNDS, events=EVENTS, cut=st.integers(0, 80))
def test_an_event_beyond_the_bound_is_an_empty_step_of_both_tables(
    bound: ls.PersonBound, events: list[Event], cut: int
) -> None:
    """All that is published equals that of a stream whose other events never were."""
    given, expected = made(bound), made(bound)
    for part in (events[:cut], events[cut:]):
        items, values, people = columns(part)
        given.update_many(items, values, user=people)
    for (person, item, value), was in zip(events, rule(spec_of(bound), events), strict=True):
        if was:
            expected.update(item, value, user=person)
        else:
            expected.tick()
    assert given.steps == expected.steps == len(events)
    assert given.release().to_bytes() == expected.release().to_bytes()


def random_events(seed: int, number: int) -> list[Event]:
    chance = random.Random(seed)
    return [
        (chance.randrange(9), chance.randrange(20), chance.uniform(-2, 3)) for _ in range(number)
    ]


def test_every_way_to_count_applies_the_rule() -> None:
    bound, events = ls.PersonBound(cells=3, events=2, most_people=7), random_events(5, 150)
    items, values, people = columns(events)
    ways = [made(bound) for _ in range(4)]
    ways[0].update_many(items, values, user=people)
    for person, item, value in events:
        ways[1].update(item, value, user=person)
    ways[2].update_many(pa.array(items), np.array(values), user=np.array(people))
    ways[3].update_rows(iter(items), iter(values), empty_rows=[], user=iter(people))
    assert len({way.release().to_bytes() for way in ways}) == 1
    rows, apart = made(bound), made(bound)
    rows.update_rows(items, values, empty_rows=[0, 50], user=people)
    apart.tick()
    apart.update_many(items[:49], values[:49], user=people[:49])
    apart.tick()
    apart.update_many(items[49:], values[49:], user=people[49:])
    assert rows.release().to_bytes() == apart.release().to_bytes()


def test_a_batch_applies_the_rule() -> None:
    bound, events = ls.PersonBound(cells=2), random_events(6, 60)
    schedule = ls.Batch(horizon=9)
    accepted = iter(rule(spec_of(bound), events))
    given, expected = (made(bound, schedule=schedule) for _ in range(2))
    for start in range(0, 60, 12):
        part = events[start : start + 12]
        items, values, people = columns(part)
        given.update_batch(items, values, user=people)
        items, values, people = columns([event for event in part if next(accepted)])
        expected.update_batch(items, values, user=people)
    assert given.release().to_bytes() == expected.release().to_bytes()


def test_answers_are_of_the_events_that_count() -> None:
    """One person sends nearly all events of a shop: ten of them count, and no interval has more."""
    people = [0] * 3_000 + list(range(1, 301))
    bound = ls.PersonBound(events=10)
    with made(bound, horizon=4_000, epsilon=5.0, delta=1e-3, width=512) as counted:
        counted.update_many(["shop"] * 3_300, [2.0] * 3_300, user=people)
        release, sure = counted.release(), 1 - 1e-6
    count, total = release.count("shop", confidence=sure), release.sum("shop", confidence=sure)
    assert 310 in count
    assert 620 in total
    assert count.high < 3_300
    assert total.high < 6_600


def test_events_need_their_person_where_people_are_bounded() -> None:
    bounded, plain = made(ls.PersonBound()), made(None)
    for count in (
        lambda: bounded.update("a", 1.0),
        lambda: bounded.update_many(["a"], [1.0]),
        lambda: bounded.update_rows(["a"], [1.0], empty_rows=[]),
    ):
        with pytest.raises(ArgumentValueError, match=r"^user: expected the person of each event"):
            count()
    with pytest.raises(ArgumentTypeError, match=r"^user: expected none"):
        plain.update("a", 1.0, user="ann")
    with pytest.raises(ArgumentValueError, match=r"^user: expected one person per item \(2\)"):
        bounded.update_many(["a", "b"], [1.0, 2.0], user=["ann"])
    with pytest.raises(ArgumentValueError, match=r"^values: expected one per item \(2\)"):
        bounded.update_many(["a", "b"], [1.0], user=["ann", "bob"])
    with pytest.raises(ItemError, match=r"^user"):
        bounded.update_many(["a", "b"], [1.0, 2.0], user=["ann", None])
    assert bounded.steps == plain.steps == 0


def test_a_refused_call_leaves_no_one() -> None:
    bound = ls.PersonBound(most_people=2)
    counted, expected = (made(bound, horizon=3) for _ in range(2))
    with pytest.raises(HorizonError):
        counted.update_many(["a"] * 4, [1.0] * 4, user=[1, 2, 3, 4])
    for live in (counted, expected):
        live.update_many(["a", "a"], [1.0, 2.0], user=[5, 6])
    assert counted.release().to_bytes() == expected.release().to_bytes()
    people = _native.People.of_table(counted._counts)
    assert people is not None
    assert people.known == 2
    other = _native.People.of_table(counted._values)
    assert other is not None
    assert other.known == 0  # one decision, made once
    counted.close()
    assert people.known == 0


def test_the_guarantee_is_of_a_person() -> None:
    bound = ls.PersonBound(cells=3, events=2)
    spec = spec_of(bound)
    words = "per person, of whom 2 events in each of 3 cells of every sketch row are counted"
    assert words in str(spec.privacy)
    assert words.removeprefix("per person, ") in spec.privacy.sentence
    with made(bound) as live:
        live.update("a", 1.0, user="ann")
        release = ls.SumsRelease.from_bytes(live.release().to_bytes())
    assert all(table.privacy.person_bound == bound for table in release.tables)
    assert ls.compose(spec.privacy).person_bound == bound
    with pytest.raises(ArgumentValueError, match=r"^max_events_per_user: expected 1 with a"):
        spec_of(bound, max_events_per_user=2)


def test_a_plan_has_the_noise_of_the_bound() -> None:
    """The error is nearly all noise, which is sqrt(cells) x events times that of an event."""
    noise: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "horizon": 2_000}
    bounds: dict[str, Any] = {"low": 0, "high": 10, "step": 1, "width": 4_096}
    plans = [
        ls.plan_sums(steps=2_000, person_bound=bound, **bounds, **noise)
        for bound in (ls.PersonBound(), ls.PersonBound(cells=9, events=2))
    ]
    assert plans[1].spec.counts.person_bound == ls.PersonBound(cells=9, events=2)
    for of in ("sum_error", "sum_deviation", "count_deviation"):
        assert getattr(plans[1], of) / getattr(plans[0], of) == pytest.approx(6.0, rel=0.1)
    with plans[1].sums() as live:
        live.update("a", 1.0, user="ann")
        assert live.steps == 1


# The sensitivity, by enumeration.

STEPS, ITEMS, VALUES = 3, range(5), (-1.0, 1.0, 9.0)
PERSON, OTHER, LET_IN = 7, 8, 9
Stream = tuple[tuple[Event, ...], ...]


def tiny(relation: Relation, bound: ls.PersonBound, width: int) -> SumsSpec:
    return sums_spec(
        low=-1.0,
        high=1.0,
        step=0.5,
        depth=2,
        width=width,
        relation=relation,
        epsilon=1.0,
        delta=1e-6,
        schedule=ls.Batch(horizon=STEPS),
        person_bound=bound,
        hash_seed=SEED,
    )


def streams_of_a_person(background: Stream) -> Iterator[Stream]:
    """One or two kinds of events of the person, three times each, at one step or two."""
    kinds = list(itertools.product(ITEMS, VALUES))
    own: list[tuple[tuple[int, float], ...]] = [(one,) * 3 for one in kinds]
    own += [(one, other) * 2 for one, other in itertools.combinations(kinds, 2)]
    for events, step in itertools.product(own, range(STEPS)):
        yield with_events(background, [(step, event) for event in events])
    for one, other in itertools.product(kinds, repeat=2):
        yield with_events(background, [(0, one), (0, one), (2, other), (1, other)])


def with_events(background: Stream, own: Sequence[tuple[int, tuple[int, float]]]) -> Stream:
    steps = [[*step] for step in background]
    for step, (item, value) in own:
        steps[step].insert(0, (PERSON, item, value))
    return tuple(tuple(step) for step in steps)


def background_of(bound: ls.PersonBound) -> Stream:
    """Another person, and with a limit one who is let in where the person is missing."""
    last = () if bound.most_people is None else tuple((LET_IN, item, 1.0) for item in ITEMS) * 2
    return ((OTHER, 2, -1.0),), (), last


def transcript(spec: SumsSpec, stream: Stream) -> list[np.ndarray[Any, Any]]:
    """Both tables after every step."""
    with ls.Sums.from_spec(spec, key=seeded_key(4)) as live:
        rows: list[list[Any]] = [[], []]
        for step in stream:
            items, values, people = columns(step)
            live.update_batch(items, values, user=people)
            for at, table in enumerate(live.release().tables):
                rows[at].append(table.table.ravel())
    return [np.array(of_table).astype(np.int64) for of_table in rows]


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize(
    ("bound", "width"),
    [
        (ls.PersonBound(), 1),
        (ls.PersonBound(events=3), 1),
        (ls.PersonBound(cells=2), 2),
        (ls.PersonBound(events=2, most_people=2), 1),
    ],
)
def test_no_person_moves_the_tables_further_than_calibrated(
    relation: Relation, bound: ls.PersonBound, width: int
) -> None:
    spec = tiny(relation, bound, width)
    case, background = Case(spec.counts), background_of(bound)
    matrices = strategy(spec.counts.chosen_mechanism.name, case.leaves)
    base = transcript(spec, background)
    moved: list[list[Any]] = [[], []]
    for stream in streams_of_a_person(background):
        for at, cells in enumerate(transcript(spec, stream)):
            moved[at].append(moved_nodes(case, matrices, cells - base[at]))
    people = people_changed(bound, relation=relation)
    for at, (table, weight) in enumerate(((spec.counts, 1), (spec.values, 4))):
        vectors = np.array(moved[at])
        gram = vectors @ vectors.T
        own = np.diag(gram)
        found = own
        if relation == "substitution":
            found = np.maximum(own, own[:, None] + own[None, :] - 2 * gram)
        one = 2 * min(bound.cells, width) * (bound.events * weight) ** 2 * matrices.sensitivity2
        assert table.max_weight == weight
        assert table.noise.l2_sensitivity**2 == pytest.approx(people**2 * one)
        assert found.max() <= people**2 * one
        if bound.most_people is None and (width == 1 or weight > 1):
            assert found.max() == people**2 * one  # attained, with signs of items or of values
        else:
            assert found.max() > one or relation == "zero-out"
