"""Counts of ranges of integer keys under continual observation: networks, ports, ids, times.

One table for ranges and prefixes of any size: the counts of both halves of the domain, and of every
node of a binary tree the difference between its halves. Large nodes have cells of their own, small
ones share them as in a Count Sketch. So a range has the noise of some ``bits / 6`` cells, and not
of one cell for each level and end. An event costs one hash and one addition for each bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.intervals import Interval
from lazysketch.releases.ranges_release import RangesRelease
from lazysketch.sketches.held_table import HeldTable
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.ranges_spec import KeyOptions, RangesOptions, ranges_spec
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["Ranges"]

_EXAMPLE: Final = "Ranges(bits=32, epsilon=1.0, delta=1e-8)"


class _Coefficients(PrivateTable):
    """The halves of the domain, and the Haar coefficients of all nodes."""

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        if spec.kind != "ranges":
            raise ArgumentValueError(f"spec: expected kind 'ranges', got {spec.kind!r}")


@with_options(KeyOptions, RangesOptions, defaults=(ranges_spec,))
class Ranges(HeldTable):
    """Private counts of ranges and prefixes of integer keys, such as addresses.

    Guarantee: all releases, at any number of steps, together satisfy (epsilon, delta)-DP for one
    event (``max_events_per_user`` of them): that it has another key, or its step is empty
    (``"substitution"``), or that it is there or its step is empty (``"zero-out"``). Events may be
    chosen by what was published before. With ``person_bound`` it holds for all events of one
    person, who may have any others at any steps, or none; events beyond the bound take empty steps,
    and no answer counts them.

    Args:
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorems 26 and 26b; docs/ranges.md.

    Example:
        >>> import lazysketch as ls
        >>> ports = ls.Ranges(bits=16, width=1024, epsilon=1.0, delta=1e-6, horizon=40_000)
        >>> ports.update_many([443] * 20_000 + [50_000 + number for number in range(10_000)])
        >>> ports.update(8_080)
        >>> low_ports = ports.count_between(0, 1_024, confidence=1 - 1e-9)
        >>> low_ports.low <= 20_000 <= low_ports.high
        True
    """

    _KIND = _Coefficients

    def __init__(
        self, *positional: Never, key: Key | None = None, **options: Unpack[RangesOptions]
    ) -> None:
        """Make the description of the counts, and the counts."""
        check_keywords(type(self), positional, options, RangesOptions, example=_EXAMPLE)
        self._table = self._KIND.from_spec(ranges_spec(**options), key=key)

    def update(self, key: int, weight: int = 1, *, user: object = None) -> None:
        """Take one step with a key.

        Guarantee: a call that raises changes nothing.

        Args:
            key: 0 to 2^bits - 1.
            weight: 0 to ``max_weight``.
            user: the person of the key, any item; required if people are bounded.

        Raises:
            ItemError: not an integer, or outside its range; or a person that is no item.
            ArgumentTypeError: a weight that is no integer.
            ArgumentValueError: no person, or a weight outside its range.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update(key, weight, user=user)

    def update_many(
        self,
        keys: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Take one step for each of many keys, in order.

        Guarantee: the whole batch is checked before the first key is counted; the result is that of
        one :meth:`update` per key.

        Args:
            keys: Arrow data, a NumPy array or an iterable of integers.
            weights: one integer per key, or None for weight 1.
            column: the name of the column, for a table with several columns.
            user: the person of each key, one item per key; required if people are bounded.

        Raises:
            ItemError: not an integer, or outside its range, or a person that is no item; the
                message gives its position.
            ArgumentTypeError: no batch, or several columns without ``column``.
            ArgumentValueError: another number of weights or people, or weights outside their range.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_many(keys, weights, column=column, user=user)

    def update_rows(
        self,
        keys: object,
        weights: object = None,
        *,
        empty_rows: object,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Take one step for each of many rows, of which some have no key.

        Args:
            keys: the keys of the rows that have one.
            weights: one integer per key, or None for weight 1.
            empty_rows: the increasing positions, counted from 0 over all rows, of the other rows.
            column: the name of the column, for a table with several columns.
            user: the person of each key, as for :meth:`update_many`.

        Raises:
            ItemError: as for :meth:`update_many`.
            ArgumentTypeError: as there.
            ArgumentValueError: as there; positions that do not increase, or are past the last row.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_rows(keys, weights, empty_rows=empty_rows, column=column, user=user)

    def update_batch(
        self,
        keys: object,
        weights: object = None,
        *,
        column: str | None = None,
        user: object = None,
    ) -> None:
        """Take one step with any number of keys; for the batch schedule.

        Guarantee: the number of keys is not published; nothing is applied when the call raises.

        Args:
            keys: Arrow data, a NumPy array or an iterable of integers; may be empty.
            weights: one integer per key, or None for weight 1.
            column: the name of the column, for a table with several columns.
            user: the person of each key, as for :meth:`update_many`.

        Raises:
            ItemError: as for :meth:`update_many`.
            ArgumentTypeError: as there.
            ArgumentValueError: as there; another schedule.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_batch(keys, weights, column=column, user=user)

    def count_between(self, low: int, high: int, *, confidence: float = 0.95) -> Interval:
        """Return the number of keys so far from one key up to below another, or their weight.

        Guarantee: as :meth:`RangesRelease.count_between`; costs no privacy.

        Args:
            low: 0 or more.
            high: from ``low`` on, at most 2^bits.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events, or their weights.

        Raises:
            ArgumentTypeError: not an integer, or a confidence that is not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().count_between(low, high, confidence=confidence)

    def prefix(self, network: str, *, confidence: float = 0.95) -> Interval:
        """Return the number of keys so far in a network of addresses.

        Guarantee: as :meth:`RangesRelease.prefix`; costs no privacy.

        Args:
            network: such as ``"10.0.0.0/8"``, for keys of 32 bits; an address is a network of one.
                For keys of 64 bits, the first halves of IPv6 addresses, such as
                ``"2001:db8::/32"``, with at most 64 bits.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events, or their weights.

        Raises:
            ArgumentTypeError: not a str, or a confidence that is not a number.
            ArgumentValueError: not a network of such addresses, keys of other than 32 or 64 bits,
                or a confidence outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().prefix(network, confidence=confidence)

    def total(self, *, confidence: float = 0.95) -> Interval:
        """Return the number of all keys so far.

        Guarantee: as :meth:`RangesRelease.total`; costs no privacy.

        Args:
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events, or their weights.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().total(confidence=confidence)

    def quantile(self, share: float, *, confidence: float = 0.95) -> Interval:
        """Return the smallest key that at least a share of all keys so far do not exceed.

        Guarantee: as :meth:`RangesRelease.quantile`; costs no privacy.

        Args:
            share: above 0 and below 1, such as 0.5 for the median.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, keys as exact integers.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().quantile(share, confidence=confidence)

    def release(self) -> RangesRelease:
        """Return the public state at this step.

        Guarantee: reading releases, any number of times and at any steps, stays within
        :attr:`privacy`.

        Returns:
            A release that holds no secret and outlives the counts.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return RangesRelease(self._table._release())

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return self._table.depth

    @property
    def width(self) -> int:
        """Columns."""
        return self._table.width

    @property
    def hash_seed(self) -> int:
        """The public seed of the hash functions."""
        return self._table.hash_seed

    def __repr__(self) -> str:
        return (
            f"<Ranges bits={self.bits}, width={self.width}, {self.privacy}, "
            f"horizon={self.horizon}, {self._used()}>"
        )
