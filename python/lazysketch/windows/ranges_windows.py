"""Counts of ranges of keys in each window of time, or of steps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lazysketch.arguments import check_keywords, with_options
from lazysketch.estimation.intervals import Interval
from lazysketch.releases.items import Item
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.sketches.keys import Key
from lazysketch.sketches.ranges import Ranges
from lazysketch.specification.ranges_spec import KeyOptions, ranges_spec
from lazysketch.specification.table_spec import TableSpec
from lazysketch.windows.cuts import Cut
from lazysketch.windows.statistic_windows import KEEP, StatisticWindows
from lazysketch.windows.window import ReleasedWindow

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["RangesWindows"]

_EXAMPLE: Final = 'RangesWindows(every="1h", epsilon=1.0, delta=1e-8)'


@with_options(KeyOptions, defaults=(ranges_spec,))
class RangesWindows(StatisticWindows[ReleasedWindow[RangesRelease]]):
    """Private counts of ranges of keys in tumbling windows, such as networks per hour.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any windows). Under
    substitution the event may have any other key and, with windows of time, any other time; under
    zero-out the event may be missing, and one that moves to another time is two. The times at which
    windows begin and end never depend on an event. All windows have the same hash seed. With
    ``person_bound`` it holds for all events of one person *within one window*: under substitution
    they may be those of another person, there or in another window.

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
        >>> ports = ls.RangesWindows(
        ...     bits=16, width=1024, every=20_000, slices=1, epsilon=1.0, delta=1e-6
        ... )
        >>> ports.update_many([443] * 20_000)
        >>> ports.update_many([50_000 + number for number in range(10_000)] + [80] * 10_000)
        >>> ports.count_between(0, 1_024).high < ports.count_between(0, 1_024, last=2).low
        True
    """

    _KIND = Ranges
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
        **options: Unpack[KeyOptions],
    ) -> None:
        """Choose the cut, and open the first window, or all windows of a range."""
        check_keywords(type(self), positional, options, KeyOptions, example=_EXAMPLE)
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
        """Return the description of the counts of one window, and keep the bits of its keys."""
        cut.check_moves(options.get("mechanism"))
        spec = ranges_spec(schedule=cut.every_step, **options)
        self._bits = spec.depth
        return spec

    def update(
        self,
        key: int,
        weight: int = 1,
        *,
        time: datetime | None = None,
        user: Item | None = None,
    ) -> None:
        """Count one key.

        Guarantee: as :meth:`update_many`.

        Args:
            key: 0 to 2^bits - 1.
            weight: 0 to ``max_weight``.
            time: time of the event, for windows of a range; UTC if it has no offset.
            user: the person of the event, any item; required if people are bounded.

        Raises:
            ItemError: not an integer, or outside its range; or a person who is no item.
            ArgumentTypeError: a missing time, or a time or a person that these windows do not take;
                a weight that is no integer.
            ArgumentValueError: a weight outside its range, or no person where people are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count_one(key, time, weight=weight, user=user)

    def update_many(
        self,
        keys: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count many keys, each in one window.

        Guarantee: the whole batch is checked before the first key is counted; after an exception
        it is counted completely or not at all, as for :meth:`Windows.update_many`.

        Args:
            keys: Arrow data, a NumPy array or an iterable of integers.
            weights: one integer per key, or None for weight 1.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC. Events whose time is null, NaT or the smallest int64 are in no window.
            user: the person of each event, one item per event; required if people are bounded. Each
                window bounds what it counts of a person, whatever the others have counted.

        Raises:
            ItemError: not an integer, or outside its range; the message gives its position.
            ArgumentTypeError: a wrong type, missing times, or times or people that these windows do
                not take.
            ArgumentValueError: a wrong number of weights, times or people, weights outside their
                range, or no people where they are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count(keys, times, weights=weights, user=user)

    def release(self, last: int = 1) -> RangesRelease:
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

    def count_between(
        self, low: int, high: int, last: int = 1, *, confidence: float = 0.95
    ) -> Interval:
        """Return the number of keys of the last windows from one key up to below another.

        Guarantee: as :meth:`RangesRelease.count_between`; costs no privacy.

        Args:
            low: 0 or more.
            high: from ``low`` on, at most 2^bits.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events, or their weights.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).count_between(low, high, confidence=confidence)

    def prefix(self, network: str, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the number of keys of the last windows in a network of addresses.

        Guarantee: as :meth:`RangesRelease.prefix`; costs no privacy.

        Args:
            network: as for :meth:`Ranges.prefix`.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events, or their weights.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).prefix(network, confidence=confidence)

    def total(self, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the number of all keys of the last windows.

        Guarantee: as :meth:`RangesRelease.total`; costs no privacy.

        Args:
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events, or their weights.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).total(confidence=confidence)

    def quantile(self, share: float, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the smallest key that at least a share of the last windows' do not exceed.

        Guarantee: as :meth:`RangesRelease.quantile`; costs no privacy.

        Args:
            share: above 0 and below 1, such as 0.5 for the median.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, keys as exact integers.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).quantile(share, confidence=confidence)

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return self._bits

    def __repr__(self) -> str:
        return self._described(f"ranges of keys of {self._bits} bits")
