"""Planted bugs of the core: each is a ``planted!`` in ``rust/core/src``."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs_of_discovery_in_the_core import BUGS_OF_DISCOVERY_IN_THE_CORE
from tests.planted.bugs_of_distinct_items import BUGS_OF_DISTINCT_ITEMS_IN_THE_CORE
from tests.planted.bugs_of_partial_counts import BUGS_OF_PARTIAL_COUNTS_IN_THE_CORE
from tests.planted.bugs_of_people import BUGS_OF_PEOPLE_IN_THE_CORE
from tests.planted.bugs_of_releases import BUGS_OF_RELEASES
from tests.planted.bugs_of_sliding_windows import BUGS_OF_DIFFERENCES, BUGS_OF_STEPS_AHEAD
from tests.planted.bugs_of_the_final_push import BUGS_OF_THE_FINAL_PUSH
from tests.planted.bugs_of_values import BUGS_OF_VALUES_IN_THE_CORE
from tests.planted.planted_bug import PlantedBug

_PROPERTIES: Final = "tests/properties/"
_STATISTICAL: Final = "tests/statistical/"
_UNIT: Final = "tests/unit/"

BUGS_OF_THE_CORE: tuple[PlantedBug, ...] = (
    *BUGS_OF_DISCOVERY_IN_THE_CORE,
    *BUGS_OF_DISTINCT_ITEMS_IN_THE_CORE,
    *BUGS_OF_VALUES_IN_THE_CORE,
    *BUGS_OF_PARTIAL_COUNTS_IN_THE_CORE,
    *BUGS_OF_PEOPLE_IN_THE_CORE,
    *BUGS_OF_THE_FINAL_PUSH,
    *BUGS_OF_DIFFERENCES,
    *BUGS_OF_STEPS_AHEAD,
    *BUGS_OF_RELEASES,
    PlantedBug(
        name="noise-repeats-after-1024-pushes",
        subject="reuse of draws",
        claim="The noise of push p - 1024 is used again from push 1025 on.",
        caught_by=_PROPERTIES + "test_reach.py::test_no_two_pushes_have_the_same_noise[tree]",
    ),
    PlantedBug(
        name="rounded-after-the-children",
        subject="distribution",
        claim="Deeper nodes use the noise of a node before it is rounded.",
        caught_by="lib mechanism::descent::tests::shifts_commute",
    ),
    PlantedBug(
        name="halves-rounded-to-even",
        subject="distribution",
        claim="A node rounds halves down or up by the noise, which does not commute with counts.",
        caught_by="lib mechanism::descent::tests::division_rounds_halves_up",
    ),
    PlantedBug(
        name="left-end-forgotten",
        subject="sensitivity",
        claim="Shared rows do not sum to zero: the left end of their block has no entry.",
        caught_by="lib mechanism::deep::tests::sensitivity_equals_its_definition",
    ),
    PlantedBug(
        name="window-of-five-turns",
        subject="sensitivity",
        claim="The recursion takes half of the nodes below a 6th ancestor.",
        caught_by="lib mechanism::deep::tests::sensitivity_equals_its_definition",
    ),
    PlantedBug(
        name="sensitivity-of-a-smaller-tree",
        subject="sensitivity",
        claim="A tree with shared rows has the sensitivity of the tree with half as many leaves.",
        caught_by="lib mechanism::deep::tests::sensitivity_equals_its_definition",
    ),
    PlantedBug(
        name="epoch-shows-in-earlier-leaves",
        subject="sensitivity",
        claim="Without a horizon, rows of an epoch do not sum to zero: earlier leaves change them.",
        caught_by="lib mechanism::endless::tests::every_epoch_equals_its_definition",
    ),
    PlantedBug(
        name="spine-row-dropped",
        subject="sensitivity",
        claim="A leaf without a horizon changes the spine of its own epoch alone.",
        caught_by="lib mechanism::endless::tests::every_epoch_equals_its_definition",
    ),
    PlantedBug(
        name="node-number-in-16-bits",
        subject="reuse of draws",
        claim="The number of a node is cut to 16 bits.",
        caught_by="lib noise::prf::tests::no_two_pairs_share_a_block",
    ),
    PlantedBug(
        name="cell-number-in-16-bits",
        subject="reuse of draws",
        claim="Cell 65,536 has the noise of cell 0.",
        caught_by=_PROPERTIES + "test_reach.py::test_cells_of_a_wide_table_share_no_noise",
    ),
    PlantedBug(
        name="cell-number-within-its-chunk",
        subject="reuse of draws",
        claim=("Cells are numbered within their chunk of 64, so every chunk has the same noise."),
        caught_by=_PROPERTIES + "test_reach.py::test_cells_of_a_wide_table_share_no_noise",
    ),
    PlantedBug(
        name="rows-share-noise",
        subject="reuse of draws",
        claim="All rows of a column have the same noise.",
        caught_by=_PROPERTIES + "test_reach.py::test_cells_of_a_wide_table_share_no_noise",
    ),
    PlantedBug(
        name="new-push-takes-the-noise-of-the-last",
        subject="reuse of draws",
        claim=(
            "A column that was pushed in this round keeps the noise of its last push: "
            "the difference of two releases is exact."
        ),
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="key-without-the-sketch-id",
        subject="reuse of draws",
        claim="All sketches of one master key have the same noise.",
        caught_by=_PROPERTIES + "test_draw_hygiene.py::test_one_master_key_and_fresh_ids",
    ),
    PlantedBug(
        name="key-without-its-purpose",
        subject="reuse of draws",
        claim="Sketch, discovery, identities and hash seed use one key.",
        caught_by="lib key::tests::every_input_of_the_derivation_changes_the_key",
    ),
    PlantedBug(
        name="key-without-the-parameters",
        subject="reuse of draws",
        claim="Sketches with different parameters have the same draws.",
        caught_by=(
            _PROPERTIES + "test_draw_hygiene.py::"
            "test_one_parameter_changes_all_draws[LazyCountMin-epsilon by one bit]"
        ),
    ),
    PlantedBug(
        name="epoch-keys-repeat-after-8",
        subject="reuse of draws",
        claim="Discovery epoch 8 has the noise of epoch 0.",
        caught_by=_PROPERTIES
        + "test_reach.py::test_no_two_epochs_and_no_two_slots_have_the_same_noise",
    ),
    PlantedBug(
        name="discovery-noise-repeats-after-64-slots",
        subject="reuse of draws",
        claim="Discovery draws one chunk of 64 slots and uses it for all.",
        caught_by=_PROPERTIES
        + "test_reach.py::test_many_slots_and_epochs_equal_the_oracle[dictionary]",
    ),
    PlantedBug(
        name="first-slot-takes-the-shared-noise",
        subject="reuse of draws",
        claim="Slots of Misra-Gries are numbered from 0: the first draws the shared noise.",
        caught_by=_PROPERTIES
        + "test_reach.py::test_many_slots_and_epochs_equal_the_oracle[dictionary]",
    ),
    PlantedBug(
        name="master-key-cut-to-8-bytes",
        subject="reuse of draws",
        claim="Keys are derived from the first 8 bytes of the master key.",
        caught_by="lib key::tests::golden_working_key",
    ),
    PlantedBug(
        name="sigma-5-percent-low",
        subject="distribution",
        claim="The draws have 95 % of the stated deviation.",
        caught_by=(
            _STATISTICAL + "test_residuals.py::"
            "test_each_push_and_each_pair_of_pushes[count-min, binary, round robin]"
        ),
    ),
    PlantedBug(
        name="sigma-5-percent-high",
        subject="distribution",
        claim="The draws have 105 % of the stated deviation.",
        caught_by=(
            _STATISTICAL + "test_residuals.py::"
            "test_each_push_and_each_pair_of_pushes[count-min, binary, round robin]"
        ),
    ),
    PlantedBug(
        name="draws-cut-at-3-deviations",
        subject="distribution",
        claim="Draws beyond 3 deviations are moved to 3 deviations.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_long_batches[count-min-haar-round robin]"
        ),
    ),
    PlantedBug(
        name="draws-repeat-at-the-end-of-a-chunk",
        subject="distribution",
        claim="The last draw of a chunk is a copy of the first.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="draws-without-a-sign",
        subject="distribution",
        claim="No draw is negative.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="root-left-out-of-the-noise",
        subject="distribution",
        claim="The noise of a push leaves out the root of the tree.",
        caught_by=_STATISTICAL + "test_tree_residuals.py::test_each_push_agrees_with_its_rows[k5]",
    ),
    PlantedBug(
        name="rounding-half-to-even",
        subject="distribution",
        claim="Sums are rounded half to even, which shows the parity of the exact count.",
        caught_by=_PROPERTIES + "test_additivity.py::test_differences_are_exact_at_ties[count-min]",
    ),
    PlantedBug(
        name="zero-counts-without-noise",
        subject="distribution",
        claim="A count of 0 is published without noise.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="last-push-without-noise",
        subject="distribution",
        claim="The last push of a mechanism is published without noise.",
        caught_by=_PROPERTIES + "test_core_equals_oracle.py::test_a_horizon_of_one_step[binary]",
    ),
    PlantedBug(
        name="no-noise-after-counters-widen",
        subject="distribution",
        claim="Once counters are 64 bits wide, tables are published without noise.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_counts_beyond_32_bits[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="sensitivity-of-an-average-push",
        subject="sensitivity",
        claim="The tree states 0.9 of its squared sensitivity.",
        caught_by=(
            _UNIT + "specification/test_tree_mechanism.py::test_column_norms_of_the_query[2-tree]"
        ),
    ),
    PlantedBug(
        name="haar-sensitivity-without-the-root",
        subject="sensitivity",
        claim="The sensitivity of haar leaves out the root.",
        caught_by="lib mechanism::haar::tests::sensitivity_by_brute_force",
    ),
    PlantedBug(
        name="too-little-noise-not-marked",
        subject="sensitivity",
        claim="The core accepts any sigma as enough for epsilon and delta.",
        caught_by=_UNIT + "native/test_boundary.py::test_the_core_marks_insufficient_noise",
    ),
    PlantedBug(
        name="own-check-for-one-event",
        subject="sensitivity",
        claim="The core's own check of sigma covers one event of a person, however many there are.",
        caught_by=("lib guarantee::tests::noise_grows_with_the_events_and_the_weight_of_a_person"),
    ),
    PlantedBug(
        name="own-check-for-fixed-events",
        subject="sensitivity",
        claim="The core's own check of sigma is that of an event that is fixed in advance.",
        caught_by="lib guarantee::tests::reference_multipliers_serve_and_smaller_ones_do_not",
    ),
    PlantedBug(
        name="own-check-without-the-substitute",
        subject="sensitivity",
        claim="The core's own check of sigma leaves out the event that takes the place of another.",
        caught_by="lib guarantee::tests::sensitivities_are_those_of_one_event",
    ),
    PlantedBug(
        name="weight-not-checked",
        subject="sensitivity",
        claim="One event may have a weight above max_weight.",
        caught_by=_UNIT + "native/test_weights.py::test_weights_above_max_weight",
    ),
    PlantedBug(
        name="weights-of-a-batch-not-checked",
        subject="sensitivity",
        claim="Events of a batch may have weights above max_weight.",
        caught_by=(
            _UNIT + "native/test_weights.py::test_a_weight_outside_its_range[4611686018427387904]"
        ),
    ),
    PlantedBug(
        name="events-per-step-not-enforced",
        subject="sensitivity",
        claim="A step of the batch schedule may have more events than stated.",
        caught_by="lib sketch::updates::tests::a_step_refuses_events_above_its_bound",
    ),
    PlantedBug(
        name="pending-counts-published",
        subject="schedule",
        claim="Reads add the pending counts to the published ones.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="next-column-published-early",
        subject="schedule",
        claim=(
            "Single updates publish the counts of the next column before its push, "
            "under the noise of the last."
        ),
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_geometric_rounds_longer_than_the_width[count-min-binary]"
        ),
    ),
    PlantedBug(
        name="pushes-one-step-late",
        subject="schedule",
        claim="A round robin pushes one step late.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="geometric-schedule-pushes-once-more",
        subject="schedule",
        claim="The geometric schedule has one round more than its mechanism.",
        caught_by=_PROPERTIES
        + "test_reach.py::test_the_geometric_schedule_ends_with_its_last_push",
    ),
    PlantedBug(
        name="empty-rows-take-no-step",
        subject="schedule",
        claim="A row without an event takes no step, so later events shift.",
        caught_by=(
            _UNIT + "native/test_rows_without_events.py::"
            "test_rows_equal_updates_and_ticks[lazy-list]"
        ),
    ),
    PlantedBug(
        name="open-step-published",
        subject="schedule",
        claim="Events of an open step are published before the step ends.",
        caught_by="open_step parts_of_a_batch_are_the_batch",
    ),
    PlantedBug(
        name="push-forgotten-between-two-parts-of-a-batch",
        subject="schedule",
        claim="A batch of more than one round forgets the push between its two parts.",
        caught_by=(
            _PROPERTIES + "test_core_equals_oracle.py::"
            "test_every_step[count-min-binary-round robin]"
        ),
    ),
    PlantedBug(
        name="events-after-a-push-published",
        subject="schedule",
        claim=(
            "Counts that left the range of a byte are published although their events came after "
            "the push of their column."
        ),
        caught_by="lib table::shares::tests::counting_in_shares_equals_single_events",
    ),
    PlantedBug(
        name="pushes-of-the-next-event-in-a-run",
        subject="schedule",
        claim="Pushes that are taken together are one event early.",
        caught_by="lib table::pushes::tests::runs_of_pushes_equal_single_ones",
    ),
    PlantedBug(
        name="horizon-not-enforced",
        subject="schedule",
        claim=(
            "A sketch takes events past its horizon, and pushes more often than its "
            "mechanism allows."
        ),
        caught_by=(
            _UNIT + "sketches/test_live_state.py::"
            "test_past_the_horizon_nothing_changes[1-LazyCountMin]"
        ),
    ),
    PlantedBug(
        name="seeded-key-not-marked",
        subject="accounting",
        claim="A sketch under a seeded key claims to be private.",
        caught_by=_UNIT + "sketches/test_keys.py::test_marks_of_keys[LazyCountMin]",
    ),
    PlantedBug(
        name="chosen-id-not-marked",
        subject="accounting",
        claim="A sketch with an id of the caller claims to be private.",
        caught_by=_UNIT + "sketches/test_keys.py::test_marks_of_keys[LazyCountMin]",
    ),
    PlantedBug(
        name="names-fitted-once-for-all-counts",
        subject="distribution",
        claim="The names that share cells with an item are fitted once, not to each tested count.",
        caught_by="peeling the_true_count_is_rejected_as_often_as_the_level_says",
    ),
    PlantedBug(
        name="key-shown-in-debug-output",
        subject="accounting",
        claim="The debug output of a key shows its bytes.",
        caught_by="lib key::tests::fresh_values_differ_and_debug_shows_no_secret",
    ),
    PlantedBug(
        name="stored-numbers-in-8-bits",
        subject="reuse of draws",
        claim="The window of a store has the noise of the one 256 windows before; so have eras.",
        caught_by="lib key::tests::ids_of_a_store_repeat_for_one_sketch_only",
    ),
)
