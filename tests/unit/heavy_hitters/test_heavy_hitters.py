"""Heavy hitters: discovery, guarantees, output and refusals."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lazysketch as ls
from lazysketch.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ClosedError,
    HorizonError,
    ItemError,
    LiveStateError,
)
from lazysketch.heavy_hitters.discovery_spec import DiscoverySpec
from lazysketch.testing import seeded_key

EVENTS = np.minimum(np.random.default_rng(5).zipf(1.4, 60_000), 5_000)


def made(**changes: Any) -> ls.HeavyHitters:
    asked: dict[str, Any] = {"share": 0.02, "epsilon": 2.0, "delta": 1e-6, **changes}
    return ls.HeavyHitters(**{name: value for name, value in asked.items() if value is not ...})


def test_the_heavy_items_are_found_with_their_counts() -> None:
    """Counts are off by 5 % at most: beyond 6 deviations of noise and collisions together."""
    heavy, counts = made(), Counter(EVENTS.tolist())
    heavy.update_many(EVENTS)
    wanted = [item for item, count in counts.items() if count > 1.2 * len(EVENTS) / 50]
    found = {hitter.item: hitter for hitter in heavy.above()}
    assert set(wanted) <= set(found)
    assert len(wanted) >= 5
    for item in wanted:
        assert math.isclose(found[item].estimate, counts[item], rel_tol=0.05)
        assert found[item].low <= found[item].estimate <= found[item].high
        assert found[item].share == found[item].estimate / heavy.step
    assert [hitter.item for hitter in heavy.top(3)] == [1, 2, 3]
    assert set(heavy.candidates) >= set(wanted)


def test_with_little_noise_the_names_are_those_of_the_oracle() -> None:
    """With epsilon 20 for names and exact counting, an epoch finds the items above the threshold.

    The noise of a count is beyond 3 with probability 2 e^-40 / (1 + e^-10).
    """
    rng, epoch = np.random.default_rng(2), 500
    stream = [f"item {n}" for n in np.minimum(rng.zipf(1.6, 4 * epoch), 300)]
    heavy = made(
        share=0.05,
        epsilon=40.0,
        delta=1e-3,
        discovery_epsilon=20.0,
        discovery_epoch=epoch,
        horizon=len(stream),
    )
    heavy.update_many(stream)
    threshold = heavy.threshold
    assert threshold is not None
    epochs = [Counter(stream[at : at + epoch]) for at in range(0, len(stream), epoch)]
    largest = {item: max(count[item] for count in epochs) for item in set(stream)}
    clear = {item for item, most in largest.items() if abs(most - threshold) > 3}
    known = set(heavy.candidates)
    assert known & clear == {item for item in clear if largest[item] > threshold}
    assert len(known) >= 3


def test_counts_include_events_before_a_name_was_published() -> None:
    """The item is too rare in the first epochs; its estimate still includes them."""
    key = seeded_key(3)  # with fresh noise, one in three hundred runs would publish it early
    heavy = made(epsilon=8.0, discovery_epoch=1_000, width=1024, discovery_epsilon=2.0, key=key)
    least = heavy.threshold or 0
    before = ["late"] * (least // 2) + ["other"] * (1_000 - least // 2)
    for _ in range(12):
        heavy.update_many(before)
    assert "late" not in heavy.candidates
    heavy.update_many(["late"] * 1_000)
    heavy.tick(50_000)  # every column was published since
    (found,) = [hitter for hitter in heavy.top(5) if hitter.item == "late"]
    assert math.isclose(found.estimate, 1_000 + 12 * (least // 2), rel_tol=0.04)
    assert 12 * (least // 2) > 0.06 * 1_000


def test_a_known_domain_is_the_sketch_alone() -> None:
    """The table equals, bit for bit, that of a sketch with this key and all of the privacy."""
    common: dict[str, Any] = {"depth": 4, "width": 1024, "hash_seed": 3, "epsilon": 1.0}
    heavy = made(share=..., domain=range(1, 20), key=seeded_key(4), **common)
    alone = ls.LazyCountMin(delta=1e-6, key=seeded_key(4), **common)
    for sketch in (heavy, alone):
        sketch.update_many(EVENTS)
    assert np.array_equal(heavy.release().table, alone.release().table)
    answers = alone.release().interval_many(
        range(1, 20), confidence=0.9, at="now", simultaneous=True, known=range(1, 20)
    )
    shown = {hitter.item: hitter for hitter in heavy.top(19, confidence=0.9)}
    for item, answer in zip(range(1, 20), answers, strict=True):
        hitter = shown[item]
        assert (hitter.estimate, hitter.low, hitter.high) == (
            answer.estimate,
            answer.low,
            answer.high,
        )
    assert heavy.discovery_epoch is None
    assert heavy.smallest_share == 0.0
    assert heavy.privacy.epsilon == 1.0
    assert heavy.privacy.discovery_epsilon == 0.0
    heavy.end_discovery_epoch()  # nothing to publish


@pytest.mark.parametrize(
    ("domain", "items"),
    [
        (["a", "b", "a"], ["a", "b"]),
        ((item for item in ("a", b"a", 1)), ["a", b"a", 1]),
        (np.array([2, 1, 2], dtype="uint8"), [2, 1]),
        ([np.int64(1), 1, 2**80], [1, 2**80]),
        (pa.array(["a", "b"]), ["a", "b"]),
        ({"only"}, ["only"]),
    ],
)
def test_domains_of_all_forms(domain: Any, items: list[Any]) -> None:
    heavy = made(share=..., domain=domain)
    assert heavy.candidates == items
    assert len(heavy.top(10)) == len(items)


@pytest.mark.parametrize(
    ("domain", "error"),
    [
        ("text", ArgumentTypeError),
        (b"text", ArgumentTypeError),
        ({"a": 1}, ArgumentTypeError),
        (7, ArgumentTypeError),
        ([], ArgumentValueError),
        ([1, True], ItemError),
        ([1, 1.0], ItemError),
        (["a", None], ItemError),
        (["\ud800"], ItemError),
        ([[1]], ItemError),
    ],
)
def test_invalid_domains(domain: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="^domain: expected"):
        made(share=..., domain=domain)


@pytest.mark.parametrize(
    ("changes", "error", "name"),
    [
        ({"share": ...}, ArgumentTypeError, "share"),
        ({"phi": 0.1}, ArgumentTypeError, "phi"),
        ({"share": 0}, ArgumentValueError, "share"),
        ({"k": 2}, ArgumentTypeError, "k"),
        ({"share": 1.5}, ArgumentValueError, "share"),
        ({"share": float("nan")}, ArgumentValueError, "share"),
        ({"epsilon": 0.0}, ArgumentValueError, "epsilon"),
        ({"delta": 1.0}, ArgumentValueError, "delta"),
        ({"discovery_epsilon": 2.0}, ArgumentValueError, "discovery_epsilon"),
        ({"discovery_epsilon": True}, ArgumentTypeError, "discovery_epsilon"),
        ({"discovery_delta": 0.0}, ArgumentValueError, "discovery_delta"),
        ({"discovery_epoch": 0}, ArgumentValueError, "discovery_epoch"),
        ({"discovery_epoch": 101, "horizon": 100}, ArgumentValueError, "discovery_epoch"),
        ({"memory": 100}, ArgumentValueError, "memory"),
        ({"memory": 1 << 16, "share": 1 / (1 << 20)}, ArgumentValueError, "memory"),
        ({"horizon": "100"}, ArgumentTypeError, "horizon"),
        ({"horizon": 100, "schedule": ls.Geometric()}, ArgumentTypeError, "horizon"),
        ({"schedule": 5}, ArgumentTypeError, "schedule"),
        ({"schedule": ls.Batch(horizon=10)}, ArgumentTypeError, "discovery_epoch"),
        ({"relation": "other"}, ArgumentValueError, "relation"),
        ({"kind": "counters"}, ArgumentValueError, "kind"),
        ({"kind": "count-sketch", "max_weight": 2}, ArgumentValueError, "kind"),
        ({"kind": "count-sketch", "relation": "zero-out"}, ArgumentValueError, "kind"),
        ({"depth": 65}, ArgumentValueError, "depth"),
        ({"width": 0}, ArgumentValueError, "width"),
        ({"max_item_bytes": 15}, ArgumentValueError, "max_item_bytes"),
        ({"key": "secret"}, ArgumentTypeError, "key"),
        ({"domain": ["a"], "discovery_epoch": 5}, ArgumentTypeError, "domain"),
        ({"domain": ["a"], "discovery_epsilon": 0.5}, ArgumentTypeError, "domain"),
    ],
)
def test_arguments_that_are_refused(
    changes: dict[str, Any], error: type[Exception], name: str
) -> None:
    with pytest.raises(error, match=f"^{name}: expected"):
        made(**changes)


# A number of either side of a power of two, where spacing changes, among others.


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize("events", [1, 3])
def test_the_guarantee_is_the_one_asked_for(relation: Any, events: int) -> None:
    heavy = made(relation=relation, max_events_per_user=events, max_weight=5, epsilon=4.0)
    privacy = heavy.privacy
    assert privacy.private
    assert heavy.private
    assert privacy.epsilon <= 4.0
    assert privacy.epsilon > 4.0 * (1 - 1e-12)
    assert privacy.delta <= 1e-6
    assert (privacy.sketch.relation, privacy.sketch.max_events_per_user) == (relation, events)
    assert privacy.sketch.max_weight == 5
    facts = heavy._table._discovery_facts  # type: ignore[union-attr]
    expected = DiscoverySpec(
        epsilon=1.0,
        delta=5e-7,
        relation=relation,
        max_events_per_user=events,
        epoch=heavy.discovery_epoch or 0,
        capacity=facts["slots"],
        max_item_bytes=64,
    )
    assert facts["threshold"] == expected.threshold
    assert "NOT PRIVATE" not in f"{heavy!r} {privacy}"
    assert "can hardly tell" in privacy.sentence


def test_a_seeded_key_is_marked_and_repeats() -> None:
    first, second = (made(key=seeded_key(1), hash_seed=2, discovery_epoch=10_000) for _ in range(2))
    for heavy in (first, second):
        heavy.update_many(EVENTS)
        assert not heavy.private
        assert heavy.not_private_because
        assert "NOT PRIVATE" in repr(heavy)
        assert "NOT PRIVATE" in str(heavy.privacy)
        assert "NOT PRIVATE" in heavy.privacy.sentence
        assert not heavy.release().private
    assert first.top(20) == second.top(20)


@pytest.mark.parametrize("domain", [..., range(1, 5_001)])
def test_two_threads_end_in_the_same_names_and_noise(domain: Any) -> None:
    events = np.resize(EVENTS, 300_000)
    one, two = (
        made(key=seeded_key(1), hash_seed=2, width=1 << 16, domain=domain) for _ in range(2)
    )
    one.update_many(events)
    two.update_many(events, threads=2)
    assert one.top(20) == two.top(20)
    assert np.array_equal(one.release().table, two.release().table)


ATTEMPTS: list[Callable[[Any], object]] = [copy.copy, copy.deepcopy, pickle.dumps]


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("listed", [False, True])
def test_there_is_one_live_state(attempt: Callable[[Any], object], listed: bool) -> None:
    heavy = made(share=..., domain=["a"]) if listed else made()
    with pytest.raises(LiveStateError, match="expected one live state"):
        attempt(heavy)


def test_a_forked_child_is_refused() -> None:
    heavy = made(discovery_epoch=1_000)
    heavy.update_many(["a"] * 2_000)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (
            lambda: heavy.top(1),
            lambda: heavy.update_many(["a"]),
            heavy.end_discovery_epoch,
        ):
            try:
                use()
            except LiveStateError:
                refused += 1
        os.write(writer, str(refused).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "3"
    os.waitpid(child, 0)


def test_closing_ends_everything() -> None:
    with made() as heavy:
        heavy.update_many(["a"] * 100)
    for use in (
        lambda: heavy.update("a"),
        lambda: heavy.update_many(["a"]),
        lambda: heavy.top(1),
        heavy.above,
        heavy.tick,
        heavy.end_discovery_epoch,
        heavy.release,
    ):
        with pytest.raises(ClosedError):
            use()
    assert "closed" in repr(heavy)


def test_updates_are_all_or_nothing() -> None:
    heavy = made(horizon=5_000, max_weight=2, discovery_epoch=2_500)
    for items, weights, error in [
        (["a", None], None, ItemError),
        (["a", "b"], [1], ArgumentValueError),
        (["a", "b"], [1, 3], ArgumentValueError),
        (["a"] * 5_001, None, HorizonError),
        ("text", None, ArgumentTypeError),
    ]:
        with pytest.raises(error):
            heavy.update_many(items, weights)
    assert heavy.step == 0
    heavy.tick(4_999)
    heavy.update("a", 2)
    with pytest.raises(HorizonError):
        heavy.tick()


def test_batches_share_a_step_and_need_a_discovery_epoch() -> None:
    """Shares refer to the noisy total; the width follows the share, not the number of batches."""
    heavy = made(schedule=ls.Batch(horizon=60), discovery_epoch=20)
    for at in range(60):
        heavy.update_batch(EVENTS[at * 1_000 : (at + 1) * 1_000])
    assert heavy.step == 60
    assert heavy.release().width >= 1024
    assert math.isnan(heavy.smallest_share)
    assert [hitter.item for hitter in heavy.top(2)] == [1, 2]
    share = np.mean(EVENTS == 1)
    assert math.isclose(heavy.top(1)[0].share, share, rel_tol=0.05)
    with pytest.raises(ArgumentValueError):
        made().update_batch(["a"])


def test_a_batch_names_its_column() -> None:
    heavy = made(schedule=ls.Batch(horizon=2), discovery_epoch=2)
    frame = pa.table({"item": ["a"] * 5_000, "other": ["b"] * 5_000})
    heavy.update_batch(frame, column="item")
    heavy.update_batch(frame, column="item")
    assert [hitter.item for hitter in heavy.top(5)] == ["a"]
    with pytest.raises(ArgumentTypeError, match="^column: expected"):
        made(schedule=ls.Batch(horizon=2), discovery_epoch=2).update_batch(frame)


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_weights_are_counted_by_the_sketch_and_events_by_discovery(relation: Any) -> None:
    """One event of weight 50 and fifty events of weight 1 weigh the same; only those are many.

    The total that shares are parts of has the noise of a row, so the rows are short.
    """
    options: dict[str, Any] = {"share": 0.1, "width": 256, "max_weight": 50, "epsilon": 8.0}
    heavy = made(discovery_epoch=20_000, relation=relation, **options)
    rng = np.random.default_rng(1)
    events = np.concatenate([np.repeat([1, 2], 8_000), np.arange(100, 4_100)])
    weights = np.where(events == 1, 50, 1)
    order = rng.permutation(len(events))
    heavy.update_many(events[order], weights[order])
    assert set(heavy.candidates) >= {1, 2}
    first, second = heavy.top(2)
    assert (first.item, second.item) == (1, 2)
    assert math.isclose(first.share, 400_000 / weights.sum(), rel_tol=0.1)
    assert [hitter.item for hitter in heavy.above(0.3)] == [1]


def test_zero_out_and_ticks() -> None:
    """Steps without an event do not enter the size of the stream."""
    fixed = {"key": seeded_key(1), "hash_seed": 1}
    heavy = made(relation="zero-out", epsilon=8.0, discovery_epoch=20_000, share=0.1, **fixed)
    heavy.update_many(["a"] * 20_000)
    heavy.tick(20_000)
    (found,) = heavy.above(0.5)
    assert math.isclose(found.share, 1.0, rel_tol=0.1)


def test_truncated_names_are_marked() -> None:
    heavy = made(discovery_epoch=2_000, max_item_bytes=16, epsilon=8.0)
    heavy.update_many(["x" * 40] * 2_000)
    heavy.tick(10_000)
    (found,) = heavy.top(5)
    assert (found.item, found.complete) == ("x" * 16, False)
    assert (found.low, found.high) == (0.0, math.inf)
    assert math.isclose(found.estimate, 2_000, rel_tol=0.1)


@pytest.mark.parametrize("memory", [1 << 17, 1 << 20, 1 << 26])
@pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
def test_memory_stays_below_its_limit(memory: int, share: float) -> None:
    if share * memory < 500:  # too little memory for all names of the share
        with pytest.raises(ArgumentValueError, match="^memory: expected"):
            made(share=share, memory=memory)
        return
    heavy = made(share=share, memory=memory)
    assert heavy.memory <= memory
    assert heavy.smallest_share <= share * 1.0001


def test_names_are_published_only_when_an_epoch_ends() -> None:
    heavy = made(discovery_epoch=10_000)
    heavy.update_many(EVENTS[:9_999])
    assert heavy.candidates == []
    assert heavy.top(3) == heavy.above() == []
    heavy.end_discovery_epoch()
    assert 1 in heavy.candidates


def test_invalid_queries() -> None:
    heavy = made()
    for ask, name in [
        (lambda: heavy.top(0), "n"),
        (lambda: heavy.above(0.0), "share"),
        (lambda: heavy.above(1.1), "share"),
        (lambda: heavy.top(1, confidence=1.0), "confidence"),
    ]:
        with pytest.raises(ArgumentValueError, match=f"^{name}: expected"):
            ask()
