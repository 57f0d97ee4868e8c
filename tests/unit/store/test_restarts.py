"""Objects of a store go on after any restart and any kill: same counts, noise and names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import KEY, KINDS, Kind, Lives, check_restarts, events_of, table

import lazysketch as ls


def change(kind: Kind, live: Any, chance: Random) -> None:
    """Make a random change; some are refused."""
    items = [kind.item(chance) for _ in range(chance.choice([0, 1, 3, 40]))]
    events = events_of(live, items)
    does = chance.randrange(7)
    if does == 0:
        live.tick(chance.randrange(30))
    elif does == 1:
        live.update(*(column[0] for column in events_of(live, [kind.item(chance)])))
    elif does == 2 and kind.batches:
        live.update_batch(*events)
    elif does == 3 and kind.vectors:
        live.step([chance.randrange(2) for _ in range(8)])
    elif does == 4 and hasattr(live, "end_discovery_epoch"):
        live.end_discovery_epoch()
    elif does == 5:
        live.update_rows(*events, empty_rows=[0, 2][: len(items)])
    elif isinstance(live, (ls.DistinctCount, ls.Distribution, ls.Ranges, ls.Sums)):
        live.update_many(*events)
    else:
        live.update_many(items, [1] * len(items) if chance.random() < 0.5 else None)


def seen(live: Any) -> tuple[Any, ...]:
    """Return what can be read of an object."""
    if isinstance(live, ls.HierarchicalHeavyHitters):
        releases = [live.release(number).to_bytes() for number in (0, 1)]
        return live.step, live.finished, releases, [node.item for node in live.hierarchy()]
    names = live.candidates if isinstance(live, ls.HeavyHitters) else None
    step = live.steps if hasattr(live, "steps") else live.step
    return step, live.finished, live.release().to_bytes(), names


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_restarts_change_nothing(name: str, seed: int, lives: Lives, tmp_path: Path) -> None:
    """One of two copies of a store is opened again and again, with and without checkpoints."""
    kind = KINDS[name]
    check_restarts(
        lives,
        tmp_path / "copy",
        f"{name} {seed}",
        opened=kind.open,
        change=partial(change, kind),
        seen=seen,
    )


SENDER = """
import sys
from pathlib import Path
import lazysketch as ls
from lazysketch.store import open_store
folder, secret = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
spec = ls.TableSpec(kind="count-min", depth=2, width=8, schedule=ls.Geometric(),
                    epsilon=1.0, delta=1e-6)
key = ls.Key.from_bytes(secret)
store = open_store(folder / "store", key=key, anchor=folder / "outside" / "anchor",
                   checkpoint_bytes=4000)
live = store.sketch("a", spec)
first = store.last_sequence("web") + 1
for sequence in range(first, first + 100_000):
    store.ingest("web", sequence, [f"item {sequence % 7}"] * 10, into=live)
    print(sequence, live.step, live.release().to_bytes().hex(), flush=True)
"""


def _lives_of_a_sender(folder: Path, chance: Random, number: int) -> Iterator[list[str]]:
    for _ in range(number):
        arguments = [sys.executable, "-c", SENDER, str(folder), KEY.to_bytes().hex()]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(1, 40))]
            process.kill()
            rest = process.stdout.read().splitlines()
        whole = [line for line in (*lines, *rest) if line.count(" ") == 2 and line]
        yield whole


def test_killed_senders_lose_nothing_and_count_once(tmp_path: Path) -> None:
    """SIGKILL at any moment: what was acknowledged was counted once, and is published again."""
    lives, chance, last = Lives(tmp_path), Random(5), 0
    for lines in _lives_of_a_sender(tmp_path, chance, 4):
        sequence, step, release = lines[-1].split()
        assert int(sequence) > last
        last = int(sequence)
        assert int(step) == 10 * last
        copy = lives.copied_to(tmp_path / f"copy {last}")
        with copy.open() as store:
            live = store.sketch("a", table())
            # The batch after the last acknowledged one may have been counted as well.
            found = store.last_sequence("web")
            assert found in (last, last + 1)
            assert live.step == 10 * found
            if found == last:
                assert live.release().to_bytes().hex() == release.strip()
