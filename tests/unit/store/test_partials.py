"""Partial counts of workers become a step of a store once, or are refused whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.store.lives import CANARY, KINDS, Lives, table
from tests.unit.store.partials import BATCHES, CHOICES, OPENED, WEIGHTS, of_workers, sealed
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    HorizonError,
    StoreError,
)
from lazysketch.store import Store
from lazysketch.store.partial_batches import LIFETIME


def test_a_batch_is_counted_once_and_published_again(lives: Lives) -> None:
    """Sent again as it was, or counted again by other workers; also after restarts."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        spec = live.partial_spec()
        first = [sealed(spec, ["x", 1]), sealed(spec, ["y"])]
        release = store.add_partials("s", 3, first, into=live, positions="p 9").to_bytes()
        assert (live.step, store.last_sequence("s"), store.note("s")) == (1, 3, "p 9")

    def again(store: Store, live: Any) -> None:
        spec = live.partial_spec()
        for batch in (first, first[::-1], [sealed(spec, ["y", "x"], [1])]):
            repeated = store.add_partials("s", 3, batch, into=live, positions="p 9")
            assert repeated.to_bytes() == release
        assert live.step == 1

    for by_checkpoint in (False, True, True):
        with lives.open() as store:
            live = OPENED["count-min"](store)
            again(store, live)
            if by_checkpoint:
                store.checkpoint()
    with lives.open() as store:
        live = OPENED["count-min"](store)
        store.add_partials("other", 1, [], into=live)
        live.tick(5)
        repeated = store.add_partials("s", 3, first, into=live, positions="p 9")
        assert (repeated.to_bytes(), repeated.step, live.step) == (release, 1, 7)
    with lives.open() as store:  # made again from the log, at the place of the batch
        live = OPENED["count-min"](store)
        repeated = store.add_partials("s", 3, first, into=live, positions="p 9")
        assert (repeated.to_bytes(), live.step) == (release, 7)


def test_a_committed_batch_cannot_be_changed(lives: Lives) -> None:
    with lives.open() as store:
        live, other = OPENED["count-min"](store), store.sketch("b", table(schedule=BATCHES))
        spec = live.partial_spec()
        blob, foreign = sealed(spec, ["x"]), sealed(other.partial_spec(), ["x"])
        store.add_partials("s", 1, [], into=live)
        store.add_partials("s", 2, [blob], into=live, positions="p")
        store.ingest("log", 5, ["x"], into=live)
        expected = seen(live), seen(other)
        for sequence, batch, into, positions, message in [
            (2, [blob], live, "q", "positions: expected those of batch 2, which is committed"),
            (2, [blob], live, "", "positions: expected those of batch 2"),
            (2, [], live, "p", "sealed: expected those of batch 2, which is committed"),
            (2, [sealed(spec, ["x", "x"])], live, "p", "sealed: expected those of batch 2"),
            (2, [blob, sealed(spec, [])], live, "p", ""),
            (2, [foreign], other, "p", "into: expected those of batch 2"),
            (1, [], live, "", "sequence: expected one above 2, or the last batch"),
        ]:
            if not message:  # an empty part changes no content
                assert store.add_partials("s", 2, batch, into=into, positions=positions).step == 2
                continue
            with pytest.raises(ArgumentValueError, match=message):
                store.add_partials("s", sequence, batch, into=into, positions=positions)
        with pytest.raises(ArgumentValueError, match="sequence: expected one above 5"):
            store.add_partials("log", 5, [], into=live)
        assert (seen(live), seen(other)) == expected
        assert not store.ingest("s", 2, ["x"], into=live)


