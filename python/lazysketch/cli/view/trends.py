"""Trends: changes in an item's rate, from the public counts alone.

The intervals of the present release and of one from a fifth of the steps ago are compared as rates
per step. A trend is shown only if they do not overlap, so noise alone rarely causes one. At most a
dozen releases are kept, selected by step number.

Cost: the intervals of the shown items in two releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch.cli.view.report import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import Release

__all__ = ["RECENT", "Trends"]

RECENT: Final = 0.2  # the last fraction of the steps, compared with all steps before
_GROWTH: Final = 1.04  # ratio of the steps of consecutive kept releases


class Trends:
    """Recent releases, and the change of rates since."""

    def __init__(self) -> None:
        self._kept: list[Release] = []

    def of(self, release: Release, items: Sequence[str | int]) -> list[float | None]:
        """Return the recent rate of each item relative to its rate before.

        Args:
            release: The present one; not older than that of the previous call.
            items: The items that are shown.

        Returns:
            The rate since the older release divided by the rate until then, for each item;
            None if the intervals overlap or no kept release is old enough.
        """
        before = self._before(release)
        self._keep(release)
        if before is None or not items:
            return [None] * len(items)
        old = before.interval_many(list(items), confidence=CONFIDENCE, at="now")
        new = release.interval_many(list(items), confidence=CONFIDENCE, at="now")
        longer = release.step / before.step
        changed = (new.low > old.high * longer) | (new.high < old.low * longer)
        rate_before = np.maximum(old.estimate, 1.0) / before.step
        rate_since = np.maximum(new.estimate - old.estimate, 0.0) / (release.step - before.step)
        return [
            float(ratio) if sure else None
            for ratio, sure in zip(rate_since / rate_before, changed, strict=True)
        ]

    def _before(self, release: Release) -> Release | None:
        """Return the newest kept release that is old enough, if it has all columns published."""
        old = [kept for kept in self._kept if kept.step <= (1 - RECENT) * release.step]
        if not old or not old[-1].pushes.all():
            return None
        return old[-1]

    def _keep(self, release: Release) -> None:
        if self._kept and release.step < self._kept[-1].step * _GROWTH:
            return
        self._kept.append(release)
        # Keep one release that is old enough; those before it will not be used again.
        while len(self._kept) > 1 and self._kept[1].step <= (1 - RECENT) * release.step:
            del self._kept[0]
