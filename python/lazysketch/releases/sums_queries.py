"""Queries of public sums by item: sums, numbers of events and means, with intervals.

Both tables have one hash, so a linear combination of them is a Count Sketch as well: that of the
sums of values. Its cells are a sample of the errors in an item's own cells, whatever their sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from lazysketch.arguments import check_bools, checked_integer
from lazysketch.estimation.error_model import level_of
from lazysketch.estimation.intervals import Interval, Intervals, checked_confidence
from lazysketch.estimation.peeling import Cells
from lazysketch.estimation.signed_table import SignedTable
from lazysketch.releases.items import Item, distinct_items
from lazysketch.releases.release import Release
from lazysketch.releases.table_facts import TableFacts
from lazysketch.specification.value_grid import ValueGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[np.float64]
    Question: TypeAlias = Callable[[Cells, float], tuple[Array, Array, Array]]

__all__ = ["ItemSum", "SumsQueries", "means_of"]

_OF_ROUNDING: Final = 0.1  # part of the error probability of a sum for what rounding left out
_LARGEST: Final = 2.0**50  # of a combined table, in its own unit
_FINEST: Final = 2.0**8  # of its units in half a step of the grid


@dataclass(frozen=True)
class ItemSum:
    """An item of a list with its sum.

    Attributes:
        item: the item.
        sum: its sum with an interval; those of the whole list cover together.
    """

    item: Item
    sum: Interval


class SumsQueries(TableFacts):
    """Queries of a release; base class of :class:`lazysketch.SumsRelease`.

    Its facts of a table are those of the table of events.
    """

    _counts: Release
    _values: Release
    _grid: ValueGrid

    def sum(self, item: object, *, confidence: float = 0.95) -> Interval:
        """Return the sum of the values of an item, clipped to the bounds.

        Guarantee: for an item chosen before the hash seed was drawn, the interval covers the sum of
        clipped values with at least ``confidence``, for every stream; with a ``step`` of the caller
        the sum of values rounded to it.

        Args:
            item: any item.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in units of the values; ends may be negative, or infinite.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.

        Source: docs/sums.md.
        """
        return _only(self.sums([item], confidence=confidence))

    def count(self, item: object, *, confidence: float = 0.95) -> Interval:
        """Return the number of events of an item.

        Guarantee: as :meth:`sum`, for the number.

        Args:
            item: any item.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, in events.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.
        """
        return _only(self.counts([item], confidence=confidence))

    def mean(self, item: object, *, confidence: float = 0.95) -> Interval:
        """Return the mean of the values of an item, clipped to the bounds.

        Guarantee: as :meth:`sum`, for the mean of an item that occurred. Half of the error
        probability is for the count and half for the sum from the middle of the bounds.

        Args:
            item: any item.
            confidence: above 0 and below 1.

        Returns:
            Estimate and ends, within the bounds; the estimate is NaN if that of the count is not
            above 0.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: not a number.
            ArgumentValueError: outside its range.

        Source: docs/sums.md.
        """
        return _only(self.means([item], confidence=confidence))

    def sums(
        self, items: object, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Intervals:
        """Return the sums of many items, in order.

        Guarantee: as :meth:`sum`, for each item, or for all of them together.

        Args:
            items: Arrow data, a NumPy array or an iterable of items.
            confidence: above 0 and below 1.
            simultaneous: True to cover all sums together.

        Returns:
            Arrays of estimates and ends.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        return self._of_each(self._sums, items, confidence, simultaneous=simultaneous)

    def counts(
        self, items: object, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Intervals:
        """Return the numbers of events of many items, in order.

        Guarantee: as :meth:`count`, for each item, or for all of them together.

        Args:
            items: Arrow data, a NumPy array or an iterable of items.
            confidence: above 0 and below 1.
            simultaneous: True to cover all numbers together.

        Returns:
            Arrays of estimates and ends.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        return self._of_each(self._numbers, items, confidence, simultaneous=simultaneous)

    def means(
        self, items: object, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Intervals:
        """Return the means of many items, in order.

        Guarantee: as :meth:`mean`, for each item, or for all of them together.

        Args:
            items: Arrow data, a NumPy array or an iterable of items.
            confidence: above 0 and below 1.
            simultaneous: True to cover all means together.

        Returns:
            Arrays of estimates and ends.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        return self._of_each(self._means, items, confidence, simultaneous=simultaneous)

    def top(self, n: int = 10, *, among: object, confidence: float = 0.95) -> tuple[ItemSum, ...]:
        """Return the items of a public list with the largest sums.

        Guarantee: post-processing, if the list is public. The intervals of the whole list cover
        together, hence also those of the items that are selected by their estimates.

        Args:
            n: number of items, 1 or more.
            among: the public list, chosen without knowledge of the stream.
            confidence: for all sums of the list together, above 0 and below 1.

        Returns:
            The items with their sums, in descending order of the estimates; ties in the order of
            the list.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.
        """
        most = checked_integer("n", n)
        listed = distinct_items("among", among)
        found = self.sums(listed, confidence=confidence, simultaneous=True)
        order = np.argsort(-found.estimate, kind="stable")[:most]
        return tuple(ItemSum(listed[at], _at(found, at)) for at in order.tolist())

    @property
    def _ratio(self) -> float:
        """The middle of the bounds, in half steps of the grid."""
        return self._grid.middle / self._grid.unit

    @cached_property
    def _variance_of_sums(self) -> float:
        """Variance of a cell of the table of sums, in half steps of the grid."""
        return float(
            self._values._noise_variance[0] + self._ratio**2 * self._counts._noise_variance[0]
        )

    @cached_property
    def _numbers_of_events(self) -> SignedTable:
        counts = self._counts
        return SignedTable(counts._table, float(counts._noise_variance[0]), step=self.step)

    @cached_property
    def _from_middle(self) -> SignedTable:
        values = self._values
        return SignedTable(values._table, float(values._noise_variance[0]), step=self.step)

    @cached_property
    def _in_half_steps(self) -> tuple[SignedTable, float]:
        """The table of sums, in whole numbers of a unit, and the units in half a step."""
        table = self._values._table + self._ratio * self._counts._table.astype(np.float64)
        largest = max(float(np.abs(table).max()), math.sqrt(self._variance_of_sums), 1.0)
        scale = min(_FINEST, 2.0 ** math.floor(math.log2(_LARGEST / largest)))
        whole = np.rint(table * scale).astype(np.int64)
        return SignedTable(whole, self._variance_of_sums * scale**2, step=self.step), scale

    def _of_each(
        self, question: Question, items: object, confidence: float, *, simultaneous: bool
    ) -> Intervals:
        """Return the answers to a question of each of many items."""
        check_bools(simultaneous=simultaneous)
        chosen = checked_confidence(confidence)
        cells = self._native.cells_many(items)
        level = level_of(chosen, among=max(len(cells[0]), 1) if simultaneous else None)
        estimate, low, high = question(cells, level)
        return Intervals(estimate, low, high, chosen, "now", simultaneous)

    def _numbers(self, cells: Cells, level: float) -> tuple[Array, Array, Array]:
        estimate, low, high = self._numbers_of_events.intervals(cells, level=level)
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0) + self._pending
        return np.clip(estimate, low, high), low, high

    def _means(self, cells: Cells, level: float) -> tuple[Array, Array, Array]:
        side = level / 2.0
        total, least, largest = self._from_middle.intervals(cells, level=side)
        reach = self._pending * self._grid.steps
        totals = total, least - reach, largest + reach
        return means_of(self._numbers(cells, side), totals, self._grid)

    def _sums(self, cells: Cells, level: float) -> tuple[Array, Array, Array]:
        grid = self._grid
        share = _OF_ROUNDING if grid.rounding else 0.0
        table, scale = self._in_half_steps
        estimate, low, high = table.intervals(cells, level=level * (1.0 - share))
        # Half a unit in each cell was rounded away.
        half = 0.5 if self.step else 0.0
        low, high = low - half, high + half
        estimate, low, high = (grid.unit / scale * part for part in (estimate, low, high))
        if share:
            # Both ends need the upper end of the number alone.
            _, _, most = self._numbers(cells, level * share)
            low, high = low - most * grid.rounding, high + most * grid.rounding
        # Events that are not published yet may all be the item's.
        low, high = (
            end + self._pending * bound
            for end, bound in ((low, min(grid.low, 0.0)), (high, max(grid.high, 0.0)))
        )
        # A sum of values of one sign has that sign.
        least = 0.0 if grid.low >= 0.0 else -np.inf
        largest = 0.0 if grid.high <= 0.0 else np.inf
        low, high = (np.clip(end, least, largest) for end in (low, high))
        return np.clip(estimate, low, high), low, high


