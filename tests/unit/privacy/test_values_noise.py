"""Noise of a distribution of values: docs/theory.md, Theorem 24.

Rows over bins and over time are read as constants; everything else is computed here by definition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy import signal, special
from tests.value_matrix import matrix

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.privacy.relations import Relation
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows, ValueTree

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Stream = Sequence[int]
BINS, STEPS = 4, 4
EMPTY = -1
STREAMS = list(itertools.product([EMPTY, *range(BINS)], repeat=STEPS))


def spec(
    relation: Relation,
    rows: ValueRows,
    mechanism: MechanismName = "haar",
    *,
    bins: int = BINS,
    steps: int = STEPS,
    epsilon: float = 1.0,
    delta: float = 1e-6,
) -> ls.TableSpec:
    return ls.TableSpec(
        kind="values",
        depth=1,
        width=bins,
        edges=tuple(range(1, bins)),
        value_rows=rows,
        schedule=ls.Punctual(horizon=steps),
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
    )


def added_to_nodes(rows: ValueRows, bins: int = BINS) -> Integers:
    """Return what an event of each bin adds to every node, shape (bins, nodes)."""
    below = np.tril(np.ones((bins, bins), dtype=np.int64))  # the prefixes that a bin is in
    return (matrix(ValueTree(rows, bins)) @ below).T


def queries(stream: Stream, rows: ValueRows, mechanism: MechanismName) -> Integers:
    """Return all queries that get noise: of each node over bins, those of its tree over time."""
    added, over_time = added_to_nodes(rows), strategy(mechanism, STEPS)
    found = np.zeros((BINS, len(over_time.shift(1))), dtype=np.int64)
    for leaf, value in enumerate(stream, start=1):
        if value != EMPTY:
            found += np.outer(added[value], over_time.shift(leaf))
    return found


@pytest.mark.parametrize("mechanism", ["haar", "tree"])
@pytest.mark.parametrize("rows", VALUE_ROWS)
@pytest.mark.parametrize("relation", ["zero-out", "substitution"])
def test_no_event_moves_the_queries_further_than_calibrated(
    relation: Relation, rows: ValueRows, mechanism: MechanismName
) -> None:
    """All streams of four steps over four bins, and all their neighbours; the bound is attained."""
    noise = spec(relation, rows, mechanism).noise
    changed = ValueTree(rows, BINS).changed_nodes(relation)
    known = {stream: queries(stream, rows, mechanism) for stream in STREAMS}
    largest = most = 0
    for stream in STREAMS:
        for step, value in enumerate(stream):
            others = [EMPTY] if relation == "zero-out" else [EMPTY, *range(BINS)]
            for other in others:
                neighbour = (*stream[:step], other, *stream[step + 1 :])
                if value == EMPTY or other == value:
                    continue
                shift = known[stream] - known[neighbour]
                largest = max(largest, int((shift**2).sum()))
                most = max(most, int(shift.any(axis=1).sum()))
    # The root is rounded up.
    assert largest <= noise.l2_sensitivity**2 <= largest * (1 + 1e-15)
    assert most <= changed


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_an_event_that_is_replaced_costs_more_than_one_that_goes(rows: ValueRows) -> None:
    """By all pairs of bins: noise for zero-out would be too little by a third or more."""
    for bins in (4, 8, 32, 128):
        added = added_to_nodes(rows, bins)
        moves = added[:, None, :] - added[None, :, :]
        largest = int((moves**2).sum(axis=2).max())
        alone = int((added**2).sum(axis=1).max())
        tree = ValueTree(rows, bins)
        assert tree.sensitivity2("substitution") == max(largest, alone)
        assert tree.sensitivity2("zero-out") == alone
        assert int((moves != 0).sum(axis=2).max()) <= tree.changed_nodes("substitution")
        assert bins < 8 or largest > 1.3 * alone


GRID = 1e-4


def losses_of(sigma: float, step: int) -> tuple[Floats, int]:
    """Return the law of the privacy loss of a draw that moves by a step, on a grid, and its start.

    Losses are rounded up; draws beyond 8 sigma are left out.
    """
    reach = math.ceil(8 * sigma)
    place = np.abs(np.arange(-reach, reach + step + 1))
    mass = special.ndtr(-(place - 0.5) / sigma) - special.ndtr(-(place + 0.5) / sigma)
    own, other = mass[: 2 * reach + 1], mass[step:]
    loss = np.ceil(np.log(own / other) / GRID).astype(np.int64)
    first = int(loss.min())
    law: Floats = np.bincount(loss - first, weights=own).astype(np.float64)
    return law, first


def delta_of(sigma: float, shift: Integers, epsilon: float) -> float:
    """Return delta of independent rounded Gaussians that move by an integer vector."""
    law, first = np.ones(1), 0
    for step in (abs(int(entry)) for entry in shift.ravel() if entry):
        one, start = losses_of(sigma, step)
        law, first = signal.fftconvolve(law, one), first + start
    loss = GRID * (first + np.arange(len(law)))
    gain = np.maximum(0.0, -np.expm1(np.minimum(epsilon - loss, 0.0)))
    return float(law @ gain)


@pytest.mark.parametrize("rows", VALUE_ROWS)
def test_the_worst_replacement_keeps_delta_and_noise_for_zero_out_does_not(rows: ValueRows) -> None:
    """With the exact law of integer noise: the entries of the shift are larger than 1."""
    epsilon, delta = 1.0, 1e-3
    one = spec("substitution", rows, bins=8, steps=1, epsilon=epsilon, delta=delta)
    alone = spec("zero-out", rows, bins=8, steps=1, epsilon=epsilon, delta=delta)
    added = added_to_nodes(rows, 8)
    over_time = strategy("haar", 1).shift(1)
    shifts = [np.outer(a - b, over_time) for a, b in itertools.combinations(added, 2)]
    worst = max(shifts, key=lambda shift: int((shift**2).sum()))
    assert 0.8 * delta < delta_of(one.noise.sigma, worst, epsilon) <= delta
    assert delta_of(alone.noise.sigma, worst, epsilon) > 2 * delta
