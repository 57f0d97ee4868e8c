"""Sums by item: the noise of both tables covers the worst replacement, and is what is claimed.

An event adds its sign to the table of events, and its sign times its value, counted from the middle
of the bounds, to that of values. Under a seeded key the releases of neighbours differ by exactly
that, in both tables; mapped through U, as in :mod:`lazysketch.audit.sensitivity`, the two distances
together are at most what (epsilon, delta) allows (Theorem 15), and attain it.

Detects: noise without the substitute, for half of the range, or with the whole budget for each
table; values that are not clipped, or counted from another place; a wrong statement; noise that is
missing, wrong, or shared by the tables. Cannot detect: wrong hashes, which the tests of the core
examine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.case import Case
from lazysketch.audit.claimed_noise import ClaimedNoise, adaptive_bounds, gaussian_delta
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.noise_of_cells import TABLES
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes, patterns
from lazysketch.audit.strategy import strategy
from lazysketch.audit.sums_model import (
    Event,
    SumsLibrary,
    SumsModel,
    SumsSystem,
    Tables,
    exact_tables,
)
from lazysketch.privacy.relations import Relation
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Punctual
from lazysketch.sums.sums_spec import SumsSpec, sums_spec

__all__ = [
    "Run",
    "delta_of_tables",
    "distances_of_sums",
    "noise_of_sums",
    "squares_of_pairs",
    "sums_equal_model",
]

Run: TypeAlias = Callable[[SumsSystem], Outcome]
_STEPS: Final = 3
_MECHANISMS: Final[tuple[MechanismName, ...]] = ("tree", "binary")
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
_BOUNDS: Final = ((-1.0, 2.0), (0.0, 3.0))
_BEYOND: Final = 5.0  # how far values may be beyond the bounds


def _spec(
    relation: Relation,
    bounds: tuple[float, float],
    mechanism: MechanismName = "tree",
    *,
    steps: int = _STEPS,
) -> SumsSpec:
    return sums_spec(
        low=bounds[0],
        high=bounds[1],
        step=0.5,
        epsilon=1.0,
        delta=1e-6,
        depth=2,
        width=2,
        relation=relation,
        schedule=Punctual(horizon=steps),
        mechanism=mechanism,
        hash_seed=1,
    )


def distances_of_sums(system: SumsSystem, relation: Relation) -> Outcome:
    """Check the distance of every pair of neighbours: each item and value, and each other, by step.

    Args:
        system: the system under test.
        relation: the neighbouring relation.

    Returns:
        Passed if (epsilon, delta) as stated is that of the description, allows the largest
        distance, and would not allow one that is 1 % larger.
    """
    specs = [_spec(relation, bounds, over) for bounds in _BOUNDS for over in _MECHANISMS]
    found = [(spec, *_largest(system, spec)) for spec in specs]

    def failures() -> Iterator[str]:
        for spec, stated, (counts, values) in found:
            if stated != (spec.epsilon, spec.delta):
                yield f"stated {stated[0]:.4g} and {stated[1]:.4g}: {_shown(spec)}"
            delta = delta_of_tables(spec, counts, values)
            more = delta_of_tables(spec, 1.01 * counts, 1.01 * values)
            if not delta <= spec.delta * (1 + 1e-6) < more:
                apart = f"{counts:.4f} and {values:.4f}"
                yield f"delta {delta:.4g} for distances {apart}: {_shown(spec)}"

    outcome = exact_outcome("every pair is within (epsilon, delta)", failures(), cases=len(specs))
    mu = max(math.hypot(*pair) for _, _, pair in found)
    observed = f"largest distance {mu:.4f} (attained)" if outcome.passed else outcome.observed
    return Outcome(
        claim=outcome.claim,
        observed=observed,
        samples=outcome.samples,
        passed=outcome.passed,
        figures={"mu_attained": mu},
    )


def _shown(spec: SumsSpec) -> str:
    bounds = f"values from {spec.grid.low:g} to {spec.grid.high:g}"
    counts = spec.counts
    guarantee = f"({spec.epsilon:g}, {spec.delta:g})"
    return f"{bounds}, {counts.mechanism}, {counts.relation}, {guarantee}"


def delta_of_tables(stated: SumsSpec | SumsPrivacy, counts: float, values: float) -> float:
    """Return the delta of two tables at the epsilon, for an event that is chosen from releases.

    Args:
        stated: epsilon, and the depth of the tables.
        counts: the distance of the table of events, in deviations.
        values: that of the table of values.
    """
    depth = stated.counts.depth
    bounds = adaptive_bounds([(counts, depth), (values, depth)])
    return min([1.0, *(factor * gaussian_delta(stated.epsilon, mu) for mu, factor in bounds)])


def _largest(system: SumsSystem, spec: SumsSpec) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return what is stated, and the largest distances of both tables, in deviations."""
    case, grid = Case(spec.counts), spec.grid
    live = system.open(spec, seed=1)
    matrices = strategy(live.mechanism, case.leaves)
    base = _transcript(system, spec, [None] * _STEPS)
    events = [
        (item, value)
        for item in patterns(case, 1)
        for value in (grid.low - _BEYOND, grid.high + _BEYOND)
    ]
    best = (0.0, 0.0)
    for step in range(_STEPS):
        moved: list[list[Integers]] = [[], []]
        for event in events:
            stream: list[Event] = [None] * _STEPS
            stream[step] = event
            changed = _transcript(system, spec, stream)
            for at in (0, 1):
                moved[at].append(moved_nodes(case, matrices, changed[at] - base[at]))
        squares = [squares_of_pairs(np.array(nodes), spec.counts.relation) for nodes in moved]
        parts = [square / sigma**2 for square, sigma in zip(squares, live.sigmas, strict=True)]
        worst = int(np.argmax(parts[0] + parts[1]))
        pair = math.sqrt(parts[0].flat[worst]), math.sqrt(parts[1].flat[worst])
        best = max(best, pair, key=lambda one: math.hypot(*one))
    return live.stated, best


