"""The checks of discovery, windows, hierarchies, statements and people, and their cases.

Together they take about twenty seconds on one busy core; each has a false-alarm rate of at most
1e-7, as those of :mod:`lazysketch.audit.suite`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from lazysketch.audit import (
    discovery_checks,
    discovery_draws,
    level_checks,
    level_window_checks,
    people_checks,
    people_of_parts_checks,
    statement_checks,
    window_checks,
)
from lazysketch.audit.check import Check, of_library
from lazysketch.audit.discovery_system import DiscoveryLibrary
from lazysketch.audit.level_system import LevelLibrary
from lazysketch.audit.level_window_system import LevelWindowLibrary
from lazysketch.audit.people_system import PeopleLibrary
from lazysketch.audit.statement_checks import Statements
from lazysketch.audit.window_checks import SECOND, SMALL
from lazysketch.audit.window_system import WindowCase, WindowLibrary
from lazysketch.privacy.relations import CountKind, Relation

__all__ = ["WIDE_CLOCK", "heavy_checks"]

_EPOCHS = 24_000  # 10 % more or less noise gives p below 1e-20
_RELATIONS: tuple[Relation, ...] = ("substitution", "zero-out")
WIDE_CLOCK = WindowCase("clock", 8 * SECOND, 5, slices=8, depth=4, width=2048)
_WIDE_STEPS = WindowCase("steps", 8192, 5, depth=4, width=2048)


def heavy_checks() -> Iterator[Check]:
    """Yield the checks.

    Yields:
        Checks of the five areas.
    """
    yield from _of_discovery()
    yield from _of_windows()
    yield from _of_hierarchies()
    yield from _of_windows_of_hierarchies()
    yield from _of_releases()
    yield from _of_people()


def _of_discovery() -> Iterator[Check]:
    library = DiscoveryLibrary()

    def named(name: str, case: str, run: discovery_checks.Run) -> Check:
        return Check(name, "discovery", case, of_library(lambda: run(library)))

    yield named(
        "names of the model", "64 streams", lambda _: discovery_checks.discovery_equals_model()
    )
    yield named("thresholds", "48 descriptions", discovery_checks.thresholds_as_defined)
    yield named("identity", "16 items with two fingerprints", discovery_checks.names_of_their_own)
    yield named("draws of names", "14 epochs, 1101 slots", discovery_draws.draws_of_epochs)
    yield named("keys of names", "14 descriptions", discovery_draws.parameters_change_names)
    for exact, method in ((True, "exact counting"), (False, "Misra-Gries")):
        yield named(
            "published names",
            f"{method}, {_EPOCHS} epochs",
            partial(discovery_checks.rates_of_publication, exact=exact, epochs=_EPOCHS),
        )
        for relation, counted in itertools.product(_RELATIONS, (1, 5)):
            yield named(
                "strangers",
                f"{method}, {relation}" + (f", weights up to {counted}" if counted > 1 else ""),
                partial(
                    discovery_checks.names_of_strangers,
                    exact=exact,
                    relation=relation,
                    epochs=10_000,
                    counted=counted,
                ),
            )


def _of_windows() -> Iterator[Check]:
    library = WindowLibrary()

    def named(name: str, case: object, run: window_checks.Run) -> Check:
        return Check(name, "windows", str(case), of_library(lambda: run(library)))

    yield named("windows of the model", "4 cases", lambda _: window_checks.windows_equal_model())
    for case in SMALL:
        yield named(
            "one window",
            case,
            partial(window_checks.events_are_in_one_window, case=case),
        )
    for case in (WIDE_CLOCK, _WIDE_STEPS):
        yield named(
            "noise of windows",
            case,
            partial(window_checks.noise_of_windows, case=case),
        )
    for case in SMALL[1:3]:
        yield named(
            "moves",
            case,
            partial(window_checks.moves_cost_what_is_stated, case=case),
        )
    yield named("slices", "1 to 960 slices", window_checks.slices_leave_room)


def _of_hierarchies() -> Iterator[Check]:
    library = LevelLibrary()

    def named(name: str, case: str, run: level_checks.Run) -> Check:
        return Check(name, "hierarchies", case, of_library(lambda: run(library)))

    budgets = f"{len(level_checks.BUDGETS)} hierarchies"
    yield named("budget of levels", budgets, level_checks.levels_cost_what_is_stated)
    yield named("noise of levels", "3 levels, 4 x 2048", level_checks.noise_of_levels)
    yield named("draws of levels", "3 levels, one id", level_checks.draws_of_levels)
    yield named("one event per level", "3 levels", level_checks.events_count_once_per_level)


def _of_windows_of_hierarchies() -> Iterator[Check]:
    library = LevelWindowLibrary()

    def named(name: str, case: str, run: level_window_checks.Run) -> Check:
        return Check(name, "hierarchies", case, of_library(lambda: run(library)))

    checks = level_window_checks
    yield named(
        "levels in windows of the model", "2 cases", lambda _: checks.level_windows_equal_model()
    )
    yield named(
        "budget of levels in windows",
        "4 hierarchies, up to 63 slices",
        checks.level_windows_cost_what_is_stated,
    )
    wide = "3 levels in 3 windows, 4 x 1024"
    yield named("noise of levels in windows", wide, checks.noise_of_level_windows)
    yield named(
        "noise of levels in windows",
        f"{wide}, a store of 4 lives",
        lambda _: checks.noise_of_stored_level_windows(),
    )
    yield named("draws of levels in windows", "3 levels, one id", checks.draws_of_level_windows)
    yield named(
        "one window at every level",
        "3 levels, 3 windows",
        checks.events_are_in_one_window_at_every_level,
    )
    yield named(
        "people of levels in windows", "2 hierarchies, 3 windows", checks.people_of_level_windows
    )


def _of_releases() -> Iterator[Check]:
    def named(name: str, case: str, run: statement_checks.Run) -> Check:
        return Check(name, "releases", case, of_library(lambda: run(Statements())))

    yield named(
        "statements",
        "sketches, hitters, levels, windows",
        statement_checks.statements_cover_what_was_spent,
    )
    yield named("merges", "3 sketches, 4 x 1024", statement_checks.merges_state_all_parts)


def _of_people() -> Iterator[Check]:
    library = PeopleLibrary()

    def named(name: str, case: str, run: people_checks.Run) -> Check:
        return Check(name, "people", case, of_library(lambda: run(library)))

    kinds: tuple[CountKind, ...] = ("count-min", "count-sketch")
    for kind in kinds:
        for relation in _RELATIONS:
            yield named(
                "distances of people",
                f"{kind} 2 x 3, {relation}",
                partial(
                    people_checks.distances_of_people,
                    cases=people_checks.tables_of_people(kind, relation),
                ),
            )
    yield named(
        "rule of people",
        "21 tables, 4 with names",
        people_checks.refused_events_are_empty_steps,
    )
    yield Check(
        "people at levels",
        "people",
        "4 hierarchies of 2 levels",
        of_library(lambda: people_of_parts_checks.people_at_levels(LevelLibrary())),
    )
    yield Check(
        "people in windows",
        "people",
        "3 windows of each cut",
        of_library(lambda: people_of_parts_checks.people_in_windows(WindowLibrary())),
    )
    wide = people_checks.WIDE_PEOPLE
    yield named("noise of people", str(wide), partial(people_checks.noise_of_people, case=wide))
    yield Check(
        "statements of people",
        "people",
        "42 tables, 6 with names",
        of_library(lambda: statement_checks.people_are_stated(Statements())),
    )
