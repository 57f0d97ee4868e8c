"""A command line that chooses by the data, prints exact figures or hides the guarantee."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_THE_COMMAND"]

_CONTROLLER: Final = "lazysketch.cli.run.controller"
_SETTINGS: Final = "lazysketch.cli.settings"
_GUARANTEES: Final = "lazysketch.cli.view.guarantees"
_REPORT: Final = "lazysketch.cli.view.report"

BUGS_OF_THE_COMMAND: Final = (
    PlantedBug(
        name="horizon-from-the-data",
        subject="schedule",
        claim="Without --horizon the command takes the number of rows of the input.",
        caught_by="tests/unit/cli/run/test_controller.py::test_json_describes_the_inputs",
        patch=edited(
            "lazysketch.cli.commands.top:top",
            (
                "source = open_inputs(",
                (
                    "rows = sum(batch.rows for batch in reading.open(files))\n"
                    "        sketch = dataclasses.replace(sketch, horizon=sketch.horizon or rows)\n"
                    "        source = open_inputs("
                ),
            ),
        ),
    ),
    PlantedBug(
        name="guarantee-not-printed",
        subject="accounting",
        claim="The command does not print epsilon and delta, which have defaults.",
        caught_by="tests/unit/cli/run/test_controller.py::test_the_default_privacy_is_printed",
        patch=edited(
            f"{_REPORT}:report",
            ("guarantees(release) if guarantee is None else guarantee", "guarantee or ()"),
        ),
    ),
    PlantedBug(
        name="guarantee-of-the-counts-printed",
        subject="accounting",
        claim="The result of a run that found names has the epsilon of its counts only.",
        caught_by="tests/unit/cli/commands/test_top.py::test_the_joint_guarantee_is_shown",
        patch=edited(
            "lazysketch.cli.run.targets:DiscoveredItems.report",
            ('"epsilon": joint.epsilon', '"epsilon": joint.sketch.epsilon'),
        ),
    ),
    PlantedBug(
        name="largest-guarantee-of-a-merge",
        subject="accounting",
        claim="A merged release is printed with the largest epsilon of its parts.",
        caught_by="tests/unit/cli/commands/test_releases.py::"
        "test_merge_keeps_the_parts_and_shows_their_composition",
        patch=edited(
            f"{_GUARANTEES}:composition",
            ("joint.epsilon_at(delta)", "max(part.privacy.epsilon for part in parts)"),
        ),
    ),
    PlantedBug(
        name="epsilon-printed-too-small",
        subject="accounting",
        claim="A printed epsilon is rounded to nearest, half the time downwards.",
        caught_by="tests/unit/cli/commands/test_releases.py::test_a_printed_epsilon_is_never_too_small",
        patch=edited(
            f"{_GUARANTEES}:_rounded_up",
            ("return shown if float(shown) >= epsilon", "return shown if shown"),
        ),
    ),
    PlantedBug(
        name="malformed-rows-in-the-result",
        subject="accounting",
        claim="The result, which is public, has the exact number of malformed rows.",
        caught_by="tests/unit/cli/test_options.py::"
        "test_only_estimates_depend_on_the_events[estimate]",
        patch=edited(
            f"{_CONTROLLER}:_inputs",
            ('"format": ', '"malformed": source.tally.malformed, "format": '),
        ),
    ),
    PlantedBug(
        name="total-weight-in-the-result",
        subject="accounting",
        claim="The result, which is public, has the exact total weight of all events.",
        caught_by="tests/unit/cli/test_options.py::"
        "test_only_estimates_depend_on_the_events[estimate]",
        patch=edited(
            f"{_CONTROLLER}:_inputs",
            ('"format": ', '"total": source.tally.total_weight, "format": '),
        ),
    ),
    PlantedBug(
        name="weights-not-clipped",
        subject="sensitivity",
        claim="A weight above --max-weight is passed on as it is.",
        caught_by="tests/unit/cli/test_options.py::test_weights_are_clipped_and_scale_the_noise",
        patch=edited(
            "lazysketch.sources.formats.delimited:RowCutter.__init__",
            ("max_weight=selection.max_weight", "max_weight=1 << 62"),
        ),
    ),
    PlantedBug(
        name="option-of-events-ignored",
        subject="sensitivity",
        claim="--max-events-per-user is accepted and not passed on.",
        caught_by="tests/unit/cli/test_options.py::"
        "test_bounds_of_events_reach_the_noise[top flows.csv]",
        patch=edited(
            f"{_SETTINGS}:SketchSettings._table_options",
            ('"max_events_per_user": self.max_events_per_user', '"max_events_per_user": 1'),
        ),
    ),
    PlantedBug(
        name="option-of-relation-ignored",
        subject="sensitivity",
        claim="The command always counts under zero-out.",
        caught_by="tests/unit/cli/run/test_controller.py::test_the_summary_has_the_guarantee",
        patch=edited(
            f"{_SETTINGS}:SketchSettings._table_options",
            ('"relation": self.relation', '"relation": "zero-out"'),
        ),
    ),
    PlantedBug(
        name="list-from-the-stream",
        subject="discovery",
        claim="The public list may be one of the inputs.",
        caught_by="tests/unit/cli/test_options.py::test_a_list_that_a_pattern_matches_is_refused",
        patch=edited(
            "lazysketch.cli.run.files:read_public_list",
            ("if files and any(_same_file", "if False and any(_same_file"),
        ),
    ),
    PlantedBug(
        name="strict-run-publishes",
        subject="schedule",
        claim="A strict run publishes at the first malformed row, and so shows where it is.",
        caught_by="tests/unit/cli/test_options.py::test_a_strict_reading_that_stops_shows_nothing",
        patch=edited(
            f"{_CONTROLLER}:_Run._hidden",
            ("if self._reading.strict and", "if False and"),
        ),
    ),
)
