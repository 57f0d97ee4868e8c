"""Slow unit tests of the package, of 5 seconds and more: they meet what the others leave."""

from __future__ import annotations

from typing import Final

__all__ = ["SLOW"]

SLOW: Final[dict[str, tuple[str, ...]]] = {
    "tests/unit/heavy_hitters/test_discovery.py": ("test_names_equal_the_oracle",),
    "tests/unit/heavy_hitters/test_discovery_enumeration.py": (
        "test_events_of_one_person_and_their_weights",
        "test_keys_at_zero_that_leave_break_the_promise",
        "test_misra_gries_is_private_with_some_slack",
        "test_the_dictionary_is_exactly_as_private_as_promised",
        "test_thresholds_are_the_smallest",
    ),
    "tests/unit/heavy_hitters/test_hierarchical.py": (
        "test_a_row_that_does_not_fit_is_named_by_position",
        "test_batches_of_all_forms_and_single_updates_are_one",
        "test_batches_share_a_step",
        "test_batches_that_are_none",
        "test_functions_that_make_no_names",
        "test_intervals_of_implied_parents_cover_the_published_names_too",
        "test_the_tree_of_what_is_heavy",
    ),
    "tests/unit/heavy_hitters/test_hierarchies.py": (
        "test_ipv4_is_the_standard_library_s",
        "test_ipv6_is_the_standard_library_s",
    ),
    "tests/unit/heavy_hitters/test_levels_privacy.py": (
        "test_all_levels_together_keep_the_promise",
        "test_parts_never_exceed_the_total",
    ),
    # Other processes, which have no mutant.
    "tests/unit/ledger/test_files.py": (
        "test_no_charge_that_returned_is_lost_when_a_process_is_killed",
    ),
    "tests/unit/privacy/test_calibration.py": (
        "test_agrees_with_dp_accounting",
        "test_every_accepted_calibration_is_sufficient",
        "test_gaussian_delta_errs_upwards_everywhere",
        "test_gaussian_delta_is_a_close_upper_bound",
        "test_multiplier_is_sufficient_and_tight",
        "test_multiplier_is_tight_to_the_documented_1e_9",
    ),
    "tests/unit/privacy/test_composition.py": (
        "test_more_parts_cost_more_but_no_more_than_their_sum",
        "test_one_part_is_itself",
        "test_order_and_nesting_do_not_matter",
    ),
    "tests/unit/privacy/test_curve.py": (
        "test_delta_falls_and_is_never_below_the_ideal",
        "test_numerics_are_covered_at_every_epsilon",
        "test_round_trip_errs_towards_privacy",
        "test_the_curve_goes_through_the_calibrated_pair",
    ),
    "tests/unit/privacy/test_relations.py": (
        "test_brute_force_attains_the_sensitivity",
        "test_the_papers_two_d_is_exceeded",
        "test_weights_scale_the_square_by_their_square",
    ),
    "tests/unit/releases/test_heavy_items.py": (
        "test_top_is_the_head_of_all_simultaneous_intervals",
    ),
    "tests/unit/releases/test_names.py": ("test_names_come_back_in_order_with_their_types",),
    "tests/unit/releases/test_release_bytes.py": (
        "test_every_flipped_byte_with_a_valid_checksum_is_refused_or_read_as_itself",
    ),
    "tests/unit/specification/test_schedule_lags.py": ("test_no_column_waits_longer_than_stated",),
    "tests/unit/specification/test_sizing.py": (
        "test_count_sketch_theorem",
        "test_count_sketch_theorem_holds_everywhere",
        "test_derived_sizes_keep_their_promise_on_random_hashes",
    ),
    "tests/unit/specification/test_table_spec.py": ("test_a_schedule_by_name_equals_the_object",),
    "tests/unit/specification/test_tree_mechanism.py": (
        "test_released_noise_is_the_exact_solution_at_every_push",
        "test_strategy_and_decoder_are_inverse",
    ),
    "tests/unit/windows/test_questions.py": ("test_all_producers_are_counted_alike",),
    "tests/unit/windows/test_sensitivity.py": ("test_a_move_is_worth_two_events_at_most",),
    "tests/unit/windows/test_windows.py": (
        "test_by_steps",
        "test_by_the_clock",
        "test_by_the_time_of_events",
    ),
}
