"""Periods of a ledger's clock, all in UTC: the cap of a ledger applies to each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.windows.durations import EPOCH, duration_of

__all__ = ["Period"]

_CALENDAR: Final = {"mo": 1, "y": 12}
_WRITTEN: Final = re.compile(r"([0-9]{1,4}) ?(mo|y)", re.ASCII)
_LONGEST: Final = 1200  # months
_SECOND: Final = 10**9  # nanoseconds


@dataclass(frozen=True)
class Period:
    """The length of a period; periods follow each other from January 1970, UTC.

    Args:
        written: a number with the unit y, mo, d, h, min or s, such as ``"1y"``.

    Raises:
        ArgumentTypeError: not text.
        ArgumentValueError: not a period, or shorter than a second.

    Example:
        >>> period = Period("1mo")
        >>> begin = period.begin(datetime(2026, 2, 17, tzinfo=timezone.utc).timestamp())
        >>> period.named(begin)
        'from 2026-02-01 to 2026-03-01'
    """

    written: str

    def __post_init__(self) -> None:
        """Check the text."""
        if not isinstance(self.written, str):
            got = type(self.written).__name__
            raise ArgumentTypeError(f"period: expected text such as '1y', got {got}")
        months, nanoseconds = self._length
        if not 0 < months <= _LONGEST and nanoseconds % _SECOND:
            raise ArgumentValueError(f"period: expected whole seconds, got {shown(self.written)}")

    @property
    def _length(self) -> tuple[int, int]:
        """Months, or else nanoseconds."""
        calendar = _WRITTEN.fullmatch(self.written)
        if calendar is None:
            try:
                return 0, duration_of("period", self.written)
            except ArgumentValueError:
                raise ArgumentValueError(
                    "period: expected a number and one of y, mo, d, h, min, s, such as 1y, got "
                    f"{shown(self.written)}"
                ) from None
        months = int(calendar[1]) * _CALENDAR[calendar[2]]
        if not 0 < months <= _LONGEST:
            raise ArgumentValueError(f"period: expected 1mo to 100y, got {shown(self.written)}")
        return months, 0

    def begin(self, instant: float) -> float:
        """Return when the period of an instant begins, in seconds since 1970 UTC.

        Args:
            instant: in seconds since 1970 UTC.
        """
        months, nanoseconds = self._length
        if not months:
            seconds = nanoseconds // _SECOND
            return float(int(instant // seconds) * seconds)
        moment = EPOCH + timedelta(seconds=instant)
        number = (moment.year - 1970) * 12 + moment.month - 1
        return _month(number // months * months)

    def end(self, instant: float) -> float:
        """Return when the period of an instant ends, in seconds since 1970 UTC.

        Args:
            instant: in seconds since 1970 UTC.
        """
        months, nanoseconds = self._length
        begin = self.begin(instant)
        if not months:
            return begin + nanoseconds // _SECOND
        moment = EPOCH + timedelta(seconds=begin)
        return _month((moment.year - 1970) * 12 + moment.month - 1 + months)

    def named(self, instant: float) -> str:
        """Return the period of an instant in words.

        Args:
            instant: in seconds since 1970 UTC.
        """
        ends = (EPOCH + timedelta(seconds=at) for at in (self.begin(instant), self.end(instant)))
        days = not self._length[1] % (86_400 * _SECOND)
        begin, end = (
            at.date().isoformat() if days else at.strftime("%Y-%m-%dT%H:%M:%SZ") for at in ends
        )
        return f"from {begin} to {end}"


def _month(number: int) -> float:
    """Return when a month begins, counted from January 1970."""
    return datetime(1970 + number // 12, number % 12 + 1, 1, tzinfo=timezone.utc).timestamp()
