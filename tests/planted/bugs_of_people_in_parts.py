"""Planted bugs of bounds of people at levels, in windows and in states."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited, together
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_PEOPLE_IN_PARTS"]

_LEVELS: Final = "tests/unit/heavy_hitters/test_people_of_levels.py::"
_WINDOWS: Final = "tests/unit/windows/test_people_of_windows.py::"
_HIERARCHY: Final = "lazysketch.heavy_hitters.hierarchical"
_STATES: Final = "tests/unit/cli/run/test_people_of_states.py::"
_STORED_WINDOWS: Final = "tests/unit/store/test_people_of_windows.py::"

BUGS_OF_PEOPLE_IN_PARTS: Final = (
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
                "self._tables.add(self._opened, items, weights, user)",
                (
                    "kept = self.__dict__.setdefault('kept', {})\n"
                    "    number = self._state.number\n"
                    "    own = [kept.setdefault(one, number) == number for one in user]\n"
                    "    items = [item for item, is_own in zip(items, own) if is_own]\n"
                    "    user = [one for one, is_own in zip(user, own) if is_own]\n"
                    "    self._tables.add(self._opened, items, weights, user)"
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
            "lazysketch.cli.run.state_counting:Counting.update_many",
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
                "restored_option(value if given else known[name], name)",
                (
                    "restored_option(value if given or name in"
                    " ('user', 'cells', 'per_cell', 'most_people') else known[name], name)"
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
            ("None if counts.person_bound is None else self._place", "None"),
        ),
    ),
    PlantedBug(
        name="windows-compose-as-one",
        subject="accounting",
        claim="Windows are one part of a composition, although a person is in many of them.",
        caught_by=_WINDOWS + "test_a_person_in_many_windows_composes_by_their_number",
        patch=edited(
            "lazysketch.heavy_hitters.joint_privacy:JointPrivacy.parts_to_compose",
            ("check_everywhere(self.within)", "pass"),
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
