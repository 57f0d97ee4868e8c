"""Durations and instants in the forms that users write, converted to integer nanoseconds.

Nothing here reads a clock or a stream.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["EPOCH", "duration_of", "instant_of"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)

_MICROSECOND: Final = 10**3
_UNITS: Final = {
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
_WRITTEN: Final = re.compile(r"([0-9]{1,9}) ?([a-z]{1,3})", re.ASCII)
_LONGEST: Final = 366 * _UNITS["d"]
_FARTHEST: Final = 2**62  # nanoseconds from 1970: years 1823 to 2116


def duration_of(name: str, value: object) -> int:
    """Return a duration in nanoseconds.

    Args:
        name: name of the argument.
        value: a number with the unit ms, s, min, h or d, such as ``"15min"``, or a timedelta.

    Returns:
        Nanoseconds, from one millisecond to a year.

    Raises:
        ArgumentTypeError: any other type.
        ArgumentValueError: text that is not a duration, or a duration outside the range.

    Example:
        >>> duration_of("every", "15min") == duration_of("every", timedelta(minutes=15))
        True
    """
    if isinstance(value, timedelta):
        found = value // timedelta(microseconds=1) * _MICROSECOND
    elif isinstance(value, str):
        written = _WRITTEN.fullmatch(value)
        if written is None or written[2] not in _UNITS:
            known = ", ".join(_UNITS)
            raise ArgumentValueError(
                f"{name}: expected a number and one of {known}, such as 15min, got {shown(value)}"
            )
        found = int(written[1]) * _UNITS[written[2]]
    else:
        raise ArgumentTypeError(
            f"{name}: expected a duration such as '15min', got {type(value).__name__}"
        )
    if not _UNITS["ms"] <= found <= _LONGEST:
        raise ArgumentValueError(f"{name}: expected 1 ms to 366 d, got {str(value)[:40]}")
    return found


def instant_of(name: str, value: object) -> int:
    """Return an instant in nanoseconds since 1970 UTC.

    Args:
        name: name of the argument.
        value: ISO 8601 text or a datetime; UTC if it has no offset.

    Returns:
        Nanoseconds, within the years 1823 to 2116.

    Raises:
        ArgumentTypeError: any other type.
        ArgumentValueError: text that is not an instant, or an instant outside the range.

    Example:
        >>> instant_of("begin", "1970-01-01T01:00+01:00")
        0
    """
    if isinstance(value, str):
        written = value
        try:
            # Python 3.10 does not accept the Z of UTC.
            value = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", written))
        except ValueError:
            raise ArgumentValueError(
                f"{name}: expected an instant such as 2026-01-31T12:00Z, got {shown(written)}"
            ) from None
    if not isinstance(value, datetime):
        got = type(value).__name__
        raise ArgumentTypeError(f"{name}: expected a datetime or its ISO text, got {got}")
    known = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    found = (known - EPOCH) // timedelta(microseconds=1) * _MICROSECOND
    if abs(found) > _FARTHEST:
        raise ArgumentValueError(f"{name}: expected a year from 1823 to 2116, got {value.year}")
    return found
