"""Ranges that bound people: which keys count, what is refused, what is said of it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.streams_of_people import counted

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.privacy.person_bound import CountedEvents
from lazysketch.testing import seeded_key

STEPS = 400
BOUNDS = st.builds(
    ls.PersonBound, events=st.integers(1, 4), most_people=st.none() | st.integers(1, 4)
)
EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 255)), min_size=1, max_size=120)


def made(bound: ls.PersonBound | None, **options: Any) -> ls.Ranges:
    plain = {"bits": 8, "width": 16, "epsilon": 1.0, "delta": 1e-6, "key": seeded_key(3)}
    if "schedule" not in options:
        plain["horizon"] = STEPS
    return ls.Ranges(person_bound=bound, **{**plain, **options})


@given(bound=BOUNDS, events=EVENTS, cut=st.integers(0, 120))
def test_a_key_beyond_the_bound_is_an_empty_step(
    bound: ls.PersonBound, events: list[tuple[int, int]], cut: int
) -> None:
    """All that is published equals that of a stream whose other keys never were."""
    given, expected = made(bound), made(bound)
    for part in (events[:cut], events[cut:]):
        given.update_many([key for _, key in part], user=[person for person, _ in part])
    for (person, _), key in zip(events, counted(events, bound), strict=True):
        if key is None:
            expected.tick()
        else:
            expected.update(key, user=person)
    assert given.steps == expected.steps == len(events)
    assert given.release().to_bytes() == expected.release().to_bytes()


def test_every_way_to_count_applies_the_rule() -> None:
    bound, chance = ls.PersonBound(events=3, most_people=9), random.Random(5)
    people = [chance.randrange(12) for _ in range(150)]
    keys = [chance.randrange(256) for _ in people]
    ways = [made(bound) for _ in range(4)]
    ways[0].update_many(keys, user=people)
    for key, person in zip(keys, people, strict=True):
        ways[1].update(key, user=person)
    ways[2].update_many(pa.array(keys), user=np.array(people))
    ways[3].update_rows(np.array(keys), empty_rows=[], user=pa.array(people))
    assert len({way.release().to_bytes() for way in ways}) == 1
    rows, apart = made(bound), made(bound)
    rows.update_rows(keys, empty_rows=[0, 50], user=people)
    apart.tick()
    apart.update_many(keys[:49], user=people[:49])
    apart.tick()
    apart.update_many(keys[49:], user=people[49:])
    assert rows.release().to_bytes() == apart.release().to_bytes()


def test_a_batch_applies_the_rule() -> None:
    bound, chance = ls.PersonBound(events=2), random.Random(6)
    batches = [[chance.randrange(5) for _ in range(chance.randrange(20))] for _ in range(6)]
    events = [(person, 40 * person) for batch in batches for person in batch]
    found = iter(counted(events, bound))
    given, expected = (made(bound, schedule=ls.Batch(horizon=9)) for _ in range(2))
    for batch in batches:
        given.update_batch([40 * person for person in batch], user=batch)
        kept = [person for person in batch if next(found) is not None]
        expected.update_batch([40 * person for person in kept], user=kept)
    assert given.release().to_bytes() == expected.release().to_bytes()


def test_answers_are_of_the_keys_that_count() -> None:
    """One person sends nearly all keys: a tenth of them counts, and no interval has the rest."""
    people = [0] * 3_000 + list(range(1, 301))
    keys = [200] * 3_000 + [3] * 300
    with made(ls.PersonBound(events=30), horizon=4_000, epsilon=8.0) as live:
        live.update_many(keys, user=people)
        release, sure = live.release(), 1 - 1e-6
    total = release.total(confidence=sure)
    many = release.count_between(128, 256, confidence=sure)
    assert total.low <= 330 <= total.high < 3_300
    assert many.low <= 30 <= many.high < 3_000


def test_keys_need_their_person_where_people_are_bounded() -> None:
    bounded, plain = made(ls.PersonBound(events=2)), made(None)
    for count in (
        lambda: bounded.update(1),
        lambda: bounded.update_many([1]),
        lambda: bounded.update_rows([1], empty_rows=[]),
    ):
        with pytest.raises(ArgumentValueError, match="user: expected the person of each event"):
            count()
    for count in (
        lambda: plain.update(1, user="x"),
        lambda: plain.update_many([1], user=["x"]),
        lambda: plain.update_rows([1], empty_rows=[], user=["x"]),
    ):
        with pytest.raises(ArgumentTypeError, match="user: expected none"):
            count()
    assert bounded.steps == plain.steps == 0
    bounded.tick()


def test_a_batch_that_is_refused_changes_nothing() -> None:
    """Neither the counts nor what is known of the people, of whom all keys still count."""
    bound = ls.PersonBound(events=2, most_people=2)
    live, expected = made(bound), made(bound)
    wrong: list[tuple[Any, Any]] = [
        ([1, 2], ["x"]),
        ([1, 2], ["x", None]),
        ([1, 2], ["x", 1.5]),
        ([1, 256], ["x", "y"]),
        ([1, "secret"], ["x", "secret-person"]),
        ([1, 2], "xy"),
    ]
    for keys, people in wrong:
        with pytest.raises(ls.LazySketchError) as error:
            live.update_many(keys, user=people)
        assert "secret" not in str(error.value)
    many = STEPS + 1
    with pytest.raises(HorizonError):
        live.update_many([1] * many, user=list(range(many)))
    for each in (live, expected):
        each.update_many([1, 2, 3], user=["v", "w", "v"])
    assert live.release().to_bytes() == expected.release().to_bytes()


def test_a_release_says_who_is_protected() -> None:
    bound = ls.PersonBound(events=10, most_people=1_000)
    live = made(bound)
    live.update_many([1], user=["x"])
    release = ls.RangesRelease.from_bytes(live.release().to_bytes())
    (part,) = release.parts
    assert part.privacy == live.privacy
    assert part.privacy.person_bound == CountedEvents(events=10, most_people=1_000)
    words = "per person, of whom 10 events are counted, of the first 1,000 people"
    assert words in str(live.spec.privacy)
    assert made(bound).spec.person_bound == bound


def test_what_is_known_of_a_person_has_one_place() -> None:
    live = made(ls.PersonBound(events=2))
    live.update_many([1, 90, 50, 1], user=["x", "x", "x", "y"])
    people = _native.People.of_table(live._table)
    assert people is not None
    assert (people.known, people.refused, people.bytes_per_person) == (2, 1, 32 + 6)


def test_a_bound_excludes_what_it_replaces() -> None:
    with pytest.raises(ArgumentValueError, match="max_events_per_user: expected 1 with"):
        made(ls.PersonBound(events=2), max_events_per_user=2)
    with pytest.raises(ArgumentTypeError, match="person_bound: expected a PersonBound or None"):
        made(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="person_bound: expected cells=1 for ranges"):
        made(ls.PersonBound(cells=3))


def test_a_plan_has_the_noise_of_its_people() -> None:
    options: dict[str, Any] = {
        "keys": 10_000, "bits": 16, "epsilon": 1.0, "delta": 1e-6, "horizon": STEPS,
        "relation": "zero-out",
    }  # fmt: skip
    plan = ls.plan_ranges(**options, person_bound=ls.PersonBound(events=10))
    one = ls.plan_ranges(**options)
    assert plan.total_error == pytest.approx(10 * one.total_error, rel=0.02)
    with plan.ranges() as live:
        live.update(1, user="x")
        assert live.privacy == plan.spec.privacy