def means_of(
    numbers: tuple[Array, Array, Array], totals: tuple[Array, Array, Array], grid: ValueGrid
) -> tuple[Array, Array, Array]:
    """Return estimates and ends of means, in units of the values.

    Args:
        numbers: Estimates and ends of the numbers of events.
        totals: Those of the sums from the middle, in half steps of the grid.
        grid: The integers of values.
    """
    number, fewest, most = numbers
    total, least, largest = totals
    with np.errstate(divide="ignore", invalid="ignore"):
        unknown = most < 1.0
        # An item that occurred did so once at least.
        fewest, most = np.maximum(fewest, 1.0), np.maximum(most, 1.0)
        low = np.where(least < 0.0, least / fewest, least / most)
        high = np.where(largest > 0.0, largest / fewest, largest / most)
        estimate = np.where(number > 0.0, total / number, np.nan)
    rounding = grid.rounding / grid.unit
    low = np.clip(np.nan_to_num(low - rounding, nan=-grid.steps), -grid.steps, grid.steps)
    high = np.clip(np.nan_to_num(high + rounding, nan=grid.steps), -grid.steps, grid.steps)
    low, high = np.where(unknown, -grid.steps, low), np.where(unknown, grid.steps, high)
    estimate = np.clip(estimate, low, high)
    estimate, low, high = (grid.middle + grid.unit * part for part in (estimate, low, high))
    return estimate, low, high


def _at(found: Intervals, at: int) -> Interval:
    estimate, low, high = (float(part[at]) for part in (found.estimate, found.low, found.high))
    return Interval(estimate, low, high, found.confidence, found.at)


def _only(found: Intervals) -> Interval:
    return _at(found, 0)
