"""Windows: every event is counted in one window, whose noise is its own, at the stated cost.

Under a seeded key and one id, two runs that differ in one event differ by exactly what it changed.
So the window and the slice of an event, and the distance of two streams in deviations, are exact.
Under fresh keys the noise of all windows is tested jointly.

Detects: an event in two windows, in none or in a wrong one, also at a boundary; windows that share
noise; a table in which the move of an event costs more than stated. Cannot detect: a clock that
depends on events, which the caller chooses; leaks by the time of calls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from lazysketch.audit.claimed_noise import multiplier
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.joint_noise import ReadTable, tested_jointly
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.strategy import strategy
from lazysketch.audit.window_system import (
    HASH_SEED,
    ITEMS,
    TICK,
    WindowCase,
    WindowLibrary,
    WindowModel,
    WindowSystem,
    place_of,
)
from lazysketch.sketches.exact import CountMin

__all__ = [
    "SECOND",
    "SMALL",
    "events_are_in_one_window",
    "moves_cost_what_is_stated",
    "noise_of_windows",
    "places_of",
    "slices_leave_room",
    "windows_equal_model",
]

Run = Callable[[WindowSystem], Outcome]
SECOND = 64 * TICK
SMALL = (
    WindowCase("steps", 7, 3),
    WindowCase("clock", 8 * SECOND, 3, slices=4),
    WindowCase("clock", 7 * SECOND, 2, slices=3, relation="zero-out"),
    WindowCase("range", 10 * SECOND, 3, short=4 * SECOND),
)
_SLICES = (1, 2, 16, 17, 30, 31, 32, 60, 61, 64, 128, 960)


def places_of(case: WindowCase) -> list[int]:
    """Return every step; or instants at, before and after every boundary of windows and slices.

    Args:
        case: the windows.
    """
    if case.cut == "steps":
        return list(range(case.first, case.end))
    step = 1 if case.cut == "range" else TICK
    parts = [
        case.first + case.every * part // case.slices
        for part in range(case.windows * case.slices + 1)
    ]
    if case.cut == "clock":  # the first instant of a slice that the clock can show
        parts = [-(-part // TICK) * TICK for part in parts]
    near = {at + by * step for at in [*parts, case.end] for by in (-1, 0, 1)}
    least = case.first - (case.cut == "range")  # the clock starts at the first instant
    return sorted(at for at in near if least <= at <= case.end - (case.cut == "clock"))


def _counts(case: WindowCase, events: list[tuple[int, int]]) -> Integers:
    """Return the exact table of every window, shape (windows, depth, width)."""
    tables = np.zeros((case.windows, case.depth, case.width), dtype=np.int64)
    for number in range(case.windows):
        sketch = CountMin(depth=case.depth, width=case.width, hash_seed=HASH_SEED)
        for item, at in events:
            place = place_of(case, at)
            if place is not None and place[0] == number:
                sketch.update(item)
        tables[number] = sketch.table
    return tables


def _ended(system: WindowSystem, case: WindowCase, events: list[tuple[int, int]]) -> Integers:
    """Return the public tables of all windows at their ends, under the seeded key."""
    live = system.open(case, seed=1)
    for item, at in events:
        live.add(item, at)
    return np.array([release.table for release in live.finish()])


def events_are_in_one_window(system: WindowSystem, case: WindowCase) -> Outcome:
    """Check the window of an event at every place, and of a stream of events.

    Args:
        system: the system under test.
        case: small windows.

    Returns:
        Failed if a window changes by anything but the event that belongs there.
    """
    places = places_of(case)
    streams = [[(5, at)] for at in places]
    streams.append([(at % ITEMS, at) for at in places])
    empty = _ended(system, case, [])

    def failures() -> Iterator[str]:
        if len(empty) != case.windows:
            yield f"{len(empty)} windows, expected {case.windows}"
            return
        for events in streams:
            changed = _ended(system, case, events) - empty
            if not np.array_equal(changed, _counts(case, events)):
                at = events[0][1] - case.first
                windows = np.flatnonzero(changed.any(axis=(1, 2))).tolist()
                yield f"{len(events)} events from place {at} changed windows {windows}"

    return exact_outcome(
        "every event changes its window, and no other", failures(), cases=len(streams)
    )


def noise_of_windows(system: WindowSystem, case: WindowCase) -> Outcome:
    """Test the noise of all windows jointly, under a fresh key.

    Args:
        system: the system under test.
        case: wide windows; every cell is a sample.

    Returns:
        Tests of the residuals of every window and of the covariance of every two; failed also if
        two windows have one id.
    """
    live, events = system.open(case), []
    for number, at in enumerate(range(case.first, case.end, case.every // 40)):
        events.append((number % ITEMS, at))
        live.add(*events[-1])
    releases = live.finish()
    truths, spec = _counts(case, events), case.spec().table
    tables: list[ReadTable] = []

    def tested() -> Iterator[tuple[str, float]]:
        ids = {release.sketch_id for release in releases}
        yield "windows with equal ids", float(len(ids) == len(releases) == case.windows)
        for number, (release, truth) in enumerate(zip(releases, truths, strict=True)):
            part = release.parts[0]
            described = replace(spec, schedule=part.schedule or spec.schedule)
            tables.append(ReadTable(f"window {number}", described, release, truth))
        yield from tested_jointly(tables)

    claim = "the noise of every window is as claimed and its own"
    return statistical_outcome(claim, tested(), samples=truths.size)


def moves_cost_what_is_stated(system: WindowSystem, case: WindowCase) -> Outcome:
    """Check the distance of streams in which an event is missing, replaced, or moved.

    All items and all places of small windows by the clock, released after every slice, by pairs:
    docs/theory.md, Theorem 12.

    Args:
        system: the system under test.
        case: small windows by the clock.

    Returns:
        Passed if no pair is further apart than stated, and the stated distance is attained.
    """
    part = system.table_of(case).parts[0]
    if part.mechanism is None:
        raise AssertionError("windows: expected noise, got exact counts")
    matrices = strategy(part.mechanism.name, part.mechanism.leaves)
    sigma, mu = part.privacy.sigma, 1 / multiplier(1.0, 1e-6, case.depth)
    base = _transcript(system, case, None)
    places = [
        case.first + -(-case.every * number // (case.slices * TICK)) * TICK
        for number in range(case.windows * case.slices)
    ]
    vectors = []
    for at, item in itertools.product(places, range(ITEMS)):
        changed = _transcript(system, case, (item, at)) - base
        jumps = np.diff(changed, axis=1, prepend=0)
        shifts = np.array([matrices.shift(push) for push in range(1, case.slices + 1)])
        # Shape (windows, nodes, cells): the change of every node of every cell of every window.
        vectors.append(np.einsum("wsc,sn->wnc", jumps, shifts).ravel())
    stacked = np.array(vectors)
    gram = stacked @ stacked.T
    own = np.diag(gram)
    pairs = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * gram, 0)) / sigma
    missing = float(np.sqrt(own.max())) / sigma
    moved = float(pairs.max())
    if case.relation == "substitution":
        passed = 0.99 * mu < moved <= mu and missing <= mu
        stated = "mu"
    else:
        passed = 0.99 * mu < missing <= mu and moved <= math.sqrt(2) * mu * (1 + 1e-12)
        stated = "sqrt(2) mu"
    return Outcome(
        claim=f"an event that moves is within {stated}, mu = {mu:.4f}",
        observed=f"missing {missing:.4f}, moved or replaced {moved:.4f}",
        samples=pairs.size,
        passed=passed,
        figures={"mu_claimed": mu, "mu_attained": moved},
    )


def _transcript(system: WindowSystem, case: WindowCase, event: tuple[int, int] | None) -> Integers:
    """Return the tables after every slice, under the seeded key: (windows, slices, cells)."""
    live = system.open(case, seed=1)
    found = np.zeros((case.windows, case.slices, case.depth * case.width), dtype=np.int64)
    for number, part in itertools.product(range(case.windows), range(1, case.slices)):
        # The first instant at which the slice has ended.
        ended = case.first + number * case.every + case.every * part // case.slices
        ended = -(-ended // TICK) * TICK
        if event is not None and event[1] < ended:
            live.add(*event)
            event = None
        live.pass_to(ended)
        found[number, part - 1] = live.open_table().ravel()
    if event is not None:
        live.add(*event)
    for number, release in enumerate(live.finish()):
        found[number, -1] = release.table.ravel()
    return found


def slices_leave_room(system: WindowSystem) -> Outcome:
    """Check the cost of a move for up to 960 slices, by the stated noise and exact matrices.

    In one cell, a move from leaf a to leaf b changes the nodes by the difference of their shifts.

    Args:
        system: the system under test.

    Returns:
        Failed if a move costs more than the stated mu for some number of slices.
    """
    mu = 1 / multiplier(1.0, 1e-6, 1)
    attained: list[float] = []

    def failures() -> Iterator[str]:
        for slices in _SLICES:
            case = WindowCase("clock", 1024 * SECOND, 1, slices=slices, depth=1, width=1)
            part = system.table_of(case).parts[0]
            if part.mechanism is None:
                yield "no noise"
                continue
            matrices = strategy(part.mechanism.name, part.mechanism.leaves)
            # Entries below 2^10 in at most 2^11 nodes: exact in 53 bits.
            shifts = np.array([matrices.shift(leaf) for leaf in range(1, slices + 1)], np.float64)
            products = shifts @ shifts.T
            norms = np.diag(products)
            move = (norms[:, None] + norms[None, :] - 2 * products).max()
            squared = max(float(move), 2 * float(norms.max()))
            attained.append(math.sqrt(squared) / part.privacy.sigma)
            if attained[-1] > mu * (1 + 1e-9):
                yield f"a move among {slices} slices costs {attained[-1]:.4f}, stated {mu:.4f}"

    outcome = exact_outcome(
        "a move costs at most mu for every number of slices", failures(), cases=len(_SLICES)
    )
    figures = {"mu_claimed": mu, "mu_attained": max(attained)}
    return replace(outcome, figures=figures)


def windows_equal_model(system: WindowSystem | None = None) -> Outcome:
    """Check that the model of the controls equals the windows of the library bit for bit.

    Args:
        system: the system to compare with the library; by default the model without a bug.

    Returns:
        Failed if a release differs; all cuts.
    """
    library, model = WindowLibrary(), WindowModel() if system is None else system

    def failures() -> Iterator[str]:
        for case in SMALL:
            events = [(at % ITEMS, at) for at in places_of(case)]
            if not np.array_equal(_ended(library, case, events), _ended(model, case, events)):
                yield str(case)

    return exact_outcome("windows equal those of the model", failures(), cases=len(SMALL))
