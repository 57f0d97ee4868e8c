"""How large a window is: its steps where they tell it, or else a noisy total with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from lazysketch.releases.release import Release
from lazysketch.windows.window import Window

__all__ = ["Total", "total_of"]


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

    Every event is in one cell of each row of a Count-Min, so a row adds up to the total and the
    noise of all its cells, whose variance is known. Where each step is an event of weight 1 or
    none, and their number is public, the steps are the total.

    Args:
        windows: whose size is asked for.
        release: their merged public table.
        failure: probability of each end to fail, above 0 and below 1/2.

    Returns:
        The total of what is published, with an interval.

    Source: docs/windows.md.
    """
    promise = release.parts[0].privacy
    if promise.relation == "substitution" and promise.max_weight == 1:
        steps = [_steps_of(window) for window in windows]
        if all(step is not None for step in steps):
            whole = float(sum(step or 0 for step in steps))
            return Total(max(whole, 1.0), whole, whole)
    found = float(release.table.sum(axis=1).mean())
    deviation = math.sqrt(float(release._noise_variance.sum()) / release.depth)
    reach = NormalDist().inv_cdf(1.0 - failure) * deviation
    return Total(max(found, 1.0), max(found - reach, 0.0), max(found + reach, 0.0))


def _steps_of(window: Window) -> int | None:
    """Return how many events a window has room for; None for windows of time, whose hold any."""
    if isinstance(window.begin, int) and isinstance(window.end, int):
        return window.end - window.begin
    return None
