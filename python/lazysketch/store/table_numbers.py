"""Numbers of the tables of windows in a store: from each follows the id of its table."""

from __future__ import annotations

from typing import Final

from lazysketch.errors import HorizonError
from lazysketch.heavy_hitters.hierarchies import MOST_LEVELS

__all__ = ["LEVELS_WITHOUT_EVENTS", "WITHOUT_EVENTS", "number_of_table", "number_of_window"]

_MOST_WINDOWS: Final = 1 << 62
WITHOUT_EVENTS: Final = 1 << 63
"""No window of one table has this number: it is that of a table that counts nothing."""
LEVELS_WITHOUT_EVENTS: Final = 1 << 57
"""No window of several tables has this number: they have numbers as those of no window of one."""


def number_of_table(window: int, level: int) -> int:
    """Return the number of a table of windows of a hierarchy, from which its id follows.

    Args:
        window: number of the window.
        level: number of the level.

    Returns:
        A number below 2^64, another one for each level of each window, of which there are 64.

    Raises:
        HorizonError: a window of which a table could have the number of another one.
    """
    if window != LEVELS_WITHOUT_EVENTS:
        _check_window(window, most=_MOST_WINDOWS // MOST_LEVELS)
    return (window * MOST_LEVELS + level) % 2**64


def number_of_window(window: int) -> int:
    """Return the number of the table of a window that has one, from which its id follows.

    Args:
        window: number of the window.

    Returns:
        A number below 2^64, another one for each window.

    Raises:
        HorizonError: a window whose table could have the number of another one.
    """
    if window != WITHOUT_EVENTS:
        _check_window(window, most=_MOST_WINDOWS)
    return window % 2**64


def _check_window(window: int, *, most: int) -> None:
    # A clock has at most 2^43 windows on both sides of its first, but a stream of steps has no end.
    if not -most <= window < most:
        raise HorizonError(f"windows: expected numbers below {most:,}, got a larger one")
