"""The default width of the sketch of heavy hitters, by its predicted error.

A wider table has fewer collisions, and no more noise. It is limited by memory, and by lag: a column
is published about once in ``width`` steps. So the width is the smallest power of two, and at least
4096, at which collisions add no more than a tenth to the noise of a cell. The stream is not known;
the prediction is for items of Zipf's distribution with skew 1.1, which ``lazysketch.plan`` assumes
too, and for 2^20 steps if there is no horizon in steps.

Source: docs/heavy-hitters.md, "Choice of epoch, threshold and memory".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lazysketch.specification.schedules import Batch, Geometric, RoundRobin, Single

if TYPE_CHECKING:
    from lazysketch.specification.schedules import Schedule
    from lazysketch.specification.table_spec import TableSpec

__all__ = ["CELL_BYTES", "NARROWEST", "default_width", "widest"]

CELL_BYTES: Final = 8
NARROWEST: Final = 4096
_WIDEST: Final = 1 << 20
_COLUMNS_PER_ITEM: Final = 8
_ROUNDS: Final = 20  # with a horizon: the lag stays below a twentieth of the stream
_STEPS: Final = 1 << 20  # of a stream without a horizon
_SKEW: Final = 1.1
_ITEMS: Final = 2.0**20
_AMPLE: Final = 1 << 16  # wider tables do not fit into caches
_LONG: Final = 2**20  # batches of a stream without a horizon
_MORE: Final = 1.1  # the error of the width over that of no collisions


def default_width(share: float, spec: TableSpec, *, memory: int) -> int:
    """Return the width for items of a share.

    Guarantee: depends on public parameters only.

    Args:
        share: wanted share of the stream, above 0 and at most 1.
        spec: description of the table at any width.
        memory: largest number of bytes of the counters.

    Returns:
        A power of two.

    Example:
        >>> from lazysketch import Single, TableSpec
        >>> spec = TableSpec(
        ...     kind="count-min", depth=4, width=1, schedule=Single(), epsilon=1.0, delta=1e-8
        ... )
        >>> default_width(0.01, spec, memory=1 << 25)
        16384
    """
    most = widest(spec.schedule, depth=spec.depth, memory=memory)
    wanted = max(1 << max(math.ceil(math.log2(_COLUMNS_PER_ITEM / share)), 0), NARROWEST)
    steps = _STEPS
    if spec.schedule.horizon is not None and not isinstance(spec.schedule, Batch):
        steps = spec.schedule.horizon
    # Rounds of the geometric schedule are a hundredth of the stream or, if that is more, the width.
    ample = steps // 100 if isinstance(spec.schedule, Geometric) else _AMPLE
    tolerated = _tolerated(spec, steps)
    while 2 * wanted <= min(most, ample) and _collisions(wanted, spec, steps) > tolerated:
        wanted *= 2
    return min(wanted, most)


def widest(schedule: Schedule, *, depth: int, memory: int) -> int:
    """Return the largest power of two that memory and lag allow.

    Args:
        schedule: when columns are pushed.
        depth: number of rows.
        memory: largest number of bytes of the counters.

    Returns:
        1 to 2^20.
    """
    columns = _WIDEST
    while columns > 1 and CELL_BYTES * depth * columns > memory:
        columns //= 2
    if isinstance(schedule, RoundRobin):  # the others push all columns together or are endless
        while columns > 1 and columns * schedule.period * _ROUNDS > schedule.horizon:
            columns //= 2
    return columns


def _tolerated(spec: TableSpec, steps: int) -> float:
    """Return the variance of collisions that adds a tenth to the standard error of a cell."""
    if isinstance(spec.schedule, Single):
        leaf = 1
    elif isinstance(spec.schedule, Batch):
        leaf = spec.schedule.horizon or _LONG
    else:
        leaf = int(spec.schedule.pushes(spec.width, steps)[0])
    variance = float(spec.chosen_mechanism.variances([leaf])[0]) * spec.sigma**2
    return variance * (_MORE**2 - 1.0)


def _collisions(width: int, spec: TableSpec, steps: int) -> float:
    """Return the variance of the collisions of a cell with items too light to be told apart.

    These are the items that are rarer than one per cell: an estimate weighs its rows, so that a
    heavier one in some of them does not count.
    """
    exponent = _SKEW - 1.0
    mass = (1.0 - _ITEMS**-exponent) / exponent + 1.0  # of all items, by an integral
    least = min(float(width), _ITEMS)
    light = (least**-exponent - _ITEMS**-exponent) / exponent / mass
    squares = 2.0 * _SKEW - 1.0
    square = (least**-squares - _ITEMS**-squares) / squares / mass**2
    return float(steps * (steps * square + light)) / width * float(spec.max_weight**2)
