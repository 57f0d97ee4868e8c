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


def test_the_open_slice_of_steps_goes_on_with_its_steps(lives: Lives) -> None:
    """Of 7 steps each: events and empty steps that a life left in an open slice count there."""
    counted: list[str | None] = []
    for life, (events, ticks) in enumerate([(5, 0), (4, 1), (2, 1), (10, 3), (0, 1), (1, 0)]):
        with lives.open() as store:
            live = opened(store, "steps, sliding", Clock())
            assert live.step == len(counted)
            live.update_many(["x"] * events)
            live.tick(ticks)
            counted += ["x"] * events + [None] * ticks
            assert (live.step, live.slices) == (len(counted), len(counted) // 7)
            if life == 4:
                store.checkpoint()
    with lives.open() as store:
        live = opened(store, "steps, sliding", Clock())
        for ago in range(live.slices):
            window = live.window(ago, last=1)
            assert window is not None
            truth = counted[window.begin : window.end].count("x")
            assert truth in window.release.interval("x", confidence=1 - 1e-9)
        live.finish()
        assert (live.step, live.window(0, last=1).end) == (28, 28)
    with lives.open() as store:
        live = opened(store, "steps, sliding", Clock())
        assert (live.step, live.finished, live.slices) == (28, True, 4)
