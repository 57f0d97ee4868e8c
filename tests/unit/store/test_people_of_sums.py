"""Stored tables of sums with bounds of people: restarts, kills, erased identifiers, the clock."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import KEY, NOISE, Lives, check_restarts
from tests.unit.store.test_people import PEOPLE, everything_written
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.store import Store

Opener = Callable[..., Any]
TWO = ls.PersonBound(events=2)


def values(store: Store, bound: ls.PersonBound | None = TWO, schedule: Any = None) -> Any:
    bins = ls.Bins.linear(0, 9, number=9)
    schedule = schedule or ls.Punctual(horizon=9_000)
    spec = ls.Distribution(bins=bins, schedule=schedule, person_bound=bound, **NOISE).spec
    return store.distribution("a", spec)


def values_of_batches(store: Store, bound: ls.PersonBound | None = TWO) -> Any:
    return values(store, bound, ls.Batch(horizon=9_000))


def values_of_few(store: Store) -> Any:
    return values(store, ls.PersonBound(events=3, most_people=3))


def ranges(store: Store, bound: ls.PersonBound | None = TWO, schedule: Any = None) -> Any:
    schedule = schedule or ls.Punctual(horizon=9_000)
    options = {"bits": 4, "width": 4, "hash_seed": 7, **NOISE}
    return store.ranges("a", ls.Ranges(schedule=schedule, person_bound=bound, **options).spec)


def ranges_of_batches(store: Store, bound: ls.PersonBound | None = TWO) -> Any:
    return ranges(store, bound, ls.Batch(horizon=9_000))


OPENERS: dict[str, Opener] = {
    "values": values,
    "values of batches": values_of_batches,
    "values of few": values_of_few,
    "ranges": ranges,
    "ranges of batches": ranges_of_batches,
}
OF_BATCHES = pytest.mark.parametrize("opener", [values_of_batches, ranges_of_batches])
EACH = pytest.mark.parametrize("opener", [values, ranges])


def change(live: Any, chance: Random) -> None:
    """Make a random change; some are refused."""
    size = chance.choice([0, 1, 3, 40])
    items = [chance.randrange(9) for _ in range(size)]
    people: list[Any] = [chance.choice([1, 2, "x", "y" * 40, b"z"]) for _ in items]
    does = chance.randrange(7)
    if does == 0:
        live.tick(chance.randrange(30))
    elif does == 1:
        live.update(chance.randrange(9), user=chance.choice([1, "x"]))
    elif does == 2 and live.schedule.name == "batch":
        live.update_batch(items, user=people)
    elif does == 3:
        live.update_rows(items, empty_rows=[0, 2][:size], user=people)
    elif does == 4:
        with pytest.raises(LazySketchError):
            live.update_many([1, 2, None], user=["new", "newer", "newest"])
    else:
        live.update_many(items, user=people)


@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_restarts_change_nothing(name: str, seed: int, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one of which is closed, killed and opened again and again."""
    check_restarts(
        lives,
        tmp_path / "copy",
        f"{name} {seed}",
        opened=OPENERS[name],
        change=change,
        seen=seen,
    )


@pytest.mark.parametrize("by_checkpoint", [False, True])
@EACH
def test_a_restart_gives_no_one_another_turn(
    opener: Opener, by_checkpoint: bool, lives: Lives
) -> None:
    """A value beyond the bound is an empty step in the next life too."""
    with lives.open() as store:
        live = opener(store)
        live.update_many([1, 5, 1, 7], user=["x"] * 4)
        assert (live._people()[0].known, live._people()[0].refused) == (1, 2)
        if by_checkpoint:
            store.checkpoint()
    for refused in (3, 4):
        with lives.open() as store:
            live = opener(store)
            live.update(3, user="x")
            assert (live._people()[0].known, live._people()[0].refused) == (1, refused)


@EACH
def test_a_batch_of_a_sender_is_bounded_and_counted_once(opener: Opener, lives: Lives) -> None:
    with lives.open() as store:
        live = opener(store)
        for sequence in (1, 1, 2):
            store.ingest("web", sequence, [1, 2, 3], into=live, user=["x", "x", "y"])
        assert (live._people()[0].known, live._people()[0].refused) == (2, 2)
        assert live.steps == 6
        with pytest.raises(ArgumentValueError, match="user: expected the person of each event"):
            store.ingest("web", 3, [1], into=live)
        assert store.last_sequence("web") == 2


