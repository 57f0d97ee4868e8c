"""Simultaneous intervals of the heaviest names of real streams cover, as those of Zipf streams do.

A real stream is not drawn from any law: items arrive in bursts, and their rates change. Each sketch
has its own hash seed, key and id, so the number of sketches with any miss is binomial all the same.
"""

from __future__ import annotations

import pytest
from experiments.streams import DATA
from tests.statistical import declared
from tests.statistical.misses import too_many
from tools.accuracy.simultaneous import REAL_STREAMS, SCHEDULES, measure

FOLDERS = (
    "cache2k_ecommerce",
    "ctu13_s11_netflow",
    "gutenberg_words",
    "scarab_recs",
    "zeek_wrccdc",
)
SKETCHES, CONFIDENCE = 40, 0.95
BUDGET = declared.budget("lists of real streams")

pytestmark = pytest.mark.skipif(
    not all((DATA / folder).is_dir() for folder in FOLDERS),
    reason=f"real streams missing: ../shared/data lacks one of {', '.join(FOLDERS)}",
)


@pytest.mark.long
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("stream", REAL_STREAMS)
def test_all_intervals_of_a_list_cover(stream: str, schedule: str) -> None:
    for case in measure(stream, schedule, seeds=SKETCHES, long_seeds=0, data=DATA):
        missed = len(case.covered) - sum(case.covered)
        p_value = too_many(missed, of=len(case.covered), confidence=CONFIDENCE)
        BUDGET.check(p_value, f"too narrow: {case.sketch}, {case.names} names, {case.at}")
