"""Counts of workers that are added twice, with noise, too early, or under a false description."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_PARTIAL_COUNTS", "BUGS_OF_PARTIAL_COUNTS_IN_THE_CORE"]

_CORE: Final = "lib partial::tests"
_SUMS: Final = f"{_CORE}::steps_of_sums"
_BATCHES: Final = "lazysketch.store.partial_batches"
_INGESTION: Final = "lazysketch.store.partial_ingestion:PartialIngestion"
_TESTS: Final = "tests/unit/store/test_partials.py"
_LEVELS: Final = "tests/unit/store/test_partials_of_levels.py"

BUGS_OF_PARTIAL_COUNTS_IN_THE_CORE: Final = (
    PlantedBug(
        name="partial-added-twice",
        subject="sensitivity",
        claim="The counts of a step are added to the table twice.",
        caught_by=f"{_CORE}::workers_end_in_the_state_of_one_machine",
    ),
    PlantedBug(
        name="noise-on-a-worker",
        subject="distribution",
        claim="Workers add noise of their own to what they count.",
        caught_by=f"{_CORE}::workers_end_in_the_state_of_one_machine",
    ),
    PlantedBug(
        name="merged-partial-stays-open",
        subject="sensitivity",
        claim="Counts that were merged into other ones can be sealed as well.",
        caught_by=f"{_CORE}::refused_counts::an_id_is_on_one_content",
    ),
    PlantedBug(
        name="gathered-description-counts-the-events",
        subject="distribution",
        claim="The description of a step's sum has its exact number of events, in clear.",
        caught_by=f"{_CORE}::sizes_and_descriptions_do_not_depend_on_the_events",
    ),
    PlantedBug(
        name="union-adds-what-is-set",
        subject="sensitivity",
        claim="A bit of a distinct item that two workers or two steps have set counts twice.",
        caught_by=f"{_CORE}::steps_of_bits::unions_end_in_the_state_of_one_machine",
    ),
    PlantedBug(
        name="edges-of-a-worker-are-not-compared",
        subject="distribution",
        claim="A worker counts values in other bins than those of the digest that it seals.",
        caught_by=f"{_CORE}::steps_of_values::other_edges_are_refused",
    ),
    PlantedBug(
        name="keys-of-a-worker-in-cells-of-items",
        subject="sensitivity",
        claim="A worker counts keys of ranges where a sketch would count items.",
        caught_by=f"{_CORE}::workers_end_in_the_state_of_one_machine",
    ),
    PlantedBug(
        name="cells-of-no-key-are-accepted",
        subject="sensitivity",
        claim="Sealed counts that no keys of ranges could have are added to the table.",
        caught_by=f"{_CORE}::steps_of_ranges::impossible_counts_of_ranges_are_refused",
    ),
    PlantedBug(
        name="values-of-workers-are-not-added",
        subject="durable state",
        claim="Of what workers count for sums the store adds the events, and not their values.",
        caught_by=f"{_SUMS}::both_tables_end_in_the_state_of_one_machine",
    ),
    PlantedBug(
        name="signs-of-a-worker-are-lost",
        subject="sensitivity",
        claim="A worker of sums counts values below the middle as the largest ones.",
        caught_by=f"{_SUMS}::both_tables_end_in_the_state_of_one_machine",
    ),
    PlantedBug(
        name="grid-of-a-worker-is-not-compared",
        subject="distribution",
        claim="Counts of values between other bounds are added to sums.",
        caught_by=f"{_SUMS}::other_grids_are_refused",
    ),
    PlantedBug(
        name="sums-of-no-events-are-accepted",
        subject="sensitivity",
        claim="Sealed sums that no events could have counted are added to both tables.",
        caught_by=f"{_SUMS}::a_row_is_accepted_if_some_events_count_so",
    ),
    PlantedBug(
        name="copies-of-a-name-count-once",
        subject="discovery",
        claim="A name that workers have counted is one event, however often it occurred.",
        caught_by=f"{_CORE}::steps_of_names::workers_end_in_the_state_of_one_order",
    ),
    PlantedBug(
        name="weights-of-workers-are-not-cut",
        subject="discovery",
        claim="A worker counts the whole weight of an event for its name, where less is protected.",
        caught_by=f"{_CORE}::steps_of_names::workers_end_in_the_state_of_one_order",
    ),
    PlantedBug(
        name="names-of-workers-in-the-order-of-arrival",
        subject="discovery",
        claim="The state of discovery depends on how a step was split over workers.",
        caught_by=f"{_CORE}::steps_of_names::workers_end_in_the_state_of_one_order",
    ),
    PlantedBug(
        name="a-name-of-two-workers-counts-twice",
        subject="sensitivity",
        claim="The events of a name that an earlier worker has counted too are added twice.",
        caught_by=f"{_CORE}::steps_of_names::a_step_of_names_has_one_digest",
    ),
    PlantedBug(
        name="rare-names-stay-on-the-worker",
        subject="discovery",
        claim="A worker keeps back names of one event, so that their sum depends on the split.",
        caught_by=f"{_CORE}::steps_of_names::a_step_of_names_has_one_digest",
    ),
    PlantedBug(
        name="names-over-the-limit-are-left-out",
        subject="discovery",
        claim="Names beyond the limit of a worker are dropped without an error.",
        caught_by=f"{_CORE}::steps_of_names::a_batch_over_the_limit_is_refused_whole",
    ),
    PlantedBug(
        name="sealed-names-are-not-padded",
        subject="distribution",
        claim="The size of sealed names is their exact size.",
        caught_by=f"{_CORE}::steps_of_names::sizes_of_names_are_rounded",
    ),
    PlantedBug(
        name="a-level-counts-its-names-twice",
        subject="sensitivity",
        claim="The names of a level of a hierarchy are added to its table and its discovery twice.",
        caught_by=f"{_CORE}::steps_of_levels::levels_end_in_the_state_of_one_order",
    ),
    PlantedBug(
        name="a-finer-name-is-one-event-of-a-coarser",
        subject="discovery",
        claim="A coarse name is counted once per finer name, not once per event.",
        caught_by=f"{_CORE}::steps_of_levels::levels_end_in_the_state_of_one_order",
    ),
    PlantedBug(
        name="rare-names-have-no-coarser-ones",
        subject="discovery",
        claim="Names of one event are not counted at the coarser levels of their hierarchy.",
        caught_by=f"{_CORE}::steps_of_levels::levels_end_in_the_state_of_one_order",
    ),
)

BUGS_OF_PARTIAL_COUNTS: Final = (
    PlantedBug(
        name="partial-counted-twice",
        subject="durable state",
        claim="Sealed counts that were added are added again.",
        caught_by=f"{_TESTS}::test_partial_counts_are_added_once",
        patch=edited(
            f"{_BATCHES}:PartialBatches.check_new", ("if partial.id in seen:", "if False:")
        ),
    ),
    PlantedBug(
        name="added-ids-forgotten-by-a-restart",
        subject="durable state",
        claim="The ids of counts in the log are not read back.",
        caught_by=f"{_TESTS}::test_partial_counts_are_added_once",
        patch=edited(
            "lazysketch.store.recovered_objects:RecoveredObjects._add",
            ("self._partials.add(call)", "pass"),
        ),
    ),
    PlantedBug(
        name="ids-forgotten-before-their-descriptions-are",
        subject="durable state",
        claim="Counts are accepted under a description whose ids are no longer kept.",
        caught_by=f"{_TESTS}::test_ids_are_kept_as_long_as_a_description_can_be_used",
        patch=edited(
            f"{_BATCHES}:PartialBatches.check_new",
            ("step - LIFETIME < partial.issued", "step - 2 * LIFETIME < partial.issued"),
        ),
    ),
    PlantedBug(
        name="changed-input-accepted",
        subject="durable state",
        claim="A batch id that is committed comes with other input, and is acknowledged.",
        caught_by=f"{_TESTS}::test_a_committed_batch_cannot_be_changed",
        patch=edited(f"{_BATCHES}:PartialBatches.repeated", ("if new != old:", "if False:")),
    ),
    PlantedBug(
        name="repeated-partials-counted-again",
        subject="durable state",
        claim="A batch that is sent again is one more step.",
        caught_by=f"{_TESTS}::test_a_batch_is_counted_once_and_published_again",
        patch=edited(
            f"{_BATCHES}:PartialBatches.repeated",
            ("if call.sequence > last_sequence:", "if call.sequence >= last_sequence:"),
        ),
    ),
    PlantedBug(
        name="publication-before-commit",
        subject="durable state",
        claim="The release of a step is made before its counts are durable.",
        caught_by=f"{_TESTS}::test_what_is_published_is_durable",
        patch=edited(
            f"{_INGESTION}._publication",
            ("self._journal.commit()", "self._journal.check()"),
            ("into._publication()", "(type(into).release.__wrapped__(into),)"),
        ),
    ),
    PlantedBug(
        name="publication-of-a-later-step",
        subject="durable state",
        claim="A batch that is sent again gets the release of the object as it is by then.",
        caught_by=f"{_TESTS}::test_a_batch_is_counted_once_and_published_again",
        patch=edited(f"{_INGESTION}._publication", ("if not batch.publication:", "if True:")),
    ),
    PlantedBug(
        name="workers-of-sums-have-another-middle",
        subject="distribution",
        claim="Workers count values from another middle than the sums of the store.",
        caught_by=f"{_TESTS}::test_workers_publish_what_one_machine_does[0-sums]",
        patch=edited(
            "lazysketch.store.stored_sums:StoredSums._partial_values",
            ("grid.low, grid.high", "grid.low - 1.0, grid.high"),
        ),
    ),
    PlantedBug(
        name="counts-of-levels-take-a-step-of-windows",
        subject="durable state",
        claim="What workers send is a step of its own, and not a part of the open slice.",
        caught_by=f"{_LEVELS}::test_windows_of_levels_count_what_workers_send[0]",
        patch=edited(
            "lazysketch.store.stored_hierarchical_windows:StoredHierarchicalWindows._carry_out",
            ("in_open_step=True", "in_open_step=False"),
        ),
    ),
    PlantedBug(
        name="levels-of-python-split-by-workers",
        subject="discovery",
        claim="Workers count the items of a hierarchy of Python functions as names of its levels.",
        caught_by=f"{_LEVELS}::test_functions_of_python_and_people_are_refused",
        patch=edited(
            "lazysketch.store.stored_changes:workers_split",
            ("levels._hierarchy is None", "False"),
        ),
    ),
)
