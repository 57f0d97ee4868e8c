"""Planted bugs of bounds of people, in the core and in the package."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited, together
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_PEOPLE", "BUGS_OF_PEOPLE_IN_THE_CORE"]

_RELATIONS: Final = "lazysketch.privacy.relations"
_PEOPLE: Final = "tests/unit/sketches/test_people.py::"
_STORED: Final = "tests/unit/store/test_people.py::"
_LEVELS: Final = "tests/unit/heavy_hitters/test_people_of_levels.py::"
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
    PlantedBug(
        name="refused-batch-leaves-its-people",
        subject="sensitivity",
        claim="The people of a batch that is refused are known, and take the places of others.",
        caught_by="lib people::tests::a_refused_batch_leaves_no_one",
    ),
    PlantedBug(
        name="restored-people-without-their-counts",
        subject="durable state",
        claim="A checkpoint has the cells of each person, and one event in each of them.",
        caught_by="lib people::saved::tests::restored_people_go_on",
    ),
    PlantedBug(
        name="refused-people-stay-known",
        subject="sensitivity",
        claim="The people of a batch that is refused take places of a limit of people.",
        caught_by="lib people::tests::a_batch_that_is_withdrawn_leaves_nothing",
    ),
    PlantedBug(
        name="names-cover-fewer-events-than-are-counted",
        subject="sensitivity",
        claim="The core counts events of a person that discovery is not calibrated for.",
        caught_by=_LEVELS + "test_names_cover_all_events_that_are_counted",
    ),
)

_COLUMNS: Final = "lazysketch.sources.formats.arrow_columns"
_ROWS: Final = "tests/unit/sources/formats/test_people.py::"
_COMMAND: Final = "tests/unit/cli/test_people.py::"

BUGS_OF_PEOPLE: Final = (
    PlantedBug(
        name="rows-of-no-one-are-of-one-person",
        subject="sensitivity",
        claim="Rows of a table without a person are counted, as those of one person.",
        caught_by=_ROWS
        + "test_each_item_has_its_person_and_a_row_without_one_is_malformed[parquet]",
        patch=edited(
            f"{_COLUMNS}:_people",
            ("users, known = _readable(users)", 'users, known = _readable(users.fill_null("-"))'),
        ),
    ),
    PlantedBug(
        name="people-of-other-rows",
        subject="sensitivity",
        claim="Where rows are malformed, items get the people of the rows before theirs.",
        caught_by=_ROWS
        + "test_each_item_has_its_person_and_a_row_without_one_is_malformed[parquet]",
        patch=edited(
            f"{_COLUMNS}:_batch",
            (
                "users = None if users is None else users.filter(pa.array(valid))",
                "users = None if users is None else users[:len(items)]",
            ),
        ),
    ),
    PlantedBug(
        name="option-of-cells-ignored",
        subject="sensitivity",
        claim="--cells is accepted and not passed on.",
        caught_by=_COMMAND + "test_the_guarantee_is_that_of_the_bound",
        patch=edited(
            "lazysketch.cli.people_options:bound_of_cells",
            ("cells=DEFAULT_CELLS if cells is None else cells", "cells=DEFAULT_CELLS"),
        ),
    ),
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
    PlantedBug(
        name="contributions-forgotten-at-a-restart",
        subject="durable state",
        claim="After a checkpoint and a restart everyone may contribute as much again.",
        caught_by=_STORED + "test_a_restart_gives_no_one_another_turn[sketch-True]",
        patch=edited(
            "lazysketch.store.recovered_objects:Origin.restore_people",
            ("people[number]._restore(self.native.checkpoint_state(place))", "pass"),
        ),
    ),
    PlantedBug(
        name="people-not-in-the-log",
        subject="durable state",
        claim="A record has the events without their people, and cannot be repeated.",
        caught_by=_STORED + "test_a_restart_gives_no_one_another_turn[sketch-False]",
        patch=edited(
            "lazysketch.store.calls:Call.encoded",
            ("batches.append(self.user)", "pass"),
            ('header["people"] = True', "pass"),
        ),
    ),
    PlantedBug(
        name="identifiers-in-the-log",
        subject="durable state",
        claim="Records have the identifiers of people, as anyone with the key can read.",
        caught_by=_STORED + "test_no_identifier_is_written[sketch]",
        patch=together(
            edited(
                "lazysketch.store.stored_changes:Changes._identified",
                ("return people.identified(user)", "return _native.logged_events(user)"),
            ),
            edited(
                "lazysketch.store.calls:Call.decoded",
                ("people = _native.LoggedPeople", "people = _native.LoggedEvents"),
            ),
        ),
    ),
    PlantedBug(
        name="statement-taken-for-a-bound",
        subject="accounting",
        claim="A sketch takes what a statistic states for its own bound.",
        caught_by="tests/unit/privacy/test_person_bound.py::"
        "test_what_a_statistic_says_is_no_bound[sketch-stated0]",
        patch=edited(
            "lazysketch.privacy.person_bound:checked_person_bound",
            ("isinstance(value, CountedOnce | CountedPerson | CountedEvents)", "False"),
        ),
    ),
)
