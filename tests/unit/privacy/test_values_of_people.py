"""Noise of values where people are bounded: docs/theory.md, Theorem 27, on all tiny streams.

What events move is computed here by definition, and so is who counts and who is a neighbour.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from tests.streams_of_people import counted, pairs
from tests.value_matrix import matrix

import lazysketch as ls
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import Relation, people_changed
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows, ValueTree

BINS, STEPS = 4, 3
Integers = npt.NDArray[np.int64]


def spec(
    relation: Relation, rows: ValueRows, bound: ls.PersonBound, mechanism: MechanismName
) -> ls.TableSpec:
    return ls.TableSpec(
        kind="values",
        depth=1,
        width=BINS,
        edges=tuple(range(1, BINS)),
        value_rows=rows,
        schedule=ls.Punctual(horizon=STEPS),
        epsilon=1.0,
        delta=1e-6,
        relation=relation,
        mechanism=mechanism,
        person_bound=bound,
    )


def moved_by(rows: ValueRows, over_time: Strategy, leaves: Sequence[int]) -> Integers:
    """Return what an event of each step and bin adds to all queries: (step, bin, queries)."""
    below = np.tril(np.ones((BINS, BINS), dtype=np.int64))
    added = (matrix(ValueTree(rows, BINS)) @ below).T
    return np.array(
        [[np.outer(one, over_time.shift(leaf)).ravel() for one in added] for leaf in leaves]
    )


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("rows", VALUE_ROWS)
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize(
    ("events", "most_people"), [(1, None), (2, None), (3, None), (1, 1), (2, 1)]
)
def test_no_person_moves_the_queries_further_than_calibrated(
    events: int, most_people: int | None, relation: Relation, rows: ValueRows, at_once: bool
) -> None:
    """All streams of three steps over four bins and two people, and all their neighbours.

    Steps are leaves of their own, or all in one leaf; there a person who goes attains the bound.
    """
    bound = ls.PersonBound(events=events, most_people=most_people)
    noise = spec(relation, rows, bound, "haar").noise
    over_time = strategy("haar", STEPS)
    heaviest = max(range(1, STEPS + 1), key=lambda leaf: int((over_time.shift(leaf) ** 2).sum()))
    queries = moved_by(rows, over_time, [heaviest] * STEPS if at_once else [1, 2, 3])

    def query(bins: tuple[int | None, ...]) -> Integers:
        found = np.zeros(queries.shape[2], dtype=np.int64)
        for step, value in enumerate(bins):
            if value is not None:
                found += queries[step, value]
        return found

    known = {bins: query(bins) for bins in itertools.product([None, *range(BINS)], repeat=STEPS)}
    largest = 0
    seen = set()
    for one, other in pairs(relation, range(BINS), STEPS):
        both = (counted(one, bound), counted(other, bound))
        if both not in seen:
            seen.add(both)
            shift = known[both[0]] - known[both[1]]
            largest = max(largest, int((shift**2).sum()))
    assert largest <= noise.l2_sensitivity**2
    changed = people_changed(bound, relation=relation)
    one_person = noise.l2_sensitivity**2 / changed**2
    if at_once:
        assert largest >= one_person * (1 - 1e-12)  # one who goes
    if events == 1 and changed > 1:
        assert largest > 1.2 * one_person, "noise for one person would be too little"


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_the_account_covers_all_draws_that_people_change(rows: ValueRows) -> None:
    for relation, most_people, people in (
        ("zero-out", None, 1),
        ("zero-out", 5, 2),
        ("substitution", None, 2),
        ("substitution", 5, 4),
    ):
        bound = ls.PersonBound(events=7, most_people=most_people)
        made = spec(relation, rows, bound, "haar")  # type: ignore[arg-type]
        tree, over_time = ValueTree(rows, BINS), made.chosen_mechanism
        alone = tree.sensitivity2("zero-out") * over_time.sensitivity2
        assert made.noise.l2_sensitivity**2 == pytest.approx(alone * (7 * people) ** 2)
        draws = tree.changed_nodes("zero-out") * over_time.nodes_per_leaf * 7 * people
        eta = 2.0**-47 * max(made.sigma, 8.0)
        assert made.noise.epsilon_numeric == pytest.approx(2 * draws * eta, rel=1e-9)


def test_a_limit_of_cells_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="person_bound: expected cells=1 for values"):
        spec("zero-out", "haar", ls.PersonBound(cells=2), "haar")
