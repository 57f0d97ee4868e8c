"""Wrong ends: final pushes with noise that another content has, or with pending counts left out."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_THE_END", "BUGS_OF_THE_FINAL_PUSH"]

_FINISH: Final = "tests/unit/sketches/test_finish.py::"
_OWN_NOISE: Final = "finish a_finished_table_has_every_event_and_noise_of_its_own"

BUGS_OF_THE_FINAL_PUSH: Final = (
    PlantedBug(
        name="final-push-on-the-old-leaf",
        subject="reuse of draws",
        claim=(
            "The final push keeps the noise of the last push of its column: the difference of two "
            "releases is exact."
        ),
        caught_by=_OWN_NOISE,
    ),
    PlantedBug(
        name="final-push-on-the-last-leaf",
        subject="reuse of draws",
        claim=(
            "The final push takes the last leaf of the mechanism, which columns of a full round "
            "robin have used."
        ),
        caught_by=_OWN_NOISE,
    ),
    PlantedBug(
        name="final-push-twice",
        subject="reuse of draws",
        claim="Events are counted after the final push, and a second one publishes them.",
        caught_by=_OWN_NOISE,
    ),
    PlantedBug(
        name="final-push-without-the-pending-counts",
        subject="schedule",
        claim="A finished table lacks the events since the last pushes of its columns.",
        caught_by=_OWN_NOISE,
    ),
    PlantedBug(
        name="extra-row-too-heavy",
        subject="sensitivity",
        claim="The row of the extra leaf has twice the entries that the sensitivity allows.",
        caught_by="finish the_extra_leaf_leaves_the_sensitivity_as_it_is",
    ),
    PlantedBug(
        name="single-publishes-early",
        subject="schedule",
        claim="The schedule single publishes at its first step, and once more at the end.",
        caught_by="finish single_publishes_only_at_the_end",
    ),
    PlantedBug(
        name="last-epoch-published-twice",
        subject="discovery",
        claim="Each call of finish() ends another discovery epoch.",
        caught_by="finish the_last_epoch_is_published_once",
    ),
)

BUGS_OF_THE_END: Final = (
    PlantedBug(
        name="finished-window-shows-its-steps",
        subject="schedule",
        claim=(
            "A window of a range is finished without its step, which only windows with events "
            "have opened: the step of an empty window differs."
        ),
        caught_by="tests/unit/windows/test_windows.py::"
        "test_the_step_of_a_finished_window_does_not_show_its_events[range]",
        patch=edited(
            "lazysketch.windows.by_time:ByTime._publish", ("table.tick(1 - table.step)", "pass")
        ),
    ),
    PlantedBug(
        name="final-push-without-draws-in-the-account",
        subject="accounting",
        claim="The term of the permutation leaves out the draw of the extra leaf.",
        caught_by="tests/unit/specification/test_table_spec.py::"
        "test_the_numeric_account_has_every_draw_of_the_table[1-substitution]",
        patch=edited(
            "lazysketch.specification.table_spec:TableSpec._calibrated",
            ("* mechanism.draws", "* (mechanism.draws - 1)"),
        ),
    ),
    PlantedBug(
        name="levels-finish-one-by-one",
        subject="schedule",
        claim=(
            "The levels of a hierarchy are finished one after the other: what stops the second "
            "leaves the first finished, and their trees differ."
        ),
        caught_by=_FINISH + "test_a_hierarchy_finishes_all_levels_or_none",
        patch=edited(
            "lazysketch.heavy_hitters.hierarchical:HierarchicalHeavyHitters.finish",
            ("self._apply(_native.finish_all)", "[table.finish() for table in self._tables]"),
        ),
    ),
)
