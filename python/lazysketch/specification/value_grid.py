"""Values as integers: clipped to public bounds, rounded to a public grid, counted from its middle.

Counted from the middle, a value is at most half the range away; from zero or from the lower bound
it may be the whole range. The integers are 2 k - n for grid point k of 0 to n, so that the middle
is 0 also between two grid points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from lazysketch.arguments import checked_number
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import converted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

__all__ = ["ValueGrid", "plain_values"]

_MOST_STEPS: Final = 2**24
_KINDS: Final = {"U": "text", "S": "bytes", "b": "bool", "c": "complex numbers", "M": "times"}
_MOST_LISTED: Final = 2**24  # values of an iterable, which may never end
_USUAL_STEPS: Final = 2**16
_FLOATS: Final = 2**12  # floats in half a step: their rounding is far below that of the grid
_WHOLE: Final = 1e-9  # relative error of a number of steps that counts as whole
_SLACK: Final = 1e-3  # of half a step, for the rounding of floats


@dataclass(frozen=True)
class ValueGrid:
    """The integers that stand for values; made by :meth:`of`.

    Attributes:
        low: values below count as this one.
        high: values above count as this one.
        steps: number of grid steps between them, the largest absolute integer.
        is_exact: True if the caller chose the grid: a sum is one of rounded values.
    """

    low: float
    high: float
    steps: int
    is_exact: bool

    @classmethod
    def of(cls, low: object, high: object, step: object = None) -> ValueGrid:
        """Return the grid between two bounds.

        Args:
            low: lower bound, finite.
            high: upper bound, finite, above it.
            step: distance of grid points, of which a whole number fits, at most 2^24; None for
                2^16 of them, and intervals that cover what the rounding to them leaves out.

        Returns:
            The grid.

        Raises:
            ArgumentTypeError: not numbers.
            ArgumentValueError: outside their range.

        Example:
            >>> ValueGrid.of(0, 10, 1).steps
            10
        """
        least = checked_number("low", low, wanted="a finite number")
        most = checked_number("high", high, wanted="a finite number")
        for name, bound in (("low", least), ("high", most)):
            if not math.isfinite(bound):
                raise ArgumentValueError(f"{name}: expected a finite number, got {bound:g}")
        if not (least < most and math.isfinite(most - least)):
            raise ArgumentValueError(f"high: expected a number above low = {least:g}, got {most:g}")
        if step is None:
            steps, is_exact = _USUAL_STEPS, False
        else:
            steps, is_exact = _steps_of(most - least, step), True
        grid = cls(low=least, high=most, steps=steps, is_exact=is_exact)
        if grid.unit < _FLOATS * math.ulp(max(abs(least), abs(most))):
            raise ArgumentValueError(
                f"high: expected a range that floats can divide into {steps:,} steps, got "
                f"{least:g} to {most:g}"
            )
        return grid

    @property
    def middle(self) -> float:
        """The value that counts as 0."""
        return self.low + (self.high - self.low) / 2.0

    @property
    def unit(self) -> float:
        """The value of the integer 1: half a step."""
        return (self.high - self.low) / (2.0 * self.steps)

    @property
    def rounding(self) -> float:
        """How far a clipped value may be from its grid point; 0 for a grid of the caller."""
        return 0.0 if self.is_exact else self.unit * (1.0 + _SLACK)

    def integers(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the integers that stand for values.

        Guarantee: each is from ``-steps`` to ``steps``, whatever the values are.

        Args:
            values: float64, no NaN.

        Returns:
            int64 of the same shape.
        """
        clipped = np.clip(values, self.low, self.high)
        points = np.rint((clipped - self.low) / (2.0 * self.unit)).astype(np.int64)
        return np.clip(2 * points - self.steps, -self.steps, self.steps)

    def weights(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        """Return :meth:`integers` as the core takes them: signs in two's complement.

        Args:
            values: float64, no NaN.

        Returns:
            uint64 of the same shape.
        """
        return self.integers(values).view(np.uint64)


def plain_values(values: object) -> npt.NDArray[np.float64]:
    """Return numbers as a new float64 array.

    Args:
        values: an array, a column of Arrow data, or an iterable of numbers.

    Returns:
        One dimension.

    Raises:
        ArgumentTypeError: not numbers.
        ArgumentValueError: NaN or a null; the message gives the position.
    """
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(
            f"values: expected a sequence of numbers, got {type(values).__name__}"
        )
    given = converted(
        "values", values if _is_array(values) else _listed(cast("Iterable[object]", values))
    )
    if given is None:
        raise ArgumentTypeError("values: expected numbers, got other objects")
    if given.size == 0:
        given = given.astype(np.float64)
    if given.dtype.kind not in "iuf":
        got = _KINDS.get(given.dtype.kind, "other objects")
        raise ArgumentTypeError(f"values: expected numbers, got {got}")
    if given.ndim != 1:
        raise ArgumentTypeError(f"values: expected one dimension, got {given.ndim}")
    numbers = given.astype(np.float64)
    unknown = np.isnan(numbers)
    if unknown.any():
        place = int(np.argmax(unknown))
        raise ArgumentValueError(
            f"values at position {place}: expected a number, got NaN; nothing was applied"
        )
    return numbers


def _is_array(values: object) -> bool:
    readable = ("__array__", "__arrow_c_array__", "__arrow_c_stream__")
    return any(hasattr(values, name) for name in readable)


def _listed(values: Iterable[object]) -> list[object]:
    try:
        return listed("values", values, most=_MOST_LISTED)
    except (MemoryError, OSError):
        raise
    except Exception:  # of the caller's class
        raise ArgumentTypeError("values: expected numbers, got other objects") from None


def _steps_of(span: float, step: object) -> int:
    distance = checked_number("step", step, wanted="a number above 0")
    if not 0.0 < distance <= span:
        raise ArgumentValueError(
            f"step: expected a number above 0 and at most high - low = {span:g}, got {distance:g}"
        )
    steps = round(span / distance)
    if abs(steps * distance - span) > _WHOLE * span or steps > _MOST_STEPS:
        raise ArgumentValueError(
            f"step: expected a part of high - low = {span:g} of which a whole number fits, at most "
            f"2^24, got {distance:g}"
        )
    return steps
