"""Queries of windows of a hierarchy: its tree over the last few, and the queries of each level.

Everything here is post-processing of public windows and costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lazysketch.arguments import checked_integer
from lazysketch.estimation.intervals import checked_confidence
from lazysketch.heavy_hitters import HierarchyNode, JointPrivacy, Levels
from lazysketch.heavy_hitters.hitters_spec import checked_share
from lazysketch.heavy_hitters.tree import tree_of
from lazysketch.releases.heavy_items import HeavyHitter, HeavyItems, hitters_of
from lazysketch.releases.items import Item
from lazysketch.windows.published_windows import PublishedWindows
from lazysketch.windows.window import Window, merged, total_of

__all__ = ["WindowsOfLevel", "hierarchy_of"]


class WindowsOfLevel(PublishedWindows):
    """Queries of one level of windows of a hierarchy, as they stood when they were asked for.

    Guarantee: post-processing of published windows. :attr:`privacy` is the guarantee of this level
    alone; the windows have that of all levels together.
    """

    def __init__(
        self,
        windows: Sequence[Window],
        now: Window | None,
        level: int,
        *,
        privacy: JointPrivacy | None = None,
        not_private_because: tuple[str, ...] = (),
    ) -> None:
        """Take the windows of all levels, and the number and the guarantee of one."""
        if privacy is not None:  # else it is within this module, which asks for counts alone
            self._privacy = privacy
        self._reasons = not_private_because
        self._ended = tuple(window.levels[level] for window in windows)
        self._now = None if now is None else now.levels[level]
        self._listed: tuple[Item, ...] = ()

    def above(
        self, share: float, last: int = 1, *, confidence: float = 0.95, include_open: bool = False
    ) -> HeavyItems:
        """Return the published names above a share of the last windows, by falling estimate.

        Args:
            share: above 0 and at most 1.
            last: number of windows; fewer if fewer are kept.
            confidence: for all intervals together, above 0 and below 1.
            include_open: True to include the published part of the open window.

        Returns:
            The items; their intervals cover simultaneously with those of all published names.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        least = checked_share("share", share)
        known = max(len(self.candidates), 1)
        found = self.top(known, last, confidence=confidence, include_open=include_open)
        return HeavyItems(hitter for hitter in found if hitter.share >= least)

    def size(self, last: int, *, confidence: float, include_open: bool) -> float:
        """Return the total of the last windows, which shares are parts of; NaN without windows.

        Args:
            last: number of windows.
            confidence: of its interval, which is not returned.
            include_open: True to include the published part of the open window.
        """
        chosen = self._asked(last, include_open=include_open)
        if not chosen:
            return math.nan
        failure = (1.0 - checked_confidence(confidence)) / 2.0
        return total_of(chosen, merged(chosen), failure=failure).estimate

    def named(
        self, names: Sequence[Item], last: int, *, confidence: float, include_open: bool
    ) -> list[HeavyHitter]:
        """Return names that are public for another reason than this level, with their counts.

        Args:
            names: public names.
            last: number of windows.
            confidence: for all intervals together.
            include_open: True to include the published part of the open window.
        """
        chosen = self._asked(last, include_open=include_open)
        level = checked_confidence(confidence)
        if not names or not chosen:
            return []
        release, among = merged(chosen), len(names) + len(self.candidates)
        found = release._intervals_of_list(list(names), confidence=level, among=among)
        size = total_of(chosen, release, failure=(1.0 - level) / 2.0).estimate
        return hitters_of(names, found, size=size)

    def _kept(self) -> tuple[Window, ...]:
        return self._ended

    def _open_window(self) -> Window | None:
        return self._now


def hierarchy_of(
    levels: Levels,
    windows: Sequence[Window],
    now: Window | None,
    *,
    share: float,
    last: int = 1,
    confidence: float = 0.95,
    include_open: bool = False,
) -> tuple[HierarchyNode, ...]:
    """Return the tree of what is heavy in the last windows, and of all names above it.

    All shares are parts of one total, that of the coarsest level: each level has its own noisy one.
    So shares of children add to more than that of their parent only as far as their counts do.

    Guarantee: post-processing of published names and counts.

    Args:
        levels: the hierarchy.
        windows: the windows that ended, oldest first.
        now: the open one, or None.
        share: of the last windows, above 0 and at most 1.
        last: number of windows; fewer if there are fewer.
        confidence: for all intervals of a level together, above 0 and below 1.
        include_open: True to include the published part of the open window.

    Returns:
        The roots, by falling estimate.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.
    """
    asked = checked_integer("last", last)
    least = checked_share("share", share)
    each = [WindowsOfLevel(windows, now, level) for level in range(len(levels.names))]
    size = each[0].size(asked, confidence=confidence, include_open=include_open)
    heavy = []
    for level in each:
        known = max(len(level.candidates), 1)
        found = level.top(known, asked, confidence=confidence, include_open=include_open)
        heavy.append([hitter for hitter in found if hitter.estimate >= least * size])

    def read(level: int, names: list[Item]) -> list[HeavyHitter]:
        return each[level].named(names, asked, confidence=confidence, include_open=include_open)

    return tree_of(heavy, levels, read, size=size)
