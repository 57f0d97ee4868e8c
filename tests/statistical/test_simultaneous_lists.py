"""Simultaneous intervals of lists of known names cover: a campaign over sketches and schedules.

Lists of 20 and 300 names with 200 sketches each, and one of 2^20 names with 10; at the last pushes
and at this step. Each sketch has its own hash seed, key and id, so the number of sketches with any
miss is binomial. Keys are seeded, so results are reproducible; `declared` has the rate over seeds.
"""

from __future__ import annotations

import pytest
from tests.statistical import declared
from tests.statistical.misses import too_many
from tools.accuracy.simultaneous import LONG, SCHEDULES, ZIPF, measure

SKETCHES, LONG_LISTS, CONFIDENCE = 200, 10, 0.95
WIDEST = 1.25  # half the width, relative to the largest error at the same confidence
BUDGET = declared.budget("simultaneous lists")


@pytest.mark.long
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("stream", ZIPF)
def test_all_intervals_of_a_list_cover(stream: str, schedule: str) -> None:
    for case in measure(stream, schedule, seeds=SKETCHES, long_seeds=LONG_LISTS):
        missed = len(case.covered) - sum(case.covered)
        p_value = too_many(missed, of=len(case.covered), confidence=CONFIDENCE)
        what = f"{case.sketch}, {case.names} names, {case.at}"
        BUDGET.check(p_value, f"too narrow: {what}")
        if case.names < LONG and schedule in ("batch", "single"):
            assert case.ratio <= WIDEST, f"too wide: {what}"
