"""In doubt a store refuses, or begins an era: fresh ids, its cost added."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store import kinds_of_windows as windows
from tests.unit.store.lives import KEY, KINDS, NOISE, Lives, events_of, hitters, table
from tests.unit.store.test_restarts import change, seen

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreDoubtError, StoreError
from lazysketch.releases.any_release import AnyRelease
from lazysketch.store import Store


def doubted(lives: Lives, tmp_path: Path, name: str = "count-min") -> tuple[Any, bytes]:
    """Leave an older copy of the folder; return what was published at the copy, and later."""
    kind = KINDS[name]
    with lives.open() as store:
        live = kind.open(store)
        for number in range(6):
            change(kind, live, Random(f"{name} {number}"))
        at_copy = releases(live)
        # Nothing in the copy shows that these were durable, and the store may have lost them.
        change(kind, live, Random(f"{name} not proven"))
        store.commit()
        shutil.copytree(lives.folder, tmp_path / "old")
        live.update_many(*events_of(live, [kind.item(Random(number)) for number in range(9)]))
        ids = live.sketch_id if hasattr(live, "sketch_id") else b""
        live.release(0) if name == "hierarchy" else live.release()
    shutil.rmtree(lives.folder)
    shutil.move(tmp_path / "old", lives.folder)
    return at_copy, ids


def releases(live: Any) -> list[ls.Release]:
    if isinstance(live, ls.HierarchicalHeavyHitters):
        return [live.release(number) for number in (0, 1)]
    return [live.release()]


def published_before(store: Store, name: str, level: int) -> AnyRelease | None:
    if name.startswith("distinct"):
        return store.earlier_distinct("a")
    if name.startswith("values"):
        return store.earlier_distribution("a")
    if name.startswith("ranges"):
        return store.earlier_ranges("a")
    if name.startswith("sums"):
        return store.earlier_sums("a")
    return store.earlier_release("a", level)


@pytest.mark.parametrize("name", KINDS)
def test_an_old_copy_goes_on_with_fresh_noise(name: str, lives: Lives, tmp_path: Path) -> None:
    """What it had published is kept, its own tables are empty, and the cost is twice."""
    kind = KINDS[name]
    at_copy, _ = doubted(lives, tmp_path, name)
    with pytest.raises(StoreDoubtError, match="older than its anchor"):
        lives.open()
    with lives.open(on_doubt="new-era") as store:
        assert store.era == 1
        live = kind.open(store)
        fresh = releases(live)
        assert [it.step for it in fresh] == [0] * len(fresh)
        for level, (new, old) in enumerate(zip(fresh, at_copy, strict=True)):
            earlier = published_before(store, name, level)
            assert new.sketch_id != old.sketch_id
            assert new.hash_seed == old.hash_seed
            if old.step:
                assert earlier is not None
                assert earlier.to_bytes() == old.to_bytes()
                if not isinstance(earlier, ls.DistinctRelease):
                    assert len(new.merge(earlier).parts) == 2
        one = live.privacy
        spent = store.spent
        assert [(part.name, part.era) for part in spent.parts] == [("a", 0), ("a", 1)]
        assert one.epsilon < spent.epsilon <= 2 * one.epsilon * (1 + 1e-9)
        assert spent.delta == pytest.approx(2 * one.delta, rel=1e-12)
        assert not spent.complete
        for number in range(5):
            change(kind, live, Random(f"{name} new {number}"))
        expected = seen(live)
        store.checkpoint()
        change(kind, live, Random(f"{name} last"))
        expected = seen(live)
    # The era goes on: its anchor is the newest again.
    with lives.open() as store:
        live = kind.open(store)
        assert (store.era, seen(live)) == (1, expected)
        assert store.spent.parts == spent.parts


def test_an_era_of_an_older_copy_is_never_begun_again(lives: Lives, tmp_path: Path) -> None:
    """The same copy is put back twice; a counter would give both eras one id."""
    doubted(lives, tmp_path)
    shutil.copytree(lives.folder, tmp_path / "again")
    ids = []
    for _ in range(2):
        with lives.open(on_doubt="new-era") as store:
            live = store.sketch("a", table())
            live.update_many(["x"] * 9)
            ids.append(live.sketch_id)
            live.release()
        shutil.rmtree(lives.folder)
        shutil.copytree(tmp_path / "again", lives.folder)
    assert len(set(ids)) == 2


def test_a_missing_or_other_anchor_is_a_doubt(lives: Lives, tmp_path: Path) -> None:
    with lives.open() as store:
        store.sketch("a", table()).update("x")
    other = Lives(tmp_path / "other")
    with other.open() as store:
        store.sketch("a", table()).update("x")
    kept = lives.anchor.read_bytes()
    for replaced in (None, other.anchor.read_bytes()):
        lives.anchor.unlink(missing_ok=True)
        if replaced is not None:
            lives.anchor.write_bytes(replaced)
        with pytest.raises(StoreDoubtError):
            lives.open()
        assert lives.anchor.exists() == (replaced is not None)
    with lives.open(on_doubt="new-era") as store:
        live = store.sketch("a", table())
        assert (store.era, live.step) == (1, 0)
        live.update("x")
    # The anchor of the first era is older than the store now, and too old to be compared with.
    lives.anchor.write_bytes(kept)
    with lives.open() as store:
        assert store.sketch("a", table()).step == 1
    # Lost files are no doubt: nothing says what they had spent.
    shutil.rmtree(lives.folder)
    for choice in ("refuse", "new-era"):
        with pytest.raises(StoreDoubtError, match="one of another store"):
            lives.open(on_doubt=choice)


def unanchored(folder: Path, **options: Any) -> Store:
    return ls.open_store(folder, key=KEY, anchor=ls.NO_ANCHOR, **options)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_without_an_anchor_every_life_is_an_era(checkpoint: bool, tmp_path: Path) -> None:
    """Every life has its cost; what was published in it is summed up."""
    steps, ids = 0, set()
    published: list[ls.Release] = []
    for life in range(4):
        with unanchored(tmp_path / "s") as store:
            assert store.era == life + 1
            live = store.heavy_hitters("a", hitters())
            assert live.step == 0
            earlier = store.earlier_release("a")
            if published:
                assert earlier is not None
                table_of = sum(it.table for it in published)
                assert (earlier.table == table_of).all()
                assert len(earlier.parts) == life
                assert (earlier.step, earlier.names) == (steps, published[-1].names)
            live.update_many(["x"] * 70 + [life])
            steps += 71
            published.append(live.release())
            ids.add(published[-1].sketch_id)
            assert len(store.spent.parts) == life + 1
            if checkpoint:
                store.checkpoint()
            live.tick(3) if checkpoint else None
            published[-1], steps = live.release(), steps + 3 * checkpoint
    assert len(ids) == 4


def test_an_object_that_is_not_opened_waits_for_its_era(tmp_path: Path) -> None:
    with unanchored(tmp_path / "s") as store:
        store.sketch("a", table()).update_many(["x"] * 5)
        first = store.sketch("b", table())
        first.update_many(["x"] * 7)
        published = first.release()
    for _ in range(3):
        with unanchored(tmp_path / "s") as store:
            store.sketch("a", table())
            with pytest.raises(ArgumentValueError, match="name: expected an open object"):
                store.earlier_release("b")
    with unanchored(tmp_path / "s") as store:
        live = store.sketch("b", table())
        earlier = store.earlier_release("b")
        assert earlier is not None
        assert earlier.to_bytes() == published.to_bytes()
        assert store.earlier_release("b", 0) is not None
        with pytest.raises(ArgumentValueError, match="level: expected"):
            store.earlier_release("b", 1)
        assert live.step == 0
        assert [part.era for part in store.spent.of("b").parts] == [1, 5]
        assert [part.era for part in store.spent.of("a").parts] == [1, 2, 3, 4]
        with pytest.raises(ArgumentValueError, match="expected the parameters that 'a' was"):
            store.sketch("a", table(epsilon=2.0))


def test_an_anchor_does_not_vouch_for_a_life_without_one(lives: Lives) -> None:
    """The copies of that life, of which the anchor knows nothing, have the same era."""
    with lives.open() as store:
        first = store.sketch("a", table())
        first.update_many(["x"] * 5)
        ids = [first.sketch_id]
    with unanchored(lives.folder) as store:
        live = store.sketch("a", table())
        live.update_many(["x"] * 5)
        ids.append(live.sketch_id)
    for _ in range(2):
        with pytest.raises(StoreDoubtError, match="last open without"):
            lives.open()
    with lives.open(on_doubt="new-era") as store:
        live = store.sketch("a", table())
        live.update_many(["x"] * 3)
        ids.append(live.sketch_id)
        assert len(set(ids)) == 3
    with lives.open() as store:
        live = store.sketch("a", table())
        assert (live.step, live.sketch_id) == (3, ids[-1])


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_crash_while_an_era_begins(
    at: str, lives: Lives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The anchor is renewed after the era is durable: never does the old era go on."""
    doubted(lives, tmp_path)
    begin, old = Store._begin_era, ls.Release

    def crashed(self: Store, **facts: Any) -> None:
        if at == "after":
            begin(self, **facts)
            self.commit()
        self._native.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "_begin_era", crashed)
    with pytest.raises(KeyboardInterrupt):
        lives.open(on_doubt="new-era")
    monkeypatch.undo()
    with pytest.raises(StoreDoubtError):
        lives.open()
    with lives.open(on_doubt="new-era") as store:
        assert store.era == (1 if at == "before" else 2)
        assert store.sketch("a", table()).step == 0
        assert isinstance(store.earlier_release("a"), old)


