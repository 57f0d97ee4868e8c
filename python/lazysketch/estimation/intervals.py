"""Intervals that cover true counts, from a public table.

A count at the last pushes of the item's columns differs from a released row by collisions and
noise only, and the order statistics of :mod:`.order_statistics` bound both by ranks in the table:
no model of the stream enters. A count at this step differs further by what has happened since:
the lag, which the item's own published rate predicts.

Costs some milliseconds per table, and microseconds per item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.estimation.error_distribution import ErrorLaw
from lazysketch.estimation.estimators import BEST_ESTIMATOR, Readings, estimates
from lazysketch.estimation.lag import Lag
from lazysketch.estimation.order_statistics import error_above, error_below, ranks
from lazysketch.privacy.relations import checked_real

__all__ = ["At", "Interval", "Intervals", "checked_at", "checked_confidence", "intervals"]

Array = npt.NDArray[np.float64]
At: TypeAlias = Literal["published", "now"]


@dataclass(frozen=True)
class Interval:
    """An estimate of one count with an interval around it.

    Guarantee: see :meth:`lazysketch.Release.interval`.

    Attributes:
        estimate: the count, within the interval.
        low: lower end, at least 0.
        high: upper end; infinite where the table tells nothing.
        confidence: probability with which the interval covers.
        at: ``"published"`` for the count at the last pushes, ``"now"`` for this step.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    at: At

    @property
    def width(self) -> float:
        """Distance of the ends."""
        return self.high - self.low

    def __contains__(self, count: float) -> bool:
        return self.low <= count <= self.high


@dataclass(frozen=True, eq=False)
class Intervals:
    """The intervals of many items, in order.

    Guarantee: see :meth:`lazysketch.Release.interval_many`.

    Attributes:
        estimate: float64 of shape (items,).
        low: lower ends, float64 of shape (items,).
        high: upper ends, float64 of shape (items,).
        confidence: probability with which each interval covers, or all of them together.
        at: ``"published"`` or ``"now"``.
        simultaneous: True if the confidence is that all cover.
    """

    estimate: Array
    low: Array
    high: Array
    confidence: float
    at: At
    simultaneous: bool

    def __len__(self) -> int:
        return len(self.estimate)

    def __getitem__(self, position: int) -> Interval:
        return Interval(
            estimate=float(self.estimate[position]),
            low=float(self.low[position]),
            high=float(self.high[position]),
            confidence=self.confidence,
            at=self.at,
        )

    def __iter__(self) -> Iterator[Interval]:
        return (self[position] for position in range(len(self)))


def checked_at(at: object) -> At:
    """Return what an interval speaks of.

    Args:
        at: ``"published"`` or ``"now"``.

    Returns:
        The same.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: another one.
    """
    wanted = " or ".join(repr(known) for known in get_args(At))
    if not isinstance(at, str):
        raise ArgumentTypeError(f"at: expected {wanted}, got {type(at).__name__}")
    if at not in get_args(At):
        raise ArgumentValueError(f"at: expected {wanted}, got {at[:40]!r}")
    return cast(At, at)


def checked_confidence(confidence: object) -> float:
    """Return a confidence level.

    Args:
        confidence: above 0 and below 1.

    Returns:
        The same, as a float.

    Raises:
        ArgumentTypeError: not a number.
        ArgumentValueError: outside its range.
    """
    level = checked_real("confidence", confidence)
    if level >= 1.0:
        raise ArgumentValueError(
            f"confidence: expected a number above 0 and below 1, got {level:g}"
        )
    return level


def intervals(
    readings: Readings, lag: Lag, *, confidence: float, at: At, among: int | None = None
) -> Intervals:
    """Return the intervals of items.

    Args:
        readings: their cells.
        lag: how long these have been waiting.
        confidence: above 0 and below 1.
        at: which count to cover.
        among: how many counts are covered together, by the union bound; None for each by itself.

    Returns:
        The intervals, in order.

    Source: docs/intervals.md.
    """
    side = (1.0 - confidence) / 2.0
    point = estimates(readings, BEST_ESTIMATOR)
    estimate, low, high = _of_each(readings, point, lag, side=side, at=at)
    if among is not None and among > 1:
        # What is estimated does not depend on how many others there are, only how surely.
        _, low, high = _of_each(readings, point, lag, side=side / among, at=at)
        estimate = np.clip(estimate, low, high)
    return Intervals(estimate, low, high, confidence, at, among is not None)


def _of_each(
    readings: Readings, point: Array, lag: Lag, *, side: float, at: At
) -> tuple[Array, Array, Array]:
    """Return estimates and ends, each of which fails with probability ``side``."""

    def ends(values: Array, laws: list[ErrorLaw]) -> tuple[Array, Array]:
        below, above = ranks(values.shape[1], signed=readings.signed)
        ordered = np.sort(values, axis=1)
        # A count is the statistic less its error.
        low = ordered[:, below] - error_above(laws, below, side)
        high = ordered[:, above] - error_below(laws, above, side)
        return low, high

    low, high = readings.by_pattern(ends, outputs=2)
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    estimate = np.clip(point, low, high)
    return (estimate, low, high) if at == "published" else _now(estimate, low, high, lag, side)


def _now(
    estimate: Array, low: Array, high: Array, lag: Lag, side: float
) -> tuple[Array, Array, Array]:
    """Return estimate and interval of the counts at this step."""
    deviations = NormalDist().inv_cdf(1.0 - side)
    # Each end moves on at its own rate, and its distance grows as that of independent errors.
    least = lag.arrivals(low, lag.shortest)
    downward = np.hypot(estimate - low, deviations * lag.deviation(least))
    known = np.isfinite(high)
    finite = np.where(known, high, 0.0)
    most = lag.arrivals(finite, lag.longest)
    upward = np.hypot(finite - estimate, deviations * lag.deviation(most))
    # Rigorous: counts never fall, and a step adds at most the largest weight.
    upper = np.minimum(estimate + most + upward, finite + lag.longest * lag.max_weight)
    upper = np.where(lag.last > 0, upper, float(lag.step) * lag.max_weight)
    lower = np.maximum(estimate + least - downward, low)
    upper = np.where(known, upper, high)
    # A rate that is noise can promise more than the steps since then have room for.
    lower = np.minimum(lower, upper)
    return np.clip(lag.compensated(estimate), lower, upper), lower, upper
