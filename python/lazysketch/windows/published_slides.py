"""Queries of sliding windows: the last slices at every end of a slice.

Everything here is post-processing of the prefixes that blocks published, and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from lazysketch.arguments import checked_integer, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.intervals import Interval, checked_confidence
from lazysketch.releases.heavy_items import HeavyItems
from lazysketch.releases.items import Item
from lazysketch.releases.release import Release
from lazysketch.windows.by_slices import slices_of
from lazysketch.windows.changes import Against, Changes, changes_between
from lazysketch.windows.durations import instant_of
from lazysketch.windows.public_facts import PublicFacts, names_of
from lazysketch.windows.published_windows import heaviest_of
from lazysketch.windows.window import Window, instant, merged
from lazysketch.windows.window_tables import Moment

__all__ = ["PublishedSlides", "window_between"]


class PublishedSlides(PublicFacts[Window]):
    """Queries of sliding windows; base class of :class:`lazysketch.Sliding`.

    Guarantee: see :attr:`privacy`; any number of queries costs no further privacy.
    """

    _every: int
    _span: int
    _block: int

    @property
    def span(self) -> int:
        """Slices of a window."""
        return self._span

    @property
    def block(self) -> int:
        """Slices of a block, which is one sketch."""
        return self._block

    @property
    def slices(self) -> int:
        """Number of ended slices that are kept."""
        return max(len(self.ends) - 1, 0)

    @property
    def ends(self) -> tuple[Window, ...]:
        """What was published at the ends of the kept slices, and at the begin of the first.

        Each is from the begin of its block to the end of a slice, oldest first. The slice before an
        end is that from the one before it, so there is one more than :attr:`slices`.
        """
        self._catch_up()
        return self._kept()

    @property
    def candidates(self) -> list[Item]:
        """Names published by any kept block, or the domain: a public list, each once."""
        return names_of(self.ends) or list(self._listed)

    def window(self, ago: int = 0, *, last: int | None = None) -> Window | None:
        """Return the window that ended with the last slice, or with an earlier one.

        Args:
            ago: number of slices after its end that have ended, 0 for the last window.
            last: slices of the window, by default :attr:`span`; fewer if fewer are kept.

        Returns:
            Its begin, its end, its release and the names known at its end; None if no such slice is
            kept. It is not ``whole`` if it has fewer slices, or one that was not open all the time.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range.
        """
        before = checked_integer("ago", ago, least=0)
        asked = self._span if last is None else checked_integer("last", last)
        ends = self.ends
        stop = len(ends) - before
        if stop < 2:
            return None
        return window_between(ends[max(stop - 1 - asked, 0) : stop], asked, every=self._every)

    def windows_after(self, end: datetime | str | int | None = None) -> tuple[Window, ...]:
        """Return the windows that ended after an instant, the earliest first.

        Args:
            end: end of the last window that is known, with slices of steps their number; None for
                all that are kept.

        Returns:
            A window of :attr:`span` slices per end of a slice, each with a release of its own.

        Raises:
            ArgumentTypeError: not an instant.
            ArgumentValueError: text that is not an instant, or an instant outside the range.
        """
        ends = self.ends
        since: Moment | None = None
        if end is not None:
            by_steps = bool(ends) and isinstance(ends[0].end, int)
            since = checked_integer("end", end, least=0) if by_steps else _instant(end)
        stops = [
            stop
            for stop in range(2, len(ends) + 1)
            if since is None or ends[stop - 1].end > since  # type: ignore[operator]
        ]
        return tuple(
            window_between(
                ends[max(stop - 1 - self._span, 0) : stop], self._span, every=self._every
            )
            for stop in stops
        )

    def release(self, last: int | None = None) -> Release:
        """Return one public table of the last slices.

        Args:
            last: number of slices, by default :attr:`span`; fewer if fewer are kept.

        Returns:
            A release with a part per block, each with the steps that it counts.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no slice has ended.
        """
        found = self.window(last=last)
        if found is None:
            raise ArgumentValueError("last: expected slices that have ended, got none so far")
        return found.release

    def estimate(self, item: object, last: int | None = None) -> float:
        """Return the estimated count of one item in the last slices.

        Guarantee: post-processing; the estimate lies within its interval.

        Args:
            item: any item.
            last: number of slices, by default :attr:`span`.

        Returns:
            The count.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no slice has ended.
        """
        return self.interval(item, last).estimate

    def interval(
        self, item: object, last: int | None = None, *, confidence: float = 0.95
    ) -> Interval:
        """Return an estimate of one item's count in the last slices with its interval.

        Guarantee: as :meth:`lazysketch.Release.interval`. An ended slice is published completely,
        so the interval covers the count in these slices.

        Args:
            item: any item.
            last: number of slices, by default :attr:`span`.
            confidence: above 0 and below 1.

        Returns:
            The estimate and both ends of its interval.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no slice has ended.
        """
        return self.release(last).interval(item, confidence=confidence)

    def top(self, n: int, last: int | None = None, *, confidence: float = 0.95) -> HeavyItems:
        """Return the heaviest candidates of the last slices, in descending order of estimates.

        Guarantee: post-processing; the intervals of all candidates cover simultaneously.

        Args:
            n: number of items, 1 or more.
            last: number of slices, by default :attr:`span`; fewer if fewer are kept.
            confidence: for all intervals together, above 0 and below 1.

        Returns:
            At most n items; empty while no slice has ended or no name is published. Truncated
            names (of items longer than ``max_item_bytes``) are left out.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        most, level = checked_integer("n", n), checked_confidence(confidence)
        found = self.window(last=last)
        chosen = [] if found is None else [found]
        return heaviest_of(chosen, self.candidates, n=most, confidence=level)

    def changes(
        self,
        last: int | None = None,
        *,
        confidence: float = 0.95,
        against: Against = "previous",
    ) -> Changes:
        """Return the items whose share of the stream changed in the last slices.

        Guarantee: post-processing. The differences of all candidates lie in their intervals with
        at least ``confidence``, so an item whose share did not change is returned with probability
        at most 1 - ``confidence``.

        Args:
            last: number of slices, by default :attr:`span`.
            confidence: above 0 and below 1.
            against: ``"previous"`` for as many slices before them, ``"earlier"`` for all kept
                slices before them.

        Returns:
            The changes, largest difference first; empty while no earlier slices are kept.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/windows.md.
        """
        level = checked_confidence(confidence)
        if not isinstance(against, str):
            got = type(against).__name__
            raise ArgumentTypeError(f"against: expected 'previous' or 'earlier', got {got}")
        if against not in ("previous", "earlier"):
            raise ArgumentValueError(
                f"against: expected 'previous' or 'earlier', got {shown(against)}"
            )
        asked = self._span if last is None else checked_integer("last", last)
        now = self.window(last=asked)
        kept = self.slices
        before = self.window(asked, last=asked if against == "previous" else max(kept, 1))
        if now is None or before is None:
            return Changes()
        return changes_between([before], [now], self.candidates, confidence=level)


def _instant(end: object) -> datetime:
    return instant(instant_of("end", end))


def window_between(ends: Sequence[Window], asked: int, *, every: int) -> Window:
    """Return the window from the first to the last of some consecutive ends of slices.

    Args:
        ends: two or more, each the prefix of its block.
        asked: number of slices that it should have.
        every: length of a slice, in nanoseconds or in steps.
    """
    first, last = ends[0], ends[-1]
    parts = []
    for begin, prefixes in groupby(ends, key=attrgetter("begin")):  # of the same block
        *_, late = prefixes
        if begin != first.begin:
            parts.append(late)
        elif late is not first and slices_of(first, every) > 0:
            parts.append(replace(late, release=late.release.since(first.release)))
        elif late is not first:
            parts.append(late)
    return Window(
        number=last.number,
        begin=first.end,
        end=last.end,
        ended=True,
        whole=len(ends) > asked and all(end.whole for end in ends[1:]),
        release=merged(parts),
        names=last.names,
    )
