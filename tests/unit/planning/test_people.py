"""Bounds of people: what is dropped against brute force, the choice, and predictions against runs.

The rule itself is tested in the core and in tests/unit/sketches/test_people.py; here, that planning
asks it, weighs it against the noise, and says both parts.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.oracle import people as oracle

import lazysketch as ls
from lazysketch import testing
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError
from lazysketch.planning import bounding
from lazysketch.planning.people import PublicPeople
from lazysketch.planning.request import request_of

PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}


def visits(seed: int, *, people: int) -> tuple[np.ndarray, np.ndarray]:
    """Events of people, of whom a few have very many."""
    random = np.random.default_rng(seed)
    number = np.minimum(random.pareto(1.5, people) * 4 + 1, 500).astype(int)
    user = np.repeat(np.arange(people), number)
    shares = np.arange(1, 301) ** -1.0
    items = random.choice(300, len(user), p=shares / shares.sum())
    order = random.permutation(len(user))
    return items[order], user[order]


def counted_by_hand(
    items: list[str], user: list[str], *, cells: int, events: int, **shape: int
) -> Counter[str]:
    """What the oracle counts of each item."""

    @functools.cache
    def columns(item: Hashable) -> list[int]:
        exact = ls.CountMin(**shape)
        exact.update(item)
        return [int(row.argmax()) for row in exact.table]

    table = oracle.Table(columns, cells=cells, events=events)
    decided = oracle.counted([table], user, [(item,) for item in items])
    return Counter(item for item, is_counted in zip(items, decided, strict=True) if is_counted)


@pytest.mark.parametrize(("cells", "events"), [(1, 1), (2, 1), (3, 2), (1, 4), (8, 8)])
def test_what_is_dropped_is_what_the_rule_drops(cells: int, events: int) -> None:
    """In a narrow table, where the items of a person collide all the time."""
    random = np.random.default_rng(cells)
    items = [f"page {value}" for value in random.integers(0, 9, 300)]
    user = [f"client {value}" for value in random.integers(0, 12, 300)]
    people = PublicPeople.of(items, user, None, share=0.05)
    seeds = [
        counted_by_hand(items, user, cells=cells, events=events, depth=3, width=5, hash_seed=seed)
        for seed in range(4)
    ]
    found = people.counted(ls.PersonBound(cells, events), depth=3, width=5)
    totals = Counter(items)
    mean = {item: np.mean([each[item] for each in seeds]) for item in totals}
    of_items = [1 - mean[item] / total for item, total in totals.items()]
    assert found.dropped == pytest.approx(1 - sum(mean.values()) / len(items))
    assert found.dropped_of_top == pytest.approx(np.mean(of_items))  # all nine are top items
    assert found.worst_of_top == pytest.approx(max(of_items))
    names = list(dict.fromkeys(items))
    assert found.of_each.tolist() == [seeds[0][name] for name in names]


def test_without_collisions_the_wrong_rule_would_drop_less() -> None:
    """A bound of items, which the noise does not cover, counts more: the two are told apart."""
    items, user = ["a", "b", "c", "d"] * 50, [person for person in range(50) for _ in range(4)]
    people = PublicPeople.of(items, user, None, share=0.05)
    narrow = people.counted(ls.PersonBound(4), depth=2, width=4)
    wide = people.counted(ls.PersonBound(4), depth=2, width=1 << 16)
    assert narrow.dropped > 0.1
    assert wide.dropped == 0


def test_the_bound_has_the_least_error_of_all_that_are_tried() -> None:
    items, user = visits(2, people=40)
    request = request_of(
        **dict.fromkeys(("events_per_second", "duration", "horizon", "mean_weight")),
        **dict.fromkeys(("kind", "relative_error", "memory", "skew", "distinct")),
        steps=20_000,
        relation="substitution",
        max_weight=1,
        max_events_per_user=1,
        share=0.02,
        confidence=0.95,
        sample=items.tolist(),
        user=user.tolist(),
        reads="end",
        **PROMISE,
    )
    assert request.people is not None
    plain = replace(request, people=None)
    choice = bounding.bounded(plain, request.people)
    design = choice.design
    table = bounding._Table(plain, request.people, depth=design.depth, width=design.width)
    every = {bound: table.scored(bound, design).error for bound in table._grid()}
    assert len(every) > 30
    own = next(each for each in choice.bounds if each.is_chosen)
    assert own.error == pytest.approx(min(every.values()))
    assert every[ls.PersonBound(own.cells, own.events)] == own.error
    # Both parts move the choice: it is neither the least noise nor the least that is dropped.
    assert min(own.cells, own.dropped) > 0
    assert own.noise_deviation > min(each.noise_deviation for each in choice.bounds)


def test_noise_is_that_of_the_sketch_and_grows_with_the_root_of_the_cells() -> None:
    items, user = visits(3, people=100)
    plan = ls.plan(steps=30_000, sample=items, user=user, reads="end", kind="count-min", **PROMISE)
    assert plan.person_bound is not None
    for each in plan.bounds:
        bound = ls.PersonBound(each.cells, each.events)
        spec = replace(plan.spec, person_bound=bound)
        variance = spec.chosen_mechanism.variances(np.array([1]))[0]
        assert each.noise_deviation == pytest.approx(spec.sigma * math.sqrt(variance), rel=0.02)
    with plan.sketch() as sketch:
        assert "per person" in str(sketch.privacy)
        assert sketch.spec.person_bound == plan.person_bound


def test_predictions_agree_with_runs_over_other_people() -> None:
    """Another stream of the same distribution: both parts together, to within a quarter."""
    (items, user), (sample, people) = visits(11, people=3_000), visits(1, people=3_000)
    plan = ls.plan(
        steps=len(items),
        sample=sample,
        user=people,
        share=0.05,
        kind="count-min",
        reads="end",
        epsilon=2.0,
        delta=1e-6,
    )
    true = np.bincount(items)
    near = np.argsort(np.abs(np.log(true / plan.predicted.count)))[:4]
    errors, missing = [], []
    for run in range(6):
        key = testing.seeded_key(run, sketch_id=bytes([run + 1] * 16))
        with plan.sketch(key=key) as sketch:
            sketch.update_many(items, user=user)
            sketch.finish()
            answer = sketch.release().interval_many(near, at="now")
        relative = plan.predicted.count / true[near]
        errors.append((np.abs(answer.estimate - true[near]) * relative).mean())
        missing.append(((true[near] - answer.estimate) * relative).mean())
    predicted = plan.predicted
    assert predicted.bias > 0.1 * predicted.count
    assert np.mean(missing) == pytest.approx(predicted.bias, rel=0.25)
    assert np.mean(errors) == pytest.approx(predicted.typical_error, rel=0.25)
    assert predicted.relative_error == pytest.approx(
        (predicted.bias + predicted.interval_half_width) / predicted.count
    )


def test_people_with_one_event_each_lose_nothing() -> None:
    plan = ls.plan(steps=10**6, sample=["a", "b"] * 500, user=range(1_000), **PROMISE)
    assert plan.person_bound == ls.PersonBound(cells=1, events=1)
    assert plan.predicted.bias == 0
    alone = ls.plan(steps=10**6, sample=["a", "b"] * 500, **PROMISE)
    assert plan.predicted.noise_deviation >= alone.predicted.noise_deviation


def test_a_target_counts_what_is_dropped() -> None:
    items, user = visits(1, people=200)
    of: dict[str, Any] = {"sample": items, "user": user, "steps": 10**6, "share": 0.05}
    of |= {"kind": "count-min", "reads": "end"}
    found = ls.plan(**of, relative_error=0.4, **PROMISE)
    assert found.predicted.relative_error <= 0.4
    assert found.predicted.bias > 0
    pattern = "relative_error: expected .* of its count at best, of which 0.* beyond the bound"
    with pytest.raises(ArgumentValueError, match=pattern):
        ls.plan(**of, relative_error=0.01, **PROMISE)


def test_weights_count_for_what_is_dropped() -> None:
    """Heavy events come first here, and light ones are dropped: fewer counts than events."""
    items, user, weights = ["a", "b", "b", "b"] * 100, np.repeat(range(100), 4), [30, 1, 1, 1] * 100
    of: dict[str, Any] = {"sample": items, "user": user, "steps": 10**6, "epsilon": 0.1}
    weighed = ls.plan(**of, weights=weights, max_weight=30, delta=1e-6)
    row = next(each for each in weighed.bounds if (each.cells, each.events) == (2, 1))
    assert row.dropped == pytest.approx(200 / 3_300)
    assert row.dropped_of_top == pytest.approx((0 + 200 / 300) / 2)
    assert weighed.predicted.count == pytest.approx(0.01 * 10**6 * 33 / 4)


def test_the_plan_says_both_parts_and_how_long_the_sample_has_to_be() -> None:
    items, user = visits(1, people=100)
    plan = ls.plan(steps=10**6, sample=items, user=user, kind="count-min", reads="end", **PROMISE)
    said = plan.explain()
    own = next(each for each in plan.bounds if each.is_chosen)
    assert f"{own.bias:,.0f} (dropped of an item, which no interval shows)" in said
    assert f"{own.dropped:.1%} of all events are dropped" in said
    assert f"{len(items):,} events of {len(set(user.tolist())):,} people" in said
    assert "for as long as the run lasts" in said
    assert "the sample must be public" in said
    assert plan.command() is not None
    assert f"--user FIELD --cells {own.cells} --per-cell {own.events}" in str(plan.command())
    assert plan.to_dict()["person_bound"] == {
        "cells": own.cells,
        "events": own.events,
        "most_people": None,
    }
    assert ls.plan(steps=10**6, **PROMISE).explain_bound() == ""


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"user": [1, 2]}, ArgumentTypeError, "user: .* got no sample"),
        ({"sample": {"a": 2}, "user": [1]}, ArgumentTypeError, "sample: expected items with user"),
        ({"sample": [], "user": []}, ArgumentValueError, "sample: .* at least one event, got none"),
        ({"sample": ["a"], "user": [1, 2]}, ArgumentValueError, r"user: .* \(1\), got 2"),
        ({"sample": ["a", "b"], "user": [1, 1]}, ArgumentValueError, "user: .* got one person"),
        ({"sample": ["a", "b"], "user": [1, None]}, ItemError, "user: "),
        ({"sample": ["a", None], "user": [1, 2]}, ItemError, "sample: "),
        ({"sample": ["a"], "weights": [1]}, ArgumentTypeError, "weights: expected user too"),
        (
            {"sample": ["a", "b"], "user": [1, 2], "weights": [1]},
            ArgumentValueError,
            r"weights: expected one per item of the sample \(2\), got 1",
        ),
        (
            {"sample": ["a", "b"], "user": [1, 2], "weights": [1, 9], "max_weight": 8},
            ArgumentValueError,
            "weights: expected at most max_weight, 8",
        ),
        (
            {"sample": ["a", "b"], "user": [1, 2], "max_events_per_user": 3},
            ArgumentValueError,
            "max_events_per_user: expected 1 with user",
        ),
    ],
)
def test_wrong_samples_are_refused_by_name(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ls.plan(steps=10**6, **arguments, **PROMISE)
