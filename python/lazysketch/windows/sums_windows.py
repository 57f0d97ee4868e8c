"""Sums, counts and means of a value by item, in each window of time or of steps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch import _native
from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.intervals import Interval
from lazysketch.privacy.sums_privacy import SumsPrivacy
from lazysketch.releases.items import Item
from lazysketch.releases.sums_queries import ItemSum
from lazysketch.releases.sums_release import SumsRelease
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.sketches.live_state import exclusive
from lazysketch.specification.value_grid import ValueGrid, plain_values
from lazysketch.sums.sums_spec import SumsSpec, ValueOptions, sums_spec
from lazysketch.windows.cuts import Cut
from lazysketch.windows.durations import instant_of
from lazysketch.windows.statistic_windows import KEEP, StatisticWindows
from lazysketch.windows.sums_tables import SumsTables
from lazysketch.windows.window import ReleasedWindow

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

    from lazysketch.windows.batches import Weights

__all__ = ["SumsWindows"]

_EXAMPLE: Final = 'SumsWindows(low=0, high=100, every="1h", epsilon=1.0, delta=1e-8)'


@with_options(ValueOptions, defaults=(sums_spec,))
class SumsWindows(StatisticWindows[ReleasedWindow[SumsRelease]]):
    """Private sums, counts and means by item in tumbling windows, such as bytes per hour.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any windows). Under
    substitution the event may have any other item and value and, with windows of time, any other
    time; under zero-out the event may be missing, and one that moves to another time is two. The
    times at which windows begin and end never depend on an event. Bounds of values are public. All
    windows have the same hash seed. With ``person_bound`` it holds for all events of one person
    *within one window*: under substitution they may be those of another person, there or in another
    window.

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
        key: master key; fresh when None.

    Raises:
        ArgumentTypeError: a wrong type, a wrong name of an argument, or arguments that exclude each
            other.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorems 12e and 12f; docs/windows.md.

    Example:
        >>> import lazysketch as ls
        >>> sent = ls.SumsWindows(
        ...     low=0, high=1500, every=20_000, slices=1, epsilon=1.0, delta=1e-6
        ... )
        >>> sent.update_many(["10.0.0.1", "10.0.0.2"] * 10_000, [1200, 100] * 10_000)
        >>> sent.update_many(["10.0.0.1", "10.0.0.2"] * 10_000, [100, 100] * 10_000)
        >>> sent.sum("10.0.0.1").high < sent.sum("10.0.0.1", last=2).low
        True
    """

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
        **options: Unpack[ValueOptions],
    ) -> None:
        """Choose the cut, and open the first window, or all windows of a range."""
        check_keywords(type(self), positional, options, ValueOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make(
            lambda spec, _cut, _kept: (SumsTables(spec, key=one), None),
            every=every,
            keep=keep,
            begin=begin,
            end=end,
            slices=slices,
            clock=clock,
            **options,
        )

    def _spec_of(self, cut: Cut, **options: Any) -> SumsSpec:
        """Return the description of the sums of one window, and keep their grid."""
        cut.check_moves(options.get("mechanism"))
        spec = sums_spec(schedule=cut.every_step, **options)
        self._grid = spec.grid
        return spec

    def update(
        self, item: Item, value: float, *, time: datetime | None = None, user: Item | None = None
    ) -> None:
        """Count one event of an item, with its value.

        Guarantee: as :meth:`update_many`.

        Args:
            item: any item.
            value: a number; below ``low`` or above ``high`` it counts as that bound.
            time: time of the event, for windows of a range; UTC if it has no offset.
            user: the person of the event, any item; required if people are bounded.

        Raises:
            ItemError: not a valid item, or a person who is none.
            ArgumentTypeError: not a number, a missing time, or a time or a person that these
                windows do not take.
            ArgumentValueError: NaN, or no person where people are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        times = None if time is None else [instant_of("time", time)]
        self.update_many([item], [value], times=times, user=None if user is None else [user])

    def update_many(
        self, items: object, values: object, *, times: object = None, user: object = None
    ) -> None:
        """Count many events with their values, each in one window.

        Guarantee: the whole batch is checked before the first event is counted; after an exception
        it is counted completely or not at all, as for :meth:`Windows.update_many`.

        Args:
            items: Arrow data, a NumPy array or an iterable of items.
            values: one number per item: an array, Arrow data or an iterable; no NaN and no nulls.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC. Events whose time is null, NaT or the smallest int64 are in no window.
            user: the person of each event, one item per event; required if people are bounded. Each
                window bounds what it counts of a person, whatever the others have counted.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: something that is not a number, missing times, or times or people
                that these windows do not take.
            ArgumentValueError: NaN, a null, or another number of values, times or people than
                items, or no people where they are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count_values(items, values, times, user)

    @exclusive
    def _count_values(self, items: object, values: object, times: object, user: object) -> None:
        weights, events = self._weights(values), _native.logged_events(items)
        check_number(events, weights)
        self._opened().add(events, weights, times, user)

    def _weights(self, values: object) -> Weights:
        """Return the integers of values; signs in two's complement, as the core takes them."""
        return self._grid.weights(plain_values(values))

    def release(self, last: int = 1) -> SumsRelease:
        """Return one release of the last windows that ended.

        Args:
            last: number of windows; fewer if fewer are kept.

        Returns:
            A release with a part per window; its noise is that of all of them.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        first, *others = [window.release for window in self._last(last)]
        return first.merge(*others) if others else first

    def sum(self, item: object, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the sum of the values of an item in the last windows, clipped to the bounds.

        Guarantee: as :meth:`SumsRelease.sum`; costs no privacy.

        Args:
            item: any item.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).sum(item, confidence=confidence)

    def count(self, item: object, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the number of events of an item in the last windows.

        Guarantee: as :meth:`SumsRelease.count`; costs no privacy.

        Args:
            item: any item.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).count(item, confidence=confidence)

    def mean(self, item: object, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the mean of the values of an item in the last windows, clipped to the bounds.

        Guarantee: as :meth:`SumsRelease.mean`; costs no privacy.

        Args:
            item: any item.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).mean(item, confidence=confidence)

    def top(
        self, n: int = 10, last: int = 1, *, among: object, confidence: float = 0.95
    ) -> tuple[ItemSum, ...]:
        """Return the items of a public list with the largest sums in the last windows.

        Guarantee: as :meth:`SumsRelease.top`; costs no privacy.

        Args:
            n: number of items, 1 or more.
            last: number of windows; fewer if fewer are kept.
            among: the public list, chosen without knowledge of the stream.
            confidence: for all sums of the list together, above 0 and below 1.

        Returns:
            The items with their sums, in descending order.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).top(n, among=among, confidence=confidence)

    @property
    def privacy(self) -> SumsPrivacy:  # type: ignore[override]  # of two tables
        """The guarantee of all windows together: that of one, as an event lies in one window."""
        return cast("SumsPrivacy", self._privacy)

    @property
    def grid(self) -> ValueGrid:
        """The public bounds of values, and the steps between them; the same in all windows."""
        return self._grid

    def __repr__(self) -> str:
        return self._described(f"sums of values from {self._grid.low:g} to {self._grid.high:g}")


def check_number(events: _native.LoggedEvents, weights: Weights) -> None:
    """Raise ArgumentValueError unless each event has a value.

    Args:
        events: the events.
        weights: the integers of their values.
    """
    if len(events) != len(weights):
        raise ArgumentValueError(
            f"values: expected one per item ({len(events)}), got another number"
        )
