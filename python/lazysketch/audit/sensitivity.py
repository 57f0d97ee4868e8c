"""Sensitivity by enumeration: no pair of neighbours is further apart than (epsilon, delta) allows.

Small tables, every pattern of cells that an item can have, every step of an event, every schedule
and relation. Two tables under one seeded key that take neighbouring streams differ, release for
release, by exactly what the event moved; mapped through U in exact integers this is the distance mu
of the two joint laws in deviations. Exact: no false alarms.

Sees: a sensitivity, level, scale or schedule that the calibration got wrong, in either direction.
Cannot see: draws whose law is not the stated one (:mod:`lazysketch.audit.residuals` does).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from lazysketch.audit.configuration import NO_EVENT, Configuration, places
from lazysketch.audit.finding import Outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.audit.system_under_test import Subject

__all__ = ["sensitivity_by_enumeration", "worst_pair"]

_TRIED = 400  # items looked at for all patterns


def patterns(configuration: Configuration, hash_seed: int) -> list[int]:
    """Return one item for each pattern of cells and signs that occurs.

    Args:
        configuration: kind and shape, small.
        hash_seed: public seed of the hash.

    Returns:
        Items; the counters themselves.
    """
    tried = configuration.width if configuration.kind == "counters" else _TRIED
    found: dict[object, int] = {}
    for item in range(tried):
        found.setdefault(places(configuration, hash_seed, item), item)
    return list(found.values())


def worst_pair(configuration: Configuration, hash_seed: int) -> tuple[int, int]:
    """Return two items that move the table as far apart as one event can.

    Args:
        configuration: kind and shape, small.
        hash_seed: public seed of the hash.

    Returns:
        For the Count Sketch, items that collide with flipped signs in every row.
    """
    width = configuration.width

    def table(item: int) -> Integers:
        cells = np.zeros(configuration.cells, dtype=np.int64)
        for row, column, sign in places(configuration, hash_seed, item):
            cells[row * width + column] += sign
        return cells

    tables = {item: table(item) for item in patterns(configuration, hash_seed)}
    return max(
        itertools.permutations(tables, 2),
        key=lambda pair: int(((tables[pair[0]] - tables[pair[1]]) ** 2).sum()),
    )


def sensitivity_by_enumeration(subject: Subject, configuration: Configuration) -> Outcome:
    """Check the distance of every pair of neighbours of a small table.

    Args:
        subject: what makes the tables.
        configuration: small, with a horizon of a few steps; ``max_weight`` and
            ``max_events_per_user`` are used to the full.

    Returns:
        Passed if the largest distance is at most the claimed mu, and, where the whole life of
        the table was seen, at least 0.99 of it: neither too little noise nor too much.
    """
    hash_seed = 1
    machine = subject.open(configuration, hash_seed=hash_seed, seed=1, sketch_id=bytes(16))
    of = strategy(machine.mechanism, configuration.leaves)
    horizon = configuration.schedule.horizon
    steps = min(horizon or 14, 14)
    items = patterns(configuration, hash_seed)
    group = configuration.max_events_per_user
    largest, cases = 0, 0
    for at in itertools.combinations(range(1, steps + 1), group):
        moved = [_moved(subject, configuration, of, item, at=at, steps=steps) for item in items]
        if configuration.relation == "substitution":
            gram = _gram(moved)
            own = np.diag(gram)
            squares = own[:, None] + own[None, :] - 2 * gram
        else:
            squares = np.diag(_gram(moved))
        largest, cases = max(largest, int(squares.max())), cases + squares.size
    attained = float(np.sqrt(largest)) / machine.sigma
    mu = configuration.mu
    whole = horizon is not None and steps == horizon
    return Outcome(
        claim=f"every pair of neighbours is within mu = {mu:.4f}",
        observed=f"largest distance {attained:.4f}" + (" (attained)" if whole else ""),
        samples=cases,
        passed=attained <= mu and (not whole or attained > 0.99 * mu),
        figures={"mu_claimed": mu, "mu_attained": attained},
    )


def _gram(moved: list[Integers]) -> Integers:
    stacked = np.array(moved)
    products: Integers = stacked @ stacked.T
    return products


def _moved(
    subject: Subject,
    configuration: Configuration,
    of: Strategy,
    item: int,
    *,
    at: tuple[int, ...],
    steps: int,
) -> Integers:
    """What an item's events move, node by node and cell by cell, against a stream without them."""
    difference = _transcript(subject, configuration, item, at=at, steps=steps) - _transcript(
        subject, configuration, NO_EVENT, at=(), steps=steps
    )
    nodes = np.zeros((configuration.cells, of.nodes), dtype=np.int64)
    for cell, push, jump in _jumps(configuration, difference, steps):
        nodes[cell] += jump * _shift(of, push)
    return nodes.ravel()


_SHIFTS: dict[tuple[Strategy, int], Integers] = {}


def _shift(of: Strategy, push: int) -> Integers:
    if (of, push) not in _SHIFTS:
        _SHIFTS[of, push] = of.shift(push)
    return _SHIFTS[of, push]


def _jumps(
    configuration: Configuration, difference: Integers, steps: int
) -> Iterator[tuple[int, int, int]]:
    """(cell, push, change) wherever the difference of two transcripts changes."""
    before = np.zeros(configuration.cells, dtype=np.int64)
    for step in range(1, steps + 1):
        pushes, _ = configuration.progress(step)
        now = difference[step - 1]
        for cell in np.flatnonzero(now != before):
            yield int(cell), int(pushes[cell % configuration.width]), int(now[cell] - before[cell])
        before = now


_TRANSCRIPTS: dict[object, Integers] = {}


def _transcript(
    subject: Subject,
    configuration: Configuration,
    item: int,
    *,
    at: tuple[int, ...],
    steps: int,
) -> Integers:
    """All releases of one stream under the seeded key, shape (steps, cells)."""
    known = (subject.name, configuration, steps) if item == NO_EVENT else None
    if known is not None and known in _TRANSCRIPTS:
        return _TRANSCRIPTS[known]
    machine = subject.open(configuration, hash_seed=1, seed=1, sketch_id=bytes(16))
    rows = []
    for step in range(1, steps + 1):
        taken = np.array([item if step in at else NO_EVENT])
        machine.feed(taken, weight=configuration.max_weight)
        rows.append(np.asarray(machine.read()).ravel())
    found: Integers = np.array(rows).astype(np.int64)
    if known is not None:
        _TRANSCRIPTS.clear()
        _TRANSCRIPTS[known] = found
    return found
