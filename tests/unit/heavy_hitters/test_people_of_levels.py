"""Hierarchies that bound people: which events count, how much noise covers them, what is said."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import people as oracle
from tests.oracle.sketches import HashesReadOff

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.testing import seeded_key

DEPTH, WIDTH, SEED, STEPS, ITEMS = 2, 7, 11, 300, 40
LEVELS = ls.Levels(
    ("twenties", "tens", "ones"),
    lambda item: (int(str(item)) // 20, 100 + int(str(item)) // 10, item),
)
Event = tuple[int, int]
Bounds = Sequence[ls.PersonBound]
GROWING = (
    ls.PersonBound(cells=1, events=9),
    ls.PersonBound(cells=2, events=4),
    ls.PersonBound(cells=5, events=2),
)


def hierarchy(bound: Any, **options: Any) -> ls.HierarchicalHeavyHitters:
    """Levels with so little noise that names of few events are published."""
    asked = {
        "share": 0.2, "depth": DEPTH, "width": WIDTH, "horizon": STEPS, "epsilon": 10.0,
        "delta": 1e-3, "discovery_epsilon": 8.0, "hash_seed": SEED, "discovery_epoch": 60,
        "key": seeded_key(3), "person_bound": bound, **options,
    }  # fmt: skip
    return ls.HierarchicalHeavyHitters(
        LEVELS, **{name: value for name, value in asked.items() if value is not ...}
    )


def columns_of(level: int) -> dict[Hashable, Sequence[int]]:
    """The column of every name of a level, in each row."""
    places = HashesReadOff(lambda: ls.CountMin(depth=DEPTH, width=WIDTH, hash_seed=SEED + level))
    names = {LEVELS.of(item)[level] for item in range(ITEMS)}
    return {name: [column for column, _ in places(name)] for name in names}


COLUMNS = [columns_of(level) for level in range(3)]


def rule(bounds: Bounds, events: Sequence[Event]) -> list[bool]:
    """Whether each event is counted: if every level has room for it."""
    tables = [
        oracle.Table(columns.__getitem__, cells=bound.cells, events=bound.events)
        for columns, bound in zip(COLUMNS, bounds, strict=True)
    ]
    people, items = zip(*events, strict=True)
    names = [LEVELS.of(item) for item in items]
    return oracle.counted(tables, people, names, most_people=bounds[0].most_people)


def published(heavy: ls.HierarchicalHeavyHitters) -> list[bytes]:
    """Everything that can be read, in bytes."""
    return [heavy.release(level).to_bytes() for level in range(3)]


def streams(number: int, *, people: int = 5) -> list[Event]:
    chosen = random.Random(number)
    return [(chosen.randrange(people), chosen.randrange(ITEMS)) for _ in range(200)]


OTHER = (
    ls.PersonBound(cells=2, events=2),
    ls.PersonBound(cells=1, events=5),
    ls.PersonBound(cells=4, events=1),
)
EQUAL = (ls.PersonBound(cells=2, events=2),) * 3
EVENTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, ITEMS - 1)), min_size=1, max_size=150)


@settings(max_examples=6, deadline=None)
@given(
    bounds=st.sampled_from([GROWING, OTHER, EQUAL]),
    most=st.sampled_from([None, 2]),
    events=EVENTS,
    cut=st.integers(0, 150),
)
def test_an_event_beyond_the_bound_of_a_level_is_an_empty_step_at_all(
    bounds: Bounds, most: int | None, events: list[Event], cut: int
) -> None:
    """All that is published equals that of a stream whose other events never were."""
    bounds = [
        ls.PersonBound(cells=one.cells, events=one.events, most_people=most) for one in bounds
    ]
    given, expected = hierarchy(bounds), hierarchy(bounds)
    for part in (events[:cut], events[cut:]):
        given.update_many([item for _, item in part], user=[person for person, _ in part])
    for (person, item), was in zip(events, rule(bounds, events), strict=True):
        if was:
            expected.update(item, user=person)
        else:
            expected.tick()
    assert given.step == expected.step == len(events)
    assert published(given) == published(expected)
    given.finish()
    expected.finish()
    assert published(given) == published(expected)
    assert [given.level(at).candidates for at in range(3)] == [
        expected.level(at).candidates for at in range(3)
    ]


def test_every_way_to_count_applies_the_rule() -> None:
    events = streams(5)[:120]
    people, items = [p for p, _ in events], [i for _, i in events]
    weights = [1 + number % 3 for number in range(120)]
    tables = [hierarchy(GROWING, max_weight=3) for _ in range(5)]
    tables[0].update_many(items, weights, user=people)
    for item, weight, person in zip(items, weights, people, strict=True):
        tables[1].update(item, weight, user=person)
    tables[2].update_many(np.array(items), np.array(weights), user=np.array(people))
    tables[3].update_rows(items, weights, empty_rows=[], user=iter(people))
    for item, weight, person, was in zip(
        items, weights, people, rule(GROWING, events), strict=True
    ):
        if was:
            tables[4].update(item, weight, user=person)
        else:
            tables[4].tick()
    assert len({tuple(published(table)) for table in tables}) == 1

    rows = hierarchy(GROWING, max_weight=3)
    rows.update_rows(items, weights, empty_rows=[0, 50], user=people)
    apart = hierarchy(GROWING, max_weight=3)
    apart.tick()
    apart.update_many(items[:49], weights[:49], user=people[:49])
    apart.tick()
    apart.update_many(items[49:], weights[49:], user=people[49:])
    assert published(rows) == published(apart)


def test_a_batch_step_applies_the_rule() -> None:
    events = streams(6)
    accepted = rule(GROWING, events)
    options = {"horizon": ..., "schedule": ls.Batch(horizon=10), "discovery_epoch": 5}
    given, expected = (hierarchy(GROWING, **options) for _ in range(2))
    for start in range(0, 200, 40):
        batch = events[start : start + 40]
        given.update_batch([item for _, item in batch], user=[person for person, _ in batch])
        kept = [one for one, was in zip(batch, accepted[start:], strict=False) if was]
        expected.update_batch([item for _, item in kept], user=[person for person, _ in kept])
    assert published(given) == published(expected)


def test_levels_agree_on_what_is_counted() -> None:
    """The coarse level has room for one event of a person: the fine ones count no second one."""
    one = ls.PersonBound(cells=1)
    heavy, silent = (
        hierarchy([one, ls.PersonBound(cells=9), ls.PersonBound(cells=9)], relation="zero-out")
        for _ in range(2)
    )
    heavy.update_many([0, 5, 13, 27, 31], user=["x"] * 5)
    silent.tick(5)
    for each in (heavy, silent):
        each.finish()
    for level in range(3):
        difference = heavy.release(level).table - silent.release(level).table
        assert difference.sum(axis=1).tolist() == [1] * DEPTH


WRONG: list[tuple[list[Any], dict[str, Any]]] = [
    ([1, 2], {"user": ["x"]}),
    ([1, 2], {"user": ["x", None]}),
    ([1, 2], {"user": ["x", 1.5]}),
    ([1, None], {"user": ["x", "y"]}),
    ([1, 2], {"user": ["x", "y"], "weights": [1, 9]}),
    ([1, 2], {"user": "xy"}),
    ([1, 2], {"user": 5}),
    ([1, 2], {}),
]


def test_a_batch_that_is_refused_changes_nothing() -> None:
    """Neither a level nor what is known of the people, of whom all events still count."""
    bounds = [ls.PersonBound(cells=2, most_people=2)] * 3
    heavy, expected = hierarchy(bounds), hierarchy(bounds)
    for items, options in WRONG:
        with pytest.raises(ls.LazySketchError) as caught:
            heavy.update_many(items, **options)
        about_people = "weights" not in options and None not in items
        assert str(caught.value).startswith("user: expected" if about_people else "")
    with pytest.raises(HorizonError):
        heavy.update_many([1] * (STEPS + 1), user=list(range(STEPS + 1)))
    heavy.update_many([], user=[])
    for each in (heavy, expected):
        each.update_many([1, 2, 3], user=["v", "w", "v"])
    assert published(heavy) == published(expected)


def test_people_are_given_where_they_are_bounded_and_only_there() -> None:
    bounded, free = hierarchy(GROWING), hierarchy(None)
    batches = {"horizon": ..., "schedule": ls.Batch(horizon=3), "discovery_epoch": 3}
    for count in (
        lambda heavy, **user: heavy.update(1, **dict.fromkeys(user, "x")),
        lambda heavy, **user: heavy.update_many([1], **user),
        lambda heavy, **user: heavy.update_rows([1], empty_rows=[], **user),
    ):
        with pytest.raises(ArgumentValueError, match="^user: expected the person of each event"):
            count(bounded)
        with pytest.raises(ArgumentTypeError, match="^user: expected none, since the levels have"):
            count(free, user=["x"])
    with pytest.raises(ArgumentValueError, match="^user: expected the person of each event"):
        hierarchy(GROWING, **batches).update_batch([1])
    with pytest.raises(ArgumentTypeError, match="^user: expected none"):
        hierarchy(None, **batches).update_batch([1], user=["x"])
    assert bounded.step == free.step == 0
    bounded.tick()
    bounded.update_rows([], empty_rows=[0], user=[])
    assert bounded.step == 2


@pytest.mark.parametrize(
    ("bound", "error", "message"),
    [
        ([ls.PersonBound(cells=1)] * 2, ArgumentValueError, "expected 3, one per level, got 2"),
        ([ls.PersonBound(cells=1)] * 9, ArgumentValueError, "expected 3, one per level, got 4 or"),
        (
            [ls.PersonBound(cells=1), None, None],
            ArgumentTypeError,
            "expected a PersonBound, a list",
        ),
        ([], ArgumentTypeError, "expected a PersonBound, a list of one per level"),
        (5, ArgumentTypeError, "expected a PersonBound, a list of one per level, or None, got int"),
        ("abc", ArgumentTypeError, "expected a PersonBound, a list of one per level"),
        (
            [ls.PersonBound(cells=1), ls.PersonBound(cells=1, most_people=3)] * 2,
            ArgumentValueError,
            "expected 3, one per level",
        ),
        (
            [*GROWING[:2], ls.PersonBound(cells=1, most_people=3)],
            ArgumentValueError,
            "expected one most_people for all levels",
        ),
    ],
)
def test_bounds_that_are_refused(bound: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^person_bound: {message}"):
        hierarchy(bound)


# Noise.


def squared_distances(bounds: Bounds, events: Sequence[Event]) -> list[int]:
    """Squared norm of what one person's events add to the table of each level."""
    counted = [event for event, was in zip(events, rule(bounds, events), strict=True) if was]
    result = []
    for level, columns in enumerate(COLUMNS):
        cells = Counter(
            (row, column)
            for _, item in counted
            for row, column in enumerate(columns[LEVELS.of(item)[level]])
        )
        result.append(sum(count * count for count in cells.values()))
    return result


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("most_people", [None, 9])
def test_noise_covers_all_that_a_person_can_change(relation: Any, most_people: int | None) -> None:
    """At each level by its own bound, and for discovery by the events that all levels admit."""
    bounds = [
        ls.PersonBound(cells=one.cells, events=one.events, most_people=most_people)
        for one in GROWING
    ]
    people = (1 if relation == "zero-out" else 2) * (1 if most_people is None else 2)
    heavy = hierarchy(bounds, relation=relation, max_weight=3)
    for table, spec, bound in zip(heavy._tables, heavy._specs, bounds, strict=True):
        assert spec.discovery is not None
        ratio2 = table.privacy.l2_sensitivity**2 / table.mechanism.sensitivity2
        assert ratio2 == pytest.approx(DEPTH * bound.cells * (3 * bound.events * people) ** 2)
        assert spec.discovery.max_events_per_user == 8 * people
        assert spec.discovery.relation == "zero-out"


