"""The sensitivity of sums, by enumeration: no event moves both tables further than calibrated.

All neighbours of tiny streams are counted in tables of one row pair, with the noise of one seeded
key, so that differences of releases are exact. The worst neighbour attains the bound.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import lazysketch as ls
from lazysketch.privacy.relations import Relation
from lazysketch.sums.sums_spec import SumsSpec, sums_spec
from lazysketch.testing import seeded_key

DEPTH = 2
ITEMS = ["a", "b", "c", "d", "e"]
VALUES = [-1.0, -0.5, 0.0, 0.5, 1.0, 7.0]  # the last is beyond the bounds
Tables = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def spec_of(relation: Relation, width: int) -> SumsSpec:
    return sums_spec(
        low=-1.0,
        high=1.0,
        step=0.5,
        depth=DEPTH,
        width=width,
        relation=relation,
        epsilon=1.0,
        delta=1e-6,
        schedule=ls.Batch(horizon=1),
        hash_seed=11,
    )


@cache
def tables(relation: Relation, width: int) -> tuple[SumsSpec, list[Tables]]:
    """Both tables after each possible event; the first after none."""
    spec = spec_of(relation, width)
    found: list[Tables] = []
    for event in (None, *itertools.product(ITEMS, VALUES)):
        with ls.Sums.from_spec(spec, key=seeded_key(4)) as live:
            live.update_batch(*([], []) if event is None else ([event[0]], [event[1]]))
            counts, values = live.release().tables
            found.append((counts.table, values.table))
    return spec, found


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_no_event_moves_the_tables_further_than_calibrated(relation: Relation, width: int) -> None:
    spec, found = tables(relation, width)
    empty = found[:1] if relation == "zero-out" else found
    pairs = [(one, other) for one in empty for other in found]
    squares = [[float(((one[at] - other[at]) ** 2).sum()) for one, other in pairs] for at in (0, 1)]
    change = 4 if relation == "substitution" else 1
    assert spec.values.max_weight == 4
    assert max(squares[0]) == change * DEPTH
    assert max(squares[1]) == change * DEPTH * 4**2
    for table, square in zip((spec.counts, spec.values), squares, strict=True):
        scale = table.chosen_mechanism.sensitivity2
        assert max(square) * scale == pytest.approx(table.noise.l2_sensitivity**2)
    # One Gaussian for both: what moves, in units of the noise.
    moved = max(
        one / spec.counts.sigma**2 + other / spec.values.sigma**2
        for one, other in zip(*squares, strict=True)
    )
    scale = spec.counts.chosen_mechanism.sensitivity2
    claimed = spec.privacy.counts.mu**2 + spec.privacy.values.mu**2
    assert moved * scale == pytest.approx(claimed)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 1000), (999, 1000)])
def test_both_tables_share_the_budget(share: float, low: float, high: float) -> None:
    spec = sums_spec(low=low, high=high, epsilon=0.7, delta=1e-7, horizon=1_000, count_share=share)
    together = ls.compose(spec.counts.privacy, spec.values.privacy)
    assert together.delta_at(0.7) <= 1e-7
    assert together.epsilon_at(1e-7) > 0.69
    ratio = spec.privacy.counts.mu**2 / (spec.privacy.counts.mu**2 + spec.privacy.values.mu**2)
    assert ratio == pytest.approx(share, rel=0.02)


def test_the_usual_share_has_the_least_noise_of_sums() -> None:
    """Predicted by formula: of several shares, measured by the noise of the combined table."""
    for low, high in ((0.0, 10.0), (5.0, 10.0)):
        noise = {
            share: ls.Sums(
                low=low, high=high, epsilon=1.0, delta=1e-6, horizon=100, count_share=share
            )
            .release()
            .noise_deviation.max()
            for share in (None, 0.3, 0.5, 0.7)
        }
        assert noise[None] <= 1.001 * min(noise.values())


def test_counting_from_the_middle_halves_the_noise() -> None:
    """A table of values from 0 to n would have weights up to n, twice those from the middle."""
    spec = sums_spec(low=0, high=10, step=1, epsilon=1.0, delta=1e-6, horizon=100)
    assert spec.values.max_weight * spec.grid.unit == 5.0
