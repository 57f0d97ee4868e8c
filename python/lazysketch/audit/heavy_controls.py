"""Planted bugs of discovery, windows, hierarchies, statements and people, and their checks.

The rates are tested with fewer epochs than in a run, because the models are slow; a bug is missed
with a probability below 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from lazysketch.audit.control import Control, controls_of_model
from lazysketch.audit.discovery_system import DiscoveryBug, DiscoveryModel, DiscoverySystem
from lazysketch.audit.finding import Outcome
from lazysketch.audit.heavy_suite import WIDE_CLOCK
from lazysketch.audit.level_system import LevelBug, LevelModel
from lazysketch.audit.level_window_model import LevelWindowBug, LevelWindowModel
from lazysketch.audit.people_system import PeopleBug, PeopleModel, PeopleSystem
from lazysketch.audit.statement_checks import StatementBug, Statements
from lazysketch.audit.window_checks import SMALL
from lazysketch.audit.window_system import WindowBug, WindowCase, WindowModel, WindowSystem

__all__ = ["heavy_controls"]


def heavy_controls() -> Iterator[Control]:
    """Yield the controls of discovery, windows, hierarchies, statements and people.

    Yields:
        At least one per planted bug.
    """
    yield from _of_discovery()
    yield from _of_windows()
    yield from _of_hierarchies()
    yield from _of_windows_of_hierarchies()
    yield from _of_releases()
    yield from _of_people()


def _of_discovery() -> Iterator[Control]:
    def exact_rates(system: DiscoverySystem) -> Outcome:
        return discovery_checks.rates_of_publication(system, exact=True, epochs=20_000)

    def rates(system: DiscoverySystem) -> Outcome:
        return discovery_checks.rates_of_publication(system, exact=False, epochs=3000)

    def strangers(system: DiscoverySystem) -> Outcome:
        return discovery_checks.names_of_strangers(
            system, exact=False, relation="zero-out", epochs=1000
        )

    def weighted_strangers(system: DiscoverySystem) -> Outcome:
        return discovery_checks.names_of_strangers(
            system, exact=True, relation="zero-out", epochs=1000, counted=5
        )

    bugs = DiscoveryBug
    detected: tuple[tuple[DiscoveryBug, str, discovery_checks.Run], ...] = (
        (bugs.LOW_THRESHOLD, "thresholds", discovery_checks.thresholds_as_defined),
        (bugs.LOW_THRESHOLD, "published names", rates),
        (bugs.SMALL_NOISE, "published names", exact_rates),
        (bugs.LARGE_NOISE, "published names", exact_rates),
        (bugs.NO_NOISE, "published names", exact_rates),
        (bugs.NO_SHARED, "published names", rates),
        (bugs.FORGOTTEN_ZEROS, "names of the model", discovery_checks.discovery_equals_model),
        (bugs.ARRIVAL, "names of the model", discovery_checks.discovery_equals_model),
        (bugs.REPEATED, "draws of names", discovery_draws.draws_of_epochs),
        (bugs.SHARED_EPOCHS, "draws of names", discovery_draws.draws_of_epochs),
        (bugs.NO_ID, "keys of names", discovery_draws.parameters_change_names),
        (bugs.FINGERPRINT, "identity", discovery_checks.names_of_their_own),
        (bugs.ASKED_SKETCH, "strangers", strangers),
        (bugs.WHOLE_WEIGHT, "strangers", weighted_strangers),
        (bugs.WHOLE_WEIGHT, "names of the model", discovery_checks.discovery_equals_model),
        (bugs.WEIGHT_AS_EVENT, "strangers", weighted_strangers),
        (bugs.WEIGHT_AS_EVENT, "names of the model", discovery_checks.discovery_equals_model),
    )
    return controls_of_model(detected, DiscoveryModel)


def _of_windows() -> Iterator[Control]:
    steps, clock, zero_out, of_range = SMALL

    def in_one(case: WindowCase) -> window_checks.Run:
        return lambda system: window_checks.events_are_in_one_window(system, case)

    def noise(system: WindowSystem) -> Outcome:
        return window_checks.noise_of_windows(system, WIDE_CLOCK)

    def moves(system: WindowSystem) -> Outcome:
        return window_checks.moves_cost_what_is_stated(system, zero_out)

    bugs = WindowBug
    detected: tuple[tuple[WindowBug, str, window_checks.Run], ...] = (
        (bugs.TWICE, "one window", in_one(steps)),
        (bugs.TWICE, "one window", in_one(of_range)),
        (bugs.LATE, "one window", in_one(clock)),
        (bugs.LATE, "windows of the model", window_checks.windows_equal_model),
        (bugs.NEXT_SLICE, "moves", moves),
        (bugs.SHARED_KEY, "noise of windows", noise),
        (bugs.FULL_TABLE, "slices", window_checks.slices_leave_room),
        (bugs.KEPT_BOUNDS, "people in windows", people_of_parts_checks.people_in_windows),
        (bugs.SHORT_BOUNDS, "people in windows", people_of_parts_checks.people_in_windows),
    )
    return controls_of_model(detected, WindowModel)


def _of_hierarchies() -> Iterator[Control]:
    bugs = LevelBug
    detected: tuple[tuple[LevelBug, str, level_checks.Run], ...] = (
        (bugs.LEFT_OUT, "budget of levels", level_checks.levels_cost_what_is_stated),
        (bugs.SHARED_KEY, "noise of levels", level_checks.noise_of_levels),
        (bugs.SHARED_KEY, "draws of levels", level_checks.draws_of_levels),
        (bugs.TWICE, "one event per level", level_checks.events_count_once_per_level),
        (bugs.ALONE, "people at levels", people_of_parts_checks.people_at_levels),
        (bugs.COARSEST, "people at levels", people_of_parts_checks.people_at_levels),
        (bugs.ONE_NOISE, "people at levels", people_of_parts_checks.people_at_levels),
    )
    return controls_of_model(detected, LevelModel)


def _of_windows_of_hierarchies() -> Iterator[Control]:
    bugs, checks = LevelWindowBug, level_window_checks
    budget, noise = checks.level_windows_cost_what_is_stated, checks.noise_of_level_windows
    one_window = checks.events_are_in_one_window_at_every_level
    people = checks.people_of_level_windows
    detected: tuple[tuple[LevelWindowBug, str, level_window_checks.Run], ...] = (
        (bugs.LEFT_OUT, "budget of levels in windows", budget),
        (bugs.FULL_TABLES, "budget of levels in windows", budget),
        (bugs.OTHER_NOISE, "noise of levels in windows", noise),
        (bugs.OF_WINDOWS, "noise of levels in windows", noise),
        (bugs.OF_LEVELS, "noise of levels in windows", noise),
        (bugs.OF_LEVELS, "draws of levels in windows", checks.draws_of_level_windows),
        (bugs.DIAGONAL, "noise of levels in windows", noise),
        (bugs.LATE, "one window at every level", one_window),
        (bugs.LATE, "levels in windows of the model", checks.level_windows_equal_model),
        (bugs.TWICE, "one window at every level", one_window),
        (bugs.NEXT_SLICE, "one window at every level", one_window),
        (bugs.ALONE, "people of levels in windows", people),
        (bugs.KEPT_BOUNDS, "people of levels in windows", people),
    )
    return controls_of_model(detected, LevelWindowModel)


def _of_releases() -> Iterator[Control]:
    bugs = StatementBug
    statements = statement_checks.statements_cover_what_was_spent
    merges = statement_checks.merges_state_all_parts
    detected: tuple[tuple[StatementBug, str, statement_checks.Run], ...] = (
        (bugs.WITHOUT_NAMES, "statements", statements),
        (bugs.OTHER_RELATION, "statements", statements),
        (bugs.FORGOTTEN_PART, "merges", merges),
        (bugs.FORGOTTEN_COUNTS, "merges", merges),
        (bugs.UNMARKED, "merges", merges),
        (bugs.WITHOUT_PEOPLE, "statements of people", statement_checks.people_are_stated),
    )
    return controls_of_model(detected, Statements)


def _of_people() -> Iterator[Control]:
    tables = people_checks.tables_of_people("count-sketch", "zero-out")

    def distances(system: PeopleSystem) -> Outcome:
        return people_checks.distances_of_people(system, tables)

    def noise(system: PeopleSystem) -> Outcome:
        return people_checks.noise_of_people(system, people_checks.WIDE_PEOPLE)

    rule = people_checks.refused_events_are_empty_steps
    bugs = PeopleBug
    detected: tuple[tuple[PeopleBug, str, people_checks.Run], ...] = (
        (bugs.ITEMS, "distances of people", distances),
        (bugs.ITEMS, "rule of people", rule),
        (bugs.ROWS, "rule of people", rule),
        (bugs.REFUSED, "distances of people", distances),
        (bugs.REFUSED, "rule of people", rule),
        (bugs.REFUSED, "noise of people", noise),
        (bugs.NAMES, "rule of people", rule),
        (bugs.EXTRA, "distances of people", distances),
        (bugs.EXTRA, "rule of people", rule),
        (bugs.STOP, "distances of people", distances),
        (bugs.STOP, "rule of people", rule),
        (bugs.ONE_CELL, "distances of people", distances),
        (bugs.ONE_CELL, "noise of people", noise),
        (bugs.MORE_CELLS, "distances of people", distances),
        (bugs.MORE_CELLS, "noise of people", noise),
        (bugs.NO_LIMIT, "distances of people", distances),
    )
    return controls_of_model(detected, PeopleModel)
