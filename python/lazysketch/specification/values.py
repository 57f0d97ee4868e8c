"""What a description of a table of values must be.

Source: docs/theory.md, Theorem 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lazysketch.arguments import checked_choice
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.relations import people_changed
from lazysketch.specification.bins import checked_edges
from lazysketch.specification.required_fields import check_required
from lazysketch.specification.schedules import Batch, Punctual, Single
from lazysketch.specification.value_tree import VALUE_ROWS, ValueTree, padded_bins

if TYPE_CHECKING:
    from lazysketch.privacy.person_bound import PersonBound
    from lazysketch.privacy.relations import Relation
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "changed_node_sums",
    "check_one_place",
    "checked_bins",
    "node_sums_sensitivity2",
    "value_trees",
]


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
        "calibration": "analytic",
    }
    check_required(spec, wanted, of="values")
    check_one_place(spec.person_bound, of="values")
    if spec.moves and spec.person_bound is not None:
        raise ArgumentValueError("moves: expected False with a person_bound, got True")
    return edges


def check_one_place(bound: PersonBound | None, *, of: str) -> None:
    """Raise if a bound limits the cells of a person where any two events may move the same sums.

    Args:
        bound: that of a description of sums, or None.
        of: what is counted, for the message.

    Raises:
        ArgumentValueError: more than one cell.
    """
    if bound is not None and bound.cells != 1:
        raise ArgumentValueError(
            f"person_bound: expected cells=1 for {of}, where events says how many of a person "
            f"count, anywhere; got cells={bound.cells}"
        )


def node_sums_sensitivity2(
    tree: ValueTree,
    *,
    relation: Relation,
    person_bound: PersonBound | None,
    moves: bool = False,
) -> int:
    """Return the squared change of all node sums, per unit of weight.

    Guarantee: for one event; with a bound for one event of each person who comes or goes, at steps
    of their own.

    Args:
        tree: the tree over the bins.
        relation: ``"substitution"`` or ``"zero-out"``.
        person_bound: what is counted of a person, who is protected then.
        moves: True to cover an event that moves to another window of time.

    Returns:
        A positive integer.

    Source: docs/theory.md, Theorems 24 and 27.

    Example:
        >>> from lazysketch.privacy.person_bound import PersonBound
        >>> haar, bound = ValueTree("haar", 1024), PersonBound(events=9)
        >>> node_sums_sensitivity2(haar, relation="substitution", person_bound=bound)
        196
    """
    if person_bound is None:
        return tree.sensitivity2(relation, moves=moves)
    return tree.sensitivity2("zero-out") * people_changed(person_bound, relation=relation) ** 2


def changed_node_sums(
    tree: ValueTree, *, relation: Relation, person_bound: PersonBound | None
) -> int:
    """Return how many node sums differ, for the same as :func:`node_sums_sensitivity2`.

    Args:
        tree: the tree over the bins.
        relation: ``"substitution"`` or ``"zero-out"``.
        person_bound: what is counted of a person.

    Returns:
        A positive integer.
    """
    if person_bound is None:
        return tree.changed_nodes(relation)
    return tree.changed_nodes("zero-out") * people_changed(person_bound, relation=relation)


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
