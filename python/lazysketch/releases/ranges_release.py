"""Releases of ranges of keys: halves and Haar coefficients, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypedDict, cast

from lazysketch import _native
from lazysketch.arguments import checked_integer, checked_share
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.intervals import Interval, checked_confidence
from lazysketch.estimation.key_ranges import KeyRanges
from lazysketch.releases.key_questions import range_of_network, range_of_question
from lazysketch.releases.release_without_items import ReleaseWithoutItems
from lazysketch.releases.rows import as_number

if TYPE_CHECKING:
    from lazysketch.releases.release_of_kind import ReleaseOfKind

__all__ = ["RangeRow", "RangesRelease"]

_SHOWN_BITS: Final = 4  # the ranges that are shown unless others are asked for: these first bits


class RangeRow(TypedDict):
    """A range of keys: its estimate, and an interval rounded outwards to whole counts."""

    range: str
    estimate: float
    low: float
    high: float


class RangesRelease(ReleaseWithoutItems):
    """The public state of a :class:`lazysketch.Ranges` at one step.

    Guarantee: it holds no secret; everything computed from it has the (epsilon, delta) of the
    counts. Every answer has an interval that covers the true number with about its confidence, for
    keys and questions that do not depend on the noise or on the hash seed.

    Source: docs/ranges.md; docs/release-format.md for the bytes.

    Example:
        >>> import lazysketch as ls
        >>> clients = ls.Ranges(bits=32, epsilon=1.0, delta=1e-6, horizon=50_000)
        >>> clients.update_many([10 * 2**24 + number for number in range(20_000)])
        >>> release = clients.release()
        >>> found = release.prefix("10.0.0.0/8", confidence=1 - 1e-9)
        >>> found.low <= 20_000 <= found.high
        True
        >>> other = ls.RangesRelease.from_bytes(release.to_bytes())
        >>> other.count_between(0, 2**30) == release.count_between(0, 2**30)
        True
    """

    _KIND = "ranges"

    def merge(self, *others: RangesRelease) -> RangesRelease:
        """Return the sum of releases of different counts with the same hash seed and size.

        Guarantee: ``parts`` keeps the noise and the steps of every part; NOT PRIVATE is inherited.
        For a person who occurs in several streams the parts compose as sqrt(sum of mu^2).

        Args:
            others: releases with the same bits, width and hash seed.

        Returns:
            The merged release.

        Raises:
            ArgumentTypeError: something that is not such a release.
            MergeError: another size or hash seed, or counts that occur twice.
        """
        for other in others:
            if not isinstance(other, RangesRelease):
                found = type(other).__name__
                raise ArgumentTypeError(f"others: expected releases of ranges, got {found}")
        return RangesRelease(_native.Release.merge([one._native for one in (self, *others)]))

    def count_between(self, low: int, high: int, *, confidence: float = 0.95) -> Interval:
        """Return the number of keys from one key up to below another.

        Guarantee: the interval covers the true number with about ``confidence``: noise is normal in
        good approximation, and what collides in a row is distributed like its other cells.

        Args:
            low: 0 or more.
            high: from ``low`` on, at most 2^bits.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events.

        Raises:
            ArgumentTypeError: not an integer, or a confidence that is not a number.
            ArgumentValueError: outside its range.

        Source: docs/theory.md, "Ranges of keys".
        """
        first, last = self._checked(low, high)
        level = checked_confidence(confidence)
        estimate, least, most = self._keys.between(first, last, miss=1.0 - level)
        if first < last:
            most = min(most + self._pending * self._max_weight, self._keys.most)
        return Interval(estimate=estimate, low=least, high=most, confidence=level, at="now")

    def prefix(self, network: str, *, confidence: float = 0.95) -> Interval:
        """Return the number of keys in a network of addresses.

        Guarantee: as :meth:`count_between`.

        Args:
            network: such as ``"10.0.0.0/8"``, for keys of 32 bits; an address is a network of one.
                For keys of 64 bits, the first halves of IPv6 addresses, such as
                ``"2001:db8::/32"``, with at most 64 bits.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events.

        Raises:
            ArgumentTypeError: not a str, or a confidence that is not a number.
            ArgumentValueError: not a network of such addresses, keys of other than 32 or 64 bits,
                or a confidence outside its range.
        """
        if not isinstance(network, str):
            raise ArgumentTypeError(f"network: expected a str, got {type(network).__name__}")
        return self.count_between(*range_of_network(network, self.bits), confidence=confidence)

    def total(self, *, confidence: float = 0.95) -> Interval:
        """Return the number of all keys.

        Guarantee: as :meth:`count_between`; without collisions.

        Args:
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
        """
        return self.count_between(0, 1 << self.bits, confidence=confidence)

    def quantile(self, share: float, *, confidence: float = 0.95) -> Interval:
        """Return the smallest key that at least a share of all keys do not exceed.

        Guarantee: the interval covers the true quantile with at least ``confidence``, up to the
        approximations of :meth:`count_between`.

        Args:
            share: above 0 and below 1, such as 0.5 for the median.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, keys as exact integers; the estimate is NaN if the number of keys is
            not above 0.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.

        Source: docs/theory.md, "Ranges of keys".
        """
        part = checked_share("share", share)
        level = checked_confidence(confidence)
        found, low, high = self._keys.quantile(part, miss=1.0 - level)
        if self._pending:
            low, high = 0, (1 << self.bits) - 1
        estimate = math.nan if found is None else found
        return Interval(estimate=estimate, low=low, high=high, confidence=level, at="now")

    def standard_error(self, low: int, high: int) -> float:
        """Return the standard deviation of the estimate of a range, from noise and collisions.

        Args:
            low: 0 or more.
            high: from ``low`` on, at most 2^bits.

        Returns:
            The deviation, in events.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: outside its range.
        """
        return self._keys.deviation(*self._checked(low, high))

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return self.depth

    def _checked(self, low: object, high: object) -> tuple[int, int]:
        first, last = self._end("low", low), self._end("high", high)
        if last < first:
            raise ArgumentValueError("high: expected a key that is not below low, got a lower one")
        return first, last

    def _end(self, name: str, key: object) -> int:
        """Return an end of a range; errors do not show it, since a key may be someone's."""
        try:
            return checked_integer(name, key, least=0, most=1 << self.bits)
        except ArgumentValueError:
            raise ArgumentValueError(
                f"{name}: expected an integer from 0 to 2^{self.bits}, got one outside that range"
            ) from None

    def _rows(self, questions: Sequence[str], *, confidence: float) -> list[RangeRow]:
        shown = min(self.bits, _SHOWN_BITS)
        size = 1 << (self.bits - shown)
        parts = [f"{at * size}-{(at + 1) * size}" for at in range(1 << shown)]
        rows: list[RangeRow] = []
        for text in questions or parts:
            found = self.count_between(*range_of_question(text, self.bits), confidence=confidence)
            rows.append(
                {
                    "range": text,
                    "estimate": as_number(round(found.estimate, 1)),
                    "low": math.floor(found.low),
                    "high": math.ceil(found.high),
                }
            )
        return rows

    def _merged(self, others: Sequence[ReleaseOfKind]) -> RangesRelease:
        return self.merge(*cast("Sequence[RangesRelease]", others))

    @cached_property
    def _keys(self) -> KeyRanges:
        # All columns were pushed together. The rounding to integers adds a variance of 1/12.
        rounding = len(self._parts) / 12.0
        return KeyRanges(
            table=self._table,
            locate=self._native.cells,
            noise_variance=float(self._noise_variance[0]) + rounding,
            most=self._most,
        )

    def __repr__(self) -> str:
        return self._described(f"{self.bits} bits x {self.width:,}")
