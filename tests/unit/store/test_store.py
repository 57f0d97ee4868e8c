"""A store keeps each change once, refuses what it cannot vouch for, and shows nothing in clear."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.store.lives import CANARY, KEY, KINDS, NOISE, Lives, distinct, hitters, table
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    ItemError,
    LiveStateError,
    StoreError,
)
from lazysketch.store import Store, anchor_of, open_store
from lazysketch.testing import seeded_key


def test_a_batch_of_a_source_is_counted_once(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sketch("a", table())
        assert store.ingest("web", 1, ["x"] * 5, into=live)
        assert not store.ingest("web", 1, ["x"] * 5, into=live)
        assert store.ingest("other", 1, ["x"] * 5, into=live)
        with pytest.raises(ItemError):
            store.ingest("web", 2, [None], into=live)
        assert (live.step, store.last_sequence("web")) == (10, 1)
    with lives.open() as store:
        live = store.sketch("a", table())
        assert not store.ingest("web", 1, ["x"] * 5, into=live)
        assert store.ingest("web", 7, ["x"] * 5, into=live)
        store.checkpoint()
    with lives.open() as store:
        live = store.sketch("a", table())
        assert not store.ingest("web", 6, ["x"] * 5, into=live)
        assert (live.step, store.last_sequence("web"), store.last_sequence("new")) == (15, 7, 0)


def test_a_refused_change_is_not_logged(lives: Lives) -> None:
    spec = table(schedule=ls.RoundRobin(horizon=10))
    with lives.open() as store:
        live = store.sketch("a", spec)
        live.update_many(["x"] * 8)
        for refused, error in [
            (lambda: live.update_many(["x"] * 3), HorizonError),
            (lambda: live.tick(3), HorizonError),
            (lambda: live.update("x", 2), ArgumentValueError),
            (lambda: live.update_many(["x"], [1, 1]), ArgumentValueError),
            (lambda: live.update_batch(["x"]), ArgumentValueError),
            (lambda: live.update_many([1.5]), ItemError),
            (live.close, ArgumentValueError),
        ]:
            with pytest.raises(error):
                refused()
        expected = seen(live)
    with lives.open() as store:
        assert seen(store.sketch("a", spec)) == expected


def test_other_parameters_are_refused(lives: Lives) -> None:
    """Before and after a checkpoint, and the object is there afterwards."""
    with lives.open() as store:
        store.sketch("a", table()).update("x")
        store.heavy_hitters("b", hitters()).update("x")
    for _ in range(2):
        with lives.open() as store:
            wrong = [
                lambda: store.sketch("a", table(epsilon=2.0)),
                lambda: store.sketch("a", table("count-sketch")),
                lambda: store.sketch("a", table(schedule=ls.Punctual(horizon=9))),
                lambda: store.heavy_hitters("a", hitters()),
                lambda: store.heavy_hitters("b", hitters(discovery_epoch=61)),
            ]
            for opened in wrong:
                with pytest.raises(ArgumentValueError, match="expected the parameters that '[ab]'"):
                    opened()
            assert store.names == ("a", "b")
            assert store.sketch("a", table()).step == 1
            with pytest.raises(ArgumentValueError, match="to be open, got 'b'"):
                store.checkpoint()
            assert store.heavy_hitters("b", hitters()).step == 1
            with pytest.raises(ArgumentValueError, match="expected one that is not open"):
                store.sketch("a", table())
            store.checkpoint()


def test_weights_and_empty_rows_survive(lives: Lives) -> None:
    spec = table(max_weight=5)
    with lives.open() as store:
        live = store.sketch("a", spec)
        live.update_many(["x", "y"], [5, 0])
        live.update("x", 4)
        live.update_rows(["x"], [3], empty_rows=[0, 2])
        live.tick(40)  # until every column was pushed: a fresh seed decides which they are
        expected = seen(live)
        assert live.step == 46
    with lives.open() as store:
        assert seen(store.sketch("a", spec)) == expected


def test_tables_of_a_store_have_their_own_ids(lives: Lives, tmp_path: Path) -> None:
    """Equal ids under equal parameters share all noise."""
    ids: list[bytes] = []
    for place in (lives, Lives(tmp_path / "other")):
        with place.open() as store:
            ids += [store.sketch(name, table()).sketch_id for name in "abc"]
            nets = opened(store, "hierarchy")
            ids += [nets.release(number).sketch_id for number in (0, 1)]
    assert len(set(ids)) == len(ids) == 10


def test_an_unopened_object_keeps_its_changes(lives: Lives) -> None:
    with lives.open() as store:
        store.sketch("a", table()).update_many(["x"] * 5)
        store.sketch("b", table()).update_many(["x"] * 7)
    for step in (6, 7):
        with lives.open(checkpoint_bytes=1 << 10) as store:
            live = store.sketch("a", table())
            live.update("x")
            assert live.step == step
    with lives.open() as store:
        assert store.sketch("b", table()).step == 7


def _copy(lives: Lives, name: str) -> Path:
    target = lives.folder.parent / name
    shutil.copytree(lives.folder, target)
    return target


def test_a_commit_waits_for_a_change_of_another_thread(lives: Lives) -> None:
    with lives.open() as store, ThreadPoolExecutor(1) as pool:
        live = store.sketch("a", table())

        def change() -> None:
            for _ in range(10):
                live.update_many(["x"] * 100_000)

        changes = pool.submit(change)
        while not changes.done():
            store.commit()
        changes.result()
        assert live.step == 1_000_000


def test_a_store_whose_making_was_cut_short_is_made_again(lives: Lives) -> None:
    lives.folder.mkdir()
    (lives.folder / "keys-0.new").write_bytes(b"")  # no anchor yet
    with lives.open() as store:
        assert store.names == ()
    lives.anchor.unlink()  # killed before it was first written
    with lives.open() as store:
        assert store.names == ()
        store.sketch("a", table())
    lives.anchor.unlink()
    with pytest.raises(StoreError, match="expected the anchor of this store"):
        lives.open()


def test_an_old_copy_is_refused(lives: Lives) -> None:
    with lives.open() as store:
        store.sketch("a", table()).update("x")
    old = _copy(lives, "old")
    with lives.open() as store:
        store.sketch("a", table()).update("x")
    shutil.rmtree(lives.folder)
    shutil.copytree(old, lives.folder)
    with pytest.raises(StoreError, match="older than its anchor"):
        lives.open()
    lives.anchor.unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match="expected the anchor of this store"):
            lives.open()


def test_another_key_and_a_second_process_are_refused(lives: Lives) -> None:
    with lives.open() as store:
        store.sketch("a", table()).update("x")
        with pytest.raises(StoreError, match="expected a store that is not open"):
            lives.open()
    with pytest.raises(StoreError, match="key: expected the key"):
        open_store(lives.folder, key=ls.Key.generate(), anchor=lives.anchor)
    other = ls.Key.generate()
    with lives.open() as store:
        live = store.sketch("a", table())
        live.update("x")
        store.rotate(other)
        expected = seen(live)
    with pytest.raises(StoreError, match="key: expected the key"):
        lives.open()
    with open_store(lives.folder, key=lambda: other, anchor=lives.anchor) as store:
        assert seen(store.sketch("a", table())) == expected


def test_wrong_arguments(lives: Lives, tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="folder: expected a path, got int"):
        open_store(3, key=KEY)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="key: expected a Key, got bytes"):
        open_store(tmp_path / "s", key=b"secret")  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="key: expected a secret key, got a test key"):
        open_store(tmp_path / "s", key=seeded_key(1))
    for inside in (tmp_path / "s" / "anchor", tmp_path / "s" / "deeper" / ".." / "anchor"):
        with pytest.raises(
            ArgumentValueError, match="anchor: expected a file outside of the store"
        ):
            open_store(tmp_path / "s", key=KEY, anchor=inside)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="folder: expected a directory"):
        open_store(tmp_path / "file", key=KEY, anchor=tmp_path / "anchor")
    with lives.open() as store:
        for wrong in ("", "x" * 201, "a\n", 3):
            with pytest.raises((ArgumentValueError, ArgumentTypeError), match="^name: expected"):
                store.sketch(wrong, table())  # type: ignore[arg-type]
        with pytest.raises(ArgumentTypeError, match="spec: expected a TableSpec, got"):
            store.sketch("a", hitters())  # type: ignore[arg-type]
        with pytest.raises(ArgumentTypeError, match="spec: expected a HeavyHittersSpec, got"):
            store.heavy_hitters("a", table())  # type: ignore[arg-type]
        live = store.sketch("a", table())
        with pytest.raises(ArgumentValueError, match="into: expected an open object"):
            store.ingest("web", 1, ["x"], into=ls.LazyCountMin(depth=2, width=8, **NOISE))  # type: ignore[arg-type]
        for number in (0, -1, 1.0):
            with pytest.raises((ArgumentValueError, ArgumentTypeError), match="sequence: expected"):
                store.ingest("web", number, ["x"], into=live)  # type: ignore[arg-type]
    with pytest.raises(ClosedError):
        live.update("x")
    with pytest.raises(ClosedError):
        store.commit()
    store.close()


CHANGES = {
    *("close", "end_discovery_epoch", "finish", "tick", "update", "update_batch"),
    *("update_many", "update_rows"),
}
FIXED = {
    *("bits", "counters", "depth", "discovery_epoch", "from_spec", "grid", "hash_seed", "horizon"),
    *("kind", "levels", "mechanism", "memory", "not_private_because", "privacy", "private"),
    *("schedule", "sigma", "sketch_id", "smallest_share", "spec", "threshold", "width"),
}


class Renaming:
    """A store that gives objects another name."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        made = getattr(self._store, method)
        return lambda _, *args, **kwargs: made(self._name, *args, **kwargs)


