"""A public window: its times, its table, its published names, and its total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import NormalDist

from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.windows.durations import EPOCH

__all__ = ["Total", "Window", "instant", "merged", "total_of"]


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
    names: tuple[Item, ...] = field(repr=False)


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


@dataclass(frozen=True)
class Total:
    """The weight of all events of a public table.

    Attributes:
        estimate: at least 1, to divide by.
        low: lower end of its interval, at least 0.
        high: upper end.
    """

    estimate: float
    low: float
    high: float


def total_of(windows: Sequence[Window], release: Release, *, failure: float) -> Total:
    """Return the total of some windows.

    Every event is in one cell of each row of a Count-Min, so the sum of a row is the total plus the
    noise of all its cells, whose variance is known. If each step is an event of weight 1 or none,
    and the number of steps is public, the steps are the total.

    Args:
        windows: whose total is returned.
        release: their merged public table.
        failure: probability of each end to fail, above 0 and below 1/2.

    Returns:
        The total of what is published, with an interval.

    Source: docs/windows.md.
    """
    privacy = release.parts[0].privacy
    if privacy.relation == "substitution" and privacy.max_weight == 1:
        steps = [_steps_of(window) for window in windows]
        if all(step is not None for step in steps):
            whole = float(sum(step or 0 for step in steps))
            return Total(max(whole, 1.0), whole, whole)
    found = float(release.table.sum(axis=1).mean())
    deviation = math.sqrt(float(release._noise_variance.sum()) / release.depth)
    reach = NormalDist().inv_cdf(1.0 - failure) * deviation
    return Total(max(found, 1.0), max(found - reach, 0.0), max(found + reach, 0.0))


def _steps_of(window: Window) -> int | None:
    """Return the steps of a window; None for windows of time."""
    if isinstance(window.begin, int) and isinstance(window.end, int):
        return window.end - window.begin
    return None
