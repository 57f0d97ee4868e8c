"""The distribution of a numeric value in each window of time, or of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lazysketch import _native
from lazysketch.arguments import check_keywords, with_options
from lazysketch.estimation.intervals import Interval, Intervals
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.releases.items import Item
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.keys import Key
from lazysketch.specification.bins import Bins
from lazysketch.specification.distribution_spec import BinnedOptions, distribution_spec
from lazysketch.specification.table_spec import TableSpec
from lazysketch.windows.cuts import Cut
from lazysketch.windows.statistic_windows import KEEP, StatisticWindows
from lazysketch.windows.window import ReleasedWindow

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["DistributionWindows"]

_EXAMPLE: Final = (
    'DistributionWindows(bins=Bins.linear(0, 100), every="1h", epsilon=1.0, delta=1e-8)'
)


@with_options(BinnedOptions, defaults=(distribution_spec,))
class DistributionWindows(StatisticWindows[ReleasedWindow[DistributionRelease]]):
    """Private distributions of a value in tumbling windows, such as latencies per hour.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any windows). Under
    substitution the event may have any other value and, with windows of time, any other time; under
    zero-out the event may be missing, and one that moves to another time is two. The times at which
    windows begin and end never depend on an event. Bins are public. With ``person_bound`` it holds
    for all events of one person *within one window*: under substitution they may be those of
    another person, there or in another window.

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

    Source: docs/theory.md, Theorems 12d and 12f; docs/windows.md.

    Example:
        >>> import lazysketch as ls
        >>> latency = ls.DistributionWindows(
        ...     bins=ls.Bins.logarithmic(0.001, 10), every=20_000, epsilon=1.0, delta=1e-6
        ... )
        >>> latency.update_many([0.02 + number % 100 / 1_000 for number in range(20_000)])
        >>> latency.update_many([0.2 + number % 100 / 1_000 for number in range(20_000)])
        >>> latency.quantile(0.5).low > 0.2, latency.quantile(0.5, last=2).low < 0.2
        (True, True)
    """

    _KIND = Distribution
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
        **options: Unpack[BinnedOptions],
    ) -> None:
        """Choose the cut, and open the first window, or all windows of a range."""
        check_keywords(type(self), positional, options, BinnedOptions, example=_EXAMPLE)
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
        """Return the description of the distribution of one window, and keep its bins."""
        cut.check_moves(options.get("mechanism"))
        # The noise for a person covers any steps in any windows.
        moves = cut.moves and options.get("person_bound") is None
        spec = distribution_spec(schedule=cut.every_step, moves=moves, **options)
        self._bins, self._edges = Bins(spec.edges), np.array(spec.edges, dtype=np.float64)
        return spec

    def update(
        self, value: float, *, time: datetime | None = None, user: Item | None = None
    ) -> None:
        """Count one value.

        Guarantee: as :meth:`update_many`.

        Args:
            value: a float or an integer; any but NaN has a bin.
            time: time of the event, for windows of a range; UTC if it has no offset.
            user: the person of the event, any item; required if people are bounded.

        Raises:
            ItemError: a person who is no item.
            ArgumentTypeError: not a number, a missing time, or a time or a person that these
                windows do not take.
            ArgumentValueError: NaN, an integer beyond the floats, or no person where people are
                bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count_one(value, time, user=user)

    def update_many(self, values: object, *, times: object = None, user: object = None) -> None:
        """Count many values, each in one window.

        Guarantee: the whole batch is checked before the first value is counted; after an exception
        it is counted completely or not at all, as for :meth:`Windows.update_many`.

        Args:
            values: Arrow data, a NumPy array or an iterable of numbers; no NaN and no nulls.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC. Events whose time is null, NaT or the smallest int64 are in no window.
            user: the person of each event, one item per event; required if people are bounded. Each
                window bounds what it counts of a person, whatever the others have counted.

        Raises:
            ItemError: a person who is no item; the message gives the position.
            ArgumentTypeError: something that is not a number, missing times, or times or people
                that these windows do not take.
            ArgumentValueError: NaN or a null, a wrong number of times or people, or no people where
                they are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._count(values, times, user=user)

    def release(self, last: int = 1) -> DistributionRelease:
        """Return one distribution of the last windows that ended.

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

    def quantile(self, share: float, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the smallest value that at least a share of the last windows' do not exceed.

        Guarantee: as :meth:`DistributionRelease.quantile`; costs no privacy.

        Args:
            share: above 0 and below 1, such as 0.5 for the median.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).quantile(share, confidence=confidence)

    def quantiles(
        self, shares: Sequence[float], last: int = 1, *, confidence: float = 0.95
    ) -> tuple[Interval, ...]:
        """Return several quantiles of the last windows, in the order of the shares.

        Guarantee: as :meth:`DistributionRelease.quantiles`; costs no privacy.

        Args:
            shares: each above 0 and below 1.
            last: number of windows; fewer if fewer are kept.
            confidence: of each, above 0 and below 1.

        Returns:
            One interval per share.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).quantiles(shares, confidence=confidence)

    def cdf(self, value: float, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the share of the values of the last windows that are below a value.

        Guarantee: as :meth:`DistributionRelease.cdf`; costs no privacy.

        Args:
            value: any number but NaN.
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, 0 to 1.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).cdf(value, confidence=confidence)

    def total(self, last: int = 1, *, confidence: float = 0.95) -> Interval:
        """Return the number of values in the last windows.

        Guarantee: as :meth:`DistributionRelease.total`; costs no privacy.

        Args:
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in values.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).total(confidence=confidence)

    def histogram(
        self, last: int = 1, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Intervals:
        """Return the numbers of values of the last windows in all bins, in order.

        Guarantee: as :meth:`DistributionRelease.histogram`; costs no privacy.

        Args:
            last: number of windows; fewer if fewer are kept.
            confidence: above 0 and below 1.
            simultaneous: True to cover all counts together.

        Returns:
            Arrays of estimates and ends, of shape (``bins.number``,).

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or no window has ended.
        """
        return self.release(last).histogram(confidence=confidence, simultaneous=simultaneous)

    @property
    def bins(self) -> Bins:
        """The public bins, the same in all windows."""
        return self._bins

    def _converted(self, events: object) -> object:
        return _native.bins_of_values(events, self._edges)

    def _add_converted(self, event: Any, weight: int, user: Item | None) -> bool:
        return self._add_one(int(_native.bins_of_values([event], self._edges)[0]), weight, user)

    def __repr__(self) -> str:
        return self._described(f"{self._bins.number:,} bins")
