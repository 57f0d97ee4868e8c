"""Pipelines of a store that protect people, and weights: they go on after any restart."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import CANARY, Lives, check_restarts
from tests.unit.store.test_stored_pipelines import seen

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.store import Store
from lazysketch.store.calls import Share
from lazysketch.store.stored_pipeline import StoredPipeline

PRIVACY: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-4}
PEOPLE: dict[str, Any] = {"user": "client", "person_bound": ls.PersonBound(events=2)}
WEIGHTS: dict[str, Any] = {"weight": "port", "max_weight": 300}
PARTS = {
    "clients": ls.Part(ls.LazyCountMin, "path", depth=2, width=8, **WEIGHTS),
    "pages": ls.Part(ls.HeavyHitters, "path", share=0.2, width=16, depth=2, discovery_epoch=60),
    "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=3),
    "latency": ls.Part(
        ls.Distribution,
        "ms",
        bins=ls.Bins.linear(0, 9, number=9),
        person_bound=ls.PersonBound(events=4, most_people=5),
    ),
    "ports": ls.Part(ls.Ranges, "port", bits=8, width=8),
    "spent": ls.Part(ls.Sums, "path", value="ms", low=0, high=9, depth=2, width=8),
    "networks": ls.Part(
        ls.HierarchicalHeavyHitters,
        "ip",
        levels=ls.ipv4_prefixes((8, 32)),
        share=0.2,
        width=16,
        depth=2,
        discovery_epoch=60,
        **WEIGHTS,
    ),
}
BATCHES: dict[str, Any] = {"schedule": ls.Batch(horizon=9_000)}
PARTS_IN_BATCHES = {
    "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=3, **BATCHES),
    "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 9, number=9), **BATCHES),
    "ports": ls.Part(ls.Ranges, "port", bits=8, width=8, weight="port", max_weight=300, **BATCHES),
    "spent": ls.Part(ls.Sums, "path", value="ms", low=0, high=9, depth=2, width=8, **BATCHES),
}


def opened(store: Store, parts: Any = None) -> StoredPipeline:
    return store.pipeline("site", PARTS if parts is None else parts, **PRIVACY, **PEOPLE)


def rows(chance: Random, number: int) -> dict[str, list[Any]]:
    return {
        "client": [chance.choice([None, f"{CANARY} {chance.randrange(9)}"]) for _ in range(number)],
        "path": [chance.choice([None, "/", "/a", 7]) for _ in range(number)],
        "ms": [chance.choice([None, chance.uniform(-1, 12)]) for _ in range(number)],
        "port": [chance.choice([None, chance.randrange(256)]) for _ in range(number)],
        "ip": [f"10.0.{chance.randrange(3)}.{chance.randrange(4)}" for _ in range(number)],
    }


def change(live: StoredPipeline, chance: Random) -> None:
    does = chance.randrange(5)
    if does == 0:
        live.tick(chance.randrange(30))
    elif does == 1:
        live.update({name: column[0] for name, column in rows(chance, 1).items()})
    elif does == 2:
        live.end_discovery_epoch()
    else:
        live.update_many(rows(chance, chance.choice([0, 1, 40])))


def change_in_batches(live: StoredPipeline, chance: Random) -> None:
    if chance.random() < 0.3:
        live.tick(3)
    else:
        live.update_batch(rows(chance, chance.choice([0, 1, 40])))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("parts", [PARTS, PARTS_IN_BATCHES], ids=["rows", "batches"])
def test_restarts_change_nothing(parts: Any, seed: int, lives: Lives, tmp_path: Path) -> None:
    check_restarts(
        lives,
        tmp_path / "copy",
        f"pipeline of people {seed}",
        opened=lambda store: opened(store, parts),
        change=change if parts is PARTS else change_in_batches,
        seen=seen,
    )


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_person_is_bounded_over_all_lives(checkpoint: bool, lives: Lives) -> None:
    """5 of 20,000 values of one person count in all lives together, far below the noise."""
    bins, bound = ls.Bins([1.0]), ls.PersonBound(events=5)
    parts = {
        "latency": ls.Part(ls.Distribution, "ms", bins=bins, horizon=10**6, person_bound=bound),
        "everyone": ls.Part(ls.Distribution, "ms", bins=bins, horizon=10**6),
        "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=3),
    }
    for life in range(3):
        batch = {"client": ["a"] * 20_000, "ms": [0.0] * 20_000}
        with lives.open() as store:
            live = store.pipeline("site", parts, **PRIVACY, **PEOPLE)
            assert store.ingest("web", life + 1, batch, into=live)
            assert not store.ingest("web", life + 1, batch, into=live)
            assert live.steps == 20_000 * (life + 1)
            for name, most in (("latency", 5), ("everyone", 2)):
                people = _native.People.of_table(live[name]._table)
                assert people is not None
                assert (people.known, people.refused) == (1, live.steps - most)
                counted = live[name].histogram(confidence=1 - 1e-9)
                assert float(counted.low[0]) <= most < 10_000
                assert float(counted.high[0]) < 10_000
            if checkpoint:
                store.checkpoint()


def test_the_people_are_those_of_one_column_in_all_lives(lives: Lives) -> None:
    """A person would have a bound under each name, and be two of the people who are counted."""
    bound = ls.PersonBound(events=2)
    parts = {"ports": ls.Part(ls.Ranges, "port", bits=8, width=8)}

    def made(store: Store, name: str, user: str | None) -> StoredPipeline:
        person_bound = None if user is None else bound
        return store.pipeline(name, parts, **PRIVACY, user=user, person_bound=person_bound)

    with lives.open() as store:
        made(store, "people", "client")
        made(store, "rows", None)
    for name, column, other in (("people", "client", "account"), ("rows", None, "client")):
        with lives.open() as store:
            with pytest.raises(ArgumentValueError, match=r"user: expected .*, with which"):
                made(store, name, other)
            assert made(store, name, column).user == column


@pytest.mark.parametrize("checkpoint", [True, False])
def test_what_is_refused_changes_no_one(checkpoint: bool, lives: Lives) -> None:
    parts = {**PARTS, "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins([1.0]), horizon=30)}
    with lives.open() as store:
        live = opened(store, parts)
        live.update_many(rows(Random(1), 20))
        before = seen(live)
        with pytest.raises(HorizonError):
            live.update_many(rows(Random(2), 20))
        assert seen(live) == before
        if checkpoint:
            store.checkpoint()
    with lives.open() as store:
        assert seen(opened(store, parts)) == before


def test_no_person_is_in_the_log(lives: Lives) -> None:
    bounded = {name: part for name, part in PARTS.items() if name != "pages"}
    with lives.open() as store:
        opened(store, bounded).update_many(rows(Random(1), 60))
    for path in lives.folder.rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes()
    message = "user: expected the column of the people"
    with lives.open() as store, pytest.raises(ArgumentTypeError, match=message):
        store.pipeline("site", PARTS, **PRIVACY, person_bound=ls.PersonBound())


def test_a_record_gives_each_part_its_own_people(lives: Lives) -> None:
    bins: dict[str, Any] = {"bins": ls.Bins([1.0]), **BATCHES}
    parts = {
        "first": ls.Part(ls.Distribution, "ms", **bins),
        "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=3, **BATCHES),
        "second": ls.Part(ls.Distribution, "port", **bins),
    }
    batch = {"client": ["a", "a", "b", "c", "d"], "ms": [1, 1, None, None, None]}
    with lives.open() as store:
        live = opened(store, parts)
        call = live._call("update_batch", {**batch, "port": [None, None, 2, 2, 2]})
        assert [share.people for share in call.objects] == [True, False, True]
        users = [one.user for one in call.divided()]
        assert [None if user is None else len(user) for user in users] == [2, None, 3]
        live.update_batch({**batch, "port": [None, None, 2, 2, 2]})
    with lives.open() as store:
        live = opened(store, parts)
        live.update_batch({**batch, "port": [None, None, 2, 2, 2]})
        known = [_native.People.of_table(live[name]._table) for name in ("first", "second")]
        assert [people.known for people in known if people is not None] == [1, 3]
    assert Share("a", 1, 2, people=True).plain == ["a", 1, 2, 0, True]
