"""Discovery that counts weights: names against the oracle, and the public classes.

(docs/theory.md, Theorem 11a; its privacy: test_weighted_discovery_enumeration.py)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracle import discovery as oracle
from tests.unit.heavy_hitters.test_discovery import make, names

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.testing import seeded_key

EPOCH, LARGEST = 50, 4  # those of make()
PRIVATE: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-6, "width": 64, "depth": 2}


def stream(seed: int, length: int = 1_000) -> tuple[list[int], list[int]]:
    generator = np.random.default_rng(seed)
    items = (generator.zipf(1.5, length) % 40).tolist()
    return items, generator.integers(LARGEST + 1, size=length).tolist()


def expected(sketch: Any, items: list[int], weights: list[int], counted: int) -> dict[Any, int]:
    """The oracle on the core's own draws and order, with whole units of a dictionary."""
    facts = sketch._discovery_facts
    kinds = list(dict.fromkeys(items))
    found = sketch._identities(kinds)
    dummies = dict(enumerate(found[: facts["slots"]]))
    identities = dict(zip(kinds, found[facts["slots"] :], strict=True))

    def order(key: Any) -> int:
        return int(dummies[key.number] if isinstance(key, oracle.Dummy) else identities[key])

    exact = facts["variant"] == "dictionary"
    unit = counted if exact else 1
    published: dict[Any, int] = {}
    for window, start in enumerate(range(0, len(items), EPOCH)):
        part = slice(start, start + EPOCH)
        events = oracle.counted_weights(zip(items[part], weights[part], strict=True), most=counted)
        rows = oracle.dictionary(events) if exact else oracle.misra_gries(
            events, counters=facts["slots"], order=order
        )  # fmt: skip
        rows = oracle.in_units(sorted(rows, key=lambda row: order(row[0])), unit=unit)
        shared, *own = sketch._discovery_draws(window, list(range(len(rows) + 1)))
        half = 1 << 127
        least = next(
            (count for count, p in enumerate(facts["probabilities"]) if p >= half),
            facts["threshold"],
        )
        for (key, count), noise in zip(rows, own, strict=True):
            above = count + noise // unit + (0 if exact else shared) >= least
            if above and not isinstance(key, oracle.Dummy):
                published.setdefault(key, window)
    return published


@pytest.mark.parametrize("capacity", [1, 6, EPOCH])
@pytest.mark.parametrize("counted", [1, 2, 3, LARGEST])
@pytest.mark.parametrize("seed", range(3))
def test_names_equal_the_oracle(capacity: int, counted: int, seed: int) -> None:
    """In one batch, in parts and event by event."""
    items, weights = stream(seed)
    asked = {"capacity": capacity, "counted_weight": counted, "key": seeded_key(seed)}
    whole, parts, single = (make(**asked) for _ in range(3))
    wanted = expected(whole, items, weights, counted)
    assert wanted
    whole.update_many(items, weights)
    for start in range(0, len(items), 333):
        parts.update_many(items[start : start + 333], weights[start : start + 333])
    for item, weight in zip(items, weights, strict=True):
        single.update(item, weight)
    assert names(whole) == names(parts) == names(single) == wanted


def test_the_default_counts_events() -> None:
    """None and 1 have the same noise, bit for bit, and another weight has another."""
    made = [
        ls.HeavyHitters(
            share=0.2, discovery_epoch=60, max_weight=9, discovery_weight=weight,
            hash_seed=1, key=seeded_key(3), **PRIVATE,
        )
        for weight in (None, 1, 2)
    ]  # fmt: skip
    tables: list[Any] = [heavy._table for heavy in made]
    drawn = [table._discovery_draws(0, [*range(40)]).tolist() for table in tables]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [heavy.spec.discovery.counted_weight for heavy in made] == [1, 1, 2]  # type: ignore[union-attr]


