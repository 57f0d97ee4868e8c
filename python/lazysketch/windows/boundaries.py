"""Boundaries of windows, and the window of an instant.

Everything here depends on public arguments and, for windows by the clock, on the clock. No boundary
depends on events, neither on their number nor on their times.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import converted
from lazysketch.windows.durations import instant_of

__all__ = [
    "UNKNOWN_TIME",
    "ClockBoundaries",
    "TimeRange",
    "Times",
    "checked_clock",
    "checked_times",
]

UNKNOWN_TIME: Final = np.iinfo(np.int64).min
_MOST_WINDOWS: Final = 1 << 16
_FARTHEST: Final = 4.6e9  # seconds: below 2^62 nanoseconds

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ClockBoundaries:
    """Windows by the clock, from multiples of a length since 1970 UTC, and their slices.

    Args:
        every: length of a window in nanoseconds.
        slices: number of slices of a window.
    """

    every: int
    slices: int

    def place(self, now: int) -> tuple[int, int]:
        """Return the window that is open at an instant, and the number of its ended slices.

        Args:
            now: nanoseconds since 1970 UTC.

        Returns:
            The number of the window, and the number of slices, 0 to ``slices`` - 1.

        Example:
            >>> ClockBoundaries(every=3600, slices=60).place(7200 + 125)
            (2, 2)
        """
        number, since = divmod(now, self.every)
        return number, since * self.slices // self.every

    def begin(self, number: int) -> int:
        """Return the instant at which a window begins, which is the end of the one before.

        Args:
            number: number of the window.

        Returns:
            Nanoseconds since 1970 UTC.
        """
        return number * self.every


@dataclass(frozen=True)
class TimeRange:
    """The windows of a public range of time; the last may be shorter.

    Args:
        first: nanoseconds since 1970 UTC at which the first window begins.
        end: nanoseconds since 1970 UTC before which the last window ends.
        every: length of a window in nanoseconds.

    Raises:
        ArgumentValueError: an empty range, or more than 65,536 windows.
    """

    first: int
    end: int
    every: int

    def __post_init__(self) -> None:
        """Check the range."""
        if self.end <= self.first:
            raise ArgumentValueError(
                "end: expected an instant after begin, got an earlier or equal one"
            )
        if self.windows > _MOST_WINDOWS:
            raise ArgumentValueError(
                f"every: expected at most {_MOST_WINDOWS:,} windows from begin to end, "
                f"got {self.windows:,}"
            )

    @property
    def windows(self) -> int:
        """Number of windows."""
        return -((self.first - self.end) // self.every)

    def begin(self, number: int) -> int:
        """Return the instant at which a window begins.

        Args:
            number: number of the window, from 0 to ``windows``.

        Returns:
            Nanoseconds since 1970 UTC; for ``windows`` the end of the range.
        """
        return min(self.first + number * self.every, self.end)

    def places(self, times: Times) -> Times:
        """Return the window of each instant.

        Args:
            times: nanoseconds since 1970 UTC, int64 of shape (events,).

        Returns:
            Numbers of windows; -1 outside the range and where a time is unknown.

        Example:
            >>> TimeRange(first=0, end=25, every=10).places(np.array([-1, 0, 9, 10, 24, 25]))
            array([-1,  0,  0,  1,  2, -1])
        """
        inside = (times >= self.first) & (times < self.end)
        # Outside the range the difference might exceed 64 bits.
        since = np.where(inside, times, self.first) - self.first
        found: Times = np.where(inside, since // self.every, -1)
        return found


def checked_clock(seconds: object) -> int:
    """Return the reading of a clock in nanoseconds since 1970 UTC.

    Args:
        seconds: number of seconds since 1970 UTC.

    Returns:
        Nanoseconds, with a resolution of one microsecond.

    Raises:
        ArgumentTypeError: not a number.
        ArgumentValueError: not a time in the years 1823 to 2116.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        got = type(seconds).__name__
        raise ArgumentTypeError(f"clock: expected seconds since 1970, got {got}")
    try:
        found = float(seconds)
    except OverflowError:
        raise ArgumentValueError(
            "clock: expected seconds since 1970, got a larger integer"
        ) from None
    if not abs(found) < _FARTHEST:
        raise ArgumentValueError(f"clock: expected seconds since 1970, got {found:g}")
    return int(found * 1e6) * 1000


def checked_times(times: object, *, events: int) -> Times:
    """Return the times of events in nanoseconds since 1970 UTC.

    Args:
        times: datetime64 of NumPy, timestamps of Arrow, pandas or polars, datetimes (UTC if they
            have no offset), or integers in nanoseconds, of which the smallest int64 means unknown.
        events: number of events.

    Returns:
        int64 array of shape (events,).

    Raises:
        ArgumentTypeError: values of any other type.
        ArgumentValueError: a wrong number of times.
    """
    found = converted("times", times)
    if found is None:
        raise _no_times(type(times).__name__)
    if found.dtype == object and all(isinstance(one, datetime) for one in found.ravel()):
        found = np.array([instant_of("times", one) for one in found.ravel()], dtype=np.int64)
    if found.dtype.kind == "M":
        found = _nanoseconds(found)
    elif not found.size:
        found = found.astype(np.int64)
    elif found.dtype.kind not in "iu" or found.dtype == np.uint64:
        raise _no_times(str(found.dtype) if found.dtype != object else "something else")
    if found.shape != (events,):
        raise ArgumentValueError(f"times: expected one per item, {events}, got {found.shape}")
    checked: Times = found.astype(np.int64)
    return checked


def _no_times(got: str) -> ArgumentTypeError:
    expected = "expected timestamps or int64 nanoseconds since 1970"
    return ArgumentTypeError(f"times: {expected}, got {got}")


def _nanoseconds(times: npt.NDArray[Any]) -> Times:
    """Return datetime64 of any unit in nanoseconds; times that do not fit are unknown."""
    unit = np.datetime_data(times.dtype)[0]
    least, most = (
        np.datetime64(end, "ns").astype(f"datetime64[{unit}]") for end in (-(2**62), 2**62)
    )
    fits = (times >= least) & (times <= most)  # comparisons with NaT are False
    cast = np.where(fits, times, np.datetime64(0, "ns")).astype("datetime64[ns]")
    found: Times = np.where(fits, cast.astype(np.int64), UNKNOWN_TIME)
    return found