def test_partial_counts_are_added_once(lives: Lives) -> None:
    """Under whatever batch or source they come again, in this life and later."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        spec = live.partial_spec()
        blob, other = sealed(spec, ["x"]), sealed(spec, ["y"])
        with pytest.raises(ArgumentValueError, match="that were not added before"):
            store.add_partials("s", 1, [blob, other, blob], into=live)
        assert (live.step, store.last_sequence("s")) == (0, 0)
        store.add_partials("s", 1, [blob], into=live)
        with pytest.raises(ArgumentValueError, match="that were not added before"):
            store.add_partials("s", 2, [other, blob], into=live)
        store.add_partials("s", 2, [other], into=live)
    for by_checkpoint in (True, False):
        with lives.open() as store:
            live = OPENED["count-min"](store)
            for batch in ([blob], [other], [sealed(live.partial_spec(), []), blob]):
                with pytest.raises(ArgumentValueError, match="that were not added before"):
                    store.add_partials("new", 1, batch, into=live)
            assert live.step == 2
            if by_checkpoint:
                store.checkpoint()


def test_ids_are_kept_as_long_as_a_description_can_be_used(lives: Lives) -> None:
    with lives.open() as store:
        live = OPENED["count-min"](store)
        old = live.partial_spec()
        blob = sealed(old, ["x"])
        store.add_partials("s", 1, [blob], into=live)
        live.tick(LIFETIME - 3)
        store.add_partials("s", 2, [sealed(old, ["y"])], into=live)
        assert (live.step, len(store._journal.partials.added["a"])) == (LIFETIME - 1, 2)
        with pytest.raises(ArgumentValueError, match="that were not added before"):
            store.add_partials("s", 3, [blob], into=live)
        store.add_partials("s", 3, [sealed(old, ["z"])], into=live)
        assert store._journal.partials.added["a"] == {}
        for refused in (blob, sealed(old, ["z"])):
            with pytest.raises(ArgumentValueError, match="ask for partial_spec"):
                store.add_partials("s", 4, [refused], into=live)
        store.add_partials("s", 4, [sealed(live.partial_spec(), ["y"])], into=live)
        assert len(store._journal.partials.added["a"]) == 1


def test_other_objects_eras_and_stores_are_refused(lives: Lives, tmp_path: Path) -> None:
    with lives.open() as store:
        live, other = OPENED["count-min"](store), store.sketch("b", table(schedule=BATCHES))
        blob = sealed(live.partial_spec(), ["x"])
        with pytest.raises(ArgumentValueError, match="sealed: expected partial counts of this tab"):
            store.add_partials("s", 1, [blob], into=other)
    elsewhere = Lives(tmp_path / "elsewhere")
    with elsewhere.open() as store:
        stranger = OPENED["count-min"](store)
        with pytest.raises(ArgumentValueError, match="sealed to this store"):
            store.add_partials("s", 1, [blob], into=stranger)
        with pytest.raises(ArgumentValueError, match="into: expected an open object"):
            store.add_partials("s", 1, [], into=live)
    lives.anchor.unlink()
    with lives.open(on_doubt="new-era") as store:
        live = OPENED["count-min"](store)
        assert store.era == 1
        with pytest.raises(ArgumentValueError, match="of this table in this era"):
            store.add_partials("s", 1, [blob], into=live)
        store.add_partials("s", 1, [sealed(live.partial_spec(), ["x"])], into=live)


def test_a_publication_of_an_earlier_era_is_kept_or_gone(lives: Lives) -> None:
    """The object of that name in another era has other noise, at the same step too."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        release = store.add_partials("s", 1, [], into=live).to_bytes()
    lives.anchor.unlink()
    with lives.open(on_doubt="new-era") as store:
        live = OPENED["count-min"](store)
        live.tick()
        assert store.add_partials("s", 1, [], into=live).to_bytes() == release
    with lives.open() as store:
        live = OPENED["count-min"](store)
        assert live.step == 1
        with pytest.raises(StoreError, match="expected the publication of the last batch"):
            store.add_partials("s", 1, [], into=live)
        assert store.add_partials("s", 2, [], into=live).step == 2


@pytest.mark.parametrize("name", [*KINDS, "people", "windows"])
def test_objects_without_partial_counts_refuse_them(name: str, lives: Lives) -> None:
    """By the name of what they have and workers cannot."""
    refusals: dict[str, str | int] = {
        "windows": "windows by the clock, for partial counts, got StoredWindows",
        "people": "person_bound: expected none, for partial counts",
        "batches": 100,
        "ranges of batches": 100,
        "ranges with weights": 100,
        "distinct of batches": 104,
        "values of batches": 117 + 8 * 10,
        "hitters of batches": 111,
        "sums of batches": 141,
    }
    expected = refusals.get(name, "schedule: expected Batch, for partial")
    with lives.open() as store:
        if name == "people":
            bound = ls.PersonBound(cells=1, events=1)
            live: Any = store.sketch("a", table(schedule=BATCHES, person_bound=bound))
        elif name == "windows":
            live = store.windows("a", every=100, share=0.2, epsilon=20.0, delta=1e-2)
        else:
            live = KINDS[name].open(store)
        if isinstance(expected, int):
            assert len(live.partial_spec()) == expected
            return
        before = seen(live) if name != "windows" else live.step
        for call in (live.partial_spec, lambda: store.add_partials("s", 1, [], into=live)):
            with pytest.raises(ArgumentValueError, match=expected):
                call()
        assert before == (seen(live) if name != "windows" else live.step)
        assert store.last_sequence("s") == 0