def test_an_item_that_is_heavy_in_few_of_many_events_is_found() -> None:
    """Of 60,000 events in one epoch of Misra-Gries, with 8 slots, it has 60: its weight is 60 %.

    By the number of events the others, which are all different, take it off.
    """
    items = np.arange(1, 60_001)
    items[np.random.default_rng(7).choice(60_000, 60, replace=False)] = 0
    weights = np.where(items == 0, 1_500, 1)
    for weight, found in ((1, []), (1_500, [0])):
        heavy = ls.HeavyHitters(
            share=0.5, discovery_weight=weight, max_weight=1_500, schedule="single",
            epsilon=18.0, delta=1e-3, discovery_epsilon=15.0, width=64, depth=2,
        )  # fmt: skip
        assert heavy.spec.discovery.variant == "misra-gries"  # type: ignore[union-attr]
        heavy.update_many(items, weights)
        heavy.finish()
        assert heavy.candidates == found


def test_the_threshold_is_a_sum_of_weights() -> None:
    asked = {"share": 0.1, "max_weight": 50, **PRIVATE}
    plain, weighted = (ls.HeavyHitters(discovery_weight=w, **asked) for w in (1, 50))
    assert weighted.threshold == 50 * ((plain.threshold or 0) - 1) + 1
    assert (weighted.discovery_epoch, weighted.smallest_share) == (
        plain.discovery_epoch,
        plain.smallest_share,
    )


def test_levels_and_windows_count_weights() -> None:
    """At every level, in every window: 40 events of weight 25 of one address, and strangers."""
    weights = [25] * 40 + [1] * 400
    strangers = [f"{1 + number % 200}.{number // 7}.1.1" for number in range(400)]
    clients = ["192.0.2.7"] * 40 + strangers
    asked = {
        "share": 0.3, "max_weight": 25, "discovery_weight": 25, "epsilon": 20.0, "delta": 1e-3,
        "width": 64, "depth": 2, "discovery_epsilon": 15.0,
    }  # fmt: skip
    networks = ls.HierarchicalHeavyHitters(ls.ipv4_prefixes((8, 32)), discovery_epoch=440, **asked)
    networks.update_many(clients, weights)
    networks.finish()
    assert "192.0.2.7" in [node.item for node in networks.above()]
    with ls.Windows(every=440, **asked) as windows:
        windows.update_many(clients, weights)
        windows.finish()
        assert [hitter.item for hitter in windows.top(1, last=1)] == ["192.0.2.7"]
    for spec in networks._specs:
        assert spec.discovery is not None
        assert spec.discovery.counted_weight == 25


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (0, ArgumentValueError, "discovery_weight: expected an integer from 1 to 5, got 0"),
        (6, ArgumentValueError, "discovery_weight: expected an integer from 1 to 5, got 6"),
        (2.0, ArgumentTypeError, "discovery_weight: expected an integer from 1 to 5, got float"),
        (True, ArgumentTypeError, "discovery_weight: expected an integer from 1 to 5, got bool"),
    ],
)
def test_a_wrong_weight_is_named(weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        ls.HeavyHitters(share=0.1, max_weight=5, discovery_weight=weight, **PRIVATE)


def test_a_public_list_takes_none() -> None:
    with pytest.raises(ArgumentTypeError, match="^domain: expected no .*discovery_weight together"):
        ls.HeavyHitters(domain=["a"], max_weight=5, discovery_weight=2, **PRIVATE)


def test_too_much_weight_for_misra_gries_is_refused() -> None:
    """Where events are counted exactly there is no such limit."""
    asked = {"share": 0.1, "max_weight": 10**6, "discovery_weight": 10**6, **PRIVATE}
    with pytest.raises(ArgumentValueError, match="^epsilon: expected at least .*discovery_weight"):
        ls.HeavyHitters(discovery_epoch=3, schedule=ls.Batch(horizon=9), **asked)
    assert ls.HeavyHitters(**asked).spec.discovery.variant == "dictionary"  # type: ignore[union-attr]