@pytest.mark.parametrize("name", ["steps", "clock", "range"])
def test_windows_of_earlier_eras(name: str, tmp_path: Path) -> None:
    """The last windows are kept as one release; the new era has windows of its own."""
    clock = windows.Clock()
    with unanchored(tmp_path / "s") as store:
        live = windows.opened(store, name, clock)
        for number in range(5):
            windows.change(name, live, Random(number))
            clock.seconds += 1_900
        shown = [*live.windows, *filter(None, [live.open])]
    with unanchored(tmp_path / "s") as store:
        live = windows.opened(store, name, clock)
        assert live.windows == ()
        earlier = store.earlier_release("a")
        assert (earlier is None) == (name == "range")  # nothing is published before its end
        if earlier is not None:
            assert {part.sketch_id for part in earlier.parts} == {
                part.sketch_id for it in shown for part in it.release.parts
            }
            live.tick(25)
            clock.seconds += 3_600
            assert len(live.release().merge(earlier).parts) == 1 + len(earlier.parts)


def test_the_account(tmp_path: Path) -> None:
    with unanchored(tmp_path / "s") as store:
        assert (store.spent.parts, store.spent.epsilon, store.spent.mu) == ((), 0.0, 0.0)
        assert str(store.spent) == "nothing is spent"
        one = store.sketch("a", table()).privacy
        spent = store.spent
        assert (spent.epsilon, spent.delta) == pytest.approx((1.0, 1e-6))
        assert spent.mu == pytest.approx(one.mu)
        assert spent.complete
        store.hierarchy("h", ls.ipv4_prefixes((8, 32)), share=0.2, **NOISE)
        both = store.spent
        levels = both.of("h").counts.mu
        assert both.mu == pytest.approx(math.hypot(one.mu, levels))
        assert both.delta == pytest.approx(2e-6)
        assert 1.0 < both.epsilon < 2.0
    with unanchored(tmp_path / "s") as store:
        assert not store.spent.complete
        store.sketch("a", table())
        twice = store.spent.of("a")
        # Two Gaussian mechanisms: less than the sum, and what they compose to.
        assert twice.epsilon == pytest.approx(ls.compose(one, one).epsilon_at(2e-6), rel=1e-9)
        assert str(store.spent).endswith("in 2 eras, and what is not known of")


def test_wrong_choices(tmp_path: Path) -> None:
    with pytest.raises(ArgumentValueError, match="on_doubt: expected 'refuse' or 'new-era'"):
        ls.open_store(tmp_path / "s", key=KEY, on_doubt="guess")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="anchor: expected a path, got int"):
        ls.open_store(tmp_path / "s", key=KEY, anchor=3)  # type: ignore[arg-type]
    with unanchored(tmp_path / "s"), pytest.raises(StoreError, match="is locked"):
        unanchored(tmp_path / "s")