def test_arguments_are_checked(lives: Lives) -> None:
    with lives.open() as store:
        live = OPENED["count-min"](store)
        blob = sealed(live.partial_spec(), ["x"])
        wrong: Any = ["x"]
        for error, call in [
            (ArgumentTypeError, lambda: store.add_partials("s", 1, blob, into=live)),
            (ArgumentTypeError, lambda: store.add_partials("s", 1, wrong, into=live)),
            (ArgumentTypeError, lambda: store.add_partials("s", 1.5, [], into=live)),
            (ArgumentValueError, lambda: store.add_partials("", 1, [], into=live)),
            (ArgumentValueError, lambda: store.add_partials("s", 0, [], into=live)),
            (ArgumentTypeError, lambda: store.add_partials("s", 1, [], into=live, positions=3)),
            (
                ArgumentValueError,
                lambda: store.add_partials("s", 1, [], into=live, positions="x" * 10_001),
            ),
            (ArgumentValueError, lambda: store.add_partials("s", 1, [], into=None)),
            (ArgumentValueError, lambda: store.add_partials("s", 1, [b""], into=live)),
            (ArgumentValueError, lambda: live.partial_spec(most_events=0)),
            (ArgumentValueError, lambda: live.partial_spec(most_events=2**32 + 1)),
            (ArgumentTypeError, lambda: live.partial_spec(most_events=1.5)),
            (ArgumentTypeError, lambda: live.partial_spec(most_names="9")),
            (ArgumentValueError, lambda: live.partial_spec(most_names=9)),
        ]:
            with pytest.raises(error):
                call()
        assert (live.step, store.sources) == (0, ())
        assert store.add_partials("s", 1, iter([blob]), into=live).step == 1


def test_the_horizon_and_a_full_log_refuse_whole(lives: Lives) -> None:
    with lives.open() as store:
        live = store.sketch("a", table(schedule=ls.Batch(horizon=2)))
        blob = sealed(live.partial_spec(), ["x"])
        store._journal.largest = 100
        with pytest.raises(ArgumentValueError, match="expected a batch of at most 100 bytes"):
            store.add_partials("s", 1, [blob], into=live)
        store._journal.largest = 1 << 30
        live.tick(2)
        with pytest.raises(HorizonError):
            store.add_partials("s", 1, [blob], into=live)
        expected = seen(live)
    with lives.open() as store:
        live = store.sketch("a", table(schedule=ls.Batch(horizon=2)))
        assert (seen(live), store.last_sequence("s")) == (expected, 0)


