"""What a description of a count of distinct items must be, and what its guarantee says.

Every item has one bit of a secret bitmap, and the number of set bits is counted. The noise covers
the bit, and that it would have been set later, by another item with the same bit.

Source: docs/theory.md, Theorem 23.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lazysketch.arguments import checked_integer
from lazysketch.errors import ArgumentValueError
from lazysketch.privacy.person_bound import CountedEvents, CountedOnce, PersonBound
from lazysketch.privacy.relations import CountKind
from lazysketch.specification.mechanisms import Mechanism, MechanismName
from lazysketch.specification.required_fields import check_required

if TYPE_CHECKING:
    from lazysketch.specification.table_spec import TableSpec

__all__ = [
    "BIT_WEIGHT",
    "FEWEST_BITS",
    "MOST_BITS",
    "MOST_LEVELS",
    "bounding_moves",
    "check_distinct",
    "stated_bound",
    "stated_weight",
]

BIT_WEIGHT: Final = 16
"""What a set bit adds to the counter of its level."""
MOST_LEVELS: Final = 16
FEWEST_BITS: Final = 2**6
MOST_BITS: Final = 2**24
_BOUND_MOVES: Final[tuple[MechanismName, ...]] = ("tree", "tree-log", "tree-deep", "haar")


def check_distinct(spec: TableSpec) -> None:
    """Raise unless a description of kind ``"distinct"`` is one that the proof covers.

    Args:
        spec: a description whose own fields were checked; of another kind it must have no bits.

    Raises:
        ArgumentValueError: a field has another value than the proof allows.
    """
    if spec.kind != "distinct":
        if spec.bits != 0:
            raise ArgumentValueError(f"bits: expected 0 for {spec.kind!r}, got {spec.bits}")
        return
    bits = checked_integer("bits", spec.bits, least=FEWEST_BITS, most=MOST_BITS)
    if bits & (bits - 1):
        raise ArgumentValueError(f"bits: expected a power of two, got {bits}")
    checked_integer("levels", spec.width, most=MOST_LEVELS)
    wanted = {
        "depth": 1,
        "max_weight": BIT_WEIGHT,
        "max_events_per_user": 1,
        "max_changes": 1,
        "person_bound": None,
        "calibration": "analytic",
    }
    check_required(spec, wanted, of="distinct items")


def bounding_moves(mechanisms: Sequence[Mechanism]) -> tuple[Mechanism, ...]:
    """Return the mechanisms whose rows bound what a count costs that moves to a later push.

    Args:
        mechanisms: those that implement the requested one, best first.

    Returns:
        At least one of them.

    Raises:
        ArgumentValueError: none of them does.
    """
    known = tuple(one for one in mechanisms if one.name in _BOUND_MOVES)
    if not known:
        names = ", ".join(repr(name) for name in _BOUND_MOVES)
        raise ArgumentValueError(
            f"mechanism: expected one of {names} for distinct items, got {mechanisms[0].name!r}"
        )
    return known


def stated_bound(kind: CountKind, bound: PersonBound | None) -> PersonBound | None:
    """Return what a guarantee says is counted of a person, or of an item.

    Args:
        kind: kind of the table.
        bound: the bound in its description.

    Returns:
        The same; for distinct items that each is counted once, and for values and ranges that
        events may be anywhere.
    """
    if kind == "distinct":
        return CountedOnce()
    if kind in ("values", "ranges") and bound is not None:
        return CountedEvents(events=bound.events, most_people=bound.most_people)
    return bound


def stated_weight(kind: CountKind, max_weight: int) -> int:
    """Return the largest weight of an event in the words of a guarantee.

    Args:
        kind: kind of the table.
        max_weight: that of its description.

    Returns:
        The same; 1 for distinct items, whose bits have a weight and whose events have none.
    """
    return 1 if kind == "distinct" else max_weight
