"""Objects with bounds of people go on after any restart and any kill: same decisions and noise."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.oracle import people as oracle
from tests.oracle.sketches import HashesReadOff
from tests.unit.store.lives import KEY, Lives, check_restarts
from tests.unit.store.test_people import OPENERS, Opener, batches, counters, sketch
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch.errors import LazySketchError


def change(opener: Opener, live: Any, chance: Random) -> None:
    """Make a random change; some are refused."""
    size = chance.choice([0, 1, 3, 40])
    items: list[Any] = [chance.randrange(8) for _ in range(size)]
    if opener is not counters and chance.random() < 0.5:
        items = [f"item {item}" for item in items]
    people: list[Any] = [chance.choice([1, 2, "x", "y" * 40, b"z"]) for _ in items]
    weights = [chance.randrange(4) for _ in items] if chance.random() < 0.5 else None
    does = chance.randrange(8)
    if does == 0:
        live.tick(chance.randrange(30))
    elif does == 1:
        live.update(chance.randrange(8), 2, user=chance.choice([1, "x"]))
    elif does == 2 and opener is batches:
        live.update_batch(items, weights, user=people)
    elif does == 3:
        live.update_rows(items, weights, empty_rows=[0, 2][:size], user=people)
    elif does == 4:
        with pytest.raises(LazySketchError):
            live.update_many([1, 2, 3], [1, 9, 1], user=["new", "newer", "newest"])
    else:
        live.update_many(items, weights, user=people)


@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_restarts_change_nothing(name: str, seed: int, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one of which is closed, killed and opened again and again."""
    opener = OPENERS[name]
    check_restarts(
        lives,
        tmp_path / "copy",
        f"{name} {seed}",
        opened=opener,
        change=partial(change, opener),
        seen=seen,
    )


SENDER = """
import sys
from pathlib import Path
import lazysketch as ls
from lazysketch.store import open_store
folder, secret = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
spec = ls.TableSpec(kind="count-min", depth=2, width=8, schedule=ls.Geometric(), max_weight=3,
                    epsilon=1.0, delta=1e-6, person_bound=ls.PersonBound(cells=2, events=2))
key = ls.Key.from_bytes(secret)
store = open_store(folder / "store", key=key, anchor=folder / "outside" / "anchor",
                   checkpoint_bytes=3000)
live = store.sketch("a", spec)
people = live._people()[0]
first = store.last_sequence("web") + 1
for sequence in range(first, first + 100_000):
    user = [f"person {sequence // 3 + number % 3}" for number in range(10)]
    store.ingest("web", sequence, [sequence % 7] * 10, into=live, user=user)
    print(sequence, people.known, people.refused, live.release().to_bytes().hex(), flush=True)
"""


def refused_by(sequence: int, hash_seed: int) -> int:
    """Events that the rule refuses in all batches through one."""
    columns = HashesReadOff(lambda: ls.CountMin(depth=2, width=8, hash_seed=hash_seed))
    rule = oracle.Table(lambda item: [column for column, _ in columns(item)], cells=2, events=2)
    batches = range(1, sequence + 1)
    users = [batch // 3 + number % 3 for batch in batches for number in range(10)]
    items = [(batch % 7,) for batch in batches for _ in range(10)]
    return oracle.counted([rule], users, items).count(False)


def test_killed_senders_contribute_once(tmp_path: Path) -> None:
    """SIGKILL at any moment: who has contributed what is known again, as the rule says."""
    lives, chance = Lives(tmp_path), Random(6)
    for _ in range(2):
        arguments = [sys.executable, "-c", SENDER, str(tmp_path), KEY.to_bytes().hex()]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(10, 40))]
            process.kill()
            lines += process.stdout.read().splitlines()
        whole = [line for line in lines if line.count(" ") == 3]
        sequence, known, refused, release = whole[-1].split()
        copy = lives.copied_to(tmp_path / f"copy {sequence}")
        with copy.open() as store:
            live = sketch(store)
            seed = live.hash_seed
            (people,) = live._people().values()
            found = store.last_sequence("web")
            # The batch after the last acknowledged one may have been counted as well.
            assert found in (int(sequence), int(sequence) + 1)
            assert people.refused == refused_by(found, seed)
            assert int(refused) == refused_by(int(sequence), seed)
            if found == int(sequence):
                assert people.known == int(known)
                assert live.release().to_bytes().hex() == release
