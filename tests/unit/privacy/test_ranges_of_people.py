"""Noise of ranges where people are bounded: docs/theory.md, Theorem 26b, on tiny streams.

What events move is computed here by definition, and so is who counts and who is a neighbour.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from tests.streams_of_people import counted, pairs
from tests.unit.privacy.test_ranges_noise import (
    BITS,
    FUNCTIONS,
    KEYS,
    WIDTH,
    Integers,
    added_to_cells,
)

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import Relation, people_changed
from lazysketch.specification.ranges import ranges_sensitivity2, sharing_rows

STEPS = 3
# Two keys of one node, one of the other node of their half, and one of the other half.
SENT = (0, 1, 3, 7)
STREAMS = tuple(itertools.product([None, *SENT], repeat=STEPS))
PEOPLE: tuple[tuple[Relation, int | None, int], ...] = (
    ("zero-out", None, 1),
    ("zero-out", 5, 2),
    ("substitution", None, 2),
    ("substitution", 5, 4),
)


def spec(
    relation: Relation, bound: ls.PersonBound, *, depth: int = BITS, steps: int = STEPS
) -> ls.TableSpec:
    return ls.TableSpec(
        kind="ranges",
        depth=depth,
        width=WIDTH,
        schedule=ls.Punctual(horizon=steps),
        epsilon=1.0,
        delta=1e-6,
        relation=relation,
        mechanism="haar",
        person_bound=bound,
    )


@cache
def compared(relation: Relation, bound: ls.PersonBound) -> tuple[list[int], list[int]]:
    """The numbers of what is counted in the two streams of each pair of neighbours."""
    numbers = {stream: number for number, stream in enumerate(STREAMS)}
    found = {
        (numbers[counted(one, bound)], numbers[counted(other, bound)])
        for one, other in pairs(relation, SENT, STEPS)
    }
    return [one for one, _ in found], [other for _, other in found]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
@pytest.mark.parametrize(
    ("events", "most_people"), [(1, None), (2, None), (3, None), (1, 1), (2, 1)]
)
def test_no_person_moves_the_queries_further_than_calibrated(
    events: int, most_people: int | None, relation: Relation, at_once: bool
) -> None:
    """All streams of three steps over four keys and two people, and all their neighbours.

    Steps are leaves of their own, or all in one leaf; there a person who goes, with all events on
    one key, attains the bound. No depth has more than its equal part, which Theorem 15 asks for.
    """
    bound = ls.PersonBound(events=events, most_people=most_people)
    noise = spec(relation, bound).noise
    over_time = strategy("haar", STEPS)
    leaves: list[int] = [1, 2, 3]
    if at_once:
        leaves = [max(leaves, key=lambda leaf: int((over_time.shift(leaf) ** 2).sum()))] * STEPS
    ones, others = compared(relation, bound)
    largest, of_a_depth = 0, 0
    for function in FUNCTIONS[::5]:
        counts = np.vstack([added_to_cells(function), np.zeros((1, BITS * WIDTH), dtype=np.int64)])
        queries = np.zeros((len(STREAMS), BITS * WIDTH, over_time.shift(1).size), dtype=np.int64)
        for number, stream in enumerate(STREAMS):
            for leaf, key in zip(leaves, stream, strict=True):
                added = counts[len(KEYS) if key is None else key]
                queries[number] += np.multiply.outer(added, over_time.shift(leaf))
        moved: Integers = ((queries[ones] - queries[others]) ** 2).sum(axis=2)
        # The halves, the two nodes of depth 1, and the row of depth 2: two cells each.
        depths = moved.reshape(-1, BITS, WIDTH).sum(axis=2)
        largest = max(largest, int(depths.sum(axis=1).max()))
        of_a_depth = max(of_a_depth, int(depths.max()))
    assert largest <= noise.l2_sensitivity**2
    assert of_a_depth <= noise.l2_sensitivity**2 / BITS
    changed = people_changed(bound, relation=relation)
    one_person = noise.l2_sensitivity**2 / changed**2
    if at_once:
        assert largest >= one_person * (1 - 1e-12)  # one who goes
        assert of_a_depth >= one_person / BITS * (1 - 1e-12)
    if events == 1 and changed > 1:
        assert largest > 1.2 * one_person, "noise for one person would be too little"


def test_substituted_events_are_no_substituted_people() -> None:
    """The same keys at another step: more than M of Theorem 26, where all depths are packed."""
    over_time = strategy("tree", 64)
    shifts = np.array([over_time.shift(leaf) for leaf in range(1, 65)], dtype=np.int64)
    alone = (shifts**2).sum(axis=1)
    apart = alone[:, None] + alone[None, :] - 2 * shifts @ shifts.T
    bound = ls.PersonBound()
    packed = ranges_sensitivity2(8, 256, "substitution")
    assert packed == 16
    assert 8 * int(apart.max()) > packed * int(alone.max())
    stated = ranges_sensitivity2(8, 256, "substitution", person_bound=bound)
    assert 8 * int(apart.max()) <= stated * int(alone.max())


def test_the_account_covers_all_draws_that_people_change() -> None:
    for relation, most_people, people in PEOPLE:
        bound = ls.PersonBound(events=7, most_people=most_people)
        made = spec(relation, bound)
        over_time = made.chosen_mechanism
        alone = BITS * over_time.sensitivity2
        assert made.noise.l2_sensitivity**2 == pytest.approx(alone * (7 * people) ** 2)
        draws = BITS * over_time.nodes_per_leaf * 7 * people
        eta = 2.0**-47 * max(made.sigma, 8.0)
        assert made.noise.epsilon_numeric == pytest.approx(2 * draws * eta, rel=1e-9)


def test_depths_share_what_people_change_equally() -> None:
    """One row for each bit, also under substitution, where events have fewer."""
    for relation, most_people, _ in PEOPLE:
        bound = ls.PersonBound(events=2, most_people=most_people)
        made = spec(relation, bound, depth=32, steps=64)
        assert made.privacy.depth == 32
        options = {"depth": 32, "width": WIDTH, "person_bound": bound}
        assert sharing_rows("ranges", relation=relation, **options) == 32  # type: ignore[arg-type]
        with ls.Ranges.from_spec(made) as counted:
            assert counted.release().parts[0].privacy == counted.privacy == made.privacy


def test_a_limit_of_cells_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="person_bound: expected cells=1 for ranges"):
        spec("zero-out", ls.PersonBound(cells=2))
