"""Distributions that bound people: which values count, what is refused, what is said of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.privacy.person_bound import CountedEvents
from lazysketch.testing import seeded_key

BINS = ls.Bins.linear(0, 10, number=14)
STEPS = 400
BOUNDS = st.builds(
    ls.PersonBound, events=st.integers(1, 4), most_people=st.none() | st.integers(1, 4)
)
EVENTS = st.lists(
    st.tuples(st.integers(0, 5), st.floats(-1, 11, allow_nan=False)), min_size=1, max_size=120
)


def made(bound: ls.PersonBound | None, **options: Any) -> ls.Distribution:
    plain = {"bins": BINS, "epsilon": 1.0, "delta": 1e-6, "key": seeded_key(3)}
    if "schedule" not in options:
        plain["horizon"] = STEPS
    return ls.Distribution(person_bound=bound, **{**plain, **options})


def rule(bound: ls.PersonBound, people: Iterable[int]) -> list[bool]:
    """So many events of each of the first people."""
    of: Counter[int] = Counter()
    result = []
    for person in people:
        is_known = person in of or bound.most_people is None or len(of) < bound.most_people
        accepted = is_known and of[person] < bound.events
        if is_known:
            of[person] += accepted
        result.append(accepted)
    return result


@given(bound=BOUNDS, events=EVENTS, cut=st.integers(0, 120))
def test_a_value_beyond_the_bound_is_an_empty_step(
    bound: ls.PersonBound, events: list[tuple[int, float]], cut: int
) -> None:
    """All that is published equals that of a stream whose other values never were."""
    accepted = rule(bound, [person for person, _ in events])
    given, expected = made(bound), made(bound)
    for part in (events[:cut], events[cut:]):
        given.update_many([value for _, value in part], user=[person for person, _ in part])
    for (person, value), was in zip(events, accepted, strict=True):
        if was:
            expected.update(value, user=person)
        else:
            expected.tick()
    assert given.steps == expected.steps == len(events)
    assert given.release().to_bytes() == expected.release().to_bytes()


def test_every_way_to_count_applies_the_rule() -> None:
    bound, chance = ls.PersonBound(events=3, most_people=9), random.Random(5)
    people = [chance.randrange(12) for _ in range(150)]
    values = [chance.uniform(-1, 11) for _ in people]
    ways = [made(bound) for _ in range(4)]
    ways[0].update_many(values, user=people)
    for value, person in zip(values, people, strict=True):
        ways[1].update(value, user=person)
    ways[2].update_many(pa.array(values), user=np.array(people))
    ways[3].update_rows(np.array(values), empty_rows=[], user=pa.array(people))
    assert len({way.release().to_bytes() for way in ways}) == 1
    rows, apart = made(bound), made(bound)
    rows.update_rows(values, empty_rows=[0, 50], user=people)
    apart.tick()
    apart.update_many(values[:49], user=people[:49])
    apart.tick()
    apart.update_many(values[49:], user=people[49:])
    assert rows.release().to_bytes() == apart.release().to_bytes()


def test_a_batch_applies_the_rule() -> None:
    bound, chance = ls.PersonBound(events=2), random.Random(6)
    batches = [[chance.randrange(5) for _ in range(chance.randrange(20))] for _ in range(6)]
    accepted = iter(rule(bound, [person for batch in batches for person in batch]))
    given, expected = (made(bound, schedule=ls.Batch(horizon=9)) for _ in range(2))
    for batch in batches:
        given.update_batch([float(person) for person in batch], user=batch)
        kept = [person for person in batch if next(accepted)]
        expected.update_batch([float(person) for person in kept], user=kept)
    assert given.release().to_bytes() == expected.release().to_bytes()


def test_answers_are_of_the_values_that_count() -> None:
    """One person sends nearly all values: a tenth of them counts, and no interval has the rest."""
    people = [0] * 3_000 + list(range(1, 301))
    values = [9.5] * 3_000 + [1.5] * 300
    with made(ls.PersonBound(events=30), horizon=4_000, epsilon=4.0) as counted:
        counted.update_many(values, user=people)
        release, sure = counted.release(), 1 - 1e-6
    total, many = release.total(confidence=sure), release.count_between(9, 10, confidence=sure)
    assert total.low <= 330 <= total.high < 3_300
    assert many.low <= 30 <= many.high < 3_000


def test_values_need_their_person_where_people_are_bounded() -> None:
    bounded, plain = made(ls.PersonBound(events=2)), made(None)
    for count in (
        lambda: bounded.update(1.0),
        lambda: bounded.update_many([1.0]),
        lambda: bounded.update_rows([1.0], empty_rows=[]),
    ):
        with pytest.raises(ArgumentValueError, match="user: expected the person of each event"):
            count()
    for count in (
        lambda: plain.update(1.0, user="x"),
        lambda: plain.update_many([1.0], user=["x"]),
        lambda: plain.update_rows([1.0], empty_rows=[], user=["x"]),
    ):
        with pytest.raises(ArgumentTypeError, match="user: expected none"):
            count()
    assert bounded.steps == plain.steps == 0
    bounded.tick()


def test_a_batch_that_is_refused_changes_nothing() -> None:
    """Neither the counts nor what is known of the people, of whom all values still count."""
    bound = ls.PersonBound(events=2, most_people=2)
    counted, expected = made(bound), made(bound)
    wrong: list[tuple[Any, Any]] = [
        ([1.0, 2.0], ["x"]),
        ([1.0, 2.0], ["x", None]),
        ([1.0, 2.0], ["x", 1.5]),
        ([1.0, float("nan")], ["x", "y"]),
        ([1.0, "secret"], ["x", "secret-person"]),
        ([1.0, 2.0], "xy"),
    ]
    for values, people in wrong:
        with pytest.raises(ls.LazySketchError) as error:
            counted.update_many(values, user=people)
        assert "secret" not in str(error.value)
    many = STEPS + 1
    with pytest.raises(HorizonError):
        counted.update_many([1.0] * many, user=list(range(many)))
    for each in (counted, expected):
        each.update_many([1.0, 2.0, 3.0], user=["v", "w", "v"])
    assert counted.release().to_bytes() == expected.release().to_bytes()


def test_a_release_says_who_is_protected() -> None:
    bound = ls.PersonBound(events=10, most_people=1_000)
    counted = made(bound)
    counted.update_many([1.0], user=["x"])
    release = ls.DistributionRelease.from_bytes(counted.release().to_bytes())
    (part,) = release.parts
    assert part.privacy == counted.privacy
    assert part.privacy.person_bound == CountedEvents(events=10, most_people=1_000)
    words = "per person, of whom 10 events are counted, of the first 1,000 people"
    assert words in str(counted.spec.privacy)
    assert "of whom 1 event is counted" in str(made(ls.PersonBound()).spec.privacy)
    assert made(bound).spec.person_bound == bound


def test_what_is_known_of_a_person_has_one_place() -> None:
    counted = made(ls.PersonBound(events=2))
    counted.update_many([1.0, 9.0, 5.0, 1.0], user=["x", "x", "x", "y"])
    people = _native.People.of_table(counted._table)
    assert people is not None
    assert (people.known, people.refused, people.bytes_per_person) == (2, 1, 32 + 6)


def test_a_bound_excludes_what_it_replaces() -> None:
    with pytest.raises(ArgumentValueError, match="max_events_per_user: expected 1 with"):
        made(ls.PersonBound(events=2), max_events_per_user=2)
    with pytest.raises(ArgumentTypeError, match="person_bound: expected a PersonBound or None"):
        made(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="person_bound: expected cells=1 for values"):
        made(ls.PersonBound(cells=3))


def test_a_plan_has_the_noise_of_its_people() -> None:
    plan = ls.plan_distribution(
        bins=BINS, values=10_000, epsilon=1.0, delta=1e-6, horizon=STEPS, relation="zero-out",
        person_bound=ls.PersonBound(events=10),
    )  # fmt: skip
    one = ls.plan_distribution(
        bins=BINS, values=10_000, epsilon=1.0, delta=1e-6, horizon=STEPS, relation="zero-out",
    )  # fmt: skip
    assert plan.standard_error == pytest.approx(10 * one.standard_error, rel=0.02)
    with plan.distribution() as counted:
        counted.update(1.0, user="x")
        assert counted.privacy == plan.spec.privacy
