"""Batches: the state depends on the events only, not on how they are fed.

A batch equals its events one by one and any split of it, bit for bit; a batch with an error is
not applied at all; another process gives the same releases.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazysketch
import lazysketch.testing
from lazysketch.errors import HorizonError, ItemError, LazySketchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Sketch = (
    lazysketch.LazyCountMin
    | lazysketch.LazyCountSketch
    | lazysketch.PunctualCountMin
    | lazysketch.PunctualCountSketch
)
PROFILE = settings(deadline=None, max_examples=25)
MAX_WEIGHT = 7

CLASSES: dict[str, tuple[Callable[..., Sketch], int | None]] = {
    "lazy count-min": (lazysketch.LazyCountMin, 200),
    "lazy count-sketch": (lazysketch.LazyCountSketch, 200),
    "geometric count-min": (lazysketch.LazyCountMin, None),
    "geometric count-sketch": (lazysketch.LazyCountSketch, None),
    "punctual count-min": (lazysketch.PunctualCountMin, 200),
    "punctual count-sketch": (lazysketch.PunctualCountSketch, 200),
}
every_class = pytest.mark.parametrize("name", CLASSES)
with_horizon = pytest.mark.parametrize("name", [n for n, (_, t) in CLASSES.items() if t])


def make(name: str, *, mechanism: str = "haar", **overrides: object) -> Sketch:
    """A reproducible sketch: seeded key, zero sketch id, fixed hash seed."""
    cls, horizon = CLASSES[name]
    arguments: dict[str, object] = {
        "depth": 3,
        "width": 5,
        "epsilon": 1.0,
        "delta": 1e-6,
        "horizon": horizon,
        "mechanism": mechanism,
        "max_weight": MAX_WEIGHT,
        "hash_seed": 99,
        "key": lazysketch.testing.seeded_key(4),
    }
    return cls(**{**arguments, **overrides})


def public_bytes(sketch: Sketch) -> bytes:
    return sketch.release().to_bytes()


def assert_same_future(one: Sketch, other: Sketch, *, steps: int = 30) -> None:
    """Check that releases are equal now and after all pending counts have been published."""
    assert one.step == other.step
    assert public_bytes(one) == public_bytes(other)
    for _ in range(steps):
        one.tick()
        other.tick()
        assert public_bytes(one) == public_bytes(other)


Events = list[tuple[int | str, int]]
events = st.lists(
    st.tuples(
        st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", "1"])), st.integers(0, MAX_WEIGHT)
    ),
    max_size=120,
)
cuts = st.lists(st.integers(0, 120), max_size=6)


def pieces(length: int, at: Sequence[int]) -> list[slice]:
    """Slices of 0..length between the cuts; some may be empty."""
    edges = [0, *sorted(min(cut, length) for cut in at), length]
    return [slice(a, b) for a, b in pairwise(edges)]


@every_class
@pytest.mark.parametrize("mechanism", ["binary", "haar"])
@PROFILE
@given(stream=events, at=cuts)
def test_batch_equals_singles_equals_any_split(
    name: str, mechanism: str, *, stream: Events, at: list[int]
) -> None:
    items, weights = [x for x, _ in stream], [w for _, w in stream]
    whole, split, single = (make(name, mechanism=mechanism) for _ in range(3))
    whole.update_many(items, weights)
    for piece in pieces(len(stream), at):
        split.update_many(items[piece], weights[piece])
    for item, weight in stream:
        single.update(item, weight)
    assert public_bytes(whole) == public_bytes(split) == public_bytes(single)
    assert_same_future(whole, split, steps=6)
    for _ in range(6):
        single.tick()
    assert public_bytes(whole) == public_bytes(single)


@every_class
def test_reading_in_between_changes_nothing(name: str) -> None:
    read, unread = make(name), make(name)
    for t in range(60):
        read.update(t % 4)
        read.release()
        read.estimate(0)
        read.estimate_many([1, 2])
    unread.update_many([t % 4 for t in range(60)])
    assert_same_future(read, unread)


@every_class
def test_weights_left_out_are_ones(name: str) -> None:
    items = list(range(50))
    with_ones, without, single = make(name), make(name), make(name)
    with_ones.update_many(items, [1] * len(items))
    without.update_many(items)
    for item in items:
        single.update(item)
    assert public_bytes(with_ones) == public_bytes(without) == public_bytes(single)
    assert_same_future(with_ones, without)


CONTAINERS: dict[str, Callable[[list[int]], object]] = {
    "tuple": tuple,
    "generator": lambda values: (value for value in values),
    "int64": lambda values: np.array(values, dtype=np.int64),
    "int16": lambda values: np.array(values, dtype=np.int16),
    "strided": lambda values: np.repeat(np.array(values, dtype=np.int64), 2)[::2],
    "reversed twice": lambda values: np.array(values[::-1], dtype=np.int64)[::-1],
    "numpy scalars": lambda values: [np.int32(value) for value in values],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_container_does_not_matter(container: str) -> None:
    items = [(t * t) % 23 - 7 for t in range(150)]
    plain, other = make("lazy count-sketch"), make("lazy count-sketch")
    plain.update_many(items)
    other.update_many(CONTAINERS[container](items))
    assert_same_future(plain, other)


@every_class
@PROFILE
@given(at=cuts, before=st.integers(0, 40), ticks=st.integers(0, 120))
def test_ticks_split(name: str, *, at: list[int], before: int, ticks: int) -> None:
    whole, split, single = make(name), make(name), make(name)
    for sketch in (whole, split, single):
        sketch.update_many([1] * before)
    whole.tick(ticks)
    for piece in pieces(ticks, at):
        split.tick(piece.stop - piece.start)
    for _ in range(ticks):
        single.tick()
    assert whole.step == split.step == single.step == before + ticks
    assert public_bytes(whole) == public_bytes(split) == public_bytes(single)


@every_class
def test_an_empty_batch_is_no_step(name: str) -> None:
    sketch, untouched = make(name), make(name)
    sketch.update_many([])
    sketch.update_many(np.array([], dtype=np.int64), [])
    sketch.tick(0)
    assert sketch.step == 0
    assert_same_future(sketch, untouched)


# --- the horizon --------------------------------------------------------------------


@with_horizon
@pytest.mark.parametrize("over", [1, 2, 1000])
def test_past_the_horizon_nothing_is_applied(name: str, over: int) -> None:
    """Not a single event, nor the part of a batch or tick that would still fit."""
    horizon = 30
    sketch, twin = make(name, horizon=horizon), make(name, horizon=horizon)
    for one in (sketch, twin):
        one.update_many(range(horizon - 1))
    room = 1
    before = public_bytes(sketch)
    attempts: list[Callable[[], object]] = [
        lambda: sketch.update_many([5] * (room + over)),
        lambda: sketch.update_many(np.full(room + over, 5), [MAX_WEIGHT] * (room + over)),
        lambda: sketch.tick(room + over),
    ]
    for attempt in attempts:
        with pytest.raises(HorizonError):
            attempt()
        assert sketch.step == horizon - 1
        assert public_bytes(sketch) == before
    for one in (sketch, twin):
        one.update("last")
    assert public_bytes(sketch) == public_bytes(twin) != before
    room = 0
    before = public_bytes(sketch)
    for attempt in [*attempts, lambda: sketch.update("one more"), lambda: sketch.tick()]:
        with pytest.raises(HorizonError):
            attempt()
        assert sketch.step == horizon
        assert public_bytes(sketch) == before
    sketch.update_many([])  # no step, so still allowed
    assert public_bytes(sketch) == before


# --- bad batches --------------------------------------------------------------------

BAD_ITEMS = {
    "none": None,
    "float": 1.5,
    "whole float": 1.0,
    "bool": True,
    "numpy bool": np.True_,
    "tuple": ("a", 1),
    "lone surrogate": "\ud800",
    "object": object(),
}


@every_class
@pytest.mark.parametrize("bad", BAD_ITEMS)
def test_one_bad_item_rejects_the_batch(name: str, bad: str) -> None:
    """At any position; the message contains the position and not the item."""
    sketch, twin = make(name), make(name)
    for one in (sketch, twin):
        one.update_many([3, 1, 2])
    for position in (0, 5, 9):
        items: list[object] = list(range(100, 110))
        items[position] = BAD_ITEMS[bad]
        with pytest.raises(ItemError, match=rf"\b{position}\b") as caught:
            sketch.update_many(items)
        assert not any(str(item) in str(caught.value) for item in range(100, 110))
        with pytest.raises(ItemError):
            sketch.update(BAD_ITEMS[bad])
    assert_same_future(sketch, twin)


def failing_items() -> Iterator[str]:
    yield from ("a", "b", "c")
    raise RuntimeError("the source failed")


@every_class
def test_a_source_that_fails_applies_nothing(name: str) -> None:
    sketch, twin = make(name), make(name)
    with pytest.raises(RuntimeError, match="source failed"):
        sketch.update_many(failing_items())
    assert_same_future(sketch, twin)


@every_class
@pytest.mark.parametrize(
    "weights",
    [
        [1, 1, -1],
        [1, MAX_WEIGHT + 1, 1],
        [1, 1, 2**63],
        [1, 1, 2**64 + 1],
        [1, 1],
        [1, 1, 1, 1],
        [1, 1, 1.5],
        [1, 1, None],
        np.array([1.0, 2.0, np.nan]),
        np.array([[1, 1, 1]]),
    ],
    ids=str,
)
def test_one_bad_weight_rejects_the_batch(name: str, weights: object) -> None:
    sketch, twin = make(name), make(name)
    for one in (sketch, twin):
        one.update_many([3, 1, 2])
    with pytest.raises(LazySketchError):
        sketch.update_many(["x", "y", "z"], weights)
    assert_same_future(sketch, twin)


@every_class
@pytest.mark.parametrize("weight", [-1, MAX_WEIGHT + 1, 2**64, 0.5, None, "1"])
def test_one_bad_weight_rejects_the_update(name: str, weight: object) -> None:
    sketch, twin = make(name), make(name)
    with pytest.raises(LazySketchError):
        sketch.update("x", weight)
    assert_same_future(sketch, twin)


# --- other processes ----------------------------------------------------------------

SCRIPT = """
import lazysketch, lazysketch.testing
for cls, horizon in [
    (lazysketch.LazyCountMin, 200),
    (lazysketch.LazyCountSketch, None),
    (lazysketch.PunctualCountSketch, 200),
]:
    for mechanism in ("binary", "haar"):
        sketch = cls(
            depth=3, width=5, epsilon=1.0, delta=1e-6, horizon=horizon, mechanism=mechanism,
            max_weight=7, hash_seed=99, key=lazysketch.testing.seeded_key(4),
        )
        sketch.update_many(["a", 1, b"a", "1", 2**70] * 20, [1, 2, 3, 4, 5] * 20)
        print(sketch.release().to_bytes().hex())
"""


def printed_by_a_process(hash_randomisation: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_randomisation}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        check=True,
        env=environment,
        text=True,
        timeout=60,
    ).stdout


def test_processes_give_equal_releases() -> None:
    """Equal seeded key, id and stream give equal releases, whatever Python's own hash seed."""
    first, second = printed_by_a_process("1"), printed_by_a_process("2")
    assert first == second
    releases = first.split()
    assert len(releases) == len(set(releases)) == 6
    here = make("lazy count-min", mechanism="binary")
    here.update_many(["a", 1, b"a", "1", 2**70] * 20, [1, 2, 3, 4, 5] * 20)
    assert public_bytes(here).hex() == releases[0]
