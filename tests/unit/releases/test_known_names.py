"""Intervals after the heavy names of a list are taken out of each other's cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ItemError
from lazysketch.testing import seeded_key

EVENTS = np.random.default_rng(3).zipf(1.25, 120_000)
EVENTS = EVENTS[EVENTS <= 20_000]
TRUE = np.bincount(EVENTS, minlength=20_001)
NAMES = list(range(1, 20_001))
CLASSES: list[Any] = [ls.LazyCountMin, ls.LazyCountSketch]


def released(made: Any, *, finish: bool = True, **options: Any) -> ls.Release:
    given = {"depth": 4, "width": 512, "epsilon": 1.0, "delta": 1e-6, "hash_seed": 8}
    with made(**{**given, **options}, key=seeded_key(6)) as sketch:
        sketch.update_many(EVENTS)
        if finish:
            sketch.finish()
        release: ls.Release = sketch.release()
        return release


@pytest.mark.parametrize("made", CLASSES)
@pytest.mark.parametrize("finish", [True, False])
def test_intervals_of_a_short_list_are_narrower(made: Any, finish: bool) -> None:
    release, items = released(made, finish=finish), NAMES[:20]
    plain = release.interval_many(items, simultaneous=True)
    known = release.interval_many(items, simultaneous=True, known=NAMES[:100])
    assert np.median(known.high - known.low) < np.median(plain.high - plain.low)
    assert ((known.low <= TRUE[items]) & (TRUE[items] <= known.high)).sum() >= 19
    # A decoded list needs all its names: these are estimated as the first of the hundred.
    decoded = release.decode(NAMES[:100])[:20]
    assert known.estimate.tolist() == np.maximum(decoded, 0.0).tolist()


@pytest.mark.parametrize("made", CLASSES)
def test_intervals_of_a_long_list_are_narrower(made: Any) -> None:
    release = released(made, width=1024)
    items = NAMES[:20]
    given: dict[str, Any] = {"among": len(NAMES)}
    plain = release.interval_many(items, **given)
    known = release.interval_many(items, known=NAMES, **given)
    assert np.median(known.high - known.low) < 0.85 * np.median(plain.high - plain.low)
    for of in (plain, known):
        assert ((of.low <= TRUE[items]) & (TRUE[items] <= of.high)).all()
        assert ((of.low <= of.estimate) & (of.estimate <= of.high)).all()


@pytest.mark.parametrize("made", CLASSES)
def test_names_that_never_occurred_are_not_among_the_heaviest(made: Any) -> None:
    """A name that shares two of four cells with the heaviest item looks like half of it."""
    release = released(made)
    top = [hitter.item for hitter in release.top(NAMES, 10)]
    assert set(top) == set(range(1, 11))


def test_a_name_may_be_listed_twice_and_an_item_not_at_all() -> None:
    release = released(ls.LazyCountMin)
    once, twice = NAMES[:100], [*NAMES[:100], *NAMES[:100]]
    for items in ([5], [150]):
        of = release.interval_many(items, known=twice)[0]
        assert of == release.interval_many(items, known=once)[0]
        assert of.low <= TRUE[items[0]] <= of.high


def test_where_nothing_can_be_taken_out_names_change_nothing() -> None:
    exact = ls.CountMin(depth=4, width=64)
    exact.update_many(EVENTS)
    counters = ls.ContinualCounters(counters=9, epsilon=1.0, delta=1e-6)
    counters.update_many([1, 2, 2])
    lives = [exact, counters]
    for seed in range(200):  # some columns were not published, and rates are noise
        fresh = ls.LazyCountMin(depth=4, width=64, epsilon=1.0, delta=1e-6, key=seeded_key(seed))
        fresh.update_many(EVENTS[:10])
        lives.append(fresh)
    for live in lives:
        release = live.release()
        known = release.interval_many([1, 2], known=[1, 2, 3])
        assert list(known) == list(release.interval_many([1, 2]))
    release = released(ls.LazyCountMin)
    assert list(release.interval_many([1], known=[])) == list(release.interval_many([1]))


def test_known_names_are_checked() -> None:
    release = released(ls.LazyCountMin)
    with pytest.raises(ArgumentTypeError):
        release.interval_many([1], known="abc")
    with pytest.raises(ItemError):
        release.interval_many([1], known=[None])


@pytest.mark.parametrize("made", CLASSES)
def test_a_list_that_is_kept_answers_as_one_read_for_the_first_time(made: Any) -> None:
    release = released(made, finish=False)
    others = [*NAMES[:300], "another"]
    for items in (NAMES[:300], NAMES[:300], others, NAMES[:300], NAMES[:299], NAMES[:300][::-1]):
        first = ls.Release.from_bytes(release.to_bytes())
        assert release.top(items, 20) == first.top(items, 20)
        np.testing.assert_array_equal(release.decode(items), first.decode(items))


def test_only_a_list_that_takes_little_memory_is_kept() -> None:
    release = released(ls.LazyCountMin)
    cells = release._native.cells_many(NAMES[:50])
    kept = release._peeled(cells)
    assert release._peeled(release._native.cells_many(NAMES[:50])) is kept
    assert release._peeled(release._native.cells_many(NAMES[1:51])) is not kept
    assert release._keeps_lists_of(2**17)
    assert not release._keeps_lists_of(2**17 + 1)
    many = release._native.cells_many(list(range(2**17 + 1)))
    assert release._peeled(many) is not release._peeled(many)
    for width, keeps in ((2**16, True), (2**16 + 1, False)):
        wide = ls.LazyCountMin(depth=4, width=width, epsilon=1.0, delta=1e-6).release()
        assert wide._keeps_lists_of(1) is keeps