def opened(store: Store, name: str) -> Any:
    renaming: Any = Renaming(store, name)
    return KINDS[name].open(renaming)


@pytest.mark.parametrize(
    "name", ["count-min", "counters", "distinct", "sums", "heavy hitters", "hierarchy"]
)
def test_every_public_name_is_a_change_a_read_or_fixed(
    name: str, lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each read commits first; otherwise it would show what a crash may lose."""
    with lives.open() as store:
        live, commits = opened(store, name), []
        commit = store._journal.commit

        def counted() -> int:
            commits.append(1)
            return commit()

        monkeypatch.setattr(store._journal, "commit", counted)
        changes = CHANGES | ({"step"} if name == "counters" else set())
        reads = {it for it in dir(type(live)) if not it.startswith("_")} - FIXED - changes
        assert len(reads) >= 5
        for read in sorted(reads):
            before = len(commits)
            try:
                value = getattr(live, read)
                if callable(value):
                    value()
            except (TypeError, ValueError):  # without its arguments
                pass
            assert len(commits) > before, read


@pytest.mark.parametrize("at", ["before", "after"])
def test_an_interrupted_change_ends_the_life(
    at: str, lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read of an object that may be ahead of the log; the next life goes on."""
    store = lives.open()
    live = store.sketch("a", table())
    live.update_many(["x"] * 5)
    store.commit()
    carry_out = type(live)._carry_out

    def interrupted(self: Any, call: Any) -> None:
        if at == "after":
            carry_out(self, call)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(live), "_carry_out", interrupted)
    with pytest.raises(KeyboardInterrupt):
        live.update_many(["x"] * 3)
    monkeypatch.undo()
    for use in (live.release, lambda: live.update("x"), lambda: live.step, store.commit):
        with pytest.raises(StoreError, match="whose last change was interrupted; open it again"):
            use()
    store.close()
    with lives.open() as again:
        assert again.sketch("a", table()).step == 5


