"""Windows of a store bound people: each on its own, whatever lives a window has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.oracle.windows import DAY, at, exact
from tests.unit.store.kinds_of_windows import FOUND, Clock, seen
from tests.unit.store.lives import KEY, Lives, check_restarts
from tests.unit.store.test_people import BOUND, fill, identities, windows
from tests.unit.windows.test_hierarchical_windows import LEVELS
from tests.unit.windows.test_people_of_windows import Event, counted

import lazysketch as ls
from lazysketch.errors import ArgumentValueError, LazySketchError
from lazysketch.store import Store

LISTED: dict[str, Any] = {
    "domain": range(50), "hash_seed": 3, "depth": 3, "width": 64, "keep": 100,
    "epsilon": 1.0, "delta": 1e-6, "person_bound": BOUND,
}  # fmt: skip
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"every": 40, **LISTED},
    "clock": {"every": "1h", "slices": 6, **LISTED},
    "range": {"every": "6h", **DAY, **LISTED},
}
BOUNDED: dict[str, dict[str, Any]] = {
    "names": {"every": 40, "keep": 5, "person_bound": BOUND, **FOUND},
    "limited": {
        **CUTS["steps"], "person_bound": ls.PersonBound(cells=3, most_people=3), "max_weight": 3,
    },
    "clock": {**CUTS["clock"], "max_weight": 3},
    "range": {**CUTS["range"], "max_weight": 3},
    "levels": {
        "every": "1h", "slices": 6, "keep": 100, **FOUND,
        "person_bound": (BOUND, ls.PersonBound(cells=3, events=2)),
    },
}  # fmt: skip


def opened(store: Store, options: dict[str, Any], clock: Callable[[], float]) -> Any:
    if isinstance(options["person_bound"], tuple):
        return store.hierarchical_windows("a", LEVELS, clock=clock, **options)
    by_clock = "slices" in options
    return store.windows("a", **options, **({"clock": clock} if by_clock else {}))


def change(options: dict[str, Any], live: Any, chance: Random) -> None:
    """Make a random change; some are refused."""
    size = chance.choice([0, 1, 3, 40, 90])
    items = [chance.randrange(50) for _ in range(size)]
    people: list[Any] = [chance.choice([1, 2, "x", "y" * 40, b"z"]) for _ in items]
    most = options.get("max_weight", 1)
    weights = [chance.randrange(most + 1) for _ in items] if chance.random() < 0.5 else None
    times = [at(chance.randrange(-9_000, 95_000)) for _ in items] if "begin" in options else None
    does = chance.randrange(6)
    if does == 0:
        live.tick(chance.choice([0, 1, 30]))
    elif does == 1 and times is None:
        live.update(chance.randrange(50), user=chance.choice([1, "x"]))
    elif does == 2 and "every" in options and options["every"] == 40:
        live._journal.change(
            live, live._batch(items, weights, empty_rows=[0, 2][:size], column=None, times=None,
                              user=people),
        )  # fmt: skip
    elif does == 3:
        with pytest.raises(LazySketchError):
            live.update_many([1, 2], [1, 9], user=["new", "newer"], times=times and [at(1)] * 2)
    else:
        live.update_many(items, weights, user=people, times=times)


def seen_with_people(live: Any) -> tuple[Any, ...]:
    known = {number: (one.known, one.refused) for number, one in live._people().items()}
    return *seen(live), known


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("seed", [1, 2])
def test_restarts_change_nothing(name: str, seed: int, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one of which is closed, killed and opened again and again."""
    clock, options = Clock(), BOUNDED[name]

    def pass_time(chance: Random) -> None:
        clock.seconds += chance.choice([0, 1, 300, 700, 4_000, -900])

    _, _, ended, *_ = check_restarts(
        lives,
        tmp_path / "copy",
        f"{name} {seed}",
        opened=lambda store: opened(store, options, clock),
        change=partial(change, options),
        seen=seen_with_people,
        pass_time=pass_time,
    )
    assert len(ended) >= 2


Part = tuple[int, list[Event], list[int]]
"""Seconds that pass before it, events, and their seconds within the day."""


def parts(chance: Random) -> Iterator[Part]:
    for _ in range(14):
        events = [(chance.randrange(3), chance.randrange(12)) for _ in range(chance.randrange(60))]
        seconds = [chance.randrange(-9_000, 95_000) for _ in events]
        yield chance.choice([0, 0, 200, 1_500, 3_600]), events, seconds


def windows_of(cut: str, feed: Sequence[Part]) -> list[list[Event]]:
    """The events of each window, in the order in which they came."""
    every = {"steps": 40, "clock": 3_600, "range": 21_600}[cut]
    found: dict[int, list[Event]] = {}
    step, now = 0, 0
    for passed, events, seconds in feed:
        now += passed
        for event, second in zip(events, seconds, strict=True):
            place = {"steps": step, "clock": now, "range": second}[cut] // every
            found.setdefault(place, []).append(event)
            step += 1
    last = {"steps": max(step - 1, 0), "clock": now, "range": 86_399}[cut] // every
    return [found.get(number, []) for number in range(last + 1)]