def test_an_interrupt_before_the_publication_is_made_up_for(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is committed: the repetition makes the publication, unless the object went on."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        blob = sealed(live.partial_spec(), ["x"])
        kind = type(live)
        with monkeypatch.context() as patched:
            patched.setattr(kind, "release", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
            for number in (1, 2):
                with pytest.raises(KeyboardInterrupt):
                    store.add_partials("s", 1, [blob], into=live)
                store.checkpoint()
                assert live.step == 1, number
        copy = store.add_partials("s", 1, [blob], into=live)
        assert copy.to_bytes() == live.release().to_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(kind, "release", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                store.add_partials("s", 2, [], into=live)
        live.tick()
        with pytest.raises(StoreError, match="expected the publication of the last batch"):
            store.add_partials("s", 2, [], into=live)


def test_what_is_published_is_durable(lives: Lives, monkeypatch: pytest.MonkeyPatch) -> None:
    """No release is made between a change and its commit, and none without a commit."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        blob = sealed(live.partial_spec(), ["x"])
        calls: list[str] = []
        native, made = store._native, ls.Release.to_bytes

        class Native:
            def __getattr__(self, name: str) -> Any:
                calls.append(name)
                return getattr(native, name)

        def to_bytes(release: ls.Release) -> bytes:
            calls.append("release")
            return made(release)

        monkeypatch.setattr(store._journal, "native", Native())
        monkeypatch.setattr(ls.Release, "to_bytes", to_bytes)
        store.add_partials("s", 1, [blob], into=live)
        order = [name for name in calls if name in ("append", "commit", "release")]
        assert order[:2] == ["append", "commit"]
        assert order.count("release") == 1
        assert "append" not in order[1:]


def test_nothing_is_in_clear_outside_of_the_core(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A canary is in no sealed counts, record, file or representation, nor are its counts."""
    with lives.open() as store:
        live = OPENED["count-min"](store)
        native, parts = store._native, []

        class Native:
            def __getattr__(self, name: str) -> Any:
                return getattr(native, name)

            def append(self, record: list[Any]) -> int:
                parts.extend(record)
                return native.append(record)

        monkeypatch.setattr(store._journal, "native", Native())
        spec = live.partial_spec()
        worker = ls.PartialCounts(spec)
        worker.update_many([CANARY] * 54_321)
        shown = repr(worker).encode()
        blob = worker.seal()
        store.add_partials("s", 1, [blob], into=live)
        assert len(parts) == 2  # the header, and the sum of the step
        store.checkpoint()
        files = [path.read_bytes() for path in lives.folder.iterdir() if path.is_file()]
        # Random bytes have 4 given ones at a place with probability 2^-32; the files are long.
        short = [(it, 4) for it in (spec, blob, shown, *parts)]
        for data, size in [*short, *((it, 8) for it in files)]:
            for secret in (CANARY.encode(), (54_321).to_bytes(size, "little")):
                assert secret not in data


def test_threads_add_each_batch_once(lives: Lives) -> None:
    """Eight drivers of one object, each of which sends every batch twice, with checkpoints."""
    with lives.open(checkpoint_bytes=1 << 12) as store:
        live = OPENED["count-sketch"](store)

        def send(source: int) -> None:
            for number in range(1, 13):
                blob = sealed(live.partial_spec(), ["x", source, number])
                releases = {
                    store.add_partials(f"driver {source}", number, [blob], into=live).to_bytes()
                    for _ in range(2)
                }
                assert len(releases) == 1

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(8)))
        assert live.step == 8 * 12
        expected = seen(live)
    with lives.open() as store:
        assert seen(OPENED["count-sketch"](store)) == expected


@pytest.mark.parametrize("kind", OPENED)
@pytest.mark.parametrize("seed", range(3))
def test_workers_publish_what_one_machine_does(
    kind: str, seed: int, lives: Lives, tmp_path: Path
) -> None:
    """Two copies of a store: one counts alone, one through workers, and is restarted."""
    chance = Random(f"{kind} {seed}")
    with lives.open() as store:
        OPENED[kind](store)
    others = lives.copied_to(tmp_path / "copy")
    local_store, store = lives.open(), others.open()
    local, live = OPENED[kind](local_store), OPENED[kind](store)
    for number in range(1, 9):
        choices: list[Any] = CHOICES.get(kind, ["a", 1, b"a", -1, 2**70, "ä" * 40, "1"])
        items = [chance.choice(choices) for _ in range(chance.choice([0, 1, 7, 400]))]
        weights: list[Any] | None = None
        if kind in WEIGHTS:
            weights = [chance.choice(WEIGHTS[kind]) for _ in items]
        weighted = kind in ("counters", "count-sketch") or "weight" in kind
        if weighted and chance.random() < 0.7:
            weights = [chance.randrange(6) for _ in items]
        local.update_batch(items, *([] if weights is None else [weights]))
        most = chance.choice([None, 400, 2**32])
        batch = of_workers(live.partial_spec(most_events=most), items, weights, chance)
        release = store.add_partials("s", number, batch, into=live)
        assert release.to_bytes() == local.release().to_bytes()
        assert seen(live) == seen(local)
        if chance.random() < 0.4:
            if chance.random() < 0.5:
                store.checkpoint()
            if chance.random() < 0.5:
                store.close()
            else:  # as after kill -9
                del store, live
            store = others.open()
            live = OPENED[kind](store)
            assert seen(live) == seen(local)
    states = []
    for one, table_of in ((local_store, local), (store, live)):
        one.checkpoint()
        states.append(table_of._partial_table()._parameters_digest)
        one.close()
    assert states[0] == states[1]


def test_the_sources_of_partial_counts_are_limited(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last publication of each stays in memory; those that were known go on."""
    monkeypatch.setattr("lazysketch.store.partial_batches.MOST_SOURCES", 2)
    with lives.open() as store:
        live = OPENED["count-min"](store)
        for source in ("a", "b"):
            store.add_partials(source, 1, [], into=live)
        with pytest.raises(ArgumentValueError, match="^source: expected one of the 2 sources"):
            store.add_partials("c", 1, [], into=live)
        assert (live.step, store.last_sequence("c")) == (2, 0)
        store.add_partials("a", 2, [], into=live)
        assert live.step == 3
