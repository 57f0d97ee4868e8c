"""Hierarchies: all levels together cost what is stated, and no two levels share noise.

The noise of every level is converted to what it spends (:mod:`lazysketch.audit.spending`), and the
sum compared with the stated guarantee, in both directions. Under fresh keys the noise of all levels
is tested jointly, under a seeded key their draws; differences under it show what an event changes.

Detects: a level that is not accounted for; levels with one key or hash seed; an event counted
twice. Cannot detect: a split function that depends on the stream, which the caller chooses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lazysketch.audit import p_values
from lazysketch.audit.discovery_draws import poisson_tail
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.joint_noise import ReadTable, tested_jointly
from lazysketch.audit.level_system import LevelCase, LevelSystem, draws_of
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.spending import Spent, spent_on_counts, spent_on_names
from lazysketch.heavy_hitters import HeavyHittersSpec, LevelsPrivacy
from lazysketch.heavy_hitters.tables import DiscoveringTable
from lazysketch.releases.release import Release
from lazysketch.sketches.exact import CountMin

__all__ = [
    "BUDGETS",
    "Run",
    "draws_of_levels",
    "events_count_once_per_level",
    "exact_table",
    "levels_cost_what_is_stated",
    "noise_of_levels",
    "overspent",
    "unrelated_draws",
]

Run = Callable[[LevelSystem], Outcome]
_CELLS, _NODES, _SLOTS = 256, 16, 1000  # whose draws are compared
BUDGETS = (
    LevelCase(),
    LevelCase(4, (1.0, 1.0, 2.0, 5.0), delta=1e-8, relation="zero-out"),
    LevelCase(2, (1.0, 9.0), epsilon=4.0, delta=1e-4, group=2),
    LevelCase(6, epsilon=8.0, relation="zero-out"),
)


def levels_cost_what_is_stated(system: LevelSystem) -> Outcome:
    """Check that the noise and thresholds of all levels amount to the stated guarantee.

    Args:
        system: the system under test.

    Returns:
        Failed if the levels spend more than stated, or less than 0.999 of the stated epsilon for
        counts; if names spend more than stated; if the statement exceeds what was asked for.
    """

    def failures() -> Iterator[str]:
        for case in BUDGETS:
            live = system.open(case)
            found = overspent(live.privacy, live.releases(), live.specs, asked=case)
            for wrong in itertools.islice(found, 1):
                yield f"{wrong} for {case}"

    claim = "all levels together have the stated guarantee"
    return exact_outcome(claim, failures(), cases=len(BUDGETS))


def overspent(
    stated: LevelsPrivacy,
    releases: Sequence[Release],
    specs: Sequence[HeavyHittersSpec],
    *,
    asked: LevelCase,
) -> Iterator[str]:
    """Yield in what the levels of a hierarchy differ from the stated guarantee.

    Args:
        stated: the guarantee of all levels.
        releases: of each level.
        specs: of each level.
        asked: the hierarchy.

    Yields:
        One sentence per difference.
    """
    case = asked
    counts, names = Spent(), Spent()
    for release, spec in zip(releases, specs, strict=True):
        counts += spent_on_counts(release)
        if spec.discovery is not None:
            names += spent_on_names(spec.discovery)
    seeds = {release.hash_seed for release in releases}
    ids = {release.sketch_id for release in releases}
    if len(seeds) < case.levels or len(ids) < case.levels:
        yield f"{len(seeds)} hash seeds and {len(ids)} ids"
    if len(counts.mus) != case.levels or len(names.names) != case.levels:
        yield f"{len(counts.mus)} tables and {len(names.names)} discoveries"
    spent = counts.delta_at(stated.counts_epsilon)
    if spent > stated.counts_delta * (1 + 1e-3):  # two searches for the best bound
        yield f"counts spend delta = {spent:.3g}, stated {stated.counts_delta:.3g}"
    if counts.delta_at(0.999 * stated.counts_epsilon) < stated.counts_delta:
        yield "counts spend less than 0.999 of the stated epsilon"
    for number, stated_part in enumerate((stated.discovery_epsilon, stated.discovery_delta)):
        total = math.fsum(pair[number] for pair in names.names)
        if total > stated_part * (1 + 1e-9):
            yield f"names spend {total:.6g}, stated {stated_part:.6g}"
    together = (counts + names).delta_at(stated.epsilon)
    if together > stated.delta:
        yield f"everything spends delta = {together:.3g}, stated {stated.delta:.3g}"
    if stated.epsilon > case.epsilon or stated.delta > case.delta:
        yield f"({stated.epsilon:.6g}, {stated.delta:.3g}) is stated"


def noise_of_levels(system: LevelSystem) -> Outcome:
    """Test the noise of all levels jointly, under a fresh key.

    Args:
        system: the system under test.

    Returns:
        Tests of the residuals of every level and of the covariance of every two.
    """
    case = LevelCase(depth=4, width=2048, horizon=8192)
    items = (np.arange(case.horizon - case.width) ** 2 % 97).tolist()
    live = system.open(case)
    live.feed(items)
    live.tick(case.width)  # every column is pushed after the last event
    read = zip(live.specs, live.releases(), strict=True)
    tables = [
        ReadTable(
            f"level {level}",
            spec.table,
            release,
            exact_table(case, items, level, release.hash_seed),
        )
        for level, (spec, release) in enumerate(read)
    ]

    claim = "the noise of every level is as claimed and its own"
    return statistical_outcome(
        claim, tested_jointly(tables), samples=case.depth * case.width * case.levels
    )


def exact_table(case: LevelCase, items: Sequence[int], level: int, hash_seed: int) -> Integers:
    """Return the exact counts of a level.

    Args:
        case: the hierarchy.
        items: all events.
        level: its number.
        hash_seed: public seed of its hash.
    """
    sketch = CountMin(depth=case.depth, width=case.width, hash_seed=hash_seed)
    for item in items:
        sketch.update(case.names(item)[level])
    return sketch.table


def draws_of_levels(system: LevelSystem) -> Outcome:
    """Test that the draws of two levels are unrelated, even if key and sketch id are equal.

    Args:
        system: the system under test.

    Returns:
        For every two levels, tests of the covariance of the draws of the tables, and of the number
        of equal draws of discovery.
    """
    case = LevelCase(depth=4, width=64, horizon=4096, epsilon=0.2)
    tables = system.open(case, seed=9).tables()
    claim = "two levels never share draws"
    tested = unrelated_draws(tables)
    return statistical_outcome(claim, tested, samples=case.levels * (_CELLS * _NODES + _SLOTS))


def unrelated_draws(tables: Sequence[DiscoveringTable]) -> Iterator[tuple[str, float]]:
    """Yield tests of the draws of every two levels, of counts and of names.

    Args:
        tables: live tables under one seeded key and id, with 256 cells and 16 nodes at least.

    Yields:
        Name and p-value of each test.
    """
    drawn = [draws_of(table, _CELLS, _NODES).ravel() / table.sigma for table in tables]
    slots = list(range(_SLOTS))
    of_names = [np.abs(table._discovery_draws(0, slots)) for table in tables]
    largest = max(max(table._discovery_facts["rates"]) for table in tables)

    for one, other in itertools.combinations(range(len(tables)), 2):
        name = f"levels {one} and {other}"
        yield f"{name}, counts", p_values.covariance(drawn[one], drawn[other], 0.0)
        equal = int((of_names[one] == of_names[other]).sum())
        mean = len(slots) * 2 * math.tanh(largest / 2)
        yield f"{name}, names", poisson_tail(equal, mean)


def events_count_once_per_level(system: LevelSystem) -> Outcome:
    """Check that an event changes the table of every level by its name there, and by nothing else.

    Args:
        system: the system under test.

    Returns:
        Failed if a difference under the seeded key is not the name's own cells.
    """
    case = LevelCase()
    items = [0, 1, 4, 9, 26, 80]

    def tables(events: list[int]) -> list[Integers]:
        live = system.open(case, seed=4)
        if events:
            live.feed(events)
        live.tick(case.horizon - len(events))
        return [release.table for release in live.releases()]

    empty = tables([])

    def failures() -> Iterator[str]:
        for events in [[item] for item in items]:
            found = tables(events)
            seeds = [spec.table.hash_seed or 0 for spec in system.open(case, seed=4).specs]
            for level, seed in enumerate(seeds):
                changed = found[level] - empty[level]
                if not np.array_equal(changed, exact_table(case, events, level, seed)):
                    yield f"an event changed {np.abs(changed).sum()} counts of level {level}"

    cases = len(items) * case.levels
    return exact_outcome("every event counts once at every level", failures(), cases=cases)
