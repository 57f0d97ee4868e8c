"""Windows of a hierarchy: every table has noise of its own, and all together cost what is stated.

Theorem 12 (f) needs three facts: an event changes one slice of one window, the same at every level;
each level of each window has draws of its own, of the noise of its level; and a move costs at most
what the levels of one window are calibrated for together. The first is tested exactly under a
seeded key, the second under fresh keys, in memory and in a store that is opened again in every
window, the third by exact matrices.

Detects: a level whose windows end elsewhere; levels or windows with one id, key or hash seed; a
level with the noise of another one, or left out of the calibration; tables without room for moves;
people who are bounded per level, or in more than one window. Cannot detect: a clock or a split that
depends on events, which the caller chooses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.joint_noise import ReadTable, tested_jointly
from lazysketch.audit.level_checks import exact_table, overspent, unrelated_draws
from lazysketch.audit.level_system import HASH_SEED, LevelCase
from lazysketch.audit.level_window_model import LevelWindowModel
from lazysketch.audit.level_window_system import (
    LevelWindowCase,
    LevelWindowLibrary,
    LevelWindowSystem,
    StoredLevelWindows,
)
from lazysketch.audit.people_rule import Rule
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.spending import Spent
from lazysketch.audit.strategy import strategy
from lazysketch.audit.window_checks import SECOND, places_of
from lazysketch.audit.window_system import TICK, WindowCase, place_of
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.releases.release import Release

__all__ = [
    "Run",
    "draws_of_level_windows",
    "events_are_in_one_window_at_every_level",
    "level_windows_cost_what_is_stated",
    "level_windows_equal_model",
    "noise_of_level_windows",
    "noise_of_stored_level_windows",
    "people_of_level_windows",
]

Run = Callable[[LevelWindowSystem], Outcome]
Events = list[tuple[int, int]]  # item, place

_NAMES = 27
_SMALL = LevelWindowCase(LevelCase(), WindowCase("clock", 8 * SECOND, 2, slices=4))
_ODD = LevelWindowCase(
    LevelCase(2, (1.0, 3.0), relation="zero-out"), WindowCase("clock", 7 * SECOND, 2, slices=3)
)
_BUDGETS = tuple(
    LevelWindowCase(levels, WindowCase("clock", 64 * SECOND, 1, slices=slices))
    for levels, slices in (
        (LevelCase(), 31),  # which gets more leaves than slices
        (LevelCase(4, (1.0, 1.0, 2.0, 5.0), delta=1e-8, relation="zero-out"), 60),
        (LevelCase(2, (1.0, 9.0), epsilon=4.0, delta=1e-4, group=2), 32),
        (LevelCase(5, epsilon=8.0), 63),
    )
)
# Two levels have equal descriptions, so that only ids and seeds tell their draws apart.
_WIDE = LevelWindowCase(
    LevelCase(weights=(1.0, 1.0, 2.0), depth=4, width=1024),
    WindowCase("clock", 8 * SECOND, 3, slices=8),
)
_BOUND = PersonBound(cells=2, events=2)
_PEOPLE = tuple(
    LevelWindowCase(
        LevelCase(2, depth=2, width=23, relation="zero-out", bounds=bounds),
        WindowCase("clock", 8 * SECOND, 3, slices=4),
    )
    for bounds in ((PersonBound(cells=1, events=4), PersonBound(cells=4)), (_BOUND, _BOUND))
)


def level_windows_cost_what_is_stated(system: LevelWindowSystem) -> Outcome:
    """Check that the levels of a window, and an event that moves, cost what is stated.

    Args:
        system: the system under test.

    Returns:
        Failed if noise or thresholds of all levels do not amount to the stated guarantee, or if an
        event that moves among the slices and windows, at all levels, costs more.
    """

    def failures() -> Iterator[str]:
        for case in _BUDGETS:
            live = system.open(case)
            stated, specs = live.privacy, live.specs
            for releases in live.finish():
                found = overspent(stated, releases, specs, asked=case.of_levels)
                for wrong in itertools.islice(found, 1):
                    yield f"{wrong} for {case}"
                spent = _spent_by_moves(case, releases).delta_at(stated.counts_epsilon)
                if spent > stated.counts_delta * (1 + 1e-3):
                    wrong = f"moves spend delta = {spent:.4g}, stated {stated.counts_delta:.4g}"
                    yield f"{wrong} for {case}"

    claim = "the levels of all windows together have the stated guarantee"
    return exact_outcome(claim, failures(), cases=2 * len(_BUDGETS))


def _spent_by_moves(case: LevelWindowCase, releases: list[Release]) -> Spent:
    """Return what is spent on events that move at every level, to another cell or another leaf."""
    mus = []
    for release in releases:
        part = release.parts[0]
        if part.mechanism is None:
            raise AssertionError("release: expected noise, got exact counts")
        matrices = strategy(part.mechanism.name, part.mechanism.leaves)
        # Entries below 2^10 in at most 2^11 nodes: exact in 53 bits.
        leaves = range(1, case.cut.slices + 1)
        shifts = np.array([matrices.shift(leaf) for leaf in leaves], np.float64)
        products = shifts @ shifts.T
        norms = np.diag(products)
        squared = float(norms.max())
        if case.of_levels.relation == "substitution":  # a moved event is one change
            moved = norms[:, None] + norms[None, :] - 2 * products
            squared = max(2 * squared, float(moved.max()))
        distance = math.sqrt(release.depth * squared) * case.of_levels.group
        mus.append(distance / part.privacy.sigma)
    return Spent(mus=tuple(mus), depths=(case.of_levels.depth,) * len(mus))


def noise_of_level_windows(system: LevelWindowSystem) -> Outcome:
    """Test the noise of all levels of all windows jointly, under a fresh key.

    Args:
        system: the system under test.

    Returns:
        Failed also if two tables have one id, if two levels have one hash seed, or if a level has
        another one in another window.
    """
    case = _WIDE
    live, events = system.open(case), []
    specs = live.specs
    for number, at in enumerate(range(case.cut.first, case.cut.end, case.cut.every // 60)):
        events.append((number**2 % _NAMES, at))
        live.add(*events[-1])
    windows = live.finish()
    cells = case.of_levels.depth * case.of_levels.width

    def tested() -> Iterator[tuple[str, float]]:
        releases = [release for window in windows for release in window]
        tables = case.cut.windows * case.of_levels.levels
        ids = {release.sketch_id for release in releases}
        yield "tables with equal ids", float(len(ids) == len(releases) == tables)
        seeds = {tuple(release.hash_seed for release in window) for window in windows}
        own = [(HASH_SEED + level) % 2**64 for level in range(case.of_levels.levels)]
        yield "hash seeds of levels", float(seeds == {tuple(own)})
        read: list[ReadTable] = []
        for number, window in enumerate(windows):
            items = [item for item, at in events if _window_of(case, at) == number]
            for level, (spec, release) in enumerate(zip(specs, window, strict=True)):
                truth = exact_table(case.of_levels, items, level, release.hash_seed)
                part = release.parts[0]
                described = replace(spec.table, schedule=part.schedule or spec.table.schedule)
                read.append(ReadTable(f"window {number}, level {level}", described, release, truth))
        yield from tested_jointly(read)

    claim = "each level of each window has noise as claimed, of its own"
    samples = cells * case.cut.windows * case.of_levels.levels
    return statistical_outcome(claim, tested(), samples=samples)


def noise_of_stored_level_windows() -> Outcome:
    """Test the same of windows in a store that is opened again in every window.

    Returns:
        As :func:`noise_of_level_windows`.
    """
    with TemporaryDirectory() as folder:
        return noise_of_level_windows(StoredLevelWindows(Path(folder)))


def draws_of_level_windows(system: LevelWindowSystem) -> Outcome:
    """Test that the draws of two levels of a window are unrelated even under one key and one id.

    Args:
        system: the system under test.

    Returns:
        For every two levels, tests of the covariance of the draws of the tables, and of the number
        of equal draws of discovery.
    """
    levels = LevelCase(depth=4, width=64, epsilon=0.2)
    case = LevelWindowCase(levels, WindowCase("clock", 64 * SECOND, 1, slices=16))
    tables = system.open(case, seed=9).live_tables()
    claim = "two levels of a window never share draws"
    samples = levels.levels * (256 * 16 + 1000)
    return statistical_outcome(claim, unrelated_draws(tables), samples=samples)


def events_are_in_one_window_at_every_level(system: LevelWindowSystem) -> Outcome:
    """Check what events at every place change, after every slice and at the ends of windows.

    Args:
        system: the system under test.

    Returns:
        Failed if a level of a window changes by anything but the names of its own events there.
    """
    cases = 0

    def failures() -> Iterator[str]:
        nonlocal cases
        for case in (_SMALL, _ODD):
            places = places_of(case.cut)
            streams: list[Events] = [[(at % _NAMES, at) for at in places]]
            if case is _SMALL:  # alone too, at the ends of a slice and of a window
                ends = [at for end in (2, 8) for at in places if abs(at - end * SECOND) <= TICK]
                streams += [[(5, at)] for at in ends]
            empty = _transcript(system, case, [])
            for events in streams:
                cases += 1
                changed = _transcript(system, case, events) - empty
                if not np.array_equal(changed, _expected(case, events)):
                    wrong = changed != _expected(case, events)
                    levels = np.flatnonzero(wrong.any(axis=(0, 1, 3))).tolist()
                    at = events[0][1] - case.cut.first
                    yield f"{len(events)} events from place {at} are elsewhere at levels {levels}"

    wrong = list(failures())
    claim = "every event changes one slice of one window, the same at every level"
    return exact_outcome(claim, iter(wrong), cases=cases)


def _transcript(system: LevelWindowSystem, case: LevelWindowCase, events: Events) -> Integers:
    """Return all public tables, (windows, slices, levels, cells), under the seeded key."""
    cut, of_levels = case.cut, case.of_levels
    live, left = system.open(case, seed=1), list(events)
    cells = of_levels.depth * of_levels.width
    found = np.zeros((cut.windows, cut.slices, of_levels.levels, cells), dtype=np.int64)
    for number, part in itertools.product(range(cut.windows), range(1, cut.slices)):
        # The first instant at which the slice has ended.
        ended = cut.first + number * cut.every + cut.every * part // cut.slices
        ended = -(-ended // TICK) * TICK
        while left and left[0][1] < ended:
            live.add(*left.pop(0))
        live.pass_to(ended)
        found[number, part - 1] = [table.ravel() for table in live.open_tables()]
    for event in left:
        live.add(*event)
    for number, releases in enumerate(live.finish()):
        found[number, -1] = [release.table.ravel() for release in releases]
    return found


def _expected(case: LevelWindowCase, events: Events) -> Integers:
    """Return what the events change in :func:`_transcript`."""
    cut, of_levels = case.cut, case.of_levels
    cells = of_levels.depth * of_levels.width
    found = np.zeros((cut.windows, cut.slices, of_levels.levels, cells), dtype=np.int64)
    for item, at in events:
        place = place_of(cut, at)
        if place is None:
            continue
        for level in range(of_levels.levels):
            seed = (HASH_SEED + level) % 2**64
            table = exact_table(of_levels, [item], level, seed)
            found[place[0], place[1] :, level] += table.ravel()
    return found


def _window_of(case: LevelWindowCase, at: int) -> int | None:
    place = place_of(case.cut, at)
    return None if place is None else place[0]


def people_of_level_windows(system: LevelWindowSystem) -> Outcome:
    """Compare windows with those of the events that count: at all levels or at none, per window.

    Args:
        system: the system under test.

    Returns:
        Failed if a release of a level of a window differs in a bit.
    """
    random = np.random.default_rng(3)

    def failures() -> Iterator[str]:
        for case in _PEOPLE:
            given, expected = (system.open(case, seed=8) for _ in range(2))
            rules: dict[int | None, list[Rule]] = {}
            for number, at in enumerate(sorted(places_of(case.cut) * 2)):
                person, item = (int(random.integers(0, most)) for most in (2, _NAMES))
                given.add(item, at, person)
                pairs = list(
                    zip(
                        rules.setdefault(_window_of(case, at), case.of_levels.rules()),
                        case.of_levels.names(item),
                        strict=True,
                    )
                )
                if all(rule.admits(person, name) for rule, name in pairs):
                    for rule, name in pairs:
                        rule.add(person, name)
                    expected.add(item, at, number)  # a person of whom everything counts
            if not _equal(given.finish(), expected.finish()):
                yield str(case)

    claim = "an event of a person counts at all levels of its window or at none"
    return exact_outcome(claim, failures(), cases=len(_PEOPLE))


def level_windows_equal_model(system: LevelWindowSystem | None = None) -> Outcome:
    """Check that the model of the controls equals the windows of the library bit for bit.

    Args:
        system: the system to compare with the library; by default the model without a bug.

    Returns:
        Failed if a release differs.
    """
    library, model = LevelWindowLibrary(), LevelWindowModel() if system is None else system

    def failures() -> Iterator[str]:
        for case in (_SMALL, _ODD):
            events = [(at % _NAMES, at) for at in places_of(case.cut)]
            found = []
            for one in (library, model):
                live = one.open(case, seed=1)
                for event in events:
                    live.add(*event)
                found.append(live.finish())
            if not _equal(*found):
                yield str(case)

    claim = "windows of a hierarchy equal those of the model"
    return exact_outcome(claim, failures(), cases=2)


def _equal(one: list[list[Release]], other: list[list[Release]]) -> bool:
    """Return whether all tables of all windows are equal."""
    pairs = zip(itertools.chain(*one), itertools.chain(*other), strict=True)
    return all(np.array_equal(first.table, second.table) for first, second in pairs)
