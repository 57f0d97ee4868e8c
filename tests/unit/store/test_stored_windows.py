"""Windows of a store go on after any restart and any kill, and never ask the clock twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.unit.store.kinds_of_windows import (
    BEGIN,
    END,
    FOUND,
    KINDS,
    NOISE,
    Clock,
    change,
    opened,
    seen,
)
from tests.unit.store.lives import Lives, check_restarts, table, text

from lazysketch import _native
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    LiveStateError,
    StoreError,
)
from lazysketch.store import Store


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_restarts_change_nothing(name: str, seed: int, lives: Lives, tmp_path: Any) -> None:
    """One of two copies of a store is killed and opened again and again, with checkpoints."""
    clock = Clock()

    def pass_time(chance: Random) -> None:
        clock.seconds += chance.choice([0, 1, 500, 2_000, 9_000, -4_000])

    _, _, windows, *_ = check_restarts(
        lives,
        tmp_path / "copy",
        f"{name} {seed}",
        opened=lambda store: opened(store, name, clock),
        change=partial(change, name),
        seen=seen,
        pass_time=pass_time,
    )
    assert len(windows) >= 2


@pytest.mark.parametrize("name", KINDS)
def test_a_restart_asks_no_clock_and_repeats_what_was_published(name: str, lives: Lives) -> None:
    """The next life opens while the clock says something else."""
    clock, expected = Clock(), None
    for life in range(4):
        with lives.open() as store:
            clock.readings = 0
            live = opened(store, name, clock)
            # A cut by the clock checks the clock once before it is used.
            assert clock.readings <= 2
            if expected is not None:
                assert seen(live) == expected
            for part in range(3):
                change(name, live, Random(f"{life} {part}"))
                clock.seconds += 700
            expected = seen(live)
        clock.seconds -= 10_000  # far back: time does not pass for windows


def test_the_clock_ends_windows_in_records_of_their_own(lives: Lives) -> None:
    """A batch that is refused after the end of a window: the end is in the log, the batch not."""
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "clock", clock)
        live.update_many(["x"] * 9)
        clock.seconds += 3_600
        with pytest.raises(ArgumentValueError):
            live.update_many(["x"], [2])
        clock.seconds -= 3_600
        expected = seen(live)
        assert [window.ended for window in live.windows] == [True]
    with lives.open() as store:
        assert seen(opened(store, "clock", clock)) == expected


def test_a_read_ends_windows_and_the_log_says_so(lives: Lives) -> None:
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "clock", clock)
        live.update_many(["x"] * 9)
        last = store._journal.last
        assert not live.windows
        assert store._journal.last == last  # no record without an end
        clock.seconds += 7_200
        assert len(live.windows) == 2
        assert store._journal.last == last + 1
        expected = seen(live)
        clock.seconds -= 7_200
    with lives.open() as store:
        assert seen(opened(store, "clock", clock)) == expected


def test_batches_of_a_source_are_counted_once(lives: Lives) -> None:
    hour = datetime(2024, 1, 1, 3, tzinfo=timezone.utc)
    steps = {"every": 500, "domain": ["x"], **NOISE}
    for _ in range(2):
        with lives.open() as store:
            live, other = opened(store, "range", Clock()), store.windows("b", **steps)
            for number in (1, 2):
                store.ingest("web", number, ["x"] * 400, into=live, times=[hour] * 400)
            store.ingest("web", 3, ["x"] * 700, into=other)
            with pytest.raises(ArgumentTypeError, match="times: expected the time of each item"):
                store.ingest("wrong", 1, ["x"], into=live)
            with pytest.raises(ArgumentTypeError, match="times: expected none for windows of"):
                store.ingest("wrong", 1, ["x"], into=other, times=[hour])
            with pytest.raises(ArgumentTypeError, match="times: expected none, except for"):
                store.ingest("wrong", 1, ["x"], into=_sketch(store), times=[hour])
    with lives.open() as store:
        live, other = opened(store, "range", Clock()), store.windows("b", **steps)
        live.finish()
        counts = [round(window.release.estimate("x"), -2) for window in live.windows]
        assert counts == [0, 0, 0, 800, 0, 0]
        assert (other.step, len(other.windows)) == (700, 1)


def test_rows_without_an_event_take_a_step(lives: Lives) -> None:
    """A batch with empty rows is one record, and ends the windows that its parts end."""
    with lives.open() as store:
        live, last = store.windows("a", every=10, **FOUND), store._journal.last
        for wrong in ([1, 0], [36], [2, 2]):
            with pytest.raises(ArgumentValueError, match="empty_rows: expected ascending"):
                store.ingest("web", 1, ["x"] * 33, into=live, empty_rows=wrong)
        with pytest.raises(ArgumentValueError, match="weights: expected"):
            store.ingest("web", 1, ["x"] * 33, into=live, weights=[2] * 33, empty_rows=[4])
        assert (live.step, store._journal.last) == (0, last)
        store.ingest("web", 1, ["x"] * 33, into=live, empty_rows=[0, 9, 10, 35])
        assert (live.step, store._journal.last) == (37, last + 1)
        expected = seen(live)
        # The names and counts of windows with 8, 9 and 10 events.
        counts = [round(window.release.estimate("x")) for window in live.windows]
        assert len(counts) == 3
        assert all(abs(found - n) < 8 for found, n in zip(counts, (8, 9, 10), strict=True))
    with lives.open() as store:
        live = store.windows("a", every=10, **FOUND)
        assert seen(live) == expected


def _sketch(store: Store) -> Any:
    return store.sketch("c", table())


def test_ended_windows_are_kept_without_their_tables(lives: Lives) -> None:
    """After the end a checkpoint has releases alone."""
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "range", clock)
        live.finish()
        live.finish()
        expected = seen(live)
        store.checkpoint()
    with lives.open() as store:
        live = opened(store, "range", clock)
        assert seen(live) == expected
        assert not live._live.tables
        for refused in (lambda: live.tick(), live.advance, lambda: live.update_many([], times=[])):
            with pytest.raises(ClosedError):
                refused()
        with pytest.raises(ArgumentValueError, match="expected store.close"):
            live.close()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_other_windows_are_refused(checkpoint: bool, lives: Lives) -> None:
    with lives.open() as store:
        opened(store, "clock", Clock()).update_many(["x"] * 9)
        store.windows("b", **KINDS["range"])
        if checkpoint:
            store.checkpoint()
    with lives.open() as store:
        for other in (
            {"every": "2h"},
            {"slices": 5},
            {"keep": 3},
            {"epsilon": 1.0},
            {"every": 25, "slices": 1},
            {"begin": BEGIN, "end": END, "slices": None},
        ):
            with pytest.raises(ArgumentValueError, match="expected the parameters that 'a' was"):
                store.windows("a", **KINDS["clock"] | other)
        with pytest.raises(ArgumentValueError, match="expected the parameters that 'b' was"):
            store.windows("b", **KINDS["range"] | {"end": "2024-01-01T06:00"})
        with pytest.raises(ArgumentTypeError, match="every: expected a length"):
            store.windows("c", **FOUND)
        with pytest.raises(ArgumentTypeError, match="clock: expected a function"):
            store.windows("c", every="1h", clock=3, **FOUND)  # type: ignore[arg-type]
        assert opened(store, "clock", Clock()).windows == ()


def test_windows_and_levels_have_ids_of_their_own(lives: Lives) -> None:
    clock = Clock()
    with lives.open() as store:
        live = opened(store, "steps", clock)
        other = store.windows("b", **KINDS["steps"])
        for windows in (live, other):
            windows.update_many(["x"] * 60)
        parts = [part for it in (live, other) for part in (*it.windows, it.open)]
        assert len({part.release.sketch_id for part in parts}) == 6
        assert len({part.release.hash_seed for part in (*live.windows, live.open)}) == 1
        live.release(2)  # one hash seed, so they can be merged


@pytest.mark.parametrize(("name", "bytes_"), [("steps, two kept", 5), ("clock", 3)])
def test_windows_far_apart_have_ids_of_their_own(name: str, bytes_: int, lives: Lives) -> None:
    """Numbers that differ in one byte only, as far as a clock may go."""
    clock = Clock()
    ids: dict[int, bytes] = {}
    with lives.open() as store:
        live = opened(store, name, clock)
        for byte in range(bytes_):
            before = live.open.number
            for windows in (1, 2 ** (8 * byte) - 1):
                ids |= {it.number: it.release.sketch_id for it in (*live.windows, live.open)}
                if name == "clock":
                    clock.seconds += 3_600 * windows
                    live.advance()
                else:
                    live.tick(10 * windows)
            assert live.open.number == before + 2 ** (8 * byte)
        ids |= {it.number: it.release.sketch_id for it in (*live.windows, live.open)}
    assert len(set(ids.values())) == len(ids)


@pytest.mark.parametrize("at", ["change", "end"])
def test_an_interrupted_end_is_completed_by_the_next_life(
    at: str, lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``finish`` is interrupted before or after all windows are published in memory."""
    store = lives.open()
    live = opened(store, "range", Clock())
    hour = datetime(2024, 1, 1, 3, tzinfo=timezone.utc)
    live.update_many(["x"] * 500, times=[hour + timedelta(minutes=1)] * 500)
    store.commit()
    finish = type(live._live).finish

    def interrupted(self: Any) -> None:
        if at == "end":
            finish(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(live._live), "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        live.finish()
    monkeypatch.undo()
    for use in (live.release, lambda: live.windows, live.finish, store.commit):
        with pytest.raises(StoreError, match="whose last change was interrupted"):
            use()
    store.close()
    with lives.open() as again:
        live = opened(again, "range", Clock())
        assert not live.finished
        live.finish()
        expected = seen(live)
        assert len(live.windows) == 6
    with lives.open() as again:
        assert seen(opened(again, "range", Clock())) == expected


def test_a_clock_that_uses_its_windows(lives: Lives) -> None:
    """It may read them; it must not change them."""
    live: Any = None
    found: list[Any] = []

    def clock() -> float:
        if live is not None:
            found.append(len(live.windows))
            with pytest.raises(LiveStateError, match="one change at a time"):
                live.update("x")
        return 1_704_067_200.0 + 4_000 * len(found)

    with lives.open() as store:
        live = store.windows("a", **KINDS["clock"], clock=clock)
        live.update("x")
        live.update("x")
        assert found == [0, 1]
        live = None


CHANGES = {"advance", "close", "finish", "tick", "update", "update_many"}
FIXED = {"not_private_because", "privacy", "private", "takes_times"}


def test_every_public_name_is_a_change_a_read_or_fixed(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lives.open() as store:
        live, commits = opened(store, "steps", Clock()), _counted(store, monkeypatch)
        names = {it for it in dir(type(live)) if not it.startswith("_")}
        inherited = {"end_discovery_epoch", "update_batch", "update_rows"}
        reads = names - FIXED - CHANGES - inherited
        assert len(reads) >= 10
        for read in sorted(reads):
            before = len(commits)
            try:
                value = getattr(live, read)
                if callable(value):
                    value()
            except (TypeError, ValueError):  # without its arguments, or before an end
                pass
            assert len(commits) > before, read


def _counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    commits: list[int] = []
    commit = store._journal.commit

    def counted() -> int:
        commits.append(1)
        return commit()

    monkeypatch.setattr(store._journal, "commit", counted)
    return commits


def test_slices_and_positions_of_logged_events() -> None:
    """Parts of a batch are those of the list."""
    chance = Random(4)
    for items in _lists(chance):
        batch = _native.logged_events(items)
        plain = batch.tolist()
        for _ in range(10):
            first, last = sorted(chance.randrange(-2, len(items) + 3) for _ in range(2))
            assert batch[first:last].tolist() == plain[first:last]
        places = [chance.randrange(len(items)) for _ in range(7)] if items else []
        taken = batch.take(np.array(places, dtype=np.int64))
        assert taken.tolist() == [plain[place] for place in places]
    with pytest.raises(ArgumentTypeError, match="expected a slice of step 1"):
        batch[::2]


def _lists(chance: Random) -> Iterator[list[Any]]:
    yield []
    yield [chance.randrange(-99, 99) for _ in range(20)]
    yield [2**64 - 1 - chance.randrange(9) for _ in range(20)]
    yield [text(chance) for _ in range(30)]
