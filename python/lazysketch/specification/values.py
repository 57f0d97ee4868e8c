"""What a description of a table of values must be.

Source: docs/theory.md, Theorem 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.arguments import checked_choice
from lazysketch.errors import ArgumentValueError
from lazysketch.specification.bins import checked_edges
from lazysketch.specification.required_fields import check_required
from lazysketch.specification.schedules import Batch, Punctual, Single
from lazysketch.specification.value_tree import VALUE_ROWS, ValueTree, padded_bins

if TYPE_CHECKING:
    from lazysketch.specification.table_spec import TableSpec

__all__ = ["checked_bins", "value_trees"]


def checked_bins(spec: TableSpec) -> tuple[float, ...]:
    """Return the edges of a description, or raise unless it is one that the proof covers.

    Args:
        spec: a description whose own fields were checked; of another kind it must have no edges.

    Returns:
        The edges as plain floats; none for other kinds.

    Raises:
        ArgumentTypeError: edges that are not numbers.
        ArgumentValueError: a field has another value than the proof allows.
    """
    if spec.kind != "values":
        if type(spec.edges) is not tuple or spec.edges:
            raise ArgumentValueError(f"edges: expected none for {spec.kind!r}, got some")
        if spec.value_rows is not None:
            raise ArgumentValueError(f"value_rows: expected None for {spec.kind!r}, got some")
        if spec.moves:
            raise ArgumentValueError(f"moves: expected False for {spec.kind!r}, got True")
        return ()
    edges = checked_edges(spec.edges)
    if spec.value_rows is not None:
        checked_choice("value_rows", spec.value_rows, VALUE_ROWS)
    if not isinstance(spec.schedule, Punctual | Batch | Single):
        raise ArgumentValueError(
            f"schedule: expected Punctual, Batch or Single for values, got {spec.schedule.name}"
        )
    wanted = {
        "depth": 1,
        "width": padded_bins(len(edges) + 1),
        "max_changes": 1,
        "person_bound": None,
        "calibration": "analytic",
    }
    check_required(spec, wanted, of="values")
    return edges


def value_trees(spec: TableSpec) -> tuple[ValueTree | None, ...]:
    """Return the trees over its bins that a description allows, the one with least noise first.

    Args:
        spec: a checked description.

    Returns:
        At least one; None, only, for other kinds.
    """
    if spec.kind != "values":
        return (None,)
    rows = VALUE_ROWS if spec.value_rows is None else (spec.value_rows,)
    return tuple(ValueTree(one, spec.width) for one in rows)
