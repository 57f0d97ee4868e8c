"""Predictions beside what sketches of real streams show; docs/planning.md has the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments.streams import REAL, named
from tests.locations import DATA
from tools.accuracy.planner import compared

import lazysketch as ls

FOLDERS = ("scarab_recs", "gutenberg_words", "cache2k_ecommerce")
# Typical errors hang on the few items that meet the heaviest ones: with six seeds they scatter far
# more than half widths, hence the wider tolerance.
HALF_WIDTH, TYPICAL, SEEDS = 0.15, 0.35, 6

pytestmark = pytest.mark.skipif(
    not all((DATA / folder).is_dir() for folder in FOLDERS),
    reason=f"no real streams at hand: ../shared/data lacks one of {', '.join(FOLDERS)}",
)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("every", [1, 10])
def test_a_sample_predicts_what_is_measured(name: str, kind: Any, every: int) -> None:
    events = named(name, DATA)
    plan = ls.plan(
        steps=len(events),
        sample=events[::every],
        kind=kind,
        share=0.001,
        memory=1 << 16,
        epsilon=1.0,
        delta=1e-6,
    )
    for found in compared(name, "sample", plan, events, np.bincount(events), SEEDS):
        typical, half = found.ratios
        assert half == pytest.approx(1.0, rel=HALF_WIDTH), found
        assert typical == pytest.approx(1.0, rel=TYPICAL), found
