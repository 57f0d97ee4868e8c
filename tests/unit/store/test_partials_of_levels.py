"""Finest names that workers count become one step of every level of a hierarchy."""

from __future__ import annotations

from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import CANARY, Lives
from tests.unit.store.partials import BATCHES, bytes_of, leveled, of_workers, sealed
from tests.unit.store.test_partials_of_windows import Time

import lazysketch as ls
from lazysketch.errors import (
    ArgumentValueError,
    ClosedError,
    ItemError,
)
from lazysketch.store import Store


def addresses(chance: Random) -> object:
    number = (10 << 24) + chance.randrange(3) * 65_536 + chance.randrange(3) * 256
    number += chance.randrange(2)
    return chance.choice([number, str(IPv4Address(number))])


def long_addresses(chance: Random) -> object:
    number = (0x20010DB8 << 96) + (chance.randrange(3) << 64) + chance.randrange(2)
    return chance.choice([number, f"2001:DB8:0:{(number >> 64) % 65_536:x}:0::{number % 2}"])


LEVELS: dict[str, tuple[ls.Levels, Any]] = {
    "networks": (ls.ipv4_prefixes((8, 16, 24)), addresses),
    "hosts": (ls.ipv4_prefixes((16, 32)), addresses),
    "long": (ls.ipv6_prefixes((32, 64, 128)), long_addresses),
    "paths": (
        ls.url_paths(2),
        lambda chance: chance.choice(["/a", "/a/", "/a/b?q=1", "http://x/a/b", "/a/b/c", "/d//e"]),
    ),
    "domains": (
        ls.dns_names(2),
        lambda chance: chance.choice(["ORG", "a.org.", "b.a.org", "c.a.ORG", ".", "x.y.z"]),
    ),
}


def seen(live: Any) -> tuple[Any, ...]:
    """Return what is published of all levels. What a tree shows depends on the one shown before."""
    releases = [live.release(number).to_bytes() for number in range(len(live.levels.names))]
    return live.step, releases, [table._candidates() for table in live._tables]


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("max_weight", [1, 5])
def test_workers_publish_what_one_machine_does(
    name: str, max_weight: int, lives: Lives, tmp_path: Path
) -> None:
    """Two copies of a store: one counts alone, one through workers, and is restarted."""
    levels, item = LEVELS[name]
    opened = partial(leveled, levels=levels, max_weight=max_weight)
    chance = Random(f"{name} {max_weight}")
    with lives.open() as store:
        opened(store)
    others = lives.copied_to(tmp_path / "copy")
    local_store, store = lives.open(), others.open()
    local, live = opened(local_store), opened(store)
    for number in range(1, 9):
        items = [item(chance) for _ in range(chance.choice([0, 1, 7, 300]))]
        weights = None if max_weight == 1 else [chance.randrange(6) for _ in items]
        local.update_batch(items, weights)
        batch = of_workers(live.partial_spec(), items, weights, chance)
        releases = store.add_partials("s", number, batch, into=live, positions="p")
        assert isinstance(releases, tuple)
        assert bytes_of(releases) == seen(live)[1]
        assert seen(live) == seen(local)
        if chance.random() < 0.5:
            if chance.random() < 0.5:
                store.checkpoint()
            if chance.random() < 0.5:
                store.close()
            else:  # as after kill -9
                del store, live
            store = others.open()
            live = opened(store)
            assert seen(live) == seen(local)
            again = of_workers(live.partial_spec(), items, weights, chance)
            for repeated in (batch, again):
                found = store.add_partials("s", number, repeated, into=live, positions="p")
                assert bytes_of(found) == bytes_of(releases)
            assert seen(live) == seen(local)
    assert all(seen(live)[2]), "names of all levels were published"
    states = []
    for one, tables in ((local_store, local), (store, live)):
        one.checkpoint()
        states.append([table._parameters_digest for table in tables._tables])
        one.close()
    assert states[0] == states[1]