def squares_of_pairs(moved: Integers, relation: Relation) -> NDArray[np.float64]:
    """Return the squared distances of all pairs of neighbours.

    Args:
        moved: what each event changes, a row per event.
        relation: the neighbouring relation.
    """
    gram = (moved @ moved.T).astype(np.float64)
    own = np.diag(gram)
    if relation == "zero-out":
        return np.array(own)
    return np.concatenate([own, (own[:, None] + own[None, :] - 2 * gram).ravel()])


def _transcript(system: SumsSystem, spec: SumsSpec, events: Sequence[Event]) -> Tables:
    """Return the releases after every step under one seeded key, each of shape (steps, cells)."""
    live = system.open(spec, seed=1)
    counts, values = [], []
    for event in events:
        live.feed([event])
        read = live.read()
        counts.append(read.counts)
        values.append(read.values)
    return Tables(np.array(counts), np.array(values))


def sums_equal_model(system: SumsSystem | None = None) -> Outcome:
    """Compare sums with the model, bit for bit, under one key.

    Args:
        system: the system under test; the library by default.

    Returns:
        Failed if a release after any step differs.
    """
    tested = SumsLibrary() if system is None else system
    chance = np.random.default_rng(6)
    specs = [
        _spec(relation, bounds, over, steps=24)
        for relation in _RELATIONS
        for bounds in _BOUNDS
        for over in _MECHANISMS
    ]

    def failures() -> Iterator[str]:
        for spec in specs:
            values = chance.choice([-9.0, -1.0, 0.0, 0.5, 2.0, 2.5, 3.0, 40.0], 24)
            events: list[Event] = [
                None if item == 0 else (int(item), float(value))
                for item, value in zip(chance.integers(0, 6, 24), values, strict=True)
            ]
            pair = [_transcript(one, spec, events) for one in (tested, SumsModel())]
            if not all(np.array_equal(*tables) for tables in zip(*pair, strict=True)):
                yield _shown(spec)

    return exact_outcome("tables of sums equal the model", failures(), cases=len(specs))


def noise_of_sums(system: SumsSystem) -> Outcome:
    """Test the noise of all cells of both tables of many sums.

    Args:
        system: the system under test.

    Returns:
        Tests of the stated sigmas; of each table the mean and the variance of its cells; and of
        every cell of one table with every cell of the other.
    """
    spec = _spec("substitution", (-1.0, 2.0), steps=8)
    events: list[Event] = [(2, 1.5), (2, -1.0), None, (2, 2.0)]  # two cells stay empty
    truths = exact_tables(spec, events)
    cells = Case(spec.counts).cells

    def tested() -> Iterator[tuple[str, float]]:
        tables: list[Tables] = []
        for _ in range(TABLES):
            live = system.open(spec)
            live.feed(events)
            tables.append(live.read())
            stated = live.mechanism, live.sigmas
        found = []
        parts = zip(
            (spec.counts, spec.values), stated[1], truths, zip(*tables, strict=True), strict=True
        )
        for part, sigma, truth, read in parts:
            # What the description says; that it is enough is for the distances to say.
            noise = ClaimedNoise(part.sigma, strategy(stated[0], Case(part).leaves))
            yield f"stated sigma {part.max_weight}", float(sigma >= part.sigma * (1 - 1e-9))
            x = noise.standardised(np.asarray(np.array(read) - truth, np.float64), len(events))
            found.append(x)
            yield f"mean {part.max_weight}", p_values.mean(x.ravel())
            yield f"variance {part.max_weight}", p_values.variance(x.ravel())
            for cell, values in enumerate(x.T):
                yield f"variance of cell {cell}, {part.max_weight}", p_values.variance(values)
        for one in range(cells):
            for other in range(cells):
                x, y = found[0][:, one], found[1][:, other]
                yield f"cells {one} and {other}", p_values.covariance(x, y, 0.0)

    claim = "the noise of both tables is as claimed, and independent"
    return statistical_outcome(claim, tested(), samples=2 * TABLES * cells)
