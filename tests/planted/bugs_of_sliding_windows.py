"""Wrong sliding windows: their slices, their noise, and the rate of their alarms."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_DIFFERENCES", "BUGS_OF_SLIDING_WINDOWS"]

_WINDOWS: Final = "tests/unit/windows/test_sliding.py::"
_CUTS: Final = "tests/unit/windows/test_sliding_cuts.py::"
_STEPS: Final = "lazysketch.windows.by_step_slices:ByStepSlices"
_RATE: Final = (
    "tests/unit/windows/test_alerts.py::test_the_rate_is_divided_among_readings_and_items"
)
_NODES: Final = "lib mechanism::difference::tests::the_binary_tree_counts_nodes_of_one_push_only"

BUGS_OF_DIFFERENCES: Final = (
    PlantedBug(
        name="difference-with-the-noise-of-one-prefix",
        subject="distribution",
        claim="A difference of two releases states the variance of the later one alone.",
        caught_by=_NODES,
    ),
    PlantedBug(
        name="difference-as-if-independent",
        subject="distribution",
        claim="The variance of a difference is the sum of both, without the nodes they share.",
        caught_by=_NODES,
    ),
)

BUGS_OF_SLIDING_WINDOWS: Final = (
    PlantedBug(
        name="window-begins-one-slice-early",
        subject="schedule",
        claim="A sliding window has the slice before its first one, too.",
        caught_by=_WINDOWS + "test_all_streams_of_four_slices[2-2]",
        patch=edited(
            "lazysketch.windows.published_slides:PublishedSlides.window",
            ("stop - 1 - asked", "stop - 2 - asked"),
        ),
    ),
    PlantedBug(
        name="window-keeps-the-begin-of-its-block",
        subject="schedule",
        claim="What a block counted before the window is not taken off.",
        caught_by=_WINDOWS + "test_all_streams_of_four_slices[4-2]",
        patch=edited(
            "lazysketch.windows.published_slides:window_between",
            ("slices_of(first, every) > 0", "slices_of(first, every) < 0"),
        ),
    ),
    PlantedBug(
        name="interrupted-end-of-a-slice-is-lost",
        subject="durable state",
        claim="The end of a slice that could not be published is not made up by the next call.",
        caught_by=_WINDOWS + "test_an_end_that_fails_is_made_up_by_the_next_call[3]",
        patch=edited(
            "lazysketch.windows.by_slices:BySlices.settle",
            ("self._keep_slice()", "pass"),
        ),
    ),
    PlantedBug(
        name="slice-of-steps-with-one-event-too-many",
        subject="schedule",
        claim="A slice ends with the first event of the next one.",
        caught_by=_CUTS + "test_windows_count_their_steps",
        patch=edited(
            f"{_STEPS}._take_rest",
            (
                "rest.end_slice(table, begin, begin + self._every - taken)",
                "rest.end_slice(table, begin, begin + self._every - taken + 1)",
            ),
        ),
    ),
    PlantedBug(
        name="refused-batch-counts-with-the-next-call",
        subject="durable state",
        claim="A batch that raised uncounted is counted by the next call: twice if repeated.",
        caught_by=_CUTS + "test_a_batch_that_fails_is_counted_whole_or_not_at_all[1-MemoryError]",
        patch=edited(
            f"{_STEPS}._take_rest",
            ("self._rest = rest if begin else None  # all", "self._rest = rest  # all"),
        ),
    ),
    PlantedBug(
        name="interrupted-batch-of-steps-is-lost",
        subject="durable state",
        claim="What is left of a batch is not counted by the next call, though its steps are.",
        caught_by=_CUTS
        + "test_a_batch_that_fails_is_counted_whole_or_not_at_all[3-KeyboardInterrupt]",
        patch=edited(
            f"{_STEPS}.settle",
            ("self._take_rest()", "self._rest = None"),
        ),
    ),
    PlantedBug(
        name="range-without-its-first-slice",
        subject="schedule",
        claim="Sliding windows of a range begin after the first slice.",
        caught_by=_CUTS + "test_windows_of_a_range_count_the_events_of_their_times",
        patch=edited(
            "lazysketch.windows.by_time_slices:ByTimeSlices.ended",
            ("return (replace(first, end=first.begin), first, *others)", "return (first, *others)"),
        ),
    ),
    PlantedBug(
        name="alarms-at-the-rate-of-one-reading",
        subject="distribution",
        claim="The false-alarm rate is that of each reading, not of all of them.",
        caught_by=_RATE,
        patch=edited(
            "lazysketch.windows.alerts:Alerts.at",
            ("len(watched) * self._readings", "len(watched)"),
        ),
    ),
    PlantedBug(
        name="alarms-at-the-rate-of-one-item",
        subject="distribution",
        claim="The false-alarm rate is that of each watched item, not of all of them.",
        caught_by=_RATE,
        patch=edited(
            "lazysketch.windows.alerts:Alerts.at",
            ("len(watched) * self._readings", "max(self._readings, len(near))"),
        ),
    ),
    PlantedBug(
        name="alarms-by-estimates",
        subject="distribution",
        claim="An item is reported when its estimate is above, not the end of its interval.",
        caught_by="tests/statistical/test_sliding_windows.py::test_alarms_are_as_rare_as_stated",
        patch=edited(
            "lazysketch.windows.alerts:Alerts.at",
            ("if found.low[place] >", "if found.estimate[place] >"),
        ),
    ),
)