@pytest.mark.parametrize("by_checkpoint", [False, True])
@pytest.mark.parametrize("cut", CUTS)
def test_each_window_counts_by_the_rule(
    cut: str, by_checkpoint: bool, lives: Lives, tmp_path: Path
) -> None:
    """With a kill after every batch, also in the middle of a window; next to a silent copy."""
    feed = list(parts(Random(f"{cut} {by_checkpoint}")))
    clock = Clock()
    begin = clock.seconds
    with lives.open() as store:
        opened(store, CUTS[cut], clock)
    silent_lives = lives.copied_to(tmp_path / "silent")
    for passed, events, seconds in feed:
        clock.seconds += passed
        store = lives.open()
        live = opened(store, CUTS[cut], clock)
        times = [at(second) for second in seconds] if cut == "range" else None
        items, people = [item for _, item in events], [f"person {one}" for one, _ in events]
        live.update_many(items, user=people, times=times)
        store.commit()
        if by_checkpoint:
            store.checkpoint()
        del store, live  # as after kill -9: nothing is written after the commit
    with lives.open() as store, silent_lives.open() as silent_store:
        live = opened(store, CUTS[cut], clock)
        silent_clock = Clock()
        silent_clock.seconds = begin
        silent = opened(silent_store, CUTS[cut], silent_clock)
        silent.tick(sum(len(events) for _, events, _ in feed))
        silent_clock.seconds = clock.seconds
        for one in (live, silent):
            one.finish()
        expected = windows_of(cut, feed)
        assert len(live.windows) == len(silent.windows) == len(expected) >= 4
        refused = 0
        for window, noise, events in zip(live.windows, silent.windows, expected, strict=True):
            items = counted(events)
            refused += len(events) - len(items)
            assert np.array_equal(window.release.table - noise.release.table, exact(items))
        assert refused >= 40


def test_a_bound_ends_with_its_window(lives: Lives) -> None:
    """Reached before a restart and at rest after it; the next window has its own."""
    for by_checkpoint in (False, True):
        with lives.open() as store:
            live = windows(store, every=20)
            start = live.step // 20
            for _ in range(2):
                fill(live, "x")
                (people,) = live._people().values()
            assert (people.known, people.refused) == (1, 6)
            if by_checkpoint:
                store.checkpoint()
        with lives.open() as store:
            live = windows(store, every=20)
            fill(live, "x")
            ((number, people),) = live._people().items()
            assert (number, people.known, people.refused) == (start, 1, 10)
            live.tick(8)
            ((number, people),) = live._people().items()
            assert (number, people.known, people.refused) == (start + 1, 0, 0)
            fill(live, "x")
            assert (people.known, people.refused) == (1, 2)
            live.tick(16)


def test_a_batch_over_two_windows_survives_with_its_people(lives: Lives) -> None:
    with lives.open() as store:
        live = windows(store, every=10)
        live.update_many([1] * 15, user=["x", "y", "z"] * 5)
    with lives.open() as store:
        live = windows(store, every=10)
        ((number, people),) = live._people().items()
        assert (number, live.step, people.known, people.refused) == (1, 15, 3, 0)
        fill(live, "y")  # the second window has counted two events of y
        assert people.refused == 4


def test_an_object_knows_a_person_by_one_identity_in_all_windows(lives: Lives) -> None:
    """And two objects by two: their records show nothing in common."""
    for _ in range(2):
        with lives.open() as store:
            first = windows(store, every=1)
            second = store.windows("b", every=1, domain=[1], person_bound=BOUND, **NOISE_OF_B)
            for live in (first, second):
                live.update_many([1], user=["x"])
    found = identities(lives)
    assert len(found) == 4
    assert found[0] == found[2] != found[1] == found[3]


