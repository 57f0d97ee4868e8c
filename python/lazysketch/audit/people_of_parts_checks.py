"""People at several tables: the levels of a hierarchy agree, the windows of a stream do not know.

Under a seeded key a table with people is compared, bit for bit, with one of a stream in which the
events that do not count never were: at all levels an event counts or at none, and a window counts
whatever others have counted. What a person then moves at each level is compared with the stated
sensitivity of that level.

Detects: levels that bound people one by one, or some of them only; a level with the noise of
another one; windows that share their contributions, or forget them in the middle. Cannot detect:
what is lost where a store is restored, which tests of the project cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.level_system import LevelCase, LevelSystem
from lazysketch.audit.people_rule import Event
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.window_checks import SECOND
from lazysketch.audit.window_system import (
    ITEMS,
    TICK,
    WindowCase,
    WindowModel,
    WindowSystem,
)
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.privacy.relations import Relation

__all__ = ["people_at_levels", "people_in_windows"]

_SEED: Final = 8
_NAMES: Final = 27
_GROWING: Final = (PersonBound(cells=1, events=4), PersonBound(cells=4))
_EQUAL: Final = (PersonBound(cells=2, events=2), PersonBound(cells=2, events=2))
_OF_LEVELS: Final[tuple[tuple[Relation, tuple[PersonBound, ...]], ...]] = (
    ("substitution", _GROWING),
    ("zero-out", _GROWING),
    ("zero-out", _GROWING[::-1]),
    ("zero-out", _EQUAL),
)
_HIERARCHIES: Final = tuple(
    LevelCase(2, depth=2, width=23, horizon=92, relation=relation, bounds=bounds)
    for relation, bounds in _OF_LEVELS
)
_BOUND: Final = PersonBound(cells=2, events=2)
_WINDOWS: Final = (
    WindowCase("steps", 24, 3, depth=3, width=7, person_bound=_BOUND),
    WindowCase("clock", 16 * SECOND, 3, slices=4, depth=3, width=7, person_bound=_BOUND),
    WindowCase("range", 16 * SECOND, 3, depth=3, width=7, relation="zero-out", person_bound=_BOUND),
)


def people_at_levels(system: LevelSystem) -> Outcome:
    """Compare levels with those of the counted events alone, and distances with what is stated.

    Args:
        system: the system under test.

    Returns:
        Failed if a release of a level differs in a bit, or if one person's events move a level by
        more than its stated sensitivity.
    """
    random = np.random.default_rng(3)
    people, items = random.integers(0, 3, 60).tolist(), random.integers(0, _NAMES, 60).tolist()
    events = list(zip(people, items, strict=True))

    def failures() -> Iterator[str]:
        for case in _HIERARCHIES:
            if not _counts_by_the_rule(system, case, events):
                yield str(case)
            elif (wrong := _distance_beyond(system, case)) is not None:
                yield f"{wrong}: {case}"

    claim = "an event of a person counts at all levels or at none"
    return exact_outcome(claim, failures(), cases=len(_HIERARCHIES))


def _counts_by_the_rule(system: LevelSystem, case: LevelCase, events: list[Event]) -> bool:
    given, expected = (system.open(case, seed=_SEED) for _ in range(2))
    given.feed([item for _, item in events], [person for person, _ in events])
    rules = case.rules()
    for number, (person, item) in enumerate(events):
        pairs = list(zip(rules, case.names(item), strict=True))
        if all(rule.admits(person, name) for rule, name in pairs):
            for rule, name in pairs:
                rule.add(person, name)
            expected.feed([item], [number])  # a person of whom everything counts
        else:
            expected.tick(1)
    return all(
        np.array_equal(one.table, other.table)
        for one, other in zip(given.releases(), expected.releases(), strict=True)
    )


def _distance_beyond(system: LevelSystem, case: LevelCase) -> str | None:
    """Return at which level one person moves more than is stated; None if at none."""
    # All events come before the last round, in which every column is pushed.
    rounds = case.horizon - case.width
    silent = system.open(case, seed=_SEED)
    silent.tick(case.horizon)
    empty = silent.releases()
    # Items of one name above, which differ below; and many.
    streams = [[first + n % 3 for n in range(rounds)] for first in range(0, _NAMES, 3)]
    streams.append([n % _NAMES for n in range(rounds)])
    for items in streams:
        live = system.open(case, seed=_SEED)
        live.feed(items, [0] * rounds)
        live.tick(case.width)
        for level, (release, without) in enumerate(zip(live.releases(), empty, strict=True)):
            part = release.parts[0]
            noise = case.table(level).claimed_noise(part.mechanism.name if part.mechanism else "")
            moved: Integers = release.table - without.table
            squared = int((moved**2).sum()) * noise.strategy.sensitivity2
            stated = part.privacy.l2_sensitivity**2
            if squared > stated * (1 + 1e-9):
                return f"squared distance {squared} at level {level}, {stated:.7g} stated"
    return None


def people_in_windows(system: WindowSystem) -> Outcome:
    """Compare windows with those of a model in which each one knows the people of its own.

    Args:
        system: the system under test.

    Returns:
        Failed if a release differs in a bit; all cuts.
    """
    model = WindowModel()

    def failures() -> Iterator[str]:
        for case in _WINDOWS:
            events = _events_of(case)
            given, expected = (_ended(one, case, events) for one in (system, model))
            if not np.array_equal(given, expected):
                yield str(case)

    claim = "each window counts so much of a person, whatever the others counted"
    return exact_outcome(claim, failures(), cases=len(_WINDOWS))


def _events_of(case: WindowCase) -> list[tuple[int, int, int]]:
    """Events of three people at places that ascend: person, item, place."""
    random = np.random.default_rng(4)
    every = 1 if case.cut == "steps" else 8 * TICK
    places = range(case.first, case.end, every)
    return [(int(random.integers(0, 3)), int(random.integers(0, ITEMS)), at) for at in places]


def _ended(system: WindowSystem, case: WindowCase, events: list[tuple[int, int, int]]) -> Integers:
    live = system.open(case, seed=_SEED)
    for person, item, at in events:
        live.add(item, at, person)
    return np.array([release.table for release in live.finish()])
