"""Values: the noise covers the worst replacement, over bins and over time together.

A value adds to the nodes over its bin and to those over its step: its change is a product of two
vectors, and that of a replacement the product of a difference with one of them. Under a seeded key
the releases of neighbours differ by exactly that, in every node; mapped through U, as in
:mod:`lazysketch.audit.sensitivity`, by at most what the noise is for, and that is attained. Trees
over up to 1,024 bins are compared with their definition, all pairs of bins.

Detects: noise for one event instead of a replaced one, or for time or bins alone; counts of bins
with the noise of nodes; noise that is missing, wrong, or shared by two nodes. Cannot detect: draws
of another distribution in large trees, whose nodes repeat the small ones; rows over more than 1,024
bins, which only the core and its tests examine.
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
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.strategy import strategy
from lazysketch.audit.values_model import ValuesModel, node_sums, worst_over_bins
from lazysketch.privacy.relations import Relation
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Punctual
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows

__all__ = [
    "Run",
    "distances_of_values",
    "noise_of_values",
    "trees_over_bins",
    "values_equal_model",
]

Run: TypeAlias = Callable[[CountsSystem], Outcome]
_STEPS: Final = 4
_BINS: Final = 8
_MECHANISMS: Final[tuple[MechanismName, ...]] = ("tree", "haar", "binary")
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)


def _case(
    relation: Relation,
    rows: ValueRows,
    mechanism: MechanismName = "tree",
    *,
    bins: int = _BINS,
    steps: int = _STEPS,
) -> Case:
    return Case(
        TableSpec(
            kind="values",
            depth=1,
            width=1 << (bins - 1).bit_length(),
            edges=tuple(range(1, bins)),
            value_rows=rows,
            schedule=Punctual(horizon=steps),
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            mechanism=mechanism,
        )
    )


def _claimed(case: Case, mechanism: str) -> ClaimedNoise:
    """The noise of Theorem 24, from definitions."""
    matrices = strategy(mechanism, case.leaves)
    spec = case.spec
    over_bins = worst_over_bins(case, relation=spec.relation)
    distance = math.sqrt(over_bins * matrices.sensitivity2)
    return ClaimedNoise(multiplier(spec.epsilon, spec.delta, 1) * distance, matrices)


def distances_of_values(system: CountsSystem, relation: Relation) -> Outcome:
    """Check the distance of every pair of neighbours: each bin, each other bin, each step.

    Args:
        system: the system under test.
        relation: the neighbouring relation.

    Returns:
        Passed if the largest distance is at most the stated sensitivity and the claimed mu, and at
        least 0.99 of them: neither too little noise nor too much.
    """
    cases = [_case(relation, rows, over) for rows in VALUE_ROWS for over in _MECHANISMS]
    found = [(case, *_largest(system, case)) for case in cases]

    def failures() -> Iterator[str]:
        for case, mu, share in found:
            if not 0.99 * case.mu < mu <= case.mu:
                yield f"largest distance {mu:.4f} instead of {case.mu:.4f}: {case}"
            if not 0.99 < share <= 1 + 1e-9:
                yield f"largest distance {share:.4f} of that stated: {case}"

    claim = "every pair of neighbours is within mu"
    outcome = exact_outcome(claim, failures(), cases=len(cases))
    largest = max(mu for _, mu, _ in found)
    observed = f"largest distance {largest:.4f} (attained)" if outcome.passed else outcome.observed
    changes = _BINS + 1 if relation == "substitution" else 1
    return Outcome(
        claim=claim,
        observed=observed,
        samples=len(cases) * _STEPS * _BINS * changes,
        passed=outcome.passed,
        figures={"mu_claimed": cases[0].mu, "mu_attained": largest},
    )


def _largest(system: CountsSystem, case: Case) -> tuple[float, float]:
    """Return the largest distance in deviations, and over the stated sensitivity."""
    live = system.open(case, seed=1)
    matrices = strategy(live.mechanism, case.leaves)
    base = transcript(system, case, [NO_EVENT] * _STEPS)
    largest = 0
    for step in range(_STEPS):
        moved = []
        for value in range(_BINS):
            events = [NO_EVENT] * _STEPS
            events[step] = value
            change = transcript(system, case, events) - base
            moved.append(moved_nodes(case, matrices, change))
        gram = np.array(moved) @ np.array(moved).T
        squares = own = np.diag(gram)
        if case.spec.relation == "substitution":
            squares = np.maximum(own, own[:, None] + own[None, :] - 2 * gram)
        largest = max(largest, int(squares.max()))
    distance = math.sqrt(largest)
    return distance / live.sigma, distance / live.l2_sensitivity


def trees_over_bins(system: CountsSystem) -> Outcome:
    """Compare what is stated for trees over up to 1,024 bins with all pairs of bins.

    Args:
        system: the system under test.

    Returns:
        Failed if the stated sensitivity or sigma is not that of the worst pair.
    """
    cases = [
        _case(relation, rows, bins=2**k, steps=64)
        for k in range(2, 11)
        for rows in VALUE_ROWS
        for relation in _RELATIONS
    ]

    def failures() -> Iterator[str]:
        for case in cases:
            live = system.open(case, seed=1)
            noise = _claimed(case, live.mechanism)
            over_bins = worst_over_bins(case, relation=case.spec.relation)
            distance = math.sqrt(over_bins * noise.strategy.sensitivity2)
            if not math.isclose(live.l2_sensitivity, distance, rel_tol=1e-9):
                yield f"sensitivity {live.l2_sensitivity:.6g} instead of {distance:.6g}: {case}"
            elif not 1 - 1e-9 <= live.sigma / noise.sigma <= 1.01:
                yield f"sigma {live.sigma:.6g} instead of {noise.sigma:.6g}: {case}"

    return exact_outcome("trees over bins cost what is stated", failures(), cases=len(cases))


def values_equal_model(system: CountsSystem | None = None) -> Outcome:
    """Compare distributions with the model, bit for bit, under one key.

    Args:
        system: the system under test; the library by default.

    Returns:
        Failed if a release after any step differs.
    """
    tested = CountsLibrary() if system is None else system
    random = np.random.default_rng(4)
    cases = [
        (_case(relation, rows, mechanism, bins=bins, steps=24), bins)
        for relation in _RELATIONS
        for rows in VALUE_ROWS
        for mechanism in _MECHANISMS
        for bins in (6, 32)
    ]

    def failures() -> Iterator[str]:
        for case, bins in cases:
            events = random.integers(NO_EVENT, bins, size=24).tolist()
            if not np.array_equal(
                transcript(tested, case, events), transcript(ValuesModel(), case, events)
            ):
                yield str(case)

    return exact_outcome("node sums of values equal the model", failures(), cases=len(cases))


def noise_of_values(system: CountsSystem) -> Outcome:
    """Test the noise of all nodes of many distributions.

    Args:
        system: the system under test.

    Returns:
        As :func:`lazysketch.audit.noise_of_cells.noise_of_cells`.
    """
    case = _case("substitution", "tree", bins=16, steps=8)
    events = [3, 5, 3, NO_EVENT, 7, 11, 0, 15]
    truths: dict[int, Integers] = {step: node_sums(case, events[:step]) for step in (3, 8)}
    return noise_of_cells(
        system,
        case,
        lambda mechanism: _claimed(case, mechanism),
        events=events,
        truths=truths,
    )