NOISE_OF_B: dict[str, Any] = {"width": 8, "epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("cut", CUTS)
def test_a_refused_batch_changes_nothing(cut: str, lives: Lives) -> None:
    """Neither a window nor what is known of people, nor the log."""
    with lives.open() as store:
        live = opened(store, CUTS[cut], Clock())
        times = {"times": [at(1), at(40_000)]} if cut == "range" else {}
        last = store._journal.last
        for user in (None, ["x"], ["x", None], ["x", 1.5], "xy", ["x", "y", "z"]):
            with pytest.raises(LazySketchError, match="^user: expected"):
                live.update_many([1, 2], user=user, **times)
            with pytest.raises(LazySketchError, match="^user: expected"):
                store.ingest("web", 1, [1, 2], into=live, user=user, **times)
            if cut == "steps":
                with pytest.raises(LazySketchError, match="^user: expected"):
                    store.ingest("web", 1, [1, 2] * 30, into=live, user=user, empty_rows=[7])
        with pytest.raises(LazySketchError, match="^weights: expected"):
            live.update_many([1, 2], [1, 9], user=["x", "y"], **times)
        assert store._journal.last == last
        assert store.last_sequence("web") == 0
        assert all((one.known, one.refused) == (0, 0) for one in live._people().values())


def test_a_bound_is_a_parameter(lives: Lives) -> None:
    others = (None, ls.PersonBound(cells=2), ls.PersonBound(cells=2, events=2, most_people=9))
    for by_checkpoint in (False, True):
        with lives.open() as store:
            for bound in others:
                if "a" in store.names:
                    with pytest.raises(ArgumentValueError, match="the parameters that 'a' was"):
                        windows(store, bound)
            windows(store).update(1, user="x")
            if by_checkpoint:
                store.checkpoint()
    with lives.open() as store:
        for bound in others:
            with pytest.raises(ArgumentValueError, match="the parameters that 'a' was"):
                windows(store, bound)


def test_a_batch_of_a_source_contributes_once(lives: Lives) -> None:
    batch = {"user": ["x", "y", "y", "z", "z", "z"], "empty_rows": [1, 2]}
    with lives.open() as store:
        live = windows(store, every=8)
        assert store.ingest("web", 1, [1] * 3, into=live, user=["x"] * 3)
        assert not store.ingest("web", 1, [1] * 3, into=live, user=["x"] * 3)
        # The rows of x and y and the empty ones are in the first window.
        assert store.ingest("web", 2, [1] * 6, into=live, **batch)
        (people,) = live._people().values()
        assert (live.step, people.known, people.refused) == (11, 1, 1)
        assert live._live.refused == 3
    with lives.open() as store:
        live = windows(store, every=8)
        assert not store.ingest("web", 2, [1], into=live, user=["x"])
        (people,) = live._people().values()
        assert (live.step, people.known, people.refused) == (11, 1, 1)


def test_the_account_is_that_of_one_window(lives: Lives, tmp_path: Path) -> None:
    """In each era, of which each has its own windows and contributions."""
    with lives.open() as store:
        fill(windows(store), "x")
        (part,) = store.spent.parts
        assert (part.within, part.counts[0].person_bound) == ("one window", BOUND)
        assert str(store.spent).endswith("-DP in 1 era, for a person within one window")
    older = lives.copied_to(tmp_path / "older")
    with lives.open() as store:
        fill(windows(store), "y")
    # An older copy under the newest anchor.
    older.anchor.write_bytes(lives.anchor.read_bytes())
    with older.open(on_doubt="new-era") as store:
        live = windows(store)
        (people,) = live._people().values()
        assert (people.known, people.refused) == (0, 0)
        fill(live, "x")
        assert [(it.era, it.within) for it in store.spent.parts] == [
            (0, "one window"), (1, "one window"),
        ]  # fmt: skip
        store.checkpoint()
    with older.open() as store:
        live = windows(store)
        (people,) = live._people().values()
        assert (people.known, people.refused) == (1, 2)
        assert {it.within for it in store.spent.parts} == {"one window"}


def test_without_a_bound_the_account_says_nothing_of_windows(lives: Lives) -> None:
    with lives.open() as store:
        windows(store, None).update(1)
        assert store.spent.parts[0].within is None
        assert str(store.spent).endswith("in 1 era")


SENDER = """
import sys
from pathlib import Path
import lazysketch as ls
from lazysketch.store import open_store
folder, secret = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
key = ls.Key.from_bytes(secret)
store = open_store(folder / "store", key=key, anchor=folder / "outside" / "anchor",
                   checkpoint_bytes=3000)
bound = ls.PersonBound(cells=2, events=2)
live = store.windows("a", every=35, domain=["a", "b", 1], width=8, max_weight=3,
                     person_bound=bound, epsilon=1.0, delta=1e-6)
first = store.last_sequence("web") + 1
for sequence in range(first, first + 100_000):
    user = [f"person {sequence // 3 + number % 3}" for number in range(10)]
    store.ingest("web", sequence, [1] * 10, into=live, user=user)
    ((number, people),) = live._people().items()
    print(sequence, number, people.known, people.refused, flush=True)
"""


def contributed(sequence: int) -> tuple[int, int, int]:
    """The open window after a batch, its people, and events beyond the two of each."""
    people = [batch // 3 + n % 3 for batch in range(1, sequence + 1) for n in range(10)]
    number = len(people) // 35
    own = people[35 * number :]
    refused = sum(max(own.count(one) - 2, 0) for one in set(own))
    return number, len(set(own)), refused


def test_killed_senders_contribute_once(tmp_path: Path) -> None:
    """SIGKILL at any moment: the open window knows what the rule says, and no other one does."""
    lives, chance = Lives(tmp_path), Random(7)
    for _ in range(2):
        arguments = [sys.executable, "-c", SENDER, str(tmp_path), KEY.to_bytes().hex()]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(10, 40))]
            process.kill()
            lines += process.stdout.read().splitlines()
        last = [line for line in lines if line.count(" ") == 3][-1]
        sequence, *said = map(int, last.split())
        assert tuple(said) == contributed(sequence)
        copy = lives.copied_to(tmp_path / f"copy {sequence}")
        with copy.open() as store:
            live = windows(store, every=35)
            found = store.last_sequence("web")
            # The batch after the last acknowledged one may have been counted as well.
            assert found in (sequence, sequence + 1)
            ((number, people),) = live._people().items()
            assert (number, people.known, people.refused) == contributed(found)
