"""Sensitivity by enumeration: no pair of neighbours is further apart than (epsilon, delta) allows.

Small tables, every pattern of cells that an item can have, every step of an event, every schedule
and relation. Two tables under one seeded key that are fed neighbouring streams differ, release by
release, by exactly the change that the event made. Mapped through U in exact integers, this is the
distance mu of the two joint distributions in deviations. Exact: no false alarms.

Detects: a wrong sensitivity, level, scale or schedule in the calibration, in either direction.
Cannot detect: draws of another distribution (:mod:`lazysketch.audit.residuals` does).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case, places
from lazysketch.audit.finding import Outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.audit.system_under_test import SystemUnderTest

__all__ = ["moved_nodes", "patterns", "sensitivity_by_enumeration", "worst_pair"]

_TRIED = 400  # items, enough to find every pattern of a small table


def patterns(case: Case, hash_seed: int) -> list[int]:
    """Return one item for each pattern of cells and signs that occurs.

    Args:
        case: kind and shape, small.
        hash_seed: public seed of the hash.

    Returns:
        Items; for counters, all counters.
    """
    tried = case.spec.width if case.spec.kind == "counters" else _TRIED
    found: dict[object, int] = {}
    for item in range(tried):
        found.setdefault(places(case, hash_seed, item), item)
    return list(found.values())


def worst_pair(case: Case, hash_seed: int) -> tuple[int, int]:
    """Return two items whose tables are as far apart as possible.

    Args:
        case: kind and shape, small.
        hash_seed: public seed of the hash.

    Returns:
        For the Count Sketch, items that collide with flipped signs in every row.
    """
    width = case.spec.width

    def table(item: int) -> Integers:
        cells = np.zeros(case.cells, dtype=np.int64)
        for row, column, sign in places(case, hash_seed, item):
            cells[row * width + column] += sign
        return cells

    tables = {item: table(item) for item in patterns(case, hash_seed)}
    return max(
        itertools.permutations(tables, 2),
        key=lambda pair: int(((tables[pair[0]] - tables[pair[1]]) ** 2).sum()),
    )


def sensitivity_by_enumeration(system: SystemUnderTest, case: Case) -> Outcome:
    """Check the distance of every pair of neighbours of a small table.

    Args:
        system: the system under test.
        case: small, with a horizon of a few steps; ``max_weight`` and
            ``max_events_per_user`` are attained.

    Returns:
        Passed if the largest distance is at most the claimed mu and, if all steps up to the
        horizon were tried, at least 0.99 of it: neither too little noise nor too much.
    """
    hash_seed = 1
    live = system.open(case, hash_seed=hash_seed, seed=1, sketch_id=bytes(16))
    matrices = strategy(live.mechanism, case.leaves)
    horizon = case.spec.schedule.horizon
    steps = min(horizon or 14, 14)
    items = patterns(case, hash_seed)
    group = case.spec.max_events_per_user
    largest, cases = 0, 0
    for at in itertools.combinations(range(1, steps + 1), group):
        moved = [_moved(system, case, matrices, item, at=at, steps=steps) for item in items]
        if case.spec.relation == "substitution":
            gram = _gram(moved)
            own = np.diag(gram)
            squares = own[:, None] + own[None, :] - 2 * gram
        else:
            squares = np.diag(_gram(moved))
        largest, cases = max(largest, int(squares.max())), cases + squares.size
    attained = float(np.sqrt(largest)) / live.sigma
    mu = case.mu
    complete = horizon is not None and steps == horizon
    return Outcome(
        claim=f"every pair of neighbours is within mu = {mu:.4f}",
        observed=f"largest distance {attained:.4f}" + (" (attained)" if complete else ""),
        samples=cases,
        passed=attained <= mu and (not complete or attained > 0.99 * mu),
        figures={"mu_claimed": mu, "mu_attained": attained},
    )


def _gram(moved: list[Integers]) -> Integers:
    stacked = np.array(moved)
    products: Integers = stacked @ stacked.T
    return products


def _moved(
    system: SystemUnderTest,
    case: Case,
    matrices: Strategy,
    item: int,
    *,
    at: tuple[int, ...],
    steps: int,
) -> Integers:
    """The change that an item's events make to every node of every cell."""
    difference = _transcript(system, case, item, at=at, steps=steps) - _transcript(
        system, case, NO_EVENT, at=(), steps=steps
    )
    return moved_nodes(case, matrices, difference)


def moved_nodes(case: Case, matrices: Strategy, difference: Integers) -> Integers:
    """Return the change of every node's exact sum that two streams under one key differ by.

    Args:
        case: the table.
        matrices: its mechanism.
        difference: the one's releases less the other's after each step, shape (steps, cells).

    Returns:
        U times the difference of the published counts, for all cells.
    """
    nodes = np.zeros((case.cells, _shift(matrices, 1).size), dtype=np.int64)
    for cell, push, jump in _jumps(case, difference, len(difference)):
        nodes[cell] += jump * _shift(matrices, push)
    return nodes.ravel()


_SHIFTS: dict[tuple[Strategy, int], Integers] = {}


def _shift(matrices: Strategy, push: int) -> Integers:
    if (matrices, push) not in _SHIFTS:
        _SHIFTS[matrices, push] = matrices.shift(push)
    return _SHIFTS[matrices, push]


def _jumps(case: Case, difference: Integers, steps: int) -> Iterator[tuple[int, int, int]]:
    """Yield (cell, push, change) wherever the difference of two transcripts changes."""
    changes = np.diff(difference[:steps], axis=0, prepend=np.zeros((1, case.cells), dtype=np.int64))
    for row in np.flatnonzero(changes.any(axis=1)).tolist():
        pushes, _ = case.progress(row + 1)
        for cell in np.flatnonzero(changes[row]).tolist():
            yield cell, int(pushes[cell % case.spec.width]), int(changes[row, cell])


_TRANSCRIPTS: dict[object, Integers] = {}


def _transcript(
    system: SystemUnderTest,
    case: Case,
    item: int,
    *,
    at: tuple[int, ...],
    steps: int,
) -> Integers:
    """The releases after every step of one stream under the seeded key, shape (steps, cells)."""
    known = (system.name, case, steps) if item == NO_EVENT else None
    if known is not None and known in _TRANSCRIPTS:
        return _TRANSCRIPTS[known]
    live = system.open(case, hash_seed=1, seed=1, sketch_id=bytes(16))
    rows = []
    for step in range(1, steps + 1):
        taken = np.array([item if step in at else NO_EVENT])
        live.feed(taken, weight=case.spec.max_weight)
        rows.append(np.asarray(live.read()).ravel())
    found: Integers = np.array(rows).astype(np.int64)
    if known is not None:
        _TRANSCRIPTS.clear()
        _TRANSCRIPTS[known] = found
    return found
