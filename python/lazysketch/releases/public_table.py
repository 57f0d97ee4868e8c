"""Queries of a public table: counts with intervals, moments, and the distribution of its noise.

Estimates and intervals first estimate the errors of the cells from the whole table: one sort, kept
for later queries, each of which then takes microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sized
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MergeError
from lazysketch.estimation.error_model import deviations_of, error_model, level_of
from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import (
    At,
    Interval,
    Intervals,
    checked_at,
    checked_confidence,
)
from lazysketch.estimation.moments import Moment, inner_product, second_moment
from lazysketch.releases.parts import ReleasePart, parts_of

__all__ = ["PublicTable"]

Array = npt.NDArray[np.float64]

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
        self, item: object, *, estimator: Estimator | None = None, at: At | None = None
    ) -> float:
        """Return the estimated count of one item.

        Guarantee: post-processing; neither clipped nor rounded, so it may be negative.

        Args:
            item: any item; an index for counters.
            estimator: ``"joint"`` weighs all rows and has the least error (docs/estimators.md);
                ``"minimum"`` (Count-Min) and ``"median"`` (Count Sketch) are the paper's. The
                default is ``"joint"``; for exact tables, which have no noise, the paper's.
            at: ``"now"`` for the count at this step: the published one plus the expected number of
                the item's events since then, at its own rate; ``"published"`` for the count at the
                last pushes of its columns. The default is ``"now"``; for the paper's estimators
                ``"published"``, as in the paper.

        Returns:
            The count.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: ``estimator`` or ``at`` is not a string.
            ArgumentValueError: an unknown estimator or time.

        Source: docs/estimators.md; arXiv 2507.03361, Algorithm "CO Sketch Query", for the paper's.
        """
        chosen = self._default if estimator is None else estimator
        return self._native.estimate_by(self._errors, item, estimator=chosen, at=at)

    def estimate_many(
        self,
        items: object,
        *,
        column: str | None = None,
        estimator: Estimator | None = None,
        at: At | None = None,
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
        chosen = self._default if estimator is None else estimator
        return self._native.estimate_many_by(self._errors, items, column, estimator=chosen, at=at)

    def decode(self, items: object, *, column: str | None = None) -> npt.NDArray[np.float64]:
        """Return the estimated counts of known names at this step, decoded together.

        The heavy names of the list are taken out of each other's cells, and every name is estimated
        from what is left. The more of the stream the names have, the smaller the errors; where
        taking names out does not make them smaller, and for more names than cells, the estimates
        are those of :meth:`estimate_many`.

        Guarantee: post-processing; neither clipped nor rounded. The estimate of a name depends on
        the list, but not on its order, nor on names that are listed twice.

        Args:
            items: Arrow data, a numpy array or an iterable of items, chosen without knowledge of
                the hash seed: a public list, or names from discovery.
            column: the name of the column, for a table with several columns.

        Returns:
            float64 array, in the order of the items.

        Raises:
            ArgumentTypeError: a single str, bytes or dict; several columns without ``column``.
            ItemError: an invalid item; the message gives its position.

        Source: docs/estimators.md#known-names.
        """
        return self._native.decode(self._errors, items, column)

    def interval(self, item: object, *, confidence: float = 0.95, at: At = "now") -> Interval:
        """Return an estimate of one item's count with an interval that covers it.

        Guarantee: for an item chosen before the hash seed was drawn, and for the count at the
        last pushes of the item's columns (``at="published"``), the interval covers with at least
        ``confidence``, for every stream: ``low`` is at most the count at the latest of these
        pushes, ``high`` at least the count at the earliest. With ``at="now"`` it covers the count
        at this step, if the item has since arrived at about its published rate (at 95 %: at most
        twice that rate).

        Args:
            item: any item; an index for counters.
            confidence: above 0 and below 1.
            at: ``"now"`` or ``"published"``; without lag they are the same.

        Returns:
            The estimate (that of :meth:`estimate`, within the interval), both ends, and what they
            refer to.

        Raises:
            ItemError: not a valid item.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/intervals.md.
        """
        level, moment = checked_confidence(confidence), checked_at(at)
        side = level_of(level, among=None)
        estimate, low, high = self._native.interval(
            self._errors, item, level=side, deviations=deviations_of(side), now=moment == "now"
        )
        if self._default != "joint":
            estimate = max(self._native.estimate(item), 0.0)
        return Interval(estimate, min(low, estimate), max(high, estimate), level, moment)

    def interval_many(
        self,
        items: object,
        *,
        confidence: float = 0.95,
        at: At = "now",
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
        level, moment = checked_confidence(confidence), checked_at(at)
        columns, flipped = self._native.cells_many(items, column)
        if among is not None or simultaneous:
            given = max(len(columns), 1)
            most = given if among is None else among
            among = checked_integer("among", most, least=given, most=LARGEST_CHOICE)
        places = columns.astype(np.int64)
        cells = self._table[np.arange(self.depth), places].astype(np.float64)
        side = level_of(level, among=among)
        values = np.where(flipped, -cells, cells)
        estimate, low, high = self._errors.intervals(
            values,
            places,
            level=side,
            deviations=deviations_of(side),
            now=moment == "now",
        )
        if self._default != "joint" and len(values):
            least = self._default == "minimum"
            estimate = values.min(axis=1) if least else np.median(values, axis=1)
            estimate = np.maximum(estimate, 0.0)
            low, high = np.minimum(low, estimate), np.maximum(high, estimate)
        return Intervals(estimate, low, high, level, moment, among is not None)

    def _estimates_of_list(self, items: Sized, *, most: int = 2**62) -> Array:
        """Return estimates of a whole list of known names, decoded together if they are few.

        Exact tables, whose estimates are the paper's, are not decoded.
        """
        if self._default == "joint" and len(items) <= min(self.depth * self.width, most):
            return self.decode(items)
        return self.estimate_many(items)

    def _intervals_of_list(
        self, items: Sized, *, confidence: float, among: int | None, at: At = "now"
    ) -> Intervals:
        """Return intervals of a whole list of known names, around its decoded estimates."""
        found = self.interval_many(items, confidence=confidence, at=at, among=among)
        return found.around(self._estimates_of_list(items)) if at == "now" else found

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
    def _errors(self) -> _native.ErrorModel:
        return error_model(
            self._table,
            kind=self._native.kind,
            published_steps=self._published_steps,
            noise_variance=self._noise_variance,
            step=self.step,
            max_weight=max(part.privacy.max_weight for part in self._parts),
        )

    @cached_property
    def _default(self) -> Estimator:
        """The estimator of exact counts is the paper's: their minimum never underestimates."""
        if any(part.mechanism is not None for part in self._parts):
            return "joint"
        return "median" if self.kind == "count-sketch" else "minimum"

    def _require_count_sketch(self, name: str) -> None:
        if self.kind != "count-sketch":
            raise ArgumentValueError(
                f"{name}: expected a release of a Count Sketch, got one of {self.kind}"
            )
