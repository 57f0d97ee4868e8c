"""Distinct items: the noise covers a person who leaves, who is replaced, and whose bit moves.

An item that leaves removes its bit, or moves it to the step at which another item with the same bit
comes. Under a seeded key the releases of neighbours differ by exactly that; mapped through U, as in
:mod:`lazysketch.audit.sensitivity`, by at most what the noise is for. All short streams are tried,
and for long ones all pairs of leaves between which a bit can move.

Detects: noise for a bit that goes only, or for one of two people; events that count twice; noise
that is missing, wrong, or shared by two levels. Cannot detect: more than the enumerated number of
items that share bits, which add no other moves; an observer who gains by choosing when a bit is set
again, whom docs/theory.md, Theorem 23, excludes by proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, TypeAlias, get_args

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.claimed_noise import ClaimedNoise, multiplier
from lazysketch.audit.counts_system import CountsLibrary, CountsSystem, transcript
from lazysketch.audit.distinct_model import DistinctModel, bits_of, set_bits
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.noise_of_cells import noise_of_cells
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.privacy.relations import Relation
from lazysketch.specification.distinct import BIT_WEIGHT
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Punctual
from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "Run",
    "distances_of_distinct",
    "distinct_equals_model",
    "moves_of_long_streams",
    "noise_of_distinct",
]

Run: TypeAlias = Callable[[CountsSystem], Outcome]
Stream: TypeAlias = tuple[int, ...]
_STEPS: Final = 4
_MECHANISMS: Final[tuple[MechanismName, ...]] = ("tree", "haar")
_COMPARED: Final[tuple[MechanismName, ...]] = ("tree", "haar", "tree-log", "tree-deep")
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
_LONG: Final[tuple[tuple[MechanismName, int], ...]] = (
    *((mechanism, 2**k) for mechanism in ("tree", "tree-log", "haar") for k in (3, 5, 7, 10)),
    ("tree-deep", 640),
    ("tree-deep", 1024),
)
_MOVE: Final = 9 / 4  # Lemma 23a


def _case(
    relation: Relation, mechanism: MechanismName = "tree", *, levels: int = 2, steps: int = _STEPS
) -> Case:
    return Case(
        TableSpec(
            kind="distinct",
            depth=1,
            width=levels,
            bits=64,
            schedule=Punctual(horizon=steps),
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            mechanism=mechanism,
            max_weight=BIT_WEIGHT,
            hash_seed=1,
        )
    )


def _claimed(case: Case, mechanism: str) -> ClaimedNoise:
    """The noise of Theorem 23, from definitions."""
    matrices = strategy(mechanism, case.leaves)
    people = 2 if case.spec.relation == "substitution" else 1
    distance = people * BIT_WEIGHT * math.sqrt(_MOVE * matrices.sensitivity2)
    return ClaimedNoise(multiplier(case.spec.epsilon, case.spec.delta, 1) * distance, matrices)


# --- distances ------------------------------------------------------------------------


def _people(case: Case) -> tuple[Stream, int, int]:
    """Return two pairs of items that share a bit of one level, as u, o, v, x, and two others.

    The others are of that level, with a bit of its own, and of another level.
    """
    known = bits_of(case)
    groups: dict[tuple[int, int], list[int]] = {}
    for item, bit in enumerate(known):
        groups.setdefault(bit, []).append(item)
    pairs = [items[:2] for (level, _), items in groups.items() if level == 0 and len(items) > 1]
    alone = [items[0] for (level, _), items in groups.items() if level == 0 and len(items) == 1]
    elsewhere = [items[0] for (level, _), items in groups.items() if level]
    return (*pairs[0], *pairs[1]), alone[0], elsewhere[0]


def _neighbours(case: Case) -> Iterator[tuple[Stream, Stream]]:
    """Yield pairs of streams of four steps of which one has all events of u, the other not.

    Without substitution they are steps without an event there; with it they may be events of v, of
    an item with a bit of its own, or of one of another level, at any steps.
    """
    (u, o, v, x), alone, elsewhere = _people(case)
    for rest in itertools.product((NO_EVENT, o, x), repeat=_STEPS):
        free = [step for step, item in enumerate(rest) if item == NO_EVENT]
        chosen = [
            set(steps)
            for size in range(min(2, len(free)) + 1)
            for steps in itertools.combinations(free, size)
        ]
        for ours in chosen:
            with_u = tuple(u if step in ours else item for step, item in enumerate(rest))
            if ours:
                yield with_u, rest
            if case.spec.relation == "zero-out":
                continue
            for other, theirs in itertools.product((v, alone, elsewhere), chosen):
                if ours and theirs:
                    yield (
                        with_u,
                        tuple(other if step in theirs else item for step, item in enumerate(rest)),
                    )


def distances_of_distinct(system: CountsSystem, relation: Relation) -> Outcome:
    """Check the distance of all neighbouring streams of four steps.

    Args:
        system: the system under test.
        relation: the neighbouring relation.

    Returns:
        Failed if two of them are further apart than the stated sensitivity or mu, if none moves a
        bit, or if sigma is for more than 1 % too much.
    """
    found = [_largest(system, _case(relation, mechanism)) for mechanism in _MECHANISMS]
    wrong = [failure for failures, _, _ in found for failure in failures]
    tried = sum(pairs for _, pairs, _ in found)
    largest = max(distance for _, _, distance in found)
    outcome = exact_outcome(
        "no person moves more than is stated", iter(wrong), cases=4 * len(found)
    )
    return Outcome(
        claim=outcome.claim,
        observed=outcome.observed if wrong else f"largest distance {largest:.4f} of that covered",
        samples=tried,
        passed=outcome.passed,
        figures={"distance": largest},
    )


def _largest(system: CountsSystem, case: Case) -> tuple[list[str], int, float]:
    """Return failures, the number of pairs, and the largest distance over the stated one."""
    live = system.open(case, seed=1)
    noise = _claimed(case, live.mechanism)
    read = cache(lambda stream: transcript(system, case, stream))
    largest, pairs, known = 0, 0, dict[bytes, int]()
    for one, other in _neighbours(case):
        pairs += 1
        change = read(one) - read(other)
        if (name := change.tobytes()) not in known:
            known[name] = int((moved_nodes(case, noise.strategy, change) ** 2).sum())
        largest = max(largest, known[name])
    mu = math.sqrt(largest) / live.sigma
    failures = []
    if largest > live.l2_sensitivity**2 * (1 + 1e-9):
        failures.append(f"squared distance {largest}, {live.l2_sensitivity**2:.7g} stated: {case}")
    if mu > case.mu:
        failures.append(f"mu {mu:.4f}, {case.mu:.4f} claimed: {case}")
    if largest <= BIT_WEIGHT**2 * noise.strategy.sensitivity2:
        failures.append(f"no stream moves a bit: {case}")
    if live.sigma > 1.01 * noise.sigma:
        failures.append(f"sigma {live.sigma:.4g}, {noise.sigma:.4g} claimed: {case}")
    return failures, pairs, math.sqrt(largest) / live.l2_sensitivity


def _largest_move(matrices: Strategy) -> int:
    """Return the largest squared change of all nodes by a bit that goes, or moves to another leaf.

    Moves to the extra leaf of a final push included.
    """
    leaves = range(1, matrices.nodes + 1)
    shifts = np.array([matrices.shift(leaf) for leaf in leaves], dtype=np.float64)
    gram = shifts @ shifts.T  # exact: integers far below 2^53
    own = np.diag(gram)
    moved = (own[:, None] + own[None, :] - 2 * gram).max()
    extra = math.isqrt(matrices.sensitivity2) ** 2
    return int(max(moved, own.max() + extra))


def moves_of_long_streams(system: CountsSystem) -> Outcome:
    """Check for longer streams that the noise covers a bit that moves between any two leaves.

    Args:
        system: the system under test.

    Returns:
        Failed if a move is further than the stated sensitivity or mu allows.
    """
    worst = 0.0

    def failures() -> Iterator[str]:
        nonlocal worst
        for mechanism, steps in _LONG:
            case = _case("zero-out", mechanism, steps=steps)
            live = system.open(case, seed=1)
            distance = BIT_WEIGHT * math.sqrt(_largest_move(strategy(live.mechanism, case.leaves)))
            worst = max(worst, distance / live.l2_sensitivity)
            if distance > live.l2_sensitivity or distance / live.sigma > case.mu:
                yield f"{distance / live.sigma:.4f} instead of mu = {case.mu:.4f}: {case}"

    wrong = list(failures())
    outcome = exact_outcome("no move is further than stated", iter(wrong), cases=len(_LONG))
    return Outcome(
        claim=outcome.claim,
        observed=outcome.observed if wrong else f"largest move {worst:.4f} of that covered",
        samples=len(_LONG),
        passed=outcome.passed,
        figures={"distance": worst},
    )


# --- counts and noise -----------------------------------------------------------------


def distinct_equals_model(system: CountsSystem | None = None) -> Outcome:
    """Compare counts with the model, bit for bit, under one key.

    Args:
        system: the system under test; the library by default.

    Returns:
        Failed if a release after any step differs.
    """
    tested = CountsLibrary() if system is None else system
    random = np.random.default_rng(4)
    cases = [
        _case(relation, mechanism, levels=levels, steps=24)
        for relation in _RELATIONS
        for mechanism in _COMPARED
        for levels in (2, 5)
    ]

    def failures() -> Iterator[str]:
        for case in cases:
            events = random.integers(NO_EVENT, 30, size=24).tolist()
            if not np.array_equal(
                transcript(tested, case, events), transcript(DistinctModel(), case, events)
            ):
                yield str(case)

    claim = "counts of distinct items equal the model"
    return exact_outcome(claim, failures(), cases=len(cases))


def noise_of_distinct(system: CountsSystem) -> Outcome:
    """Test the noise of all levels of many counts.

    Args:
        system: the system under test.

    Returns:
        As :func:`lazysketch.audit.noise_of_cells.noise_of_cells`.
    """
    case = _case("zero-out", levels=16, steps=8)
    events = [3, 5, 3, NO_EVENT, 7, 11, 5, 13]
    truths: dict[int, Integers] = {step: set_bits(case, events[:step]) for step in (3, 8)}
    return noise_of_cells(
        system,
        case,
        lambda mechanism: _claimed(case, mechanism),
        events=events,
        truths=truths,
    )