@EACH
def test_people_are_refused_where_they_are_not_bounded(opener: Opener, lives: Lives) -> None:
    with lives.open() as store:
        live = opener(store, None)
        assert live._people() == {}
        with pytest.raises(ArgumentTypeError, match="user: expected none, since the table has no"):
            live.update_many([1], user=["x"])


@EACH
def test_another_bound_is_another_object(opener: Opener, lives: Lives) -> None:
    with lives.open() as store:
        opener(store).update(1, user="x")
    for other in (None, ls.PersonBound(events=3), ls.PersonBound(events=2, most_people=9)):
        with lives.open() as store, pytest.raises(ArgumentValueError, match="spec: expected the"):
            opener(store, other)


@EACH
def test_no_identifier_is_written(opener: Opener, lives: Lives) -> None:
    """Neither to a file nor to a record before it is sealed."""
    with lives.open() as store:
        live = opener(store)
        live.update(1, user=PEOPLE[0])
        live.update_many([1, 2], user=PEOPLE)
        live.update_rows([1, 2], empty_rows=[1], user=PEOPLE)
        assert store.ingest("web", 1, [1, 2], into=live, user=PEOPLE)
        live.tick()
    for data in everything_written(lives):
        assert not any(person.encode() in data for person in PEOPLE)


@EACH
def test_what_is_spent_names_the_bound(opener: Opener, lives: Lives) -> None:
    with lives.open() as store:
        bound = opener(store).privacy.person_bound
    with lives.open() as store:
        (part,) = store.spent.of("a").parts
        assert part.counts[0].person_bound == bound
        assert str(bound) == "of whom 2 events are counted"


@OF_BATCHES
def test_a_step_of_the_clock_is_bounded(opener: Opener, lives: Lives) -> None:
    """Events that are added to the open step take from the same bound as those of closed steps."""
    with lives.open() as store:
        live = opener(store)
        ended = 0
        live._follow_clock(lambda: ended)
        live.update_many([1, 2], user=["x", "y"])
        ended = 2
        live.update_many([1, 2, 3], user=["x", "x", "y"])
        assert (live._people()[0].known, live._people()[0].refused) == (2, 1)
        assert live.steps == 2


def test_workers_count_no_people(lives: Lives) -> None:
    """They do not know what a person has contributed elsewhere."""
    with lives.open() as store:
        live = values_of_batches(store)
        with pytest.raises(ArgumentValueError, match="person_bound: expected none"):
            live.partial_spec()


SENDER = """
import sys
from pathlib import Path
import lazysketch as ls
from lazysketch.store import open_store
from tests.unit.store import test_people_of_sums as tests
folder, secret = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
store = open_store(folder / "store", key=ls.Key.from_bytes(secret),
                   anchor=folder / "outside" / "anchor", checkpoint_bytes=3000)
live = tests.OPENERS[sys.argv[3]](store)
people = live._people()[0]
first = store.last_sequence("web") + 1
for sequence in range(first, first + 800):
    user = [f"person {sequence // 3 + number % 3}" for number in range(10)]
    store.ingest("web", sequence, [sequence % 7] * 10, into=live, user=user)
    print(sequence, people.known, people.refused, live.release().to_bytes().hex(), flush=True)
"""


def refused_by(sequence: int) -> int:
    """Events that the rule refuses in all batches through one."""
    batches = range(1, sequence + 1)
    sent = Counter(batch // 3 + number % 3 for batch in batches for number in range(10))
    return sum(max(0, number - 2) for number in sent.values())


@EACH
def test_killed_senders_contribute_once(opener: Opener, tmp_path: Path) -> None:
    """SIGKILL at any moment: who has contributed what is known again, as the rule says."""
    lives, chance = Lives(tmp_path), Random(6)
    name = next(name for name, known in OPENERS.items() if known is opener)
    for _ in range(2):
        arguments = [sys.executable, "-c", SENDER, str(tmp_path), KEY.to_bytes().hex(), name]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(10, 40))]
            process.kill()
            lines += process.stdout.read().splitlines()
        whole = [line for line in lines if line.count(" ") == 3]
        sequence, known, refused, release = whole[-1].split()
        with lives.copied_to(tmp_path / f"copy {sequence}").open() as store:
            live = opener(store)
            people, found = live._people()[0], store.last_sequence("web")
            # The batch after the last acknowledged one may have been counted as well.
            assert found in (int(sequence), int(sequence) + 1)
            assert people.refused == refused_by(found)
            assert int(refused) == refused_by(int(sequence))
            if found == int(sequence):
                assert people.known == int(known)
                assert live.release().to_bytes().hex() == release
