"""What a description of a table of ranges must be, and what an event changes in it.

Source: docs/theory.md, Theorems 26 and 26b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import people_changed
from lazysketch.specification.required_fields import check_required
from lazysketch.specification.schedules import Batch, Punctual, Single
from lazysketch.specification.values import check_one_place

if TYPE_CHECKING:
    from lazysketch.privacy.person_bound import PersonBound
    from lazysketch.privacy.relations import CountKind, Relation
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "changed_cells_of_ranges",
    "check_ranges",
    "exact_coefficients",
    "packed_cell",
    "ranges_sensitivity2",
    "sharing_rows",
]

_FEWEST_COLUMNS: Final = 2  # the halves of the domain


def exact_coefficients(depth: int, width: int) -> int:
    """Return how many depths below the halves of the domain have a cell for each of their nodes.

    The first r + 1 depths have 2^(r + 1) cells, packed into the first rows; as many depths are
    packed as fit into that many rows.

    Args:
        depth: bits of the keys, one depth each.
        width: columns.

    Returns:
        0 to ``depth - 1``: depth r has 2^r nodes.

    Example:
        >>> exact_coefficients(32, 4096)
        15
    """
    return sum(2 << row <= (row + 1) * width for row in range(1, depth))


def packed_cell(row: int, node: int, width: int) -> tuple[int, int]:
    """Return row and column of a node of a depth whose nodes have cells of their own.

    Args:
        row: the depth, 1 or more.
        node: its number, 0 to 2^row - 1.
        width: columns.

    Returns:
        The place 2^row + node of the rows, read one after the other; 0 and 1 are the halves.

    Example:
        >>> packed_cell(1, 0, 4096), packed_cell(12, 5, 4096)
        ((0, 2), (1, 5))
    """
    return divmod((1 << row) + node, width)


def ranges_sensitivity2(
    depth: int, width: int, relation: Relation, *, person_bound: PersonBound | None = None
) -> int:
    """Return the squared L2 sensitivity of a table of ranges, per unit of weight.

    Guarantee: an upper bound for every hash function: for one event, attained; with a bound for one
    event of each person who comes or goes, with keys and at steps of their own.

    Args:
        depth: bits of the keys.
        width: columns.
        relation: ``"substitution"`` or ``"zero-out"``.
        person_bound: what is counted of a person, who is protected then.

    Returns:
        A positive integer.

    Source: docs/theory.md, Theorems 26 and 26b.

    Example:
        >>> ranges_sensitivity2(32, 4096, "substitution"), ranges_sensitivity2(32, 4096, "zero-out")
        (96, 32)
    """
    if person_bound is not None:
        return depth * people_changed(person_bound, relation=relation) ** 2
    if relation == "zero-out":
        return depth
    exact = exact_coefficients(depth, width)
    return 2 * (exact + 1) + 4 * (depth - 1 - exact)


def sharing_rows(
    kind: CountKind,
    *,
    depth: int,
    width: int,
    relation: Relation,
    person_bound: PersonBound | None = None,
) -> int:
    """Return the rows of a table that share its sensitivity equally, as Theorem 15 counts them.

    The depths of ranges share that of a substituted event unequally: of a square of M none has more
    than 4, and the theorem holds as if M / 6 rows shared it. That of people they share equally.

    Args:
        kind: of the table.
        depth: rows; for ranges the bits of a key.
        width: columns.
        relation: ``"substitution"`` or ``"zero-out"``.
        person_bound: what is counted of a person.

    Returns:
        1 to ``depth``.

    Source: docs/theory.md, Theorems 26 and 26b.

    Example:
        >>> sharing_rows("ranges", depth=32, width=4096, relation="substitution")
        16
    """
    if kind != "ranges" or relation == "zero-out" or person_bound is not None:
        return depth
    return max(1, ranges_sensitivity2(depth, width, relation) // 6)


def changed_cells_of_ranges(
    depth: int, relation: Relation, *, person_bound: PersonBound | None = None
) -> int:
    """Return the number of cells that differ, for the same as :func:`ranges_sensitivity2`.

    Args:
        depth: bits of the keys.
        relation: ``"substitution"`` or ``"zero-out"``.
        person_bound: what is counted of a person.

    Returns:
        One cell per bit, two under substitution; one per bit for each person who comes or goes.
    """
    if person_bound is not None:
        return depth * people_changed(person_bound, relation=relation)
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
    wanted = {"max_changes": 1, "calibration": "analytic"}
    check_required(spec, wanted, of="ranges")
    check_one_place(spec.person_bound, of="ranges")
