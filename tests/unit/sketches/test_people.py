"""Tables that bound people: which events count, what is refused, and what a release says."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle import people as oracle
from tests.oracle.sketches import HashesReadOff

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.heavy_hitters.heavy_hitters import HeavyHitters
from lazysketch.testing import seeded_key

DEPTH, WIDTH, SEED, STEPS = 3, 7, 11, 400
Event = tuple[int, int]
Maker = Callable[..., Any]


def sketch(bound: ls.PersonBound | None, **options: Any) -> ls.LazyCountMin:
    return ls.LazyCountMin(
        depth=DEPTH, width=WIDTH, horizon=STEPS, epsilon=1.0, delta=1e-6, hash_seed=SEED,
        key=seeded_key(3), person_bound=bound, **options,
    )  # fmt: skip


def punctual(bound: ls.PersonBound | None, **options: Any) -> ls.PunctualCountSketch:
    return ls.PunctualCountSketch(
        depth=DEPTH, width=WIDTH, horizon=STEPS, epsilon=1.0, delta=1e-6, hash_seed=SEED,
        key=seeded_key(3), person_bound=bound, **options,
    )  # fmt: skip


def hitters(bound: ls.PersonBound | None, **options: Any) -> HeavyHitters:
    """Heavy hitters with so little noise that names of few events are published."""
    return HeavyHitters(
        depth=DEPTH, width=WIDTH, horizon=STEPS, share=0.2, epsilon=10.0, delta=1e-3,
        discovery_epsilon=8.0, hash_seed=SEED, discovery_epoch=50, key=seeded_key(3),
        person_bound=bound, **options,
    )  # fmt: skip


MAKERS: tuple[Maker, ...] = (sketch, punctual, hitters)


PLACES = HashesReadOff(lambda: ls.CountMin(depth=DEPTH, width=WIDTH, hash_seed=SEED))
COLUMNS: dict[Hashable, Sequence[int]] = {
    item: [column for column, _ in PLACES(item)] for item in range(30)
}


def rule(bound: ls.PersonBound, events: Sequence[Event]) -> list[bool]:
    table = oracle.Table(COLUMNS.__getitem__, cells=bound.cells, events=bound.events)
    people, items = zip(*events, strict=True)
    most = bound.most_people
    return oracle.counted([table], people, [(item,) for item in items], most_people=most)


def published(table: Any) -> bytes:
    """Everything that can be read, in bytes."""
    return bytes(table.release().to_bytes())


BOUNDS = st.builds(
    ls.PersonBound,
    cells=st.integers(1, 4),
    events=st.integers(1, 3),
    most_people=st.none() | st.integers(1, 4),
)
EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 29)), min_size=1, max_size=150)


@given(maker=st.sampled_from(MAKERS), bound=BOUNDS, events=EVENTS, cut=st.integers(0, 150))
def test_an_event_beyond_the_bound_is_an_empty_step(
    maker: Maker, bound: ls.PersonBound, events: list[Event], cut: int
) -> None:
    """All that is published equals that of a stream whose other events never were."""
    accepted = rule(bound, events)
    given, expected = maker(bound), maker(bound)
    for part in (events[:cut], events[cut:]):
        given.update_many([item for _, item in part], user=[person for person, _ in part])
    for (person, item), was in zip(events, accepted, strict=True):
        if was:
            expected.update(item, user=person)
        else:
            expected.tick()
    assert given.step == expected.step == len(events)
    assert published(given) == published(expected)
    given.finish()
    expected.finish()
    assert published(given) == published(expected)
    if isinstance(given, HeavyHitters):
        assert list(given.top(30)) == list(expected.top(30))


@pytest.mark.parametrize("maker", MAKERS)
def test_every_way_to_count_applies_the_rule(maker: Maker) -> None:
    bound = ls.PersonBound(cells=2, events=2)
    chosen = random.Random(5)
    events = [(chosen.randrange(4), chosen.randrange(30)) for _ in range(120)]
    people, items = [p for p, _ in events], [i for _, i in events]
    weights = [chosen.randrange(1, 4) for _ in events]
    tables = [maker(bound, max_weight=3) for _ in range(4)]
    tables[0].update_many(items, weights, user=people)
    for item, weight, person in zip(items, weights, people, strict=True):
        tables[1].update(item, weight, user=person)
    tables[2].update_many(np.array(items), np.array(weights), user=np.array(people))
    tables[3].update_rows(items, weights, empty_rows=[], user=people)
    assert len({published(table) for table in tables}) == 1

    rows = maker(bound, max_weight=3)
    rows.update_rows(items, weights, empty_rows=[0, 50], user=people)
    apart = maker(bound, max_weight=3)
    apart.tick()
    apart.update_many(items[:49], weights[:49], user=people[:49])
    apart.tick()
    apart.update_many(items[49:], weights[49:], user=people[49:])
    assert published(rows) == published(apart)


def test_a_batch_step_applies_the_rule() -> None:
    bound = ls.PersonBound(cells=2, events=2)
    chosen = random.Random(6)
    batches = [
        [(chosen.randrange(4), chosen.randrange(30)) for _ in range(chosen.randrange(30))]
        for _ in range(6)
    ]
    accepted = iter(rule(bound, [event for batch in batches for event in batch]))
    spec = ls.TableSpec(
        kind="count-min", depth=DEPTH, width=WIDTH, schedule=ls.Batch(horizon=10), epsilon=1.0,
        delta=1e-6, hash_seed=SEED, person_bound=bound,
    )  # fmt: skip
    given, expected = (ls.LazyCountMin.from_spec(spec, key=seeded_key(3)) for _ in range(2))
    for batch in batches:
        given.update_batch([item for _, item in batch], user=[person for person, _ in batch])
        kept = [event for event in batch if next(accepted)]
        expected.update_batch([item for _, item in kept], user=[person for person, _ in kept])
    assert published(given) == published(expected)


@pytest.mark.parametrize("maker", MAKERS)
def test_events_need_their_person_where_people_are_bounded(maker: Maker) -> None:
    table = maker(ls.PersonBound(cells=2))
    table.update_many(["a", "b"], user=["x", "y"])
    before = published(table)
    for count in (
        lambda: table.update("a"),
        lambda: table.update_many(["a"]),
        lambda: table.update_rows(["a"], empty_rows=[]),
    ):
        with pytest.raises(ArgumentValueError, match="user: expected the person of each event"):
            count()
    assert published(table) == before
    table.tick()
    table.update_rows([], empty_rows=[0], user=[])


@pytest.mark.parametrize("maker", MAKERS)
def test_events_have_no_person_where_people_are_not_bounded(maker: Maker) -> None:
    table = maker(None)
    for count in (
        lambda: table.update("a", user="x"),
        lambda: table.update_many(["a"], user=["x"]),
        lambda: table.update_rows(["a"], empty_rows=[], user=["x"]),
    ):
        with pytest.raises(ArgumentTypeError, match="user: expected none"):
            count()
    assert table.step == 0


@pytest.mark.parametrize("maker", MAKERS)
def test_a_batch_that_is_refused_changes_nothing(maker: Maker) -> None:
    """Neither the table nor what is known of the people, of whom all events still count."""
    bound = ls.PersonBound(cells=2, most_people=2)
    table, expected = maker(bound), maker(bound)
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (["a", "b"], {"user": ["x"]}),
        (["a", "b"], {"user": ["x", None]}),
        (["a", "b"], {"user": ["x", 1.5]}),
        (["a", None], {"user": ["x", "y"]}),
        (["a", "b"], {"user": ["x", "y"], "weights": [1, 9]}),
        (["a", "b"], {"user": "xy"}),
    ]
    for items, options in wrong:
        with pytest.raises(ls.LazySketchError):
            table.update_many(items, **options)
    many = STEPS + 1
    with pytest.raises(HorizonError):
        table.update_many(["a"] * many, user=list(range(many)))
    for each in (table, expected):
        each.update_many(["a", "b", "c"], user=["v", "w", "v"])
    assert published(table) == published(expected)


def test_names_are_counted_by_the_rule() -> None:
    """A person who repeats one item cannot have it published; as many people can."""
    bound = ls.PersonBound(cells=1)
    one, many = hitters(bound), hitters(bound)
    one.update_many(["a"] * 50, user=["x"] * 50)
    many.update_many(["a"] * 50, user=list(range(50)))
    assert list(one.top(1)) == []
    assert [found.item for found in many.top(1)] == ["a"]


def test_people_of_different_types_are_different_people() -> None:
    bound = ls.PersonBound(cells=1)
    given, expected = sketch(bound), sketch(bound)
    given.update_many(["a"] * 6, user=["1", b"1", 1, "1", b"1", 1])
    for person in (5, 6, 7):
        expected.update("a", user=person)
    expected.tick(3)
    assert published(given) == published(expected)


def test_messages_have_neither_people_nor_items() -> None:
    table = sketch(ls.PersonBound(cells=1))
    for items, people in (
        (["secret-item", "b"], ["secret-person"]),
        (["secret-item"], [("secret-person",)]),
        ([("secret-item",)], ["secret-person"]),
    ):
        with pytest.raises(ls.LazySketchError) as error:
            table.update_many(items, user=people)
        assert "secret" not in str(error.value)


def test_a_release_says_who_is_protected() -> None:
    bound = ls.PersonBound(cells=3, events=2, most_people=100)
    table = sketch(bound)
    table.update_many(["a"], user=["x"])
    release = ls.Release.from_bytes(published(table))
    (part,) = release.parts
    assert part.privacy.person_bound == bound
    words = (
        "per person, of whom 2 events in each of 3 cells"
        " of every sketch row are counted, of the first 100"
    )
    assert words in str(table.spec.privacy)
    assert part.privacy.sigma == table.sigma
    assert part.privacy.l2_sensitivity == pytest.approx(table.privacy.l2_sensitivity)


@pytest.mark.parametrize(
    ("relation", "most_people", "people"),
    [("zero-out", None, 1), ("zero-out", 9, 2), ("substitution", None, 2), ("substitution", 9, 4)],
)
def test_noise_covers_all_that_a_person_can_change(
    relation: Any, most_people: int | None, people: int
) -> None:
    """sqrt(depth * cells) * events * weight for each person who changes, times the mechanism."""
    bound = ls.PersonBound(cells=5, events=3, most_people=most_people)
    for make in (sketch, punctual):
        table = make(bound, relation=relation, max_weight=4)
        ratio2 = table.privacy.l2_sensitivity**2 / table.mechanism.sensitivity2
        assert ratio2 == pytest.approx(DEPTH * 5 * (3 * 4 * people) ** 2)


def test_a_row_has_no_more_cells_than_columns() -> None:
    wide = sketch(ls.PersonBound(cells=4_096))
    assert wide.sigma == sketch(ls.PersonBound(cells=WIDTH)).sigma


def test_a_bound_excludes_what_it_replaces() -> None:
    bound = ls.PersonBound(cells=2)
    with pytest.raises(ArgumentValueError, match="max_events_per_user: expected 1 with"):
        sketch(bound, max_events_per_user=2)
    with pytest.raises(ArgumentTypeError, match="person_bound: expected a PersonBound or None"):
        sketch(3)  # type: ignore[arg-type]
    for wrong in ({"cells": 0}, {"cells": 1, "events": 70_000}, {"cells": 1, "most_people": 0}):
        with pytest.raises(ArgumentValueError):
            ls.PersonBound(**wrong)


def test_identities_that_collide_are_paid_from_delta() -> None:
    """By 2^-65, with the factor of events that are no bound; a limit of people lowers nothing."""
    bound, none = (sketch(one, relation="zero-out") for one in (ls.PersonBound(cells=1), None))
    assert bound.spec.noise.l2_sensitivity == none.spec.noise.l2_sensitivity
    more = bound.spec.noise.delta_numeric - none.spec.noise.delta_numeric
    assert more == pytest.approx((1 + math.e) * 2.0 ** (2 * 32 - 129), rel=1e-3, abs=0.0)
    assert ls.PersonBound(cells=1, most_people=1).people == ls.PersonBound(cells=1).people


@pytest.mark.parametrize(
    ("items", "width", "lost"), [(3, 256, 0.015), (10, 256, 0.065), (10, 1024, 0.017)]
)
def test_items_that_share_a_cell_share_its_events(items: int, width: int, lost: float) -> None:
    """As docs/guarantees.md says, with room for all items: within 6 deviations of 4,000 people."""
    people, chosen = 4_000, np.random.default_rng(1)
    with ls.LazyCountMin(
        depth=4, width=width, epsilon=1.0, delta=1e-6, hash_seed=5, key=seeded_key(3),
        person_bound=ls.PersonBound(cells=10),
    ) as table:  # fmt: skip
        events = chosen.integers(0, 2**62, people * items)
        table.update_many(events, user=np.repeat(np.arange(people), items))
        known = _native.People.of_table(table)
        assert known is not None
        assert known.known == people
        found = known.refused / len(events)
    spread = math.sqrt(lost / len(events))
    assert abs(found - lost) < 6 * spread + 0.0005  # the page has one digit after the point
    assert found == pytest.approx(4 * (items - 1) / (2 * width), rel=0.15)
