"""Planted bugs of sums and means by item."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_SUMS", "BUGS_OF_SUMS_IN_THE_CORE"]

_NOISE: Final = "tests/unit/sums/test_sums_noise.py::"
_SUMS: Final = "tests/unit/sums/test_sums.py::"
_COVERAGE: Final = "tests/statistical/test_sums_coverage.py::"
_PEOPLE: Final = "tests/unit/sums/test_people_of_sums.py::"
_STORED_PEOPLE: Final = "tests/unit/store/test_people_of_stored_sums.py::"
_STORED: Final = "tests/unit/store/test_stored_sums.py::"
_VERB: Final = "tests/unit/cli/commands/test_sums.py::"
_IN_ONE_TABLE: Final = (
    "(call.method != 'add_to_batch' or self._counts._add_to_batch(call.events[0]))"
    " and _native.update_sums("
)
_ENDS: Final = "lazysketch.releases.sums_queries:SumsQueries"

BUGS_OF_SUMS_IN_THE_CORE: Final = (
    PlantedBug(
        name="signed-weights-not-checked",
        subject="sensitivity",
        claim="A weight with a sign may be beyond the largest that the noise covers.",
        caught_by="signed_weights weights_beyond_the_largest_are_refused",
    ),
    PlantedBug(
        name="signed-weights-not-bounded",
        subject="sensitivity",
        claim="A weight that another thread writes after the check is counted as it is.",
        caught_by="lib sketch::updates::tests::signed_weights_are_bounded_again",
    ),
    PlantedBug(
        name="signed-weights-of-any-table",
        subject="sensitivity",
        claim="Count-Min takes weights with signs, under noise for weights without.",
        caught_by="signed_weights only_a_count_sketch_takes_signs",
    ),
)

BUGS_OF_SUMS: Final = (
    PlantedBug(
        name="noise-for-half-of-the-values",
        subject="sensitivity",
        claim="The table of values has noise for weights up to half of the largest.",
        caught_by=_NOISE + "test_no_event_moves_the_tables_further_than_calibrated[substitution-1]",
        patch=edited(
            "lazysketch.sums.sums_spec:sums_spec",
            ("max_weight=grid.steps)", "max_weight=grid.steps // 2)"),
        ),
    ),
    PlantedBug(
        name="values-from-the-lower-bound",
        subject="sensitivity",
        claim="Values are counted from the lower bound, under noise for those from the middle.",
        caught_by=_SUMS + "test_values_beyond_the_bounds_count_as_the_bounds",
        patch=edited(
            "lazysketch.specification.value_grid:ValueGrid.integers",
            (
                "np.clip(2 * points - self.steps, -self.steps, self.steps)",
                "np.clip(2 * points, -self.steps, self.steps)",
            ),
        ),
    ),
    PlantedBug(
        name="each-table-with-the-whole-budget",
        subject="accounting",
        claim="The tables of events and of values each have the epsilon of both together.",
        caught_by=_NOISE + "test_both_tables_share_the_budget[-1-1-0.3]",
        patch=edited(
            "lazysketch.sums.sums_spec:sums_spec",
            (
                "with_shared_budget(counts, values, count_share=share)",
                "(counts, values)",
            ),
        ),
    ),
    PlantedBug(
        name="middle-left-out-of-sums",
        subject="distribution",
        claim="A sum is that of the distances from the middle of the bounds.",
        caught_by=_SUMS + "test_a_batch_is_one_step",
        patch=edited(
            f"{_ENDS}._in_half_steps",
            ("self._ratio * self._counts", "0.0 * self._counts"),
        ),
    ),
    PlantedBug(
        name="sums-that-are-not-negative",
        subject="distribution",
        claim="The lower end of a sum is cut off at 0, as that of a count is.",
        caught_by=_COVERAGE + "test_intervals_of_sums_cover[least-heavy-sum]",
        patch=edited(
            "lazysketch.estimation.signed_table:SignedTable.intervals",
            ("+ self._shift", ""),
            ("part - self._shift for part in found", "part for part in found"),
        ),
    ),
    PlantedBug(
        name="refused-events-of-sums-take-a-step",
        subject="schedule",
        claim="Events that are refused take a step of the table of events.",
        caught_by=_SUMS + "test_the_horizon_ends_both_tables",
        patch=edited(
            "lazysketch.sums.sums:Sums.update_many",
            (
                "_native.update_sums(",
                "self._counts.update_many(items) or _native.update_sums(",
            ),
        ),
    ),
    PlantedBug(
        name="a-person-for-each-event-of-sums",
        subject="sensitivity",
        claim="Every event of a batch of sums has a person of its own: no bound refuses it.",
        caught_by=_PEOPLE + "test_every_way_to_count_applies_the_rule",
        patch=edited(
            "lazysketch.sums.sums:Sums.update_many",
            ("user=user)", "user=None if user is None else [*range(len([*items]))])"),
        ),
    ),
    PlantedBug(
        name="noise-of-sums-for-an-event-of-a-person",
        subject="sensitivity",
        claim="Both tables have noise for one event in each cell of a person, whatever counts.",
        caught_by=_PEOPLE + "test_no_person_moves_the_tables_further_than_calibrated"
        "[bound1-1-substitution]",
        patch=edited(
            "lazysketch.specification.table_spec:TableSpec._events_per_cell",
            ("else self.person_bound.events", "else 1"),
        ),
    ),
    PlantedBug(
        name="sums-of-people-promise-events",
        subject="accounting",
        claim="The guarantee of sums that bound people is worded, and composed, as one of events.",
        caught_by=_PEOPLE + "test_the_guarantee_is_of_a_person",
        patch=edited(
            "lazysketch.privacy.sums_privacy:SumsPrivacy.person_bound",
            ("self.counts.person_bound", "None"),
        ),
    ),
    PlantedBug(
        name="people-of-stored-sums-begin-anew",
        subject="durable state",
        claim="What people have contributed to stored sums is in no checkpoint.",
        caught_by=_STORED_PEOPLE + "test_restarts_change_nothing[sums]",
        patch=edited(
            "lazysketch.store.stored_sums:StoredSums._people",
            (
                "{} if people is None else {0: people}",
                "{0: people} if 'identities' in __import__('inspect').stack()[1][3] else {}",
            ),
        ),
    ),
    PlantedBug(
        name="rounding-left-out-of-sums",
        subject="distribution",
        claim="The interval of a sum omits what rounding to the grid left out.",
        caught_by=_SUMS + "test_rounding_is_within_the_interval_or_the_callers",
        patch=edited(
            f"{_ENDS}._sums",
            ("share = _OF_ROUNDING if grid.rounding else 0.0", "share = 0.0"),
        ),
    ),
    PlantedBug(
        name="sums-state-the-guarantee-of-their-counts",
        subject="accounting",
        claim="A reader of a release of sums is told the epsilon of the table of events alone.",
        caught_by=_SUMS + "test_what_a_reader_of_any_release_is_told",
        patch=edited(
            "lazysketch.releases.sums_release:SumsRelease._promised",
            ("return str(self._privacy_of(part, values))", "return str(part.privacy)"),
        ),
    ),
    PlantedBug(
        name="stored-sums-of-other-bounds",
        subject="durable state",
        claim="Sums of a store go on with other bounds, by which its integers are other values.",
        caught_by=_STORED + "test_other_bounds_are_refused",
        patch=edited(
            "lazysketch.store.stored_sums:parameters_of_grid",
            ("(grid.low + 0.0, grid.high + 0.0, grid.is_exact)", "grid.steps"),
        ),
    ),
    PlantedBug(
        name="tables-of-sums-share-an-id",
        subject="reuse of draws",
        claim="Both tables of stored sums have one id, and one noise where their sizes are equal.",
        caught_by=_STORED + "test_both_tables_have_ids_of_their_own",
        patch=edited("lazysketch.sums.sums:Sums._make", ("origin(1)", "origin(0)")),
    ),
    PlantedBug(
        name="sums-of-a-clock-count-in-one-table",
        subject="durable state",
        claim="Events of the open step of a clock are in the table of events alone.",
        caught_by=_STORED + "test_a_public_clock_ends_the_steps",
        patch=edited(
            "lazysketch.store.stored_sums:StoredSums._count",
            ("_native.update_sums(", _IN_ONE_TABLE),
        ),
    ),
    PlantedBug(
        name="ingested-values-of-sums-are-lost",
        subject="durable state",
        claim="Events of a batch that a store counts once have the value 0.",
        caught_by=_STORED + "test_batches_are_counted_once_and_have_values",
        patch=edited(
            "lazysketch.store.stored_sums:StoredSums._batch",
            ("self._weights(weights)", "self._weights([0.0 for _ in weights])"),
        ),
    ),
    PlantedBug(
        name="one-table-of-sums-in-the-account",
        subject="accounting",
        claim="The account of a store has the table of events alone, without that of values.",
        caught_by=_STORED + "test_both_tables_have_ids_of_their_own",
        patch=edited(
            "lazysketch.store.spent:plain_privacy",
            ("(privacy.counts, privacy.values)", "(privacy.counts,)"),
        ),
    ),
    PlantedBug(
        name="sums-of-a-list-cover-separately",
        subject="distribution",
        claim="Items that are chosen by their sums have intervals for an item chosen before.",
        caught_by=_VERB + "test_sums_of_a_file_and_of_its_release",
        patch=edited(
            "lazysketch.releases.sum_rows:top_sum_rows",
            ("simultaneous=True", "simultaneous=False"),
        ),
    ),
    PlantedBug(
        name="row-without-a-value-is-an-event",
        subject="schedule",
        claim="A row without a number is an event of its item, with the value 0.",
        caught_by="tests/unit/sources/test_values.py::test_values_are_those_of_the_rows[csv]",
        patch=edited(
            "lazysketch.sources.formats.numbers:with_values",
            ("np.full(len(written), np.nan)", "np.zeros(len(written))"),
        ),
    ),
)
