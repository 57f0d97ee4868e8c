"""Batches of sources: each counted once, with the note of its source, or refused whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.unit.store.lives import Lives, hitters, table
from tests.unit.store.test_restarts import seen

from lazysketch.errors import ArgumentTypeError, ArgumentValueError


def test_a_note_is_kept_with_its_batch(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sketch("a", table())
        store.keep_note("settings", "first")
        assert store.ingest("log", 3, ["x"], into=live, empty_rows=[0, 2], note="byte 9")
        assert not store.ingest("log", 3, ["x"], into=live, note="byte 0")
        assert (live.step, store.note("log"), store.note("new")) == (3, "byte 9", "")
    for by_checkpoint in (True, False):
        with lives.open() as store:
            live = store.sketch("a", table())
            assert (live.step, store.note("log"), store.note("settings")) == (3, "byte 9", "first")
            assert store.sources == ("log",)
            if by_checkpoint:
                store.checkpoint()
    with lives.open() as store:
        live = store.sketch("a", table())
        store.ingest("log", 4, ["x"], into=live, note="byte 12", durable=False)
        store.keep_note("settings", "second")
    with lives.open() as store:
        assert (store.note("log"), store.note("settings")) == ("byte 12", "second")
        with pytest.raises(ArgumentValueError, match="at most 10000"):
            store.keep_note("settings", "x" * 10_001)
        with pytest.raises(ArgumentValueError, match="at least 1"):
            store.keep_note("settings", "")


def test_a_batch_goes_into_an_open_object(lives: Lives) -> None:
    with lives.open() as store:
        store.sketch("a", table())
        for other in (None, "a", store):
            with pytest.raises(ArgumentValueError, match="into: expected an open object of this"):
                store.ingest("s", 1, ["x"], into=other)  # type: ignore[arg-type]


def test_a_batch_that_is_not_durable_is_lost_with_the_process(lives: Lives) -> None:
    store = lives.open()
    live = store.sketch("a", table())
    assert store.ingest("log", 1, ["x"], into=live, note="first")
    assert store.ingest("log", 2, ["x"], into=live, note="second", durable=False)
    del store, live  # as after kill -9: what was not committed was never written
    with lives.open() as store:
        assert (store.last_sequence("log"), store.note("log")) == (1, "first")


def test_threads_count_each_batch_once(lives: Lives) -> None:
    """Eight senders, each of which repeats every batch, with many checkpoints in between."""
    with lives.open(checkpoint_bytes=1 << 12) as store:
        live = store.heavy_hitters("a", hitters())

        def send(source: int) -> int:
            batches = [(number, ["x", source]) for number in range(1, 26) for _ in range(2)]
            counted = [
                store.ingest(f"sender {source}", number, items, into=live)
                for number, items in batches
            ]
            return sum(counted)

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(send, range(8))) == [25] * 8
        assert live.step == 8 * 25 * 2
        expected = seen(live)
    with lives.open() as store:
        live = store.heavy_hitters("a", hitters())
        assert seen(live) == expected
        assert [store.last_sequence(f"sender {source}") for source in range(8)] == [25] * 8


def test_a_batch_too_large_for_the_log_is_refused_whole(lives: Lives) -> None:
    """Counted, it could not be logged, and the life would end."""
    with lives.open() as store:
        live, other = store.sketch("a", table()), store.heavy_hitters("b", hitters())
        assert store._journal.largest == 1 << 30
        store._journal.largest = 1_000
        for refused in (
            lambda: live.update_many(["x"] * 2_000),
            lambda: other.update_many(["x"] * 2_000),
            lambda: live.update_many(["x"] * 100, [1] * 100),
            lambda: store.ingest("web", 1, ["x"] * 2_000, into=live),
        ):
            with pytest.raises(ArgumentValueError, match="of at most 1,000 bytes in the log, got"):
                refused()
        assert (live.step, other.step, store.last_sequence("web")) == (0, 0, 0)
        live.update_many(["x"] * 100)
    with lives.open() as store:
        assert store.sketch("a", table()).step == 100


def test_batches_of_several_sources_are_counted_all_or_none(lives: Lives) -> None:
    """One that was counted before keeps the others out, in this life and after it."""
    with lives.open() as store:
        live = store.sketch("a", table())
        assert store.ingest("web", 2, ["x"], into=live)
        assert store.ingest_several({"web": 3, "app": 1}, ["x", "y", "z"], into=live)
        assert not store.ingest_several({"app": 2, "web": 3}, ["x"], into=live)
        assert not store.ingest("app", 1, ["x"], into=live)
        assert store.ingest_several({}, ["x"], into=live, weights=[1])
        assert live.step == 5
        with pytest.raises(ArgumentTypeError, match="sources: expected"):
            store.ingest_several(["app"], ["x"], into=live)  # type: ignore[arg-type]
        with pytest.raises(ArgumentValueError, match="sequence: expected"):
            store.ingest_several({"app": -1}, ["x"], into=live)
        expected = live.release().to_bytes()
    for by_checkpoint in (True, False):
        with lives.open() as store:
            live = store.sketch("a", table())
            assert live.release().to_bytes() == expected
            assert [store.last_sequence(source) for source in ("web", "app")] == [3, 1]
            assert store.sources == ("web", "app")
            assert not store.ingest_several({"app": 1, "new": 1}, ["x"], into=live)
            if by_checkpoint:
                store.checkpoint()


def test_batches_of_several_sources_are_lost_together(lives: Lives) -> None:
    store = lives.open()
    live = store.sketch("a", table())
    assert store.ingest_several({"web": 1, "app": 1}, ["x", "y"], into=live)
    assert store.ingest_several({"web": 2, "app": 2}, ["x", "y"], into=live, durable=False)
    del store, live  # as after kill -9
    with lives.open() as store:
        assert store.sketch("a", table()).step == 2
        assert [store.last_sequence(source) for source in ("web", "app")] == [1, 1]
