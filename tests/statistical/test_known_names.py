"""Intervals of known names, whose heavy ones are taken out of each other's cells, cover.

Each sketch has its own hash seed, key and id, so for one item the number of misses is binomial.
Two-sided: intervals miss with at most 1 - confidence, and those of half the width with at least
25 %. Keys are seeded, so results are reproducible; `declared` has the rate over seeds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.sketches.private_table import PrivateTable
from lazysketch.testing import seeded_key

SKETCHES, CONFIDENCE = 200, 0.9
HALF, LEAST = 0.5, 0.25
EVENTS = np.minimum(np.random.default_rng(5).zipf(1.25, 30_000), 8_000)
ITEMS = np.array([1, 12, 60, 7_999])
TRUE = np.bincount(EVENTS, minlength=8_001)
BUDGET = declared.budget("known names")
NAMES = np.arange(1, 121)
KINDS = ("count-min", "count-sketch")


def released(kind: str, number: int) -> ls.Release:
    made: type[PrivateTable] = ls.LazyCountMin if kind == "count-min" else ls.LazyCountSketch
    key = seeded_key(23, sketch_id=number.to_bytes(16, "big"))
    given = {"depth": 3, "width": 256, "epsilon": 1.0, "delta": 1e-6}
    with made(**given, schedule=ls.Single(), key=key) as sketch:  # type: ignore[arg-type]
        sketch.update_many(EVENTS)
        sketch.finish()
        return sketch.release()


@cache
def misses(kind: str) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Misses of each item, of whole and narrowed intervals; mean widths, without names too."""
    whole, half = np.zeros(len(ITEMS), int), np.zeros(len(ITEMS), int)
    widths = np.zeros(2)
    for number in range(SKETCHES):
        release = released(kind, number)
        of = release.interval_many(ITEMS, confidence=CONFIDENCE, known=NAMES)
        plain = release.interval_many(ITEMS, confidence=CONFIDENCE)
        true = TRUE[ITEMS]
        whole += (true < of.low) | (true > of.high)
        widths += [np.mean(each.high - each.low) / SKETCHES for each in (of, plain)]
        for at, (estimate, low, high) in enumerate(zip(of.estimate, of.low, of.high, strict=True)):
            least, most = narrowed(estimate, low, high, by=HALF)
            half[at] += not least <= true[at] <= most
    return whole, half, *widths.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_and_are_not_far_too_wide(kind: str) -> None:
    whole, half, width, plain = misses(kind)
    for item, missed, missed_by_half in zip(ITEMS, whole.tolist(), half.tolist(), strict=True):
        what = f"{kind}, item {item}"
        p_value = too_many(missed, of=SKETCHES, confidence=CONFIDENCE)
        BUDGET.check(p_value, f"too narrow: {what}")
        if TRUE[item] > width:  # a low end of 0 is not narrowed
            BUDGET.check(too_few(missed_by_half, of=SKETCHES, least=LEAST), f"too wide: {what}")
    assert width < plain
