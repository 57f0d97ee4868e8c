"""Whether an item has become more or less frequent, as far as public counts can tell.

The intervals of two releases, the present one and one of a fifth of the steps ago, are compared
as rates per step. A trend is shown only where they do not overlap: what two readings of noise
alone would show is none. Releases are kept by step number, a dozen of them at most.

It costs the intervals of the shown items in two releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch.cli.view.report import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch import Release

__all__ = ["RECENT", "Trends"]

RECENT: Final = 0.2  # the part of the steps that is compared with all before it
_GROWTH: Final = 1.04  # from one kept release to the next


class Trends:
    """The releases of the recent past, and what has changed since."""

    def __init__(self) -> None:
        self._kept: list[Release] = []

    def of(self, release: Release, items: Sequence[str | int]) -> list[float | None]:
        """Return how many times more frequent than before each item is now.

        Args:
            release: The present one; never older than that of the call before.
            items: What is shown.

        Returns:
            The rate since the older release divided by the rate until then, for each item;
            None where noise could be all that changed, or where nothing is old enough.
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
        """Return the newest kept release that is old enough, if all its columns were published."""
        old = [kept for kept in self._kept if kept.step <= (1 - RECENT) * release.step]
        if not old or not old[-1].pushes.all():
            return None
        return old[-1]

    def _keep(self, release: Release) -> None:
        if self._kept and release.step < self._kept[-1].step * _GROWTH:
            return
        self._kept.append(release)
        # One that is old enough stays; those before it will not be asked again.
        while len(self._kept) > 1 and self._kept[1].step <= (1 - RECENT) * release.step:
            del self._kept[0]
