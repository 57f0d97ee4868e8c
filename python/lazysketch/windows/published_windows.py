"""Queries of windows: lists, counts and intervals over the last few, and changes.

Everything here is post-processing of public windows and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from lazysketch.arguments import check_bools, checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.intervals import Interval, checked_confidence
from lazysketch.heavy_hitters import JointPrivacy, LevelsPrivacy
from lazysketch.releases.heavy_items import HeavyItems, hitters_of
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.sketches.live_state import LiveState
from lazysketch.windows.changes import Against, Changes, changes_between
from lazysketch.windows.window import Window, merged, total_of

__all__ = ["PublishedWindows"]


class PublishedWindows(LiveState):
    """Queries of windows; base class of :class:`lazysketch.Windows`.

    Guarantee: see :attr:`privacy`; any number of queries costs no further privacy.
    """

    def __init__(
        self,
        *,
        privacy: JointPrivacy | LevelsPrivacy,
        not_private_because: tuple[str, ...],
        listed: tuple[Item, ...],
    ) -> None:
        """Take what is known before any window has ended."""
        self._listed = listed
        self._privacy, self._reasons = privacy, not_private_because

    @property
    def windows(self) -> tuple[Window, ...]:
        """The ended windows that are kept, oldest first."""
        self._catch_up()
        return self._kept()

    @property
    def open(self) -> Window | None:
        """Published part of the open window; None if all end together or none is open."""
        self._catch_up()
        return self._open_window()

    @property
    def candidates(self) -> list[Item]:
        """Names published by any kept window, or the domain: a public list, each once."""
        self._catch_up()
        return _names(self._kept()) or list(self._listed)

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of all windows together: that of one, as an event lies in one window."""
        return cast("JointPrivacy", self._privacy)  # windows of a hierarchy have their own

    @property
    def private(self) -> bool:
        """True unless the guarantee does not hold; see :attr:`not_private_because`."""
        return not self._reasons

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons why they are not private; empty for private windows."""
        return self._reasons

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
        chosen, items = self._asked(last, include_open=include_open), self.candidates
        if not items or not chosen:
            return HeavyItems()
        release = merged(chosen)
        places, found = release._heaviest(items, n=most, confidence=level)
        heaviest = [items[place] for place in places]
        size = total_of(chosen, release, failure=(1.0 - level) / 2.0).estimate
        return HeavyItems(hitters_of(heaviest, found, size=size))

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
        return changes_between(before, [after], _names(kept), confidence=level)

    def _asked(self, last: int, *, include_open: bool) -> list[Window]:
        """Return the last windows that ended, and the open one if it is asked for."""
        asked = checked_integer("last", last)
        check_bools(include_open=include_open)
        chosen = list(self.windows)[-asked:]
        now = self.open if include_open else None
        return chosen + ([now] if now is not None else [])

    def _last(self, last: int) -> list[Window]:
        kept = list(self.windows)
        asked = checked_integer("last", last)
        if not kept:
            raise ArgumentValueError("last: expected windows that have ended, got none so far")
        return kept[-asked:]

    def _kept(self) -> tuple[Window, ...]:
        """Return the ended windows that are kept."""
        return ()

    def _catch_up(self) -> None:
        """End the windows that are over by the clock; a query suffices to end them."""

    def _open_window(self) -> Window | None:
        """Return the published part of the open window, if there is one."""
        return None


def _names(windows: Iterable[Window]) -> list[Item]:
    """Return every name once. Equal keys are equal names, because no name is a bool."""
    return list(dict.fromkeys(name for window in windows for name in window.names))
