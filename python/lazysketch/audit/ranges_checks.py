"""Ranges of keys: the noise covers the worst replacement, over depths and over time together.

A key adds to one cell of each depth of the tree over keys, and a replacement moves two of them, or
one twice. Under a seeded key the releases of neighbours differ by exactly that, in every cell;
mapped through U, as in :mod:`lazysketch.audit.sensitivity`, by at most what the noise is for, and
that is attained. What tables of up to 64 bits state is compared with a count over depths.

Detects: noise for one event instead of a replaced one, for one depth, or for nodes that never
collide; depths counted as more rows than share the change; cells with other numbers than
coefficients; noise that is missing, wrong, or shared by two cells. Cannot detect: row functions
that are no hash functions, which the tests of the core examine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, get_args

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.claimed_noise import ClaimedNoise, multiplier
from lazysketch.audit.counts_system import CountsLibrary, CountsSystem, transcript
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.noise_of_cells import noise_of_cells
from lazysketch.audit.ranges_model import (
    RangesModel,
    equal_rows,
    sums_of_keys,
    worst_over_keys,
)
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.strategy import strategy
from lazysketch.privacy.relations import Relation
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Punctual
from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "Run",
    "distances_of_ranges",
    "noise_of_ranges",
    "ranges_equal_model",
    "ranges_of_all_sizes",
]

Run: TypeAlias = Callable[[CountsSystem], Outcome]
_STEPS: Final = 3
_SIZES: Final = ((4, 2), (3, 4))  # two depths with collisions, and none
_COLLIDING: Final = 2  # under this seed two keys collide in both of them, with opposite signs
_MECHANISMS: Final[tuple[MechanismName, ...]] = ("tree", "haar", "binary")
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)


def _case(
    relation: Relation,
    size: tuple[int, int],
    mechanism: MechanismName = "tree",
    *,
    steps: int = _STEPS,
) -> Case:
    return Case(
        TableSpec(
            kind="ranges",
            depth=size[0],
            width=size[1],
            hash_seed=_COLLIDING,
            schedule=Punctual(horizon=steps),
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            mechanism=mechanism,
        )
    )


def _claimed(case: Case, mechanism: str) -> ClaimedNoise:
    """The noise of Theorem 26, from definitions."""
    spec, matrices = case.spec, strategy(mechanism, case.leaves)
    bits, width, relation = spec.depth, spec.width, spec.relation
    square = worst_over_keys(bits, width, relation=relation) * matrices.sensitivity2
    rows = equal_rows(bits, width, relation=relation)
    return ClaimedNoise(multiplier(spec.epsilon, spec.delta, rows) * math.sqrt(square), matrices)


def distances_of_ranges(system: CountsSystem, relation: Relation) -> Outcome:
    """Check the distance of every pair of neighbours: each key, each other key, each step.

    Args:
        system: the system under test.
        relation: the neighbouring relation.

    Returns:
        Passed if the largest distance is at most the stated sensitivity and the claimed mu, and at
        least 0.99 of them: neither too little noise nor too much.
    """
    cases = [_case(relation, size, over) for size in _SIZES for over in _MECHANISMS]
    found = [(case, _mu(case), *_largest(system, case)) for case in cases]

    def failures() -> Iterator[str]:
        for case, most, mu, share in found:
            if not 0.99 * most < mu <= most:
                yield f"largest distance {mu:.5f} instead of {most:.5f}: {case}"
            elif not 0.99 < share <= 1 + 1e-9:
                yield f"largest distance {share:.4f} of that stated: {case}"

    claim = "every pair of neighbours is within mu"
    outcome = exact_outcome(claim, failures(), cases=len(cases))
    largest = max(mu for _, _, mu, _ in found)
    observed = f"largest distance {largest:.4f} (attained)" if outcome.passed else outcome.observed
    return Outcome(
        claim=claim,
        observed=observed,
        samples=sum(_STEPS * _pairs(case) for case in cases),
        passed=outcome.passed,
        figures={"mu_claimed": found[0][1], "mu_attained": largest},
    )


def _mu(case: Case) -> float:
    """The mu of the claimed noise, for an event that is fixed in advance."""
    spec = case.spec
    rows = equal_rows(spec.depth, spec.width, relation=spec.relation)
    return 1 / multiplier(spec.epsilon, spec.delta, rows)


def _pairs(case: Case) -> int:
    keys = 1 << case.spec.depth
    return keys if case.spec.relation == "zero-out" else keys * (keys + 1)


def _largest(system: CountsSystem, case: Case) -> tuple[float, float]:
    """Return the largest distance in deviations, and over the stated sensitivity."""
    live = system.open(case, seed=1)
    matrices = strategy(live.mechanism, case.leaves)
    base = transcript(system, case, [NO_EVENT] * _STEPS)
    largest = 0
    for step in range(_STEPS):
        moved = []
        for key in range(1 << case.spec.depth):
            events = [NO_EVENT] * _STEPS
            events[step] = key
            change = transcript(system, case, events) - base
            moved.append(moved_nodes(case, matrices, change))
        gram = np.array(moved) @ np.array(moved).T
        squares = own = np.diag(gram)
        if case.spec.relation == "substitution":
            squares = np.maximum(own, own[:, None] + own[None, :] - 2 * gram)
        largest = max(largest, int(squares.max()))
    distance = math.sqrt(largest)
    return distance / live.sigma, distance / live.l2_sensitivity


def ranges_of_all_sizes(system: CountsSystem) -> Outcome:
    """Compare what is stated for tables of 1 to 64 bits with a count over depths.

    Args:
        system: the system under test.

    Returns:
        Failed if the stated sensitivity or sigma is not that of the worst pair of keys.
    """
    cases = [
        _case(relation, (bits, width), steps=64)
        for bits in (1, 2, 3, 8, 20, 32, 64)
        for width in (2, 3, 64, 1024)
        for relation in _RELATIONS
    ]

    def failures() -> Iterator[str]:
        for case in cases:
            live, spec = system.open(case, seed=1), case.spec
            noise = _claimed(case, live.mechanism)
            over_keys = worst_over_keys(spec.depth, spec.width, relation=spec.relation)
            distance = math.sqrt(over_keys * noise.strategy.sensitivity2)
            if not math.isclose(live.l2_sensitivity, distance, rel_tol=1e-9):
                yield f"sensitivity {live.l2_sensitivity:.6g} instead of {distance:.6g}: {case}"
            elif not 1 - 1e-9 <= live.sigma / noise.sigma <= 1.01:
                yield f"sigma {live.sigma:.6g} instead of {noise.sigma:.6g}: {case}"

    return exact_outcome("tables of ranges cost what is stated", failures(), cases=len(cases))


def ranges_equal_model(system: CountsSystem | None = None) -> Outcome:
    """Compare counts of ranges with the model, bit for bit, under one key.

    Args:
        system: the system under test; the library by default.

    Returns:
        Failed if a release after any step differs.
    """
    tested = CountsLibrary() if system is None else system
    random = np.random.default_rng(8)
    cases = [
        _case(relation, size, mechanism, steps=24)
        for relation in _RELATIONS
        for size in ((1, 2), (4, 2), (6, 5), (9, 16))
        for mechanism in _MECHANISMS
    ]

    def failures() -> Iterator[str]:
        for case in cases:
            events = random.integers(NO_EVENT, 1 << case.spec.depth, size=24).tolist()
            if not np.array_equal(
                transcript(tested, case, events), transcript(RangesModel(), case, events)
            ):
                yield str(case)

    return exact_outcome("cells of ranges equal the model", failures(), cases=len(cases))


def noise_of_ranges(system: CountsSystem) -> Outcome:
    """Test the noise of all cells of many tables.

    Args:
        system: the system under test.

    Returns:
        As :func:`lazysketch.audit.noise_of_cells.noise_of_cells`.
    """
    case = _case("substitution", (4, 4), steps=8)
    events = [3, 5, 3, NO_EVENT, 7, 3, 2, 3]  # one half stays empty
    truths: dict[int, Integers] = {step: sums_of_keys(case, events[:step]) for step in (3, 8)}
    return noise_of_cells(
        system,
        case,
        lambda mechanism: _claimed(case, mechanism),
        events=events,
        truths=truths,
    )
