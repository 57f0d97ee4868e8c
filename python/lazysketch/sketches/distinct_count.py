"""The number of distinct people or items under continual observation.

A secret bitmap holds one bit of one sampling level for every item; published are the numbers of set
bits, each a private running total. So a person counts once, however many events there are, and
without any bound on them. An event costs one hash and one look at the bitmap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentValueError
from lazysketch.estimation.intervals import Interval
from lazysketch.releases.distinct_release import DistinctRelease
from lazysketch.sketches.held_table import HeldTable
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.specification.distinct_spec import BitmapOptions, DistinctOptions, distinct_spec
from lazysketch.specification.table_spec import TableSpec

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["DistinctCount"]

_EXAMPLE: Final = "DistinctCount(epsilon=1.0, delta=1e-8)"


class _LevelCounts(PrivateTable):
    """The secret bitmaps and the private number of set bits of each level."""

    @classmethod
    def _check_spec(cls, spec: TableSpec) -> None:
        if spec.kind != "distinct":
            raise ArgumentValueError(f"spec: expected kind 'distinct', got {spec.kind!r}")


@with_options(BitmapOptions, DistinctOptions, defaults=(distinct_spec,))
class DistinctCount(HeldTable):
    """Private number of distinct items of a stream: of people, if the items are people.

    Guarantee: all releases together are (epsilon, delta)-differentially private for all events of
    one item together, however many there are: that they are there, or their steps are empty
    (``"zero-out"``); or that events of another item are there instead, at any steps
    (``"substitution"``). All events may be chosen by what was published before. It is the guarantee
    of a person if items are people; otherwise a person with events of several items is protected
    for each of them.

    Args:
        key: master key; a fresh one when None.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: a value outside its range.

    Source: docs/theory.md, Theorem 23; docs/distinct.md.

    Example:
        >>> import lazysketch as ls
        >>> visitors = ls.DistinctCount(epsilon=1.0, delta=1e-6, relation="zero-out")
        >>> visitors.update_many([f"visitor {number % 20_000}" for number in range(100_000)])
        >>> visitors.update("visitor 1")
        >>> found = visitors.interval(confidence=1 - 1e-9)
        >>> found.low < 20_000 < found.high and found.width < 6_000
        True
    """

    _KIND = _LevelCounts

    def __init__(
        self, *positional: Never, key: Key | None = None, **options: Unpack[DistinctOptions]
    ) -> None:
        """Make the description of the counts, and the counts."""
        check_keywords(type(self), positional, options, DistinctOptions, example=_EXAMPLE)
        self._table = self._KIND.from_spec(distinct_spec(**options), key=key)

    def update(self, item: object) -> None:
        """Take one step with an event of an item.

        Guarantee: a call that raises changes nothing.

        Args:
            item: str, bytes, int, datetime with a time zone, date or UUID.

        Raises:
            ItemError: not a valid item.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update(item)

    def update_many(self, items: object, *, column: str | None = None) -> None:
        """Take one step for each of many events, in order.

        Guarantee: the whole batch is checked before the first event is applied; the result is that
        of one :meth:`update` per event.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            column: the name of the column, for a table with several columns.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a single str, bytes or dict; floats; several columns without
                ``column``.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_many(items, column=column)

    def update_rows(self, items: object, *, empty_rows: object, column: str | None = None) -> None:
        """Take one step for each of many rows, of which some have no event.

        Args:
            items: the items of the rows that have one.
            empty_rows: the increasing positions, counted from 0 over all rows, of the other rows.
            column: the name of the column, for a table with several columns.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: as for :meth:`update_many`.
            ArgumentValueError: positions that do not increase, or are past the last row.
            HorizonError: past the horizon.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_rows(items, empty_rows=empty_rows, column=column)

    def update_batch(self, items: object, *, column: str | None = None) -> None:
        """Take one step with any number of events; for the batch schedule.

        Guarantee: the number of events is not published; nothing is applied when the call raises.

        Args:
            items: Arrow data, a numpy array or an iterable of items; may be empty.
            column: the name of the column, for a table with several columns.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: as for :meth:`update_many`.
            ArgumentValueError: another schedule.
            HorizonError: past the last batch.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._table.update_batch(items, column=column)

    def estimate(self) -> float:
        """Return the number of distinct items so far.

        Guarantee: as ``release().estimate()``; costs no privacy.

        Returns:
            The number; not rounded.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().estimate()

    def interval(self, *, confidence: float = 0.95) -> Interval:
        """Return the number of distinct items with an interval that covers it.

        Guarantee: as :meth:`DistinctRelease.interval`; costs no privacy.

        Args:
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in items.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return self.release().interval(confidence=confidence)

    def release(self) -> DistinctRelease:
        """Return the public state at this step.

        Guarantee: reading releases, any number of times and at any steps, stays within
        :attr:`privacy`.

        Returns:
            A release that holds no secret and outlives the count.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        return DistinctRelease(self._table._release())

    @property
    def levels(self) -> int:
        """Number of sampling levels."""
        return self._table.width

    @property
    def bits(self) -> int:
        """Bits of each level."""
        return self.spec.bits

    @property
    def hash_seed(self) -> int:
        """The public seed of the hash functions."""
        return self._table.hash_seed

    def __repr__(self) -> str:
        return (
            f"<DistinctCount levels={self.levels}, bits={self.bits}, {self.privacy}, "
            f"horizon={self.horizon}, {self._used()}>"
        )
