"""Queries of a public table: counts with intervals, moments, and the distribution of its noise.

Estimates and intervals first estimate the errors of the cells from the whole table: one pass, kept
for later queries, each of which then takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

import numpy as np
import numpy.typing as npt

from lazysketch import _native
from lazysketch.arguments import check_bools, checked_integer
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, MergeError
from lazysketch.estimation.error_model import deviations_of, level_of
from lazysketch.estimation.estimators import Estimator
from lazysketch.estimation.intervals import (
    At,
    Interval,
    Intervals,
    checked_at,
    checked_confidence,
)
from lazysketch.estimation.moments import Moment, inner_product, second_moment
from lazysketch.estimation.peeling import Cells, PeeledTable
from lazysketch.releases.decoded_list import DecodedList
from lazysketch.releases.table_facts import FactsOfOneTable

__all__ = ["PublicTable"]

Array = npt.NDArray[np.float64]

LARGEST_CHOICE: Final = 2**40
_FEW: Final = 2_000  # items of a list, each of which takes a millisecond if the list is known


class PublicTable(FactsOfOneTable):
    """Queries of a release; base class of :class:`lazysketch.Release`."""

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

        Example:
            >>> import lazysketch as ls
            >>> sketch = ls.LazyCountMin(depth=4, width=64, epsilon=10.0, delta=1e-6, horizon=3000)
            >>> sketch.update_many(["/a", "/a", "/b"] * 1000)
            >>> sketch.release().estimate_many(["/b", "/a", "/never"]).round(-2) + 0.0
            array([1000., 2000.,    0.])
        """
        chosen = self._default if estimator is None else estimator
        return self._native.estimate_many_by(self._errors, items, column, estimator=chosen, at=at)

    def decode(self, items: object, *, column: str | None = None) -> npt.NDArray[np.float64]:
        """Return the estimated counts of known names at this step, decoded together.

        The heavy names of the list are taken out of each other's cells, and every name is estimated
        from what is left. The more of the stream the names have, the smaller the errors. Of more
        names than cells, those are taken out that have certainly occurred; so names that never
        occurred are not mistaken for a part of them. Where taking names out does not make the
        errors smaller, the estimates are those of :meth:`estimate_many`.

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

        Example:
            >>> import lazysketch as ls
            >>> sketch = ls.LazyCountMin(depth=4, width=64, epsilon=10.0, delta=1e-6, horizon=3000)
            >>> sketch.update_many(["/a", "/a", "/b"] * 1000)
            >>> sketch.release().decode(["/a", "/b"]).round(-2)  # all names that are known
            array([2000., 1000.])
        """
        cells = self._native.cells_many(items, column)
        return self._peeled(cells).estimates(cells)

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
        if self._is_exact:
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
        known: object = None,
        column: str | None = None,
    ) -> Intervals:
        """Return estimates and intervals of many items, in order.

        Guarantee: as :meth:`interval`, for each item. With ``simultaneous`` the confidence holds
        for all intervals together; with ``among`` it holds for all items from which these were
        selected, so the selection may depend on the release. With ``known`` it also needs that
        this list was chosen before the hash seed was drawn, or by discovery.

        Args:
            items: Arrow data, a numpy array or an iterable of items.
            confidence: above 0 and below 1.
            at: ``"published"`` or ``"now"``.
            simultaneous: True to cover all counts together.
            among: number of items from which these were selected, such as the length of the list
                whose heaviest they are; at least the number of ``items``.
            known: a public list of names, with the items or without. The heavy ones are taken out
                of each other's cells first: estimates are those of :meth:`decode`, and intervals
                are narrower, those of long lists several times. It takes about a millisecond per
                item, and has no effect with ``at="published"``.
            column: the name of the column, for a table with several columns.

        Returns:
            Arrays of estimates, lower ends and upper ends.

        Raises:
            ItemError: an invalid item; the message gives its position.
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range.

        Source: docs/intervals.md.
        """
        check_bools(simultaneous=simultaneous)
        level, moment = checked_confidence(confidence), checked_at(at)
        cells = self._native.cells_many(items, column)
        if among is not None or simultaneous:
            given = max(len(cells[0]), 1)
            most = given if among is None else among
            among = checked_integer("among", most, least=given, most=LARGEST_CHOICE)
        names = None if known is None else self._native.cells_many(known, column)
        if names is None or self._is_exact or moment != "now":
            return self._intervals(cells, level, moment, among=among)
        peeled = self._peeled(names)
        estimates = peeled.estimates(cells)
        return self._intervals(
            cells, level, moment, among=among, peeled=peeled, estimates=estimates
        )

    def _heaviest(
        self, items: Sized, *, n: int, confidence: float, at: At = "now"
    ) -> tuple[list[int], Intervals]:
        """Return the places of the largest estimates in a public list, ties in its order.

        The intervals cover simultaneously with those of the whole list: the largest estimates
        among many items that never occurred are those with the largest noise.
        """
        listed, taken = self._decoded(items, at=at), n
        among = max(len(listed), 1)

        def of(places: npt.NDArray[np.intp], estimates: Array) -> Intervals:
            cells, peeled = listed.cells_of(places), listed.peeled
            return self._intervals(
                cells, confidence, at, among=among, peeled=peeled, estimates=estimates
            )

        while True:
            places, decoded = listed.heaviest(taken + 1)
            rest = np.maximum(decoded[taken:], 0.0)
            places, decoded = places[:taken], decoded[:taken]
            found = of(places, decoded)
            # An estimate can only be lowered, to the end of its interval: what follows has no more.
            shown = np.maximum(found.estimate, 0.0)
            best = np.lexsort((places, -shown))[:n]
            if len(rest) == 0 or shown[best[-1]] >= rest[0]:
                break
            taken *= 2
        if not np.array_equal(best, np.arange(len(places))):
            places, found = places[best], of(places[best], decoded[best])
        return places.tolist(), found

    def _decoded(self, items: Sized, *, at: At = "now") -> DecodedList:
        """Return a public list, whose items are decoded together."""
        cells = self._native.cells_many(items)
        if at == "now" and not self._is_exact:
            return DecodedList(cells, self._peeled(cells))
        return DecodedList(cells, None, self.estimate_many(items, at=at))

    def _intervals_of_list(
        self,
        items: Sized,
        *,
        confidence: float,
        among: int | None,
    ) -> Intervals:
        """Return intervals of a whole list of known names, around its decoded estimates."""
        listed = self._decoded(items)
        places = np.arange(len(listed))
        return self._intervals_of_places(listed, places, confidence=confidence, among=among)

    def _intervals_of_places(
        self,
        listed: DecodedList,
        places: npt.NDArray[np.intp],
        *,
        confidence: float,
        among: int | None,
    ) -> Intervals:
        """Return intervals of some items of a list, as those of the whole list have them."""
        level = checked_confidence(confidence)
        cells = listed.cells_of(places)
        # A name is not taken out of its own cells.
        tested = listed.peeled if 1 < len(listed) <= _FEW else None
        found = self._intervals(cells, level, "now", among=among, peeled=tested)
        return found if listed.peeled is None else found.around(listed.estimates_of(places))

    def _intervals(
        self,
        cells: Cells,
        confidence: float,
        at: At,
        *,
        among: int | None,
        peeled: PeeledTable | None = None,
        estimates: Array | None = None,
    ) -> Intervals:
        columns, flipped = cells
        side, together = level_of(confidence, among=among), among is not None
        places = columns.astype(np.int64)
        released = self._errors.values(places)
        values = np.where(flipped, -released, released)
        estimate, low, high = self._errors.intervals(
            values,
            places,
            level=side,
            deviations=deviations_of(side),
            now=at == "now",
        )
        if self._is_exact and len(values):
            least = self._default == "minimum"
            estimate = values.min(axis=1) if least else np.median(values, axis=1)
            estimate = np.maximum(estimate, 0.0)
            low, high = np.minimum(low, estimate), np.maximum(high, estimate)
        if estimates is not None:
            # A rate that is mostly noise can predict more than the steps since then can bring.
            estimate = np.minimum(estimates, high)
        if peeled is not None and at == "now":
            ends = peeled.ends(cells, level=side, max_weight=self._max_weight)
            if ends is not None:
                low, high = ends
        found = Intervals(estimate, low, high, confidence, at, together)
        return found.around(estimate)

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

        Example:
            >>> import lazysketch as ls
            >>> sketch = ls.LazyCountSketch(
            ...     depth=5, width=256, epsilon=10.0, delta=1e-6, hash_seed=7
            ... )
            >>> sketch.update_many(["/a"] * 3000 + ["/b"] * 4000)
            >>> sketch.finish()
            >>> moment = sketch.release().second_moment()
            >>> 4900 < moment.estimate ** 0.5 < 5100  # the root of 3000^2 + 4000^2 is 5000
            True
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

    def _require_count_sketch(self, name: str) -> None:
        if self.kind != "count-sketch":
            raise ArgumentValueError(
                f"{name}: expected a release of a Count Sketch, got one of {self.kind}"
            )
