"""Predicted and measured errors of sketches of real streams; docs/planning.md has all of them."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from experiments.streams import REAL, named
from tests.locations import DATA
from tools.accuracy.planner import compared

import lazysketch as ls

SketchKind = Literal["count-min", "count-sketch"]
FOLDERS = ("scarab_recs", "gutenberg_words", "cache2k_ecommerce")
# Typical errors depend on the few items that collide with the heaviest ones: over six seeds they
# vary far more than half widths, hence the wider tolerance.
HALF_WIDTH, TYPICAL, SEEDS = 0.15, 0.35, 6

pytestmark = pytest.mark.skipif(
    not all((DATA / folder).is_dir() for folder in FOLDERS),
    reason=f"real streams missing: ../shared/data lacks one of {', '.join(FOLDERS)}",
)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
@pytest.mark.parametrize("every", [1, 10])
def test_a_sample_predicts_the_measured_errors(name: str, kind: SketchKind, every: int) -> None:
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
