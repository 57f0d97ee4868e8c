"""Queries of windows: lists, counts and intervals over the last few, and changes.

Everything here is post-processing of public windows and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazysketch.arguments import check_bools, checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.intervals import Interval, checked_confidence
from lazysketch.releases.heavy_items import HeavyItems, hitters_of
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.windows.changes import Against, Changes, changes_between
from lazysketch.windows.public_facts import KeptWindows, names_of
from lazysketch.windows.window import Window, merged, total_of

__all__ = ["PublishedWindows", "heaviest_of"]


class PublishedWindows(KeptWindows[Window]):
    """Queries of windows; base class of :class:`lazysketch.Windows`.

    Guarantee: see :attr:`privacy`; any number of queries costs no further privacy.
    """

    @property
    def candidates(self) -> list[Item]:
        """Names published by any kept window, or the domain: a public list, each once."""
        self._catch_up()
        return names_of(self._kept()) or list(self._listed)

    def release(self, last: int = 1) -> Release:
        """Return one public table of the last windows that ended.

        Args:
            last: number of windows; fewer if fewer are kept.

        Returns:
            A release with a part per window.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return merged(self._last(last))

    def estimate(self, item: object, last: int = 1) -> float:
        """Return the estimated count of one item in the last windows.

        Guarantee: post-processing; the estimate lies within its interval.

        Args:
            item: any item.
            last: number of windows.

        Returns:
            The count.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.interval(item, last).estimate

    def interval(self, item: object, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return an estimate of one item's count in the last windows with its interval.

        Guarantee: as :meth:`lazysketch.Release.interval`. An ended window is published completely,
        so the interval covers the count in these windows.

        Args:
            item: any item.
            last: number of windows.
            confidence: above 0 and below 1.

        Returns:
            The estimate and both ends of its interval.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).interval(item, confidence=confidence)

    def top(
        self, n: int, last: int = 1, *, confidence: float = 0.95, include_open: bool = False
    ) -> HeavyItems:
        """Return the heaviest candidates of the last windows, in descending order of estimates.

        Guarantee: post-processing; the intervals of all candidates cover simultaneously.

        Args:
            n: number of items, 1 or more.
            last: number of windows; fewer if fewer are kept.
            confidence: for all intervals together, above 0 and below 1.
            include_open: True to include the published part of the open window.

        Returns:
            At most n items; empty while no window has ended or no name is published. Truncated
            names (of items longer than ``max_item_bytes``) are left out.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        most, level = checked_integer("n", n), checked_confidence(confidence)
        chosen = self._asked(last, include_open=include_open)
        return heaviest_of(chosen, self.candidates, n=most, confidence=level)

    def changes(self, *, confidence: float = 0.95, against: Against = "previous") -> Changes:
        """Return the items whose share of the stream changed in the last window.

        Guarantee: post-processing. The differences of all candidates lie in their intervals with
        at least ``confidence``, so an item whose share did not change is returned with probability
        at most 1 - ``confidence``.

        Args:
            confidence: above 0 and below 1.
            against: ``"previous"`` for the window before the last, ``"earlier"`` for all kept
                windows before the last together.

        Returns:
            The changes, largest difference first; empty while fewer than two windows have ended.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/windows.md.
        """
        return self.changes_at(-1, confidence=confidence, against=against)

    def changes_at(
        self, position: int, *, confidence: float = 0.95, against: Against = "previous"
    ) -> Changes:
        """Return the items whose share changed in one of the kept windows.

        Guarantee: as :meth:`changes`, for this window separately.

        Args:
            position: index of the window in :attr:`windows`; negative indices count from the end.
            confidence: above 0 and below 1.
            against: as in :meth:`changes`.

        Returns:
            The changes, largest difference first; empty for the first of the kept windows.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        level = checked_confidence(confidence)
        if not isinstance(against, str):
            got = type(against).__name__
            raise ArgumentTypeError(f"against: expected 'previous' or 'earlier', got {got}")
        if against not in ("previous", "earlier"):
            raise ArgumentValueError(
                f"against: expected 'previous' or 'earlier', got {shown(against)}"
            )
        kept = list(self.windows)
        most = max(len(kept), 1)
        place = checked_integer("position", position, least=-most, most=most - 1)
        earlier = kept[: place % most]
        if not earlier:
            return Changes()
        before = earlier[-1:] if against == "previous" else earlier
        after = kept[place % most]
        return changes_between(before, [after], names_of(kept), confidence=level)

    def _asked(self, last: int, *, include_open: bool) -> list[Window]:
        """Return the last windows that ended, and the open one if it is asked for."""
        asked = checked_integer("last", last)
        check_bools(include_open=include_open)
        chosen = list(self.windows)[-asked:]
        now = self.open if include_open else None
        return chosen + ([now] if now is not None else [])


def heaviest_of(
    windows: Sequence[Window], items: Sequence[Item], *, n: int, confidence: float
) -> HeavyItems:
    """Return the heaviest of some items in some windows together.

    Args:
        windows: windows with no sketch in common.
        items: candidates, chosen without reading the tables.
        n: number of items.
        confidence: for all intervals together.

    Returns:
        At most n items, in descending order of estimates; empty without windows or candidates.
    """
    if not items or not windows:
        return HeavyItems()
    release = merged(windows)
    places, found = release._heaviest(items, n=n, confidence=confidence)
    heaviest = [items[place] for place in places]
    size = total_of(windows, release, failure=(1.0 - confidence) / 2.0).estimate
    return HeavyItems(hitters_of(heaviest, found, size=size))