def test_names_cover_all_events_that_are_counted() -> None:
    """The core compares: a level whose names cover the least of all levels does not count alone."""
    heavy = hierarchy(GROWING)
    finest = heavy._tables[-1]
    assert heavy._specs[-1].discovery is not None
    assert heavy._specs[-1].discovery.max_events_per_user == 2 * 8  # of 2 * 10 that it may count
    with pytest.raises(ArgumentValueError, match="^person_bound: expected at most 16 events"):
        finest.update_many([1], user=["x"])
    coarsest = heavy._tables[0]
    with pytest.raises(ArgumentValueError, match="^person_bound: expected at most 16 events"):
        coarsest.update(1, user="x")
    assert finest.step == coarsest.step == 0
    heavy.update_many([1], user=["x"])


def test_the_bounds_hold_for_every_short_stream_of_a_person() -> None:
    """By enumeration: the tables move by no more than the bound, names by no more events."""
    bounds = (
        ls.PersonBound(cells=1, events=2),
        ls.PersonBound(cells=2, events=2),
        ls.PersonBound(cells=3, events=1),
    )
    heavy = hierarchy(bounds, relation="zero-out")
    most = [DEPTH * bound.cells * bound.events**2 for bound in bounds]
    events_of_names = {
        spec.discovery.max_events_per_user for spec in heavy._specs if spec.discovery is not None
    }
    assert events_of_names == {2}
    largest, most_counted = [0, 0, 0], 0
    for items in itertools.product((0, 1, 11, 21), repeat=5):
        events = [(0, item) for item in items]
        found = squared_distances(bounds, events)
        assert all(one <= limit for one, limit in zip(found, most, strict=True))
        largest = [max(pair) for pair in zip(largest, found, strict=True)]
        most_counted = max(most_counted, sum(rule(bounds, events)))
    assert most_counted == 2  # of all places, those of the coarsest level are the fewest
    assert largest[0] == most[0]


