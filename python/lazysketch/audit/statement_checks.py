"""Statements: what sketches, releases, merges, hitters, hierarchies and windows say they cost.

Every statement is compared with what was spent, converted from noise and thresholds by
:mod:`lazysketch.audit.spending`: it must cover it, and a statement of counts must not exceed it by
more than 0.1 % of epsilon. A release of a table that bounds people must state that bound. A merged
release must have one part per sketch, and the noise of all.

A release of hitters carries names, and one of a level is one table of several: it must state what
its whole run spent.

Detects: a statement that leaves out a mechanism, or is for less noise. Cannot detect: a statement
about persons whose events the caller counts in several streams without saying so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.joint_noise import ReadTable, tested_jointly
from lazysketch.audit.level_system import LevelCase, LevelLibrary
from lazysketch.audit.p_values import variance
from lazysketch.audit.spending import Spent, spent_on_counts, spent_on_names
from lazysketch.heavy_hitters import HeavyHitters, HeavyHittersSpec, JointPrivacy
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.composition import compose
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import CountKind, Relation
from lazysketch.releases.release import Release
from lazysketch.sketches.exact import CountMin
from lazysketch.specification.mechanisms import MechanismName
from lazysketch.specification.schedules import Batch, Geometric, Punctual, RoundRobin, Schedule
from lazysketch.testing import seeded_key
from lazysketch.windows import Windows

__all__ = [
    "Run",
    "Statement",
    "StatementBug",
    "Statements",
    "merges_state_all_parts",
    "people_are_stated",
    "statements_cover_what_was_spent",
]

_RELATIONS: Final[tuple[Relation, ...]] = ("substitution", "zero-out")


@dataclass(frozen=True)
class Statement:
    """A stated guarantee and what was spent.

    Args:
        name: who states it.
        epsilon: stated.
        delta: stated.
        spent: what it has to cover.
        tight: True if the statement must not exceed what was spent.
    """

    name: str
    epsilon: float
    delta: float
    spent: Spent
    tight: bool = True

    def failure(self) -> str | None:
        """Return what is wrong, or None."""
        spent = self.spent.delta_at(self.epsilon)
        if spent > self.delta * (1 + 1e-3):  # two searches for the best bound
            return f"{self.name} states delta = {self.delta:.3g}, spent {spent:.3g}"
        if self.tight and self.spent.delta_at(0.999 * self.epsilon) < self.delta:
            return f"{self.name} states more than was spent"
        return None


class StatementBug(Enum):
    """A planted bug of statements; the value is its description."""

    WITHOUT_NAMES = "a guarantee that leaves out names"
    FORGOTTEN_PART = "a merge that forgets a part"
    FORGOTTEN_COUNTS = "a merge that forgets the counts of a part"
    OTHER_RELATION = "a release that states another relation"
    UNMARKED = "a merge that forgets that a part is NOT PRIVATE"
    WITHOUT_PEOPLE = "a release that leaves out the bound of people"


@dataclass(frozen=True)
class Merged:
    """What a merged release holds and states."""

    table: np.ndarray
    privacies: tuple[Privacy, ...]
    ids: tuple[bytes, ...]
    private: bool


@dataclass(frozen=True)
class Statements:
    """What the library states; or something else, if a bug is planted.

    Args:
        bug: the bug, or None.
    """

    bug: StatementBug | None = None

    def of_release(self, release: Release) -> Privacy:
        """Return the guarantee that a release states, after it was written and read."""
        privacy = Release.from_bytes(release.to_bytes()).privacy
        if self.bug is StatementBug.OTHER_RELATION and privacy.relation == "substitution":
            return replace(privacy, relation="zero-out")
        if self.bug is StatementBug.WITHOUT_PEOPLE:
            return replace(privacy, person_bound=None)
        return privacy

    def of_run(self, release: Release) -> tuple[float, float]:
        """Return what a release states of its whole run, after it was written and read."""
        (part,) = Release.from_bytes(release.to_bytes()).parts
        stated = part.privacy if self.bug is StatementBug.WITHOUT_NAMES else part.promised
        return stated.epsilon, stated.delta

    def of_hitters(self, privacy: JointPrivacy) -> tuple[float, float]:
        """Return epsilon and delta of heavy hitters or windows."""
        if self.bug is StatementBug.WITHOUT_NAMES:
            return privacy.sketch.epsilon, privacy.sketch.delta
        return privacy.epsilon, privacy.delta

    def merged(self, releases: Sequence[Release]) -> Merged:
        """Return what the merged release holds and states, after it was written and read."""
        first, *others = releases
        found = Release.from_bytes(first.merge(*others).to_bytes())
        parts = found.parts
        if self.bug is StatementBug.FORGOTTEN_PART:
            parts = parts[:-1]
        return Merged(
            found.table - releases[-1].table * (self.bug is StatementBug.FORGOTTEN_COUNTS),
            tuple(part.privacy for part in parts),
            tuple(part.sketch_id for part in parts),
            found.private or self.bug is StatementBug.UNMARKED,
        )


Run = Callable[[Statements], Outcome]


def _cases() -> Iterator[Case]:
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch")
    mechanisms: tuple[MechanismName, ...] = ("tree", "haar", "binary")
    schedules: tuple[Schedule, ...] = (
        RoundRobin(horizon=64),
        Geometric(),
        Punctual(horizon=30),
        Batch(horizon=5),
    )
    for kind, relation, mechanism in itertools.product(kinds, _RELATIONS, mechanisms):
        for schedule in schedules:
            yield Case.of(kind, 3, 4, schedule, relation=relation, mechanism=mechanism)
    yield Case.of("counters", 1, 8, RoundRobin(horizon=64), delta=1e-9)
    yield Case.of("count-min", 2, 4, Geometric(), epsilon=0.3, max_weight=7, max_events_per_user=3)


def _statements(system: Statements) -> Iterator[Statement]:
    for case in _cases():
        with case.make() as sketch:
            release = sketch.release()
        yield _of_release(system, str(case), release, relation=case.spec.relation)
    for relation in _RELATIONS:
        yield from _of_hitters(system, relation)
        yield from _of_windows(system, relation)
    for levels in (LevelCase(), LevelCase(2, (1.0, 3.0), relation="zero-out")):
        live = LevelLibrary().open(levels)
        for spec, release, level in zip(
            live.specs, live.releases(), live.privacy.levels, strict=True
        ):
            if spec.discovery is None:
                raise AssertionError("levels: expected discovery, got none")
            names = spent_on_names(spec.discovery)
            spent = spent_on_counts(release) + names
            yield Statement(f"a level of {levels}", *system.of_hitters(level), spent, tight=False)
            yield _of_release(system, "a level", release, relation=levels.relation, names=names)


def _of_release(
    system: Statements, name: str, release: Release, *, relation: str, names: Spent | None = None
) -> Statement:
    """The statement of a release; the noise is that of the relation that was asked for."""
    privacy, spent = system.of_release(release), spent_on_counts(release)
    if privacy.relation != relation:
        # It promises nothing for the neighbours that were asked for.
        return Statement(f"release of {name}, {privacy.relation}", 0.0, 0.0, spent)
    if names is None:
        return Statement(f"release of {name}", privacy.epsilon, privacy.delta, spent)
    return Statement(f"release of {name}", *system.of_run(release), spent + names, tight=False)


def _of_hitters(system: Statements, relation: Relation) -> Iterator[Statement]:
    with HeavyHitters(
        share=0.1, epsilon=1.0, delta=1e-6, relation=relation, discovery_epoch=5000
    ) as heavy:
        discovery, release = heavy.spec.discovery, heavy.release()
        if discovery is None:
            raise AssertionError("heavy hitters: expected discovery, got none")
        names = spent_on_names(discovery)
        spent = spent_on_counts(release) + names
        stated = system.of_hitters(heavy.privacy)
        yield Statement(f"heavy hitters, {relation}", *stated, spent, tight=False)
        yield _of_release(system, "heavy hitters", release, relation=relation, names=names)
    with HeavyHitters(domain=[1, 2], epsilon=1.0, delta=1e-6, relation=relation) as listed:
        spent = spent_on_counts(listed.release())
        stated = listed.privacy.epsilon, listed.privacy.delta
        yield Statement(f"hitters of a public list, {relation}", *stated, spent)


def _of_windows(system: Statements, relation: Relation) -> Iterator[Statement]:
    """Two windows: an event is in one of them, so each of them may cost what is stated."""
    with Windows(every=400, share=0.2, epsilon=1.0, delta=1e-6, relation=relation) as windows:
        windows.tick(800)
        epsilon, delta = system.of_hitters(windows.privacy)
        discovery = HeavyHittersSpec.of(
            schedule=RoundRobin(horizon=400),
            share=0.2,
            epsilon=1.0,
            delta=1e-6,
            relation=relation,
            discovery_epoch=400,
        ).discovery
        if discovery is None:
            raise AssertionError("windows: expected discovery, got none")
        names = spent_on_names(discovery)
        for window in windows.windows:
            spent = spent_on_counts(window.release) + names
            yield Statement(f"windows, {relation}", epsilon, delta, spent, tight=False)
            yield _of_release(system, "a window", window.release, relation=relation, names=names)


def statements_cover_what_was_spent(system: Statements) -> Outcome:
    """Compare every stated guarantee with what was spent.

    Args:
        system: what the library states.

    Returns:
        Failed if a statement does not cover what was spent.
    """
    stated = list(_statements(system))
    wrong = (failure for statement in stated if (failure := statement.failure()) is not None)
    return exact_outcome("every statement covers what was spent", wrong, cases=len(stated))


_BOUNDS: Final = (
    PersonBound(cells=1),
    PersonBound(cells=9, events=2),
    PersonBound(cells=2, events=3, most_people=50),
)


def people_are_stated(system: Statements) -> Outcome:
    """Compare what releases of tables with a bound of people state with their noise.

    Args:
        system: what the library states.

    Returns:
        Failed if a release states another bound than was asked for, if its noise does not cover
        that bound or exceeds it, or if names are calibrated for another number of events.
    """
    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch")
    schedules: tuple[Schedule, ...] = (RoundRobin(horizon=64), Batch(horizon=5), Punctual())
    cases = [
        Case.of(kind, 3, 4, schedule, relation=relation, person_bound=bound, max_weight=2)
        for kind, schedule in itertools.product(kinds, schedules)
        for relation in _RELATIONS
        for bound in _BOUNDS
    ]

    def failures() -> Iterator[str]:
        for case in cases:
            with case.make() as sketch:
                yield from itertools.islice(_of_people(system, case, sketch.release()), 1)
            if case.spec.kind == "count-min" and case.spec.schedule.name == "round robin":
                yield from itertools.islice(_of_people_with_names(system, case), 1)

    hitters = len(_RELATIONS) * len(_BOUNDS)
    claim = "every release states the people whom its noise covers"
    return exact_outcome(claim, failures(), cases=len(cases) + hitters)


def _of_people(system: Statements, case: Case, release: Release) -> Iterator[str]:
    asked = case.spec.person_bound
    stated = system.of_release(release).person_bound
    if stated != asked:
        yield f"{case} states {stated}, expected {asked}"
    name = f"{case}, {asked}"
    failure = _of_release(system, name, release, relation=case.spec.relation).failure()
    if failure is not None:
        yield failure


def _of_people_with_names(system: Statements, case: Case) -> Iterator[str]:
    bound, relation = case.spec.person_bound, case.spec.relation
    spec = HeavyHittersSpec.of(
        schedule=case.spec.schedule,
        share=0.2,
        epsilon=1.0,
        delta=1e-6,
        relation=relation,
        discovery_epoch=64,
        person_bound=bound,
    )
    if spec.discovery is None or bound is None:
        raise AssertionError("heavy hitters: expected discovery and a bound, got none")
    with HeavyHitters.from_spec(spec) as heavy:
        yield from _of_people(system, Case(spec.table), heavy.release())
        names = spent_on_names(spec.discovery)
        spent = spent_on_counts(heavy.release()) + names
        stated = system.of_hitters(heavy.privacy)
        failure = Statement(f"hitters, {bound}", *stated, spent, tight=False).failure()
        if failure is not None:
            yield failure
    people = (2 if relation == "substitution" else 1) * (1 if bound.most_people is None else 2)
    events = bound.cells * bound.events * people
    found = spec.discovery
    if found.max_events_per_user < events or found.relation != "zero-out":
        yield f"names of {found.max_events_per_user} events, expected {events}: {case}, {bound}"


def merges_state_all_parts(system: Statements) -> Outcome:
    """Test merged releases: their table, their parts, their joint guarantee and their noise.

    Args:
        system: what the library states.

    Returns:
        Exact comparisons, and tests of the residuals of the sum.
    """
    case = Case.of("count-min", 4, 1024, RoundRobin(horizon=4096))
    cases = [case, case.changed(epsilon=0.5), case.changed(mechanism="haar", epsilon=2.0)]
    releases, truths = [], []
    for number, one in enumerate(cases):
        with one.make(hash_seed=8) as sketch:
            items = (np.arange(3072) ** 2 % (50 + number)).tolist()
            sketch.update_many(items)
            sketch.tick(1024)  # every column is pushed after the last event
            releases.append(sketch.release())
            exact = CountMin(depth=4, width=1024, hash_seed=8)
            exact.update_many(items)
            truths.append(exact.table)
    merged = system.merged(releases)
    with case.make(key=seeded_key(3), hash_seed=8) as seeded:
        marked = system.merged([releases[0], seeded.release()])

    def tested() -> Iterator[tuple[str, float]]:
        total = np.sum([release.table for release in releases], axis=0)
        yield "sum of the tables", float(np.array_equal(merged.table, total))
        ids = [release.sketch_id for release in releases]
        yield "a part per sketch", float(sorted(merged.ids) == sorted(ids))
        yield "NOT PRIVATE is inherited", float(merged.private and not marked.private)
        spent = Spent()
        for release in releases:
            spent += spent_on_counts(release)
        delta = 1e-6
        epsilon = compose(*merged.privacies).epsilon_at(delta)
        # Two searches for the best bound of noise of integers.
        yield "joint guarantee", float(spent.delta_at(epsilon) <= delta * (1 + 1e-3))
        yield "joint guarantee is tight", float(spent.delta_at(0.99 * epsilon) > delta)
        tables = [
            ReadTable(f"part {number}", each.spec, release, truth)
            for number, (each, release, truth) in enumerate(
                zip(cases, releases, truths, strict=True)
            )
        ]
        yield from tested_jointly(tables)
        residuals = merged.table - np.sum(truths, axis=0)
        variances = [
            each.claimed_noise(release.parts[0].mechanism.name).deviation(4) ** 2  # type: ignore[union-attr]
            for each, release in zip(cases, releases, strict=True)
        ]
        yield "variance of the sum", variance(residuals.ravel() / np.sqrt(sum(variances)))

    claim = "a merged release holds and states all of its parts"
    return statistical_outcome(claim, tested(), samples=4096 * len(cases))