def test_nothing_is_in_clear(lives: Lives) -> None:
    """Neither items nor the key nor names of objects are in any file."""
    with lives.open() as store:
        store.sketch(CANARY, table()).update_many([CANARY] * 50)
        live = store.heavy_hitters("b", hitters())
        live.update_many([CANARY] * 500)
        store.ingest(CANARY, 1, [CANARY], into=live)
        store.checkpoint()
        live.update_many([CANARY] * 50)
    files = [path for path in lives.folder.parent.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        data = path.read_bytes()
        assert CANARY.encode() not in data, path.name
        assert KEY.to_bytes() not in data, path.name
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_objects_are_those_of_the_classes_without_a_store(lives: Lives) -> None:
    with lives.open() as store:
        made = {name: opened(store, name) for name in KINDS}
        with pytest.raises(LiveStateError):
            store.__reduce_ex__(2)
        counts = np.arange(8, dtype=np.int32)
        made["count-min"].update_many(counts, threads=2)
        assert made["count-min"].step == 8


def test_counts_of_distinct_items_are_apart(lives: Lives) -> None:
    """A refused call makes nothing."""
    spec = distinct(ls.Punctual(horizon=9))
    with lives.open() as store:
        with pytest.raises(ArgumentValueError, match=r"distinct items; see Store.distinct"):
            store.sketch("a", spec)
        with pytest.raises(ArgumentValueError, match="kind 'distinct'"):
            store.distinct("a", table())
        assert store.names == ()
        live, other = store.distinct("a", spec), store.sketch("b", table())
        live.update_many(["x", "y", "x"])
        other.update("x")
        assert list(store.publish()) == ["b"]
        assert store.earlier_distinct("a") is None
        with pytest.raises(ArgumentValueError, match="name: expected counts of items"):
            store.earlier_release("a")
        with pytest.raises(ArgumentValueError, match="name: expected an open count of distinct"):
            store.earlier_distinct("b")
        with pytest.raises(ArgumentValueError, match="weights: expected none"):
            store.ingest("web", 1, ["x"], weights=[1], into=live)
        assert store.ingest("web", 1, ["z"], into=live)
        assert not store.ingest("web", 1, ["z"], into=live)
        assert live.steps == 4


def test_the_default_anchor_is_outside_and_depends_on_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with open_store(tmp_path / "s", key=KEY) as store:
        store.sketch("a", table()).update("x")
    anchor = anchor_of(tmp_path / "s")
    assert anchor.parent == tmp_path / "state" / "lazysketch"
    assert anchor.is_file()
    assert anchor_of(tmp_path / "t") != anchor
    monkeypatch.chdir(tmp_path)
    assert anchor_of("s") == anchor_of(tmp_path / "x" / ".." / "s") == anchor
    shutil.move(tmp_path / "s", tmp_path / "t")
    with pytest.raises(StoreError, match="Give the file with anchor= if it has moved"):
        open_store(tmp_path / "t", key=KEY)
    with open_store(tmp_path / "t", key=KEY, anchor=anchor) as store:
        assert store.sketch("a", table()).step == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_cannot_use_the_store(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sketch("a", table())
        child = os.fork()
        if not child:
            try:
                live.update("x")
            except LiveStateError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert live.step == 0
