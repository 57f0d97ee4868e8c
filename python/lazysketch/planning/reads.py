"""The moments at which a sketch is read, and how long its columns have then waited.

The error of a schedule depends on when its table is read: whole tables that are published at public
steps have no lag at these steps, and the most lag just before them.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.specification.schedules import LARGEST_HORIZON

__all__ = ["Reads", "checked_reads", "mean_wait", "waits"]

Reads: TypeAlias = int | Literal["continually", "end"]

_NAMES: Final[dict[str, Reads]] = {"continually": "continually", "end": "end"}


def checked_reads(reads: object) -> Reads:
    """Return the moments of reads, or raise.

    Args:
        reads: ``"continually"``, ``"end"`` (after ``finish()``), or a number of steps from one read
            to the next.

    Returns:
        The same value.

    Raises:
        ArgumentTypeError: neither text nor an integer.
        ArgumentValueError: another text, or an integer outside its range.

    Example:
        >>> checked_reads("end"), checked_reads(1000)
        ('end', 1000)
    """
    wanted = '"continually", "end" or a number of steps'
    if isinstance(reads, str):
        if reads not in _NAMES:
            raise ArgumentValueError(f"reads: expected {wanted}, got {shown(reads)}")
        return _NAMES[reads]
    if isinstance(reads, bool) or not hasattr(reads, "__index__"):
        raise ArgumentTypeError(f"reads: expected {wanted}, got {type(reads).__name__}")
    return checked_integer("reads", reads, most=LARGEST_HORIZON)


def waits(reads: Reads, *, batch: int, number: int) -> list[int]:
    """Return for how many steps a whole table has waited at some reads, evenly spread.

    Args:
        reads: moments of the reads.
        batch: steps from one publication of the table to the next.
        number: how many reads.

    Returns:
        Numbers of steps, from 0 to ``batch - 1``.

    Example:
        >>> waits("continually", batch=100, number=4), waits(50, batch=100, number=4)
        ([12, 37, 62, 87], [0, 0, 50, 50])
        >>> waits(200, batch=100, number=2), waits("end", batch=100, number=2)
        ([0, 0], [0, 0])
    """
    if reads == "end":
        return [0] * number
    unit = 1 if reads == "continually" else math.gcd(batch, reads)
    return [unit * int((at + 0.5) / number * (batch // unit)) for at in range(number)]


def mean_wait(reads: Reads, *, batch: int) -> float:
    """Return the mean number of steps for which a whole table has waited at a read.

    Args:
        reads: moments of the reads.
        batch: steps from one publication of the table to the next.

    Returns:
        0 to ``batch / 2``.

    Example:
        >>> mean_wait("continually", batch=101), mean_wait(50, batch=100), mean_wait(100, batch=100)
        (50.0, 25.0, 0.0)
    """
    if reads == "end":
        return 0.0
    unit = 1 if reads == "continually" else math.gcd(batch, reads)
    return (batch - unit) / 2.0
