"""Windows of statistics: the noise covers moves between windows, and each window has its own.

Every value in every slice of two windows is counted alone, under one seeded key. Mapped through U,
the releases of two such runs differ by exactly what a move changes, in both windows together.

Detects: noise for a value that stays; releases that state less than the windows; noise that windows
share; an item in several windows that is said to be covered. Cannot detect: draws of another
distribution, which the areas of the single statistics test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, get_args

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.claimed_noise import multiplier
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes
from lazysketch.audit.statistic_window_system import (
    BINS,
    SLICES,
    WINDOWS,
    Clock,
    Event,
    StatisticWindowsModel,
    transcript,
)
from lazysketch.audit.strategy import strategy
from lazysketch.privacy.composition import compose
from lazysketch.privacy.relations import Relation
from lazysketch.specification.schedules import Batch
from lazysketch.specification.table_spec import TableSpec
from lazysketch.specification.value_tree import VALUE_ROWS, ValueRows
from lazysketch.testing import seeded_key
from lazysketch.windows import DistinctWindows, DistributionWindows

__all__ = ["Run", "items_within_windows", "moves_of_values", "noise_of_windows"]

Run: TypeAlias = Callable[[StatisticWindowsModel], Outcome]
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
_PLACES: Final = [(when, what) for when in range(WINDOWS * SLICES) for what in range(BINS)]


def moves_of_values(system: StatisticWindowsModel) -> Outcome:
    """Check the distance of every pair of events: any two bins, in any two slices.

    Args:
        system: the system under test.

    Returns:
        Passed if the largest distance is at most what the windows and their releases state and the
        claimed mu, and at least 0.99 of them.
    """
    cases = [(rows, relation) for rows in VALUE_ROWS for relation in _RELATIONS]

    def failures() -> Iterator[str]:
        for rows, relation in cases:
            largest, windows = _largest_move(system, rows, relation)
            sketch = windows.privacy.sketch
            claimed = 1.0 / multiplier(sketch.epsilon, sketch.delta, 1)
            if not 0.99 * claimed < largest / sketch.sigma <= claimed:
                mu = largest / sketch.sigma
                yield f"largest distance {mu:.4f} instead of {claimed:.4f}: {rows}, {relation}"
            for stated in (sketch.l2_sensitivity, system.stated_by_release(windows)):
                if not 0.99 < largest / stated <= 1 + 1e-9:
                    share = largest / stated
                    yield f"largest distance {share:.4f} of that stated: {rows}, {relation}"

    return exact_outcome("every move of a value is within mu", failures(), cases=len(cases))


def noise_of_windows(system: StatisticWindowsModel) -> Outcome:
    """Check that no two windows have one id, or one noise.

    Args:
        system: the system under test.

    Returns:
        Failed if two windows without an event have equal tables or ids.
    """

    def failures() -> Iterator[str]:
        for number in range(8):
            clock = Clock()
            made: tuple[DistinctWindows | DistributionWindows, ...] = (
                system.values("tree", "substitution", clock=clock),
                system.items("substitution", clock=clock),
            )
            clock.slices = WINDOWS * SLICES
            for windows in made:
                first, second = (window.release for window in windows.windows)
                # Two draws of one cell are equal in one run of some hundreds.
                equal = first.table.size > 1 and np.array_equal(first.table, second.table)
                if equal or first.sketch_id == second.sketch_id:
                    yield f"two windows share their noise: {windows!r}, run {number}"

    return exact_outcome("each window has noise of its own", failures(), cases=16)


def items_within_windows(system: StatisticWindowsModel) -> Outcome:
    """Check what an item in one window changes, and that two windows are not promised.

    Args:
        system: the system under test.

    Returns:
        Failed if an item in one window moves more than stated, or one in two is said to be covered.
    """

    def failures() -> Iterator[str]:
        for relation in _RELATIONS:
            nothing = _nodes_of_items(system, relation, [])[0]
            for one in range(WINDOWS * SLICES):
                nodes, windows = _nodes_of_items(system, relation, [(one, 1)])
                distance = float(np.linalg.norm(nodes - nothing))
                if not 0 < distance <= windows.privacy.sketch.l2_sensitivity:
                    yield f"an item in one window moves {distance:.4f}: {relation}"
            if system.within(windows) != "one window":
                yield f"an item in two windows is said to be covered: {relation}"
            clock = Clock()
            fresh = system.items(relation, clock=clock)
            clock.slices = WINDOWS * SLICES
            both = compose(*(window.release for window in fresh.windows))
            if not math.isclose(both.mu, math.sqrt(WINDOWS) * fresh.privacy.sketch.mu):
                yield f"two windows compose to mu = {both.mu:.4f}: {relation}"

    cases = len(_RELATIONS) * WINDOWS * SLICES
    return exact_outcome("an item is protected within one window", failures(), cases=cases)


def _largest_move(
    system: StatisticWindowsModel, rows: ValueRows, relation: Relation
) -> tuple[float, DistributionWindows]:
    """Return the largest distance of two events in all noisy queries, and the windows."""
    nodes = []
    for event in [None, *_PLACES]:
        clock = Clock()
        windows = system.values(rows, relation, clock=clock, key=seeded_key(1))
        read = transcript(windows, clock, [] if event is None else [event])
        nodes.append(read)
    mechanism = windows.windows[0].release.parts[0].mechanism
    assert mechanism is not None, "windows have noise"  # noqa: S101
    case = Case(_shape(rows, relation))
    matrices = strategy(mechanism.name, mechanism.leaves)
    moved = np.array(
        [
            np.concatenate([moved_nodes(case, matrices, part) for part in one - nodes[0]])
            for one in nodes[1:]
        ]
    )
    gram = moved @ moved.T
    squares = own = np.diag(gram)
    if relation == "substitution":
        squares = np.maximum(own, own[:, None] + own[None, :] - 2 * gram)
    return math.sqrt(int(squares.max())), windows


def _nodes_of_items(
    system: StatisticWindowsModel, relation: Relation, events: list[Event]
) -> tuple[Integers, DistinctWindows]:
    """Return the exact sums of all nodes, up to the noise that all runs share."""
    clock = Clock()
    windows = system.items(relation, clock=clock, key=seeded_key(1))
    read = transcript(windows, clock, events)
    mechanism = windows.windows[0].release.parts[0].mechanism
    assert mechanism is not None, "windows have noise"  # noqa: S101
    matrices = strategy(mechanism.name, mechanism.leaves)
    spec = _shape("tree", relation)
    nodes = [moved_nodes(Case(spec), matrices, _padded(part, spec.width)) for part in read]
    return np.concatenate(nodes), windows


def _padded(read: Integers, cells: int) -> Integers:
    """Return releases with more cells, which are always 0."""
    found: Integers = np.pad(read, ((0, 0), (0, cells - read.shape[1])))
    return found


def _shape(rows: ValueRows, relation: Relation) -> TableSpec:
    return TableSpec(
        kind="values",
        depth=1,
        width=BINS,
        edges=tuple(range(1, BINS)),
        value_rows=rows,
        schedule=Batch(horizon=SLICES),
        epsilon=1.0,
        delta=1e-6,
        relation=relation,
    )
