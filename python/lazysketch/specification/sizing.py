"""Depth and width of a sketch, given directly or derived from the wanted error.

Computes the smallest tables for which the classical theorems hold, by exact arithmetic on a few
rationals; no table is allocated. Prefer ``depth`` and ``width`` when the memory is fixed, the error
when the accuracy is. The theorems bound collisions only; noise and lag add to their error.

Buckets come from 32 bits of a hash that is uniform and pairwise independent, so two items share one
of ``width`` buckets with probability at most ``ceil(2^32 / width) / 2^32`` =: p, slightly above
1 / width. Widths follow the textbook; depths are the smallest that satisfy the theorem with p for
1 / width.

Sources: G. Cormode and S. Muthukrishnan, 2005, Theorem 1 (Count-Min); M. Charikar, K. Chen and
M. Farach-Colton, 2002 (Count Sketch), with Chebyshev's inequality per row and the exact binomial
tail for the median.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, Literal, TypeAlias, cast, get_args

from lazysketch.arguments import checked_choice, checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.relations import LARGEST_DEPTH

__all__ = [
    "LARGEST_CELLS",
    "LARGEST_DEPTH",
    "LARGEST_WIDTH",
    "SketchKind",
    "checked_size",
    "checked_sketch_kind",
    "size_of",
]

SketchKind: TypeAlias = Literal["count-min", "count-sketch"]

LARGEST_WIDTH: Final = 2**24
LARGEST_CELLS: Final = 2**28
_HASH_RANGE: Final = 2**32
# One ulp below the nearest double of 1/e, hence below 1/e.
_INVERSE_E: Final = Fraction(math.nextafter(math.exp(-1.0), 0.0))
_ONE: Final = 2**64  # probabilities of a row are integers in units of 2^-64
# Width times relative_error^2. With 4 a row fails with probability 1/4; wider rows are used only
# where 63 such rows cannot reach the wanted failure probability.
_WIDTH_FACTORS: Final = (4, 8, 16, 32)


def size_of(
    kind: SketchKind,
    *,
    depth: int | None = None,
    width: int | None = None,
    relative_error: float | None = None,
    failure_probability: float | None = None,
) -> tuple[int, int]:
    """Return (depth, width), as given or as the theorems require.

    Guarantee: when sizes are derived, the collision error of one estimate at one fixed time, for an
    item fixed before the hash seed is drawn, exceeds ``relative_error`` times the total weight
    (Count-Min), or times the Euclidean norm of the other items' counts (Count Sketch), with
    probability at most ``failure_probability``. For Count Sketch the sign of an item must be drawn
    independently of its bucket.

    Args:
        kind: ``"count-min"`` or ``"count-sketch"``.
        depth: rows, 1 to 64; together with ``width``.
        width: buckets per row, 1 to 2^24; depth * width is at most 2^28.
        relative_error: above 0 and below 1; together with ``failure_probability``.
        failure_probability: above 0 and below 1.

    Returns:
        (depth, width) as Python integers.

    Raises:
        ArgumentTypeError: a wrong type, both ways mixed, one given by half, or neither.
        ArgumentValueError: a value outside its range, or a table above the limits.

    Source: Count-Min: width = ceil(e / relative_error), depth =
    ceil(ln(1 / failure_probability)), with q = p / relative_error for 1/e. Count
    Sketch: width = ceil(4 / relative_error^2), so that a row fails with
    probability q = p / relative_error^2, about 1/4, by Chebyshev, and the
    smallest odd depth with P(Bin(depth, q) >= (depth + 1) / 2) <=
    failure_probability; where 63 rows do not suffice, 8, 16 or 32 for the 4.

    Example:
        >>> size_of("count-min", depth=4, width=4096)
        (4, 4096)
        >>> size_of("count-min", relative_error=0.001, failure_probability=0.01)
        (5, 2719)
        >>> size_of("count-sketch", relative_error=0.05, failure_probability=0.05)
        (9, 1600)
    """
    kind = checked_sketch_kind(kind)
    if _sizes_given(depth, width, relative_error, failure_probability):
        return checked_size(depth, width)
    error = Fraction(_checked_fraction("relative_error", relative_error))
    failure = Fraction(_checked_fraction("failure_probability", failure_probability))
    derive = _count_min_size if kind == "count-min" else _count_sketch_size
    return checked_size(*derive(error, failure))


def checked_sketch_kind(value: object) -> SketchKind:
    """Return the kind of a sketch, or raise.

    Args:
        value: value of the argument ``kind``.

    Returns:
        The kind.

    Raises:
        ArgumentTypeError: not a str.
        ArgumentValueError: another str.

    Example:
        >>> checked_sketch_kind("count-sketch")
        'count-sketch'
    """
    return cast(SketchKind, checked_choice("kind", value, get_args(SketchKind)))


def _sizes_given(
    depth: object, width: object, relative_error: object, failure_probability: object
) -> bool:
    """Return True for sizes and False for errors; raise unless exactly one pair is complete."""
    sizes = {"depth": depth, "width": width}
    errors = {"relative_error": relative_error, "failure_probability": failure_probability}
    given = {name: value is not None for name, value in {**sizes, **errors}.items()}
    found = ", ".join(name for name, present in given.items() if present)
    some_size, some_error = any(given[n] for n in sizes), any(given[n] for n in errors)
    if some_size and some_error:
        raise ArgumentTypeError(
            "depth, width: expected either both of these or both of relative_error and "
            f"failure_probability, got a mix: {found}"
        )
    if not (some_size or some_error):
        raise ArgumentTypeError(
            "depth, width: expected both, or relative_error and failure_probability, got neither"
        )
    missing = [name for name in (sizes if some_size else errors) if not given[name]]
    if missing:
        raise ArgumentTypeError(f"{missing[0]}: expected a value together with {found}, got None")
    return some_size


def _checked_fraction(name: str, value: object) -> float:
    number = checked_real(name, value)
    if number >= 1.0:
        raise ArgumentValueError(f"{name}: expected a number above 0 and below 1, got {number:g}")
    return number


def checked_size(depth: object, width: object) -> tuple[int, int]:
    """Return the size of a table, or raise.

    Args:
        depth: rows, 1 to 64.
        width: columns, 1 to 2^24; depth * width is at most 2^28.

    Returns:
        (depth, width) as Python integers.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside its range.

    Example:
        >>> checked_size(4, 4096)
        (4, 4096)
    """
    rows = checked_integer("depth", depth, most=LARGEST_DEPTH)
    columns = checked_integer("width", width, most=LARGEST_WIDTH)
    if rows * columns > LARGEST_CELLS:
        raise ArgumentValueError(
            f"width: expected at most {LARGEST_CELLS} cells (depth * width), got {rows} * {columns}"
        )
    return rows, columns


def _row_failure(width: int, bound: Fraction) -> int:
    """Return P(two items share a bucket) / bound, rounded up, in units of 2^-64."""
    collision = Fraction(-(-_HASH_RANGE // width), _HASH_RANGE)
    return math.ceil(collision / bound * _ONE)


def _checked_width(needed: int) -> int:
    if needed > LARGEST_WIDTH:
        shown = str(needed) if needed < 2**128 else f"about 2^{needed.bit_length()}"
        raise ArgumentValueError(
            f"relative_error: expected one that a width of at most {LARGEST_WIDTH} reaches, "
            f"got one that needs {shown}"
        )
    return needed


def _too_deep() -> ArgumentValueError:
    return ArgumentValueError(
        f"failure_probability: expected one that a depth of at most {LARGEST_DEPTH} reaches, "
        "got a smaller one; give a larger one, or depth and width"
    )


def _count_min_size(error: Fraction, failure: Fraction) -> tuple[int, int]:
    width = _checked_width(math.ceil(1 / (error * _INVERSE_E)))
    # Markov: a row is off by error * N or more with probability <= p / error.
    row = _row_failure(width, error)
    for depth in range(1, LARGEST_DEPTH + 1):
        if Fraction(row**depth, _ONE**depth) <= failure:
            return depth, width
    raise _too_deep()


def _count_sketch_size(error: Fraction, failure: Fraction) -> tuple[int, int]:
    square = error * error
    for factor in _WIDTH_FACTORS:
        width = _checked_width(math.ceil(factor / square))
        # Chebyshev: the variance of a row is <= p F2, so a row is off by more than error * L2 with
        # probability <= p / error^2. The median is off only if most rows are.
        row = _row_failure(width, square)
        for depth in range(1, LARGEST_DEPTH + 1, 2):
            if _majority_fails(depth, row) <= failure:
                return depth, width
    raise _too_deep()


def _majority_fails(depth: int, row: int) -> Fraction:
    """Return P(Bin(depth, row / 2^64) >= (depth + 1) / 2), exactly, for odd depth."""
    cases = (
        math.comb(depth, failed) * row**failed * (_ONE - row) ** (depth - failed)
        for failed in range((depth + 1) // 2, depth + 1)
    )
    return Fraction(sum(cases), _ONE**depth)
