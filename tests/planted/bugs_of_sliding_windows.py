"""Wrong sliding windows: their slices, their noise, and the rate of their alarms."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_DIFFERENCES", "BUGS_OF_SLIDING_WINDOWS", "BUGS_OF_STEPS_AHEAD"]

_WINDOWS: Final = "tests/unit/windows/test_sliding.py::"
_STREAMS: Final = "tests/unit/service/test_sliding_streams.py::"
_CUTS: Final = "tests/unit/windows/test_sliding_cuts.py::"
_RANGES: Final = "tests/unit/windows/test_sliding_ranges.py::"
_AHEAD: Final = "steps_ahead events_in_any_order_are_those_of_their_steps"
_RANGE: Final = "lazysketch.windows.by_time_slices"
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

BUGS_OF_STEPS_AHEAD: Final = (
    PlantedBug(
        name="events-one-step-early",
        subject="schedule",
        claim="Events of a later step are counted in the one before.",
        caught_by="steps_ahead tables_alone_count_the_same",
    ),
    PlantedBug(
        name="steps-that-are-skipped-lose-their-events",
        subject="schedule",
        claim="Of several steps that end at once, events of all but the first are not published.",
        caught_by=_AHEAD,
    ),
    PlantedBug(
        name="names-of-later-epochs-in-the-open-one",
        subject="discovery",
        claim="Names of an epoch whose events come early are counted in the epoch that is open.",
        caught_by=_AHEAD,
    ),
    PlantedBug(
        name="epochs-that-are-skipped-stay-unpublished",
        subject="discovery",
        claim="Of several epochs that end at once, only the first publishes its names.",
        caught_by=_AHEAD,
    ),
    PlantedBug(
        name="events-of-later-steps-are-left-out-of-a-state",
        subject="durable state",
        claim="A sketch is saved without the events of later steps.",
        caught_by="steps_ahead what_cannot_be_counted_changes_nothing",
    ),
)

BUGS_OF_SLIDING_WINDOWS: Final = (
    PlantedBug(
        name="slices-of-a-stream-are-published-from-the-second-on",
        subject="page",
        claim="The service does not publish where the first slice that it keeps begins.",
        caught_by=_STREAMS + "test_readers_see_the_last_span_at_every_slice",
        patch=edited(
            "lazysketch.service.sliding_stream:SlidingStream._state",
            ("in self.windows.ends}", "in self.windows.ends[1:] or self.windows.ends}"),
        ),
    ),
    PlantedBug(
        name="windows-of-a-stream-count-a-block-twice",
        subject="page",
        claim="Several windows of readers are added with the noise of their blocks in each.",
        caught_by=_STREAMS + "test_answers_are_those_of_the_library",
        patch=edited(
            "lazysketch.service.published_slides:SlidesOfPublication._asked",
            ("return [] if window is None else [window]", "return list(chosen)"),
        ),
    ),
    PlantedBug(
        name="sliding-stream-published-as-windows",
        subject="page",
        claim="Readers of the first version take the ends of slices, with the counts of whole "
        "blocks, for windows.",
        caught_by=_STREAMS + "test_readers_of_the_first_version_refuse_sliding_windows",
        patch=edited(
            "lazysketch.service.publication:Publication.manifest",
            ("_VERSION if self.facts.span is None else _SLIDING_VERSION", "_VERSION"),
        ),
    ),
    PlantedBug(
        name="stream-shows-the-slice-that-is-open",
        subject="page",
        claim="The tick of a publication of sliding windows is one slice early.",
        caught_by=_STREAMS + "test_a_stream_that_ends_shows_its_last_slice_at_the_next_tick",
        patch=edited(
            "lazysketch.service.sliding_stream:SlidingStream._state",
            ("return max(ends), ", "return max(ends) - 1, "),
        ),
    ),
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
            ("self._rest = None  # all", "pass  # all"),
        ),
    ),
    PlantedBug(
        name="counted-batch-of-steps-is-denied",
        subject="durable state",
        claim="After any error `step` says that a batch was not counted: twice if repeated.",
        caught_by=_CUTS + "test_a_slice_that_goes_on_knows_what_the_core_has_counted",
        patch=edited(
            f"{_STEPS}._take_rest",
            ("except (LazySketchError, MemoryError):", "except Exception:"),
        ),
    ),
    PlantedBug(
        name="batch-is-cut-after-its-first-slice",
        subject="durable state",
        claim="An error after the end of the first slice of a batch leaves out the others.",
        caught_by=_CUTS + "test_a_batch_whose_first_slice_is_counted_is_completed[1]",
        patch=edited(
            f"{_STEPS}._take_rest",
            ("if not begin and table.step == before:", "if not begin:"),
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
        caught_by=_RANGES + "test_all_streams_of_four_slices_in_any_order[1]",
        patch=edited(
            f"{_RANGE}:ByTimeSlices.ended",
            ("super().ended if", "super().ended[1:] if"),
        ),
    ),
    PlantedBug(
        name="block-of-a-range-with-as-many-leaves-as-slices",
        subject="sensitivity",
        claim="An event that moves from the begin of a block to its end costs more than stated.",
        caught_by=_RANGES + "test_an_event_that_moves_costs_what_the_noise_covers[32]",
        patch=edited(
            f"{_RANGE}:TimeSlidingCut.__init__",
            ("Batch(horizon=leaves_of(block))", "Batch(horizon=block)"),
        ),
    ),
    PlantedBug(
        name="interrupted-end-of-a-range-begins-anew",
        subject="durable state",
        claim="After an interrupted end the slices of a block are kept once more, at later pushes.",
        caught_by=_RANGES
        + "test_an_end_that_is_interrupted_publishes_each_slice_once[9-MemoryError-False]",
        patch=edited(
            f"{_RANGE}:ByTimeSlices._publish",
            ("range(len(self._done) - first, slices + 1)", "range(1, slices + 1)"),
        ),
    ),
    PlantedBug(
        name="part-of-a-range-is-read-before-its-end",
        subject="schedule",
        claim="Slices are read while others are not published yet.",
        caught_by=_RANGES
        + "test_an_end_that_is_interrupted_publishes_each_slice_once[9-MemoryError-False]",
        patch=edited(
            f"{_RANGE}:ByTimeSlices.ended",
            ("super().ended if self.finished else ()", "super().ended"),
        ),
    ),
    PlantedBug(
        name="slices-of-a-range-are-all-the-first",
        subject="schedule",
        claim="Events of all slices of a block are counted in its first one.",
        caught_by=_RANGES + "test_all_streams_of_four_slices_in_any_order[2]",
        patch=edited(
            "lazysketch.windows.by_time:ByTime._steps_of",
            (
                "return [*zip(slices.tolist(), events.tolist(), strict=True)]",
                "return [(0, int(events.sum()))] if len(slices) else []",
            ),
        ),
    ),
    PlantedBug(
        name="names-of-a-range-once-per-block",
        subject="discovery",
        claim="An item that is heavy in a sixth of a window is not found.",
        caught_by=_RANGES + "test_names_of_epochs_whose_events_come_late",
        patch=edited(
            f"{_RANGE}:TimeSlidingCut.discovery_epoch",
            ("return self._epoch", "return self.steps"),
        ),
    ),
    PlantedBug(
        name="open-slice-begins-anew-after-a-restart",
        subject="schedule",
        claim="After a restart the open slice has as many steps as a whole one, and ends late.",
        caught_by="tests/unit/store/test_stored_sliding.py::"
        "test_the_open_slice_of_steps_goes_on_with_its_steps",
        patch=edited(
            "lazysketch.windows.by_step_slices:ByStepSlices.__init__",
            (
                "self._open_slice = (since.taken, since.number",
                "self._open_slice = (0, since.number",
            ),
        ),
    ),
    PlantedBug(
        name="range-of-slices-in-a-state-by-the-clock",
        subject="schedule",
        claim="A state of slices of a range counts rows when they are read, whatever their times.",
        caught_by="tests/unit/cli/run/test_states_of_sliding.py::"
        "test_a_range_is_refused_and_states_say_what_they_keep",
        patch=edited(
            "lazysketch.cli.run.state_windows:sliding_of_items",
            ("if windows.by_time:", "if False:"),
        ),
    ),
    PlantedBug(
        name="sliding-state-without-positions",
        subject="durable state",
        claim="A run with a state counts into its slices without noting what it has read.",
        caught_by="tests/unit/cli/run/test_states_of_sliding.py::"
        "test_a_run_goes_on_in_the_slice_where_the_last_one_stopped[listed]",
        patch=edited(
            "lazysketch.cli.run.sliding:sliding_target",
            ("counting = Counting(state, live, source)", "counting = None"),
        ),
    ),
    PlantedBug(
        name="alarms-at-the-rate-of-one-reading",
        subject="distribution",
        claim="The false-alarm rate is that of each reading, not of all of them.",
        caught_by=_RATE,
        patch=edited(
            "lazysketch.windows.alerts:Thresholds.at",
            ("len(watched) * self.readings", "len(watched)"),
        ),
    ),
    PlantedBug(
        name="alarms-at-the-rate-of-one-item",
        subject="distribution",
        claim="The false-alarm rate is that of each watched item, not of all of them.",
        caught_by=_RATE,
        patch=edited(
            "lazysketch.windows.alerts:Thresholds.at",
            ("len(watched) * self.readings", "max(self.readings, len(near))"),
        ),
    ),
    PlantedBug(
        name="alarms-by-estimates",
        subject="distribution",
        claim="An item is reported when its estimate is above, not the end of its interval.",
        caught_by="tests/statistical/test_sliding_windows.py::test_alarms_are_as_rare_as_stated",
        patch=edited(
            "lazysketch.windows.alerts:Thresholds.at",
            ("if found.low[place] >", "if found.estimate[place] >"),
        ),
    ),
)
