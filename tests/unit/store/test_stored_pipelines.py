"""Pipelines of a store: all parts go on after any restart, together, and count each row once."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.unit.store.lives import Lives, check_restarts

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    HorizonError,
    LazySketchError,
)
from lazysketch.pipelines import shares
from lazysketch.store import Store
from lazysketch.store.calls import Call, Share
from lazysketch.store.stored_pipeline import StoredPipeline

PRIVACY: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-4}
PARTS = {
    "clients": ls.Part(ls.LazyCountMin, "client", depth=2, width=8),
    "signed": ls.Part(ls.PunctualCountSketch, "client", depth=1, width=8, horizon=9_000),
    "pages": ls.Part(ls.HeavyHitters, "path", share=0.2, width=16, depth=2, discovery_epoch=60),
    "people": ls.Part(ls.DistinctCount, "client", bits=64, levels=3),
    "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 9, number=9)),
    "ports": ls.Part(ls.Ranges, "port", bits=8, width=8),
    "spent": ls.Part(ls.Sums, "path", value="ms", low=0, high=9, depth=2, width=8),
    "networks": ls.Part(
        ls.HierarchicalHeavyHitters,
        "ip",
        levels=ls.ipv4_prefixes((8, 32)),
        share=0.2,
        width=16,
        depth=2,
        discovery_epoch=60,
    ),
}
BATCHES: dict[str, Any] = {"schedule": ls.Batch(horizon=9_000)}
PARTS_IN_BATCHES = {
    "clients": ls.Part(ls.LazyCountMin, "client", depth=2, width=8, **BATCHES),
    "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins.linear(0, 9, number=9), **BATCHES),
    "spent": ls.Part(ls.Sums, "path", value="ms", low=0, high=9, depth=2, width=8, **BATCHES),
    "earned": ls.Part(ls.Sums, "client", value="port", low=0, high=99, width=8, **BATCHES),
}


def opened(store: Store, parts: Any = None) -> StoredPipeline:
    return store.pipeline("site", PARTS if parts is None else parts, **PRIVACY)


def rows(chance: Random, number: int) -> dict[str, list[Any]]:
    return {
        "client": [f"client {chance.randrange(9)}" for _ in range(number)],
        "path": [chance.choice([None, "/", "/a", 7]) for _ in range(number)],
        "ms": [chance.choice([None, chance.uniform(-1, 12)]) for _ in range(number)],
        "port": [chance.choice([None, chance.randrange(256)]) for _ in range(number)],
        "ip": [f"10.0.{chance.randrange(3)}.{chance.randrange(4)}" for _ in range(number)],
    }


def change(live: StoredPipeline, chance: Random) -> None:
    does = chance.randrange(5)
    if does == 0:
        live.tick(chance.randrange(30))
    elif does == 1:
        live.update({name: column[0] for name, column in rows(chance, 1).items()})
    elif does == 2:
        live.end_discovery_epoch()
    else:
        live.update_many(rows(chance, chance.choice([0, 1, 40])))


def change_in_batches(live: StoredPipeline, chance: Random) -> None:
    if chance.random() < 0.3:
        live.tick(3)
    else:
        live.update_batch(rows(chance, chance.choice([0, 1, 40])))


def seen(live: StoredPipeline) -> Any:
    found = {}
    for name, release in live.release().items():
        levels = release if isinstance(release, tuple) else (release,)
        found[name] = b"".join(level.to_bytes() for level in levels)
    return live.steps, live.finished, found


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("parts", [PARTS, PARTS_IN_BATCHES], ids=["rows", "batches"])
def test_restarts_change_nothing(parts: Any, seed: int, lives: Lives, tmp_path: Path) -> None:

    check_restarts(
        lives,
        tmp_path / "copy",
        f"pipeline {seed}",
        opened=lambda store: opened(store, parts),
        change=change if parts is PARTS else change_in_batches,
        seen=seen,
    )


def test_it_counts_what_a_pipeline_without_a_store_does(lives: Lives) -> None:
    """The exact counts are secret; with so large an epsilon releases nearly show them."""
    parts = {name: PARTS[name] for name in ("latency", "people")}
    batch = rows(Random(3), 3_000)
    open_privacy: dict[str, Any] = {"epsilon": 15.0, "delta": 0.1}
    with lives.open() as store, ls.Pipeline(parts, **open_privacy) as plain:
        stored = store.pipeline("site", parts, **open_privacy)
        for one in (stored, plain):
            one.update_many(batch)
            one.finish()
        edges = [-np.inf, *ls.Bins.linear(0, 9, number=9).edges, np.inf]
        true = np.histogram([ms for ms in batch["ms"] if ms is not None], edges)[0]
        for one in (stored, plain):
            release: Any = one.release()["latency"]
            found = release.histogram(confidence=1 - 1e-9, simultaneous=True)
            assert ((found.low <= true) & (true <= found.high)).all()
            assert (found.high - found.low).max() < 50.0
        assert stored.steps == plain.steps == 3_000


def test_batches_of_a_source_count_once(lives: Lives) -> None:
    batch = rows(Random(1), 20)
    with lives.open() as store:
        live = opened(store)
        assert store.ingest("web", 1, batch, into=live, note="here")
        assert not store.ingest("web", 1, batch, into=live)
        assert live.steps == 20
    with lives.open() as store:
        live = opened(store)
        assert not store.ingest("web", 1, batch, into=live)
        assert store.note("web") == "here"
        assert live.steps == 20
        for name in ("weights", "empty_rows", "column", "times", "user"):
            with pytest.raises(ArgumentTypeError, match=f"{name}: expected none for rows"):
                store.ingest("web", 2, batch, into=live, **{name: [1]})  # type: ignore[arg-type]


@pytest.mark.parametrize("checkpoint", [True, False])
def test_what_is_refused_is_not_in_the_log(checkpoint: bool, lives: Lives) -> None:
    parts = {**PARTS, "latency": ls.Part(ls.Distribution, "ms", bins=ls.Bins([1.0]), horizon=30)}
    with lives.open() as store:
        live = opened(store, parts)
        live.update_many(rows(Random(1), 20))
        before = seen(live)
        with pytest.raises(HorizonError):
            live.update_many(rows(Random(2), 20))
        with pytest.raises(LazySketchError):
            live.update_many({**rows(Random(2), 1), "ip": ["10.0.0"]})
        with pytest.raises(ArgumentValueError, match=r"expected store\.close"):
            live.close()
        assert seen(live) == before
        if checkpoint:
            store.checkpoint()
    with lives.open() as store:
        assert seen(opened(store, parts)) == before


def test_a_part_that_counts_alone_is_noticed(lives: Lives) -> None:
    with lives.open() as store:
        live = opened(store)
        live["clients"].tick()
        with pytest.raises(ArgumentValueError, match="one that counted without the pipeline"):
            live.update_many(rows(Random(1), 1))
    with lives.open() as store:
        assert opened(store)["people"].steps == 0


def test_the_split_is_that_of_the_first_life(lives: Lives, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may divide the privacy in another way; the parts stay what they are."""
    with lives.open() as store:
        first = opened(store)
        told, before = first.shares, seen(first)
        store.checkpoint()
    monkeypatch.setattr(shares, "_LEAST", 0.9)
    with lives.open() as store:
        again = opened(store)
        assert again.shares == told
        assert seen(again) == before
        assert store.sources == ()


