"""Partial counts of windows by the clock: they go into the open slice, once."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import Lives
from tests.unit.store.partials import of_workers, sealed

from lazysketch.errors import ArgumentValueError, ClosedError
from lazysketch.store import Store


class Time:
    """A clock of a test."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def by_the_clock(store: Store, clock: Time) -> Any:
    return store.windows(
        "w", every="10min", slices=5, clock=clock, keep=3, domain=["a", "b", 1], depth=2, width=8,
        epsilon=1.0, delta=1e-6,
    )  # fmt: skip


def published(live: Any) -> list[tuple[int, bytes]]:
    """Return what can be read of windows."""
    windows = [*live.windows, *filter(None, [live.open])]
    return [(window.number, window.release.to_bytes()) for window in windows]


@pytest.mark.parametrize("seed", range(3))
def test_windows_count_what_workers_send(seed: int, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one clock: slices and windows end as if one machine had counted."""
    chance, clock = Random(f"windows {seed}"), Time()
    with lives.open() as store:
        by_the_clock(store, clock)
    others = lives.copied_to(tmp_path / "copy")
    local_store, store = lives.open(), others.open()
    local, live = by_the_clock(local_store, clock), by_the_clock(store, clock)
    for number in range(1, 16):
        clock.now += chance.choice([0.0, 1.0, 130.0, 700.0])
        spec = live.partial_spec()
        items = [chance.choice(["a", "b", 1, "x", 2**70]) for _ in range(chance.choice([0, 3, 90]))]
        local.update_many(items)
        batch = of_workers(spec, items, None, chance)
        release = store.add_partials("s", number, batch, into=live, positions="p").to_bytes()
        assert published(live) == published(local)
        assert release == live.open.release.to_bytes()
        if chance.random() < 0.5:
            if chance.random() < 0.5:
                store.checkpoint()
            if chance.random() < 0.5:
                store.close()
            else:
                del store, live
            store = others.open()
            live = by_the_clock(store, clock)
            assert published(live) == published(local)
            again = store.add_partials("s", number, batch, into=live, positions="p")
            assert again.to_bytes() == release
            assert published(live) == published(local)
    live.finish()
    local.finish()
    assert published(live) == published(local)
    local_store.close()
    store.close()


def test_counts_of_a_window_that_is_over_are_refused(lives: Lives) -> None:
    """By the id of its table; until then they go into the open slice, once."""
    clock = Time()
    with lives.open() as store:
        live = by_the_clock(store, clock)
        spec = live.partial_spec()
        one, two, three = (sealed(spec, ["a"]) for _ in range(3))
        store.add_partials("s", 1, [one], into=live)
        clock.now += 150.0  # another slice of the window
        with pytest.raises(ArgumentValueError, match="that were not added before"):
            store.add_partials("s", 2, [two, one], into=live)
        store.add_partials("s", 2, [two], into=live)
        assert len(store._journal.partials.added["w"]) == 2
        clock.now += 600.0
        for late in (one, three):
            with pytest.raises(ArgumentValueError, match="of this table in this era"):
                store.add_partials("s", 3, [late], into=live)
        before = published(live)
        store.add_partials("s", 3, [sealed(live.partial_spec(), ["a"])], into=live)
        assert published(live) == before  # the slice is open
        assert len(store._journal.partials.added["w"]) == 1
        live.finish()
        for call in (live.partial_spec, lambda: store.add_partials("s", 4, [], into=live)):
            with pytest.raises(ClosedError):
                call()


def test_windows_without_a_clock_refuse(lives: Lives) -> None:
    ranged = {"begin": "2024-01-01", "end": "2024-01-03", "domain": ["a"]}
    with lives.open() as store:
        for name, options, expected in [
            ("steps", {"every": 100, "domain": ["a"]}, "windows by the clock, for partial counts"),
            ("range", {"every": "1d", **ranged}, "windows by the clock, for partial counts"),
        ]:
            live = store.windows(name, epsilon=20.0, delta=1e-2, **options)
            for call in (
                live.partial_spec,
                lambda live=live: store.add_partials("s", 1, [], into=live),
            ):
                with pytest.raises(ArgumentValueError, match=expected):
                    call()
