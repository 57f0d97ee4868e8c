"""People: the bound of each person is applied, and the noise covers all that a person can do.

Under a seeded key, releases of neighbouring streams differ by exactly what one person changed;
mapped through U, as in :mod:`lazysketch.audit.sensitivity`, by at most what the noise is for. A
slow rule decides which events count; the others must be empty steps, bit for bit. Under a fresh key
the noise of a table in which one person sends most events has the claimed distribution.

Detects: a bound of something else than cells of every row; refused events that count, in the table
or in names; a limit of people that stops others; noise for fewer cells, events or people, or for
more. Cannot detect: two identifiers taken for one person, which has probability 2^-65; a caller who
tells people apart wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from lazysketch.audit.case import NO_EVENT, Case
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.people_rule import Event, Stream, kept
from lazysketch.audit.people_streams import families
from lazysketch.audit.people_system import LivePeople, PeopleSystem
from lazysketch.audit.residuals import of_residuals
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.strategy import Strategy, strategy
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import CountKind, Relation
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Schedule

__all__ = [
    "WIDE_PEOPLE",
    "Run",
    "distances_of_people",
    "noise_of_people",
    "refused_events_are_empty_steps",
    "tables_of_people",
]

Run = Callable[[PeopleSystem], Outcome]
_HASH_SEED: Final = 1
_SEED: Final = 6
WIDE_PEOPLE: Final = Case.of(
    "count-min",
    4,
    2048,
    RoundRobin(horizon=8 * 2048),
    epsilon=4.0,
    relation="zero-out",
    person_bound=PersonBound(cells=4, events=2),
)


# --- distances ------------------------------------------------------------------------


def tables_of_people(kind: CountKind, relation: Relation) -> list[Case]:
    """Return small tables with bounds.

    Args:
        kind: kind of sketch.
        relation: the neighbouring relation.

    Returns:
        Tables of 2 x 3 cells: several bounds and mechanisms, batches and single events.
    """
    batch, lazy = Batch(horizon=3), RoundRobin(horizon=24)
    combinations: tuple[tuple[PersonBound, Schedule, MechanismName, int], ...] = (
        (PersonBound(cells=1), batch, "tree", 1),
        (PersonBound(cells=2, events=2), batch, "haar", 1),
        (PersonBound(cells=3, events=2), batch, "binary", 3),
        (PersonBound(cells=2, events=2), lazy, "tree", 1),
        (PersonBound(cells=2, events=2, most_people=2), batch, "tree", 1),
        (PersonBound(cells=1, events=2, most_people=2), lazy, "binary", 1),
    )
    return [
        Case.of(
            kind,
            2,
            3,
            schedule,
            relation=relation,
            mechanism=mechanism,
            max_weight=weight,
            person_bound=bound,
        )
        for bound, schedule, mechanism, weight in combinations
    ]


def distances_of_people(system: PeopleSystem, cases: Sequence[Case]) -> Outcome:
    """Compare the distances of neighbouring streams with the stated sensitivity and the noise.

    Args:
        system: the system under test.
        cases: small tables with bounds.

    Returns:
        Failed if two neighbours are further apart than ``l2_sensitivity`` or mu; if what
        docs/theory.md says is attained is not; or if sigma is for more than 1 % too much.
    """
    largest = 0.0
    tried = 0

    def failures() -> Iterator[str]:
        nonlocal largest, tried
        for case in cases:
            squared, pairs = _largest_distance(system, case)
            live = system.open(case, hash_seed=_HASH_SEED, seed=_SEED)
            claimed = case.claimed_noise(live.mechanism)
            most = _claimed_distance2(case, claimed.strategy)
            mu = math.sqrt(squared) / live.sigma
            largest, tried = max(largest, math.sqrt(squared / most)), tried + pairs
            distance = f"squared distance {squared}"
            bound = case.spec.person_bound
            if squared > most or squared > live.l2_sensitivity**2 * (1 + 1e-9):
                stated = f"{live.l2_sensitivity**2:.7g} stated, {most} claimed"
                yield f"{distance}, {stated}: {case}, {bound}"
            elif _is_attained(case) and squared < most:
                yield f"{distance} instead of {most}: {case}, {bound}"
            elif mu > case.mu or live.sigma > 1.01 * claimed.sigma:
                yield f"{distance} at sigma {live.sigma:.4g}, {claimed.sigma:.4g} claimed: {case}"

    wrong = list(failures())
    found = exact_outcome("no person moves more than is stated", iter(wrong), cases=len(cases))
    return Outcome(
        claim=found.claim,
        observed=found.observed if wrong else f"largest distance {largest:.4f} of that claimed",
        samples=tried,
        passed=found.passed,
        figures={"distance": largest},
    )


def _claimed_distance2(case: Case, matrices: Strategy) -> int:
    """The square of the l2_sensitivity of Theorem 21, an integer."""
    bound = case.bound
    if bound is None:
        raise AssertionError("case: expected a person_bound, got none")
    people = 2 if case.spec.relation == "substitution" else 1
    people *= 1 if bound.most_people is None else 2
    counts = bound.events * case.spec.max_weight * people
    return case.spec.depth * bound.cells * counts**2 * matrices.sensitivity2


def _is_attained(case: Case) -> bool:
    """Whether some tried pair attains the bound: if all events of a person can be in one step."""
    bound = case.spec.person_bound
    if not isinstance(case.spec.schedule, Batch) or bound is None:
        return False
    if case.spec.kind == "count-min":
        return case.spec.relation == "zero-out" and bound.most_people is None
    return case.spec.relation == "zero-out" or bound.most_people is None


def _largest_distance(system: PeopleSystem, case: Case) -> tuple[int, int]:
    """Return the largest squared distance of neighbours, and the number of pairs."""
    live = system.open(case, hash_seed=_HASH_SEED, seed=_SEED)
    matrices = strategy(live.mechanism, case.leaves)
    largest, pairs = 0, 0
    for family in families(case, _HASH_SEED):
        base = _transcript(system, case, family.without)
        moved = np.array(
            [
                moved_nodes(case, matrices, _transcript(system, case, variant) - base)
                for variant in family.variants
            ]
        )
        gram = moved @ moved.T
        squares = np.diag(gram)
        if case.spec.relation == "substitution":
            squares = squares[:, None] + squares[None, :] - 2 * gram
        largest, pairs = max(largest, int(squares.max())), pairs + squares.size
    return largest, pairs


def _transcript(system: PeopleSystem, case: Case, stream: Stream) -> Integers:
    """The releases after every step of a stream under the seeded key, shape (steps, cells)."""
    live = system.open(case, hash_seed=_HASH_SEED, seed=_SEED)
    rows = []
    for step in stream:
        live.feed([step])
        rows.append(np.asarray(live.read()).ravel())
    found: Integers = np.array(rows).astype(np.int64)
    return found


# --- the rule -------------------------------------------------------------------------


def _ruled() -> Iterator[tuple[Case, bool]]:
    """Yield tables, and whether they are heavy hitters."""
    schedules: tuple[Schedule, ...] = (
        RoundRobin(horizon=400),
        Geometric(),
        Punctual(horizon=400),
        Batch(horizon=80),
    )
    bounds = (
        PersonBound(cells=1),
        PersonBound(cells=2, events=3),
        PersonBound(cells=3, events=1, most_people=4),
        PersonBound(cells=2, events=2, most_people=1),
    )
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch")
    for number, schedule in enumerate(schedules):
        for kind in kinds:
            for more in (0, 1):
                bound = bounds[(number + more) % len(bounds)]
                yield Case.of(kind, 3, 7, schedule, person_bound=bound), False
    yield Case.of("counters", 1, 30, Punctual(horizon=400), person_bound=bounds[1]), False
    for bound in (
        PersonBound(cells=1),
        PersonBound(cells=2),
        PersonBound(cells=1, events=2),
        PersonBound(cells=1, most_people=60),
    ):
        case = Case.of("count-min", 3, 7, schedules[0], relation="zero-out", person_bound=bound)
        yield case, True


def refused_events_are_empty_steps(system: PeopleSystem) -> Outcome:
    """Compare a table with one of a stream in which the events that do not count never were.

    The rule of :mod:`lazysketch.audit.people_rule` decides which events count.

    Args:
        system: the system under test.

    Returns:
        Failed if a release, a published name or a final release differs in a bit.
    """
    cases = list(_ruled())
    random = np.random.default_rng(5)

    def failures() -> Iterator[str]:
        for case, hitters in cases:
            stream = _popular_items(random) if hitters else _random_stream(case, random)
            open_ = system.open_hitters if hitters else system.open
            given, expected = (open_(case, hash_seed=9, seed=_SEED) for _ in range(2))
            described = f"{case}{' with names' if hitters else ''}, {case.spec.person_bound}"
            if not _are_alike(given, expected, stream, kept(case, 9, stream)):
                yield described
            elif hitters and not expected.names():
                yield f"no names to compare: {described}"

    claim = "events beyond the bound are empty steps"
    return exact_outcome(claim, failures(), cases=len(cases))


def _random_stream(case: Case, random: np.random.Generator) -> list[list[Event]]:
    """Five people; one of them sends half of the events, and some steps are empty."""
    batches = isinstance(case.spec.schedule, Batch)

    def event() -> Event:
        person = max(0, int(random.integers(-5, 5)))
        return person, int(random.integers(0, 30)) % int(random.integers(1, 31))

    sizes = random.integers(0, 9, 40) if batches else np.minimum(random.integers(0, 6, 200), 1)
    return [[event() for _ in range(size)] for size in sizes.tolist()]


def _popular_items(random: np.random.Generator) -> list[list[Event]]:
    """Many people with one item in common; one person, who sends a third, has an item alone."""
    stream: list[list[Event]] = []
    for _ in range(200):
        person = max(0, int(random.integers(-50, 100)))
        items = [5, 5, 5, 6] if person else [7, 7, 7, 5]
        stream.append([(person, items[random.integers(0, 4)])])
    return stream


def _are_alike(given: LivePeople, expected: LivePeople, stream: Stream, counted: Stream) -> bool:
    """Feed both, compare at several steps, and at the end."""
    part = len(stream) // 4
    for start in range(0, len(stream), part):
        given.feed(stream[start : start + part])
        expected.feed(counted[start : start + part])
        if not np.array_equal(given.read(), expected.read()) or given.names() != expected.names():
            return False
    given.finish()
    expected.finish()
    return np.array_equal(given.read(), expected.read()) and given.names() == expected.names()


# --- noise ----------------------------------------------------------------------------


def noise_of_people(system: PeopleSystem, case: Case) -> Outcome:
    """Test the residuals of a table in which one person sends 90 % of the events.

    Args:
        system: the system under test.
        case: a wide table with a bound, whose horizon is a multiple of its width.

    Returns:
        Tests of the mean, variance and shape per push, under a fresh key, given the counts of
        the rule.
    """
    width = case.spec.width
    steps = 4 * width
    random = np.random.default_rng(11)
    people = np.where(random.random(steps) < 0.9, 0, random.integers(1, 200, steps))
    chosen = random.integers(0, 60, steps)
    stream = [[event] for event in zip(people.tolist(), chosen.tolist(), strict=True)]

    def tested() -> Iterator[tuple[str, float]]:
        live = system.open(case, hash_seed=_HASH_SEED)
        noise = case.claimed_noise(live.mechanism)
        yield "stated sigma", float(live.sigma >= noise.sigma * (1 - 1e-9))
        counted = kept(case, _HASH_SEED, stream)
        items = np.array([step[0][1] if step else NO_EVENT for step in counted])
        taken = 0
        for step in (2 * width, steps):
            live.feed(stream[taken:step])
            taken = step
            table = live.read()
            truth = case.published(items, hash_seed=_HASH_SEED, step=step)
            residuals = np.asarray(table - truth, np.float64)
            pushes, _ = case.progress(step)
            for name, p_value in of_residuals(noise, pushes, residuals, truth):
                yield f"{name}, step {step}", p_value

    claim = "the noise is as claimed if one person sends most events"
    return statistical_outcome(claim, tested(), samples=2 * case.cells)