def test_what_is_spent_is_what_all_parts_spend(lives: Lives) -> None:
    with lives.open() as store:
        live = opened(store)
        names = [f"site/{name}" for name in PARTS]
        assert sorted(store.names) == sorted(names)
        assert store.spent.counts.delta_at(4.0) <= 1e-4
        assert store.spent.delta <= 1e-4 * (1.0 + 1e-9)
        assert {part.name for part in store.spent.parts} == set(names)
        assert live.privacy.delta_at(4.0) <= 1e-4


def test_another_era_has_fresh_noise_and_keeps_what_was_published(lives: Lives) -> None:
    with lives.open() as store:
        opened(store).update_many(rows(Random(1), 20))
    lives.anchor.unlink()
    with lives.open(on_doubt="new-era") as store:
        live = opened(store)
        assert live.steps == 0
        earlier = store.earlier_release("site/clients")
        assert earlier is not None
        assert earlier.step == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "name: expected 1 to 200 printable"),
        ({"parts": {}}, "parts: expected at least one"),
        ({"parts": {"clients": PARTS["clients"]}}, "parts: expected the 8 that"),
        ({"parts": {**PARTS, "x": PARTS["clients"]}}, "parts: expected the 8 that"),
        ({"parts": dict(zip("abcdefgh", PARTS.values(), strict=True))}, "parts: expected the 8"),
        ({"epsilon": 0.0}, "epsilon: expected"),
        ({"epsilon": 1.0}, "epsilon: expected epsilon=4, delta=0.0001, which the pipeline was"),
        ({"delta": 1e-6}, "epsilon: expected epsilon=4, delta=0.0001, which the pipeline was"),
        ({"relation": "both"}, "relation: expected"),
    ],
)
def test_arguments(options: dict[str, Any], message: str, lives: Lives) -> None:
    with lives.open() as store:
        opened(store)
    plain: dict[str, Any] = {"name": "site", "parts": PARTS, **PRIVACY}
    with lives.open() as store, pytest.raises(LazySketchError, match=message):
        store.pipeline(**{**plain, **options})


