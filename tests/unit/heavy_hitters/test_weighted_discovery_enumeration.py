"""Exact privacy of discovery that counts weights, for all neighbouring streams over tiny universes.

As test_discovery_enumeration.py, with events of weights 1 to 3 of which 2 count; also two events of
one person, and larger sums next to the threshold. (docs/theory.md, Theorem 11a)
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import mpmath
import pytest
from tests.oracle import discovery as oracle
from tests.unit.heavy_hitters.test_discovery_enumeration import either, facts, order, sets_of

COUNTED, LARGEST = 2, 3
EVENTS = tuple(itertools.product("ab", range(1, LARGEST + 1)))


def described(**changes: Any) -> dict[str, Any]:
    asked = {
        "epsilon": 2.0, "epoch": 3, "capacity": 3, "max_weight": LARGEST, "counted_weight": COUNTED,
    }  # fmt: skip
    return facts(**(asked | changes))


def rows_of(found: dict[str, Any], events: Any, *, bug: str | None = None) -> list[oracle.Row]:
    """The table after events, with its counts as the law takes them."""
    weights = oracle.counted_weights(events, most=COUNTED, bug=bug)
    if found["variant"] == "misra-gries":
        return oracle.misra_gries(weights, counters=found["slots"], order=order)
    return oracle.in_units(oracle.dictionary(weights), unit=COUNTED, bug=bug)


def worst(found: dict[str, Any], *, bug: str | None = None) -> Any:
    """Return the true delta at the guaranteed epsilon, over all pairs of neighbouring streams."""

    @cache
    def sets(table: tuple[oracle.Row, ...]) -> oracle.Published:
        return sets_of(found, table)

    def table(stream: oracle.Stream) -> tuple[oracle.Row, ...]:
        return tuple(sorted(rows_of(found, stream, bug=bug), key=lambda row: order(row[0])))

    pairs = {
        (table(one), table(other))
        for one, other in oracle.neighbours(found["epoch"], EVENTS, relation=found["relation"])
    }
    return max(either(sets(one), sets(other), found["epsilon"]) for one, other in pairs)


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize(
    ("variant", "capacity"), [("dictionary", 3), ("misra-gries", 1), ("misra-gries", 2)]
)
def test_weighted_events_are_as_private_as_promised(
    relation: str, variant: str, capacity: int
) -> None:
    found = described(relation=relation, capacity=capacity)
    assert found["variant"] == variant
    assert 0 < worst(found) <= found["delta"]


@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_the_dictionary_gives_no_delta_away(relation: str) -> None:
    """One event of the largest weight has the whole of delta, and no more."""
    found = described(relation=relation, epsilon=1.0)
    assert worst(found) > 0.999 * mpmath.mpf(found["delta"])


@pytest.mark.parametrize("bug", ["not cut", "a weight is a unit"])
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_weights_that_count_too_much_break_the_promise(relation: str, bug: str) -> None:
    assert worst(described(relation=relation), bug=bug) > 0.05


def test_a_whole_weight_breaks_the_promise_of_misra_gries() -> None:
    assert worst(described(relation="zero-out", capacity=1, delta=0.01), bug="not cut") > 0.01


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_sums_of_every_size_are_as_private_as_promised(relation: str, group: int) -> None:
    """Two names with any two sums, of which one person takes and adds at most `group` units."""
    found = described(relation=relation, max_events_per_user=group, epsilon=3.0, delta=0.01)
    reach = range(COUNTED * (len(found["probabilities"]) + 1))
    most = COUNTED * group
    changes = [(0, up) for up in range(1, most + 1)]
    changes += [(one, most - COUNTED) for one in range(1, COUNTED + 1)]
    if relation == "substitution":
        changes = [(-down, up) for down in (1, COUNTED, most) for up in (1, COUNTED, most)]

    @cache
    def sets(a: int, b: int) -> oracle.Published:
        return sets_of(found, oracle.in_units([("a", a), ("b", b)], unit=COUNTED))

    true = mpmath.mpf(0)
    for a, b in itertools.product(reach, repeat=2):
        for one, other in changes:
            if a + one >= 0:
                true = max(true, either(sets(a, b), sets(a + one, b + other), 3.0))
    assert 0.0099 < true <= 0.01
