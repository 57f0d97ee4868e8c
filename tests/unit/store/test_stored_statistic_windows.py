"""Windows of distinct items and of values of a store: ids, the log, eras, batches of sources."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.store.kinds_of_windows import BINNED, COUNTED, KEYS, Clock
from tests.unit.store.lives import CANARY, Lives

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.store import Store

KINDS = ["distinct", "values", "ranges"]
STEPS: dict[str, Any] = {"every": 100}
every_kind = pytest.mark.parametrize("kind", KINDS)


def opened(store: Store, kind: str, **options: Any) -> Any:
    cut = STEPS | options
    if kind == "distinct":
        return store.distinct_windows("a", **COUNTED | cut)
    if kind == "ranges":
        return store.ranges_windows("a", **KEYS | cut)
    return store.distribution_windows("a", **BINNED | cut)


def events(kind: str, number: int) -> list[Any]:
    return [f"{CANARY} {n % 7}" if kind == "distinct" else n % 7 for n in range(number)]


@every_kind
@pytest.mark.parametrize("cut", ["steps", "clock", "range"])
def test_every_window_has_an_id_of_its_own(kind: str, cut: str, lives: Lives) -> None:
    """Also after a restart; and all have one hash seed."""
    clock = Clock()
    cuts: dict[str, dict[str, Any]] = {
        "steps": {},
        "clock": {"every": "1h", "slices": 2, "clock": clock},
        "range": {"every": "1h", "begin": "2024-01-01", "end": "2024-01-01T04:00"},
    }
    options = cuts[cut]
    ids: list[bytes] = []
    for _ in range(2):
        with lives.open() as store:
            live = opened(store, kind, **options)
            if cut == "steps":
                live.tick(200)
            clock.seconds += 7_200
            if cut == "range" and not live.finished:
                live.finish()
            ids = [window.release.sketch_id for window in live.windows]
            assert len({window.release.hash_seed for window in live.windows}) == 1
            assert live.private
            store.checkpoint()
    assert len(set(ids)) == len(ids) == 4


@every_kind
def test_other_parameters_are_refused(kind: str, lives: Lives) -> None:
    with lives.open() as store:
        opened(store, kind).update_many(events(kind, 150))
    others: list[dict[str, Any]] = [{"every": 50}, {"keep": 5}, {"epsilon": 8.0}]
    others.append(
        {"bins": ls.Bins([1.0])} if kind == "values" else {"bits": 7 if kind == "ranges" else 128}
    )
    for checkpoint in (False, True):
        with lives.open() as store:
            for other in others:
                with pytest.raises(ArgumentValueError, match="the parameters that 'a' was made"):
                    opened(store, kind, **other)
            live = opened(store, kind)
            assert (live.step, len(live.windows)) == (150, 1)
            if checkpoint:
                store.checkpoint()


def test_the_log_has_fingerprints_in_place_of_items(lives: Lives) -> None:
    """And of values the numbers of their bins; also where all windows are over."""
    with lives.open() as store:
        live = opened(store, "distinct")
        for _ in range(2):
            (logged,) = live._batches([f"{CANARY} 1", "x"])
            with pytest.raises(ArgumentTypeError, match="got fingerprints of a sketch"):
                logged.tolist()
            live.finish()
        values = store.distribution_windows("b", **BINNED, every=100)
        (logged,) = values._batches([-1.0, 0.5, 8.7])
        assert logged.tolist() == [0, 1, 9]


@every_kind
def test_batches_of_a_source_are_counted_once(kind: str, lives: Lives) -> None:
    for _ in range(2):
        with lives.open() as store:
            live = opened(store, kind)
            for number in (1, 2):
                store.ingest("web", number, events(kind, 70), into=live)
            with pytest.raises(ArgumentTypeError, match="^times: "):
                store.ingest("web", 3, events(kind, 1), into=live, times=[1])
            assert (live.step, len(live.windows)) == (140, 1)


def test_rows_without_an_event_take_a_step(lives: Lives) -> None:
    with lives.open() as store:
        live = opened(store, "values")
        rows = list(range(0, 200, 2))
        store.ingest("web", 1, events("values", 100), into=live, empty_rows=rows)
        assert (live.step, len(live.windows)) == (200, 2)
        found = live.total(last=2, confidence=1 - 1e-9)
        assert found.low <= 100 <= found.high


@every_kind
def test_the_account_is_that_of_one_window(kind: str, lives: Lives) -> None:
    for _ in range(2):
        with lives.open() as store:
            live = opened(store, kind)
            spent = store.spent
            assert spent.epsilon == pytest.approx(live.privacy.epsilon)
            assert spent.parts[0].within == ("one window" if kind == "distinct" else None)
            assert spent.counts.mu == pytest.approx(live.privacy.sketch.mu)


@every_kind
def test_the_store_leaves_them_out_where_it_has_items_only(kind: str, lives: Lives) -> None:
    with lives.open() as store:
        live = opened(store, kind)
        live.tick(250)
        assert store.publish() == {}
        with pytest.raises(ArgumentValueError, match="^name: expected counts of items"):
            store.earlier_release("a")
        published = live._last_published()
        # Distributions add up, distinct items of windows do not.
        assert len(published) == (3 if kind == "distinct" else 1)
        with pytest.raises(ArgumentValueError, match="^into: expected a sketch"):
            live.partial_spec()