def test_it_is_opened_once_and_with_the_parts_it_had(lives: Lives) -> None:
    with lives.open() as store:
        live = opened(store)
        with pytest.raises(ArgumentValueError, match="name: expected one that is not open"):
            opened(store)
        assert store.ingest("web", 1, rows(Random(1), 1), into=live)
    with lives.open() as store:
        with pytest.raises(ArgumentValueError, match="into: expected an open object"):
            store.ingest("web", 2, rows(Random(1), 1), into=live)
        wider = ls.Part(ls.LazyCountMin, "client", depth=2, width=16)
        with pytest.raises(ArgumentValueError, match="spec: expected the parameters"):
            opened(store, {**PARTS, "clients": wider})


def test_a_record_of_several_objects_divides_into_their_changes() -> None:
    call = Call(
        object="site",
        method="update_rows",
        empty_rows=np.array([4, 1, 2], dtype=np.uint64),
        objects=(Share("site/a", 0, 1), Share("site/b", 0, 2)),
        source="web",
        sequence=3,
        note="here",
    )
    again = Call.decoded(b"".join(bytes(part) for part in call.encoded().parts))  # type: ignore[arg-type]
    first, second = again.divided()
    assert (first.object, first.source, first.note) == ("site/a", None, "")
    assert first.empty_rows is not None
    assert second.empty_rows is not None
    assert (first.empty_rows.tolist(), second.empty_rows.tolist()) == ([4], [1, 2])
    assert (again.source, again.sequence, again.note) == ("web", 3, "here")
    assert call.encoded().parts[0][:1] == b"\x03"  # type: ignore[index]


def test_each_part_of_sums_has_numbers_of_its_own(lives: Lives) -> None:
    """Two parts of sums in one record, before and after the record is read again."""
    size: dict[str, Any] = {"low": 0, "high": 10, "width": 64, "schedule": ls.Batch(horizon=9)}
    parts = {
        "first": ls.Part(ls.Sums, "client", value="ms", **size),
        "second": ls.Part(ls.Sums, "client", value="port", **size),
    }
    rows = {"client": ["x"] * 4_000, "ms": [1.0, None] * 2_000, "port": [9.0] * 4_000}
    for _ in range(2):
        with lives.open() as store:
            site = store.pipeline("site", parts, epsilon=20.0, delta=1e-3)
            if not site.steps:
                site.update_batch(rows)
            assert 2_000 in site["first"].sum("x", confidence=1 - 1e-6)
            assert 36_000 in site["second"].sum("x", confidence=1 - 1e-6)
            assert site["second"].sum("x").low > 30_000
