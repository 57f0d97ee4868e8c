"""Stored sums with bounds of people: restarts give no one another turn, and both tables agree."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import Lives, check_restarts, sums
from tests.unit.store.test_people import PEOPLE, everything_written
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.store import Store

TWO = ls.PersonBound(cells=2, events=2)


def by_item(store: Store, bound: ls.PersonBound | None = TWO, schedule: Any = None) -> Any:
    schedule = schedule or ls.Punctual(horizon=9_000)
    return store.sums("a", sums(person_bound=bound, schedule=schedule))


def of_batches(store: Store) -> Any:
    return by_item(store, schedule=ls.Batch(horizon=9_000))


def of_few(store: Store) -> Any:
    return by_item(store, ls.PersonBound(events=3, most_people=3))


OPENERS = {"sums": by_item, "sums of batches": of_batches, "sums of few": of_few}


def change(live: Any, chance: Random) -> None:
    """Make a random change; some are refused."""
    size = chance.choice([0, 1, 3, 40])
    items = [chance.randrange(9) for _ in range(size)]
    values = [chance.uniform(-5, 20) for _ in items]
    people: list[Any] = [chance.choice([1, 2, "x", "y" * 40, b"z"]) for _ in items]
    does = chance.randrange(7)
    if does == 0:
        live.tick(chance.randrange(30))
    elif does == 1:
        live.update(chance.randrange(9), 2.0, user=chance.choice([1, "x"]))
    elif does == 2 and live.schedule.name == "batch":
        live.update_batch(items, values, user=people)
    elif does == 3:
        live.update_rows(items, values, empty_rows=[0, 2][:size], user=people)
    elif does == 4:
        with pytest.raises(LazySketchError):
            live.update_many([1, 2, None], [1.0] * 3, user=["new", "newer", "newest"])
    else:
        live.update_many(items, values, user=people)


@pytest.mark.parametrize("name", OPENERS)
def test_restarts_change_nothing(name: str, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one of which is closed, killed and opened again and again."""
    check_restarts(lives, tmp_path / "copy", name, opened=OPENERS[name], change=change, seen=seen)


@pytest.mark.parametrize("by_checkpoint", [False, True])
def test_a_restart_gives_no_one_another_turn(by_checkpoint: bool, lives: Lives) -> None:
    """An event beyond the bound is an empty step of both tables in the next life too."""
    with lives.open() as store:
        live = by_item(store)
        live.update_many(["i"] * 4, [1.0, 5.0, 1.0, 7.0], user=["x"] * 4)
        assert (live._people()[0].known, live._people()[0].refused) == (1, 2)
        if by_checkpoint:
            store.checkpoint()
    for refused in (3, 4):
        with lives.open() as store:
            live = by_item(store)
            live.update("i", 3.0, user="x")
            assert (live._people()[0].known, live._people()[0].refused) == (1, refused)


def test_a_batch_of_a_sender_is_bounded_and_counted_once(lives: Lives) -> None:
    with lives.open() as store:
        live = by_item(store, ls.PersonBound())
        for sequence in (1, 1, 2):
            batch = {"weights": [1.0, 2.0, 3.0], "user": ["x", "x", "y"]}
            store.ingest("web", sequence, ["i", "i", "j"], into=live, **batch)
        assert (live._people()[0].known, live._people()[0].refused) == (2, 4)
        assert live.steps == 6
        with pytest.raises(ArgumentValueError, match="user: expected the person of each event"):
            store.ingest("web", 3, ["i"], into=live, weights=[1.0])
        assert store.last_sequence("web") == 2


def test_a_step_of_the_clock_is_bounded(lives: Lives) -> None:
    """Events that are added to the open step are bounded, and those that count have values."""
    with lives.open() as store:
        plain = {"schedule": ls.Batch(horizon=9_000), "epsilon": 10.0, "delta": 1e-3}
        live: Any = store.sums("a", sums(person_bound=TWO, width=64, **plain))
        ended = 0
        live._follow_clock(lambda: ended)
        people = [number // 10 for number in range(4_000)]
        live.update_many(["i"] * 4_000, [10.0] * 4_000, user=people)
        ended = 1
        live.update_many(["i"], [10.0], user=[0])
        assert (live._people()[0].known, live._people()[0].refused) == (400, 3_201)
        release = live.release()
        assert 800 in release.count("i", confidence=1 - 1e-9)
        assert 8_000 in release.sum("i", confidence=1 - 1e-9)
        assert release.sum("i").high < 10_000


def test_another_bound_is_another_object(lives: Lives) -> None:
    with lives.open() as store:
        by_item(store).update("i", 1.0, user="x")
    for other in (None, ls.PersonBound(cells=2), ls.PersonBound(cells=2, events=2, most_people=9)):
        with lives.open() as store, pytest.raises(ArgumentValueError, match="spec: expected the"):
            by_item(store, other)


def test_people_are_refused_where_they_are_not_bounded(lives: Lives) -> None:
    with lives.open() as store:
        live = by_item(store, None)
        assert live._people() == {}
        with pytest.raises(ArgumentTypeError, match="user: expected none, since the table has no"):
            live.update_many(["i"], [1.0], user=["x"])


def test_no_identifier_is_written_and_what_is_spent_names_the_bound(lives: Lives) -> None:
    with lives.open() as store:
        live = by_item(store)
        live.update("i", 1.0, user=PEOPLE[0])
        live.update_many(["i", "j"], [1.0, 2.0], user=PEOPLE)
        assert store.ingest("web", 1, ["i", "j"], into=live, weights=[1.0, 2.0], user=PEOPLE)
        live.tick()
    for data in everything_written(lives):
        assert not any(person.encode() in data for person in PEOPLE)
    with lives.open() as store:
        bounds = [part.person_bound for part in store.spent.of("a").parts[0].counts]
        assert bounds == [TWO, TWO]


def test_workers_count_no_people(lives: Lives) -> None:
    with (
        lives.open() as store,
        pytest.raises(ArgumentValueError, match="^person_bound: expected none, for partial counts"),
    ):
        of_batches(store).partial_spec()
