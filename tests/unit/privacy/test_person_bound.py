"""What a bound of people says in words."""

from __future__ import annotations

from typing import Any

import pytest

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError
from lazysketch.privacy.person_bound import (
    CountedEvents,
    CountedOnce,
    CountedPerson,
    PersonBound,
    bounds_in_words,
)

NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "horizon": 100}
TABLE: dict[str, Any] = {"depth": 2, "width": 8}
PART = ls.Part(ls.LazyCountMin, "page", **TABLE)
TAKE_A_BOUND: dict[str, Any] = {
    "sketch": lambda it: ls.LazyCountMin(**TABLE, **NOISE, person_bound=it),
    "spec": lambda it: ls.TableSpec(
        kind="count-min", schedule=ls.Geometric(), **TABLE, epsilon=1, delta=1e-6, person_bound=it
    ),
    "hitters": lambda it: ls.HeavyHitters(share=0.1, **NOISE, person_bound=it),
    "levels": lambda it: ls.HierarchicalHeavyHitters(
        ls.ipv4_prefixes((8, 32)), share=0.1, **TABLE, **NOISE, person_bound=it
    ),
    "a level": lambda it: ls.HierarchicalHeavyHitters(
        ls.ipv4_prefixes((8, 32)), share=0.1, **TABLE, **NOISE, person_bound=[PersonBound(), it]
    ),
    "windows": lambda it: ls.Windows(every=10, share=0.1, epsilon=1, delta=1e-6, person_bound=it),
    "values": lambda it: ls.Distribution(bins=ls.Bins.linear(0, 9), **NOISE, person_bound=it),
    "ranges": lambda it: ls.Ranges(bits=6, width=8, **NOISE, person_bound=it),
    "sums": lambda it: ls.Sums(low=0, high=9, **NOISE, person_bound=it),
    "pipeline": lambda it: ls.Pipeline({"a": PART}, user="user", **NOISE, person_bound=it),
    "part": lambda it: ls.Pipeline({"a": PART.changed(person_bound=it)}, user="user", **NOISE),
}


@pytest.mark.parametrize("stated", [CountedOnce(), CountedPerson(), CountedEvents(events=2)])
@pytest.mark.parametrize("name", TAKE_A_BOUND)
def test_what_a_statistic_says_is_no_bound(name: str, stated: PersonBound) -> None:
    """A sketch would count one event in one cell, and promise all events of an item, or more."""
    assert TAKE_A_BOUND[name](PersonBound(events=2)).privacy.person_bound is not None
    expected = f"person_bound: expected a PersonBound or None, got {type(stated).__name__}, which"
    with pytest.raises(ArgumentTypeError, match=expected):
        TAKE_A_BOUND[name](stated)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (PersonBound(cells=1), "of whom 1 event in 1 cell of every sketch row are counted"),
        (
            PersonBound(cells=1_000, events=2, most_people=5_000),
            (
                "of whom 2 events in each of 1,000 cells of every sketch row are counted, of the "
                "first 5,000 people"
            ),
        ),
    ],
)
def test_a_bound_names_its_cells_its_events_and_its_limit(
    bound: PersonBound, expected: str
) -> None:
    assert bounds_in_words((bound,)) == expected
    assert bounds_in_words((bound, bound)) == expected
