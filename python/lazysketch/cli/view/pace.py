"""The pace of a run and the time left, as text."""

from __future__ import annotations

from typing import Final

from lazysketch.cli.view.report import steps_of

__all__ = ["duration", "pace"]

_MIN_SECONDS: Final = 2.0  # of reading before the time left is estimated
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE


def pace(*, steps: int, seconds: float, rate: float, part: float | None) -> str:
    """Return the progress of a run, with the time left if the length is known.

    Args:
        steps: Steps so far.
        seconds: Seconds since the start.
        rate: Recent steps per second.
        part: The fraction of the input that has been read; None if unknown.

    Example:
        >>> pace(steps=1_000_000, seconds=10.0, rate=90_000.0, part=0.25)
        '1,000,000 steps in 10 s, 90,000/s, 25 %, 30 s left'
    """
    shown = f"{rate:,.0f}" if rate >= 1 or not rate else f"{rate:.2f}"
    line = f"{steps_of(steps)} in {duration(seconds)}, {shown}/s"
    if part is None or not 0 < part <= 1:
        return line
    line += f", {part:.0%}".replace("%", " %")
    if seconds < _MIN_SECONDS:
        return line
    return f"{line}, {duration(seconds * (1 - part) / part)} left"


def duration(seconds: float) -> str:
    """Return a time rounded to at most two units.

    Example:
        >>> duration(42.4), duration(190), duration(8000)
        ('42 s', '3 min 10 s', '2 h 13 min')
    """
    rounded = round(seconds)
    if rounded < _MINUTE:
        return f"{rounded} s"
    if rounded < _HOUR:
        return f"{rounded // _MINUTE} min {rounded % _MINUTE} s"
    return f"{rounded // _HOUR} h {rounded % _HOUR // _MINUTE} min"
