"""Windows of ranges and of sums: the noise covers moves between windows, and each has its own.

Every event in every slice of two windows is counted alone, under one seeded key. Mapped through U,
the releases of two such runs differ by exactly what a move changes, in both windows together; of
sums in both tables, whose distances together are at most what (epsilon, delta) allows.

Detects: noise for one of the two events that a replacement is, or for keys that never collide;
releases that state less than the windows; noise that windows share. Cannot detect: draws of another
distribution, and values that are not clipped, which the areas of single ranges and sums test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final, TypeAlias, get_args

import numpy as np

from lazysketch.audit.case import Case
from lazysketch.audit.claimed_noise import multiplier
from lazysketch.audit.finding import Outcome, exact_outcome
from lazysketch.audit.range_and_sum_window_system import (
    BITS,
    WIDTH,
    RangeAndSumWindowsModel,
    transcript_of_keys,
    transcript_of_values,
)
from lazysketch.audit.ranges_model import equal_rows
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.sensitivity import moved_nodes, worst_pair
from lazysketch.audit.statistic_window_system import SLICES, WINDOWS, Clock
from lazysketch.audit.strategy import strategy
from lazysketch.audit.sums_checks import delta_of_tables, squares_of_pairs
from lazysketch.privacy.relations import CountKind, Relation
from lazysketch.releases.parts import ReleasePart
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.releases.release import Release
from lazysketch.specification.schedules import Batch
from lazysketch.specification.table_spec import TableSpec
from lazysketch.testing import seeded_key
from lazysketch.windows import RangesWindows, SumsWindows

__all__ = ["Run", "moves_of_keys", "moves_of_sums", "noise_of_keyed_windows"]

Run: TypeAlias = Callable[[RangeAndSumWindowsModel], Outcome]
_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)
_PLACES: Final = range(WINDOWS * SLICES)
_BEYOND: Final = 5.0  # how far values may be beyond the bounds


def moves_of_keys(system: RangeAndSumWindowsModel) -> Outcome:
    """Check the distance of every pair of events: any two keys, in any two slices.

    Args:
        system: the system under test.

    Returns:
        Passed if the largest distance is at most what the windows and their releases state and the
        claimed mu, and at least 0.99 of them.
    """

    def failures() -> Iterator[str]:
        for relation in _RELATIONS:
            largest, windows = _largest_of_keys(system, relation)
            sketch = windows.privacy.sketch
            rows = equal_rows(BITS, WIDTH, relation=relation)
            claimed = 1 / multiplier(sketch.epsilon, sketch.delta, rows)
            mu = largest / sketch.sigma
            if not 0.99 * claimed < mu <= claimed:
                yield f"largest distance {mu:.4f} instead of {claimed:.4f}: {relation}"
            for stated in (sketch.l2_sensitivity, system.stated_by_release(windows)):
                if not 0.99 < largest / stated <= 1 + 1e-9:
                    yield f"largest distance {largest / stated:.4f} of that stated: {relation}"

    cases = len(_RELATIONS) * len(_PLACES) << BITS
    return exact_outcome("every move of a key is within mu", failures(), cases=cases)


def moves_of_sums(system: RangeAndSumWindowsModel) -> Outcome:
    """Check the distance of pairs of events: items that collide, any values, any two slices.

    Args:
        system: the system under test.

    Returns:
        Passed if (epsilon, delta) as stated allows the largest distance in both tables, and would
        not allow one that is 1 % larger.
    """

    def failures() -> Iterator[str]:
        for relation in _RELATIONS:
            (counts, values), windows = _largest_of_sums(system, relation)
            stated = windows.privacy
            deltas = [delta_of_tables(stated, by * counts, by * values) for by in (1.0, 1.01)]
            if not deltas[0] <= stated.delta * (1 + 1e-6) < deltas[1]:
                apart = f"{counts:.4f} and {values:.4f}"
                yield f"delta {deltas[0]:.4g} for distances {apart}: {relation}"
            elif (stated.epsilon, stated.delta) != (1.0, 1e-6):
                yield f"stated {stated.epsilon:.4g} and {stated.delta:.4g}: {relation}"

    claim = "every move of an item and a value is within (epsilon, delta)"
    return exact_outcome(claim, failures(), cases=4 * len(_RELATIONS) * len(_PLACES))


def noise_of_keyed_windows(system: RangeAndSumWindowsModel) -> Outcome:
    """Check that no two tables of windows have one id, or one noise.

    Args:
        system: the system under test.

    Returns:
        Failed if two tables without an event are equal, or have one id.
    """

    def failures() -> Iterator[str]:
        for number in range(8):
            clock = Clock()
            made = (
                system.ranges("substitution", clock=clock),
                system.sums("substitution", clock=clock),
            )
            clock.slices = WINDOWS * SLICES
            tables: tuple[Sequence[Release | RangesRelease], ...] = (
                [window.release for window in made[0].windows],
                [table for window in made[1].windows for table in window.release.tables],
            )
            for windows, of in zip(made, tables, strict=True):
                if len({table.sketch_id for table in of}) < len(of) or _are_equal(of):
                    yield f"two tables share their noise: {windows!r}, run {number}"

    return exact_outcome("each window has noise of its own", failures(), cases=16)


def _largest_of_keys(
    system: RangeAndSumWindowsModel, relation: Relation
) -> tuple[float, RangesWindows]:
    """Return the largest distance of two events in all noisy queries, and the windows."""
    read = []
    for event in (None, *((when, key) for when in _PLACES for key in range(1 << BITS))):
        clock = Clock()
        windows = system.ranges(relation, clock=clock, key=seeded_key(1))
        read.append(transcript_of_keys(windows, clock, event))
    (part,) = windows.windows[0].release.parts
    squares = squares_of_pairs(_moved("ranges", part, read), relation)
    return math.sqrt(squares.max()), windows


def _largest_of_sums(
    system: RangeAndSumWindowsModel, relation: Relation
) -> tuple[tuple[float, float], SumsWindows]:
    """Return the largest distances of both tables, in deviations, and the windows."""
    items = worst_pair(Case(_shape("count-sketch")), 1)
    read: tuple[list[Integers], list[Integers]] = [], []
    ends = -1 - _BEYOND, 2 + _BEYOND
    events = [(when, item, value) for when in _PLACES for item in items for value in ends]
    for event in (None, *events):
        clock = Clock()
        windows = system.sums(relation, clock=clock, key=seeded_key(1))
        for rows, table in zip(read, transcript_of_values(windows, clock, event), strict=True):
            rows.append(table)
    stated, (part,) = windows.privacy, windows.windows[0].release.tables[0].parts
    parts = [
        squares_of_pairs(_moved("count-sketch", part, rows), relation) / sigma**2
        for rows, sigma in zip(read, (stated.counts.sigma, stated.values.sigma), strict=True)
    ]
    worst = int(np.argmax(parts[0] + parts[1]))
    return (math.sqrt(parts[0].flat[worst]), math.sqrt(parts[1].flat[worst])), windows


def _moved(kind: CountKind, part: ReleasePart, read: Sequence[Integers]) -> Integers:
    """Return what each event changes in all nodes of all windows, against none: the first."""
    assert part.mechanism is not None, "windows have noise"  # noqa: S101
    matrices = strategy(part.mechanism.name, part.mechanism.leaves)
    case = Case(_shape(kind))
    return np.array(
        [
            np.concatenate([moved_nodes(case, matrices, one) for one in each - read[0]])
            for each in read[1:]
        ]
    )


def _shape(kind: CountKind) -> TableSpec:
    """Return a table of the shape of those of the windows, published at the end of each slice."""
    depth = BITS if kind == "ranges" else 2
    batch = Batch(horizon=SLICES)
    return TableSpec(
        kind=kind, depth=depth, width=WIDTH, schedule=batch, epsilon=1.0, delta=1e-6, hash_seed=1
    )


def _are_equal(tables: Sequence[Release | RangesRelease]) -> bool:
    """Return whether two tables are equal in all cells."""
    pairs = combinations((table.table for table in tables), 2)
    return any(np.array_equal(one, other) for one, other in pairs)
