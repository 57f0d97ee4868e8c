"""A window as anybody may know it: its times, its public table and its published names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lazysketch.releases.release import Release
from lazysketch.windows.durations import EPOCH

__all__ = ["Window", "instant", "merged"]


@dataclass(frozen=True)
class Window:
    """One window of a stream.

    Guarantee: holds what is published, no secret; it outlives the object it came from.

    Attributes:
        number: of the window; windows by the clock are numbered from 1970, the others from 0.
        begin: when it begins, in UTC; for windows of steps the number of steps before it.
        end: when it ends, likewise; of an open window of steps how far it is.
        ended: False for the open window, of which the slices that are over are published.
        whole: False if it was opened late or ended early.
        release: its public table.
        names: the items that are published, or the public domain.
    """

    number: int
    begin: datetime | int
    end: datetime | int
    ended: bool
    whole: bool
    release: Release = field(repr=False)
    names: tuple[str | bytes | int, ...] = field(repr=False)


def instant(nanoseconds: int) -> datetime:
    """Return an instant as a datetime in UTC, to the microsecond.

    Args:
        nanoseconds: since 1970 UTC.

    Returns:
        An aware datetime.

    Example:
        >>> instant(3_600_000_000_000).isoformat()
        '1970-01-01T01:00:00+00:00'
    """
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def merged(windows: Sequence[Window]) -> Release:
    """Return the public table of some windows as one.

    Args:
        windows: one or more.

    Returns:
        A release with a part per window.
    """
    first, *others = [window.release for window in windows]
    return first.merge(*others) if others else first
