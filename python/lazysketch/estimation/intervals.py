"""Confidence intervals of true counts, from a public table.

A count at the last pushes of the item's columns differs from a released row by collisions and
noise only. The core tests every count by the likelihood of the errors that it leaves, at a level
that comes from ranks in the table, without a model of the stream. A count at this step differs
further by the events since the last pushes: the lag, which the item's own published rate predicts.

Costs some milliseconds per table and confidence, and microseconds per item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from lazysketch.arguments import checked_real, shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.result_tables import MOST_ROWS, arrow_stream, html_table

__all__ = ["At", "Interval", "Intervals", "checked_at", "checked_confidence"]

Array = npt.NDArray[np.float64]
At: TypeAlias = Literal["published", "now"]


@dataclass(frozen=True)
class Interval:
    """Estimate of one count, with an interval that contains it.

    Guarantee: see :meth:`lazysketch.Release.interval`.

    Attributes:
        estimate: the count, within the interval.
        low: lower end, at least 0.
        high: upper end; infinite if the table gives no bound.
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
        """Distance between the ends."""
        return self.high - self.low

    def __contains__(self, count: float) -> bool:
        return self.low <= count <= self.high


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of many items, in the order of the items.

    Guarantee: see :meth:`lazysketch.Release.interval_many`.

    Attributes:
        estimate: float64 of shape (items,).
        low: lower ends, float64 of shape (items,).
        high: upper ends, float64 of shape (items,).
        confidence: probability with which each interval covers, or all of them together.
        at: ``"published"`` or ``"now"``.
        simultaneous: True if the confidence holds for all intervals together.
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

    def around(self, estimate: Array) -> Intervals:
        """Return the intervals with other estimates, grown to contain them: so they stay valid.

        Args:
            estimate: float64 of shape (items,); 0 replaces what is below.

        Returns:
            Intervals of the same counts, confidence and time.
        """
        shown = np.maximum(estimate, 0.0)
        low, high = np.minimum(self.low, shown), np.maximum(self.high, shown)
        return replace(self, estimate=shown, low=low, high=high)

    def to_dict(self) -> dict[str, list[float]]:
        """Return estimates and ends as columns.

        Returns:
            ``estimate``, ``low`` and ``high``; ``pandas.DataFrame`` takes it.
        """
        return {name: getattr(self, name).tolist() for name in ("estimate", "low", "high")}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export estimates and ends through the Arrow PyCapsule interface.

        Args:
            requested_schema: a schema that the reader prefers.

        Returns:
            A capsule of an Arrow stream.

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        columns = self.to_dict()
        return arrow_stream(columns, dict.fromkeys(columns, "float"), requested_schema)

    def _repr_html_(self) -> str:
        shown = {name: column[:MOST_ROWS] for name, column in self.to_dict().items()}
        together = "simultaneous " if self.simultaneous else ""
        caption = f"{together}{100.0 * self.confidence:g}% confidence intervals, at={self.at!r}"
        return html_table(shown, rows=len(self), caption=caption)


def checked_at(at: object) -> At:
    """Return the step that an interval refers to, checked.

    Args:
        at: ``"published"`` or ``"now"``.

    Returns:
        The same.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: any other string.
    """
    wanted = " or ".join(repr(known) for known in get_args(At))
    if not isinstance(at, str):
        raise ArgumentTypeError(f"at: expected {wanted}, got {type(at).__name__}")
    if at not in get_args(At):
        raise ArgumentValueError(f"at: expected {wanted}, got {shown(at)}")
    return cast(At, at)


def checked_confidence(confidence: object) -> float:
    """Return a confidence level, checked.

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