def test_a_committed_batch_of_levels_cannot_be_changed(lives: Lives) -> None:
    """The same coarse names over other fine ones are other counts."""
    with lives.open() as store:
        live = leveled(store)
        spec = live.partial_spec()
        first = bytes_of(store.add_partials("s", 1, [sealed(spec, ["a.x", "b.x"])], into=live))
        same = [sealed(spec, ["B.X."]), sealed(spec, ["a.x"])]
        assert bytes_of(store.add_partials("s", 1, same, into=live)) == first
        for other in (["a.x", "c.x"], ["a.x"], ["a.x", "a.x", "b.x"]):
            with pytest.raises(ArgumentValueError, match="sealed: expected those of batch 1, whi"):
                store.add_partials("s", 1, [sealed(spec, other)], into=live)
        store.add_partials("s", 2, same, into=live)
        with pytest.raises(ArgumentValueError, match="that were not added before"):
            store.add_partials("s", 3, same, into=live)
        assert live.step == 2


def test_descriptions_tell_the_levels(lives: Lives) -> None:
    """What workers need of them and no more; counts for other levels are refused."""
    with lives.open() as store:
        live = leveled(store, ls.ipv4_prefixes((8, 32)))
        spec = live.partial_spec(most_names=9)
        assert (len(spec), spec[100:]) == (113, bytes([9, *[0] * 7, 0, 1, 2, 8, 32]))
        plain = spec[:109] + bytes([0, 0])
        other = spec[:112] + bytes([24])
        for wrong in (plain, other):
            worker = ls.PartialCounts(wrong)
            worker.update_many(["10.0.0.1"])
            with pytest.raises(ArgumentValueError, match="sealed: expected partial counts of this"):
                store.add_partials("s", 1, [worker.seal()], into=live)
        for damaged in ([5, 1, 3], [1, 2, 32, 8], [1, 1, 33], [1, 0], [3, 1, 0], [3, 2, 1, 1]):
            with pytest.raises(ArgumentValueError, match="^spec: expected levels of a known kind"):
                ls.PartialCounts(spec[:109] + bytes(damaged))
        assert live.step == 0


def test_items_that_do_not_fit_are_refused_whole(lives: Lives) -> None:
    """Rows of files that do not fit are left out with their weights; a batch of a caller is not."""
    with lives.open() as store:
        live = leveled(store, max_weight=5)
        spec = live.partial_spec()
        worker, other, whole = (ls.PartialCounts(spec) for _ in range(3))
        for wrong in (["a.x", "a..x"], ["a.x", 7]):
            with pytest.raises(ItemError, match="position 1; nothing was applied"):
                worker.update_many(wrong)
        items = ["a..x", "a.x", 3, "b.x", "b.x", "y" * 300]
        worker._update_fitting(items, [1, 2, 3, 4, 5, 5])
        whole.update_many(["a.x", "b.x", "b.x"], [2, 4, 5])
        for wrong_weights in ([1] * 5, [1] * 7, [1, 6, 1, 1, 1, 1]):
            with pytest.raises(ArgumentValueError, match="weights: expected"):
                other._update_fitting(items, wrong_weights)
        first = bytes_of(store.add_partials("s", 1, [worker.seal(), other.seal()], into=live))
        assert bytes_of(store.add_partials("s", 1, [whole.seal()], into=live)) == first


