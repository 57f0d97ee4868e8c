"""Planted bugs of counts of distinct items."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_DISTINCT_ITEMS", "BUGS_OF_DISTINCT_ITEMS_IN_THE_CORE"]

_BITS: Final = "lib sketch::distinct_items::"
_RELATIONS: Final = "lazysketch.privacy.relations"
_DISTINCT: Final = "lazysketch.specification.distinct"
_OCCUPANCY: Final = "lazysketch.estimation.occupancy"

BUGS_OF_DISTINCT_ITEMS_IN_THE_CORE: Final = (
    PlantedBug(
        name="distinct-counts-events",
        subject="sensitivity",
        claim="Every event of an item adds to the count of its level, not the first one only.",
        caught_by=_BITS + "set_bits_are_those_of_a_set_of_places",
    ),
    PlantedBug(
        name="distinct-without-the-move",
        subject="sensitivity",
        claim="The core's own check forgets that a bit may be set later by another item.",
        caught_by=_BITS + "the_cores_own_check_covers_a_moved_bit",
    ),
    PlantedBug(
        name="distinct-without-the-substitute",
        subject="sensitivity",
        claim="The core's own check takes a substitute for one change instead of two.",
        caught_by=_BITS + "the_cores_own_check_covers_a_moved_bit",
    ),
)

BUGS_OF_DISTINCT_ITEMS: Final = (
    PlantedBug(
        name="moved-bits-forgotten",
        subject="sensitivity",
        claim="A bit is calibrated as one that goes, though another item may set it later.",
        caught_by="tests/unit/privacy/test_distinct_noise.py::"
        "test_no_observer_who_sends_another_person_later_exceeds_delta",
        patch=edited(
            f"{_RELATIONS}:table_sensitivity2",
            (
                "return 4 * _MOVE if substitution else _MOVE",
                "return 4 if substitution else 1",
            ),
        ),
    ),
    PlantedBug(
        name="substituted-people-as-one-change",
        subject="sensitivity",
        claim="A person who takes the place of another is calibrated like one who leaves.",
        caught_by="tests/unit/privacy/test_distinct_noise.py::"
        "test_no_substitute_moves_the_query_further_than_calibrated[haar]",
        patch=edited(
            f"{_RELATIONS}:table_sensitivity2",
            ("return 4 * _MOVE if substitution else _MOVE", "return _MOVE"),
        ),
    ),
    PlantedBug(
        name="levels-taken-for-independent",
        subject="distribution",
        claim="An interval forgets that the levels share their items, and is too wide.",
        caught_by="tests/unit/estimation/test_occupancy.py::test_levels_share_their_items",
        patch=edited(
            f"{_OCCUPANCY}:Occupancy._score",
            ("max(1.0 - items * information, 1e-12)", "1.0"),
        ),
    ),
    PlantedBug(
        name="unexamined-mechanisms-for-moves",
        subject="sensitivity",
        claim="Mechanisms whose moves nothing bounds are accepted for distinct items.",
        caught_by="tests/unit/privacy/test_distinct_noise.py::"
        "test_mechanisms_without_the_bound_are_refused[binary]",
        patch=edited(
            f"{_DISTINCT}:bounding_moves",
            ("if one.name in _BOUND_MOVES", "if one.name"),
        ),
    ),
)