@pytest.mark.parametrize("weights", [None, (2, 1, 4)])
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_all_levels_together_keep_the_promise(weights: Any, relation: Any) -> None:
    """The guarantees of levels with different sensitivities compose to that of all."""
    heavy = hierarchy(
        GROWING, key=..., epsilon=1.0, delta=1e-6, discovery_epsilon=0.3, relation=relation,
        level_weights=weights, discovery_epoch=STEPS,
    )  # fmt: skip
    privacy = heavy.privacy
    assert privacy.private
    sketches = [level.sketch for level in privacy.levels]
    together = ls.compose(*sketches)
    assert together.delta_at(privacy.counts_epsilon) <= privacy.counts_delta
    assert together.delta_at(0.998 * privacy.counts_epsilon) > privacy.counts_delta
    assert sum(Fraction(one.discovery_epsilon) for one in privacy.levels) <= Fraction(0.3)
    assert len({one.l2_sensitivity for one in sketches}) == 3
    for one in sketches:
        assert one.sigma == pytest.approx(one.noise_multiplier * one.l2_sensitivity)


def test_what_is_said() -> None:
    heavy = hierarchy(
        GROWING, key=..., epsilon=1.0, delta=1e-6, discovery_epsilon=..., discovery_epoch=STEPS
    )
    words = (
        "of whom 9 events in 1 cell (level 0), 4 events in each of 2 cells (level 1) and 2 events "
        "in each of 5 cells (level 2) of every sketch row are counted"
    )
    assert f"per person, {words} (substitution), 3 levels together" in str(heavy.privacy)
    assert f"any one person, {words}, sent these events" in heavy.privacy.sentence
    for level, bound in enumerate(GROWING):
        heavy.tick()
        (part,) = ls.Release.from_bytes(heavy.release(level).to_bytes()).parts
        assert part.privacy.person_bound == bound
    same = hierarchy(GROWING[1], key=..., epsilon=1.0, delta=1e-6, discovery_epsilon=...)
    assert "of whom 4 events in each of 2 cells of every sketch row are counted" in str(
        same.privacy
    )


def test_closing_forgets_the_people() -> None:
    heavy = hierarchy(GROWING)
    heavy.update_many([1, 2], user=["x", "y"])
    people = heavy._people_of_levels
    assert people is not None
    assert (people.known, people.refused) == (2, 0)
    heavy.close()
    assert people.known == 0
