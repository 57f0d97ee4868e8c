"""A public window: its times, its release; for items its published names and its total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Any, Generic, TypeAlias, TypeVar

from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.windows.durations import EPOCH

__all__ = ["AnyWindow", "ReleasedWindow", "Total", "Window", "instant", "merged", "total_of"]

Released = TypeVar("Released")


@dataclass(frozen=True)
class ReleasedWindow(Generic[Released]):
    """One window of a stream, and what was published of it.

    Guarantee: holds published values only, no secret; it stays valid after the windows close.

    Attributes:
        number: number of the window; windows by the clock count from 1970, the others from 0.
        begin: begin of the window in UTC; for windows of steps the number of steps before it.
        end: end of the window, likewise; for an open window of steps, the steps taken so far.
        ended: False for the open window, whose ended slices are published.
        whole: False if the window was opened late or ended early.
        release: what was published of the window.
    """

    number: int
    begin: datetime | int
    end: datetime | int
    ended: bool
    whole: bool
    release: Released = field(repr=False)

    @property
    def levels(self) -> tuple[ReleasedWindow[Released], ...]:
        """The window at each level, the coarsest first: itself alone without a hierarchy."""
        return (self,)


AnyWindow: TypeAlias = ReleasedWindow[Any]


@dataclass(frozen=True)
class Window(ReleasedWindow[Release]):
    """One window of a stream of items.

    Guarantee: holds published values only, no secret; it stays valid after :class:`Windows` closes.

    Attributes:
        number: number of the window; windows by the clock count from 1970, the others from 0.
        begin: begin of the window in UTC; for windows of steps the number of steps before it.
        end: end of the window, likewise; for an open window of steps, the steps taken so far.
        ended: False for the open window, whose ended slices are published.
        whole: False if the window was opened late or ended early.
        release: public table of the window.
        names: the published items, or the public domain.
        coarser: the same window at the coarser levels of a hierarchy, the coarsest first; the rest
            of these attributes is that of the finest level.
    """

    names: tuple[Item, ...] = field(repr=False)
    coarser: tuple[Window, ...] = field(default=(), repr=False)

    @property
    def levels(self) -> tuple[Window, ...]:
        """The window at each level of a hierarchy, the coarsest first; itself without one."""
        return (*self.coarser, self)


def instant(nanoseconds: int) -> datetime:
    """Return an instant as a datetime in UTC, with a resolution of one microsecond.

    Args:
        nanoseconds: number of nanoseconds since 1970 UTC.

    Returns:
        An aware datetime.

    Example:
        >>> instant(3_600_000_000_000).isoformat()
        '1970-01-01T01:00:00+00:00'
    """
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def merged(windows: Sequence[Window]) -> Release:
    """Return the merged public table of some windows.

    Args:
        windows: one window or more.

    Returns:
        A release with one part per window.
    """
    first, *others = [window.release for window in windows]
    return first.merge(*others) if others else first


@dataclass(frozen=True)
class Total:
    """The total weight of the events of a public table.

    Attributes:
        estimate: at least 1, so that shares can be computed.
        low: lower end of the interval, at least 0.
        high: upper end, equal to the lower one only where the total is public and exact.
    """

    estimate: float
    low: float
    high: float


def total_of(windows: Sequence[Window], release: Release, *, failure: float) -> Total:
    """Return the total of some windows.

    Each event falls in one cell per row of a Count-Min, so the sum of a row is the total plus the
    noise of all its cells, whose variance is known. Under substitution with weights of 1, where
    every event of every person is counted, the public number of steps is the total.

    Args:
        windows: windows whose total is returned.
        release: their merged public table.
        failure: failure probability of each end, above 0 and below 1/2.

    Returns:
        The total of the published events, with an interval.

    Source: docs/windows.md.
    """
    privacy = release.parts[0].privacy
    # With a bound of people a step may have an event that is not counted.
    counted = privacy.relation == "substitution" and privacy.person_bound is None
    if counted and privacy.max_weight == 1:
        steps = [_steps_of(window) for window in windows]
        if all(step is not None for step in steps):
            exact = float(sum(step or 0 for step in steps))
            return Total(max(exact, 1.0), exact, exact)
    found = float(release.table.sum(axis=1).mean())
    deviation = math.sqrt(float(release._noise_variance.sum()) / release.depth)
    reach = NormalDist().inv_cdf(1.0 - failure) * deviation
    # Noise may leave the whole interval below 1; it is made to hold the estimate.
    estimate = max(found, 1.0)
    return Total(estimate, max(found - reach, 0.0), max(found + reach, estimate))


def _steps_of(window: Window) -> int | None:
    """Return the steps of a window; None for windows of time."""
    if isinstance(window.begin, int) and isinstance(window.end, int):
        return window.end - window.begin
    return None
