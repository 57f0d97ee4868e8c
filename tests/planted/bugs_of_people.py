"""Planted bugs of bounds of people, in the core and in the package."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_PEOPLE", "BUGS_OF_PEOPLE_IN_THE_CORE"]

_RELATIONS: Final = "lazysketch.privacy.relations"
_PEOPLE: Final = "tests/unit/sketches/test_people.py::"
_NOISE: Final = _PEOPLE + "test_noise_covers_all_that_a_person_can_change"

BUGS_OF_PEOPLE_IN_THE_CORE: Final = (
    PlantedBug(
        name="people-bounded-in-one-row",
        subject="sensitivity",
        claim="Only the first row of a table is looked at when an event of a person is counted.",
        caught_by="lib people::tests::events_are_counted_by_the_rule",
    ),
    PlantedBug(
        name="one-event-of-a-person-too-many",
        subject="sensitivity",
        claim="A cell counts one event of a person more than the bound says.",
        caught_by="lib people::tests::a_person_changes_no_more_than_the_bound",
    ),
    PlantedBug(
        name="refused-events-are-counted",
        subject="sensitivity",
        claim="Events beyond the bound are noticed, and counted.",
        caught_by=_PEOPLE + "test_an_event_beyond_the_bound_is_an_empty_step",
    ),
    PlantedBug(
        name="events-without-a-person-are-counted",
        subject="sensitivity",
        claim="A table with a bound of people counts events that have no person.",
        caught_by=_PEOPLE + "test_events_need_their_person_where_people_are_bounded[sketch]",
    ),
)

BUGS_OF_PEOPLE: Final = (
    PlantedBug(
        name="one-cell-of-a-person",
        subject="sensitivity",
        claim="Tables are calibrated as if a person had one cell of each row.",
        caught_by=_NOISE + "[zero-out-None-1]",
        patch=edited(
            f"{_RELATIONS}:table_sensitivity2",
            ("rows * person_bound.cells * people", "rows * people"),
        ),
    ),
    PlantedBug(
        name="limit-of-people-lets-no-one-in",
        subject="sensitivity",
        claim="With a limit of people, the person who is let in for another one is forgotten.",
        caught_by=_NOISE + "[zero-out-9-2]",
        patch=edited(
            f"{_RELATIONS}:people_changed",
            ("people if bound.most_people is None else 2 * people", "people"),
        ),
    ),
    PlantedBug(
        name="events-of-a-cell-forgotten",
        subject="sensitivity",
        claim="The events of a person that one cell counts are taken for one.",
        caught_by=_NOISE + "[substitution-None-2]",
        patch=edited(
            "lazysketch.specification.table_spec:TableSpec._calibrated",
            ("max_events_per_user=self._events_per_cell", "max_events_per_user=1"),
        ),
    ),
    PlantedBug(
        name="identities-are-free",
        subject="accounting",
        claim="The probability that two people have one identity is not paid from delta.",
        caught_by=_PEOPLE + "test_identities_that_collide_are_paid_from_delta",
        patch=edited(
            "lazysketch.specification.table_spec:TableSpec._calibrated",
            ("people=0 if self.person_bound is None else self.person_bound.people", "people=0"),
        ),
    ),
)
