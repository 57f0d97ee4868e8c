"""Queries of a public table: counts with intervals, moments, and the distribution of its noise.

A point query costs depth look-ups. Intervals and the better estimators first estimate the errors of
the cells from the whole table: one sort, cached for later queries.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MergeError
from lazysketch.estimation.error_distribution import Strata
from lazysketch.estimation.estimators import (
    PAPER,
    Estimator,
    Readings,
    checked_estimator,
    estimates,
)
from lazysketch.estimation.intervals import (
    At,
    Interval,
    Intervals,
    checked_at,
    checked_confidence,
    intervals,
)
from lazysketch.estimation.lag import Lag
from lazysketch.estimation.moments import Moment, inner_product, second_moment
from lazysketch.releases.parts import ReleasePart, parts_of

__all__ = ["PublicTable"]

LARGEST_CHOICE: Final = 2**40


class PublicTable:
    """Queries of a release; base class of :class:`lazysketch.Release`."""

    def __init__(self, native: _native.Release) -> None:
        """Wrap a release of the core; users get releases from sketches, files and merges."""
        if not isinstance(native, _native.Release):
            raise ArgumentTypeError(
                "release: expected one made by a sketch, Release.load or Release.from_bytes, "
                f"got {type(native).__name__}"
            )
        self._native = native
        self._parts = parts_of(native.kind, native.depth, native.parts)

    def estimate(
        self, item: object, *, estimator: Estimator | None = None, at: At = "published"
    ) -> float:
        """Return the estimated count of one item.

        Guarantee: post-processing; neither clipped nor rounded, so it may be negative.

        Args:
            item: any item; an index for counters.
            estimator: ``"minimum"`` (Count-Min), ``"median"`` (Count Sketch),
                ``"bias-corrected"``, ``"corrected"`` or ``"joint"``; None for the paper's, the
                minimum over rows or the median of signed values. Those that use the whole table
                have a fraction of the error: docs/estimators.md.
            at: ``"published"`` for the count at the last pushes of the item's columns, ``"now"``
                to add the expected number of its events since then, at its published rate.

        Returns:
            The count.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: ``estimator`` or ``at`` is not a string.
            ArgumentValueError: an unknown estimator or time.

        Source: arXiv 2507.03361, Algorithm "CO Sketch Query"; docs/estimators.md.
        """
        if checked_estimator(estimator, self.kind) in PAPER and checked_at(at) == "published":
            return self._native.estimate(item)
        return float(self._estimates(self._cells(item), estimator, at)[0])

    def estimate_many(
        self,
        items: object,
        *,
        column: str | None = None,
        estimator: Estimator | None = None,
        at: At = "published",
    ) -> npt.NDArray[np.float64]:
        """Return the estimated counts of many items, in order.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            column: the name of the column, for a table with several columns.
            estimator: as in :meth:`estimate`.
            at: as in :meth:`estimate`.

        Returns:
            float64 array.

        Raises:
            ArgumentTypeError: a single str, bytes or dict; several columns without ``column``;
                ``estimator`` or ``at`` is not a string.
            ArgumentValueError: an unknown estimator or time.
            ItemError: an invalid item; the message gives its position.
        """
        if checked_estimator(estimator, self.kind) in PAPER and checked_at(at) == "published":
            return self._native.estimate_many(items, column)
        return self._estimates(self._native.cells_many(items, column), estimator, at)

    def interval(self, item: object, *, confidence: float = 0.95, at: At = "published") -> Interval:
        """Return an estimate of one item's count with an interval that covers it.

        Guarantee: for an item chosen before the hash seed was drawn, and for the count at the
        last pushes of the item's columns, the interval covers with at least ``confidence``, for
        every stream: ``low`` is at most the count at the latest of these pushes, ``high`` at least
        the count at the earliest. With ``at="now"`` it covers the count at this step, if the item
        has since arrived at about its published rate (at 95 %: at most twice that rate).

        Args:
            item: any item; an index for counters.
            confidence: above 0 and below 1.
            at: ``"published"`` or ``"now"``.

        Returns:
            The estimate (``"joint"``, within the interval), both ends, and what they refer to.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/intervals.md.
        """
        return self._intervals(self._cells(item), confidence, at)[0]

    def interval_many(
        self,
        items: object,
        *,
        confidence: float = 0.95,
        at: At = "published",
        simultaneous: bool = False,
        among: int | None = None,
        column: str | None = None,
    ) -> Intervals:
        """Return estimates and intervals of many items, in order.

        Guarantee: as :meth:`interval`, for each item. With ``simultaneous`` the confidence holds
        for all intervals together; with ``among`` it holds for all items from which these were
        selected, so the selection may depend on the release.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            confidence: above 0 and below 1.
            at: ``"published"`` or ``"now"``.
            simultaneous: True to cover all counts together.
            among: number of items from which these were selected, such as the length of the list
                whose heaviest they are; at least the number of ``items``.
            column: the name of the column, for a table with several columns.

        Returns:
            Arrays of estimates, lower ends and upper ends.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/intervals.md.
        """
        if not isinstance(simultaneous, bool):
            got = type(simultaneous).__name__
            raise ArgumentTypeError(f"simultaneous: expected True or False, got {got}")
        cells = self._native.cells_many(items, column)
        given = len(cells[0])
        if among is not None:
            among = checked_integer("among", among, least=max(given, 1), most=LARGEST_CHOICE)
        elif simultaneous:
            among = max(given, 1)
        return self._intervals(cells, confidence, at, among=among)

    def second_moment(self, *, confidence: float = 0.95) -> Moment:
        """Return the sum of squared counts of all items (F2), for Count Sketch.

        Args:
            confidence: above 0 and below 1.

        Returns:
            An unbiased estimate, and an interval.

        Raises:
            ArgumentTypeError: not a number.
            ArgumentValueError: a value outside its range, or another kind of table.

        Source: Alon, Matias and Szegedy 1999; docs/intervals.md.
        """
        self._require_count_sketch("second_moment")
        level = checked_confidence(confidence)
        return second_moment(self._table, self._noise_variance, confidence=level)

    def inner_product(self, other: PublicTable, *, confidence: float = 0.95) -> Moment:
        """Return the sum over all items of the products of their counts in two releases.

        Args:
            other: a Count Sketch release of the same shape and hash seed, of other sketches.
            confidence: above 0 and below 1.

        Returns:
            An unbiased estimate, and an interval.

        Raises:
            ArgumentTypeError: not a release, or not a number.
            ArgumentValueError: a value outside its range, or another kind of table.
            MergeError: different shapes or seeds, or a sketch in both releases.

        Source: Alon, Matias and Szegedy 1999; docs/intervals.md.
        """
        self._require_count_sketch("inner_product")
        level = checked_confidence(confidence)
        if not isinstance(other, PublicTable):
            raise ArgumentTypeError(f"other: expected a release, got {type(other).__name__}")
        # The conditions are those of merging: same shape and seed, and no noise in common.
        try:
            _native.Release.merge([self._native, other._native])
        except MergeError as error:
            raise MergeError(f"other: {str(error).removeprefix('merge: ')}") from None
        tables, noises = (self._table, other._table), (self._noise_variance, other._noise_variance)
        return inner_product(tables, noises, confidence=level)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """The table, int64 of shape (depth, width), read-only."""
        # A view of a read-only array: callers cannot make it writable.
        table: npt.NDArray[np.int64] = self._table.view()
        return table

    @property
    def kind(self) -> str:
        """``"count-min"``, ``"count-sketch"`` or ``"counters"``."""
        return self._native.kind

    @property
    def depth(self) -> int:
        """Rows."""
        return self._native.depth

    @property
    def width(self) -> int:
        """Columns."""
        return self._native.width

    @property
    def hash_seed(self) -> int:
        """The public seed of the hash functions."""
        return self._native.hash_seed

    @property
    def parts(self) -> tuple[ReleasePart, ...]:
        """The sketches in this release, ordered by id once merged."""
        return self._parts

    @property
    def step(self) -> int:
        """Steps seen by all parts together."""
        return sum(part.step for part in self._parts)

    @property
    def noise_deviation(self) -> npt.NDArray[np.float64]:
        """Standard deviation of the noise in the cells of every column, float64 of (width,)."""
        return np.sqrt(self._noise_variance)

    @cached_property
    def _table(self) -> npt.NDArray[np.int64]:
        table = self._native.table
        table.setflags(write=False)
        return table

    @cached_property
    def _noise_variance(self) -> npt.NDArray[np.float64]:
        variance = np.zeros(self.width)
        for part in self._parts:
            variance += part.noise_variance(self.width)
        return variance

    @cached_property
    def _published_steps(self) -> npt.NDArray[np.float64]:
        """Number of published steps of every column, summed over all parts."""
        steps = np.zeros(self.width)
        for part in self._parts:
            steps += part.published_steps(self.width)
        return steps

    def _size(self, at: At) -> float:
        """Return the denominator of shares, at least 1: the steps, or else the noisy total.

        The total of a table covers published events; with ``at="now"`` it is extrapolated at its
        rate per step, like the estimates. For a Count Sketch with weights or batches neither is
        known: NaN.
        """
        unit = all(
            part.privacy.max_weight == 1
            and part.schedule is not None
            and part.schedule.name != "batch"
            for part in self._parts
        )
        signed = self.kind == "count-sketch"
        published = float(self._published_steps.sum())
        if unit and (signed or all(p.privacy.relation == "substitution" for p in self._parts)):
            return max(float(self.step) if at == "now" else published / self.width, 1.0)
        if signed:
            return math.nan
        total = float(self._table.sum(axis=1).mean())
        if at == "now":
            total = total * self.step * self.width / max(published, 1.0)
        return max(total, 1.0)

    @cached_property
    def _strata(self) -> Strata:
        return Strata.of(
            self._table,
            published_steps=self._published_steps,
            noise_variance=self._noise_variance,
            signed=self.kind == "count-sketch",
            collisions=self.kind != "counters",
        )

    def _cells(self, item: object) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        columns, flipped = self._native.cells(item)
        return columns[None, :], flipped[None, :]

    def _readings(
        self, columns: npt.NDArray[np.uint32], flipped: npt.NDArray[np.bool_]
    ) -> Readings:
        signed = self.kind == "count-sketch"
        return Readings.of(self._table, columns, flipped, self._strata, signed=signed)

    def _lag(self, columns: npt.NDArray[np.uint32]) -> Lag:
        return Lag.of(
            self._published_steps[columns.astype(np.int64)],
            step=self.step,
            max_weight=max(part.privacy.max_weight for part in self._parts),
        )

    def _estimates(
        self,
        cells: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]],
        estimator: Estimator | None,
        at: At,
    ) -> npt.NDArray[np.float64]:
        chosen = checked_estimator(estimator, self.kind)
        published = estimates(self._readings(*cells), chosen)
        return published if at == "published" else self._lag(cells[0]).compensated(published)

    def _intervals(
        self,
        cells: tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]],
        confidence: float,
        at: At,
        *,
        among: int | None = None,
    ) -> Intervals:
        level, moment = checked_confidence(confidence), checked_at(at)
        readings, lag = self._readings(*cells), self._lag(cells[0])
        return intervals(readings, lag, confidence=level, at=moment, among=among)

    def _require_count_sketch(self, name: str) -> None:
        if self.kind != "count-sketch":
            raise ArgumentValueError(
                f"{name}: expected a release of a Count Sketch, got one of {self.kind}"
            )
