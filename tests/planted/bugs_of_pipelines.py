"""Planted bugs of pipelines: several statistics under one guarantee."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited, together
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_PIPELINES"]

_SPLIT: Final = "lazysketch.pipelines.shares:split_privacy"
_WITHIN: Final = (
    "tests/unit/pipelines/test_pipeline.py::test_all_parts_stay_within_the_guarantee"
    "[1.0-1e-06-substitution]"
)
_STORED: Final = "tests/unit/store/test_stored_pipelines.py::"
_PARTS: Final = "tests/unit/pipelines/test_pipeline.py::"
_PEOPLE: Final = "tests/unit/pipelines/test_pipeline_of_people.py::"
_STORED_PEOPLE: Final = "tests/unit/store/test_stored_pipelines_of_people.py::"
_COMMAND_PEOPLE: Final = "tests/unit/cli/commands/test_pipeline_of_people.py::"
_COMMAND: Final = "tests/unit/cli/commands/test_pipeline.py::"
_RUN: Final = "lazysketch.cli.run.pipeline_run"

BUGS_OF_PIPELINES: Final = (
    PlantedBug(
        name="parts-with-the-whole-privacy",
        subject="accounting",
        claim="Every part of a pipeline is calibrated for the privacy of all parts together.",
        caught_by=_WITHIN,
        patch=edited(_SPLIT, ("return pairs(fits)", "return [(epsilon, delta)] * len(shares)")),
    ),
    PlantedBug(
        name="parts-at-the-scale-that-exceeds",
        subject="accounting",
        claim="The scale of all mu is the last one at which the guarantee does not hold.",
        caught_by=_WITHIN,
        patch=edited(_SPLIT, ("return pairs(fits)", "return pairs(exceeds)")),
    ),
    PlantedBug(
        name="pipeline-of-its-first-part",
        subject="accounting",
        claim="The guarantee of a pipeline is that of its first part.",
        caught_by=_WITHIN,
        patch=edited(
            "lazysketch.pipelines.shares:together",
            ("for live in parts", "for live in [*parts][:1]"),
        ),
    ),
    PlantedBug(
        name="people-of-another-column-in-the-next-life",
        subject="durable state",
        claim="A pipeline goes on with another column of people, who have their bound again.",
        caught_by=_STORED_PEOPLE + "test_the_people_are_those_of_one_column_in_all_lives",
        patch=edited(
            "lazysketch.store.stored_pipeline:split_of_note", ("if people != user:", "if False:")
        ),
    ),
    PlantedBug(
        name="recovered-pipeline-of-its-first-part",
        subject="durable state",
        claim="After a crash the rows of a pipeline are counted in its first part alone.",
        caught_by="tests/unit/store/test_stored_pipelines.py::test_restarts_change_nothing[rows-1]",
        patch=edited(
            "lazysketch.store.recovered_objects:RecoveredObjects._add",
            ("in call.divided()", "in call.divided()[:1]"),
        ),
    ),
    PlantedBug(
        name="pipeline-divided-anew-in-each-life",
        subject="durable state",
        claim="How the privacy of a stored pipeline is divided is not kept.",
        caught_by=(
            "tests/unit/store/test_stored_pipelines.py::test_the_split_is_that_of_the_first_life"
        ),
        patch=edited(
            "lazysketch.store.pipelines_by_name:PipelinesByName.pipeline",
            ("if noted is None:", "if True:"),
        ),
    ),
    PlantedBug(
        name="pipeline-run-not-charged",
        subject="accounting",
        claim="The command that counts several statistics does not charge its ledger.",
        caught_by=f"{_COMMAND}test_a_ledger_is_charged_for_all_parts_before_anything_is_read",
        patch=edited(
            f"{_RUN}:run_of_pipeline",
            ("charging.charge(pipeline.privacy, of=columns.first.name, state=None)", "pass"),
        ),
    ),
    PlantedBug(
        name="rows-without-a-field-take-no-step",
        subject="schedule",
        claim="A row that lacks the field of a part takes no step in it.",
        caught_by=f"{_COMMAND}test_a_row_without_a_field_is_a_step_of_the_others",
        patch=edited(
            f"{_RUN}:_rows_of",
            ("one.items, one.empty_rows, one.rows", "one.items, (), len(one.items)"),
        ),
    ),
    PlantedBug(
        name="number-of-another-row-in-a-pipeline",
        subject="sensitivity",
        claim="A part of sums leaves out a missing item and keeps the number of its row.",
        caught_by=_PARTS + "test_sums_count_rows_that_have_both_an_item_and_a_number[False-lists]",
        patch=edited(
            "lazysketch.pipelines.columns:rows_of_part",
            (
                "numbers=chosen[1] if",
                "numbers=[*columns[1][0]][: len(chosen[0])] if",
            ),
        ),
    ),
    PlantedBug(
        name="person-of-another-row-in-a-pipeline",
        subject="sensitivity",
        claim="A part leaves out a row that lacks its value and keeps the person of the row.",
        caught_by=_PEOPLE + "test_a_part_is_what_it_would_be_alone[latency-True]",
        patch=edited(
            "lazysketch.pipelines.columns:rows_of_part",
            ("else chosen[-1]", "else [*users[0]][: len(chosen[0])]"),
        ),
    ),
    PlantedBug(
        name="part-that-bounds-no-one",
        subject="sensitivity",
        claim="A part of a pipeline takes each row for one of another person, and counts all.",
        caught_by=_PEOPLE + "test_no_person_moves_all_parts_by_more_than_the_guarantee",
        patch=edited(
            "lazysketch.pipelines.columns:stream_of",
            ("else rows.users,", "else [*range(len(rows.users))],"),
        ),
    ),
    PlantedBug(
        name="distinct-items-that-are-not-the-people",
        subject="accounting",
        claim="A pipeline of people counts distinct items of any column without a bound.",
        caught_by=_PEOPLE + "test_distinct_items_are_the_people",
        patch=edited(
            "lazysketch.pipelines.part:_of_people", ("if part.column != user:", "if False:")
        ),
    ),
    PlantedBug(
        name="people-of-a-pipeline-as-items",
        subject="sensitivity",
        claim="The command takes the field of the person as it takes items: 7 and '7' are two.",
        caught_by=_COMMAND_PEOPLE + "test_a_person_is_one_however_it_is_written[parquet]",
        patch=edited(f"{_RUN}:_rows_of", ("of_people.users, of", "of_people.items, of")),
    ),
    PlantedBug(
        name="people-of-the-part-before-in-a-record",
        subject="durable state",
        claim="In a record of a pipeline all parts have the people of the first one.",
        caught_by=_STORED_PEOPLE + "test_a_record_gives_each_part_its_own_people",
        patch=edited("lazysketch.store.calls:Call.divided", ("person += people", "person += 0")),
    ),
    PlantedBug(
        name="sums-of-a-pipeline-without-their-values",
        subject="durable state",
        claim="In a record of a pipeline all parts of sums have the numbers of the first one.",
        caught_by=_STORED + "test_each_part_of_sums_has_numbers_of_its_own",
        patch=edited(
            "lazysketch.store.calls:Call.divided",
            ("row + rows, weight + number", "row + rows, 0"),
        ),
    ),
    PlantedBug(
        name="one-table-of-sums-in-a-pipeline",
        subject="schedule",
        claim="A part of sums counts events, and its table of values takes no step.",
        caught_by=_PARTS + "test_a_part_is_what_it_would_be_alone[spent]",
        patch=together(
            edited(
                "lazysketch.pipelines.columns:counted",
                (
                    "return [(values, None), (values, live._weights(rows.numbers))]",
                    "return [(values, None)]",
                ),
            ),
            edited(
                "lazysketch.pipelines.columns:tables_of",
                ("return [*live._tables]", "return [*live._tables][:1]"),
            ),
        ),
    ),
    PlantedBug(
        name="pipeline-published-after-a-failure",
        subject="schedule",
        claim="A run that fails at a row publishes the counts up to this row.",
        caught_by=f"{_COMMAND}test_a_strict_reading_that_fails_shows_nothing",
        patch=edited(
            f"{_RUN}:_Run._complete",
            ("strict or not self._pipeline.steps or (failed and waits)", "False"),
        ),
    ),
    PlantedBug(
        name="items-of-rows-stated-as-people",
        subject="accounting",
        claim="A store takes the distinct items of any pipeline for people.",
        caught_by="tests/unit/store/test_descriptions.py::"
        "test_distinct_items_of_rows_are_not_taken_for_people",
        patch=edited(
            "lazysketch.store.stored_pipeline:people_protected_in",
            ('plain.get("user") is None', "False"),
        ),
    ),
    PlantedBug(
        name="not-private-stated-as-private",
        subject="accounting",
        claim="A store states a guarantee for an object that is NOT PRIVATE.",
        caught_by="tests/unit/store/test_descriptions.py::test_units_without_a_sum_are_stated_each",
        patch=edited("lazysketch.store.spent:_unit_of", ("not counts.private", "False")),
    ),
)
