"""Planted bugs of windows of distinct items and of distributions."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_STATISTIC_WINDOWS"]

_TABLES: Final = "lazysketch.windows.statistic_tables:StatisticTables"
_TESTS: Final = "tests/unit/windows/test_promises_of_statistic_windows.py::"
_RANGES: Final = "tests/unit/windows/test_promises_of_windows_of_ranges.py::"
_SUMS: Final = "tests/unit/windows/test_sums_windows.py::"
_STORED_SUMS: Final = "tests/unit/store/test_stored_sums_windows.py::"
_COUNTS: Final = "tests/unit/windows/test_statistic_windows.py::"
_STORED: Final = "tests/unit/store/test_stored_statistic_windows.py::"
_OF_PEOPLE: Final = "tests/unit/windows/test_people_of_statistic_windows.py::"
_RESTARTS: Final = "tests/unit/store/test_stored_windows.py::test_restarts_change_nothing"
_OF_STORE: Final = "lazysketch.store.stored_statistic_windows"
_FIXED_ID: Final = '__import__("lazysketch.testing").testing.fixed_id'

BUGS_OF_STATISTIC_WINDOWS: Final = (
    PlantedBug(
        name="windows-of-values-at-the-difference-of-two-bins",
        subject="sensitivity",
        claim="A value that moves to another window moves as much as one that is replaced.",
        caught_by=_TESTS
        + "test_no_value_moves_the_queries_further_than_calibrated[range-haar-substitution]",
        patch=edited(
            "lazysketch.specification.value_tree:ValueTree.sensitivity2",
            ('return max(replaced, 2 * self._facts("zero-out")[0])', "return replaced"),
        ),
    ),
    PlantedBug(
        name="windows-of-values-take-a-value-for-fixed",
        subject="sensitivity",
        claim="Windows of time have the noise of windows of steps, where no event moves.",
        caught_by=_TESTS + "test_a_move_costs_more_than_the_difference_of_two_bins[clock-tree]",
        patch=edited(
            "lazysketch.windows.distribution_windows:DistributionWindows._spec_of",
            ("moves=moves", "moves=False"),
        ),
    ),
    PlantedBug(
        name="releases-of-windows-forget-the-move",
        subject="accounting",
        claim="The release of a window of values states the multiplier of a value that stays.",
        caught_by=_TESTS
        + "test_releases_of_windows_state_what_the_windows_do[tree-substitution-range]",
        patch=edited(
            "lazysketch.releases.parts:_privacy_of",
            ("if moved > l2_sensitivity and _is_enough(noise, moved):", "if False:"),
        ),
    ),
    PlantedBug(
        name="releases-of-values-state-any-move",
        subject="accounting",
        claim="Every release of values states that it covers a move, whatever its noise.",
        caught_by=_TESTS + "test_releases_of_single_distributions_say_what_they_did",
        patch=edited(
            "lazysketch.releases.parts:_is_enough",
            ("try:", "return True\n    try:"),
        ),
    ),
    PlantedBug(
        name="statistic-windows-share-noise",
        subject="reuse of draws",
        claim="All windows of distinct items or values have one key and one id.",
        caught_by=_COUNTS
        + "test_windows_have_ids_and_noise_of_their_own_and_one_hash_seed[distinct-range]",
        patch=edited(
            f"{_TABLES}._origin",
            ("return self._key, None", f"return {_FIXED_ID}(self._key, bytes(16)), None"),
        ),
    ),
    PlantedBug(
        name="an-item-protected-in-all-windows",
        subject="accounting",
        claim="Windows of distinct items say that an item is protected in all of them together.",
        caught_by=_TESTS + "test_an_item_in_many_windows_composes_by_their_number",
        patch=edited(
            f"{_TABLES}.privacy", ("None if counts.person_bound is None else ONE_WINDOW", "None")
        ),
    ),
    PlantedBug(
        name="an-item-beyond-one-window-unmentioned",
        subject="accounting",
        claim="The text of a guarantee of items within one window does not say what it leaves out.",
        caught_by=_TESTS + "test_an_item_is_protected_within_one_window",
        patch=edited(
            "lazysketch.privacy.wording:promise",
            ('f"for an item with events beyond {within}, which add up; {beyond}"', "beyond"),
        ),
    ),
    PlantedBug(
        name="any-slices-for-tree-log",
        subject="sensitivity",
        claim="Windows of 900 slices take rows for which a move costs more than two events.",
        caught_by="tests/unit/windows/test_sensitivity.py::"
        "test_tree_log_serves_so_many_slices_and_no_more",
        patch=edited(
            "lazysketch.windows.cuts:Cut.check_moves",
            ("self.steps > MOST_SLICES_OF_TREE_LOG", "self.steps > 960"),
        ),
    ),
    PlantedBug(
        name="windows-of-ranges-at-two-a-depth",
        subject="sensitivity",
        claim="Windows of ranges have the noise of a key that moves to a window far away: 2 k.",
        caught_by=_RANGES
        + "test_no_key_moves_the_queries_further_than_calibrated[clock-substitution]",
        patch=edited(
            "lazysketch.specification.ranges:ranges_sensitivity2",
            ("return 2 * (exact + 1) + 4 * (depth - 1 - exact)", "return 2 * depth"),
        ),
    ),
    PlantedBug(
        name="windows-of-ranges-take-any-rows",
        subject="sensitivity",
        claim="Windows of 900 slices take rows for which a key that moves costs more than two.",
        caught_by=_COUNTS + "test_rows_that_do_not_serve_for_a_move_are_refused[ranges]",
        patch=edited(
            "lazysketch.windows.ranges_windows:RangesWindows._spec_of",
            ('cut.check_moves(options.get("mechanism"))', "pass"),
        ),
    ),
    PlantedBug(
        name="windows-of-sums-share-noise",
        subject="reuse of draws",
        claim="The tables of all windows of sums have one key and one id each.",
        caught_by=_SUMS + "test_windows_have_ids_and_noise_of_their_own_and_one_hash_seed[range]",
        patch=edited(
            "lazysketch.windows.sums_tables:SumsTables._origin",
            ("return self._key, None", f"return {_FIXED_ID}(self._key, bytes([table] * 16)), None"),
        ),
    ),
    PlantedBug(
        name="windows-of-sums-take-any-rows",
        subject="sensitivity",
        claim="Windows of sums of 900 slices take rows for which a move costs more than two.",
        caught_by=_SUMS + "test_rows_that_do_not_serve_for_a_move_are_refused",
        patch=edited(
            "lazysketch.windows.sums_windows:SumsWindows._spec_of",
            ('cut.check_moves(options.get("mechanism"))', "pass"),
        ),
    ),
    PlantedBug(
        name="stored-windows-of-sums-share-ids",
        subject="reuse of draws",
        claim="All windows of sums of a store have the ids of one of them.",
        caught_by=_STORED_SUMS + "test_every_table_has_an_id_of_its_own[steps]",
        patch=edited(
            "lazysketch.store.stored_sums_windows:_StoredTables._origin",
            ("number_of_table(number, table)", "number_of_table(0, table)"),
        ),
    ),
    PlantedBug(
        name="stored-windows-of-sums-forget-their-bounds",
        subject="durable state",
        claim="Windows of sums go on under other bounds with as many steps: values mean others.",
        caught_by=_STORED_SUMS + "test_other_parameters_are_refused",
        patch=edited(
            "lazysketch.store.stored_sums_windows:_StoredTables.__init__",
            ("{parameters_of_grid(spec.grid)}", "{len('grid')}"),
        ),
    ),
    PlantedBug(
        name="people-of-statistics-protected-in-all-windows",
        subject="accounting",
        claim="A person in several windows of a statistic spends once in all of them.",
        caught_by=_OF_PEOPLE + "test_a_person_is_protected_within_one_window[ranges]",
        patch=edited(
            f"{_TABLES}.privacy",
            ("None if counts.person_bound is None else ONE_WINDOW", "None"),
        ),
    ),
    PlantedBug(
        name="people-of-sums-protected-in-all-windows",
        subject="accounting",
        claim="A person in several windows of sums spends once in all of them.",
        caught_by=_OF_PEOPLE + "test_a_person_is_protected_within_one_window[sums]",
        patch=edited(
            "lazysketch.windows.sums_tables:SumsTables.privacy",
            ("ONE_WINDOW if self.bounds_people else None", "None"),
        ),
    ),
    PlantedBug(
        name="people-of-a-range-forgotten-with-each-batch",
        subject="sensitivity",
        claim="Windows of a range let everyone contribute as much again with every batch.",
        caught_by=_OF_PEOPLE + "test_a_window_of_a_range_counts_by_the_rule[sums-None]",
        patch=edited(
            "lazysketch.windows.by_time:ByTime.add",
            (
                "of_windows = [",
                (
                    "for one in batches: _native.People.of_table(one[0][0]).forget()\n"
                    "        of_windows = ["
                ),
            ),
        ),
    ),
    PlantedBug(
        name="stored-windows-forget-people",
        subject="durable state",
        claim="A checkpoint of windows of a statistic leaves out what people contributed.",
        caught_by=_RESTARTS + "[2-only ends, people, values]",
        patch=edited(
            f"{_OF_STORE}:StatisticsOfStore._people",
            ("return people_of(tables_of(self))", "return {}"),
        ),
    ),
    PlantedBug(
        name="stored-windows-of-sums-forget-people",
        subject="durable state",
        claim="A checkpoint of windows of sums leaves out what people contributed.",
        caught_by=_RESTARTS + "[1-clock, people, sums]",
        patch=edited(
            "lazysketch.store.stored_sums_windows:StoredSumsWindows._people",
            ("live = self._live.tables.items()", "return {}"),
        ),
    ),
    PlantedBug(
        name="stored-statistic-windows-share-ids",
        subject="reuse of draws",
        claim="All windows of distinct items or values of a store have the id of one of them.",
        caught_by=_STORED + "test_every_window_has_an_id_of_its_own[steps-values]",
        patch=edited(f"{_OF_STORE}:_StoredTables._origin", ("number_of_window(number)", "0")),
    ),
    PlantedBug(
        name="stored-statistic-windows-forget-open-counts",
        subject="durable state",
        claim="After a checkpoint the open window begins again under its id, with other counts.",
        caught_by="tests/unit/store/test_stored_windows.py::"
        "test_restarts_change_nothing[1-clock, distinct]",
        patch=edited(
            f"{_OF_STORE}:_StoredTables._origin",
            (
                "return self._of_store(number_of_window(number))",
                "return self._of_store(number_of_window(number))[0], None",
            ),
        ),
    ),
    PlantedBug(
        name="distinct-windows-log-items",
        subject="durable state",
        claim="The log of windows of distinct items has the items, not their fingerprints.",
        caught_by=_STORED + "test_the_log_has_fingerprints_in_place_of_items",
        patch=edited(
            f"{_OF_STORE}:StoredDistinctWindows._batches",
            (
                "_native.logged_fingerprints(items, self._empty, column=column)",
                "_native.logged_events(items, column=column)",
            ),
        ),
    ),
)
