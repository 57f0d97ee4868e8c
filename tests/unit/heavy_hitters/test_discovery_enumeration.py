"""Exact privacy of discovery, for every pair of neighbouring streams over tiny universes.

For each pair the distributions of the published set are computed from the exact distribution of the
draws (rational numbers, then 60 digits) and the threshold of the core, and compared over all sets
and both directions. test_discovery.py compares the tables of the core with those of the oracle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import pytest
from tests.native_specs import discovery_spec
from tests.oracle import discovery as oracle

from lazysketch import _native

UNIVERSE = ("a", "b", "c", "d")


def facts(**changes: Any) -> dict[str, Any]:
    asked = {
        "epsilon": 1.0,
        "delta": 0.05,
        "relation": "zero-out",
        "max_events_per_user": 1,
        "max_weight": 1,
        "counted_weight": 1,
        "epoch": 5,
        "batches": False,
        "capacity": 5,
        "max_item_bytes": 64,
        **changes,
    }
    return {**asked, **_native.discovery_facts(discovery_spec(**asked))}


def order(key: Any) -> tuple:
    """A fixed order in which dummies stand among the items."""
    return (key.number * 2, "") if isinstance(key, oracle.Dummy) else (ord(key) % 3 * 2 + 1, key)


def sets_of(
    found: dict[str, Any], rows: Any, *, bug: str | None = None, lower: int = 0
) -> oracle.Published:
    """The probability of every set of names, of the law that the core states."""
    if found["variant"] == "dictionary":
        probabilities = found["probabilities"]
        return oracle.selected(rows, [0, *probabilities[1 + lower :]])
    return oracle.published(
        rows,
        oracle.drawn(found["digits"], bug=bug),
        threshold=found["threshold"] - lower,
        shared=bug != "no shared noise",
    )


def either(one: oracle.Published, other: oracle.Published, epsilon: float) -> Any:
    return max(oracle.hockey_stick(one, other, epsilon), oracle.hockey_stick(other, one, epsilon))


def worst(found: dict[str, Any], *, bug: str | None = None, lower: int = 0) -> Any:
    """Return the true delta at the guaranteed epsilon, over all pairs of neighbouring streams."""
    summary = found["variant"] == "misra-gries"

    @cache
    def sets(table: tuple) -> oracle.Published:
        return sets_of(found, table, bug=bug, lower=lower)

    @cache
    def table(stream: tuple) -> tuple:
        events = [event for event in stream if event is not None]
        if summary:
            rows = oracle.misra_gries(events, counters=found["slots"], order=order, bug=bug)
        else:
            rows = oracle.dictionary(events)
        return tuple(sorted(rows, key=lambda row: order(row[0])))

    pairs = {
        (table(one), table(other))
        for one, other in oracle.neighbours(found["epoch"], UNIVERSE, relation=found["relation"])
    }
    return max(either(sets(one), sets(other), found["epsilon"]) for one, other in pairs)


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (2.0, 0.01), (3.0, 0.15)])
def test_the_dictionary_is_exactly_as_private_as_promised(
    relation: str, epsilon: float, delta: float
) -> None:
    found = facts(relation=relation, epsilon=epsilon, delta=delta)
    assert found["variant"] == "dictionary"
    assert worst(found) <= delta
    assert worst(found, lower=1) > delta


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("group", [1, 2])
def test_counts_of_every_size_are_as_private_as_promised(relation: str, group: int) -> None:
    """Two names with any two counts, over the whole table of probabilities and beyond its end."""
    found = facts(relation=relation, epsilon=3.0, delta=0.01, max_events_per_user=group)
    reach = range(len(found["probabilities"]) + 2)
    changes = {"substitution": [(-group, group)], "zero-out": [(0, group), (1, group - 1)]}[
        relation
    ]
    true = mpmath.mpf(0)
    for a, b in itertools.product(reach, repeat=2):
        for down, up in changes:
            if a + down >= 0:
                one = sets_of(found, (("a", a), ("b", b)))
                other = sets_of(found, (("a", a + down), ("b", b + up)))
                true = max(true, either(one, other, 3.0))
    assert 0.0099 < true <= 0.01


def test_probabilities_take_no_more_than_their_rates() -> None:
    """By the integers that the core compares, as rational numbers, for every count."""
    asked = ((0.03, 1e-6), (0.5, 1e-12), (1.0, 0.2), (8.0, 1e-3))
    for relation, (epsilon, delta) in itertools.product(("zero-out", "substitution"), asked):
        found = facts(relation=relation, epsilon=epsilon, delta=delta)
        rising, falling = (mpmath.mpf(rate) for rate in found["rates"])
        together = rising + falling if relation == "substitution" else max(rising, falling)
        assert together <= epsilon
        grows, falls, steps = mpmath.exp(rising), mpmath.exp(falling), found["probabilities"]
        assert steps[0] == 0
        for p, following in itertools.pairwise(steps):
            assert p < following <= grows * p + mpmath.mpf(delta) * 2**128
            assert 2**128 - p <= falls * (2**128 - following)
            # Neither is given away: one of them is taken.
            spare = min(
                (grows * p + mpmath.mpf(delta) * 2**128) / following,
                falls * (2**128 - following) / (2**128 - p),
            )
            assert spare < 1 + 1e-6


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("counters", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.5, 0.05), (3.0, 0.1)])
def test_misra_gries_is_private_with_some_slack(
    relation: str,
    counters: int,
    epsilon: float,
    delta: float,
    record_property: Callable[[str, object], None],
) -> None:
    found = facts(relation=relation, epsilon=epsilon, delta=delta, capacity=counters)
    assert found["variant"] == "misra-gries"
    true = worst(found)
    record_property("slack", float(delta / true))
    assert 0 < true <= delta
    # The bound is of two keys that pass alone; nothing is lost by orders of magnitude.
    assert delta / true < 40


@pytest.mark.parametrize(("variant", "capacity"), [("dictionary", 5), ("misra-gries", 2)])
def test_events_of_one_person_and_their_weights(variant: str, capacity: int) -> None:
    """Two events of a person, by two steps of neighbours; a weight of two, where it is as many."""
    found = facts(epsilon=2.0, max_events_per_user=2, capacity=capacity)
    weighted = facts(epsilon=2.0, max_weight=2, counted_weight=2, capacity=capacity)
    assert found["variant"] == variant
    if variant == "misra-gries":
        assert found["threshold"] == weighted["threshold"]

    def sets(events: str) -> oracle.Published:
        rows = (
            oracle.dictionary(events)
            if variant == "dictionary"
            else oracle.misra_gries(events, counters=capacity, order=order)
        )
        return sets_of(found, rows)

    for rest in ("", "a", "ab", "abc", "aab", "aabb"):
        for two in ("aa", "ab", "bb", "cc", "cd", "dd"):
            for one, other in ((rest, rest + two), (rest, two + rest)):
                pair = sets(one), sets(other)
                for p, q in (pair, pair[::-1]):
                    assert oracle.hockey_stick(p, q, 2.0) <= found["delta"]


def between(one: str, other: str, found: dict[str, Any], *, bug: str | None = None) -> Any:
    """The true delta of Misra-Gries for one pair of streams."""
    noise = oracle.drawn(found["digits"])
    shared = bug != "no shared noise"
    p, q = (
        oracle.published(
            oracle.misra_gries(stream, counters=found["slots"], order=order, bug=bug),
            noise,
            threshold=found["threshold"],
            shared=shared,
        )
        for stream in (one, other)
    )
    epsilon = found["epsilon"]
    return max(oracle.hockey_stick(p, q, epsilon), oracle.hockey_stick(q, p, epsilon))


def test_keys_at_zero_that_leave_break_the_promise() -> None:
    """A stranger takes all counts of one to zero: six keys differ, and two were paid for."""
    found = facts(epsilon=1.5, delta=0.05, capacity=6, epoch=7)
    assert between("abcdef", "abcdefz", found) <= 0.05
    assert between("abcdef", "abcdefz", found, bug="forget zeros") > 0.05


def test_without_shared_noise_a_stranger_moves_every_count() -> None:
    found = facts(epsilon=1.5, delta=0.05, capacity=3, epoch=60)
    stream = "".join(item * found["threshold"] for item in "abc")
    assert between(stream, stream + "z", found) <= 0.05
    assert between(stream, stream + "z", found, bug="no shared noise") > 0.4


def test_a_sign_bit_on_the_magnitude_breaks_the_promise() -> None:
    """Zero has one sign too many, so one step there loses more than epsilon."""
    found = facts(epsilon=1.0, delta=0.05, capacity=2)

    def lost(bug: str | None) -> Any:
        noise = oracle.drawn(found["digits"], bug=bug)
        one, other = (
            oracle.published([("a", count)], noise, threshold=9, shared=False) for count in (9, 8)
        )
        return either(one, other, 1.0)

    assert lost(None) < 1e-20
    assert lost("sign bit") > 0.2


def test_a_fingerprint_swaps_names() -> None:
    """Two items that share a public fingerprint: the first gives its name to both counts."""
    found = facts(delta=1e-6, epoch=60, capacity=60)

    def sets(events: list[str], **how: Any) -> oracle.Published:
        rows = oracle.dictionary(events, **how)
        return sets_of(found, rows)

    heavy = ["a"] * 59
    one, other = [*heavy], ["b", *heavy]
    assert oracle.hockey_stick(sets(other), sets(one), 1.0) <= 1e-6
    collide = {"fingerprint": lambda item: "same"}
    assert oracle.hockey_stick(sets(other, **collide), sets(one, **collide), 1.0) > 0.99


def test_a_name_tested_against_the_sketch_tells_that_it_occurred() -> None:
    """Publishing every item seen whose cell is heavy: `b` shares the cell of a heavy `a`."""
    found = facts(delta=1e-6, epoch=60, capacity=60)

    def sets(events: list[str], *, ask_the_sketch: bool) -> oracle.Published:
        rows = oracle.dictionary(events)
        if ask_the_sketch:
            rows = [(key, len(events)) for key, _ in rows]  # one cell counts them all
        return sets_of(found, rows)

    one, other = ["a"] * 59, ["b"] + ["a"] * 59
    for ask, broken in ((False, False), (True, True)):
        delta = oracle.hockey_stick(
            sets(other, ask_the_sketch=ask), sets(one, ask_the_sketch=ask), 1.0
        )
        assert (delta > 0.9) == broken
        assert (delta <= 1e-6) != broken


@pytest.mark.parametrize("epsilon", [2**-10 * 1.001, 0.01, 0.1, 0.5, 1.0, 3.0, 8.0])
def test_a_draw_loses_epsilon_exactly(epsilon: float) -> None:
    """w_j <= e^epsilon w_(j+1), by the odds of the digits as exact rational numbers."""
    found = facts(epsilon=epsilon, delta=1e-6, capacity=4)
    below = mpmath.mpf(1)
    least = mpmath.exp(-mpmath.mpf(found["rates"][0]))
    with mpmath.workdps(120):
        for threshold in found["digits"]:
            odds = mpmath.mpf(threshold) / ((1 << 128) - threshold)
            assert odds >= least * below
            assert odds <= least * below * (1 + mpmath.mpf(2) ** -30)
            below *= odds


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12])
def test_thresholds_are_the_smallest(relation: str, epsilon: float, delta: float) -> None:
    """By the exact noise of Misra-Gries: served, and one lower not, up to 2^-20 of delta."""
    summary = facts(relation=relation, epsilon=epsilon, delta=delta, capacity=4)
    noise = oracle.drawn(summary["digits"])

    def two(excess: int) -> Any:
        """P(shared + max(own, own') >= excess)."""
        levels = range(-noise.reach, noise.reach + 1)
        return sum(noise.at(s) * (1 - (1 - noise.tail(excess - s)) ** 2) for s in levels)

    assert two(summary["threshold"] - 1) <= summary["threshold_delta"] <= delta
    assert two(summary["threshold"] - 2) > summary["threshold_delta"] * (1 - 2.0**-19)
