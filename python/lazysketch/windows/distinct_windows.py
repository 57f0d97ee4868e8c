"""The number of distinct people or items in each window of time, or of steps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lazysketch.arguments import check_keywords, checked_integer, with_options
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.intervals import Interval
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.releases.items import Item
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.keys import Key
from lazysketch.specification.distinct_spec import BitmapOptions, distinct_spec
from lazysketch.specification.table_spec import TableSpec
from lazysketch.windows.cuts import Cut
from lazysketch.windows.statistic_windows import KEEP, StatisticWindows
from lazysketch.windows.window import ReleasedWindow

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["DistinctWindows"]

_EXAMPLE: Final = 'DistinctWindows(every="1h", epsilon=1.0, delta=1e-8)'


@with_options(BitmapOptions, defaults=(distinct_spec,))
class DistinctWindows(StatisticWindows[ReleasedWindow[DistinctRelease]]):
    """Private numbers of distinct items in tumbling windows, such as visitors per hour.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for all events of one item *within one window*, however many there are: under
    zero-out they may be missing, or lie anywhere else in that window; under substitution they may
    be those of another item, or lie in another window. All may be chosen by what was published
    before. It is the guarantee of a person within one window if items are people. An item in k
    windows has that of k such mechanisms together: mu, which :func:`compose` computes with, is
    sqrt(k) times that of one window. One event that moves to another window is within the
    guarantee under substitution; under zero-out it costs as much as an item in two windows.

    Args:
        every: length of a window: a duration such as ``"1h"`` or a timedelta, or a number of steps.
        keep: number of ended windows that are kept, 24 by default; with ``begin`` and ``end`` all.
        begin: with ``end``, a public range, as ISO text or a datetime: windows by the time of each
            event, as for :class:`Windows`.
        end: the instant at which the range ends.
        slices: parts of a window by the clock, 1 to 960, 60 by default, as for :class:`Windows`;
            windows of steps take 1 or None.
        clock: returns seconds since 1970, by default those of the machine's clock; it must not
            depend on events.
        key: master key; fresh when None. All windows have the same hash seed.

    Raises:
        ArgumentTypeError: a wrong type, a wrong name of an argument, or arguments that exclude each
            other.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorem 12d; docs/windows.md.

    Example:
        >>> import lazysketch as ls
        >>> visitors = ls.DistinctWindows(every=20_000, epsilon=1.0, delta=1e-6)
        >>> visitors.update_many([f"visitor {number % 5_000}" for number in range(20_000)])
        >>> visitors.update_many([f"visitor {number % 9_000}" for number in range(20_000)])
        >>> first, second = (window.release.interval() for window in visitors.windows)
        >>> first.high < second.low
        True
    """

    _KIND = DistinctCount
    _EXAMPLE = _EXAMPLE

    def __init__(
        self,
        *positional: Never,
        every: str | timedelta | int | None = None,
        keep: int = KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        key: Key | None = None,
        **options: Unpack[BitmapOptions],
    ) -> None:
        """Choose the cut, and open the first window, or all windows of a range."""
        check_keywords(type(self), positional, options, BitmapOptions, example=_EXAMPLE)
        self._make(
            self._under(key),
            every=every,
            keep=keep,
            begin=begin,
            end=end,
            slices=slices,
            clock=clock,
            **options,
        )

    def _spec_of(self, cut: Cut, **options: Any) -> TableSpec:
        return distinct_spec(schedule=cut.every_step, **options)

    def update(self, item: Item, *, time: datetime | None = None) -> None:
        """Count one event of an item.

        Guarantee: as :meth:`update_many`.

        Args:
            item: any item.
            time: time of the event, for windows of a range; UTC if it has no offset.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type, a missing time, or one that these windows do not take.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count_one(item, time)

    def update_many(self, items: object, *, times: object = None) -> None:
        """Count many events, each in one window.

        Guarantee: the whole batch is checked before the first event is applied; after an exception
        it is counted completely or not at all, as for :meth:`Windows.update_many`. An event that is
        counted twice in one window is one.

        Args:
            items: a column of Arrow or of a data frame, a numpy array or an iterable of items.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC. Events whose time is null, NaT or the smallest int64 are in no window.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a wrong type, missing times, or times that these windows do not take.
            ArgumentValueError: a wrong number of times.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count(items, times)

    def release(self, position: int = -1) -> DistinctRelease:
        """Return what was published of one of the kept windows.

        Distinct items of several windows do not add up, as an item may be in all of them: there is
        no release of several windows together.

        Args:
            position: index of the window in :attr:`windows`; negative indices count from the end.

        Returns:
            A release that holds no secret and outlives the windows.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        kept = self.windows
        if not kept:
            raise ArgumentValueError("position: expected windows that have ended, got none so far")
        place = checked_integer("position", position, least=-len(kept), most=len(kept) - 1)
        return kept[place].release

    def estimate(self, position: int = -1) -> float:
        """Return the number of distinct items in one of the kept windows.

        Guarantee: as :meth:`DistinctRelease.estimate`; costs no privacy.

        Args:
            position: as for :meth:`release`.

        Returns:
            The number; not rounded.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(position).estimate()

    def interval(self, position: int = -1, *, confidence: float = 0.95) -> Interval:
        """Return the number of distinct items in one of the kept windows with an interval.

        Guarantee: as :meth:`DistinctRelease.interval`; costs no privacy.

        Args:
            position: as for :meth:`release`.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in items.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(position).interval(confidence=confidence)

    def __repr__(self) -> str:
        return self._described("distinct items")