def test_functions_of_python_and_people_are_refused(lives: Lives) -> None:
    """Workers have no functions of the store's process, and do not know other workers' people."""
    shops = ls.Levels(("country", "shop"), lambda shop: (str(shop)[:2], shop))
    bound = ls.PersonBound(cells=1, events=1)
    with lives.open() as store:
        by_function = leveled(store, shops)
        options: dict[str, Any] = {"share": 0.2, "epsilon": 20.0, "delta": 1e-2}
        of_people = store.hierarchy(
            "people", ls.dns_names(1), schedule=BATCHES, discovery_epoch=2, person_bound=bound,
            **options,
        )  # fmt: skip
        endless = store.hierarchy("endless", ls.dns_names(1), **options)
        for live, said in (
            (by_function, "levels: expected networks, paths or domains, for partial counts"),
            (of_people, "person_bound: expected none"),
            (endless, "schedule: expected Batch"),
        ):
            for call in (
                live.partial_spec,
                lambda live=live: store.add_partials("s", 1, [], into=live),
            ):
                with pytest.raises(ArgumentValueError, match=f"^{said}"):
                    call()
            assert (live.step, store.last_sequence("s")) == (0, 0)


def test_no_name_of_any_level_is_in_clear(lives: Lives) -> None:
    """Below the threshold: neither in what workers seal nor in files, errors and releases."""
    with lives.open() as store:
        live = leveled(store, epsilon=0.05, delta=1e-9)
        items = [f"{number}.{CANARY}.org" for number in range(9)]
        blob = sealed(live.partial_spec(), items)
        releases = bytes_of(store.add_partials("s", 1, [blob], into=live))
        with pytest.raises(ArgumentValueError) as refused:
            store.add_partials("s", 2, [blob], into=live)
        store.checkpoint()
        files = [path.read_bytes() for path in lives.folder.iterdir() if path.is_file()]
        for data in (blob, *releases, *files, str(refused.value).encode()):
            assert CANARY.encode() not in data


def windows(store: Store, clock: Time) -> Any:
    return store.hierarchical_windows(
        "w", ls.dns_names(2), every="10min", slices=5, clock=clock, keep=3, share=0.1, depth=2,
        width=16, epsilon=20.0, delta=1e-2,
    )  # fmt: skip


def published(live: Any) -> list[tuple[int, list[bytes]]]:
    found = [*live.windows, *filter(None, [live.open])]
    return [(one.number, [level.release.to_bytes() for level in one.levels]) for one in found]


@pytest.mark.parametrize("seed", range(3))
def test_windows_of_levels_count_what_workers_send(seed: int, lives: Lives, tmp_path: Path) -> None:
    """Two copies of a store, one clock: windows of all levels are those of one machine."""
    chance, clock = Random(f"windows of levels {seed}"), Time()
    item = LEVELS["domains"][1]
    with lives.open() as store:
        windows(store, clock)
    others = lives.copied_to(tmp_path / "copy")
    local_store, store = lives.open(), others.open()
    local, live = windows(local_store, clock), windows(store, clock)
    names: set[object] = set()
    for number in range(1, 16):
        clock.now += chance.choice([0.0, 1.0, 130.0, 700.0])
        spec = live.partial_spec()
        items = [item(chance) for _ in range(chance.choice([0, 3, 90]))]
        local.update_many(items)
        batch = of_workers(spec, items, None, chance)
        releases = store.add_partials("s", number, batch, into=live)
        assert isinstance(releases, tuple)
        assert published(live) == published(local)
        assert bytes_of(releases) == published(live)[-1][1]
        if chance.random() < 0.5:
            if chance.random() < 0.5:
                store.checkpoint()
            if chance.random() < 0.5:
                store.close()
            else:
                del store, live
            store = others.open()
            live = windows(store, clock)
            assert published(live) == published(local)
            again = store.add_partials("s", number, batch, into=live)
            assert bytes_of(again) == bytes_of(releases)
        for window in live.windows:
            names |= {name for level in window.levels for name in level.names}
    clock.now += 700.0
    with pytest.raises(ArgumentValueError, match="of this table in this era"):
        store.add_partials("s", 16, [sealed(spec, ["a.org"])], into=live)
    live.finish()
    local.finish()
    assert published(live) == published(local)
    assert names
    for call in (live.partial_spec, lambda: store.add_partials("s", 16, [], into=live)):
        with pytest.raises(ClosedError):
            call()
    local_store.close()
    store.close()
