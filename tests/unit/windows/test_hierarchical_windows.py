"""Windows of a hierarchy: each is a hierarchy of its own, and all have one guarantee."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracle.windows import Clock

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError, ItemError
from lazysketch.testing import seeded_key
from lazysketch.windows.cuts import leaves_of


def tens(item: Any) -> str:
    return f"{item // 10}x"


LEVELS = ls.Levels(("tens", "item"), lambda item: (tens(item), item), lambda name, _: tens(name))
OPTIONS: dict[str, Any] = {
    "share": 0.05, "epsilon": 8.0, "delta": 1e-3, "depth": 3, "width": 64, "hash_seed": 3,
}  # fmt: skip
MEMORY = 4 << 20
OPEN_STEP = 2 * 4 * 3 * 64
BOUND = ls.PersonBound(cells=2, events=2)


def made(clock: Clock, **changes: Any) -> ls.HierarchicalWindows:
    asked: dict[str, Any] = {
        "every": "20s", "slices": 4, "keep": 1000, "memory": MEMORY, "key": seeded_key(7),
        **OPTIONS, **changes,
    }  # fmt: skip
    return ls.HierarchicalWindows(LEVELS, clock=clock, **asked)


EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 49)), max_size=40)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 25), EVENTS), max_size=8),
    st.integers(1, 9),
    st.sampled_from([None, BOUND]),
)
@example([(0.0, [(0, 1)] * 60), (6.0, [(1, 1), (2, 11)] * 60), (25.0, [(0, 2)])], 4, None)
def test_a_window_is_a_hierarchy_that_its_events_alone_were_fed_to(
    calls: list[tuple[float, list[tuple[int, int]]]], slices: int, bound: ls.PersonBound | None
) -> None:
    """After random batches and clocks, with the same noise: the same tables and names."""
    options = {"relation": "zero-out", "person_bound": bound}
    clock = Clock(1000.0)
    windows = made(clock, slices=slices, **options)
    events: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for jump, batch in calls:
        clock.now += jump
        people = None if bound is None else [person for person, _ in batch]
        windows.update_many([item for _, item in batch], user=people)
        number, since = divmod(int(clock.now * 1e9), 20 * 10**9)
        events[number, since * slices // (20 * 10**9)] += batch
    windows.finish()
    last = int(clock.now // 20)
    assert [window.number for window in windows.windows] == list(range(50, last + 1))
    for window in windows.windows:
        alone = ls.HierarchicalHeavyHitters(
            LEVELS,
            schedule=ls.Batch(horizon=leaves_of(slices)),
            discovery_epoch=slices,
            memory=MEMORY - OPEN_STEP,
            key=seeded_key(7),
            **OPTIONS,
            **options,
        )
        for part in range(slices):
            batch = events[window.number, part]
            people = None if bound is None else [person for person, _ in batch]
            alone.update_batch([item for _, item in batch], user=people)
        alone.finish()
        for level, published in enumerate(window.levels):
            expected = alone.release(level)
            assert np.array_equal(published.release.table, expected.table)
            assert published.names == tuple(expected.names)
            assert published.number == window.number


def test_every_level_of_every_window_has_an_id_of_its_own() -> None:
    """And its hash seed is that of its level, so that windows of one level can be merged."""
    clock = Clock(1000.0)
    windows = made(clock, key=None, hash_seed=None)
    clock.now += 60.0
    parts = [level for window in windows.windows for level in window.levels]
    assert len(parts) == 6
    assert len({part.release.sketch_id for part in parts}) == 6
    seeds = [[one.release.hash_seed for one in window.levels] for window in windows.windows]
    assert seeds[0] == seeds[1] == seeds[2]
    assert seeds[0][1] == (seeds[0][0] + 1) % 2**64
    coarse, fine = (part.release.table for part in windows.windows[0].levels)
    assert not np.array_equal(coarse, fine)
    assert windows.private


@pytest.mark.parametrize("weights", [None, (1, 3)])
@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_all_levels_of_a_window_together_keep_the_promise(weights: Any, relation: Any) -> None:
    """What the releases of a window state composes to at most what was asked for."""
    clock = Clock(1000.0)
    windows = made(clock, key=None, epsilon=1.0, level_weights=weights, relation=relation)
    clock.now += 20.0
    privacy = windows.privacy
    assert (privacy.epsilon, privacy.delta) == pytest.approx((1.0, 1e-3))
    assert privacy.epsilon <= 1.0
    stated = [one.release.parts[0].privacy for one in windows.windows[0].levels]
    together = ls.compose(*stated)
    assert together.delta_at(privacy.counts_epsilon) <= privacy.counts_delta
    assert together.delta_at(0.999 * privacy.counts_epsilon) > privacy.counts_delta
    for whole, attribute in (
        (privacy.discovery_epsilon, "discovery_epsilon"),
        (privacy.discovery_delta, "discovery_delta"),
    ):
        parts = sum(Fraction(getattr(level, attribute)) for level in privacy.levels)
        assert Fraction(whole) * Fraction(999, 1000) < parts <= Fraction(whole)
    facts = [table._discovery_facts for table in windows._live.tables[51].tables]
    for fact, level in zip(facts, privacy.levels, strict=True):
        spent = sum(fact["rates"]) if relation == "substitution" else max(fact["rates"])
        assert 0.999 * level.discovery_epsilon < spent <= level.discovery_epsilon
    run = windows.windows[0].levels[0].release.parts[0].run
    assert run is not None
    assert (run.epsilon, run.delta) == (privacy.epsilon, privacy.delta)
    assert "2 levels together" in str(privacy)


def test_a_person_is_protected_within_one_window_at_all_levels() -> None:
    windows = made(Clock(1000.0), key=None, person_bound=BOUND, relation="zero-out")
    assert windows.privacy.within == "one window"
    assert "per person within one window, of whom 2 events" in str(windows.privacy)
    assert "for a person with events beyond one window" in windows.privacy.sentence
    with pytest.raises(ArgumentValueError, match="within one window"):
        ls.compose(windows)


def test_a_window_knows_no_one_of_the_window_before() -> None:
    clock = Clock(1000.0)
    windows = made(clock, key=None, epsilon=15.0, person_bound=BOUND, relation="zero-out")
    for _ in range(2):
        windows.update_many([7] * 600, user=[number // 2 for number in range(600)])
        assert windows._live.tables[int(clock.now // 20)].refused == 0
        clock.now += 20.0
    for window in windows.windows:
        for name, level in zip(("0x", 7), window.levels, strict=True):
            answer = level.release.interval(name, confidence=1 - 1e-9)
            assert answer.low <= 600 <= answer.high


@pytest.mark.parametrize("bound", [None, BOUND])
def test_the_end_of_a_window_destroys_the_counts_of_every_level(bound: Any) -> None:
    """Also where a table is referred to from elsewhere."""
    clock = Clock(1000.0)
    windows = made(clock, relation="zero-out", person_bound=bound)
    windows.update_many([7, 8], user=None if bound is None else ["a", "b"])
    live = windows._live.tables[50]
    assert len(live.levels) == 2
    clock.now += 20.0
    assert len(windows.windows) == 1
    for level in live.levels:
        with pytest.raises(ClosedError):
            level.release()


def test_the_tree_of_the_last_windows() -> None:
    """Estimates hold the counts of the windows that are asked for, at every level."""
    clock = Clock(1000.0)
    windows = made(clock, key=None)
    for _ in range(3):
        windows.update_many([11] * 500 + [12] * 300 + [31] * 200)
        clock.now += 20.0
    windows.update_many([42] * 1000)
    clock.now += 5.0
    for last in (1, 3):
        roots = windows.hierarchy(last=last, confidence=1 - 1e-9)
        assert [root.item for root in roots] == ["1x", "3x"]
        assert [node.item for root in roots for node in root.children] == [11, 12, 31]
        for node, count in zip(
            [node for root in roots for node in root.walk()],
            [800, 500, 300, 200, 200],
            strict=True,
        ):
            assert node.low <= last * count <= node.high
    now = windows.hierarchy(last=1, include_open=True, share=0.3)
    assert [root.item for root in now] == ["1x"]
    assert windows.level(0).top(1, last=2)[0].item == "1x"
    for share, names in ((0.1, ["1x", "3x"]), (0.3, ["1x"])):
        assert [hitter.item for hitter in windows.level(0).above(share, last=3)] == names
    assert windows.top(1) == windows.level(-1).top(1)
    assert windows.level(1).changes() == windows.changes()
    assert windows.levels is LEVELS
    coarse = windows.level(0)
    assert coarse.privacy == windows.privacy.levels[0]
    assert coarse.private
    assert made(clock).level(0).not_private_because == made(clock).not_private_because != ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"every": 100, "slices": None}, "^every: expected a duration"),
        ({"levels": 3}, "^levels: expected Levels, as in .*, got int"),
        ({"memory": 2 << 16}, "^memory: expected at least 134,144 bytes"),
        ({"level_weights": [1.0]}, "^level_weights: expected 2, one per level, got 1"),
        ({"domain": [1]}, "domain"),
        ({"begin": "2026-01-01"}, "begin"),
    ],
)
def test_wrong_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    options = {"every": "20s", "clock": Clock(1000.0) if "every" not in changes else None}
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        ls.HierarchicalWindows(**{"levels": LEVELS, **options, **OPTIONS, **changes})


def test_a_bad_batch_counts_at_no_level() -> None:
    clock = Clock(1000.0)
    windows, silent = made(clock), made(clock)
    for items, weights in ((["x"], None), ([1, 2], [1]), ([1], [2]), ([1, None], None)):
        with pytest.raises((ItemError, ArgumentValueError, ArgumentTypeError)):
            windows.update_many(items, weights)
    with pytest.raises(ArgumentTypeError, match="user: expected none"):
        windows.update_many([1], user=["a"])
    with pytest.raises(ArgumentTypeError, match="times: expected none"):
        windows.update_many([1], times=[0])
    with pytest.raises(ArgumentValueError, match="user: expected the person of each event"):
        made(clock, person_bound=BOUND).update_many([1])
    clock.now += 20.0
    for one, other in zip(windows.windows[0].levels, silent.windows[0].levels, strict=True):
        assert np.array_equal(one.release.table, other.release.table)


def test_windows_of_a_hierarchy_show_their_levels() -> None:
    shown = repr(made(Clock(1000.0)))
    assert shown.startswith("<HierarchicalWindows levels=tens, item, ")
    assert "<Windows" not in shown
