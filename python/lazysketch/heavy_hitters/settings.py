"""What heavy hitters are asked for, checked, and the size of the sketch that serves it.

Nothing here looks at a stream: every default follows from public arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError
from lazysketch.privacy.relations import Relation, checked_integer, checked_real
from lazysketch.specification.schedules import (
    Batch,
    Geometric,
    Punctual,
    RoundRobin,
    Schedule,
    Single,
)
from lazysketch.specification.sizing import LARGEST_WIDTH, SketchKind

__all__ = [
    "CELL_BYTES",
    "LARGEST_WINDOW",
    "checked_domain",
    "checked_kind",
    "checked_schedule",
    "checked_share",
    "checked_window",
    "plain_item",
    "share_of",
    "width_of",
]

CELL_BYTES: Final = 8
LARGEST_WINDOW: Final = 2**40
_SHARE_OF_DOMAIN: Final = 0.001  # what above() takes where nothing was asked for
_NARROWEST, _WIDEST = 1024, 1 << 20
_COLUMNS_PER_ITEM: Final = 8
_ROUNDS: Final = 20  # of a stream whose length is known: its lag stays below a twentieth


def share_of(k: object, share: object, *, listed: bool) -> float:
    """Return the share above which items are wanted.

    Args:
        k: items above 1/k, or None.
        share: the share itself, or None.
        listed: whether a public domain is given, which needs neither.

    Returns:
        Above 0, at most 1.

    Raises:
        ArgumentTypeError: both, or neither without a domain, or a wrong type.
        ArgumentValueError: outside its range.
    """
    if k is not None and share is not None:
        raise ArgumentTypeError("k, share: expected one of these, got both")
    if k is not None:
        return 1.0 / checked_integer("k", k, most=1 << 24)
    if share is not None:
        return checked_share("share", share)
    if listed:
        return _SHARE_OF_DOMAIN
    raise ArgumentTypeError("k, share: expected one of these, or domain, got none")


def checked_share(name: str, share: object) -> float:
    """Return a share of a stream.

    Args:
        name: of the argument.
        share: above 0 and at most 1.

    Returns:
        The share.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: outside its range.
    """
    value = checked_real(name, share)
    if value > 1.0:
        raise ArgumentValueError(f"{name}: expected a number above 0, at most 1, got {value:g}")
    return value


def checked_schedule(horizon: int | None, schedule: Schedule | None) -> Schedule:
    """Return the schedule: as given, or geometric, or round robin with a horizon.

    Args:
        horizon: number of steps, or None.
        schedule: a schedule, or None.

    Returns:
        The schedule.

    Raises:
        ArgumentTypeError: both, or not a schedule.
        ArgumentValueError: a horizon outside its range.
    """
    if schedule is None:
        return Geometric() if horizon is None else RoundRobin(horizon=horizon)
    if not isinstance(schedule, RoundRobin | Geometric | Punctual | Batch | Single):
        raise ArgumentTypeError(
            f"schedule: expected a schedule such as RoundRobin(...), got {type(schedule).__name__}"
        )
    if horizon is not None:
        raise ArgumentTypeError("horizon: expected none beside schedule, got both")
    return schedule


def checked_window(window: object, schedule: Schedule) -> int | None:
    """Return the window, which a schedule of batches cannot go without.

    Args:
        window: steps, or None.
        schedule: of the sketch.

    Returns:
        Steps, or None where the share decides.

    Raises:
        ArgumentTypeError: not an integer, or None with batches.
        ArgumentValueError: outside its range, or past the horizon.
    """
    if window is None:
        if isinstance(schedule, Batch):
            raise ArgumentTypeError(
                "window: expected a number of batches, as how many events these hold is not "
                "known in advance, got none"
            )
        return None
    horizon = schedule.horizon
    most = LARGEST_WINDOW if horizon is None else min(horizon, LARGEST_WINDOW)
    return checked_integer("window", window, most=most)


def checked_kind(
    kind: SketchKind, *, schedule: Schedule, relation: Relation, max_weight: object
) -> SketchKind:
    """Return the kind of sketch, which must be able to tell the size of the stream.

    Args:
        kind: ``"count-min"`` or ``"count-sketch"``.
        schedule: of the sketch.
        relation: what neighbours are.
        max_weight: largest weight of one event.

    Returns:
        The kind.

    Raises:
        ArgumentValueError: another kind, or a Count Sketch where the number of steps does not
            say how large the stream is.
    """
    if kind not in ("count-min", "count-sketch"):
        shown = repr(kind)[:40]
        raise ArgumentValueError(f"kind: expected 'count-min' or 'count-sketch', got {shown}")
    counted = relation == "substitution" and max_weight == 1 and not isinstance(schedule, Batch)
    if kind == "count-sketch" and not counted:
        raise ArgumentValueError(
            "kind: expected 'count-min', whose table shows the total, where steps do not "
            "(weights, batches, zero-out), got 'count-sketch'"
        )
    return kind


def width_of(
    width: int | None, *, share: float, depth: int, memory: int, schedule: Schedule
) -> int:
    """Return the columns: enough for the share, few enough for memory and for a short lag.

    Args:
        width: as given, or None.
        share: above which items are wanted.
        depth: rows.
        memory: bytes for the table.
        schedule: of the sketch.

    Returns:
        Columns.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.
    """
    if width is not None:
        return checked_integer("width", width, most=LARGEST_WIDTH)
    wanted = 1 << max(math.ceil(math.log2(_COLUMNS_PER_ITEM / share)), 0)
    columns = min(max(wanted, _NARROWEST), _WIDEST)
    while columns > 1 and CELL_BYTES * depth * columns > memory:
        columns //= 2
    if isinstance(schedule, RoundRobin):  # the others push all columns at once, or have no end
        while columns > 1 and columns * schedule.period * _ROUNDS > schedule.horizon:
            columns //= 2
    return columns


def checked_domain(domain: Iterable[object]) -> list[str | bytes | int]:
    """Return the items of a public list, each once.

    Args:
        domain: an iterable of items, an array or a column.

    Returns:
        Plain values in their first order.

    Raises:
        ArgumentTypeError: a single value, a dictionary, or nothing that can be iterated.
        ArgumentValueError: no item.
        ItemError: something that cannot be an item, with its position.
    """
    if isinstance(domain, str | bytes | bytearray | dict):
        got = type(domain).__name__
        raise ArgumentTypeError(f"domain: expected a list of items, got {got}")
    whole: Any = domain
    for method in ("to_pylist", "tolist", "to_list"):  # Arrow; numpy and pandas; polars
        if hasattr(whole, method):
            whole = getattr(whole, method)()
            break
    try:
        values = iter(whole)
    except TypeError:
        got = type(domain).__name__
        raise ArgumentTypeError(f"domain: expected a list of items, got {got}") from None
    items = dict.fromkeys(
        plain_item(value, name="domain", where=f" at position {at}")
        for at, value in enumerate(values)
    )
    if not items:
        raise ArgumentValueError("domain: expected at least one item, got none")
    return list(items)


def plain_item(value: object, *, name: str, where: str) -> str | bytes | int:
    """Return a plain value: True and 1.0 must not pass for a 1 that is in the list too.

    Args:
        value: what was given.
        name: of the argument.
        where: in the argument, and what else the message ends with.

    Returns:
        The value as a str, bytes or int of Python.

    Raises:
        ItemError: something that cannot be an item.
    """
    got = type(value).__name__
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            got = "text with a lone surrogate"
        else:
            return str(value)
    elif isinstance(value, bytes):
        return bytes(value)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise ItemError(f"{name}: expected str, bytes or int, got {got}{where}")
