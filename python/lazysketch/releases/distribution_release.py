"""Releases of a distribution of values: noisy sums over bins, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from lazysketch import _native
from lazysketch.arguments import checked_number, checked_share
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.binned import BinnedCounts
from lazysketch.estimation.error_model import level_of
from lazysketch.estimation.intervals import Interval, Intervals, checked_confidence
from lazysketch.foreign_values import plain_sequence
from lazysketch.releases.release_without_items import ReleaseWithoutItems
from lazysketch.releases.value_rows import SHARES, QuantileRow, quantile_rows
from lazysketch.specification.bins import Bins
from lazysketch.specification.value_tree import ValueTree

if TYPE_CHECKING:
    from lazysketch.releases.release_of_kind import ReleaseOfKind
    from lazysketch.specification.value_tree import ValueRows

__all__ = ["DistributionRelease"]

_MOST_SHARES: Final = 1 << 20  # each is a search of its own


class DistributionRelease(ReleaseWithoutItems):
    """The public state of a :class:`lazysketch.Distribution` at one step.

    Guarantee: it holds no secret; everything computed from it has the (epsilon, delta) of the
    distribution. Every answer has an interval that covers the true one with its confidence, for
    values and questions that do not depend on the noise.

    Source: docs/distribution.md; docs/release-format.md for the bytes.

    Example:
        >>> import lazysketch as ls
        >>> latency = ls.Distribution(
        ...     bins=ls.Bins.linear(0, 100), epsilon=1.0, delta=1e-6, horizon=20_000
        ... )
        >>> latency.update_many([number % 100 for number in range(20_000)])
        >>> release = latency.release()
        >>> median = release.quantile(0.5, confidence=1 - 1e-9)
        >>> median.low <= 49 <= median.high
        True
        >>> found = release.count_between(20, 30, confidence=1 - 1e-9)
        >>> found.low <= 2_000 <= found.high
        True
        >>> other = ls.DistributionRelease.from_bytes(release.to_bytes())
        >>> other.quantile(0.9) == release.quantile(0.9)
        True
    """

    _KIND = "values"

    def __init__(self, native: _native.Release) -> None:
        """Wrap a release of the core; users get releases from distributions, files and merges."""
        super().__init__(native)
        self._tree = ValueTree(cast("ValueRows", native.value_rows), native.width)

    def merge(self, *others: DistributionRelease) -> DistributionRelease:
        """Return the sum of releases of different distributions with the same bins.

        Guarantee: ``parts`` keeps the noise and the steps of every part; NOT PRIVATE is inherited.
        For a person who occurs in several streams the parts compose as sqrt(sum of mu^2).

        Args:
            others: releases with the same bins and the same rows over them.

        Returns:
            The merged release.

        Raises:
            ArgumentTypeError: something that is not such a release.
            MergeError: other bins, or a distribution that occurs twice.
        """
        for other in others:
            if not isinstance(other, DistributionRelease):
                found = type(other).__name__
                raise ArgumentTypeError(f"others: expected releases of values, got {found}")
        merged = _native.Release.merge([one._native for one in (self, *others)])
        return DistributionRelease(merged)

    def quantile(self, share: float, *, confidence: float = 0.95) -> Interval:
        """Return the smallest value that at least a share of all values do not exceed.

        Guarantee: the interval covers the true quantile with at least ``confidence``, up to the
        normal approximation of the noise. Its ends are edges of bins, infinite in open bins.

        Args:
            share: above 0 and below 1, such as 0.5 for the median.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values; the estimate is NaN if the number of values
            is not above 0, and the nearest edge in an open bin.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.

        Source: docs/theory.md, "Values".
        """
        wanted = checked_share("share", share)
        level = checked_confidence(confidence)
        return _interval(self._counts.quantile(wanted, level=level_of(level, among=None)), level)

    def quantiles(
        self, shares: Sequence[float], *, confidence: float = 0.95
    ) -> tuple[Interval, ...]:
        """Return several quantiles, in the order of the shares.

        Guarantee: as :meth:`quantile`, for each of them.

        Args:
            shares: each above 0 and below 1.
            confidence: of each, above 0 and below 1.

        Returns:
            One interval per share.

        Raises:
            ArgumentTypeError: not numbers.
            ArgumentValueError: outside their range, or more than a million.
        """
        plain = _plain_shares(shares)
        return tuple(self.quantile(share, confidence=confidence) for share in plain)

    def cdf(self, value: float, *, confidence: float = 0.95) -> Interval:
        """Return the share of all values that are below a value.

        Guarantee: the interval covers the true share with at least ``confidence``, up to the normal
        approximation of the noise; between edges it covers every place in the bin.

        Args:
            value: any number but NaN.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, 0 to 1; the estimate is NaN if the number of values is not above 0.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: NaN, or a confidence outside its range.

        Source: docs/theory.md, "Values".
        """
        at = _checked_value("value", value)
        level = checked_confidence(confidence)
        return _interval(self._counts.share_below(at, level=level_of(level, among=None)), level)

    def count_between(self, low: float, high: float, *, confidence: float = 0.95) -> Interval:
        """Return the number of values from one value up to below another.

        Guarantee: as :meth:`cdf`, for the count.

        Args:
            low: any number but NaN; -inf for all values below ``high``.
            high: any number that is not below ``low``; inf for all values from ``low`` on.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in values.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: NaN, ``high`` below ``low``, or a confidence outside its range.

        Source: docs/theory.md, "Values".
        """
        first, last = _checked_value("low", low), _checked_value("high", high)
        if last < first:
            raise ArgumentValueError(f"high: expected a number from low on, got {last:g}")
        level = checked_confidence(confidence)
        return _interval(
            self._counts.between(first, last, level=level_of(level, among=None)), level
        )

    def total(self, *, confidence: float = 0.95) -> Interval:
        """Return the number of all values.

        Guarantee: as :meth:`cdf`, for the count.

        Args:
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in values.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
        """
        level = checked_confidence(confidence)
        return _interval(self._counts.total(level=level_of(level, among=None)), level)

    def histogram(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Intervals:
        """Return the numbers of values in all bins, in order, with the first and the last.

        Guarantee: the estimates are those of counts that do not fall from prefix to prefix. Each
        interval covers with at least ``confidence``, or all of them together do.

        Args:
            confidence: above 0 and below 1.
            simultaneous: True to cover all counts together.

        Returns:
            Arrays of estimates and ends, of shape (``bins.number``,).

        Raises:
            ArgumentTypeError: not a number, or not a bool.
            ArgumentValueError: outside its range.
        """
        if not isinstance(simultaneous, bool):
            found = type(simultaneous).__name__
            raise ArgumentTypeError(f"simultaneous: expected a bool, got {found}")
        confident = checked_confidence(confidence)
        among = self.bins.number if simultaneous else None
        estimate, low, high = self._counts.bins(level=level_of(confident, among=among))
        return Intervals(
            estimate=estimate,
            low=low,
            high=high,
            confidence=confident,
            at="now",
            simultaneous=simultaneous,
        )

    @property
    def _shape(self) -> str:
        return f"{self.bins.number:,} bins"

    def _rows(self, questions: Sequence[str], *, confidence: float) -> list[QuantileRow]:
        shares = [self._share(text) for text in questions] or list(SHARES)
        return quantile_rows(self, shares, confidence=confidence)

    def _share(self, text: str) -> float:
        try:
            share = float(text)
        except ValueError:
            share = 0.0
        if not 0.0 < share < 1.0:
            raise ArgumentValueError(
                f"ITEM: expected a share above 0 and below 1 for a release of "
                f"{self._words.counted}, got {text[:40]!r}"
            )
        return share

    def _merged(self, others: Sequence[ReleaseOfKind]) -> DistributionRelease:
        return self.merge(*cast("Sequence[DistributionRelease]", others))

    @cached_property
    def bins(self) -> Bins:
        """The public bins."""
        return Bins(self._native.edges)

    @cached_property
    def _counts(self) -> BinnedCounts:
        # All bins were pushed together. The rounding to integers adds a variance of 1/12.
        rounding = len(self._parts) / 12.0
        return BinnedCounts(
            edges=self.bins.edges,
            tree=self._tree,
            sums=self._table[0],
            variance=float(self._noise_variance[0]) + rounding,
            most=self._most,
            pending=self._pending,
        )

    def __repr__(self) -> str:
        return self._described(f"{self.bins.number:,} bins")


def _interval(ends: tuple[float, float, float], confidence: float) -> Interval:
    estimate, low, high = ends
    return Interval(estimate=estimate, low=low, high=high, confidence=confidence, at="now")


def _plain_shares(shares: Sequence[float]) -> list[float]:
    found = plain_sequence("shares", shares, most=_MOST_SHARES)
    if found is None:
        raise ArgumentTypeError(
            f"shares: expected a sequence of numbers, got {type(shares).__name__}"
        )
    if len(found) > _MOST_SHARES:
        raise ArgumentValueError(f"shares: expected at most {_MOST_SHARES:,} numbers, got more")
    return found


def _checked_value(name: str, value: object) -> float:
    number = checked_number(name, value, wanted="a number")
    if math.isnan(number):
        raise ArgumentValueError(f"{name}: expected a number, got NaN")
    return number
