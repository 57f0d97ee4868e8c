"""The distribution of a numeric value under continual observation: quantiles, shares, histograms.

A secret count for every public bin; published are node sums of a tree over the bins, each a
private running total. So a range of any number of bins has the noise of a few nodes. An event costs
a search for its bin and one addition; a release some hundred microseconds for 1,024 bins.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch import _native
from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.intervals import Interval, Intervals
from lazysketch.releases.distribution_release import DistributionRelease
from lazysketch.sketches.held_table import HeldTable
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.bins import Bins
from lazysketch.specification.distribution_spec import (
    BinnedOptions,
    DistributionOptions,
    distribution_spec,
)
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Never, Unpack

__all__ = ["Distribution"]

_EXAMPLE: Final = "Distribution(bins=Bins.linear(0, 100), epsilon=1.0, delta=1e-8)"


class _BinCounts(PrivateTable):
    """The exact counts of bins, and the private node sums of the tree over them."""

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        if spec.kind != "values":
            raise ArgumentValueError(f"spec: expected kind 'values', got {spec.kind!r}")


@with_options(BinnedOptions, DistributionOptions, defaults=(distribution_spec,))
class Distribution(HeldTable):
    """Private distribution of a numeric value: quantiles, shares below a value, counts of ranges.

    Guarantee: all releases, at any number of steps, together satisfy (epsilon, delta)-DP for one
    event (``max_events_per_user`` of them): that it has another value, or its step is empty
    (``"substitution"``), or that it is there or its step is empty (``"zero-out"``). Events may be
    chosen by what was published before. With ``person_bound`` it holds for all events of one
    person, who may have any others at any steps, or none; events beyond the bound take empty steps,
    and no answer counts them. Bins are public.

    Args:
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorems 24 and 27; docs/distribution.md.

    Example:
        >>> import lazysketch as ls
        >>> latency = ls.Distribution(
        ...     bins=ls.Bins.logarithmic(0.001, 10), epsilon=1.0, delta=1e-6, horizon=50_000
        ... )
        >>> latency.update_many([0.02 + number % 100 / 1_000 for number in range(49_999)])
        >>> latency.update(7.5)
        >>> median = latency.quantile(0.5, confidence=1 - 1e-9)
        >>> median.low <= 0.07 <= median.high
        True
    """

    _KIND = _BinCounts

    def __init__(
        self, *positional: Never, key: Key | None = None, **options: Unpack[DistributionOptions]
    ) -> None:
        """Make the description of the counts, and the counts."""
        check_keywords(type(self), positional, options, DistributionOptions, example=_EXAMPLE)
        self._table = self._KIND.from_spec(distribution_spec(**options), key=key)

    def update(self, value: float, *, user: object = None) -> None:
        """Take one step with a value.

        Guarantee: a call that raises changes nothing.

        Args:
            value: a float or an integer; any but NaN has a bin.
            user: the person of the value, any item; required if people are bounded.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: NaN, an integer beyond the floats, or no person.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        people = None if user is None else [user]
        self._table.update_many(self._bins_of([value]), user=people)

    def update_many(self, values: object, *, user: object = None) -> None:
        """Take one step for each of many values, in order.

        Guarantee: the whole batch is checked before the first value is counted; the result is that
        of one :meth:`update` per value.

        Args:
            values: Arrow data, a NumPy array or an iterable of numbers; no NaN and no nulls.
            user: the person of each value, one item per value; required if people are bounded.

        Raises:
            ItemError: a person that is no item; the message gives its position.
            ArgumentTypeError: something that is not a number; the message gives its position.
            ArgumentValueError: NaN, a null, or another number of people.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_many(self._bins_of(values), user=user)

    def update_rows(self, values: object, *, empty_rows: object, user: object = None) -> None:
        """Take one step for each of many rows, of which some have no value.

        Args:
            values: the values of the rows that have one.
            empty_rows: the increasing positions, counted from 0 over all rows, of the other rows.
            user: the person of each value, as for :meth:`update_many`.

        Raises:
            ArgumentTypeError: as for :meth:`update_many`.
            ArgumentValueError: as there; positions that do not increase, or are past the last row.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_rows(self._bins_of(values), empty_rows=empty_rows, user=user)

    def update_batch(self, values: object, *, user: object = None) -> None:
        """Take one step with any number of values; for the batch schedule.

        Guarantee: the number of values is not published; nothing is applied when the call raises.

        Args:
            values: Arrow data, a NumPy array or an iterable of numbers; may be empty.
            user: the person of each value, as for :meth:`update_many`.

        Raises:
            ArgumentTypeError: as for :meth:`update_many`.
            ArgumentValueError: as there; another schedule.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_batch(self._bins_of(values), user=user)

    def quantile(self, share: float, *, confidence: float = 0.95) -> Interval:
        """Return the smallest value that at least a share of all values so far do not exceed.

        Guarantee: as :meth:`DistributionRelease.quantile`; costs no privacy.

        Args:
            share: above 0 and below 1, such as 0.5 for the median.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().quantile(share, confidence=confidence)

    def quantiles(
        self, shares: Sequence[float], *, confidence: float = 0.95
    ) -> tuple[Interval, ...]:
        """Return several quantiles of one release, in the order of the shares.

        Guarantee: as :meth:`DistributionRelease.quantiles`; costs no privacy.

        Args:
            shares: each above 0 and below 1.
            confidence: of each, above 0 and below 1.

        Returns:
            One interval per share.

        Raises:
            ArgumentTypeError: not numbers.
            ArgumentValueError: outside their range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().quantiles(shares, confidence=confidence)

    def cdf(self, value: float, *, confidence: float = 0.95) -> Interval:
        """Return the share of all values so far that are below a value.

        Guarantee: as :meth:`DistributionRelease.cdf`; costs no privacy.

        Args:
            value: any number but NaN.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, 0 to 1.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: NaN, or a confidence outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().cdf(value, confidence=confidence)

    def count_between(self, low: float, high: float, *, confidence: float = 0.95) -> Interval:
        """Return the number of values so far from one value up to below another.

        Guarantee: as :meth:`DistributionRelease.count_between`; costs no privacy.

        Args:
            low: any number but NaN.
            high: any number that is not below it.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in values.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: NaN, ``high`` below ``low``, or a confidence outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().count_between(low, high, confidence=confidence)

    def total(self, *, confidence: float = 0.95) -> Interval:
        """Return the number of all values so far.

        Guarantee: as :meth:`DistributionRelease.total`; costs no privacy.

        Args:
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in values.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().total(confidence=confidence)

    def histogram(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Intervals:
        """Return the numbers of values so far in all bins, in order.

        Guarantee: as :meth:`DistributionRelease.histogram`; costs no privacy.

        Args:
            confidence: above 0 and below 1.
            simultaneous: True to cover all counts together.

        Returns:
            Arrays of estimates and ends, of shape (``bins.number``,).

        Raises:
            ArgumentTypeError: not a number, or not a bool.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().histogram(confidence=confidence, simultaneous=simultaneous)

    def release(self) -> DistributionRelease:
        """Return the public state at this step.

        Guarantee: reading releases, any number of times and at any steps, stays within
        :attr:`privacy`.

        Returns:
            A release that holds no secret and outlives the distribution.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return DistributionRelease(self._table._release())

    @property
    def bins(self) -> Bins:
        """The public bins."""
        return Bins(self._table._spec.edges)

    @functools.cached_property
    def _edges(self) -> npt.NDArray[np.float64]:
        """The edges as an array: a tuple would be converted again at every update."""
        return np.array(self._table._spec.edges, dtype=np.float64)

    def _bins_of(self, values: object) -> npt.NDArray[np.uint64]:
        return _native.bins_of_values(values, self._edges)

    def __repr__(self) -> str:
        return (
            f"<Distribution bins={self.bins.number}, {self.privacy}, horizon={self.horizon}, "
            f"{self._used()}>"
        )
