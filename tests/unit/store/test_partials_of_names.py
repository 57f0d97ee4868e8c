"""Names that workers count become one step of discovery, whatever the workers and their order."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import CANARY, Lives
from tests.unit.store.partials import named, of_workers, sealed
from tests.unit.store.test_partials_of_windows import Time, published
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch.errors import ArgumentValueError
from lazysketch.store import Store

CHOICES = ["a", 1, b"a", -1, 2**70, "ä" * 40, "1", "b", "c", 2, 3, 4]


@pytest.mark.parametrize("seed", range(4))
def test_one_worker_or_many_publish_the_same(seed: int, lives: Lives, tmp_path: Path) -> None:
    """Also where the table of discovery has fewer slots than there are names, over restarts."""
    chance = Random(f"names {seed}")
    capacity = 3 + seed
    with lives.open() as store:
        named(store, capacity)
    others = lives.copied_to(tmp_path / "copy")
    one_store, store = lives.open(), others.open()
    one, live = named(one_store, capacity), named(store, capacity)
    for number in range(1, 11):
        favourite = chance.choice(CHOICES)
        items = [
            chance.choice([*CHOICES, *[favourite] * 9]) for _ in range(chance.choice([0, 9, 200]))
        ]
        whole = [sealed(one.partial_spec(), sorted(items, key=str))]
        batch = of_workers(live.partial_spec(most_names=12), items, None, chance)
        releases = [
            target_store.add_partials("s", number, parts, into=target).to_bytes()
            for target_store, target, parts in ((one_store, one, whole), (store, live, batch))
        ]
        assert releases[0] == releases[1]
        assert seen(one) == seen(live)
        if chance.random() < 0.4:
            if chance.random() < 0.5:
                store.checkpoint()
            if chance.random() < 0.5:
                store.close()
            else:  # as after kill -9
                del store, live
            store = others.open()
            live = named(store, capacity)
            assert seen(live) == seen(one)
            again = store.add_partials("s", number, batch, into=live)
            assert again.to_bytes() == releases[0]
    assert one.candidates, "names were published"
    one_store.close()
    store.close()


def test_a_committed_batch_of_names_cannot_be_changed(lives: Lives) -> None:
    """The same cells and counts under other names are other counts."""
    with lives.open() as store:
        live = named(store)
        spec = live.partial_spec()
        first = store.add_partials("s", 1, [sealed(spec, ["x", "y", "y"])], into=live).to_bytes()
        for same in (
            [sealed(spec, ["y"]), sealed(spec, ["x", "y"])],
            [sealed(live.partial_spec(most_names=9), ["y", "y", "x"])],
        ):
            assert store.add_partials("s", 1, same, into=live).to_bytes() == first
        for other in (["x", "y", "z"], ["x", "y", b"y"], ["x", "x", "y"], ["x", "y", "y", "y"]):
            with pytest.raises(
                ArgumentValueError, match="sealed: expected those of batch 1, which"
            ):
                store.add_partials("s", 1, [sealed(spec, other)], into=live)
        assert live.step == 1


def test_a_worker_has_a_limit_of_names(lives: Lives) -> None:
    """The batch that exceeds it is refused whole, and what was counted before is sealed."""
    with lives.open() as store:
        live = named(store)
        spec = live.partial_spec(most_names=3)
        worker, other = ls.PartialCounts(spec), ls.PartialCounts(spec)
        worker.update_many(["a", "b", "a"])
        said = "items: expected at most 3 different names of 768 bytes in all; nothing was counted"
        for items in (["a", "c", "d"], ["x" * 800], ["a", "y" * 767]):
            with pytest.raises(ArgumentValueError, match=said) as refused:
                worker.update_many(items)
            assert not any(str(item) in str(refused.value) for item in items if len(item) > 1)
        other.update_many(["c", "d"])
        with pytest.raises(ArgumentValueError, match="other: expected at most 3 different names"):
            worker.merge(other)
        store.add_partials("s", 1, [worker.seal(), other.seal()], into=live)
        again = [sealed(live.partial_spec(), ["a", "a", "b", "c", "d"])]
        assert store.add_partials("s", 1, again, into=live).step == 1


def test_sealed_names_tell_a_power_of_two(lives: Lives) -> None:
    with lives.open() as store:
        spec = named(store).partial_spec()
        head = 8 + 2 + len(spec) + 32 + 16 + 2 + 16 + 8
        for items, size in [
            ([], 1 << 10),
            (["x"] * 10_000, 1 << 10),
            ([f"{number:091}" for number in range(10)], 1 << 10),  # 8 + 10 x 100 bytes
            ([f"{number:092}" for number in range(11)], 1 << 11),
            (range(100_000), 1 << 21),  # 17 bytes each
        ]:
            assert len(sealed(spec, items)) == head + size


def test_no_name_is_in_clear_outside_of_the_core(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names below the threshold, short and long, and their counts: in no bytes and no text."""
    long = f"{CANARY} " * 9
    with lives.open() as store:
        live = store.heavy_hitters(
            "a",
            ls.HeavyHittersSpec.of(
                schedule=ls.Batch(horizon=9), share=0.01, discovery_epoch=1, width=16, depth=2,
                epsilon=0.01, delta=1e-9,
            ),
        )  # fmt: skip
        native, parts = store._native, []

        class Native:
            def __getattr__(self, name: str) -> Any:
                return getattr(native, name)

            def append(self, record: list[Any]) -> int:
                parts.extend(record)
                return native.append(record)

        monkeypatch.setattr(store._journal, "native", Native())
        worker = ls.PartialCounts(live.partial_spec())
        worker.update_many([CANARY] * 1_234 + [long] * 1_234 + ["x"])
        shown = repr(worker).encode()
        blob = worker.seal()
        release = store.add_partials("s", 1, [blob], into=live).to_bytes()
        assert not live.candidates
        store.checkpoint()
        files = [path.read_bytes() for path in lives.folder.iterdir() if path.is_file()]
        errors = []
        for call in (
            lambda: store.add_partials("s", 1, [sealed(live.partial_spec(), [CANARY])], into=live),
            lambda: store.add_partials("s", 2, [blob], into=live),
            lambda: store.add_partials("s", 2, [blob[:-1]], into=live),
        ):
            with pytest.raises(ArgumentValueError) as refused:
                call()
            errors.append(str(refused.value).encode())
        for data in (blob, shown, release, *parts, *files, *errors):
            assert CANARY.encode() not in data


def with_names(store: Store, clock: Time) -> Any:
    return store.windows(
        "w", every="10min", slices=5, clock=clock, keep=3, share=0.2, depth=2, width=16,
        epsilon=20.0, delta=1e-2,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_windows_publish_names_that_workers_count(seed: int, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one clock: windows and their names are those of one machine."""
    chance, clock = Random(f"windows of names {seed}"), Time()
    with lives.open() as store:
        with_names(store, clock)
    others = lives.copied_to(tmp_path / "copy")
    local_store, store = lives.open(), others.open()
    local, live = with_names(local_store, clock), with_names(store, clock)
    names: set[object] = set()
    for number in range(1, 16):
        clock.now += chance.choice([0.0, 1.0, 130.0, 700.0])
        spec = live.partial_spec()
        items = [chance.choice(CHOICES[:5]) for _ in range(chance.choice([0, 3, 90]))]
        local.update_many(items)
        batch = of_workers(spec, items, None, chance)
        release = store.add_partials("s", number, batch, into=live).to_bytes()
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
            live = with_names(store, clock)
            assert published(live) == published(local)
        for window in live.windows:
            names |= set(window.names)
    live.finish()
    local.finish()
    assert published(live) == published(local)
    assert names
    local_store.close()
    store.close()
