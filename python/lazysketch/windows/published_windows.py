"""Queries of windows: lists, counts and intervals over the last few, and changes.

Everything here is post-processing of public windows and costs no privacy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.intervals import Interval, checked_confidence
from lazysketch.heavy_hitters import JointPrivacy
from lazysketch.releases.heavy_items import HeavyItems, hitters_of
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.sketches.live_state import LiveState
from lazysketch.windows.changes import Against, Change, changes_between
from lazysketch.windows.window import Window, merged, total_of

__all__ = ["PublishedWindows"]


class PublishedWindows(LiveState):
    """Queries of windows; not made directly.

    Guarantee: see :attr:`privacy`; reading, any number of times, costs nothing beyond it.
    """

    def __init__(
        self,
        ended: deque[Window],
        *,
        privacy: JointPrivacy,
        not_private_because: tuple[str, ...],
        listed: tuple[Item, ...],
    ) -> None:
        """Read the windows that end up in ``ended``."""
        self._ended, self._listed = ended, listed
        self._privacy, self._reasons = privacy, not_private_because

    @property
    def windows(self) -> tuple[Window, ...]:
        """The ended windows that are kept, oldest first."""
        self._catch_up()
        return tuple(self._ended)

    @property
    def open(self) -> Window | None:
        """What is published of the open window so far; None if none is, or all at the end."""
        self._catch_up()
        return self._open_window()

    @property
    def candidates(self) -> list[Item]:
        """Names published by any kept window, or the domain: a public list, each once."""
        self._catch_up()
        return _names(self._ended) or list(self._listed)

    @property
    def privacy(self) -> JointPrivacy:
        """The guarantee of all windows together; as of one, since an event is in one window."""
        return self._privacy

    @property
    def private(self) -> bool:
        """True unless the guarantee does not hold; see :attr:`not_private_because`."""
        return not self._reasons

    @property
    def not_private_because(self) -> tuple[str, ...]:
        """The reasons, empty for private windows."""
        return self._reasons

    def release(self, last: int = 1) -> Release:
        """Return the public table of the last windows that ended, as one.

        Args:
            last: how many; fewer while fewer are kept.

        Returns:
            A release with a part per window.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range, or no window has ended.
        """
        return merged(self._last(last))

    def estimate(self, item: object, last: int = 1) -> float:
        """Return the estimated count of one item in the last windows.

        Guarantee: post-processing; within its interval.

        Args:
            item: str, bytes or int.
            last: how many windows.

        Returns:
            The count.

        Raises:
            ItemError: something that cannot be an item.
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range, or no window has ended.
        """
        return self.interval(item, last).estimate

    def interval(self, item: object, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return an estimate of one item's count in the last windows with its interval.

        Guarantee: as :meth:`lazysketch.Release.interval`; all of an ended window is published, so
        it covers the count in these windows.

        Args:
            item: str, bytes or int.
            last: how many windows.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends.

        Raises:
            ItemError: something that cannot be an item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).interval(item, confidence=confidence)

    def top(
        self, n: int, last: int = 1, *, confidence: float = 0.95, include_open: bool = False
    ) -> HeavyItems:
        """Return the heaviest known items of the last windows, by falling estimate.

        Guarantee: post-processing; the intervals of all candidates cover together.

        Args:
            n: how many, 1 or more.
            last: how many windows; fewer while fewer are kept.
            confidence: that all intervals cover, above 0 and below 1.
            include_open: whether to add what is published of the open window.

        Returns:
            At most n; empty while no window has ended or no name is published. A name that was cut
            (longer than ``max_item_bytes``) is not among them.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        most, level = checked_integer("n", n), checked_confidence(confidence)
        asked = checked_integer("last", last)
        chosen = list(self.windows)[-asked:]
        now = self.open if include_open else None
        chosen += [now] if now is not None else []
        items = self.candidates
        if not items or not chosen:
            return HeavyItems()
        release = merged(chosen)
        found = release.interval_many(items, confidence=level, simultaneous=True)
        size = total_of(chosen, release, failure=(1.0 - level) / 2.0).estimate
        known = hitters_of(items, found, size=size)
        return HeavyItems(sorted(known, key=lambda hitter: -hitter.estimate)[:most])

    def changes(self, *, confidence: float = 0.95, against: Against = "previous") -> list[Change]:
        """Return the items whose share of the stream changed with the last window.

        Guarantee: post-processing. With ``confidence`` all differences of all candidates lie in
        their intervals, so an item whose share did not change is returned with at most the rest.

        Args:
            confidence: above 0 and below 1.
            against: ``"previous"``, the window before the last, or ``"earlier"``, all kept ones
                before the last together.

        Returns:
            The largest difference first; empty while fewer than two windows have ended.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/windows.md.
        """
        return self.changes_at(-1, confidence=confidence, against=against)

    def changes_at(
        self, position: int, *, confidence: float = 0.95, against: Against = "previous"
    ) -> list[Change]:
        """Return the items whose share changed with one of the kept windows.

        Guarantee: as :meth:`changes`, for this window by itself.

        Args:
            position: of the window in :attr:`windows`, from 0, or from -1 backwards.
            confidence: above 0 and below 1.
            against: as in :meth:`changes`.

        Returns:
            The largest difference first; empty for the first of the kept windows.

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
                f"against: expected 'previous' or 'earlier', got {against[:40]!r}"
            )
        kept = list(self.windows)
        most = max(len(kept), 1)
        place = checked_integer("position", position, least=-most, most=most - 1)
        earlier = kept[: place % most]
        if not earlier:
            return []
        before = earlier[-1:] if against == "previous" else earlier
        after = kept[place % most]
        return changes_between(before, [after], _names(kept), confidence=level)

    def _last(self, last: int) -> list[Window]:
        kept = list(self.windows)
        asked = checked_integer("last", last)
        if not kept:
            raise ArgumentValueError("last: expected windows that have ended, got none so far")
        return kept[-asked:]

    def _catch_up(self) -> None:
        """End what is over; where windows end by the clock, reading them is enough."""

    def _open_window(self) -> Window | None:
        """Return what is published of the open window, if there is one."""
        return None


def _names(windows: Iterable[Window]) -> list[Item]:
    """Return every name once. 1 and True would be one key, but no name is True."""
    return list(dict.fromkeys(name for window in windows for name in window.names))
