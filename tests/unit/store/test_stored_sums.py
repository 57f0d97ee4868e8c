"""Sums by item of a store: bounds are kept, and neither a kill nor a clock parts the tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import KEY, Lives, sums

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, HorizonError
from lazysketch.specification.value_grid import ValueGrid
from lazysketch.store.stored_sums import StoredSums

# With this seed the items of the tests share no cell: sums and counts have short intervals.
STRONG: dict[str, Any] = {
    "epsilon": 10.0,
    "delta": 1e-3,
    "depth": 5,
    "width": 256,
    "hash_seed": 7,
}


def strong(**options: Any) -> Any:
    """A description with little noise."""
    return sums(**({"schedule": ls.Punctual(horizon=9_000)} | STRONG | options))


def check(interval: Callable[..., ls.Interval], item: str, expected: float) -> None:
    """Check that a number is known, and closely."""
    assert expected in interval(item, confidence=1 - 1e-9)
    found = interval(item, confidence=1 - 1e-6)
    assert found.high < found.low + 900


def test_other_bounds_are_refused(lives: Lives) -> None:
    """The tables know the number of grid steps alone, which all of these have in common."""
    spec = strong()
    bounds = ((-2.0, 13.0), (-3.0, 12.0), (-1.0, 13.0), (-4.0, 24.0))
    others = [strong(low=-2.0, high=13.0), strong(step=14.0 / 2**16)]
    others += [replace(spec, grid=ValueGrid.of(low, high)) for low, high in bounds]
    with lives.open() as store:
        store.sums("a", spec).update("x", 3.0)
    for _ in range(2):
        with lives.open() as store:
            for other in others:
                with pytest.raises(ArgumentValueError, match="the parameters that 'a' was"):
                    store.sums("a", other)
            assert store.sums("a", spec).steps == 1
            store.checkpoint()
    with lives.open() as store, pytest.raises(ArgumentTypeError, match="spec: expected a SumsSpec"):
        store.sums("a", spec.counts)  # type: ignore[arg-type]


def test_zero_of_either_sign_is_one_bound(lives: Lives) -> None:
    with lives.open() as store:
        store.sums("a", strong(low=0.0)).update("x", 3.0)
    with lives.open() as store:
        assert store.sums("a", strong(low=-0.0)).steps == 1


def test_both_tables_have_ids_of_their_own(lives: Lives) -> None:
    """Equal tables under one id would have one noise: their difference would be exact."""
    equal = sums(ls.Punctual(horizon=9_000), low=0.0, high=1.0, step=1.0, count_share=0.5)
    with lives.open() as store:
        live = [store.sums(name, equal) for name in ("a", "b")]
        tables = [table for one in live for table in one.release().tables]
        assert len({table.sketch_id for table in tables}) == 4
        assert len({table.hash_seed for table in tables[:2]}) == 1
        spent = store.spent.of("a")
        assert len(spent.counts.parts) == 2
        assert (spent.epsilon, spent.delta) == pytest.approx((1.0, 1e-6))
        assert spent.counts.epsilon_at(1e-6) == pytest.approx(1.0, rel=1e-6)


def test_batches_are_counted_once_and_have_values(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sums("a", strong())
        with pytest.raises(ArgumentTypeError, match="weights: expected one value per item"):
            store.ingest("web", 1, ["x"], into=live)
        with pytest.raises(ArgumentValueError, match="values at position 0: expected a number"):
            store.ingest("web", 1, ["x"], into=live, weights=[float("nan")])
        with pytest.raises(ArgumentValueError, match="expected one per item"):
            store.ingest("web", 1, ["x", "y"], into=live, weights=[1.0])
        assert live.steps == 0
        for _ in range(2):
            store.ingest("web", 1, ["x"] * 999, into=live, weights=[-1.5] * 999, empty_rows=[0])
        assert store.ingest_several({"a": 1, "b": 1}, ["y"] * 99, into=live, weights=[20] * 99)
        assert live.steps == 1_099
    with lives.open() as store:
        live = store.sums("a", strong())
        assert live.steps == 1_099
        for item, number, value in (("x", 999, -1.5), ("y", 99, 12.0)):
            check(live.sum, item, number * value)
            check(live.count, item, number)
        assert live.mean("x").estimate == pytest.approx(-1.5, abs=0.5)
        assert [found.item for found in live.top(1, among=["x", "y"])] == ["y"]


def test_a_refused_change_is_in_neither_table(lives: Lives) -> None:
    spec = sums(ls.Punctual(horizon=5))
    with lives.open() as store:
        live = store.sums("a", spec)
        live.update_many(["x"] * 4, [1.0] * 4)
        with pytest.raises(HorizonError):
            live.update_many(["x"] * 2, [1.0] * 2)
        release = live.release().to_bytes()
    with lives.open() as store:
        live = store.sums("a", spec)
        assert live.release().to_bytes() == release
        live.update("x", 1.0)
        assert live.steps == 5
        assert len({table.step for table in live.release().tables}) == 1


class Clock:
    """How many steps have ended."""

    ended = 0

    def opened(self, store: ls.Store) -> StoredSums:
        live = store.sums("a", strong(schedule=ls.Batch(horizon=90)))
        live._follow_clock(lambda: self.ended)
        return live


def test_a_public_clock_ends_the_steps(lives: Lives, tmp_path: Path) -> None:
    """Whatever is counted, the steps are those of the clock, in both tables, over restarts."""
    clock, chance = Clock(), Random(3)
    store = lives.open()
    live = clock.opened(store)
    total = {"x": 0.0, "y": 0.0}
    for number in range(12):
        for item, value in (("x", 11.0), ("y", -2.0)):
            events = [item] * chance.choice([0, 1, 90]), [value]
            values = events[1] * len(events[0])
            if chance.random() < 0.5:
                live.update_rows(events[0], values, empty_rows=[0])
            else:
                source = f"{item} {number}"
                store.ingest(source, 1, events[0], into=live, weights=values, empty_rows=[0])
            total[item] += sum(values)
        clock.ended += chance.choice([0, 1, 3])
        assert live.steps == clock.ended
        if chance.random() < 0.5:
            store.checkpoint()
        if chance.random() < 0.7:
            store.commit()
            del live, store  # as after kill -9
            store = lives.open()
            live = clock.opened(store)
    last = clock.ended
    clock.ended += 1
    for item, expected in total.items():
        check(live.sum, item, expected)
    live.finish()
    assert live.steps == last + 2
    assert {(table.step, table.finished) for table in live.release().tables} == {(last + 2, True)}
    store.close()
    with lives.open() as again:
        kept = again.sums("b", strong())
        with pytest.raises(ArgumentTypeError, match="schedule: expected Batch for a clock"):
            kept._follow_clock(lambda: 0)


SENDER = """
import sys
from pathlib import Path
import lazysketch as ls
folder, secret = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
spec = ls.Sums(low=-2.0, high=12.0, depth=2, width=8, epsilon=1.0, delta=1e-6,
               schedule=ls.Punctual(horizon=900_000)).spec
