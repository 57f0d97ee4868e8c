"""What a description of a table of ranges must be, and what an event changes in it.

Source: docs/theory.md, Theorem 26.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentValueError
from lazysketch.specification.required_fields import check_required
from lazysketch.specification.schedules import Batch, Punctual, Single

if TYPE_CHECKING:
    from lazysketch.privacy.relations import Relation
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "changed_cells_of_ranges",
    "check_ranges",
    "exact_coefficients",
    "ranges_sensitivity2",
]

_FEWEST_COLUMNS: Final = 2  # the halves of the domain


def exact_coefficients(depth: int, width: int) -> int:
    """Return how many rows above row 0 have a column for each of their nodes.

    Args:
        depth: bits of the keys, one row each.
        width: columns.

    Returns:
        0 to ``depth - 1``: row r has 2^r nodes.

    Example:
        >>> exact_coefficients(32, 4096)
        12
    """
    return min(depth, width.bit_length()) - 1


def ranges_sensitivity2(depth: int, width: int, relation: Relation) -> int:
    """Return the squared L2 sensitivity of a table of ranges, per unit of weight.

    Guarantee: an upper bound for every hash function; attained.

    Args:
        depth: bits of the keys.
        width: columns.
        relation: ``"substitution"`` or ``"zero-out"``.

    Returns:
        A positive integer.

    Source: docs/theory.md, Theorem 26.

    Example:
        >>> ranges_sensitivity2(32, 4096, "substitution"), ranges_sensitivity2(32, 4096, "zero-out")
        (102, 32)
    """
    if relation == "zero-out":
        return depth
    exact = exact_coefficients(depth, width)
    return 2 * (exact + 1) + 4 * (depth - 1 - exact)


def changed_cells_of_ranges(depth: int, relation: Relation) -> int:
    """Return the number of cells that can differ between neighbours.

    Args:
        depth: bits of the keys.
        relation: ``"substitution"`` or ``"zero-out"``.

    Returns:
        One cell per row, two under substitution.
    """
    return depth if relation == "zero-out" else 2 * depth


def check_ranges(spec: TableSpec) -> None:
    """Raise unless a description of ranges is one that the proof covers.

    Args:
        spec: a description whose own fields were checked; other kinds pass.

    Raises:
        ArgumentValueError: a field has another value than the proof allows.
    """
    if spec.kind != "ranges":
        return
    if spec.width < _FEWEST_COLUMNS:
        raise ArgumentValueError(f"width: expected 2 or more for ranges, got {spec.width}")
    if not isinstance(spec.schedule, Punctual | Batch | Single):
        raise ArgumentValueError(
            f"schedule: expected Punctual, Batch or Single for ranges, got {spec.schedule.name}"
        )
    wanted = {"max_changes": 1, "person_bound": None, "calibration": "analytic"}
    check_required(spec, wanted, of="ranges")
