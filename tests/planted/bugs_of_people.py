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
_WINDOWS: Final = "tests/unit/windows/test_people_of_windows.py::"
_HIERARCHY: Final = "lazysketch.heavy_hitters.hierarchical"
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
        caught_by="lib people::tests::restored_people_go_on",
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

_STATES: Final = "tests/unit/cli/run/test_people_of_states.py::"
_STORED_WINDOWS: Final = "tests/unit/store/test_people_of_windows.py::"
_COLUMNS: Final = "lazysketch.sources.formats.arrow_columns"
_ROWS: Final = "tests/unit/sources/formats/test_people.py::"
_COMMAND: Final = "tests/unit/cli/test_people.py::"

BUGS_OF_PEOPLE: Final = (
    PlantedBug(
        name="rows-of-no-one-are-of-one-person",
        subject="sensitivity",
        claim="Rows of CSV without a person are counted, as those of one person without a name.",
        caught_by=_COMMAND + "test_refused_events_are_for_the_operator_alone",
        patch=edited(
            f"{_COLUMNS}:batch_of_text",
            (
                "people = None if users is None else (users, present(users))",
                "people = None if users is None else (users, None)",
            ),
        ),
    ),
    PlantedBug(
        name="people-of-other-rows",
        subject="sensitivity",
        claim="Where rows are malformed, items get the people of the rows before theirs.",
        caught_by=_ROWS + "test_each_item_has_its_person_and_a_row_without_one_is_malformed[csv]",
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
            "lazysketch.cli.settings:SketchSettings.person_bound",
            ("cells=DEFAULT_CELLS if self.cells is None else self.cells", "cells=DEFAULT_CELLS"),
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
        name="levels-bounded-one-by-one",
        subject="sensitivity",
        claim="Each level counts the events of a person for which it has room, whatever others do.",
        caught_by=_LEVELS + "test_levels_agree_on_what_is_counted",
        patch=edited(
            f"{_HIERARCHY}:HierarchicalHeavyHitters._count_people",
            (
                "_native.update_bounded(\n",
                (
                    "for at, table in enumerate(self._tables): _native.update_bounded("
                    "_native.People.of_table(table), [table],"
                    " [_native.logged_events(columns[at])], _native.people_of_batch(user), weights,"
                    " empty_rows=empty_rows, in_one_step=in_one_step)\n"
                    "    0 and _native.update_bounded(\n"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="names-of-the-smallest-bounds",
        subject="sensitivity",
        claim="Names are calibrated for the least cells of a level times the least events of one.",
        caught_by=_LEVELS + "test_noise_covers_all_that_a_person_can_change[None-zero-out]",
        patch=edited(
            "lazysketch.heavy_hitters.level_tables:specs_of_levels",
            (
                "events_per_person=least,",
                (
                    "events_per_person=least and"
                    " min(one.cells for one in bounds) * min(one.events for one in bounds),"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="levels-have-the-noise-of-the-first",
        subject="sensitivity",
        claim="Every level has the noise of the coarsest one, and counts by its own bound.",
        caught_by=_LEVELS + "test_noise_covers_all_that_a_person_can_change[None-zero-out]",
        patch=edited(
            "lazysketch.heavy_hitters.level_tables:specs_of_levels",
            (
                "return shaped(bound).with_privacy(epsilon, delta)",
                (
                    "spec = shaped(bounds[0]).with_privacy(epsilon, delta)\n"
                    "        spec._store('person_bound', bound)\n"
                    "        return spec"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="a-level-without-the-bound",
        subject="sensitivity",
        claim="The finest level bounds no one.",
        caught_by=_LEVELS + "test_levels_agree_on_what_is_counted",
        patch=edited(
            "lazysketch.privacy.person_bound:bounds_of_levels",
            ("return bounds\n", "return (*bounds[:-1], None)\n"),
        ),
    ),
    PlantedBug(
        name="contributions-kept-from-the-window-before",
        subject="sensitivity",
        claim="A person of whom an earlier window counted an event is not counted any more.",
        caught_by=_WINDOWS + "test_by_the_clock",
        patch=edited(
            "lazysketch.windows.by_clock:ByClock.add",
            (
                "self._opened._table._add_to_batch(items, weights, user=user)",
                (
                    "kept = self.__dict__.setdefault('kept', {})\n"
                    "    number = self._state.number\n"
                    "    own = [kept.setdefault(one, number) == number for one in user]\n"
                    "    items = [item for item, is_own in zip(items, own) if is_own]\n"
                    "    user = [one for one, is_own in zip(user, own) if is_own]\n"
                    "    self._opened._table._add_to_batch(items, weights, user=user)"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="states-forget-the-options-of-people",
        subject="sensitivity",
        claim="A later run of a state may name another bound of people than the first one.",
        caught_by=_STATES + "test_another_bound_is_refused[--cells-]",
        patch=edited(
            "lazysketch.cli.run.state:State.defined",
            (
                "given and value != known[name] and not is_open",
                (
                    "given and value != known[name] and not is_open"
                    " and name not in ('user', 'cells', 'per_cell', 'most_people')"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="a-state-counts-every-event-of-a-person",
        subject="sensitivity",
        claim="A run with a state takes each event for one of another person.",
        caught_by=_STATES + "test_a_bound_that_was_reached_in_an_earlier_run_is_reached",
        patch=edited(
            "lazysketch.cli.run.state:Counting.update_many",
            (
                "user=user, rows",
                "user=user and [__import__('secrets').token_hex(8) for _ in items], rows",
            ),
        ),
    ),
    PlantedBug(
        name="people-of-a-state-only-where-they-are-named",
        subject="sensitivity",
        claim="A run that goes on with a state, and does not name --user, counts as one of events.",
        caught_by=_STATES + "test_a_bound_that_was_reached_in_an_earlier_run_is_reached",
        patch=edited(
            "lazysketch.cli.run.state:State.defined",
            (
                "changed[name] = value if given else known[name]",
                (
                    "changed[name] = value if given or name in"
                    " ('user', 'cells', 'per_cell', 'most_people') else known[name]"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="contributions-to-open-windows-forgotten",
        subject="durable state",
        claim="After a checkpoint in the middle of a window everyone may contribute to it again.",
        caught_by=_STORED_WINDOWS + "test_a_bound_ends_with_its_window",
        patch=edited(
            "lazysketch.store.recovered_objects:Origin.restore_people",
            (
                "people[number]._restore(self.native.checkpoint_state(place))",
                ("kept.progress or people[number]._restore(self.native.checkpoint_state(place))"),
            ),
        ),
    ),
    PlantedBug(
        name="bounds-end-with-a-slice",
        subject="sensitivity",
        claim="People may contribute again after each slice of a window.",
        caught_by=_WINDOWS + "test_by_the_clock",
        patch=edited(
            "lazysketch.windows.by_clock:ByClock.advance",
            (
                "table.tick(passed - table.step)",
                (
                    "table.tick(passed - table.step);"
                    " __import__('lazysketch')._native.People.of_table(table._table).forget()"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="the-account-forgets-one-window",
        subject="accounting",
        claim="A store says of windows that a person is protected in all of them.",
        caught_by=_STORED_WINDOWS + "test_the_account_is_that_of_one_window",
        patch=edited(
            "lazysketch.store.spent:plain_privacy", ('plain["within"] = privacy.within', "pass")
        ),
    ),
    PlantedBug(
        name="people-of-a-batch-not-split-at-empty-rows",
        subject="sensitivity",
        claim="Stored windows give the events after an empty row the first people of the batch.",
        caught_by=_STORED_WINDOWS + "test_a_batch_of_a_source_contributes_once",
        patch=edited(
            "lazysketch.store.stored_windows:StoredWindows._count_rows",
            ("people[part]", "people[: len(events[part])]"),
        ),
    ),
    PlantedBug(
        name="people-of-the-first-window-only",
        subject="sensitivity",
        claim="Every window of a batch takes the people of the first one for its own.",
        caught_by=_WINDOWS + "test_by_steps",
        patch=edited(
            "lazysketch.windows.by_steps:_Events.take",
            ("self.people[start:stop]", "self.people[: stop - start]"),
        ),
    ),
    PlantedBug(
        name="people-not-sorted-by-time",
        subject="sensitivity",
        claim="The events of a batch are sorted into windows by their times, their people are not.",
        caught_by=_WINDOWS + "test_by_the_time_of_events",
        patch=edited(
            "lazysketch.windows.by_time:ByTime.add",
            ("people.take(positions) for", "people[: len(positions)] for"),
        ),
    ),
    PlantedBug(
        name="a-person-protected-in-all-windows",
        subject="accounting",
        claim="Windows promise to a person in all of them what holds within one.",
        caught_by=_WINDOWS + "test_a_person_is_protected_within_one_window",
        patch=edited(
            "lazysketch.windows.window_tables:WindowTables.privacy",
            ('None if counts.person_bound is None else "one window"', "None"),
        ),
    ),
    PlantedBug(
        name="windows-compose-as-one",
        subject="accounting",
        claim="Windows are one part of a composition, although a person is in many of them.",
        caught_by=_WINDOWS + "test_a_person_in_many_windows_composes_by_their_number",
        patch=edited(
            "lazysketch.heavy_hitters.joint_privacy:JointPrivacy.parts_to_compose",
            ("if self.within is not None:", "if False:"),
        ),
    ),
    PlantedBug(
        name="a-person-beyond-one-window-unmentioned",
        subject="accounting",
        claim="The text of a guarantee within one window does not say what it leaves out.",
        caught_by=_WINDOWS + "test_a_person_is_protected_within_one_window",
        patch=edited(
            "lazysketch.privacy.wording:promise",
            ('f"for a person with events beyond {within}, which add up; {beyond}"', "beyond"),
        ),
    ),
    PlantedBug(
        name="totals-of-events-that-are-not-counted",
        subject="distribution",
        claim="Shares of a table that bounds people are shares of all steps.",
        caught_by=_WINDOWS + "test_names_and_totals_are_those_of_what_is_counted",
        patch=together(
            edited(
                "lazysketch.windows.window:total_of",
                (" and privacy.person_bound is None", ""),
            ),
            edited(
                "lazysketch.releases.table_facts:TableFacts._size",
                ("and part.privacy.person_bound is None", ""),
            ),
        ),
    ),
)
