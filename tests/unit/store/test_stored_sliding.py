"""Sliding windows of a store: their cut, the slices that a restart missed, earlier eras."""

from __future__ import annotations

import pytest
from tests.unit.store.kinds_of_windows import KINDS, Clock, opened
from tests.unit.store.lives import Lives

import lazysketch as ls
from lazysketch.errors import ArgumentValueError


def test_sliding_windows_of_another_cut_are_refused(lives: Lives) -> None:
    with lives.open() as store:
        opened(store, "clock, sliding", Clock()).update_many(["x"] * 9)
    with lives.open() as store:
        options = {**KINDS["clock, sliding"], "clock": Clock()}
        for other in ({"every": "20min"}, {"span": "50min"}, {"block": 2}, {"discovery_epoch": 2}):
            with pytest.raises(ArgumentValueError, match="expected the parameters that 'a' was"):
                store.sliding("a", **options | other)
        assert opened(store, "clock, sliding", Clock()).slices == 0


def test_alerts_go_on_over_the_slices_that_a_restart_missed(lives: Lives) -> None:
    """Slices end while no process runs: their windows are read by the next."""
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "clock, sliding", clock)
        live.update_many(["x"] * 900)
        clock.seconds += 600
        live.update_many(["x"] * 900)
    clock.seconds += 1_200
    with lives.open() as store:
        live = opened(store, "clock, sliding", clock)
        windows = live.windows_after()
        assert [round(one.release.estimate("x"), -2) for one in windows] == [900, 1_800, 1_800]
        assert [one.whole for one in windows] == [False] * 3


def test_earlier_releases_of_sliding_windows_have_each_block_once(lives: Lives) -> None:
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "clock, sliding", clock)
        for _ in range(6):
            live.update_many(["x"] * 500)
            clock.seconds += 600
        live.advance()
        (last,) = live._last_published()
    release = ls.Release.from_bytes(last)
    assert len(release.parts) == 2
    assert round(release.estimate("x"), -2) == 3_000