spec = spec.with_hash_seed(7)
key = ls.Key.from_bytes(secret)
store = ls.open_store(folder / "store", key=key, anchor=folder / "outside" / "anchor",
                      checkpoint_bytes=4000)
live = store.sums("a", spec)
first = store.last_sequence("web") + 1
print("open", flush=True)
for sequence in range(first, first + 100_000):
    store.ingest("web", sequence, [f"item {sequence % 7}"] * 10, into=live,
                 weights=[sequence % 5 - 1.0] * 10)
    print(sequence, live.steps, live.release().to_bytes().hex(), flush=True)
"""


def test_killed_senders_lose_nothing_and_count_once(tmp_path: Path) -> None:
    """SIGKILL at any moment: both tables go on together, and publish the same again."""
    lives, chance, last = Lives(tmp_path), Random(6), 0
    spec = sums(ls.Punctual(horizon=900_000)).with_hash_seed(7)
    for life in range(4):
        arguments = [sys.executable, "-c", SENDER, str(tmp_path), KEY.to_bytes().hex()]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(2, 40))]
            process.kill()
            lines += process.stdout.read().splitlines()
        sequence, steps, release = [line for line in lines if line.count(" ") == 2][-1].split()
        assert int(sequence) > last
        last = int(sequence)
        assert int(steps) == 10 * last
        with lives.copied_to(tmp_path / f"copy {life}").open() as store:
            live = store.sums("a", spec)
            # The batch after the last acknowledged one may have been counted as well.
            found = store.last_sequence("web")
            assert found in (last, last + 1)
            assert live.steps == 10 * found
            if found == last:
                assert live.release().to_bytes().hex() == release
