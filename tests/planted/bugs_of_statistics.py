"""Planted bugs of distinct items and distributions on the command line, and of their states."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_STATISTICS"]

BUGS_OF_STATISTICS: Final = (
    PlantedBug(
        name="row-without-a-number-is-no-step",
        subject="schedule",
        claim="A row without a number takes no step, so that it shifts all later rows.",
        caught_by="tests/unit/cli/commands/test_quantiles.py"
        "::test_rows_without_a_number_are_steps_without_a_value",
        patch=edited(
            "lazysketch.sources.batch:RowBatch.with_items",
            (
                "malformed=sorted([*self.malformed, *rows[list(others)].tolist()])",
                "malformed=self.malformed",
            ),
        ),
    ),
    PlantedBug(
        name="ingested-values-as-numbers-of-bins",
        subject="durable state",
        claim="A batch of integers that a store counts once is taken for numbers of bins.",
        caught_by="tests/unit/store/test_ingested_values.py"
        "::test_values_are_not_taken_for_numbers_of_bins",
        patch=edited(
            "lazysketch.store.stored_distribution:StoredDistribution._batches",
            ("self._bins_of(items)", "items"),
        ),
    ),
    PlantedBug(
        name="another-schedule-after-a-restart",
        subject="durable state",
        claim="A state without a horizon goes on with the mechanism of one with a horizon.",
        caught_by="tests/unit/cli/run/test_states_of_statistics.py"
        "::test_a_run_goes_on_where_the_last_one_stopped[quantiles]",
        patch=edited(
            "lazysketch.cli.run.state_definition:Definition.chosen",
            (
                'horizon=cast("int | None", self.options["horizon"])',
                'horizon=cast("int | None", self.options["horizon"]) or 2**32',
            ),
        ),
    ),
)
