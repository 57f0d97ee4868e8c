"""Neighbouring relations, and the sensitivity of the table of counts to one event.

Computes the squared L2 sensitivity of the count table per unit of weight, and the number of cells
that can change. Both are closed forms. The tests enumerate every small hash function and every
short stream and find both attained.

=============  =========  ============  ========================================
relation       Count-Min  Count Sketch  one stream becomes its neighbour when
=============  =========  ============  ========================================
zero-out       d          d             one event becomes an empty step
substitution   2 d        4 d           one event becomes another, same step
=============  =========  ============  ========================================

A count of distinct items changes by one bit for a person, whose count may also move to a later
step: 9/4 under zero-out, four times that under substitution. That of a table of values depends on
the tree over its bins (:class:`lazysketch.specification.value_tree.ValueTree`), that of a table of
ranges on its width (:mod:`lazysketch.specification.ranges`).

Source: R. Holland, arXiv 2507.03361, states 2 d for both sketches under substitution. For Count
Sketch that is too small: two items in one bucket with opposite signs move the cell by 2, which is 4
per row.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, Literal, TypeAlias, cast, get_args

from lazysketch.arguments import checked_choice, checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.person_bound import PersonBound

__all__ = [
    "LARGEST_EPSILON",
    "SMALLEST_DELTA",
    "Calibration",
    "CountKind",
    "Relation",
    "changed_cells",
    "checked_calibration",
    "checked_delta",
    "checked_epsilon",
    "checked_kind",
    "checked_relation",
    "people_changed",
    "square_root_up",
    "table_sensitivity2",
]

Relation: TypeAlias = Literal["substitution", "zero-out"]
Calibration: TypeAlias = Literal["analytic", "classical"]
CountKind: TypeAlias = Literal[
    "count-min", "count-sketch", "counters", "distinct", "values", "ranges"
]

LARGEST_EPSILON: Final = 100.0
SMALLEST_DELTA: Final = 1e-280
"""No smaller delta is returned or solved for: the smallest doubles are not far below."""
LARGEST_DEPTH: Final = 64
LARGEST_CHANGES: Final = 2**28
_MOVE: Final = Fraction(9, 4)  # what a count that moves to a later push costs, over one that goes


def table_sensitivity2(
    kind: CountKind,
    *,
    depth: int,
    relation: Relation,
    calibration: Calibration = "analytic",
    max_changes: int = 1,
    person_bound: PersonBound | None = None,
) -> int | Fraction:
    """Return the squared L2 sensitivity of the count table, per unit of weight.

    Guarantee: for every pair of neighbouring streams, every hash function and every step, the two
    tables of exact counts differ by at most the square root of this number, times ``max_weight``.
    The bound is attained, except under ``calibration="classical"`` for a Count Sketch, where it is
    the paper's 2 d and real streams exceed it.

    Args:
        kind: ``"count-min"``, ``"count-sketch"``, ``"counters"`` or ``"distinct"``.
        depth: rows of the table, 1 to 64; each event falls in one cell per row. Counters and counts
            of distinct items have one row: ``depth=1``.
        relation: ``"substitution"`` or ``"zero-out"``.
        calibration: ``"classical"`` returns the value of the paper, for reproduction.
        max_changes: for counters updated by vectors, the number of counters that may differ between
            neighbours, all at one step. Sketches: 1.
        person_bound: what is counted of a person, who is protected then. The result is that for one
            event in each of the person's cells.

    Returns:
        A positive number, an integer except for distinct items: there including what a moved count
        costs, in units of the sensitivity of the mechanism.

    Raises:
        ArgumentTypeError: an argument is of the wrong type, or does not apply to the kind.
        ArgumentValueError: an argument is outside its range, ``"values"`` or ``"ranges"``.

    Source: docs/guarantees.md, "Sensitivity"; docs/theory.md, Theorem 23, for distinct items; the
    paper on CO Count-Min and CO Count Sketch.

    Example:
        >>> table_sensitivity2("count-min", depth=3, relation="substitution")
        6
        >>> table_sensitivity2("count-sketch", depth=3, relation="substitution")
        12
        >>> table_sensitivity2("counters", depth=1, relation="zero-out", max_changes=5)
        5
        >>> table_sensitivity2("distinct", depth=1, relation="zero-out")
        Fraction(9, 4)
    """
    rows, changes = _checked_shape(kind, depth, max_changes)
    substitution = checked_relation(relation) == "substitution"
    classical = checked_calibration(calibration) == "classical"
    if kind == "distinct":
        return 4 * _MOVE if substitution else _MOVE
    if person_bound is not None:
        # Each person moves the table by at most sqrt(rows * cells).
        return rows * person_bound.cells * people_changed(person_bound, relation=relation) ** 2
    if kind == "counters":
        # The same counters take single events and vectors: cover both.
        return max(2 if substitution else 1, changes)
    if not substitution:
        return rows
    if kind == "count-sketch" and not classical:
        return 4 * rows
    return 2 * rows


def changed_cells(
    kind: CountKind,
    *,
    depth: int,
    relation: Relation,
    max_changes: int = 1,
    person_bound: PersonBound | None = None,
) -> int:
    """Return the number of cells of the count table that can differ between neighbours.

    Guarantee: an upper bound for every hash function; the numeric account of
    :func:`lazysketch.privacy.calibration.calibrate` counts noise draws with it.

    Args:
        kind: ``"count-min"``, ``"count-sketch"`` or ``"counters"``.
        depth: rows of the table, 1 to 64; counters have one.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_changes: as in :func:`table_sensitivity2`.
        person_bound: as in :func:`table_sensitivity2`.

    Returns:
        A positive integer: one cell per row, two under substitution; four times that for distinct
        items, where a count changes the draws of two leaves, and releases decide which.

    Raises:
        ArgumentTypeError: an argument is of the wrong type, or does not apply to the kind.
        ArgumentValueError: an argument is outside its range.

    Source: docs/guarantees.md, "From real numbers to a computer".

    Example:
        >>> changed_cells("count-sketch", depth=4, relation="substitution")
        8
    """
    rows, changes = _checked_shape(kind, depth, max_changes)
    if person_bound is not None:
        return rows * person_bound.cells * people_changed(person_bound, relation=relation)
    per_row = 2 if checked_relation(relation) == "substitution" else 1
    if kind == "distinct":
        return 4 * per_row
    return max(per_row, changes) if kind == "counters" else per_row * rows


def people_changed(bound: PersonBound, *, relation: Relation) -> int:
    """Return how many people's events differ between neighbouring streams.

    Under zero-out the events of one person become empty steps; under substitution, events of
    another one take their place, at any steps. With a limit of people another one is let in for
    each that goes, and one is kept out for each that comes.

    Args:
        bound: what is counted of a person.
        relation: ``"substitution"`` or ``"zero-out"``.

    Returns:
        1, 2 or 4.

    Raises:
        ArgumentTypeError: not a relation.
        ArgumentValueError: a string that names no relation.

    Source: docs/theory.md, "People".

    Example:
        >>> people_changed(PersonBound(cells=10, most_people=1_000), relation="substitution")
        4
    """
    people = 2 if checked_relation(relation) == "substitution" else 1
    return people if bound.most_people is None else 2 * people


def _checked_shape(kind: object, depth: object, max_changes: object) -> tuple[int, int]:
    """Return (depth, max_changes) when both fit the kind."""
    if checked_kind(kind) in ("values", "ranges"):
        raise ArgumentValueError(
            f'kind: expected one whose change depends on its depth alone, got "{kind}"'
        )
    rows = checked_integer("depth", depth, most=LARGEST_DEPTH)
    changes = checked_integer("max_changes", max_changes, most=LARGEST_CHANGES)
    if kind in ("counters", "distinct") and rows != 1:
        raise ArgumentTypeError(f"depth: expected 1 for {kind}, got {rows}")
    if kind != "counters" and changes != 1:
        raise ArgumentTypeError(f"max_changes: expected 1 for a sketch, got {changes}")
    return rows, changes


def checked_relation(value: object) -> Relation:
    """Return the relation, or raise.

    Args:
        value: value of the argument ``relation``.

    Returns:
        The same string.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: a string that names no relation.

    Example:
        >>> checked_relation("zero-out")
        'zero-out'
    """
    return cast(Relation, checked_choice("relation", value, get_args(Relation)))


def checked_kind(value: object) -> CountKind:
    """Return the kind of a table, or raise.

    Args:
        value: value of the argument ``kind``.

    Returns:
        The same string.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: a string that names no kind.

    Example:
        >>> checked_kind("counters")
        'counters'
    """
    return cast(CountKind, checked_choice("kind", value, get_args(CountKind)))


def checked_calibration(value: object) -> Calibration:
    """Return the calibration, or raise.

    Args:
        value: value of the argument ``calibration``.

    Returns:
        The same string.

    Raises:
        ArgumentTypeError: not a string.
        ArgumentValueError: a string that names no calibration.

    Example:
        >>> checked_calibration("analytic")
        'analytic'
    """
    return cast(Calibration, checked_choice("calibration", value, get_args(Calibration)))


def checked_epsilon(value: object) -> float:
    """Return epsilon as a float, or raise.

    Args:
        value: value of the argument ``epsilon``.

    Returns:
        The value, ``0 < epsilon <= 100``.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: NaN, infinite or outside the range.

    Example:
        >>> checked_epsilon(1)
        1.0
    """
    epsilon = checked_real("epsilon", value)
    if epsilon > LARGEST_EPSILON:
        raise ArgumentValueError(f"epsilon: expected at most {LARGEST_EPSILON:g}, got {epsilon:g}")
    return epsilon


def checked_delta(value: object, name: str = "delta") -> float:
    """Return delta as a float, or raise.

    Args:
        value: value of the argument.
        name: of the argument.

    Returns:
        The value, ``1e-280 <= delta < 1``.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: NaN, infinite or outside the range.

    Example:
        >>> checked_delta(1e-8)
        1e-08
    """
    wanted = "a number above 0 and below 1"
    delta = checked_real(name, value, wanted=wanted)
    if not SMALLEST_DELTA <= delta < 1.0:
        least = f", at least {SMALLEST_DELTA:g}" if delta < 1.0 else ""
        raise ArgumentValueError(f"{name}: expected {wanted}{least}, got {delta:g}")
    return delta


def square_root_up(square: int | Fraction) -> float:
    """Return a float at or above the exact square root of a positive rational.

    Guarantee: the square of the result, taken exactly, is at least ``square``.

    Args:
        square: a squared L2 sensitivity, times squared weights and events.

    Returns:
        The root, rounded up.

    Raises:
        ArgumentValueError: the root is too large for a float.

    Example:
        >>> square_root_up(49)
        7.0
    """
    try:
        root = math.sqrt(square)
    except OverflowError:
        raise ArgumentValueError(
            "max_weight: expected a sensitivity that fits a float, got a larger one"
        ) from None
    while True:
        numerator, denominator = root.as_integer_ratio()
        if numerator * numerator >= square * denominator * denominator:
            return root
        root = math.nextafter(root, math.inf)
