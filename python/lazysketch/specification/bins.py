"""Public bins of a numeric value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from lazysketch.arguments import checked_integer, checked_number
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import converted, plain_sequence
from lazysketch.specification.value_tree import MOST_BINS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

__all__ = ["Bins", "checked_edges"]

_MOST_EDGES: Final = MOST_BINS - 1
_NUMBER: Final = 1022  # with those below and above it is a power of two


@dataclass(frozen=True)
class Bins:
    """Bins of a numeric value, between public edges.

    Edges e_0 < e_1 < ... < e_m make m + 2 bins: below e_0, from each edge up to the next, which it
    does not contain, and from e_m on. So every number has a bin. Edges must not depend on the
    values that are counted, except through private results.

    Args:
        edges: finite numbers that rise, 1 to 16,383 of them.

    Raises:
        ArgumentTypeError: not numbers.
        ArgumentValueError: edges that do not rise, are not finite, or too many.

    Source: docs/distribution.md.

    Example:
        >>> bins = Bins([0, 10, 100])
        >>> bins.edges, bins.number
        ((0.0, 10.0, 100.0), 4)
        >>> Bins.linear(0, 60, number=6).edges
        (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
        >>> Bins.logarithmic(1, 1000, number=3).edges
        (1.0, 10.0, 100.0, 1000.0)
    """

    edges: tuple[float, ...] = field(repr=False)

    def __init__(self, edges: Iterable[float]) -> None:
        """Check the edges."""
        object.__setattr__(self, "edges", checked_edges(edges))

    @classmethod
    def linear(cls, low: float, high: float, *, number: int = _NUMBER) -> Self:
        """Return bins of one width between two values, and one below and one above.

        Args:
            low: the lowest edge, finite.
            high: the highest edge, above it.
            number: bins between them, 1 to 16,382; 1,022 by default.

        Returns:
            The bins.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or too many bins for floats to tell them
                apart.
        """
        first, last, count = _range_of(low, high, number)
        return cls(first + (last - first) * (place / count) for place in range(count + 1))

    @classmethod
    def logarithmic(cls, low: float, high: float, *, number: int = _NUMBER) -> Self:
        """Return bins whose edges have one ratio, and one below and one above.

        Args:
            low: the lowest edge, above 0.
            high: the highest edge, above it.
            number: bins between them, 1 to 16,382; 1,022 by default.

        Returns:
            The bins.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or too many bins for floats to tell them
                apart.
        """
        first, last, count = _range_of(low, high, number)
        if first <= 0.0:
            raise ArgumentValueError(f"low: expected a number above 0, got {first:g}")
        ratio = math.log(last / first) if math.isfinite(last / first) else math.inf
        if not math.isfinite(ratio):
            raise ArgumentValueError("high: expected a finite ratio to low, got a larger one")
        inner = (first * math.exp(ratio * (place / count)) for place in range(1, count))
        return cls([first, *(_rounded(edge) for edge in inner), last])

    @property
    def number(self) -> int:
        """Number of bins, with the first and the last, which are open."""
        return len(self.edges) + 1

    def __repr__(self) -> str:
        low, high = self.edges[0], self.edges[-1]
        return f"<Bins: {self.number:,}, {len(self.edges):,} edges from {low:g} to {high:g}>"


def checked_edges(edges: object) -> tuple[float, ...]:
    """Return edges as plain floats, or raise.

    Args:
        edges: value of the argument ``edges``.

    Returns:
        Finite floats that rise.

    Raises:
        ArgumentTypeError: not numbers.
        ArgumentValueError: edges that do not rise, are not finite, or too many.

    Example:
        >>> checked_edges([1, 2.5])
        (1.0, 2.5)
    """
    wanted = f"1 to {_MOST_EDGES:,} finite numbers that rise"
    plain = edges if isinstance(edges, np.ndarray) else _listed(edges, wanted)
    array = converted("edges", plain)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ArgumentTypeError(f"edges: expected {wanted}, got others")
    values = array.astype(np.float64)
    if not 1 <= len(values) <= _MOST_EDGES:
        raise ArgumentValueError(f"edges: expected {wanted}, got {len(values):,}")
    if not np.isfinite(values).all() or not (np.diff(values) > 0.0).all():
        raise ArgumentValueError(f"edges: expected {wanted}, got some that do not")
    return tuple(values.tolist())


def _listed(edges: object, wanted: str) -> list[object]:
    found = plain_sequence("edges", edges, most=_MOST_EDGES)
    if found is None:
        raise ArgumentTypeError(f"edges: expected {wanted}, got {type(edges).__name__}")
    return found


def _range_of(low: object, high: object, number: object) -> tuple[float, float, int]:
    wanted = "a finite number"
    first, last = (
        checked_number(name, value, wanted=wanted) for name, value in (("low", low), ("high", high))
    )
    for name, value in (("low", first), ("high", last)):
        if not math.isfinite(value):
            raise ArgumentValueError(f"{name}: expected {wanted}, got {value}")
    if not first < last or not math.isfinite(last - first):
        raise ArgumentValueError(f"high: expected a number above low, {first:g}, got {last:g}")
    return first, last, checked_integer("number", number, most=_MOST_EDGES - 1)


def _rounded(edge: float) -> float:
    """Return an edge with 15 digits: whole powers are then whole."""
    return float(f"{edge:.15g}")
